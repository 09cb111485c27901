"""What is printed, and what was not within its tolerance."""

import sys
from collections.abc import Sequence


class UsageError(Exception):
    """Input or an outside program is at fault; the message is one line."""


class Report:
    """Prints sections and tables, keeps what was printed, and collects the shortfalls."""

    def __init__(self) -> None:
        self.shortfalls: list[str] = []
        self.compared = 0
        self._lines: list[str] = []
        self._section = ""

    def _print(self, *lines: str) -> None:
        print(*lines, sep="\n", flush=True)
        self._lines += lines

    def take(self) -> str:
        """What was printed since this was last asked."""
        taken = "\n".join(self._lines).strip("\n")
        self._lines.clear()
        return taken

    def section(self, title: str) -> None:
        """Start a section."""
        self._section = title
        self._print("", title, "─" * len(title))

    def text(self, *lines: str) -> None:
        """Print lines as they are."""
        self._print(*lines)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print columns: the first flush left, the others flush right."""
        widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
        for row in [header, *rows]:
            cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            self._print("  ".join([row[0].ljust(widths[0]), *cells]).rstrip())

    def check(self, holds: bool, shortfall: str) -> None:
        """Count a comparison, and remember it if it does not hold."""
        self.compared += 1
        if not holds:
            self.shortfalls.append(f"{self._section}: {shortfall}")

    def finish(self) -> int:
        """Print the verdict. The exit status: 0 if everything is within its tolerance, else 1."""
        within = self.compared - len(self.shortfalls)
        self._print("", *(f"not within tolerance: {shortfall}" for shortfall in self.shortfalls))
        self._print(f"{within} of {self.compared} comparisons are within tolerance")
        return 1 if self.shortfalls else 0


def running(what: str) -> None:
    """Say on the error stream what is running, because it takes more than a few seconds."""
    print(f"running: {what}", file=sys.stderr, flush=True)


def percent(value: float, reference: float) -> float:
    """By how many per cent a value differs from its reference."""
    return 100 * (value / reference - 1)
