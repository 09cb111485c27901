"""What can go wrong, as one tree of exceptions."""

from __future__ import annotations

from pathlib import Path


class TailraceError(Exception):
    """Whatever Tailrace reports on purpose."""


class ScenarioError(TailraceError):
    """A scenario, an experiment file or a plot that cannot be used as it is written.

    ``str()`` gives ``file:line: field: message``; the parts are attributes.
    """

    def __init__(
        self, message: str, field: str = "", file: Path | None = None, line: int | None = None
    ) -> None:
        super().__init__(message, field, file, line)
        self.message = message
        """What is wrong and what would be right."""
        self.field = field
        """The field as a dotted path; empty if no field is to blame."""
        self.file = file
        """The file, if the scenario came from one."""
        self.line = line
        """The line in it, counted from 1."""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return ": ".join(part for part in (place, self.field, self.message) if part)


class RunError(TailraceError):
    """A run that could not be made, or whose result could not be read or written."""
