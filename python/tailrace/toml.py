"""Writes TOML, which the standard library only reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from os import PathLike, fspath
from typing import Any

import tomli_w

from tailrace.errors import ScenarioError


def dumps(table: Mapping[str, Any]) -> str:
    """A table as TOML text; what TOML cannot say is refused by the name of its field."""
    return tomli_w.dumps({_text(key, ""): _plain(value, key) for key, value in table.items()})


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


def _plain(value: Any, field: str) -> Any:
    """The value in the types that TOML has."""
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
            return float(value)
        case Mapping():
            return {_text(key, field): _plain(item, f"{field}.{key}") for key, item in value.items()}
        case Sequence():
            return [_plain(item, f"{field}[{i}]") for i, item in enumerate(value)]
    raise ScenarioError(f"must be a number, text, a list or a table, not {value!r}", field)
