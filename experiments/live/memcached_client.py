"""A client of memcached servers, with a library that knows of nothing else.

Asks at times of a Poisson process for a value of each of three servers drawn at random, in one multi-get,
whether earlier ones are answered or not, and prints what each took from the time at which it was to be asked.
"""

import argparse
import json
import os
import queue
import random
import sys
import threading
import time

import memcache

# Multi-gets that may be under way at once.
THREADS = 16


def key(place: int) -> str:
    """The key of the value of a server."""
    return f"value-{place}"


def fill(place: int, size: int) -> None:
    """Gives the memcached of this host its value."""
    client = memcache.Client(["127.0.0.1:11211"])
    for _ in range(100):
        if client.set(key(place), b"x" * size):
            return
        time.sleep(0.1)
        client.forget_dead_hosts()
    sys.exit("memcached takes no value")


def ask(addresses: list[str], tasks: "queue.Queue[float | None]", seed: int) -> None:
    """Answers tasks as they come."""
    draw = random.Random(seed)
    client = memcache.Client(addresses, socket_timeout=60)
    # Connections are warm before anything is measured.
    for place, _ in enumerate(addresses):
        client.get((place, "absent"))
    ready.wait()
    while (due := tasks.get()) is not None:
        servers = draw.sample(range(len(addresses)), 3)
        # A key of two parts names its server.
        values = client.get_multi([(place, key(place)) for place in servers])
        took = time.monotonic() - due
        if len(values) < len(servers):
            print(f"of servers {servers} only {sorted(values)} have answered", file=sys.stderr)
            os._exit(1)
        with telling:
            print(json.dumps({"due_s": due, "took_s": took}), flush=True)


ready = threading.Barrier(THREADS + 1)
telling = threading.Lock()


def main() -> None:
    """Fill a server, or ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fill", type=int, nargs=2, metavar=("PLACE", "BYTES"))
    parser.add_argument("--tasks", type=int)
    parser.add_argument("--interval", type=float, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("addresses", nargs="*")
    options = parser.parse_args()
    if options.fill:
        fill(*options.fill)
        return
    tasks: queue.Queue[float | None] = queue.Queue()
    threads = [
        threading.Thread(target=ask, args=(options.addresses, tasks, options.seed * 1000 + number))
        for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    ready.wait()
    draw = random.Random(options.seed)
    due = time.monotonic()
    for _ in range(options.tasks):
        due += draw.expovariate(1 / options.interval)
        time.sleep(max(0.0, due - time.monotonic()))
        tasks.put(due)
    for _ in threads:
        tasks.put(None)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
