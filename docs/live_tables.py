"""Put the table of `experiments/live/agents.toml` into its page: `python docs/live_tables.py out/agents`.

The results are of real time, so that each run of the experiment has a table of its own.
"""

import sys
from pathlib import Path

import polars as pl

import tailrace

PAGE = Path(__file__).parent / "results" / "live.md"
BEGIN, END = "<!-- agents: begin, printed by docs/live_tables.py -->", "<!-- agents: end -->"
ROWS = {
    "dctcp": "DCTCP, packets",
    "dctcp, agent": "DCTCP, agent",
    "dctcp, kernel": "Reno with ECN over DCTCP's ports",
    "pias": "PIAS, packets",
    "pias, agent": "PIAS, agent",
    "pias, flow level": "PIAS, flow level",
    "awafs": "AWAFS in hosts, packets",
    "awafs, agent": "AWAFS in hosts, agent",
    "karuna": "Karuna, packets",
    "karuna, agent": "Karuna, agent",
    "karuna, flow level": "Karuna, flow level",
}
COLUMNS = {
    "all flows": "all",
    "short flows": "short",
    "without deadlines, size known": "all@1",
    "nothing known": "all@2",
}


def table(summary: pl.DataFrame) -> str:
    """The means of each seed in milliseconds, and missed deadlines in per cent."""
    lines = [f"| | {' | '.join(COLUMNS)} | missed |", "|---" * (len(COLUMNS) + 2) + "|"]
    for scheme, name in ROWS.items():
        own = summary.filter(pl.col("scheme") == scheme).sort("seed")
        cells = [
            ", ".join(time(us) for us in own.filter(pl.col("class") == kind)["fct_mean_us"])
            for kind in COLUMNS.values()
        ]
        missed = own.filter(pl.col("class") == "all")["miss_rate"]
        cells.append(", ".join(f"{100 * rate:.0f}" for rate in missed))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def time(us: float) -> str:
    """Milliseconds with three digits."""
    return f"{us / 1e3:.0f}" if us >= 1e5 else f"{us / 1e3:.1f}"


def main() -> None:
    """Write the page anew."""
    summary = tailrace.ResultFolder(sys.argv[1]).summary
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(summary)}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
