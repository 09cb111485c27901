"""No files of a crate need one another in a circle: who imports whom, read from the text."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

Module = tuple[str, ...]
"""A module by its path in its crate; the crate itself is `()`."""

ROOT = Path(__file__).parents[2]
CRATES = sorted(path.parent for path in ROOT.glob("crates/*/Cargo.toml"))
# A file and those in the folder of its name may need one another, but not in the run layer.
STRICT = {"tailrace-run", "tailrace-experiment"}

NOISE = re.compile(
    r"""
    //[^\n]* | /\*.*?\*/                                     # comments
    | b?r(?P<hashes>\#*)".*?"(?P=hashes) | b?"(?:\\.|[^"\\])*"  # strings
    | b?'(?:\\.[^']*|[^\\'])'                                # characters
    """,
    re.DOTALL | re.VERBOSE,
)
TOKEN = re.compile(r"#\[cfg\(test\)\]|\w+|::|\S")


class Source:
    """What a file declares, uses and hands on; what only its tests need is left out."""

    def __init__(self, text: str) -> None:
        self.children: set[str] = set()
        self.tests: set[str] = set()
        self.paths: set[Module] = set()
        self.handed_on: dict[str, Module] = {}
        self._tokens = TOKEN.findall(NOISE.sub(" ", text))
        self._read()

    def _read(self) -> None:
        tokens, at, inner = self._tokens, 0, []
        depth, of_tests = 0, False
        while at < len(tokens):
            token = tokens[at]
            if token == "#[cfg(test)]":
                of_tests = True
            elif token == "mod" and tokens[at + 2] == ";":
                (self.tests if of_tests else self.children).add(tokens[at + 1])
                of_tests = False
            elif of_tests and token in "{;":
                at = self._end_of_block(at) if token == "{" else at
                of_tests = False
            elif token == "mod" and tokens[at + 2] == "{":
                inner.append(depth)
            elif token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if inner and inner[-1] == depth:
                    inner.pop()
            elif not of_tests and token == "use":
                public = tokens[at - 1] == "pub" or (tokens[at - 1] == ")" and "pub" in tokens[at - 4 : at])
                at = self._read_use(at + 1, public, len(inner))
            elif not of_tests and self._begins_path(at):
                path, at = self._path(at)
                self._add(path, len(inner))
                continue
            at += 1

    def _begins_path(self, at: int) -> bool:
        tokens = self._tokens
        return tokens[at].isidentifier() and tokens[at + 1 : at + 2] == ["::"] and tokens[at - 1] != "::"

    def _path(self, at: int) -> tuple[Module, int]:
        """The path that begins here, and where it ends."""
        path = [self._tokens[at]]
        while self._tokens[at + 1 : at + 2] == ["::"] and self._tokens[at + 2].isidentifier():
            at += 2
            path.append(self._tokens[at])
        return tuple(path), at + 1

    def _read_use(self, at: int, public: bool, inner: int) -> int:
        """Takes in all paths of a `use`; returns where its semicolon is."""
        end = self._tokens.index(";", at)
        for path, name in flattened(self._tokens[at:end]):
            self._add(path, inner)
            if public and inner == 0:
                self.handed_on[name] = path
        return end

    def _add(self, path: Module, inner: int) -> None:
        """Within `inner` modules of its own, the first so many steps up stay in the file."""
        while inner and path[:1] == ("super",):
            path, inner = path[1:] if path[1:2] == ("super",) else ("self", *path[1:]), inner - 1
        self.paths.add(path)

    def _end_of_block(self, at: int) -> int:
        depth = 0
        for end in range(at, len(self._tokens)):
            depth += {"{": 1, "}": -1}.get(self._tokens[end], 0)
            if depth == 0:
                return end
        raise ValueError("a block does not end")


def flattened(tokens: list[str]) -> Iterator[tuple[Module, str]]:
    """The paths of a `use` and the names they get: `a::{b, c::d as e}` are `a::b` as b and `a::c::d` as e."""
    outer: list[Module] = []
    path: Module = ()
    name = ""
    for token in [*tokens, ","]:
        if token == "{":
            outer.append(path)
        elif token in {",", "}"}:
            if name:
                yield path, name
            path, name = outer[-1] if outer else (), ""
            if token == "}":
                outer.pop()
                path = ()
        elif token == "as":
            name = token
        elif token.isidentifier() or token == "*":
            path = path if name == "as" or (token == "self" and path) else (*path, token)
            name = token if token != "self" or not path else path[-1]


def modules(crate: Path) -> dict[Module, Source]:
    """The files of a crate by the path of their module, without those of tests."""
    found = {}
    for file in sorted((crate / "src").rglob("*.rs")):
        path = file.relative_to(crate / "src").with_suffix("").parts
        found[path[:-1] if path[-1] in {"mod", "lib", "main"} else path] = Source(file.read_text("utf-8"))
    tests = {(*path, name) for path, source in found.items() for name in source.tests}
    return {path: source for path, source in found.items() if not any(path[: len(t)] == t for t in tests)}


def absolute(path: Module, of: Module, source: Source) -> Module | None:
    """A path as seen from the crate; none if it leads to another crate or to a name of the file's own."""
    match path[0]:
        case "crate":
            return path[1:]
        case "self":
            return (*of, *path[1:])
        case "super":
            up = 1
            while path[up : up + 1] == ("super",):
                up += 1
            return (*of[: len(of) - up], *path[up:])
        case name if name in source.children:
            return (*of, *path)
        case _:
            return None


def home(path: Module, files: dict[Module, Source], seen: frozenset[Module] = frozenset()) -> Module:
    """The file where what a path names is, behind whatever hands it on."""
    file = next(path[:length] for length in range(len(path), -1, -1) if path[:length] in files)
    rest = path[len(file) :]
    if rest and path not in seen and (handed := files[file].handed_on.get(rest[0])):
        target = absolute(handed, file, files[file])
        if target is not None:
            return home((*target, *rest[1:]), files, seen | {path})
    return file


def needs(files: dict[Module, Source]) -> dict[Module, set[Module]]:
    """Which files each file needs. To hand on what is in its own folder, a file needs nothing of it."""
    edges: dict[Module, set[Module]] = {}
    for of, source in files.items():
        handed_on = set(source.handed_on.values())
        edges[of] = set()
        for path in source.paths:
            target = absolute(path, of, source)
            if target is None:
                continue
            below = target[: len(of)] == of and target != of
            if not (path in handed_on and below):
                edges[of].add(home(target, files))
        edges[of].discard(of)
    return edges


def without_kin(edges: dict[Module, set[Module]]) -> dict[Module, set[Module]]:
    """Without what a file needs of its folder, and what files in the folder need of it.

    What is deeper in either of two folders counts as the folder's.
    """
    folders: dict[Module, set[Module]] = {}
    for of, targets in edges.items():
        for to in targets:
            same = next((n for n, (a, b) in enumerate(zip(of, to, strict=False)) if a != b), None)
            if same is not None:
                folders.setdefault(of[: same + 1], set()).add(to[: same + 1])
    return folders


def circle(edges: dict[Module, set[Module]]) -> list[Module]:
    """A circle, if there is one: each needs the next, the last is the first."""
    done: set[Module] = set()

    def search(of: Module, way: list[Module]) -> list[Module]:
        if of in way:
            return [*way[way.index(of) :], of]
        if of not in done:
            for to in sorted(edges.get(of, ())):
                if found := search(to, [*way, of]):
                    return found
            done.add(of)
        return []

    return next((found for of in sorted(edges) if (found := search(of, []))), [])


def shown(way: list[Module]) -> str:
    return " → ".join("::".join(["crate", *module]) for module in way)


def circle_of(crate: Path, strict: bool) -> str:
    edges = needs(modules(crate))
    return shown(circle(edges if strict else without_kin(edges)))


def made_up(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


@pytest.mark.parametrize("text", [
    "use crate::a::f;",
    "use crate::{d, a::{g, f as h}};",
    "use super::a;",
    "use crate::F;",
    "fn g() { crate::a::f(); }",
    'fn g() { println!("{}", super::a::f()); }',
    "mod inner { use super::super::a; }",
    "pub(crate) use super::a;",
])  # fmt: skip
def test_a_circle_is_found(tmp_path: Path, text: str) -> None:
    """However the last file of it names the first."""
    made_up(tmp_path, {
        "lib.rs": "mod a;\nmod b;\nmod c;\nmod d;\npub use a::F;\npub use d::*;\n",
        "a.rs": "use crate::b::g;\n",
        "b.rs": "use super::c::g;\n",
        "c.rs": text,
        "d.rs": "",
    })  # fmt: skip
    assert circle_of(tmp_path, strict=True) == "crate::a → crate::b → crate::c → crate::a"
    assert circle_of(tmp_path, strict=False) != ""


@pytest.mark.parametrize("text", [
    "// use crate::a::f;",
    "/// As [`crate::a::f`].",
    'const X: &str = "crate::a::f";',
    "#[cfg(test)]\nmod tests { use crate::a::f; fn g() { if true {} } }",
    "#[cfg(test)]\nmod tests;",
    "#[cfg(test)]\nuse crate::a;",
    "mod a { } use self::a::b;",
    "use other::a; fn f() { a::b() }",
    "use crate::{d::{A, B}, e};",
])  # fmt: skip
def test_what_is_no_circle(tmp_path: Path, text: str) -> None:
    """Comments, strings and tests need nothing; nor is another crate's `a` this one's."""
    made_up(tmp_path, {
        "lib.rs": "mod a;\nmod c;\nmod d;\nmod e;\npub use a::F;\n",
        "a.rs": "use crate::c;\n",
        "c/mod.rs": text,
        "c/tests.rs": "use crate::a;",
        "d.rs": "",
        "e.rs": "",
    })  # fmt: skip
    assert circle_of(tmp_path, strict=True) == ""


def test_a_file_and_its_folder(tmp_path: Path) -> None:
    """They may need each other, but not in the run layer; two folders may not, by any of their files."""
    made_up(tmp_path, {
        "lib.rs": "mod a;\n",
        "a.rs": "mod b;\nfn f() { b::g() }\n",
        "a/b.rs": "use super::f;\n",
    })  # fmt: skip
    assert circle_of(tmp_path, strict=True) == "crate::a → crate::a::b → crate::a"
    assert circle_of(tmp_path, strict=False) == ""
    made_up(tmp_path, {
        "lib.rs": "mod a;\nmod c;\n",
        "a/b.rs": "use crate::c::d;\n",
        "c/mod.rs": "mod d;\nmod e;\n",
        "c/d.rs": "",
        "c/e.rs": "use crate::a::f;\n",
    })  # fmt: skip
    assert circle_of(tmp_path, strict=False) == "crate::a → crate::c → crate::a"


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_no_circle(crate: Path) -> None:
    """Not even between a file and its folder in a strict crate."""
    assert circle_of(crate, strict=crate.name in STRICT) == ""
    assert circle_of(crate, strict=False) == ""


def test_imports_are_read() -> None:
    """So that an empty circle is no proof of blindness: three edges that are there."""
    edges = needs(modules(ROOT / "crates/tailrace-experiment"))
    assert ("experiment", "file") in edges["experiment", "runner"]
    assert ("spec", "sweep") in edges["runs", "results"]
    assert ("spec", "plan") in edges["runs", "run"]
