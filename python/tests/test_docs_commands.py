"""Commands, paths and names of code that the texts mention exist."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tailrace

ROOT = Path(__file__).parents[2]
MADE = {"target", "out", ".venv", ".git"}
TEXTS = [path for path in sorted(ROOT.rglob("*.md")) if not MADE & set(path.relative_to(ROOT).parts)]
# These name commands, paths and code of their day.
PAST = {ROOT / "CHANGELOG.md", *ROOT.glob("docs/notes/*.md")}
PRESENT = [path for path in TEXTS if path not in PAST]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"(?:^|[ (/])tailrace(?:-cli --)? ([a-z][a-z-]*)((?: [^|>#;]*)?)")
CARGO = re.compile(r"cargo (?:test|build|run)\b.*?(?:-p|--package) ([\w-]+)(?:.*? --test (\w+))?")
MAKE = re.compile(r"(?:^|[ (])make((?: -C \S+)?)(?: ([a-z][a-z-]*))?(?=$|[ )])")
FOLDERS = "crates|experiments|benches|docs|examples|fuzz|python"
PLACE = re.compile(rf"(?<![\w/.~<-])(?:{FOLDERS})/[\w./*-]+")
NAME = re.compile(r"(?<![\w./-])tailrace\.(\w+)(?=[(.]|$)")
# What a reader is to write or fill in.
TO_BE_MADE = re.compile(r"/sjf\b|PAPER|NAME|\$")


def commands(text: str) -> Iterator[str]:
    """Lines of blocks without a language and of shells, and what stands in backticks elsewhere."""
    for language, block in FENCE.findall(text):
        if language in {"", "sh"}:
            yield from block.replace("\\\n", " ").splitlines()
    for code in re.findall(r"`([^`]+)`", FENCE.sub("", text)):
        yield " ".join(code.split())


def python(text: str) -> Iterator[str]:
    """Blocks of Python, and what stands in backticks elsewhere."""
    yield from (block for language, block in FENCE.findall(text) if language == "python")
    yield from re.findall(r"`([^`]+)`", FENCE.sub("", text))


@cache
def options(command: str) -> frozenset[str] | None:
    """The options of a command of `tailrace`; none if there is no such command."""
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", command, "--help"], check=False, capture_output=True, text=True
    )
    return frozenset(re.findall(r"--[a-z][a-z0-9-]*", done.stdout)) if done.returncode == 0 else None


def targets(makefile: Path) -> list[str]:
    """The targets that a makefile declares to be no files, or that have a rule, the first of them first."""
    return re.findall(r"^([a-z][a-z-]*):(?!=)", makefile.read_text("utf-8"), re.MULTILINE)


def wrong_command(line: str, folder: Path) -> str | None:
    """What in a line does not exist; paths of makefiles start at `folder` or at the root."""
    for command, rest in COMMAND.findall(line):
        known = options(command)
        if known is None:
            return f"tailrace {command}"
        # Behind a lone -- are another program's.
        for option in re.findall(r"(?<=\s)--[a-z][a-z0-9-]*", rest.split(" -- ")[0]):
            if option not in known:
                return f"tailrace {command} {option}"
    for package, test in CARGO.findall(line):
        crate = ROOT / "fuzz" if package == "tailrace-fuzz" else ROOT / "crates" / package
        if not crate.is_dir():
            return f"-p {package}"
        if test and not any((crate / "tests" / name).exists() for name in (f"{test}.rs", f"{test}/main.rs")):
            return f"-p {package} --test {test}"
    for where, target in MAKE.findall(line):
        place = ROOT / where.split()[1] if where else folder
        makefile = next(path / "Makefile" for path in (place, ROOT) if (path / "Makefile").exists())
        if target and target not in targets(makefile):
            return f"make{where} {target}"
    for place in PLACE.findall(line):
        if not TO_BE_MADE.search(line) and not any(ROOT.glob(place.rstrip("."))):
            return place
    return None


@pytest.mark.parametrize(("line", "wrong"), [
    ("tailrace run FILE --jobs 2 --out d", None),
    ("tailrace rnu FILE", "tailrace rnu"),
    (".venv/bin/tailrace check FILE --jbos 2", "tailrace check --jbos"),
    ("cargo run -p tailrace-cli -- check FILE --jbos 2", "tailrace check --jbos"),
    ("cargo test -p tailrace-packet --test promises md1", None),
    ("cargo test -p tailrace-packet --test promise", "-p tailrace-packet --test promise"),
    ("cargo test -p tailrace-paket", "-p tailrace-paket"),
    ("tailrace enter h3 --name a -- iperf3 --client h0", None),
    ("tailrace enter h3 --nam a -- true", "tailrace enter --nam"),
    ("make fuzz TARGET=flow_list", None),
    ("make fuss", "make fuss"),
    ("make -C benches/ns3 check", None),
    ("make -C benches/ns3 chek", "make -C benches/ns3 chek"),
    ("tailrace run experiments/demo.toml", None),
    ("python experiments/uranus/nothing.py", "experiments/uranus/nothing.py"),
])  # fmt: skip
def test_what_does_not_exist_is_found(line: str, wrong: str | None) -> None:
    assert wrong_command(line, ROOT) == wrong


@pytest.mark.parametrize("path", PRESENT, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_paths_exist(path: Path) -> None:
    lines = commands(path.read_text("utf-8"))
    assert [line for line in lines if wrong_command(line, path.parent)] == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_names_exist(path: Path) -> None:
    names = {name for code in python(path.read_text("utf-8")) for name in NAME.findall(code)}
    assert {name for name in names if not hasattr(tailrace, name)} == set()


CODE = re.compile(r"(?:\w+::)+\w+(?:\(.*\))?|(?:[A-Z][a-z0-9]+){2,}|[\w/]+\.rs")
# These name another simulator's code.
OF_OTHERS = {"docs/validation.md", "benches/ns3/README.md", "benches/simgrid/README.md"}


@cache
def sources() -> list[Path]:
    return [*ROOT.glob("crates/**/*.rs"), *ROOT.glob("fuzz/**/*.rs")]


@cache
def words() -> frozenset[str]:
    """All words of the Rust sources, and the names in the Python package."""
    rust = (re.findall(r"\w+", file.read_text("utf-8")) for file in sources())
    return frozenset(tailrace.__all__).union(*rust)


def is_there(code: str) -> bool:
    """Whether there is a Rust source of this name, or each part of a path is a word of one."""
    if code.endswith(".rs"):
        return any(file.as_posix().endswith(f"/{code}") for file in sources())
    return set(re.findall(r"\w+", code.partition("(")[0])) <= words()


def unknown_code(text: str) -> list[str]:
    """Paths, types and files of code in backticks that are not there."""
    found = [code for code in re.findall(r"`([^`]+)`", FENCE.sub("", text)) if CODE.fullmatch(code)]
    return [code for code in found if not is_there(code)]


def test_code_that_is_gone_is_found() -> None:
    text = (
        "`Switching::route`, `Switching::rout`, `MultiQueue`, `MultipleQueue`, `port.rs`, `prot.rs`, `load`"
    )
    assert unknown_code(text) == ["Switching::rout", "MultipleQueue", "prot.rs"]


@pytest.mark.parametrize("path", PRESENT, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_of_code_exist(path: Path) -> None:
    if str(path.relative_to(ROOT)) not in OF_OTHERS:
        assert unknown_code(path.read_text("utf-8")) == []


def test_contributing_lists_every_target_of_make() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `make ([a-z-]+)", text, re.MULTILINE))
    assert listed == set(targets(ROOT / "Makefile"))


def test_the_guide_lists_every_option_of_run() -> None:
    text = (ROOT / "docs/guide/experiments.md").read_text("utf-8")
    listed = set(re.findall(r"^\| `(--[a-z-]+)", text, re.MULTILINE))
    known = options("run")
    assert known is not None
    assert listed == known - {"--help"}
