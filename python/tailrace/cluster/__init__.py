"""Runs of an experiment on the machines of a Dask cluster."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailrace import _tailrace
from tailrace.cluster.machines import Crew, connected, still_there
from tailrace.cluster.store import Store
from tailrace.errors import RunError, TailraceError

if TYPE_CHECKING:
    from distributed import Client, Future

_WAITING = 2
"""Runs at the scheduler for each thread of its workers, lest these wait for the next."""
_LOOK_SECONDS = 1.0
"""Time between two looks at how many workers there are."""
_PAUSE_SECONDS = 0.005
"""Time between two looks at whether a run is finished."""


def made(
    plan: _tailrace.Plan, cluster: str, *, jobs: int | None, store: str | None, fresh: bool
) -> Iterator[int | str]:
    """Make the runs of a plan that are not there, those that take longest first.

    Yields the number of each when it is in the plan's folder, and lines that the user should know.
    ``cluster`` is ``"local"``, the address of a scheduler or ``"slurm:FILE"``; ``store`` an address that
    fsspec knows, where workers leave runs if they do not see the plan's folder.
    """
    at = Store(store) if store is not None else None
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
    client: Client, plan: _tailrace.Plan, wanted: Sequence[int], at: Store | None, fresh: bool
) -> Iterator[int | str]:
    from distributed import as_completed

    folder = None if at is not None else plan.folder.absolute()
    contents: dict[tuple[Path, ...], Future] = {}
    numbers: dict[Future, int] = {}
    rest, working = iter(wanted), as_completed(loop=client.loop)

    def submit(index: int) -> None:
        planned = plan.task(index)
        _, base, files, _ = planned
        names = (base, *files)
        if files and names not in contents:
            read = [Path(base, name).read_bytes() for name in files]
            # A task of its own, not scattered: what a worker takes along that dies, another one is given.
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
                contents[names] = client.submit(_by_value(_same), read, pure=False)
        # Not pure: another sweep may want the same run in another folder.
        store = None if at is None else at.address
        task = (planned, fresh, contents.get(names), folder, store)
        future = client.submit(_by_value(_make), *task, pure=False)
        numbers[future] = index
        working.add(future)

    crew, looked, room = Crew(client), 0.0, 0
    try:
        while True:
            if time.monotonic() > looked + _LOOK_SECONDS:
                looked, room = time.monotonic(), _WAITING * max(1, crew.threads())
                yield from crew.news()
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
            if at is not None:
                at.fetch_what_was_left(plan, index)
            yield index
    finally:
        if client.status == "running":
            client.cancel(list(numbers), force=True)


def _by_value(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is sent whole: a worker that has no Tailrace shall say so, and not die of it."""
    module, name = function.__module__, function.__name__

    def there(*args: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(module), name)(*args)

    return there


def _same(contents: list[bytes]) -> list[bytes]:
    return contents


def _check(client: Client, future: Future) -> None:
    """Fail with what ended a run."""
    from distributed import KilledWorker

    if future.status == "finished":
        return
    still_there(client)
    if future.cancelled():
        raise RunError("a run was cancelled at the cluster's scheduler; the same again goes on")
    error = future.exception()
    if isinstance(error, KilledWorker):
        message = (
            "the workers that made a run died, one after another: do they have the memory that it takes?"
        )
        raise RunError(message) from error
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("tailrace"):
        message = "a worker has no Tailrace: the same build must be on all machines of a cluster"
        raise RunError(message) from error
    if isinstance(error, TailraceError):
        raise error
    raise RunError(f"{type(error).__name__}: {error}") from error


def _make(
    planned: tuple[str, Path, list[Path], str],
    fresh: bool,
    contents: list[bytes] | None,
    folder: Path | None,
    store: str | None,
) -> None:
    """What a worker does with a run as `Plan.task` gives it, which is all that it needs of the planner."""
    from distributed import get_worker

    text, base, files, key = planned
    worker = get_worker()
    here, name = worker.state.tasks.get(_current_key()), worker.address

    def look(*_progress: object) -> None:
        if here is not None and here.state not in ("executing", "long-running"):
            raise _CancelledError

    with tempfile.TemporaryDirectory() as scratch:
        if contents is not None:
            base = _placed(Path(scratch), files, contents)
        try:
            if store is None:
                assert folder is not None
                if not Path(folder, "plan.parquet").exists():
                    message = (
                        f"does not see the folder {folder}: choose with --out one that all machines share"
                    )
                    raise RunError(f"{message}, or give an address with --store")
                _tailrace.make(text, base, key, folder, False, fresh, look)
            else:
                own = Path(scratch, "made")
                _tailrace.make(text, base, key, own, True, True, look)
                Store(store).leave(own, key)
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
