"""The machines of a cluster: Dask's scheduler and its workers."""

from __future__ import annotations

import logging
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

from tailrace.errors import RunError, ScenarioError, TailraceError
from tailrace.files import reason, table

if TYPE_CHECKING:
    from distributed import Client

NEEDED = "a cluster needs Dask's distributed: pip install 'tailrace[cluster]'"
_ANSWER_SECONDS = 10
"""How long a scheduler may take to answer."""
_ALONE_SECONDS = 10.0
"""Time without workers after which that is said."""


class Crew:
    """The workers of a cluster, as they come and go."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.alone_since: float | None = None
        self.told = False

    def threads(self) -> int:
        """How many runs they make at a time."""
        still_there(self.client)
        threads: int = sum(self.client.nthreads().values())
        if threads:
            self.alone_since, self.told = None, False
        elif self.alone_since is None:
            self.alone_since = time.monotonic()
        return threads

    def news(self) -> Iterator[str]:
        """A line if nobody has worked for a while."""
        if self.alone_since is None or self.told:
            return
        if time.monotonic() > self.alone_since + _ALONE_SECONDS:
            self.told = True
            address = self.client.scheduler.address
            yield f"there is no worker at {address}; waiting for one (dask worker {address})"


def still_there(client: Client) -> None:
    """Fail if the scheduler has gone."""
    if client.status != "running":
        message = "the cluster's scheduler has gone; the same again makes the runs that are not finished"
        raise RunError(message)


@contextmanager
def _quiet() -> Iterator[None]:
    """Within this, what Dask meets is said by the errors that end the sweep, not also by its log."""
    import distributed

    # Each of its loggers has a level of its own.
    known = logging.root.manager.loggerDict
    of_dask = [name for name in known if name.startswith((distributed.__name__, "tornado", "asyncio"))]
    before = {log: log.level for log in map(logging.getLogger, of_dask)}
    for log in before:
        log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for log, level in before.items():
            log.setLevel(level)


@contextmanager
def connected(cluster: str, jobs: int | None, runs: int) -> Iterator[Client]:
    """Be a client of a cluster, and end the cluster afterwards if it is one's own."""
    try:
        from distributed import Client
    except ImportError as error:
        raise RunError(NEEDED) from error
    kind, _, place = cluster.partition(":")
    with _quiet():
        if kind == "local" and not place:
            count = min(jobs or os.cpu_count() or 1, runs)
            with _started(lambda: _local(count)) as own, Client(own) as client:
                yield client
        elif kind == "slurm" and place:
            with _started(lambda: _slurm(Path(place), jobs, runs)) as own, Client(own) as client:
                yield client
        elif kind in ("tcp", "tls") and place:
            if jobs is not None:
                message = (
                    "is for a cluster that is started for these runs; this one has the workers that it has"
                )
                raise ScenarioError(message, "--jobs")
            with _met(cluster) as client:
                yield client
        else:
            known = 'must be "local", the address of a scheduler such as "tcp://host:8786", or "slurm:FILE"'
            raise ScenarioError(f'{known}, not "{cluster}"', "--cluster")


def _met(address: str) -> Client:
    """The client of a scheduler that is there. One that is none may listen, and never answer."""
    from distributed import Client

    met: list[Client | Exception] = []

    def meet() -> None:
        try:
            met.append(Client(address, timeout=_ANSWER_SECONDS, set_as_default=False))
        except Exception as error:
            met.append(error)

    meeting = threading.Thread(target=meet, daemon=True)
    meeting.start()
    meeting.join(_ANSWER_SECONDS + 2)
    found = met[0] if met else TimeoutError("whoever listens there is no scheduler")
    if isinstance(found, Exception):
        raise RunError(f"no scheduler of Dask answers at {address}: {reason(found)}") from found
    return found


def _started(start: Callable[[], Any]) -> Any:
    """A cluster of one's own."""
    try:
        return start()
    except TailraceError:
        raise
    except Exception as error:
        # Ctrl-C while it starts is lost in what Dask makes of it.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise RunError(f"the cluster cannot be started: {reason(error)}") from error


def _local(count: int) -> Any:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    )


def _slurm(file: Path, jobs: int | None, runs: int) -> Any:
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError as error:
        raise RunError("Slurm needs dask-jobqueue: pip install 'tailrace[cluster]'") from error
    try:
        options = table(file)
    except (OSError, ValueError) as error:
        raise ScenarioError(f"cannot be read: {reason(error)}", file=file) from error
    count = options.pop("jobs", 1) if jobs is None else jobs
    if not isinstance(count, int) or count < 1:
        raise ScenarioError(f"must be a whole number above 0, not {count!r}", "jobs", file)
    if which("sbatch") is None:
        raise RunError("there is no Slurm: its sbatch is not found")
    try:
        cluster = SLURMCluster(**options)
    except (TypeError, ValueError) as error:
        raise ScenarioError(f"is not what dask_jobqueue.SLURMCluster takes: {error}", file=file) from error
    try:
        _would_run(cluster.job_script())
    except RunError:
        cluster.close()
        raise
    cluster.scale(jobs=min(count, runs))
    return cluster


def _would_run(script: str) -> None:
    """Fail with what Slurm has against a job: once the cluster hands it in, nobody would hear of that."""
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script)
        file.flush()
        asked = subprocess.run(["sbatch", "--test-only", file.name], capture_output=True, text=True)
    if asked.returncode != 0:
        raise RunError(f"Slurm's sbatch refuses: {asked.stderr.strip() or asked.returncode}")
