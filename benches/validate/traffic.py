"""The same web search flows over the same leaf-spine in Tailrace and in ns-3."""

import random
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

import tailrace
from ns3 import Ns3
from report import UsageError


@dataclass(frozen=True)
class Case:
    """Flows over a leaf-spine with links of 10 Gbps to hosts and of 40 Gbps to spines."""

    leaves: int
    spines: int
    hosts_per_leaf: int
    load: float
    flows: int
    seed: int
    queue_unit: str = "bytes"
    """What buffers and thresholds count: "bytes", or "packets" of any size."""
    balancing: str = "ecmp"
    """How flows or packets are spread: "ecmp" or "spray"."""

    @property
    def title(self) -> str:
        """What is run, in words."""
        hosts = self.leaves * self.hosts_per_leaf
        counted = f"queues in {self.queue_unit}" + (", spraying" if self.balancing == "spray" else "")
        return f"{self.flows} web search flows at {100 * self.load:g} % load on {hosts} hosts, {counted}"

    def with_seed(self, seed: int) -> "Case":
        """The same with other flows."""
        return replace(self, seed=seed)

    def scenario(self, workload: dict[str, object]) -> tailrace.Scenario:
        """The fabric and DCTCP as ns-3's program has them."""
        return tailrace.Scenario(
            seed=self.seed,
            fabric={
                "kind": "leaf-spine",
                "leaves": self.leaves,
                "spines": self.spines,
                "hosts_per_leaf": self.hosts_per_leaf,
                "host_rate": "10Gbps",
                "spine_rate": "40Gbps",
                "host_delay": "20.2us",
                "spine_delay": "0.2us",
                "buffer": "240pkt",
                "queue_unit": self.queue_unit,
                "load_balancing": self.balancing,
            },
            transport={
                "mss": 1460,
                "initial_window": 10,
                "min_rto": "2ms",
                "loss_detection": "timeout-only" if self.balancing == "spray" else "duplicate-acks",
                "ack_every": 1,
                "ecn_capable_acks": True,
                "fct_end": "receiver",
            },
            workload=workload,
            scheme={
                "name": "dctcp",
                "params": {
                    "law": {"gain": 0.0625, "initial_alpha": 1.0},
                    "port": {"marking_threshold": "65pkt"},
                },
            },
        )

    def write_flows(self, path: Path) -> pl.DataFrame:
        """Write the flow list with whole nanoseconds, as ns-3 wants them, and return it."""
        workload = {"sizes": "web-search", "load": self.load, "flows": self.flows}
        experiment = path.with_suffix(".toml")
        text = self.scenario(workload).to_toml().replace("[scheme]", "[[scheme]]")
        experiment.write_text(text)
        command = [sys.executable, "-m", "tailrace", "flows", str(experiment), "--out", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise UsageError(f"tailrace flows: {' '.join(done.stderr.split())}")
        columns = pl.col("src", "dst", "size_bytes"), pl.col("start_ns").round().cast(pl.Int64)
        flows = pl.read_csv(path).select(*columns)
        flows.write_csv(path)
        return flows

    def run_ns3(self, ns3: Ns3, flows: Path) -> pl.DataFrame:
        """`flow`, `size_bytes` and `fct_ns` in ns-3."""
        shape = (self.leaves, self.spines, self.hosts_per_leaf)
        return ns3.completion_times(flows, shape, self.queue_unit, self.balancing)

    def run_tailrace(self, flows: Path) -> pl.DataFrame:
        """`flow`, `size_bytes`, `start_ns` and `fct_ns` in Tailrace."""
        frame = self.scenario({"flow_list": str(flows)}).run().flows.to_polars()
        return frame.sort("flow").select("flow", "size_bytes", "start_ns", "fct_ns")

    def run_shifted(self, flows: pl.DataFrame, path: Path, repetition: int) -> pl.DataFrame:
        """The same, if each flow starts a random time of less than one nanosecond later."""
        draw = random.Random(repetition)
        starts = [f"{start}.{draw.randrange(1, 1000):03}" for start in flows["start_ns"]]
        flows.with_columns(start_ns=pl.Series(starts)).write_csv(path)
        return self.run_tailrace(path)
