#!/usr/bin/env python3
"""Writes a flow list for trying the scenario: Poisson arrivals, log-uniform sizes.

usage: example_flows.py HOSTS FLOWS LOAD > flows.csv
"""

import math
import random
import sys

HOST_RATE = 10e9  # bit/s
WIRE_OVERHEAD = 1500 / 1460
SMALLEST, LARGEST = 1e3, 1e7  # bytes
MEAN_SIZE = (LARGEST - SMALLEST) / math.log(LARGEST / SMALLEST)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    hosts, flows, load = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    draw = random.Random(1).random
    arrivals_per_second = hosts * load * HOST_RATE / (8 * MEAN_SIZE * WIRE_OVERHEAD)
    start = 0.0
    print("src,dst,size_bytes,start_ns")
    for _ in range(flows):
        start -= math.log(1 - draw()) / arrivals_per_second
        source = int(draw() * hosts)
        destination = (source + 1 + int(draw() * (hosts - 1))) % hosts
        size = SMALLEST * (LARGEST / SMALLEST) ** draw()
        print(f"{source},{destination},{size:.0f},{start * 1e9:.0f}")


if __name__ == "__main__":
    main()
