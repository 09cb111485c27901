"""Writes TOML; the standard library only reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from os import PathLike, fspath
from typing import Any

from tailrace.errors import ScenarioError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def dumps(table: Mapping[str, Any]) -> str:
    """A table as TOML text: its sub-tables as sections, everything within them inline."""
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    sections = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    lines = [f"{_key(key, '')} = {_value(value, key)}" for key, value in plain.items()]
    for name, section in sections.items():
        lines += ["", f"[{_key(name, '')}]"]
        lines += [f"{_key(key, name)} = {_value(value, f'{name}.{key}')}" for key, value in section.items()]
    return "\n".join(lines).lstrip("\n") + "\n"


def _key(key: Any, field: str) -> str:
    if not isinstance(key, str):
        raise ScenarioError(f"must have keys that are text, not {key!r}", field)
    return key if _BARE_KEY.fullmatch(key) else _text(key, field)


def _text(text: str, field: str) -> str:
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ScenarioError(f"must be text that UTF-8 can say, not {text!r}", field)
    # JSON's strings are TOML's, but for the one control character that JSON lets through.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _integer(number: int, field: str) -> str:
    # TOML's integers have 64 bits.
    if not -(2**63) <= number < 2**63:
        raise ScenarioError("must be from -2^63 to 2^63 - 1, as all whole numbers in TOML", field)
    return str(number)


def _value(value: Any, field: str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value, field)
        case PathLike():
            return _text(str(fspath(value)), field)
        case Integral():
            return _integer(int(value), field)
        case Real():
            return repr(float(value))
        case Mapping():
            inner = (f"{_key(key, field)} = {_value(item, f'{field}.{key}')}" for key, item in value.items())
            return "{ " + ", ".join(inner) + " }"
        case Sequence():
            return "[" + ", ".join(_value(item, f"{field}[{i}]") for i, item in enumerate(value)) + "]"
    raise ScenarioError(f"must be a number, text, a list or a table, not {value!r}", field)
