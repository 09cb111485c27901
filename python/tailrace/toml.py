"""Writes TOML, which the standard library only reads, and reads it with errors of ours."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import tomli_w

from tailrace.errors import ScenarioError

# Tables and lists within one another; no field of a scenario is nearly as deep.
_DEEPEST = 32


def loads(text: str, file: Path | None = None) -> dict[str, Any]:
    """The table that a TOML text is; `file` is where the text was read from."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(str(error), file=file) from error
    except RecursionError:
        raise ScenarioError("has tables or lists too deep within one another", file=file) from None


def dumps(table: Mapping[str, Any]) -> str:
    """A table as TOML text; what TOML cannot say is refused by the name of its field."""
    return tomli_w.dumps({_text(key, ""): _plain(value, key) for key, value in table.items()})


def inline(value: Any, field: str) -> str:
    """What the command line would be given for a value: TOML on one line, but text as it is."""
    value = _plain(value, field)
    return value if isinstance(value, str) else _inline(value, field)


def _inline(value: Any, field: str) -> str:
    match value:
        case list():
            return f"[{', '.join(_inline(item, field) for item in value)}]"
        case dict():
            raise ScenarioError(
                "must be a number, text or a list, not a table: set its fields one by one", field
            )
    return tomli_w.dumps({"v": value}).removeprefix("v = ").rstrip("\n")


def _text(text: Any, field: str) -> str:
    if not isinstance(text, str):
        raise ScenarioError(f"must have keys that are text, not {text!r}", field)
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ScenarioError(f"must be text that UTF-8 can say, not {text!r}", field)
    return str(text)


def _integer(number: int, field: str) -> int:
    # TOML's integers have 64 bits.
    if not -(2**63) <= number < 2**63:
        raise ScenarioError("must be from -2^63 to 2^63 - 1, as all whole numbers in TOML", field)
    return number


def _number(number: Real, field: str) -> float:
    try:
        return float(number)
    except OverflowError:
        raise ScenarioError("must be a number that 64 bits can hold", field) from None


def _plain(value: Any, field: str, depth: int = 1) -> Any:
    """The value in the types that TOML has."""
    if depth > _DEEPEST:
        message = f"holds itself, or tables and lists more than {_DEEPEST} deep within one another"
        raise ScenarioError(message, field.partition(".")[0].partition("[")[0])
    match value:
        case bool():
            return value
        case str():
            return _text(value, field)
        case PathLike():
            return _text(str(fspath(value)), field)
        case Integral():
            return _integer(int(value), field)
        case Real():
            return _number(value, field)
        case Mapping():
            items = value.items()
            return {_text(key, field): _plain(item, f"{field}.{key}", depth + 1) for key, item in items}
        case Sequence():
            return [_plain(item, f"{field}[{i}]", depth + 1) for i, item in enumerate(value)]
    raise ScenarioError(f"must be a number, text, a list or a table, not {value!r}", field)
