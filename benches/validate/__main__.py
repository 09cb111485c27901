"""Tailrace beside theory and beside ns-3."""

import argparse
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import completion
import live
import lone_flow
import ns3
import page
import seeds
import sharing
import steady_queue
import tailrace
import waiting
from report import Report, UsageError
from traffic import Case

EXAMPLES = """examples:
  .venv/bin/python benches/validate
  .venv/bin/python benches/validate --seed 2
  .venv/bin/python benches/validate --ns3 benches/ns3/fast/fabric
  .venv/bin/python benches/validate --seeds 10
  .venv/bin/python benches/validate --seeds 4 --ns3-option=--recovery=prr
  .venv/bin/python benches/validate --seeds 10 --load 0.8 --units packets --balancing spray
  .venv/bin/python benches/validate --write docs/validation.md
  .venv/bin/python benches/validate --live --write docs/validation.md

Exit status: 0 if everything is within its tolerance, 1 if not, 2 if something could not be run.
docs/validation.md explains the tables."""


UNITS = ("bytes", "packets")
# What several seeds are compared at.
LOAD = 0.6


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benches/validate",
        description="Compare Tailrace with theory and ns-3: ten minutes, or half a minute without ns-3.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--ns3",
        type=Path,
        metavar="PROGRAM",
        help="the program of benches/ns3 (default: benches/ns3/build/fabric)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of all random flows (default: 1)")
    parser.add_argument(
        "--seeds",
        type=int,
        metavar="N",
        help="instead of all: completion times on 16 hosts with %(metavar)s seeds, "
        f"{seeds.LEAST} or more, two minutes each",
    )
    parser.add_argument(
        "--load", type=float, default=LOAD, help="with --seeds: of the hosts' links (default: %(default)s)"
    )
    parser.add_argument(
        "--units",
        choices=UNITS,
        nargs="+",
        default=list(UNITS),
        help="with --seeds: what buffers and thresholds count (default: one after the other)",
    )
    parser.add_argument(
        "--balancing",
        choices=("ecmp", "spray"),
        default="ecmp",
        help="with --seeds: how flows or packets are spread (default: %(default)s)",
    )
    parser.add_argument(
        "--write",
        type=Path,
        metavar="PAGE",
        help=f"all, and {seeds.STANDARD} seeds; then put what was printed into this page "
        "(docs/validation.md)",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="instead of all: every scheme on real packets beside its simulation; needs root and quiet",
    )
    parser.add_argument(
        "--ns3-option",
        action="append",
        default=[],
        metavar="OPTION",
        help="another option for the program of benches/ns3, such as --recovery=prr",
    )
    arguments = parser.parse_args()
    if arguments.seeds is not None and arguments.seeds < seeds.LEAST:
        parser.error(f"--seeds {arguments.seeds}: expected {seeds.LEAST} or more")
    if arguments.write and (arguments.seeds is not None or arguments.ns3_option):
        parser.error("--write: is of everything as it is, so without --seeds and --ns3-option")
    usual = (arguments.load, tuple(arguments.units), arguments.balancing) == (LOAD, UNITS, "ecmp")
    if arguments.seeds is None and not usual:
        parser.error("--load, --units, --balancing: are for --seeds; without it the cases are the page's")
    if not 0 < arguments.load < 1:
        parser.error(f"--load {arguments.load:g}: expected more than 0 and less than 1")
    if not 0 <= arguments.seed < 1 << 63:
        parser.error(f"--seed {arguments.seed}: expected 0 to 2^63 - 1")
    return arguments


def _find_ns3(given: Path | None, extra: list[str]) -> ns3.Ns3 | None:
    if given is not None and not given.is_file():
        raise UsageError(f"--ns3 {given}: no such file")
    program = given or ns3.DEFAULT
    return ns3.Ns3(program.resolve(), extra) if program.is_file() else None


def _check_all(report: Report, folder: Path, program: ns3.Ns3 | None, seed: int) -> None:
    lone_flow.check(report, folder)
    waiting.check(report, folder, seed)
    sharing.check(report, folder)
    steady_queue.check(report, folder, program)
    if program is None:
        report.text("", f"Skipped what needs ns-3: {ns3.MISSING}")
        return
    for unit in UNITS:
        apart = Case(4, 2, 4, load=0.01, flows=300, seed=seed, queue_unit=unit)
        completion.check_apart(report, folder, program, apart)
        for shape in ((4, 2, 4), (9, 4, 16)):
            loaded = Case(*shape, load=0.6, flows=1200, seed=seed, queue_unit=unit)
            completion.check_loaded(report, folder, program, loaded)


def _check_seeds(
    report: Report, folder: Path, program: ns3.Ns3 | None, cases: Iterable[Case], count: int
) -> None:
    if program is None:
        raise UsageError(f"several seeds need ns-3: {ns3.MISSING}")
    for case in cases:
        seeds.check(report, folder, program, case, count)


def _sixteen_hosts(seed: int, load: float, units: Iterable[str], balancing: str) -> list[Case]:
    return [Case(4, 2, 4, load, flows=800, seed=seed, queue_unit=unit, balancing=balancing) for unit in units]


def _check(report: Report, folder: Path, arguments: argparse.Namespace) -> dict[str, str]:
    """Compare. What was printed, by the part of the page it belongs to, if that part is complete."""
    program = _find_ns3(arguments.ns3, arguments.ns3_option)
    report.text(page.heading(arguments.seed))
    if arguments.live:
        live.check(report, folder)
        return {}
    if arguments.seeds is not None:
        cases = _sixteen_hosts(arguments.seed, arguments.load, arguments.units, arguments.balancing)
        _check_seeds(report, folder, program, cases, arguments.seeds)
        return {}
    _check_all(report, folder, program, arguments.seed)
    if arguments.write is None:
        return {}
    if program is None:
        report.text(f"{arguments.write} stays as it is: without ns-3 half of it would be missing.")
        return {}
    report.text("", f"Beside {program.version}.")
    once = report.take()
    report.text(page.heading(arguments.seed))
    _check_seeds(report, folder, program, _sixteen_hosts(arguments.seed, LOAD, UNITS, "ecmp"), seeds.STANDARD)
    return {"one run": once, f"{seeds.STANDARD} seeds": report.take()}


def main() -> int:
    """Run everything. The exit status: see `EXAMPLES`."""
    arguments = _arguments()
    report = Report()
    try:
        with tempfile.TemporaryDirectory() as folder:
            printed = _check(report, Path(folder), arguments)
        status = report.finish()
        if arguments.live and arguments.write:
            page.write(arguments.write, {"live": report.take()})
        if printed:
            printed["verdict"] = report.take()
            page.write(arguments.write, printed)
    except (UsageError, tailrace.TailraceError, OSError) as error:
        print(f"benches/validate: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("benches/validate: interrupted", file=sys.stderr)
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
