"""Draw a terminal as a picture: `tmux capture-pane -e -p | python docs/screenshot.py FILE.png`."""

import re
import sys

import matplotlib.pyplot as plt

# Of a character, in inches.
WIDTH, HEIGHT = 0.105, 0.21
BACKGROUND, FOREGROUND, FAINT = "#1c1f24", "#d6d9de", "#8a9099"


def draw(lines: list[str], path: str) -> None:
    """Draw lines with the escape sequences for bold, faint and underlined text."""
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    columns = max(map(len, plain))
    figure = plt.figure(figsize=((columns + 2) * WIDTH, (len(lines) + 1) * HEIGHT), facecolor=BACKGROUND)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(-1, columns + 1), ylim=(len(lines) + 0.5, -0.5))
    axes.axis("off")
    codes = {0}  # which last until they are changed, over ends of lines
    for row, line in enumerate(lines):
        column = 0
        for escape, character in re.findall(r"\x1b\[([0-9;]*)m|(.)", line):
            if not character:
                for code in map(int, filter(None, (escape or "0").split(";"))):
                    codes = {code} if code == 0 else codes | {code}
                continue
            weight = "bold" if 1 in codes else "normal"
            colour = FAINT if 2 in codes else FOREGROUND
            axes.text(
                column, row + 0.5, character, family="monospace", size=10.5, weight=weight, color=colour,
                verticalalignment="center",
            )  # fmt: skip
            if 4 in codes:
                axes.plot([column, column + 1], [row + 0.95] * 2, color=FAINT, linewidth=0.8)
            column += 1
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(sys.stdin.read().rstrip("\n").split("\n"), sys.argv[1])
