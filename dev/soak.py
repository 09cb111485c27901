"""Long tests: ``python dev/soak.py --minutes 60``.

First a canary: a fault of parallel runs is put in, and the random search must find it. Then, in
turns until the time is over: random whole scenarios on one thread and on several, every property
test with many cases, and any input to all fuzz targets. Seeds that fail are written into `proptest-
regressions` and `*.proptest-regressions` beside the tests, where `make test` tries them first:
commit them with the mend.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEXTEST = [str(ROOT / ".venv" / "bin" / "cargo-nextest"), "nextest", "run", "--locked"]
SCENARIOS = ["--package", "tailrace-run", "--test", "it", "-E", "test(any_cut)"]
PROPERTIES = ["--workspace", "--profile", "soak"]
FUZZ = ["--package", "tailrace-fuzz", "--test", "targets", "--profile", "soak-fuzz"]


def step(name: str, arguments: list[str], *, is_canary: bool = False, **environment: str) -> bool:
    """Runs tests; returns whether they hold, or of a canary whether they do not."""
    began = time.monotonic()
    done = subprocess.run([*NEXTEST, *arguments], check=False, cwd=ROOT, env={**os.environ, **environment})
    # nextest ends with 100 where tests have failed, and otherwise where they could not be run.
    holds = done.returncode == (100 if is_canary else 0)
    verdict = ("found" if is_canary else "held") if holds else ("NOT FOUND" if is_canary else "FAILED")
    print(f"soak: {name}: {verdict} after {time.monotonic() - began:.0f} s", flush=True)
    return holds


def seeds() -> list[str]:
    """Files with failing seeds that are new or longer than in the last commit."""
    done = subprocess.run(
        ["git", "status", "--short", "--untracked-files=all"],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    return [line[3:] for line in done.stdout.splitlines() if "proptest-regressions" in line]


def main() -> int:
    """Runs the turns; exit status 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    minutes = parser.parse_args().minutes
    end = time.monotonic() + 60 * minutes
    holds = step("canary", SCENARIOS, is_canary=True, TAILRACE_CANARY="1", PROPTEST_MAX_SHRINK_ITERS="0")
    turn = 0
    while time.monotonic() < end:
        turn += 1
        left = end - time.monotonic()
        factor = str(max(2, min(50, int(left / 60))))
        holds &= step(f"turn {turn}, random scenarios", SCENARIOS, TAILRACE_CASES=factor)
        holds &= step(
            f"turn {turn}, properties",
            PROPERTIES,
            TAILRACE_CASES=factor,
            PROPTEST_CASES=str(256 * int(factor)),
        )
        seconds = str(max(5, int(min(60.0, (end - time.monotonic()) / 7))))
        holds &= step(
            f"turn {turn}, fuzzing", FUZZ, FUZZ_SECONDS=seconds, FUZZ_SEED=str(time.time_ns() % 2**32)
        )
    for file in seeds():
        print(f"soak: {file} has a seed that fails: commit it with the mend, and make test tries it first")
    print(f"soak: {turn} turns, {'nothing found' if holds else 'something FAILED, see above'}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
