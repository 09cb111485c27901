#!/usr/bin/env python3
"""Checks the scenario: lone flows against their closed form, the marks and drops of a burst against
a count, and the queue of long-lived flows.

usage: check.py FABRIC
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

HEADER_BYTES = 40
MSS = 1460
INITIAL_WINDOW = 10
MARK_THRESHOLD = 65
HOST_RATE, CORE_RATE = 10e9, 40e9  # bit/s
HOST_DELAY, CORE_DELAY = 20_200_000, 200_000  # ps

# Rate and delay of every link on the way from a host to one below another leaf.
PATH = [
    (HOST_RATE, HOST_DELAY),
    (CORE_RATE, CORE_DELAY),
    (CORE_RATE, CORE_DELAY),
    (HOST_RATE, HOST_DELAY),
]

# Application data waits one clock tick, 1 ps, in ns-3's socket.
SOCKET_DELAY = 1


def transmission(wire_bytes, rate):
    return round(wire_bytes * 8e12 / rate)


def ideal_completion(size):
    """Completion time in ps of a flow alone in the fabric, in slow start to its end.

    Packets go through the links in order, each store and forward; ACKs meet no queue. The initial
    window leaves at once, then every ACK releases two packets.
    """
    ack_path = sum(transmission(HEADER_BYTES, rate) + delay for rate, delay in PATH)
    link_free = [0] * len(PATH)
    arrivals = []
    for index in range(-(-size // MSS)):
        payload = min(MSS, size - index * MSS)
        released_by = (index - INITIAL_WINDOW) // 2
        now = 0 if released_by < 0 else arrivals[released_by] + ack_path
        for hop, (rate, delay) in enumerate(PATH):
            link_free[hop] = max(now, link_free[hop]) + transmission(payload + HEADER_BYTES, rate)
            now = link_free[hop] + delay
        arrivals.append(now)
    return arrivals[-1]


def run(fabric, *arguments):
    return json.loads(subprocess.check_output([fabric, *arguments]))


def check_lone_flows(fabric, folder):
    # Up to about 100 kB slow start stays below the marking threshold of the sender's own port.
    sizes = [1, 1460, 1461, 5000, 14600, 29200, 50_000, 100_000]
    flows, times = folder / "flows.csv", folder / "times.csv"
    rows = [f"0,5,{size},{10_000_000 * i}\n" for i, size in enumerate(sizes)]
    flows.write_text("src,dst,size_bytes,start_ns\n" + "".join(rows))
    shape = ["--leaves=4", "--spines=2", "--hosts-per-leaf=4"]
    run(fabric, "fct", f"--flows={flows}", f"--output={times}", *shape)
    print(f"{'size_bytes':>10} {'ns-3, ns':>12} {'closed form, ns':>16} {'difference, ps':>15}")
    correct = True
    for row in csv.DictReader(times.open()):
        ideal = ideal_completion(int(row["size_bytes"]))
        difference = round(float(row["fct_ns"]) * 1000) - ideal
        print(f"{row['size_bytes']:>10} {row['fct_ns']:>12} {ideal / 1000:16.3f} {difference:15}")
        correct = correct and difference == SOCKET_DELAY
    return correct


def burst_counts(starts_ns, segments, buffer):
    """Marks and drops at a port where bursts of full packets from several hosts meet.

    Each burst arrives at the rate of the port, shifted by its start.
    """
    packet_ns = transmission(MSS + HEADER_BYTES, HOST_RATE) // 1000
    arrivals = sorted(start + packet_ns * i for start in starts_ns for i in range(segments))
    waiting = marks = drops = 0
    link_free = arrivals[0]
    for now in arrivals:
        while waiting and link_free <= now:
            waiting -= 1
            link_free += packet_ns
        if not waiting and link_free <= now:
            link_free = now + packet_ns
            continue
        marks += waiting + 1 > MARK_THRESHOLD  # ns-3 marks, and counts, before it drops
        if waiting == buffer:
            drops += 1
        else:
            waiting += 1
    return marks, drops


def check_burst(fabric, folder, buffer):
    segments, starts_ns = 100, (0, 100, 300)
    flows = folder / "burst.csv"
    rows = [f"{host},3,{segments * MSS},{start}\n" for host, start in enumerate(starts_ns)]
    flows.write_text("src,dst,size_bytes,start_ns\n" + "".join(rows))
    report = run(
        fabric,
        "fct",
        f"--flows={flows}",
        f"--output={folder / 'times.csv'}",
        "--topology=star",
        "--hosts-per-leaf=4",
        f"--initial-window={segments}",
        "--host-marking=off",
        "--host-buffer=1000",
        f"--buffer={buffer}",
    )
    counts = (report["marked_packets"], report["dropped_packets"])
    expected = burst_counts(starts_ns, segments, buffer)
    print(f"burst, buffer {buffer}: marks and drops {counts}, counted {expected}")
    return counts == expected


def check_queue(fabric, senders):
    report = run(fabric, "queue", f"--senders={senders}", "--warm-up-s=0.02", "--duration-s=0.05")
    queue = report["queue_packets"]
    print(f"{senders} long-lived flows: queue {queue}, utilisation {report['utilisation']}")
    return (
        report["utilisation"] > 0.999
        and 0 < queue["min"] < MARK_THRESHOLD < queue["max"] < 2 * MARK_THRESHOLD
        and report["dropped_packets"] == 0
    )


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    fabric = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        correct = check_lone_flows(fabric, folder)
        for buffer in (1000, 100):
            correct = check_burst(fabric, folder, buffer) and correct
    for senders in (2, 8):
        correct = check_queue(fabric, senders) and correct
    print("ok" if correct else "FAILED")
    return 0 if correct else 1


if __name__ == "__main__":
    sys.exit(main())
