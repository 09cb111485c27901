"""Table 3 of Baraat with Memcached and a client library that know nothing of it.

    python experiments/live/memcached.py [--tasks 400] [--seed 1] [--out out/memcached]

runs the fabric of memcached.toml in real time (`tailrace emulate`, as root), with a memcached on each host
of four racks and clients on the first. Under baraat and rcp `tailrace proxy` carries what they say; under
"kernel" clients reach the memcacheds over TCP. Writes one line a task (tasks.csv), one a scheme
(summary.csv), the distributions (tasks.svg), and what each fabric says at its end. Needs memcached and
python-memcached.
"""

import argparse
import csv
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
FILE = HERE / "memcached.toml"
CLIENT = HERE / "memcached_client.py"
CLIENTS = range(4)
SERVERS = range(4, 20)
VALUE_BYTES = 266_667
HOST_BPS = 25e6
LOAD = 0.5


def interval_s() -> float:
    """Mean time between the tasks of a client: its link is half loaded by what it reads, headers included."""
    wire_bytes = 3 * VALUE_BYTES * 1500 / 1460
    return wire_bytes * 8 / HOST_BPS / LOAD


class Fabric:
    """A fabric that runs, and the programs on its hosts; all end with it."""

    def __init__(self, tailrace: str, scheme: str, proxies: bool, log: Path) -> None:
        self.tailrace, self.scheme, self.proxies, self.log = tailrace, scheme, proxies, log
        self.name = f"mc{os.getpid()}"
        self.running = ExitStack()

    def __enter__(self) -> "Fabric":
        command = [self.tailrace, "emulate", str(FILE), "--scheme", self.scheme, "--name", self.name]
        log = self.running.enter_context(self.log.open("w"))
        self.fabric = self.begin(command + ["--proxies"] * self.proxies, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while not self.is_up():
            if self.fabric.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the fabric does not run: {self.log.read_text()}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_: object) -> None:
        # In reverse order, so the fabric ends last, and takes its hosts down itself.
        self.running.close()

    def is_up(self) -> bool:
        """Whether the last host can be reached by its name, and the first has its routes."""
        last = Path("/run/netns") / f"{self.name}-h{max(SERVERS)}"
        return (
            last.exists()
            and subprocess.run(self.on(0, ["ip", "-o", "route"]), capture_output=True).stdout != b""
        )

    def on(self, host: int, command: list[str]) -> list[str]:
        """The command, on a host."""
        return ["ip", "netns", "exec", f"{self.name}-h{host}", *command]

    def begin(self, command: list[str], **io: object) -> "subprocess.Popen[str]":
        """Start something that ends with the fabric."""
        process = subprocess.Popen(command, text=True, **io)  # type: ignore[call-overload]
        self.running.callback(end, process)
        return process

    def serve(self) -> None:
        """A memcached on each server, that holds one value; and its proxy."""
        everywhere = "127.0.0.1" if self.proxies else "0.0.0.0"
        for host in SERVERS:
            self.begin(self.on(host, ["memcached", "-u", "root", "-l", everywhere, "-U", "0", "-t", "1"]))
        for place, host in enumerate(SERVERS):
            fill = [sys.executable, str(CLIENT), "--fill", str(place), str(VALUE_BYTES)]
            subprocess.run(self.on(host, fill), check=True)
        if self.proxies:
            for host in SERVERS:
                self.proxy(host, ["--memcached"])
            for host in CLIENTS:
                self.proxy(host, ["--servers", ",".join(map(str, SERVERS))])

    def proxy(self, host: int, role: list[str]) -> None:
        """A proxy on a host, once it is ready."""
        command = [self.tailrace, "proxy", str(FILE), "--scheme", self.scheme, *role]
        line = (self.begin(self.on(host, command), stdout=subprocess.PIPE).stdout or sys.stdin).readline()
        if not line.startswith("ready"):
            sys.exit(f"the proxy of host {host} does not run")

    def addresses(self) -> list[str]:
        """Where clients find the servers."""
        if self.proxies:
            return [f"127.0.0.1:{11211 + place}" for place, _ in enumerate(SERVERS)]
        return [f"10.77.0.{host + 1}:11211" for host in SERVERS]

    def ask(self, tasks: int, seed: int) -> list[dict[str, float]]:
        """Clients ask for as many tasks together; returns what each task took."""
        clients = []
        for host in CLIENTS:
            options = [
                "--tasks",
                str(tasks // len(CLIENTS)),
                "--interval",
                str(interval_s()),
                "--seed",
                str(seed * 100 + host),
            ]
            command = self.on(host, [sys.executable, str(CLIENT), *options, *self.addresses()])
            clients.append(self.begin(command, stdout=subprocess.PIPE))
        told = []
        for host, client in zip(CLIENTS, clients, strict=True):
            text, _ = client.communicate()
            if client.returncode != 0:
                sys.exit(f"the client on host {host} failed")
            told += [{"client": host, **json.loads(line)} for line in text.splitlines()]
        return told


def end(process: "subprocess.Popen[str]") -> None:
    """`ip netns exec` becomes the program that it starts, so this ends that one."""
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def quantile(values: list[float], q: float) -> float:
    """Nearest rank."""
    return sorted(values)[max(0, math.ceil(q * len(values)) - 1)]


def draw(took_ms: dict[str, list[float]], path: Path) -> None:
    """The distribution of task completion under each scheme."""
    figure, axes = plt.subplots(figsize=(6, 4))
    for label, values in took_ms.items():
        axes.ecdf(values, label=label)
    axes.set(xlabel="Task completion (ms)", ylabel="Part of tasks", xlim=(0, None), ylim=(0, 1))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, bbox_inches="tight")


def main() -> None:
    """Make all runs, and write what came of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=400, help="tasks of all clients (default: 400)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out/memcached"))
    parser.add_argument("--tailrace", default=str(Path(sys.executable).parent / "tailrace"))
    options = parser.parse_args()
    tailrace = shutil.which(options.tailrace) or sys.exit(f"there is no {options.tailrace}: run make demo")
    options.out.mkdir(parents=True, exist_ok=True)
    rows, summary, took_ms = [], [], {}
    for label, scheme, proxies in [
        ("baraat", "baraat", True),
        ("rcp", "rcp", True),
        ("kernel", "tcp", False),
    ]:
        log = options.out / f"{label}.txt"
        with Fabric(tailrace, scheme, proxies, log) as fabric:
            fabric.serve()
            tasks = fabric.ask(options.tasks, options.seed)
        took = took_ms[label] = [task["took_s"] * 1e3 for task in tasks]
        rows += [{"scheme": label, **task} for task in tasks]
        summary.append(
            {
                "scheme": label,
                "tasks": len(took),
                "mean_ms": round(statistics.mean(took), 1),
                "p95_ms": round(quantile(took, 0.95), 1),
                "p99_ms": round(quantile(took, 0.99), 1),
            }
        )
        print(
            summary[-1],
            *(line for line in log.read_text().splitlines() if "lag" in line),
            sep="\n",
            flush=True,
        )
    for name, table in [("tasks.csv", rows), ("summary.csv", summary)]:
        with (options.out / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(table[0]))
            writer.writeheader()
            writer.writerows(table)
    draw(took_ms, options.out / "tasks.svg")


if __name__ == "__main__":
    main()
