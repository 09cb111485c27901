"""The command line: the Rust program, with the plots drawn here."""

from __future__ import annotations

import signal
import sys

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def main() -> int:
    """Run as a program of its own and return the exit status."""
    if hasattr(signal, "SIGPIPE"):
        # `tailrace schemes | head` ends quietly. Python ignores the signal, which makes writing fail.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    return command(sys.argv[1:])


def command(args: Sequence[str]) -> int:
    """Run the command with its arguments and return its exit status."""
    try:
        # Imported only now, for Ctrl-C may come while it is.
        from tailrace import _tailrace

        return _tailrace.cli(["tailrace", *args], _draw)
    except KeyboardInterrupt:
        return 130


def _draw(directory: Path) -> list[Path]:
    # Imported only now, for it takes longer than most commands.
    from tailrace.plots import draw

    return draw(directory)


if __name__ == "__main__":
    sys.exit(main())
