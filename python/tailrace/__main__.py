"""The command line: the Rust program, with the plots drawn here."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import FrameType

    from tailrace import _tailrace


def main() -> int:
    """Run as a program of its own and return the exit status."""
    _open_closed_streams()
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is to be ignored
            signal.signal(signal.SIGINT, _interrupt)
        return command(sys.argv[1:])
    except KeyboardInterrupt:
        return 130
    finally:
        # Nothing is left to be tidied up: Ctrl-C may end what Python does at its end.
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def command(args: Sequence[str]) -> int:
    """Run the command with its arguments and return its exit status."""
    try:
        # Imported only now, for Ctrl-C may come while it is.
        from tailrace import _tailrace

        return _tailrace.cli(["tailrace", *args], _draw, _report, _on_cluster)
    except KeyboardInterrupt:
        return 130


def _open_closed_streams() -> None:
    """Open closed standard streams on nothing, lest a file that is opened take their place."""
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # The lowest number that is free is the stream's.


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Ctrl-C: end the command in order. Asked twice, the user means it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise KeyboardInterrupt


def _draw(directory: Path) -> tuple[list[Path], list[str]]:
    # Imported only now, for it takes longer than most commands.
    from tailrace.drawing import draw

    return draw(directory)


def _report(directories: list[Path], out: Path | None) -> Path:
    from tailrace.reports import report

    return report(*directories, out=out)


def _on_cluster(
    plan: _tailrace.Plan, place: str, jobs: int | None, store: str | None, fresh: bool
) -> Iterator[int | str]:
    from tailrace.cluster import made

    return made(plan, place, jobs=jobs, store=store, fresh=fresh)


if __name__ == "__main__":
    sys.exit(main())
