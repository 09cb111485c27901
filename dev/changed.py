"""Checks what has changed: ``python dev/changed.py [--base COMMIT] [--features ...]``.

Format and lints of all that has changed since BASE or is not committed, and the tests of the crates
and Python tests among it. Without BASE that is the last commit with its predecessor, where nothing
is uncommitted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIN = ROOT / ".venv" / "bin"


def git(*arguments: str) -> list[str]:
    """The lines that git prints."""
    done = subprocess.run(["git", *arguments], check=True, capture_output=True, text=True, cwd=ROOT)
    return done.stdout.splitlines()


def changed(base: str | None) -> list[Path]:
    """Files that differ from `base`, and those that git does not know yet."""
    uncommitted = [*git("diff", "--name-only", "HEAD"), *git("ls-files", "--others", "--exclude-standard")]
    since = base or ("HEAD" if uncommitted else "HEAD~1")
    names = {*git("diff", "--name-only", since), *git("ls-files", "--others", "--exclude-standard")}
    return sorted(Path(name) for name in names if (ROOT / name).exists())


def crates(files: list[Path]) -> list[str]:
    """The packages that the files are of."""
    of_crates = {file.parts[1] for file in files if file.parts[0] == "crates" and len(file.parts) > 2}
    return sorted(
        of_crates | ({"tailrace-fuzz"} if any(file.parts[0] == "fuzz" for file in files) else set())
    )


def commands(files: list[Path], features: list[str]) -> list[list[str]]:
    """What is run for these files, in order."""
    python = [str(file) for file in files if file.suffix in {".py", ".pyi"}]
    tests = [name for name in python if Path(name).name.startswith("test_")]
    packages = [
        option for name in crates(files) if name != "tailrace-python" for option in ("--package", name)
    ]
    run = [["cargo", "fmt", "--all", "--check"]] if packages else []
    if python:
        run += [[str(BIN / "ruff"), "check", *python], [str(BIN / "ruff"), "format", "--check", *python]]
    if packages:
        # The features of a package that is not named would be unknown.
        own = [part for part in " ".join(features).split() if part.split("/")[0] in packages]
        known = ["--features", ",".join(own)] if own else []
        run.append(
            ["cargo", "clippy", "--locked", *packages, "--all-targets", *known, "--", "-D", "warnings"]
        )
        run.append([str(BIN / "cargo-nextest"), "nextest", "run", "--locked", *packages, *known])
    if python:
        run.append([str(BIN / "mypy")])
    if tests:
        run.append([str(BIN / "pytest"), "--quiet", *tests])
    return run


def main() -> int:
    """Runs the checks until one fails; prints how long each took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base")
    parser.add_argument("--features", action="append", default=[])
    options = parser.parse_args()
    files = changed(options.base)
    if not files:
        print("nothing has changed")
        return 0
    print(f"{len(files)} files, of {', '.join(crates(files)) or 'no crate'}")
    for command in commands(files, options.features):
        began = time.monotonic()
        status = subprocess.run(command, check=False, cwd=ROOT).returncode
        words = " ".join([Path(command[0]).name, *command[1:]])
        print(f"{time.monotonic() - began:6.1f} s  {words}")
        if status != 0:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
