"""Endless DCTCP flows over one bottleneck of 10 Gbps: the scenario of the sharing and queue checks."""

from pathlib import Path

import tailrace

BOTTLENECK = "left->right"
GBPS = 10
PACKET = 1500  # bytes
MARK_ABOVE = 65  # packets
# ns-3's defaults: a host link of 20.2 µs, the middle one of 0.2 µs.
HOST_DELAY_US, MIDDLE_DELAY_US = 20.2, 0.2
SPACING_US = 137  # between the starts of two flows
WARM_UP_MS = 200  # after that nothing is left of how the flows started


def scenario(senders: int, end_ms: int, folder: Path) -> tailrace.Scenario:
    """One endless flow from each sender to its own receiver, stopped after `end_ms`."""
    flows = folder / f"long-{senders}.csv"
    rows = [f"{i},{senders + i},{1 << 40},{1000 * SPACING_US * i}" for i in range(senders)]
    flows.write_text("\n".join(["src,dst,size_bytes,start_ns", *rows]) + "\n")
    return tailrace.Scenario(
        fabric={
            "kind": "dumbbell",
            "left": senders,
            "right": senders,
            "host_rate": f"{GBPS}Gbps",
            "bottleneck_rate": f"{GBPS}Gbps",
            "host_delay": f"{HOST_DELAY_US}us",
            "bottleneck_delay": f"{MIDDLE_DELAY_US}us",
            "buffer": "360KB",
        },
        transport={"ecn_capable_acks": True},
        workload={"flow_list": str(flows)},
        scheme={"name": "dctcp", "params": {"port": {"marking_threshold": f"{MARK_ABOVE}pkt"}}},
        measure={"horizon": f"{end_ms}ms"},
    )


def base_rtt_us() -> float:
    """Round trip of a full packet and its acknowledgement without queues, µs."""
    packet_us, ack_us = PACKET * 8 / (GBPS * 1000), 40 * 8 / (GBPS * 1000)
    return 2 * (2 * HOST_DELAY_US + MIDDLE_DELAY_US) + 3 * (packet_us + ack_us)
