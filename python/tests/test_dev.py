"""What a build needs is named before minutes are spent; titles of commits and what has changed are found."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "dev" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


preflight, commits, changed = tool("preflight"), tool("commits"), tool("changed")


def program(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with all programs that a build needs, as stubs."""
    program(tmp_path, "rustc", "echo rustc 1.95.0; echo host: x86_64-unknown-linux-gnu")
    program(tmp_path, "cargo", "echo cargo 1.95.0")
    program(tmp_path, "cc", "echo cc 12")
    return tmp_path


def lines(machine: Path, **environment: str) -> tuple[int, list[str]]:
    """The status and the lines of the look at a machine with these programs only."""
    environment = {"PATH": str(machine), "HOME": str(machine)} | environment
    done = subprocess.run(
        [sys.executable, str(ROOT / "dev" / "preflight.py")],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    return done.returncode, done.stderr.splitlines()


def test_a_machine_with_all_that_a_build_needs_is_silent(machine: Path) -> None:
    assert lines(machine) == (0, [])


@pytest.mark.parametrize(("name", "text", "line"), [
    ("cc", "exit 1", "error: a C compiler is missing (cc): apt-get install gcc, or set CC to yours"),
    ("rustc", "echo rustc 1.70.0", "error: Rust 1.70 is too old: 1.89 or newer is needed (rustup update)"),
    ("cargo", "exit 1",
     "error: Rust is missing: install rustc and cargo 1.89 or newer, with https://rustup.rs for example"),
])  # fmt: skip
def test_what_is_missing_is_one_line_with_its_remedy(machine: Path, name: str, text: str, line: str) -> None:
    program(machine, name, text)
    assert lines(machine) == (1, [line])


def test_clang_without_libelf_is_a_note(machine: Path) -> None:
    program(machine, "clang", "")
    program(machine, "pkg-config", "exit 1")
    status, said = lines(machine)
    assert status == 0
    assert said == [
        "note: libelf and protoc and zlib are missing, so the host agent is not built: "
        "make programs installs what it takes"
    ]


def test_an_old_python_and_a_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    assert "Python 3.9 is too old" in preflight.python()
    monkeypatch.setattr(preflight.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 2**27}))
    assert "0.1 GiB free, and a build takes 6" in preflight.disk(str(tmp_path))
    assert "is full: make room" in preflight.full_disk(str(tmp_path))


@pytest.mark.parametrize(
    "title", ["fabric: refuse links without a rate", "run, live: part them", "bench/ns3: build"]
)
def test_titles_that_are_right(title: str) -> None:
    assert commits.wrong(title) is None


@pytest.mark.parametrize("title", ["Refuse links", "fabric: " + "x" * 70, "fabric:refuse", ": x"])
def test_titles_that_are_wrong(title: str) -> None:
    assert commits.wrong(title) is not None


def test_what_has_changed_is_checked_by_crate() -> None:
    files = [Path("crates/tailrace-run/src/lib.rs"), Path("python/tests/test_dev.py"), Path("README.md")]
    assert changed.crates(files) == ["tailrace-run"]
    run = changed.commands(files, ["tailrace-cli/agent"])
    assert run[0] == ["cargo", "fmt", "--all", "--check"]
    assert any(command[1:3] == ["nextest", "run"] and command[-1] == "tailrace-run" for command in run)
    assert run[-1][-1] == "python/tests/test_dev.py"
    assert not any("tailrace-cli/agent" in command for command in run)
