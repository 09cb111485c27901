"""Write what a finished run measured into its experiment file: ``python experiments/record.py FILE FOLDER``.

Each claim gets ``measured``, from which the page of all claims is made and which says from which
``--scale`` on the claim is judged. What claims and deviations say is left to those who know why.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path


def number(value: float) -> str:
    """Four significant digits, without an exponent."""
    rounded = float(f"{value:.4g}")
    text = str(int(rounded)) if rounded == int(rounded) else f"{rounded:.10f}".rstrip("0").rstrip(".")
    return text if text != "-0" else "0"


def measured(claim: dict[str, float | None], scale: float) -> str:
    """The line of a claim that says what was measured."""
    fields = {
        "value": claim["measured"],
        "spread": claim["spread"],
        "wrong": claim["measured_wrong"],
        "scale": scale,
    }
    known = [f"{name} = {number(value)}" for name, value in fields.items() if value is not None]
    return f"measured = {{ {', '.join(known)} }}\n"


def recorded(text: str, claims: dict[str, dict[str, float | None]], scale: float) -> str:
    """The text of an experiment file with what was measured of its claims."""
    parts = re.split(r"(?m)^(?=\[)", text)
    for place, part in enumerate(parts):
        if not part.startswith("[[claim]]"):
            continue
        claim = claims[tomllib.loads(part)["claim"][0]["id"]]
        part = re.sub(r"(?m)^measured = .*\n", "", part)
        if claim["measured"] is not None:
            line = measured(claim, scale)
            after = r"(?m)^wrong = .*\n" if re.search(r"(?m)^wrong = ", part) else r"(?m)^number = .*\n"
            part = re.sub(after, lambda match, line=line: match[0] + line, part, count=1)
        parts[place] = part
    return "".join(parts)


def main(file: Path, folder: Path) -> None:
    """Records the claims of a result folder in its experiment file."""
    claims = {claim["id"]: claim for claim in json.loads((folder / "claims.json").read_text("utf-8"))}
    scale = tomllib.loads((folder / "experiment.toml").read_text("utf-8"))["scaled"]["scale"]
    file.write_text(recorded(file.read_text("utf-8"), claims, scale), "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
