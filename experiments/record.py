"""Write what a finished run measured into its experiment file: ``python experiments/record.py FILE FOLDER``.

Each claim gets ``measured``, from which the page of all claims is made and which has the ``--scale`` from
which on the claim is judged. What claims and deviations state is left to those who know why.

``model`` in it is the number of the model that gave the results, from ``digests.toml``. That is the number of
this build, so a folder of another build needs ``--model N``: the number that ``digests.toml`` had then.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path

import tailrace

HERE = Path(__file__).parent


def number(value: float) -> str:
    """Four significant digits, without an exponent."""
    rounded = float(f"{value:.4g}")
    text = str(int(rounded)) if rounded == int(rounded) else f"{rounded:.10f}".rstrip("0").rstrip(".")
    return text if text != "-0" else "0"


def measured(claim: dict[str, float | None], scale: float, model: int) -> str:
    """The line of a claim with what was measured."""
    fields = {
        "value": claim["measured"],
        "spread": claim["spread"],
        "wrong": claim["measured_wrong"],
        "scale": scale,
        "model": model,
    }
    known = [f"{name} = {number(value)}" for name, value in fields.items() if value is not None]
    return f"measured = {{ {', '.join(known)} }}\n"


def recorded(text: str, claims: dict[str, dict[str, float | None]], scale: float, model: int) -> str:
    """The text of an experiment file with what was measured of its claims."""
    parts = re.split(r"(?m)^(?=\[)", text)
    for place, part in enumerate(parts):
        if not part.startswith("[[claim]]"):
            continue
        claim = claims[tomllib.loads(part)["claim"][0]["id"]]
        part = re.sub(r"(?m)^measured = .*\n", "", part)
        if claim["measured"] is not None:
            line = measured(claim, scale, model)
            after = r"(?m)^wrong = .*\n" if re.search(r"(?m)^wrong = ", part) else r"(?m)^number = .*\n"
            part = re.sub(after, lambda match, line=line: match[0] + line, part, count=1)
        parts[place] = part
    return "".join(parts)


def builds(folder: Path) -> set[str]:
    """The builds that made the runs of a result folder."""
    summaries = (
        folder / "runs" / key / "summary.json" for key in tailrace.ResultFolder(folder).summary["run"]
    )
    return {json.loads(file.read_text("utf-8"))["build"] for file in set(summaries)}


def this_build() -> str:
    """This build, which the keys of its runs name."""
    (run, *_) = tailrace.plan(HERE / "smoke" / "fabric-star.toml")
    return run.key.rpartition("-")[2]


def model_of(folder: Path) -> int:
    """The number of the model that gave the results of a folder."""
    others = builds(folder) - {this_build()}
    if others:
        raise SystemExit(
            f"{folder} has runs of another build ({', '.join(sorted(others))}), which may have had another "
            "model: give --model N, the number that experiments/digests.toml had then, or run it again"
        )
    return int(tomllib.loads((HERE / "digests.toml").read_text("utf-8"))["model"])


def main(args: list[str]) -> None:
    """Record the claims of a result folder in its experiment file."""
    parser = argparse.ArgumentParser(description="Write what a run measured into its file.")
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", type=int, metavar="N", help="the model, where another build made the runs")
    given = parser.parse_args(args)
    model = model_of(given.folder) if given.model is None else given.model
    claims = {claim["id"]: claim for claim in json.loads((given.folder / "claims.json").read_text("utf-8"))}
    scale = tomllib.loads((given.folder / "experiment.toml").read_text("utf-8"))["scaled"]["scale"]
    given.file.write_text(recorded(given.file.read_text("utf-8"), claims, scale, model), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
