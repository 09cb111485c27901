"""An unmodified client library of memcached, and plain sockets, against the servers at 127.0.0.1 whose ports are given.

What a client can see must be what it sees of memcached itself: the last port is a memcached without proxies.
"""

import random
import socket
import sys

import memcache

*SERVERS, ITSELF = map(int, sys.argv[1:])


def values() -> None:
    """Values of all lengths come back as they were, one by one and many at once from all servers."""
    client = memcache.Client([f"127.0.0.1:{port}" for port in SERVERS], server_max_value_length=2 << 20)
    draw = random.Random(1)
    lengths = [0, 1, 2, 100, 1399, 1400, 1401, 5000, 100_000, 1_000_000]
    stored = {f"value-{length}": draw.randbytes(length) for length in lengths}
    stored |= {f"key-{number}": draw.randbytes(number * 37) for number in range(100)}
    for key, value in stored.items():
        assert client.set(key, value), key
    for key, value in stored.items():
        assert client.get(key) == value, key
    assert client.get_multi([*stored, "absent"]) == stored
    client.set("counter", "5")
    assert (client.incr("counter", 7), client.decr("counter")) == (12, 11)
    assert client.add("counter", "1") == 0
    assert client.append("value-2", b"!") and client.prepend("value-2", b"?")
    assert client.get("value-2") == b"?" + stored["value-2"] + b"!"
    assert client.gets("counter") == "11" and client.cas("counter", "12") and client.get("counter") == "12"
    assert client.touch("counter", 100) and client.delete("counter") and client.get("counter") is None
    assert len(client.get_stats()) == len(SERVERS)
    client.flush_all()
    assert client.get_multi(list(stored)) == {}


def talk(port: int, pieces: list[bytes]) -> bytes:
    """All that is answered to what is said, until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        for piece in pieces:
            connection.sendall(piece)
        heard = b""
        while more := connection.recv(1 << 16):
            heard += more
    return heard


DIALOGUES = [
    b"set a 0 0 4\r\nMN\r\n\r\nget a\r\nget a b\r\ngets absent\r\ndelete a\r\ndelete a\r\nquit\r\n",
    b"set a 5 0 3 noreply\r\nabc\r\nappend a 0 0 1 noreply\r\nd\r\nget a\r\nincr a 1\r\nverbosity 1\r\nquit\r\n",
    b"delete c noreply\r\nms m 2 T0 F9\r\nhi\r\nmg m v f k O7\r\nmg absent v q\r\nmg m v q\r\nmn\r\nma c N0 J5 v\r\nma c v\r\nmn\r\nmn\r\nquit\r\n",
    b"ms m 2\r\nhi\r\nmd m q\r\nmg m v q\r\nms m S2 q\r\nmg m v\r\nquit\r\n",
    b"ms m 2 q\r\nhi\r\nmg m s v\r\nme absent\r\nbogus\r\n\r\nget\r\ntouch m 0\r\ngat 0 m\r\nversion\r\nquit\r\n",
    b"set " + b"k" * 250 + b" 0 0 0\r\n\r\nget " + b"k" * 250 + b"\r\nget " + b"k" * 251 + b"\r\nquit\r\n",
    b"set big 0 0 3000000\r\n" + bytes(3_000_000) + b"\r\nget big\r\nquit\r\n",
    b"set a 0 0 3\r\nabcde\r\nget a\r\nquit\r\n",
    b"set n 0 0 1\r\n0\r\n" + b"incr n 1\r\n" * 300 + b"get n\r\nflush_all\r\nget n\r\nquit\r\n",
    b"set many 0 0 100000\r\n" + b"MN\r\n" * 25_000 + b"\r\n" + b"get many many many many\r\n" * 12 + b"quit\r\n",
]


def dialogues() -> None:
    """What is said at once, or in small pieces, is answered as memcached answers it."""
    for number, dialogue in enumerate(DIALOGUES):
        answer = talk(ITSELF, [dialogue])
        size = max(1, len(dialogue) // 50)
        chopped = [dialogue[at : at + size] for at in range(0, len(dialogue), size)]
        for pieces in [[dialogue], chopped]:
            heard = talk(SERVERS[0], pieces)
            assert heard == answer, f"{number}: {heard[:400]!r} and not {answer[:400]!r}"


def refusals() -> None:
    """What the proxy cannot carry it says."""
    assert talk(SERVERS[0], [b"\x80\x0b" + bytes(22)]).startswith(b"CLIENT_ERROR this proxy speaks")
    assert talk(SERVERS[0], [b"x" * 300_000]) == b"CLIENT_ERROR line too long\r\n"
    assert talk(SERVERS[0], [b"get a\r\nwatch\r\nget a\r\nquit\r\n"]).startswith(b"END\r\nCLIENT_ERROR this proxy")


if __name__ == "__main__":
    values()
    dialogues()
    refusals()
    print("all is well")
