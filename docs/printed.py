"""Compare what README.md and the guides print with what their commands print: ``python docs/printed.py``.

``--write`` puts into the pages what the commands print now, ``--long`` runs those commands too that take more
than some seconds, and names of pages (``docs/guide/fluid.md``) leave out all others.

A block without a language, or of ``text``, is either commands, or what the commands or the Python of the
block before it print. Where that is not so, a comment on the line above the block has one of these:

======================================  ==================================================================
``<!-- printed by: COMMAND -->``        the command prints the block, in place of the block before
``<!-- printed in part -->``            the block is some lines of what is printed, from its first one on
``<!-- printed slowly -->``             it takes more than some seconds
``<!-- not run: REASON -->``            the same would not be printed everywhere
``<!-- not printed: REASON -->``        no program prints this
``<!-- run -->``, ``<!-- run: … -->``   commands, or Python, that later blocks need
``<!-- file: NAME -->``                 what is saved as a file, which later blocks need
======================================  ==================================================================

``in part``, ``slowly`` and ``by: COMMAND`` go together. All of a page is run in one folder, with the files of
``docs/guide`` and the folders of the checkout in it. A test runs this, and counts what is not run.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

ROOT = Path(__file__).parents[1]
GUIDES = ROOT / "docs" / "guide"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(GUIDES.glob("*.md"))]
FOLDERS = ("benches", "crates", "docs", "examples", "experiments")

FENCE = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*) -->\n\n?)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)
MARK = re.compile(
    r"(?P<what>printed|not printed|not run|run|file)(?P<how>(?: in part| slowly)*)(?: by)?(?:: (?P<rest>.+))?"
)
# What a line of commands begins with.
PROGRAMS = set("( awk cargo curl cut etcdctl for ip jq kill make sort tailrace".split())  # noqa: SIM905

# Runs blocks of Python, which share their names; what each prints is a line of JSON.
PYTHON = """\
import contextlib, io, json, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(json.loads(line), names)
        except Exception:
            out.write(traceback.format_exc())
    print(json.dumps(out.getvalue()), flush=True)
"""


class Block(NamedTuple):
    """A fenced block of a page."""

    line: int
    """Where it begins."""
    span: tuple[int, int]
    """Where its text is in that of the page."""
    language: str
    text: str
    what: str
    """As in the comments, or ``commands``, ``python``, ``unpaired``, and ``other`` in other languages."""
    in_part: bool = False
    slowly: bool = False
    rest: str = ""
    """A command, a reason, or the name of a file."""


class Wrong(NamedTuple):
    """A block that is not what is printed now."""

    page: str
    block: Block
    now: str
    """What it should be; empty if that cannot be known."""
    why: str

    def __str__(self) -> str:
        lines = difflib.unified_diff(self.block.text.splitlines(), self.now.splitlines(), lineterm="", n=0)
        shown = [line for line in lines if not line.startswith(("---", "+++", "@@"))] if self.now else []
        return "\n".join([f"{self.page}:{self.block.line}: {self.why}", *shown])


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page."""
    found: list[Block] = []
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start("text"))
        block = Block(line, match.span("text"), match["language"], match["text"], "other")
        mark = MARK.fullmatch(match["mark"]) if match["mark"] else None
        found.append(marked(block, mark) if mark else unmarked(block, found[-1] if found else None))
    return found


def marked(block: Block, mark: re.Match[str]) -> Block:
    """A block with what its comment states."""
    what = mark["what"]
    if what == "run":
        what = "python" if block.language == "python" else "commands"
    rest = mark["rest"] or ("run" if mark["what"] == "run" else "")
    if mark["what"] in {"not run", "not printed", "file"} and not mark["rest"]:
        what = "unpaired"
    return block._replace(
        what=what, in_part="in part" in mark["how"], slowly="slowly" in mark["how"], rest=rest
    )


def unmarked(block: Block, before: Block | None) -> Block:
    """A block without a comment: what it is, by its language and its first word."""
    if block.language == "python":
        return block._replace(what="python")
    if block.language not in {"", "text", "sh"}:
        return block
    if block.language == "sh" or re.split(r"[ \n]|(?<=\()", block.text, maxsplit=1)[0] in PROGRAMS:
        return block._replace(what="commands")
    paired = before is not None and before.what in {"commands", "python"}
    return block._replace(what="printed" if paired else "unpaired")


class Session:
    """A folder in which the commands of a page are run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "work"
        self._folder.mkdir()
        for file in [*GUIDES.iterdir(), *(ROOT / name for name in FOLDERS)]:
            if file.name != "out":
                (self._folder / file.name).symlink_to(file)
        programs = folder / "bin"
        programs.mkdir()
        for name, module in (("tailrace", "-m tailrace"), ("python", "")):
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
            (programs / name).chmod(0o755)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self._env = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"PATH": path}
        self._python: subprocess.Popen[str] | None = None

    def save(self, name: str, text: str) -> str:
        """Write a file. One that is there already must be the same; returns what it has instead."""
        file = self._folder / name
        if file.is_symlink():
            there = file.read_text("utf-8")
            return "" if there == text else there
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return ""

    def run(self, commands: str) -> list[str]:
        """Run commands; what they print on standard output, and that with what they print on the other."""
        ran = subprocess.run(
            ["bash", "-c", commands],
            cwd=self._folder,
            env=self._env,
            stdin=subprocess.DEVNULL,
            check=False,
            capture_output=True,
            text=True,
        )
        return [ran.stdout, ran.stdout + ran.stderr, ran.stderr]

    def execute(self, code: str) -> list[str]:
        """Run a block of Python behind those before it; what it prints."""
        if self._python is None:
            pipe = subprocess.PIPE
            command = [sys.executable, "-c", PYTHON]
            self._python = subprocess.Popen(
                command, cwd=self._folder, env=self._env, stdin=pipe, stdout=pipe, text=True
            )
        to, back = pipes(self._python)
        print(json.dumps(code), file=to, flush=True)
        return [json.loads(back.readline())]

    def close(self) -> None:
        """End what still runs."""
        if self._python is not None:
            self._python.communicate()


def pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    """Both ends of a process that has them."""
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


@contextmanager
def session() -> Iterator[Session]:
    """A session in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        found = Session(Path(folder))
        try:
            yield found
        finally:
            found.close()


def compared(page: str, text: str, runs: Session, *, long: bool) -> list[Wrong]:
    """The blocks of a page that are not what is printed now."""
    wrong = []
    all_blocks = blocks(text)
    for block, before in zip(all_blocks, [None, *all_blocks], strict=False):
        if block.what == "unpaired":
            wrong.append(Wrong(page, block, "", "nothing states what prints this block: see docs/printed.py"))
        elif block.what == "file" and (there := runs.save(block.rest, block.text)):
            wrong.append(Wrong(page, block, there, f"docs/guide/{block.rest} is another file"))
        elif block.slowly and not long:
            continue
        elif block.what in {"commands", "python"} and block.rest:
            run(block, block, runs)
        elif block.what == "printed":
            printed = run(block, before, runs)
            if (now := shown(block, printed)) is None:
                all_of_it = "\n".join(printed[-2:])
                wrong.append(
                    Wrong(page, block, "", f"its first line is not among what is printed:\n{all_of_it}")
                )
            elif bare(now) != bare(block.text):
                wrong.append(Wrong(page, block, now, "other lines are printed now"))
    return wrong


def run(block: Block, source: Block | None, runs: Session) -> list[str]:
    """Run what prints a block: the command of its own, or the block that is its source."""
    if block.rest not in {"", "run"}:
        return runs.run(block.rest)
    assert source is not None
    return runs.execute(source.text) if source.what == "python" else runs.run(source.text)


def shown(block: Block, printed: list[str]) -> str | None:
    """Of what was printed, on one output or on both, that which is most like the block.

    Of a block in part, so many lines as it has, from the line on that is its first one.
    """
    if block.in_part:
        printed = [part for text in printed if (part := part_of(text, block.text)) is not None]
    return max(printed, key=lambda text: (likeness(text, block.text), bool(text)), default=None)


def part_of(printed: str, text: str) -> str | None:
    """As many lines as the text has, from its first line on."""
    lines, wanted = printed.splitlines(), text.splitlines()
    for at, line in enumerate(lines):
        if line.rstrip() == wanted[0].rstrip():
            return "\n".join(lines[at : at + len(wanted)]) + "\n"
    return None


def likeness(one: str, other: str) -> float:
    """How much of two texts is the same, from 0 to 1."""
    return difflib.SequenceMatcher(None, bare(one), bare(other)).ratio()


def bare(text: str) -> list[str]:
    """Lines without what cannot be seen at their ends."""
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def corrected(text: str, wrong: list[Wrong]) -> str:
    """The page with what is printed now."""
    for _, block, now, _ in sorted(wrong, key=lambda one: one.block.span, reverse=True):
        if now and block.what == "printed":
            start, end = block.span
            text = f"{text[:start]}{now.strip(chr(10))}\n{text[end:]}"
    return text


def name(page: Path) -> str:
    """A page as it is called in the checkout, or elsewhere."""
    return page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name


def main(args: list[str]) -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description="Compare what pages print with what their commands print.")
    parser.add_argument("--write", action="store_true", help="put into the pages what is printed now")
    parser.add_argument("--long", action="store_true", help="run what takes more than some seconds, too")
    parser.add_argument("pages", nargs="*", type=Path, help="these only")
    given = parser.parse_args(args)
    failed = 0
    for page in [path.resolve() for path in given.pages] or PAGES:
        text = page.read_text("utf-8")
        with session() as runs:
            wrong = compared(name(page), text, runs, long=given.long)
        if given.write:
            page.write_text(corrected(text, wrong), "utf-8")
        for one in wrong:
            print(one)
            failed += not (given.write and one.now and one.block.what == "printed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
