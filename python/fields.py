"""Write the types of a scenario's fields, by its schema: ``python python/fields.py``.

A test fails if python/tailrace/fields.py is not what this would write.
"""

from __future__ import annotations

import json
import keyword
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "tailrace" / "fields.py"
HEAD = '''"""The fields of a scenario as types, for editors and type checkers. Written by python/fields.py.

At run time they are plain dicts: ``Fabric(preset="spine144")`` is ``{"preset": "spine144"}``.

>>> import tailrace
>>> from tailrace.fields import Fabric, Workload
>>> fabric = Fabric(preset="micro4", buffer="100KB")
>>> workload = Workload(sizes="web-search", load=0.6, flows=10)
>>> tailrace.Scenario(fabric=fabric, workload=workload, scheme={"name": "dctcp"}).run()
Result(dctcp: 10 measured flows, ... packet-hops)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
WIDTH = 100


class Types:
    """What is written of a schema, in order."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.classes: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        for name, own in schema["$defs"].items():
            self._define(name, own)
        self._define("Scenario", schema)

    def text(self) -> str:
        """The module."""
        names = sorted([*self.classes, *self.aliases])
        listed = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n"
        aliases = [f"{text}\n" for _, text in sorted(self.aliases.items())]
        classes = [text for _, text in sorted(self.classes.items())]
        return "\n".join([HEAD, listed, *aliases, *(f"\n{text}" for text in classes)])

    def _define(self, name: str, own: dict[str, Any]) -> None:
        if own.get("type") == "object" and "properties" in own:
            self.classes[name] = self._table(name, own)
            return
        said = f'{name}: TypeAlias = "{self._type(own, name)}"'
        self.aliases[name] = f"{said}\n{_doc(own, '')}".rstrip()

    def _table(self, name: str, own: dict[str, Any]) -> str:
        fields = {
            field: (self._type(of, name + _title(field)), of) for field, of in own["properties"].items()
        }
        if not any(keyword.iskeyword(field) or not field.isidentifier() for field in fields):
            said = own if own.get("description") else {"description": f"Fields of {name}."}
            lines = [f"class {name}(TypedDict, total=False):", _doc(said, "    "), ""]
            for field, (kind, of) in fields.items():
                lines += [f"    {field}: {kind}", _doc(of, "    ")]
            return "\n".join(line for line in lines if line or line == "") + "\n"
        rows = "".join(f'        "{field}": "{kind}",\n' for field, (kind, _) in fields.items())
        table = f'TypedDict(\n    "{name}",\n    {{\n{rows}    }},\n    total=False,\n)'
        return f"{name} = {table}\n{_doc(own, '')}\n"

    def _type(self, own: dict[str, Any], name: str) -> str:
        """The type of a value; tables in it are called by the name."""
        if "$ref" in own:
            return str(own["$ref"].rsplit("/", 1)[1])
        if "allOf" in own:
            return self._type(own["allOf"][0], name)
        for some in ("oneOf", "anyOf"):
            if some in own:
                return self._union(own[some], name)
        if "enum" in own or "const" in own:
            values = own.get("enum", [own.get("const")])
            return f"Literal[{', '.join(repr(value) for value in values)}]"
        kinds = own.get("type", "object")
        found = [self._plain(kind, own, name) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
        return " | ".join(kind for kind in found if kind)

    def _union(self, of: list[dict[str, Any]], name: str) -> str:
        literals = [part["const"] for part in of if "const" in part]
        parts = [f"Literal[{', '.join(map(repr, literals))}]"] if literals else []
        for part in of:
            if "const" in part or part.get("type") == "null":
                continue
            (key, *_) = part.get("properties", {"": None})
            parts.append(self._type(part, name + _title(key)))
        return " | ".join(dict.fromkeys(parts))

    def _plain(self, kind: str, own: dict[str, Any], name: str) -> str:
        if kind == "null":
            return ""
        if kind == "array":
            items = own.get("items")
            inner = own.get("prefixItems", [{}])[0] if not isinstance(items, dict) else items
            return f"Sequence[{self._type(inner, name)}]"
        if kind == "object":
            if "properties" not in own:
                return "Mapping[str, Any]"
            self.classes[name] = self._table(name, own)
            return name
        return PLAIN[kind]


def _title(field: str) -> str:
    return "".join(part.capitalize() for part in field.replace("-", "_").split("_"))


def _doc(own: dict[str, Any], indent: str) -> str:
    """What a schema says of a type, as a docstring."""
    text = " ".join(own.get("description", "").split()).replace("\\", "\\\\")
    text = text[:1].upper() + text[1:]
    if not text:
        return ""
    text += "" if text.endswith((".", "?", "!")) else "."
    if "default" in own and own["default"] not in (None, [], {}):
        text += f" {json.dumps(own['default'])} unless given."
    whole = f'{indent}"""{text}"""'
    if len(whole) <= WIDTH:
        return whole
    first, *rest = textwrap.wrap(text, WIDTH - len(indent) - 3)
    body = textwrap.wrap(" ".join(rest), WIDTH - len(indent)) if rest else []
    return "\n".join([f'{indent}"""{first}', *(indent + line for line in body), f'{indent}"""'])


def written() -> str:
    """The module as ruff formats it."""
    from tailrace import _tailrace

    text = Types(json.loads(_tailrace.schema())).text()
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FILE), "-"]
    return subprocess.run(command, input=text, text=True, check=True, capture_output=True).stdout


if __name__ == "__main__":
    FILE.write_text(written(), "utf-8")
