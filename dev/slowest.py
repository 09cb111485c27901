"""The slowest tests, for CONTRIBUTING.md: ``python dev/slowest.py [--write]`` after ``make test``.

Reads the report of the runner (``target/nextest/*/junit.xml``), prints the twenty slowest tests
with their seconds, and with ``--write`` puts the table into CONTRIBUTING.md.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
BLOCK = re.compile(r"(<!-- generated: dev/slowest.py -->\n).*?(<!-- end -->)", re.DOTALL)
COUNT = 20


def times() -> list[tuple[float, str]]:
    """Seconds and names of all tests of the newest report, the slowest first."""
    reports = sorted((ROOT / "target" / "nextest").glob("*/junit.xml"), key=lambda path: path.stat().st_mtime)
    if not reports:
        raise SystemExit("no report is there: run make test first")
    tests = ElementTree.parse(reports[-1]).iter("testcase")
    named = ((float(test.get("time", 0)), f"{test.get('classname')} {test.get('name')}") for test in tests)
    return sorted(named, reverse=True)


def table(tests: list[tuple[float, str]]) -> str:
    """The slowest tests as Markdown."""
    rows = [f"| {seconds:.1f} | `{name}` |" for seconds, name in tests[:COUNT]]
    total = sum(seconds for seconds, _ in tests)
    head = f"{len(tests)} tests take {total:.0f} s of one processor in all; the slowest twenty:\n"
    return "\n".join(["", head, "| s | test |", "|---:|---|", *rows, "", ""])


def main() -> None:
    """Prints the table, or writes it."""
    text = table(times())
    if "--write" in sys.argv[1:]:
        page = PAGE.read_text("utf-8")
        if not BLOCK.search(page):
            raise SystemExit("CONTRIBUTING.md has no block for it")
        PAGE.write_text(BLOCK.sub(lambda match: match[1] + text + match[2], page), "utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
