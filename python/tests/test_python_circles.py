"""Modules of the Python package do not need one another in a circle; test_circles.py has the crates."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_circles import ROOT, Module, circle

PACKAGE = ROOT / "python" / "tailrace"
LOADERS = {"import_module", "__import__"}


def modules(package: Path) -> dict[Module, Path]:
    """The modules of a package by their paths, that of its extension by its stubs; a folder's is its own."""
    files = [*package.rglob("*.py"), *package.rglob("*.pyi")]
    paths = {file: file.relative_to(package.parent).with_suffix("").parts for file in sorted(files)}
    return {path[:-1] if path[-1] == "__init__" else path: file for file, path in paths.items()}


def imports(text: str, folder: Module) -> Iterator[Module]:
    """What a module imports: for types only, within functions, and by a call, too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = folder[: len(folder) + 1 - node.level] if node.level else ()
            inner = tuple(node.module.split(".")) if node.module else ()
            yield from ((*base, *inner, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and called(node) in LOADERS:
            name = node.args[0].value if isinstance(node.args[0], ast.Constant) else "?"
            yield tuple(str(name).split("."))


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    return ast.unparse(node.func).rpartition(".")[2]


def needs(package: Path) -> dict[Module, set[Module]]:
    """Which modules each module needs: what it imports, and the folders around that, which come with it.

    Folders around the importing module are there already.
    """
    files = modules(package)
    edges: dict[Module, set[Module]] = {}
    for of, file in files.items():
        folder = of if file.stem == "__init__" else of[:-1]
        edges[of] = set()
        for name in imports(file.read_text("utf-8"), folder):
            home = next((name[:length] for length in range(len(name), 0, -1) if name[:length] in files), ())
            around = {home[:length] for length in range(2, len(home))}
            edges[of] |= {home} | {outer for outer in around if outer != of[: len(outer)]}
        edges[of] -= {of, ()}
    return edges


def circle_of(package: Path) -> str:
    return " → ".join(".".join(module) for module in circle(needs(package)))


def made_up(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root / "p"


@pytest.mark.parametrize("text", [
    "from p import a",
    "from p.a import f",
    "import p.a",
    "from . import a",
    "from .a import f",
    "def g():\n    from p.a import f\n    return f",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.a import f",
    "import importlib\nimportlib.import_module('p.a')",
    "__import__('p.a')",
    "from p.d import e",
])  # fmt: skip
def test_a_circle_is_found(tmp_path: Path, text: str) -> None:
    """However the last module names the first: by a folder that needs it, too."""
    package = made_up(tmp_path, {
        "__init__.py": "from p.a import f",
        "a.py": "from p.b import g",
        "b.pyi": "from p.c import g",
        "c.py": text,
        "d/__init__.py": "from p import a" if "p.d" in text else "",
        "d/e.py": "",
    })  # fmt: skip
    through = " → p.d" if "p.d" in text else ""
    assert circle_of(package) == f"p.a → p.b → p.c{through} → p.a"


@pytest.mark.parametrize("text", [
    "'from p import a'  # from p import a",
    "from q import a",
    "import a",
    "from p.d.e import a",
    "from p.d import a",
])  # fmt: skip
def test_what_is_no_circle(tmp_path: Path, text: str) -> None:
    """Text needs nothing, another package's `a` is another one, and a folder may gather what is in it."""
    package = made_up(tmp_path, {
        "__init__.py": "from p.a import f",
        "a.py": "from p.c import g",
        "c.py": text,
        "d/__init__.py": "from p.d.e import a",
        "d/e.py": "from .f import b",
        "d/f.py": "",
    })  # fmt: skip
    assert circle_of(package) == ""


def test_no_circle() -> None:
    assert circle_of(PACKAGE) == ""


def test_no_import_by_a_computed_name_but_two() -> None:
    """The package's own, beside which all are imported for types, and a worker's of what it was sent."""
    computed = {
        of
        for of, file in modules(PACKAGE).items()
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and called(node) in LOADERS
        and not isinstance(node.args[0], ast.Constant)
    }
    assert computed == {("tailrace",), ("tailrace", "cluster")}


def test_imports_are_read() -> None:
    """So that an empty circle is no proof of blindness: one edge of each kind that is there."""
    edges = needs(PACKAGE)
    assert ("tailrace", "table") in edges["tailrace", "result"]
    assert ("tailrace", "plots", "overview") in edges["tailrace", "result"]  # within a function
    assert ("tailrace", "plots") in edges["tailrace", "result"]  # around it
    assert ("tailrace", "_tailrace") in edges["tailrace", "rules"]  # for types
