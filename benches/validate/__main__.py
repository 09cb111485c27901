"""Tailrace beside theory and beside ns-3."""

import argparse
import sys
import tempfile
from pathlib import Path

import completion
import lone_flow
import ns3
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

Exit status: 0 if everything is within its tolerance, 1 if not, 2 if something could not be run.
docs/validation.md explains the tables."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benches/validate",
        description="Compare Tailrace with theory and ns-3: four minutes, or half a minute without ns-3.",
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
        help="instead of all: completion times on 16 hosts with N seeds, %(metavar)s from "
        f"{seeds.LEAST} to {seeds.MOST}, 45 s each",
    )
    parser.add_argument(
        "--ns3-option",
        action="append",
        default=[],
        metavar="OPTION",
        help="another option for the program of benches/ns3, such as --recovery=prr",
    )
    arguments = parser.parse_args()
    if arguments.seeds is not None and not seeds.LEAST <= arguments.seeds <= seeds.MOST:
        parser.error(f"--seeds {arguments.seeds}: expected {seeds.LEAST} to {seeds.MOST}")
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
    completion.check_apart(report, folder, program, Case(4, 2, 4, load=0.01, flows=300, seed=seed))
    completion.check_loaded(report, folder, program, Case(4, 2, 4, load=0.6, flows=1200, seed=seed))
    completion.check_loaded(report, folder, program, Case(9, 4, 16, load=0.6, flows=1200, seed=seed))


def _check(report: Report, folder: Path, arguments: argparse.Namespace) -> None:
    program = _find_ns3(arguments.ns3, arguments.ns3_option)
    report.text(f"Tailrace {tailrace.__version__}, seed {arguments.seed}")
    if arguments.seeds is None:
        _check_all(report, folder, program, arguments.seed)
    elif program is None:
        raise UsageError(f"--seeds needs ns-3: {ns3.MISSING}")
    else:
        case = Case(4, 2, 4, load=0.6, flows=800, seed=arguments.seed)
        seeds.check(report, folder, program, case, arguments.seeds)


def main() -> int:
    """Run everything. The exit status: see `EXAMPLES`."""
    arguments = _arguments()
    report = Report()
    try:
        with tempfile.TemporaryDirectory() as folder:
            _check(report, Path(folder), arguments)
    except (UsageError, tailrace.TailraceError, OSError) as error:
        print(f"benches/validate: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("benches/validate: interrupted", file=sys.stderr)
        return 130
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
