"""Write the pages that are made from the program itself: ``python docs/generate.py``.

A page keeps its prose; what stands between ``<!-- generated: ... -->`` and ``<!-- end -->`` is written anew.
A test fails if a page is not what this would write.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
SCHEMES = DOCS / "reference" / "schemes.md"
CLAIMS = DOCS / "results" / "claims.md"
DIGESTS = DOCS.parent / "experiments" / "digests.toml"
PAPERS = {"karuna": "Karuna", "awafs": "AWAFS", "uranus": "Uranus", "baraat": "Baraat"}
STANDINGS = {
    "holds": "holds",
    "in-shape": "in shape",
    "deviates": "deviates",
    "undecided": "undecided",
    None: "not measured",
}
BLOCK = re.compile(r"(<!-- generated: [^\n]* -->\n).*?(<!-- end -->)", re.DOTALL)


def schemes() -> list[dict[str, Any]]:
    """All schemes as ``tailrace schemes --json`` tells of them."""
    command = [sys.executable, "-m", "tailrace", "schemes", "--json"]
    listed: list[dict[str, Any]] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return listed


def claims(paper: str) -> list[dict[str, Any]]:
    """All claims of a paper as ``tailrace claims --json`` tells of them."""
    folder = DOCS.parent / "experiments" / paper
    files = sorted(str(file.relative_to(DOCS.parent)) for file in folder.glob("*.toml"))
    command = [sys.executable, "-m", "tailrace", "claims", *files, "--json"]
    ran = subprocess.run(command, check=True, capture_output=True, cwd=DOCS.parent)
    listed: list[dict[str, Any]] = json.loads(ran.stdout)
    return listed


def with_block(page: str, block: str) -> str:
    """The page with its generated block replaced."""
    replaced, blocks = BLOCK.subn(lambda match: f"{match[1]}\n{block}\n{match[2]}", page)
    if blocks != 1:
        raise ValueError(f"a page must have one generated block, not {blocks}")
    return replaced


def scheme_block(listed: list[dict[str, Any]]) -> str:
    """A table of all schemes, and one of each scheme's parameters."""
    lines = ["| name | in a line | knows | levels |", "|---|---|---|---|"]
    for scheme in listed:
        name = f"[`{scheme['name']}`](../../crates/tailrace-schemes/src/{scheme['name']}/README.md)"
        levels = ", ".join(scheme["levels"])
        lines.append(f"| {name} | {cell(scheme['summary'])} | {scheme['knows']} | {levels} |")
    for scheme in listed:
        lines += ["", f"## `{scheme['name']}`", "", f"{scheme['summary']}. Source: {scheme['source']}.", ""]
        rows = list(parameters(scheme["params"], scheme["params"], scheme["defaults"]))
        if rows:
            lines += ["| parameter | default | |", "|---|---|---|", *rows]
        else:
            lines.append("No parameters.")
    return "\n".join(lines) + "\n"


def present_model() -> int:
    """The number of the present model."""
    return int(tomllib.loads(DIGESTS.read_text("utf-8"))["model"])


def claim_block(papers: dict[str, list[dict[str, Any]]], model: int) -> str:
    """How many claims stand how, and a table of each file's."""
    lines = ["| paper | claims | hold | in shape | deviate | undecided |", "|---|---|---|---|---|---|"]
    everything = [entry for entries in papers.values() for entry in entries]
    for paper, entries in [*papers.items(), ("all", everything)]:
        found = [standing(entry) for entry in entries]
        counts = [str(found.count(name)) for name in STANDINGS if name]
        lines.append(f"| {PAPERS.get(paper, paper)} | {len(found)} | {' | '.join(counts)} |")
    exchanged = [entry["claim"]["id"] for entry in everything if is_only_exchanged(entry["claim"])]
    lines += [
        "",
        f"{len(exchanged)} of them were only tried with their two sides exchanged, which cannot pass where",
    ]
    lines += [f"no more than a direction is claimed: {'; '.join(exchanged)}."]
    elsewhere = [entry["claim"]["id"] for entry in everything if is_no_rival(entry["claim"])]
    lines += [
        "",
        f"{len(elsewhere)} were tried with other flows or another place of the same scheme, "
        "which is no rival:",
        f"{'; '.join(elsewhere)}. Where a scheme passes all the same, the results page of the paper says so.",
    ]
    unmoved = sum(passes_unmoved(entry) for entry in everything)
    lines += [
        "",
        f"{unmoved} would pass for the very scheme that they compare with: of these no change is what was",
        "measured, or is within what their deviations declare. They say that a gain of the paper does not",
        "come out, and judge no scheme; `⚬` is in their last column.",
    ]
    lines += ["", ages([record for entry in everything if (record := entry["claim"]["measured"])], model)]
    for paper, entries in papers.items():
        lines += ["", f"## {PAPERS[paper]}"]
        file = None
        for entry in entries:
            if entry["file"] != file:
                file = entry["file"]
                lines += ["", f"[{file}](../../{file})", ""]
                lines += [
                    "| claim | source | paper | here | scale | model | |",
                    "|---|---|---|---|---|---|---|",
                ]
            lines.append(claim_row(entry, model))
    return "\n".join(lines) + "\n"


def is_only_exchanged(claim: dict[str, Any]) -> bool:
    """Whether what a claim calls wrong is its own number the other way round; claims.rs bounds these."""
    number, wrong = claim["number"], claim["wrong"]
    if not isinstance(wrong, dict):
        return False
    of, against = wrong.get("of"), wrong.get("against")
    if (
        of is not None
        and number["of"] != number["against"]
        and (of, against) == (number["against"], number["of"])
    ):
        return True
    at, against_at = wrong.get("at"), wrong.get("against_at")
    return at is not None and (at, against_at) == (number["against_at"], number["at"])


def is_no_rival(claim: dict[str, Any]) -> bool:
    """Whether what is wrong is the same scheme, of other flows or elsewhere; claims.rs bounds these."""
    wrong = claim["wrong"]
    if not isinstance(wrong, dict):
        return False
    given = {field for field, value in wrong.items() if value not in (None, {}, [])}
    return given <= {"class", "place"} and bool(given)


def passes_unmoved(entry: dict[str, Any]) -> bool:
    """Whether a claim about two schemes would pass if they were one."""
    claim = entry["claim"]
    number, deviation = claim["number"], claim["deviation"]
    if number["against"] in (None, number["of"]) or deviation is None:
        return False
    low, high = sorted(deviation["within"])
    return bool(low <= 0 <= high)


def standing(entry: dict[str, Any]) -> str | None:
    """How a claim stands by what was measured."""
    verdict = entry["verdict"]
    return verdict["standing"] if verdict else None


def ages(records: list[dict[str, Any]], model: int) -> str:
    """How many records are of the present model."""
    of_models = [record.get("model") for record in records]
    older = sum(known is not None and known < model for known in of_models)
    return (
        f"The present model has number {model}. Of {len(records)} numbers that are recorded here, "
        f"{of_models.count(model)} are of it,\n{older} of an older one, which their lines name, and "
        f"{of_models.count(None)} were recorded before models had numbers (–)."
    )


def claim_row(entry: dict[str, Any], model: int) -> str:
    """A claim in a line: what the paper says, what was measured here, and how that stands."""
    claim, record = entry["claim"], entry["claim"]["measured"]
    change = claim["number"]["against"] is not None
    paper = claim["paper"]
    if isinstance(paper, list):
        paper = " to ".join(figure(end, change) for end in paper)
    elif not isinstance(paper, str):
        paper = figure(paper, change)
    stands = STANDINGS[standing(entry)] + (" ⚬" if passes_unmoved(entry) else "")
    if claim["deviation"]:
        stands += f": {cell(claim['deviation']['reason'])}"
    here = figure(record["value"], change) + margin(record["spread"], change) if record else "–"
    scale = f"{record['scale']:g}" if record else "–"
    paper += margin(claim["tolerance"], change)
    of_model = str(record["model"]) if record and record.get("model") is not None else "–"
    if of_model not in ("–", str(model)):
        of_model += ", older"
    cells = [claim["id"], cell(claim["source"]), paper, here, scale, of_model, stands]
    return "| " + " | ".join(cells) + " |"


def margin(width: float | None, change: bool) -> str:
    """How far to both sides, if at all."""
    return f" ± {figure(width, change).lstrip('+')}" if width else ""


def figure(value: float, change: bool) -> str:
    """A number as a reader of tables wants it: changes in per cent."""
    if change:
        return f"{100 * value:+.3g} %".replace("-", "−") if value else "0 %"
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def parameters(root: dict[str, Any], schema: dict[str, Any], defaults: Any, within: str = "") -> list[str]:
    """One row a parameter; those of inner tables have dotted names."""
    rows = []
    for name, field in schema.get("properties", {}).items():
        target = root
        for step in field.get("$ref", "").lstrip("#/").split("/"):
            target = target[step] if step else field
        default = defaults.get(name) if isinstance(defaults, dict) else None
        if isinstance(default, dict) and "properties" in target:
            rows += parameters(root, target, default, f"{within}{name}.")
        else:
            text = field.get("description") or target.get("description", "")
            rows.append(f"| `{within}{name}` | {shown(default)} | {cell(text)} |")
    return rows


def shown(default: Any) -> str:
    """A default as TOML would have it, or a dash if there is none."""
    return "–" if default is None else f"`{json.dumps(default, ensure_ascii=False)}`"


def cell(text: str) -> str:
    """Text that fits into a table."""
    return " ".join(text.split()).replace("|", "\\|")


def pages() -> dict[Path, str]:
    """Each generated page as it should be."""
    papers = {paper: claims(paper) for paper in PAPERS}
    return {
        SCHEMES: with_block(SCHEMES.read_text("utf-8"), scheme_block(schemes())),
        CLAIMS: with_block(CLAIMS.read_text("utf-8"), claim_block(papers, present_model())),
    }


if __name__ == "__main__":
    for file, text in pages().items():
        file.write_text(text, "utf-8")
        print(file)
