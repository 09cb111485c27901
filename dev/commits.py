"""Titles of commits: ``python3 dev/commits.py [BASE]``, for those after BASE, or after the last tag.

A title is ``area: imperative``, of 72 characters at most. Merges are left alone.
"""

import re
import subprocess
import sys
from pathlib import Path

TITLE = re.compile(r"[a-z0-9][a-z0-9_,/ .-]*: \S.*")
LONGEST = 72


def git(*arguments: str) -> str:
    """What git prints."""
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout.strip()


def base() -> str:
    """The last tag that this commit has, or the last commit before the rule."""
    tag = subprocess.run(
        ["git", "describe", "--tags", "--abbrev=0"], check=False, capture_output=True, text=True
    )
    if tag.returncode == 0:
        return tag.stdout.strip()
    return (Path(__file__).parent / "commits.base").read_text("utf-8").split()[0]


def wrong(title: str) -> str | None:
    """What is wrong with a title, if something is."""
    if len(title) > LONGEST:
        return f"has {len(title)} characters, {LONGEST} at most are allowed"
    if not TITLE.fullmatch(title):
        return "is not `area: imperative`, such as `fabric: refuse links without a rate`"
    return None


def main(arguments: list[str]) -> int:
    """Prints each wrong title; exit status 1 if there is one."""
    since = arguments[0] if arguments else base()
    known = subprocess.run(["git", "cat-file", "-e", f"{since}^{{commit}}"], check=False, capture_output=True)
    if known.returncode != 0:
        print(f"commits: {since} is not in this clone, so titles are not looked at")
        return 0
    lines = git("log", "--no-merges", "--format=%h %s", f"{since}..HEAD").splitlines()
    status = 0
    for line in lines:
        commit, _, title = line.partition(" ")
        if why := wrong(title):
            print(f"{commit} {title}\n  the title {why}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
