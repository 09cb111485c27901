"""Whether there are the fields that a scenario's tables have: names only, the rest is for Rust to say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from tailrace import _tailrace
from tailrace.errors import ScenarioError

_Schema = Mapping[str, Any]


def check(fields: Mapping[str, Any]) -> None:
    """Fail if a table has a field that there is not."""
    _check([_schema()], fields, "")


@cache
def _schema() -> dict[str, Any]:
    return dict(json.loads(_tailrace.schema()))


def _check(of: list[_Schema], value: Any, path: str) -> None:
    if isinstance(value, list | tuple):
        items = [own["items"] for own in _each(of) if isinstance(own.get("items"), Mapping)]
        for item in value:
            _check(items, item, path)
    if not isinstance(value, Mapping):
        return
    known: dict[str, list[_Schema]] = {}
    for own in _each(of):
        if own.get("type") == "object" and "properties" not in own:
            return
        for name, field in own.get("properties", {}).items():
            known.setdefault(name, []).append(field)
    for name, field in value.items():
        own_path = f"{path}.{name}" if path else str(name)
        if known and name not in known:
            raise ScenarioError(_tailrace.unknown("field", str(name), list(known)), own_path)
        _check(known.get(name, []), field, own_path)


def _each(of: list[_Schema]) -> Iterator[_Schema]:
    """All that a value may be, without references and choices."""
    for own in of:
        if "$ref" in own:
            yield from _each([_schema()["$defs"][own["$ref"].rpartition("/")[2]]])
        elif parts := [part for some in ("allOf", "anyOf", "oneOf") for part in own.get(some, [])]:
            yield from _each(parts)
        else:
            yield own
