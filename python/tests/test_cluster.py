"""Sweeps on a cluster of Dask: what they leave is what one machine leaves, whatever dies in between."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import EXPERIMENT
from test_sweeping import files

import tailrace
from tailrace import PlannedRun, Result, ResultFolder

BIN = Path(sys.executable).parent
ROOT = os.geteuid() == 0


class Machines:
    """A scheduler and workers on loopback, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: list[subprocess.Popen[bytes]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        place = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        self.scheduler = self.start([str(BIN / "dask"), "scheduler", *place])
        wait_until(self.answers)

    def start(self, command: list[str]) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{len(self.running)}.log").open("wb")
        process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        log.close()
        self.running.append(process)
        return process

    def worker(self, *before: str) -> subprocess.Popen[bytes]:
        options = ["--no-nanny", "--no-dashboard", "--nthreads", "1", "--local-directory", str(self.folder)]
        return self.start([*before, str(BIN / "dask"), "worker", self.address, *options])

    def answers(self) -> bool:
        with socket.socket() as attempt:
            return attempt.connect_ex(("127.0.0.1", self.port)) == 0

    def end(self) -> None:
        for process in self.running:
            process.kill()
            process.wait()


def wait_until(done: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    folder = tmp_path / "machines"
    folder.mkdir()
    machines = Machines(folder)
    yield machines
    machines.end()


def blind_to(folder: Path) -> list[str]:
    """What runs a program for which a folder is empty."""
    return ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs none "{folder}" && exec "$@"', "sh"]


def tailrace_run(*args: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    command = [BIN / "tailrace", "run", *args]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | more, timeout=120)


def left_by_one_machine(experiment: Path, tmp_path: Path) -> dict[str, bytes]:
    tailrace.sweep(experiment, out=tmp_path / "alone")
    return files(tmp_path / "alone")


LONG = """
title = "Runs of a second or so"
[fabric]
preset = "micro4"
[workload]
sizes = "web-search"
load = 0.6
flows = 2500
[[scheme]]
name = "dctcp"
[[scheme]]
name = "pias"
[sweep]
seed = [1, 2, 3, 4]
"""


def test_workers_that_are_killed_cost_what_they_were_making(machines: Machines, tmp_path: Path) -> None:
    experiment, out = tmp_path / "long.toml", tmp_path / "out"
    experiment.write_text(LONG)
    workers = [machines.worker(), machines.worker()]
    command = [BIN / "tailrace", "run", experiment, "--out", out, "--cluster", machines.address]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def begun() -> list[str]:
        return [path.name for path in (out / "runs").glob(".tmp-*")] if out.exists() else []

    def finished() -> int:
        return len([path for path in (out / "runs").glob("*") if not path.name.startswith(".")])

    # Each time in the midst of a run, of which it leaves a part.
    for worker in workers:
        wait_until(begun)
        worker.kill()
        machines.worker()
    assert finished() < 8
    _, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    left = files(out)
    assert left == left_by_one_machine(experiment, tmp_path)
    assert not begun()
    again = tailrace_run(experiment, "--out", out, "--cluster", machines.address)
    assert "8 of 8 runs were there already" in again.stderr
    assert files(out) == left


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_workers_need_nothing_of_the_planner_but_where_to_leave_runs(
    machines: Machines, tmp_path: Path, ending: str
) -> None:
    """The flow list is where workers do not look, and what they leave comes by an address."""
    planner = tmp_path / "planner"
    (planner / "lists").mkdir(parents=True)
    (planner / "experiments").mkdir()
    sizes, starts = [9000, 90_000, 900_000], [0.0, 1.0, 2.0]
    flows = pl.DataFrame({"src": [0, 1, 2], "dst": [3, 3, 3], "size_bytes": sizes, "start_ns": starts})
    write = flows.write_csv if ending == "csv" else flows.write_parquet
    write(planner / "lists" / f"mine.{ending}")
    experiment = planner / "experiments" / "mine.toml"
    experiment.write_text(
        f'fabric = {{ preset = "micro4" }}\nworkload = {{ flow_list = "../lists/mine.{ending}" }}\n'
        'scheme = [{ name = "dctcp" }, { name = "pfabric" }]\n'
    )
    machines.worker(*(blind_to(planner) if ROOT else []))
    out, store = planner / "out", f"file://{tmp_path}/bucket"
    done = tailrace_run(experiment, "--out", out, "--cluster", machines.address, "--store", store)
    assert done.returncode == 0, done.stderr
    assert files(out) == left_by_one_machine(experiment, tmp_path)
    # What lies there is not made again, also where the folder is new; and nothing that is not whole is taken.
    shutil.rmtree(out)
    first, second = sorted((tmp_path / "bucket").iterdir())
    (second / "flows.parquet").write_bytes(b"not what was written")
    (first / "scenario.toml").touch()
    before = (first / "SHA256SUMS").stat().st_mtime_ns, (second / "SHA256SUMS").stat().st_mtime_ns
    again = tailrace_run(experiment, "--out", out, "--cluster", machines.address, "--store", store)
    assert again.returncode == 0, again.stderr
    assert files(out) == files(tmp_path / "alone")
    after = (first / "SHA256SUMS").stat().st_mtime_ns, (second / "SHA256SUMS").stat().st_mtime_ns
    assert after[0] == before[0]
    assert after[1] > before[1]


@pytest.mark.skipif(not ROOT, reason="a folder is hidden from a worker by mounting over it")
def test_a_folder_that_a_worker_does_not_see(machines: Machines, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    machines.worker(*blind_to(hidden))
    done = tailrace_run(EXPERIMENT, "--out", hidden / "out", "--cluster", machines.address)
    assert done.returncode == 1
    message = f"does not see the folder {hidden}/out: choose with --out one that all machines share"
    assert message in done.stderr
    assert done.stderr.count("error: ") == 1


def test_a_scheduler_that_dies(machines: Machines, tmp_path: Path) -> None:
    experiment, out = tmp_path / "long.toml", tmp_path / "out"
    experiment.write_text(LONG)
    machines.worker()
    command = [BIN / "tailrace", "run", experiment, "--out", out, "--cluster", machines.address]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(list((out / "runs").glob("*-*"))) >= 2)
    machines.scheduler.kill()
    _, errors = run.communicate(timeout=90)
    assert run.returncode == 1
    assert "error: the cluster's scheduler has gone; the same again makes the runs" in errors
    assert "Traceback" not in errors
    # Finished runs are kept.
    assert tailrace_run(experiment, "--out", out).returncode == 0
    assert files(out) == left_by_one_machine(experiment, tmp_path)


def test_ctrl_c_ends_what_workers_make(machines: Machines, tmp_path: Path) -> None:
    experiment, out = tmp_path / "long.toml", tmp_path / "out"
    experiment.write_text(LONG.replace("2500", "400000"))
    machines.worker()
    command = [BIN / "tailrace", "run", experiment, "--out", out, "--cluster", machines.address]
    run = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # Shells start what goes to the background with SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    wait_until(lambda: list((out / "runs").glob(".tmp-*")))
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=30)
    assert run.returncode == 130, errors
    assert "Traceback" not in errors
    wait_until(lambda: not list((out / "runs").glob(".tmp-*")), seconds=10)


def test_slurm_starts_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `sbatch` that runs the job here, as Slurm would elsewhere."""
    programs = tmp_path / "programs"
    programs.mkdir()
    jobs = tmp_path / "jobs"
    for name, text in {
        "sbatch": '#!/bin/sh\n[ "$1" = --test-only ] && exit 0\n'
        f'cd {tmp_path}\ncp "$1" job.sh\nsetsid sh job.sh >job.log 2>&1 &\n'
        f'echo $! >>{jobs}\necho "Submitted batch job $!"\n',
        "scancel": "#!/bin/sh\nkill -- -$1\n",
    }.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    settings = tmp_path / "slurm.toml"
    settings.write_text(
        'jobs = 1\ncores = 1\nprocesses = 1\nmemory = "1GB"\nqueue = "short"\ninterface = "lo"\n'
    )
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    try:
        done = tailrace_run(EXPERIMENT, "--out", tmp_path / "out", "--cluster", f"slurm:{settings}")
    finally:
        for job in jobs.read_text().split():
            subprocess.run(["kill", "-9", "--", f"-{job}"], stderr=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    assert "#SBATCH -p short" in (tmp_path / "job.sh").read_text()
    assert files(tmp_path / "out") == left_by_one_machine(EXPERIMENT, tmp_path)


def test_python_sweeps_there_too(folder: ResultFolder, tmp_path: Path) -> None:
    heard: list[int] = []

    def hear(run: PlannedRun, result: Result) -> None:
        assert result.info["scheme"] == run.scheme
        heard.append(run.index)

    swept = tailrace.sweep(EXPERIMENT, out=tmp_path / "out", jobs=2, cluster="local", on_result=hear)
    assert sorted(heard) == list(range(8))
    left = files(folder.path)
    left.pop("report.html", None)
    assert files(swept.path) == left


def test_nobody_works_there(machines: Machines, tmp_path: Path) -> None:
    """It is said, and whoever comes at last is given the runs."""
    command = [BIN / "tailrace", "run", EXPERIMENT, "--out", tmp_path / "out", "--cluster", machines.address]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    assert f"there is no worker at {machines.address}; waiting for one" in run.stderr.readline()
    machines.worker()
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 0, errors


def test_workers_without_tailrace_are_named_and_live(machines: Machines, tmp_path: Path) -> None:
    blind = tmp_path / "blind"
    blind.mkdir()
    # The package is found by a path of this checkout.
    forget = "import sys\nsys.path = [path for path in sys.path if not path.endswith('/python')]\n"
    (blind / "sitecustomize.py").write_text(forget)
    worker = machines.worker("env", f"PYTHONPATH={blind}")
    done = tailrace_run(EXPERIMENT, "--out", tmp_path / "out", "--cluster", machines.address)
    assert done.returncode == 1
    assert "a worker has no Tailrace: the same build must be on all machines of a cluster" in done.stderr
    assert worker.poll() is None


def test_somebody_else_answers(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        done = tailrace_run(EXPERIMENT, "--out", tmp_path / "out", "--cluster", address)
    assert done.returncode == 1
    assert f"error: no scheduler of Dask answers at {address}: " in done.stderr


def test_slurm_refuses(tmp_path: Path) -> None:
    settings, options = tmp_path / "slurm.toml", 'cores = 1\nmemory = "1GB"\ninterface = "lo"\n'
    settings.write_text(options)

    def said(**environment: str) -> str:
        run = ["--out", tmp_path / "out", "--cluster", f"slurm:{settings}"]
        done = tailrace_run(EXPERIMENT, *run, **environment)
        assert done.returncode in (1, 2)
        assert "Traceback" not in done.stderr
        return done.stderr

    assert "error: there is no Slurm: its sbatch is not found" in said()
    sbatch = tmp_path / "sbatch"
    sbatch.write_text("#!/bin/sh\necho 'invalid partition: lng' >&2\nexit 1\n")
    sbatch.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert "invalid partition: lng" in said(PATH=path)
    settings.write_text("jobs = 0\n" + options)
    assert f"{settings}: jobs: must be a whole number above 0, not 0" in said(PATH=path)
    settings.write_text("jbos = 2\n" + options)
    assert "jbos" in said(PATH=path)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (
            {"cluster": "local", "store": "bucket"},
            'such as s3://bucket/folder or file:///shared, not "bucket"',
        ),
        ({"cluster": "local", "store": "memory://x"}, 'not "memory://x"'),
        ({"store": "file:///x"}, "store: is for runs that a cluster makes"),
        (
            {"cluster": "tcp://127.0.0.1:1", "jobs": 3},
            "--jobs: is for a cluster that is started for these runs",
        ),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, options: dict[str, Any], what: str) -> None:
    with pytest.raises(tailrace.ScenarioError, match=re.escape(what)):
        tailrace.sweep(EXPERIMENT, out=tmp_path, **options)


@pytest.mark.parametrize(
    ("cluster", "what"),
    [
        ("tcp://127.0.0.1:1", "no scheduler of Dask answers at tcp://127.0.0.1:1"),
        ("mesos", 'address of a scheduler such as "tcp://host:8786", or "slurm:FILE", not "mesos"'),
        ("slurm:nowhere.toml", "nowhere.toml: cannot be read: No such file or directory"),
    ],
)
def test_clusters_that_are_not_there(tmp_path: Path, cluster: str, what: str) -> None:
    with pytest.raises(tailrace.TailraceError, match=re.escape(what)):
        tailrace.sweep(EXPERIMENT, out=tmp_path, cluster=cluster)


def test_live_runs_are_of_this_machine(tmp_path: Path) -> None:
    experiment = tmp_path / "long.toml"
    experiment.write_text(LONG)
    done = tailrace_run(experiment, "--out", tmp_path / "out", "--cluster", "local", "--level", "live")
    assert done.returncode == 2
    assert "--cluster: live runs are of this machine" in done.stderr
    with pytest.raises(tailrace.ScenarioError, match="live runs are of this machine"):
        tailrace.sweep(experiment, set={"level": "live"}, out=tmp_path / "out", cluster="local")
