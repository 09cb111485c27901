"""Photograph a report as a desk and a phone show it.

`python docs/photograph.py out/demo/report.html docs/images`. Needs Chromium.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Name, width and height, in pixels.
SCREENS = {"desk": (1100, 1750), "phone": (390, 1500)}
FIXED = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=4000"]


def browser() -> str | None:
    """The path of a browser that can be told what to do."""
    return shutil.which("chromium") or shutil.which("google-chrome")


def browse(page: Path, *options: str) -> str:
    """Open a page, and return what the browser says."""
    program = browser()
    assert program is not None, "no Chromium here: make programs installs it"
    with tempfile.TemporaryDirectory() as profile:
        arguments = [program, *FIXED, f"--user-data-dir={profile}", *options, page.absolute().as_uri()]
        return subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=True).stdout


def photograph(page: Path, picture: Path, width: int, height: int) -> None:
    """Write a PNG of what a window of this size shows."""
    browse(page, f"--window-size={width},{height}", f"--screenshot={picture.absolute()}")


if __name__ == "__main__":
    report, folder = map(Path, sys.argv[1:])
    for name, size in SCREENS.items():
        photograph(report, folder / f"{report.stem}-{name}.png", *size)
