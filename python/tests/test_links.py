"""Links between the texts of the repository lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE = {"target", "out", ".venv", ".git"}
TEXTS = [path for path in sorted(ROOT.rglob("*.md")) if not MADE & set(path.relative_to(ROOT).parts)]


def anchors(text: str) -> set[str]:
    """What GitHub calls the headings of a text."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(path: Path) -> list[str]:
    """Links of a text that lead to no file or heading of the repository."""
    text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        to = path.parent / name if name else path
        found = to.exists() and (not anchor or anchor in anchors(to.read_text("utf-8")))
        if not found:
            wrong.append(link)
    return wrong


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    """A file that is not there, and a heading that is not there."""
    text = tmp_path / "a.md"
    text.write_text("# One `b`: c\n[x](b.md) [y](#one-b-c) [z](a.md#two) [w](https://example.org)\n", "utf-8")
    assert broken(text) == ["b.md", "a.md#two"]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    """Of every text."""
    assert broken(path) == []


def test_the_contents_name_every_page() -> None:
    """Of docs."""
    folder = ROOT / "docs"
    links = re.findall(r"\]\(([^)#\s]+)", (folder / "README.md").read_text("utf-8"))
    linked = {(folder / link).resolve() for link in links}
    assert {page for page in folder.rglob("*.md") if page.resolve() not in linked} == {folder / "README.md"}
