"""Runs of an experiment on the machines of a Dask cluster."""

from __future__ import annotations

import logging
import os
import posixpath
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from tailrace import _tailrace
from tailrace.errors import RunError, ScenarioError, TailraceError
from tailrace.files import reason, table

if TYPE_CHECKING:
    from distributed import Client, Future

NEEDED = "a cluster needs Dask's distributed: pip install 'tailrace[cluster]'"
_ANSWER_SECONDS = 10
"""How long a scheduler may take to answer, or to come back."""
_WAITING = 2
"""Runs at the scheduler for each thread of its workers, lest these wait for the next."""
_LOOK_SECONDS = 1.0
"""Time between two looks at how many workers there are."""
_PAUSE_SECONDS = 0.005
"""Time between two looks at whether a run is finished."""


@dataclass(frozen=True)
class Task:
    """A run that a worker is to make. It needs nothing else of the machine that planned it."""

    text: str
    """Its scenario."""
    base: Path
    """The folder that its files are relative to."""
    files: Sequence[Path]
    """Their names."""
    key: str
    """What its folder is called."""
    fresh: bool
    """Whether it is made although it is there."""


def made(
    plan: _tailrace.Plan, cluster: str, *, jobs: int | None, store: str | None, fresh: bool
) -> Iterator[int]:
    """Make the runs of a plan that are not there, those that take longest first.

    Yields the number of each when it is in the plan's folder. ``cluster`` is ``"local"``, the address of a
    scheduler or ``"slurm:FILE"``; ``store`` an address that fsspec knows, where workers leave runs if they
    do not see the plan's folder.
    """
    at = _Store(store) if store is not None else None
    wanted = []
    for index in plan.wanted(fresh):
        if at is not None and not fresh and at.fetch(plan, index):
            yield index
        else:
            wanted.append(index)
    if not wanted:
        return
    with connected(cluster, jobs, len(wanted)) as client:
        yield from _made_by(client, plan, wanted, at, fresh)


def _made_by(
    client: Client, plan: _tailrace.Plan, wanted: Sequence[int], at: _Store | None, fresh: bool
) -> Iterator[int]:
    from distributed import as_completed

    folder = None if at is not None else plan.folder.absolute()
    contents: dict[tuple[Path, ...], Future] = {}
    numbers: dict[Future, int] = {}
    rest, working = iter(wanted), as_completed(loop=client.loop)

    def submit(index: int) -> None:
        task = Task(*plan.task(index), fresh=fresh)
        names = (task.base, *task.files)
        if task.files and names not in contents:
            read = [Path(task.base, name).read_bytes() for name in task.files]
            # A task of its own, not scattered: what a worker takes along that dies, another one is given.
            contents[names] = client.submit(_same, read, pure=False)
        # Not pure: another sweep may want the same run in another folder.
        future = client.submit(_make, task, contents.get(names), folder, at, pure=False)
        numbers[future] = index
        working.add(future)

    looked, room = 0.0, 0
    try:
        while True:
            if time.monotonic() > looked + _LOOK_SECONDS:
                _still_there(client)
                looked, room = time.monotonic(), _WAITING * max(1, sum(client.nthreads().values()))
            for index in islice(rest, max(0, room - len(numbers))):
                submit(index)
            if not numbers:
                return
            if not working.has_ready():
                time.sleep(_PAUSE_SECONDS)
                continue
            future = next(working)
            index = numbers.pop(future)
            _check(client, future)
            if at is not None and not at.fetch(plan, index):
                missing = plan.entry(index).key
                raise RunError(f"{at.address} does not hold run {missing}, which a worker has left there")
            yield index
    finally:
        if client.status == "running":
            client.cancel(list(numbers), force=True)


def _same(contents: list[bytes]) -> list[bytes]:
    return contents


def _still_there(client: Client) -> None:
    if client.status != "running":
        message = "the cluster's scheduler has gone; the same again makes the runs that are not finished"
        raise RunError(message)


def _check(client: Client, future: Future) -> None:
    """Fail with what ended a run."""
    from distributed import KilledWorker

    if future.status == "finished":
        return
    _still_there(client)
    if future.cancelled():
        raise RunError("a run was cancelled at the cluster's scheduler; the same again goes on")
    error = future.exception()
    if isinstance(error, KilledWorker):
        message = (
            "the workers that made a run died, one after another: do they have the memory that it takes?"
        )
        raise RunError(message) from error
    if isinstance(error, TailraceError):
        raise error
    raise RunError(f"{type(error).__name__}: {error}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Within this, what Dask meets is said by the errors that end the sweep, not also by its log."""
    import distributed

    # Each of its loggers has a level of its own.
    of_dask = [name for name in logging.root.manager.loggerDict if name.startswith(distributed.__name__)]
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
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise RunError(NEEDED) from error
    kind, _, place = cluster.partition(":")
    with _quiet():
        if kind == "local" and not place:
            count = min(jobs or os.cpu_count() or 1, runs)
            own = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0")
            with own, Client(own) as client:
                yield client
        elif kind == "slurm" and place:
            with _slurm(Path(place), jobs, runs) as own, Client(own) as client:
                yield client
        elif kind in ("tcp", "tls", "ucx", "ws", "wss") and place:
            try:
                client = Client(cluster, timeout=_ANSWER_SECONDS, set_as_default=False)
            except (OSError, ValueError) as error:
                raise RunError(f"no scheduler of Dask answers at {cluster}: {reason(error)}") from error
            with client:
                yield client
        else:
            known = 'must be "local", the address of a scheduler such as "tcp://host:8786", or "slurm:FILE"'
            raise ScenarioError(f'{known}, not "{cluster}"', "--cluster")


def _slurm(file: Path, jobs: int | None, runs: int) -> Any:
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError as error:
        raise RunError("Slurm needs dask-jobqueue: pip install 'tailrace[cluster]'") from error
    try:
        options = table(file)
    except (OSError, ValueError) as error:
        raise ScenarioError(f"cannot be read: {reason(error)}", file=file) from error
    count = options.pop("jobs", jobs or 1)
    try:
        cluster = SLURMCluster(**options)
    except (TypeError, ValueError) as error:
        raise ScenarioError(f"is not what dask_jobqueue.SLURMCluster takes: {error}", file=file) from error
    cluster.scale(jobs=min(count, runs))
    return cluster


def _make(task: Task, contents: list[bytes] | None, folder: Path | None, at: _Store | None) -> None:
    """What a worker does."""
    from distributed import get_worker

    worker = get_worker()
    here, name = worker.state.tasks.get(_current_key()), worker.address

    def look(*_progress: object) -> None:
        if here is not None and here.state not in ("executing", "long-running"):
            raise _CancelledError

    with tempfile.TemporaryDirectory() as scratch:
        base = task.base if contents is None else _placed(Path(scratch), task.files, contents)
        try:
            if at is None:
                assert folder is not None
                if not Path(folder, "plan.parquet").exists():
                    message = (
                        f"does not see the folder {folder}: choose with --out one that all machines share"
                    )
                    raise RunError(f"{message}, or give an address with --store")
                _tailrace.make(task.text, base, task.key, folder, False, task.fresh, look)
            else:
                own = Path(scratch, "made")
                _tailrace.make(task.text, base, task.key, own, True, True, look)
                at.leave(own, task.key)
        except TailraceError as error:
            raise RunError(f"worker {name}: {error}") from None


def _current_key() -> str:
    from distributed.worker import thread_state

    return str(thread_state.key)


class _CancelledError(Exception):
    """Ends a run that nobody waits for any more."""


def _placed(scratch: Path, names: Sequence[Path], contents: Sequence[bytes]) -> Path:
    """A folder relative to which files of these names have these contents."""
    # Names may begin with steps upwards.
    base = scratch.joinpath(*["base"] * max(name.parts.count("..") for name in names), "base")
    base.mkdir(parents=True)
    for name, content in zip(names, contents, strict=True):
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_bytes(content)
    return base


class _Store:
    """Where workers leave runs if they do not see the folder of results: an address that fsspec knows."""

    _LAST = "SHA256SUMS"

    def __init__(self, address: str) -> None:
        self.address = address

    def _opened(self) -> tuple[Any, str]:
        try:
            from fsspec import url_to_fs
        except ImportError as error:
            raise RunError(NEEDED) from error
        try:
            files, path = url_to_fs(self.address)
        except (ImportError, ValueError) as error:
            raise ScenarioError(f'"{self.address}": {error}', "--store") from error
        return files, path

    def leave(self, made: Path, key: str) -> None:
        """Put a run there. Its checksums come last: without them it counts as missing."""
        files, path = self._opened()
        target = posixpath.join(path, key)
        try:
            files.makedirs(target, exist_ok=True)
            for name in sorted((file.name for file in made.iterdir()), key=lambda name: name == self._LAST):
                files.put_file(str(made / name), posixpath.join(target, name))
        except OSError as error:
            raise RunError(f"{self.address}: run {key} cannot be left there: {reason(error)}") from error

    def fetch(self, plan: _tailrace.Plan, index: int) -> bool:
        """Take a run from there into the plan's folder; whether it was there, and whole."""
        files, path = self._opened()
        source = posixpath.join(path, plan.entry(index).key)
        try:
            if not files.exists(posixpath.join(source, self._LAST)):
                return False
            with tempfile.TemporaryDirectory() as scratch:
                for name in files.ls(source, detail=False):
                    files.get_file(name, str(Path(scratch, PurePosixPath(name).name)))
                return plan.take(index, scratch)
        except OSError as error:
            raise RunError(f"{self.address}: cannot be read: {reason(error)}") from error
