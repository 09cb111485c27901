"""The ns-3 reference of benches/ns3."""

import json
import subprocess
from pathlib import Path
from typing import Any

import polars as pl

from report import UsageError

DEFAULT = Path(__file__).parent.parent / "ns3" / "build" / "fabric"
MISSING = (
    "benches/ns3/build/fabric is not there. To install and build it: "
    "apt-get install libns3-dev pkg-config && make -C benches/ns3"
)

# A cut leaves one segment at least, as in Tailrace; the program's own default is two, as in Linux. All other
# defaults are Tailrace's: benches/ns3/README.md.
MATCHED = ("--min-window=1",)
# Packets that overtake each other are no loss.
_SPRAY = ("--load-balancing=spray", "--reordering-threshold=1000000")


class Ns3:
    """Runs the program and reads its report."""

    def __init__(self, program: Path, extra: list[str]) -> None:
        self.program = program
        self.extra = extra
        """Options beside those that match Tailrace."""
        self.version = ""
        """What it says of itself, once it has run."""

    def _run(self, arguments: list[str]) -> dict[str, Any]:
        command = [str(self.program), *arguments, *MATCHED, *self.extra]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise UsageError(f"{self.program} cannot be run: {error.strerror}") from error
        if done.returncode != 0:
            said = " ".join(done.stderr.split()) or "nothing on its error stream"
            raise UsageError(f"{self.program} {arguments[0]} ended with {done.returncode}: {said}")
        try:
            report = json.loads(done.stdout)
        except json.JSONDecodeError as error:
            raise UsageError(f"{self.program} {arguments[0]} printed no JSON document: {error}") from error
        if not isinstance(report, dict):
            raise UsageError(f"{self.program} {arguments[0]} printed no JSON object")
        self.version = f"ns-3 {report.get('ns3_version', 'of unknown version')}"
        return report

    def queue(self, senders: int, spacing_us: int, warm_up_ms: int, measured_ms: int, sample_us: int) -> Any:
        """Statistics of the bottleneck's queue in packets, by name, and `utilisation`."""
        report = self._run(
            [
                "queue",
                f"--senders={senders}",
                f"--start-spacing-us={spacing_us}",
                f"--warm-up-s={warm_up_ms / 1000}",
                f"--duration-s={measured_ms / 1000}",
                f"--sample-us={sample_us}",
            ]
        )
        try:
            return report["queue_packets"] | {"utilisation": report["utilisation"]}
        except (KeyError, TypeError) as error:
            raise UsageError(f"{self.program} queue reported no {error}") from error

    def completion_times(
        self, flows: Path, shape: tuple[int, int, int], queue_unit: str, balancing: str
    ) -> pl.DataFrame:
        """`flow`, `size_bytes` and `fct_ns` of each flow of a list, on leaves × spines × hosts a leaf."""
        output = flows.with_suffix(".times.csv")
        leaves, spines, hosts_per_leaf = shape
        self._run(
            [
                "fct",
                f"--flows={flows}",
                f"--output={output}",
                f"--leaves={leaves}",
                f"--spines={spines}",
                f"--hosts-per-leaf={hosts_per_leaf}",
                f"--queue-unit={queue_unit}",
                *(_SPRAY if balancing == "spray" else ()),
            ]
        )
        try:
            times = pl.read_csv(output, schema_overrides={"fct_ns": pl.Float64}).sort("flow")
            return times.select("flow", "size_bytes", "fct_ns")
        except (OSError, pl.exceptions.PolarsError) as error:
            raise UsageError(f"{self.program} fct wrote no completion times: {error}") from error
