"""A program for a fabric: a server that sends as many bytes as it is asked for, and a client that asks."""

import argparse
import random
import socket
import statistics
import time

PORT = 7000


def serve() -> None:
    """Answer one connection after the other."""
    with socket.create_server(("", PORT)) as server:
        while True:
            peer, _ = server.accept()
            with peer:
                peer.sendall(bytes(int.from_bytes(peer.recv(8))))


def ask(host: str, size: int) -> float:
    """Seconds that an answer of so many bytes takes, over a connection of its own."""
    started = time.monotonic()
    with socket.create_connection((host, PORT)) as peer:
        peer.sendall(size.to_bytes(8))
        while peer.recv(1 << 16):
            pass
    return time.monotonic() - started


def main() -> None:
    """Serve, or ask and print how long it took."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("host", nargs="?", help="the host that serves; without it this program does")
    options.add_argument(
        "--size", type=int, default=20_000, help="mean bytes of an answer, exponentially distributed"
    )
    options.add_argument("--count", type=int, default=500, help="how many answers")
    given = options.parse_args()
    if given.host is None:
        serve()
    sizes = random.Random(1)
    took = [ask(given.host, 1 + round(sizes.expovariate(1 / given.size))) * 1e3 for _ in range(given.count)]
    mean, cuts = statistics.mean(took), statistics.quantiles(took, n=100)
    print(f"{given.count} answers: mean {mean:.1f} ms, median {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms")


if __name__ == "__main__":
    main()
