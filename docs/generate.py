"""Write the pages that are made from the program itself: ``python docs/generate.py``.

A page keeps its prose; what stands between ``<!-- generated: ... -->`` and ``<!-- end -->`` is written anew.
A test fails if a page is not what this would write.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
SCHEMES = DOCS / "reference" / "schemes.md"
BLOCK = re.compile(r"(<!-- generated: [^\n]* -->\n).*?(<!-- end -->)", re.DOTALL)


def schemes() -> list[dict[str, Any]]:
    """All schemes as ``tailrace schemes --json`` tells of them."""
    command = [sys.executable, "-m", "tailrace", "schemes", "--json"]
    listed: list[dict[str, Any]] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return listed


def with_block(page: str, block: str) -> str:
    """The page with its generated block replaced."""
    replaced, blocks = BLOCK.subn(lambda match: f"{match[1]}\n{block}\n{match[2]}", page)
    if blocks != 1:
        raise ValueError(f"a page must have one generated block, not {blocks}")
    return replaced


def scheme_block(listed: list[dict[str, Any]]) -> str:
    """A table of all schemes, and one of each scheme's parameters."""
    lines = ["| name | in a line | knows | levels |", "|---|---|---|---|"]
    for scheme in listed:
        name = f"[`{scheme['name']}`](../../crates/tailrace-schemes/src/{scheme['name']}/README.md)"
        levels = ", ".join(scheme["levels"])
        lines.append(f"| {name} | {cell(scheme['summary'])} | {scheme['knows']} | {levels} |")
    for scheme in listed:
        lines += ["", f"## `{scheme['name']}`", "", f"{scheme['summary']}. Source: {scheme['source']}.", ""]
        rows = list(parameters(scheme["params"], scheme["params"], scheme["defaults"]))
        if rows:
            lines += ["| parameter | default | |", "|---|---|---|", *rows]
        else:
            lines.append("No parameters.")
    return "\n".join(lines) + "\n"


def parameters(root: dict[str, Any], schema: dict[str, Any], defaults: Any, within: str = "") -> list[str]:
    """One row a parameter; those of inner tables have dotted names."""
    rows = []
    for name, field in schema.get("properties", {}).items():
        target = root
        for step in field.get("$ref", "").lstrip("#/").split("/"):
            target = target[step] if step else field
        default = defaults.get(name) if isinstance(defaults, dict) else None
        if isinstance(default, dict) and "properties" in target:
            rows += parameters(root, target, default, f"{within}{name}.")
        else:
            text = field.get("description") or target.get("description", "")
            rows.append(f"| `{within}{name}` | {shown(default)} | {cell(text)} |")
    return rows


def shown(default: Any) -> str:
    """A default as TOML would have it, or a dash if there is none."""
    return "–" if default is None else f"`{json.dumps(default, ensure_ascii=False)}`"


def cell(text: str) -> str:
    """Text that fits into a table."""
    return " ".join(text.split()).replace("|", "\\|")


def pages() -> dict[Path, str]:
    """Each generated page as it should be."""
    return {SCHEMES: with_block(SCHEMES.read_text("utf-8"), scheme_block(schemes()))}


if __name__ == "__main__":
    for file, text in pages().items():
        file.write_text(text, "utf-8")
        print(file)
