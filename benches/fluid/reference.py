"""Fluid models solved by JiTCDDE: the numbers of crates/tailrace-fluid/tests/reference.rs.

JiTCDDE (Ansmann, Chaos 28, 043116, 2018) compiles the equations to C and uses Bogacki and Shampine's method
with an interpolated history: another method, language and author than Tailrace's solver. It needs a C
compiler and

    pip install jitcdde sympy

The equations are written down here anew, in the models' own units of time. The step of the marks is as smooth
as Tailrace's by default; the queue's floor, which is sharp there, is smooth over FLOOR packets.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass

import numpy as np
from jitcdde import jitcdde, t, y
from symengine import exp

FLOOR = 0.0002
SAMPLES_PER_RTT = 10
PARTS = [(0.1, 0.2), (0.5, 1.0)]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model, and what its windows start from."""

    growth: list[float]
    cut: list[float]
    capacity: float
    rtt: float
    threshold: float
    lag: float
    duration: float
    windows: list[float]
    gain: float = 1 / 16


MATLAB = {"capacity": 50.0, "rtt": 10.0, "threshold": 10.0, "duration": 10_000.0}
WINDOWS = [150.0, 40.0, 90.0, 20.0]
CASES = {
    "wvcc": Case(growth=[0.2, 0.4, 0.6, 0.8], cut=[0.5] * 4, windows=WINDOWS, lag=10.0, **MATLAB),
    "acdc": Case(growth=[1.0] * 4, cut=[0.875, 0.875, 0.75, 0.625], windows=WINDOWS, lag=10.2, **MATLAB),
    # 10 Gbit/s in packets of 1500 bytes and units of 100 µs.
    "dctcp": Case(
        growth=[1.0] * 3,
        cut=[0.5] * 3,
        windows=[60.0, 20.0, 5.0],
        capacity=1e10 / 12_000 * 1e-4,
        rtt=1.0,
        threshold=65.0,
        lag=1.0 + 65.0 / (1e10 / 12_000 * 1e-4),
        duration=2_000.0,
    ),
}


def solve(case: Case) -> np.ndarray:
    """Rows of time, windows, queue."""
    flows = len(case.growth)
    queue = y(2 * flows)
    round_trip = case.rtt + positive(queue) / case.capacity
    marked = step((y(2 * flows, t - case.lag) - case.threshold) / (case.threshold / 1000))
    windows = [
        (case.growth[i] - y(i) * y(flows + i) * case.cut[i] * marked) / round_trip for i in range(flows)
    ]
    alphas = [case.gain * (marked - y(flows + i)) / round_trip for i in range(flows)]
    surplus = sum(y(i) for i in range(flows)) / round_trip - case.capacity
    # Without a queue, only a surplus changes it.
    floor = step(surplus / 1e-6) * surplus + step(-surplus / 1e-6) * step(queue / FLOOR) * surplus
    equations = jitcdde([*windows, *alphas, floor], max_delay=case.lag, verbose=False)
    equations.compile_C(simplify=False)
    equations.constant_past([*case.windows, *[1.0] * flows, 0.0])
    equations.set_integration_parameters(
        rtol=1e-8, atol=1e-8, first_step=case.rtt / 100, max_step=case.rtt / 10, pws_fuzzy_increase=False
    )
    equations.integrate_blindly(case.lag, case.rtt / 1000)
    times = np.arange(0, case.duration + case.rtt / 20, case.rtt / SAMPLES_PER_RTT)
    states = [(time, equations.integrate(time)) for time in times if time > equations.t]
    return np.array([[time, *state[:flows], max(state[-1], 0.0)] for time, state in states])


def step(x: object) -> object:
    """From 0 to 1."""
    return 1 / (1 + exp(-x))


def positive(queue: object) -> object:
    """A queue without what the solver takes it below zero."""
    return queue * step(queue / FLOOR)


def means(rows: np.ndarray, case: Case, part: tuple[float, float]) -> dict[str, object]:
    """Mean windows, mean and longest queue in a part of the model's duration."""
    time = rows[:, 0] / case.duration
    rows = rows[(time >= part[0]) & (time <= part[1])]
    return {
        "part": part,
        "windows": [round(float(w), 3) for w in rows[:, 1:-1].mean(axis=0)],
        "mean_queue": round(float(rows[:, -1].mean()), 3),
        "max_queue": round(float(rows[:, -1].max()), 3),
    }


def main(names: list[str]) -> None:
    """Print the numbers of the cases of these names, or of all."""
    # JiTCDDE builds with setuptools, which would take our pyproject.toml for the module's.
    os.chdir(tempfile.mkdtemp())
    for name in names or CASES:
        rows = solve(CASES[name])
        for part in PARTS:
            print(name, json.dumps(means(rows, CASES[name], part)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
