"""Photograph a report as a desk and a phone show it, or a part of it by its name.

`python docs/photograph.py out/demo/report.html docs/images`; for a part with its name behind. Needs Chromium.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageChops

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


def photograph_part(page: Path, name: str, picture: Path, width: int, height: int) -> None:
    """Write a PNG of the section with the part of this name, as long as it is."""
    style = f"<style>main > :not(:has(#{name})) {{ display: none }} h2 {{ margin-top: 0 }}</style></head>"
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder) / page.name
        alone.write_text(page.read_text("utf-8").replace("</head>", style, 1), "utf-8")
        photograph(alone, picture, width, height)
    with Image.open(picture) as whole:
        seen = whole.convert("RGB")
    empty = Image.new("RGB", seen.size, seen.getpixel((0, 0)))
    _, _, _, bottom = ImageChops.difference(seen, empty).getbbox()
    seen.crop((0, 0, width, bottom + 16)).save(picture)


if __name__ == "__main__":
    report, folder, *parts = map(Path, sys.argv[1:])
    for part in parts:
        photograph_part(report, str(part), folder / f"{report.stem}-{part}.png", *SCREENS["desk"])
    for name, size in SCREENS.items() if not parts else ():
        photograph(report, folder / f"{report.stem}-{name}.png", *size)
