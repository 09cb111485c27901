"""All runs of an experiment, several at a time, in this process."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

from tailrace.errors import ScenarioError
from tailrace.folder import ResultFolder
from tailrace.planned import Plan, PlannedRun, gather, plan
from tailrace.result import Result
from tailrace.scenario import Progress, Scenario
from tailrace.varied import Over

OnResult = Callable[[PlannedRun, Result], object]


def sweep(
    file: str | Path | Scenario,
    *,
    over: Over | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002 the option's name
    only: Iterable[str] = (),
    scale: float = 1.0,
    out: str | Path | None = None,
    jobs: int | None = None,
    on_result: OnResult | None = None,
    progress: bool = False,
    cluster: str | None = None,
    store: str | None = None,
) -> ResultFolder:
    """Make all runs of an experiment file, as ``tailrace run`` does, and read what they leave.

    In the place of a file there may be a scenario, and what varies of it in ``over``: see `plan`.

    Runs that are there already are not made again. ``jobs`` run at a time, as many as there are processors if
    left out. ``on_result(run, result)`` is called as each is finished, by one thread at a time;
    ``progress=True`` shows how many are. ``means`` of what is returned is over seeds, ``summary`` has each
    run.

    ``cluster`` is a Dask cluster that makes the runs, as of ``tailrace run --cluster``: ``"local"``, the
    address of a scheduler, or ``"slurm:FILE"``. All of its machines must see ``out``, unless ``store`` is an
    address that fsspec knows, where they leave their runs.

    Ctrl-C ends the runs in progress: a warning says how many are finished, and what is returned is of those.
    An exception of a run or of ``on_result`` ends the others too, and is raised when they have ended.
    """
    planned = plan(file, over=over, set=set, only=only, scale=scale, out=out)
    # Where seeds are run until they are enough, nobody knows how many that will be.
    total = f" of {len(planned)}" if not planned._plan.stops else ""
    with _counted(on_result, total) if progress else nullcontext(on_result) as on_result:
        return _swept(planned, jobs, on_result, cluster, store)


def _swept(
    planned: Plan, jobs: int | None, on_result: OnResult | None, cluster: str | None, store: str | None
) -> ResultFolder:
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise ScenarioError(f"must be a whole number from 1 on, not {jobs!r}", "jobs")
    if cluster is not None:
        return _on_cluster(planned, cluster, jobs, store, on_result)
    if store is not None:
        raise ScenarioError("is for runs that a cluster makes: give cluster, too", "store")
    count = jobs or os.cpu_count() or 1
    for numbers in _rounds(planned):
        if not _made(planned, numbers, count, on_result):
            return _of_what_is_finished(planned)
    return gather(planned.folder)


@contextmanager
def _counted(on_result: OnResult | None, total: str) -> Iterator[OnResult]:
    """What shows in a line how many runs are finished, wiped at the end, and tells who wants to know."""

    def show(text: str) -> None:
        print(f"\r{text:<78.78}", end="", file=sys.stderr, flush=True)

    finished = 0
    show(f"0{total} runs are finished")

    def count(run: PlannedRun, result: Result) -> None:
        nonlocal finished
        finished += 1
        show(f"{finished}{total} runs are finished, the last {run.scheme} with seed {run.seed}")
        if on_result is not None:
            on_result(run, result)

    try:
        yield count
    finally:
        print(f"\r{'':<78}\r", end="", file=sys.stderr, flush=True)


def _rounds(planned: Plan) -> Iterator[list[int]]:
    """The runs to be made, at once or, where seeds are run until they are enough, a few at a time."""
    if not planned._plan.stops:
        yield list(range(len(planned)))
        return
    yield [run.index for run in planned if run.finished]
    while wanted := planned._plan.wanted(False):
        yield wanted


def _made(planned: Plan, numbers: list[int], jobs: int, on_result: OnResult | None) -> bool:
    """Make runs, several at a time; whether Ctrl-C has left them alone."""
    stop, one_at_a_time = threading.Event(), threading.Lock()

    def look(_progress: Progress) -> None:
        if stop.is_set():
            raise _StoppedError

    def make(index: int) -> None:
        if stop.is_set():
            return
        result = planned.run(index, progress=look)
        if on_result is not None:
            with one_at_a_time:
                on_result(planned[index], result)

    interrupted = False
    with ThreadPoolExecutor(max(1, min(jobs, len(numbers)))) as pool:
        runs = [pool.submit(make, index) for index in numbers]
        try:
            # Polars' own handler of signals has waits without an end go on after Ctrl-C.
            while not _over(*wait(runs, timeout=0.1, return_when=FIRST_EXCEPTION)):
                pass
        except KeyboardInterrupt:
            interrupted = True
        stop.set()
    failures = [error for run in runs if (error := run.exception()) is not None]
    for error in failures:
        if not isinstance(error, _StoppedError):
            raise error
    return not interrupted


def _on_cluster(
    planned: Plan, cluster: str, jobs: int | None, store: str | None, on_result: OnResult | None
) -> ResultFolder:
    from tailrace.cluster import made

    there = [run.index for run in planned if run.finished]
    rounds = (made(planned._plan, cluster, jobs=jobs, store=store, fresh=False) for _ in _needed(planned))
    try:
        for told in chain(there, chain.from_iterable(rounds)):
            if isinstance(told, str):
                warnings.warn(told, stacklevel=4)
            elif on_result is not None:
                on_result(planned[told], Result.load(planned[told].folder))
    except KeyboardInterrupt:
        return _of_what_is_finished(planned)
    return gather(planned.folder)


def _needed(planned: Plan) -> Iterator[None]:
    """As often as there are runs that are needed."""
    while planned._plan.wanted(False):
        yield


def _over(done: AbstractSet[Future[None]], not_done: AbstractSet[Future[None]]) -> bool:
    return not not_done or any(run.exception() is not None for run in done)


class _StoppedError(Exception):
    """Ends a run that nobody waits for any more."""


def _of_what_is_finished(planned: Plan) -> ResultFolder:
    finished = sum(run.finished for run in planned)
    if finished == 0:
        raise KeyboardInterrupt
    warnings.warn(f"stopped: {finished} of {len(planned)} runs are finished", stacklevel=4)
    return gather(planned.folder)
