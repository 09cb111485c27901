"""What README.md and the guides print is what their commands print now.

Those that take more than some seconds are run where ``TAILRACE_LONG`` is set.
"""

import importlib.util
import os
import re
from collections import Counter
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "docs" / "printed.py"
spec = importlib.util.spec_from_file_location("printed", FILE)
assert spec is not None
assert spec.loader is not None
printed = importlib.util.module_from_spec(spec)
spec.loader.exec_module(printed)

README = (printed.ROOT / "README.md").read_text("utf-8")
LONG = bool(os.environ.get("TAILRACE_LONG"))
# Blocks of output that are not compared, by page: each has its reason in a comment above it.
NOT_RUN = {
    "CONTRIBUTING.md": 3,
    "docs/guide/coflows.md": 2,
    "docs/guide/control.md": 1,
    "docs/guide/deploy.md": 4,
    "docs/guide/live.md": 2,
    "docs/guide/measure.md": 3,
    "docs/guide/proxy.md": 1,
    "docs/guide/python.md": 1,
    "docs/guide/switch.md": 1,
    "docs/guide/telling.md": 1,
}
NO_OUTPUT = {
    "docs/guide/coflows.md": 1,
    "docs/guide/control.md": 1,
    "docs/guide/experiments.md": 1,
    "docs/guide/fluid.md": 1,
    "docs/guide/proxy.md": 1,
}


def wrong_of(text: str, page: str = "page.md", *, long: bool = False) -> list[str]:
    with printed.session() as runs:
        return [str(one) for one in printed.compared(page, text, runs, long=long)]


def of_kind(what: str) -> Counter[str]:
    pages = ((printed.name(page), printed.blocks(page.read_text("utf-8"))) for page in printed.PAGES)
    return Counter(name for name, blocks in pages for block in blocks if block.what == what)


@pytest.mark.parametrize("page", printed.PAGES, ids=printed.name)
def test_pages_print_what_their_commands_print(page: Path) -> None:
    wrong = wrong_of(page.read_text("utf-8"), printed.name(page), long=LONG)
    assert wrong == [], "\n".join([*wrong, f"python docs/printed.py --long --write {printed.name(page)}"])


def test_blocks_that_are_not_compared_are_counted() -> None:
    assert of_kind("not run") == NOT_RUN
    assert of_kind("not printed") == NO_OUTPUT
    assert of_kind("printed").total() == 21


def test_a_changed_number_of_the_readme_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each number of its table; what the demonstration prints is taken from the page as it is."""
    (block,) = (block for block in printed.blocks(README) if block.what == "printed")
    assert block.rest == "tailrace run experiments/demo.toml"
    monkeypatch.setattr(printed.Session, "run", lambda _, commands: [block.text, block.text, ""])
    assert wrong_of(README, long=True) == []
    start, end = block.span
    numbers = [place for place in re.finditer(r"\d+", README) if start < place.start() < end]
    assert len(numbers) > 80
    for number in numbers:
        at = number.start()
        text = f"{README[:at]}{(int(README[at]) + 1) % 10}{README[at + 1 :]}"
        (wrong,) = wrong_of(text, "README.md", long=True)
        assert wrong.startswith(f"README.md:{block.line}: other lines are printed now\n-")


def page(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"


def fenced(text: str, language: str = "") -> str:
    return f"```{language}\n{text}\n```"


TWO = fenced("for a in 1 2; do echo $a; done")


@pytest.mark.parametrize(("text", "wrong"), [
    (page(TWO, fenced("1\n2")), None),
    (page(TWO, fenced("1\n3")), "page.md:5: other lines"),
    (page(TWO, fenced("1")), "page.md:5: other lines"),
    (page(TWO, "<!-- printed in part -->\n" + fenced("2")), None),
    (page(TWO, "<!-- printed in part -->\n" + fenced("3")), "page.md:6: its first"),
    (page(fenced("print(3)", "python"), "prints", fenced("3")), None),
    (page(fenced("x = 3", "python"), fenced(""), fenced("print(x)", "python"), fenced("3")), None),
    (page("<!-- printed by: echo 1 -->", fenced("1")), None),
    (page("<!-- printed slowly by: echo 1 -->", fenced("2")), None),
    (page("<!-- run: echo 7 > a -->", TWO, "<!-- printed by: cat a -->", fenced("7")), None),
    (page("<!-- run -->", fenced("for a in b; do echo 7 > $a; done"), TWO, fenced("1\n2")), None),
    (page("<!-- file: a -->\n" + fenced("7", "toml"), "<!-- printed by: cat a -->\n" + fenced("7")), None),
    (page("<!-- file: reads.cdf -->\n" + fenced("7")), "page.md:2: docs/guide/reads.cdf is another file"),
    (page("<!-- printed by: echo 1 >&2 -->", fenced("1")), None),
    (page("<!-- not run: it needs root -->", fenced("1")), None),
    (page("<!-- not run -->", fenced("1")), "page.md:3: nothing states what prints this block"),
    (page(fenced("1")), "page.md:1: nothing states what prints this block"),
    (page(fenced("a = 1", "toml"), fenced("1", "text")), "page.md:5: nothing states what prints this block"),
    (page("<!-- some comment -->", fenced("1")), "page.md:3: nothing states what prints this block"),
])  # fmt: skip
def test_what_a_block_is(text: str, wrong: str | None) -> None:
    found = wrong_of(text)
    assert len(found) == (wrong is not None)
    assert wrong is None or found[0].startswith(wrong)


def test_a_number_that_a_real_command_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guide = (printed.GUIDES / "your-own-traffic.md").read_text("utf-8")
    wrong = guide.replace("94.5 % less", "94.6 % less")
    assert wrong != guide
    file = tmp_path / "guide.md"
    file.write_text(wrong, "utf-8")
    assert printed.main([str(file)]) == 1
    assert "-mean completion time: 94.6 %" in capsys.readouterr().out
    assert printed.main([str(file), "--write"]) == 0
    assert file.read_text("utf-8") == guide
