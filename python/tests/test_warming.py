from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tailrace
from tailrace import RunError, Warmup, warmup


def flows(logarithms: np.ndarray) -> pl.DataFrame:
    count = len(logarithms)
    return pl.DataFrame({"start_ns": np.arange(count) * 1e3, "slowdown": np.exp(logarithms)})


def noise(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.8, 0.4, count)


def test_what_is_steady_from_the_start_is_cut_little() -> None:
    shares = [warmup(flows(noise(seed, 4000))).share for seed in range(40)]
    assert np.median(shares) < 0.05
    assert max(shares) < 0.5


@pytest.mark.parametrize("end", [0.05, 0.2, 0.4])
def test_a_beginning_that_differs_is_cut_to_where_it_ends(end: float) -> None:
    for seed in range(20):
        values = noise(seed, 4000)
        first = int(end * 4000)
        values[:first] -= 0.8 * np.linspace(1, 0, first) ** 0.5
        found = warmup(flows(values))
        assert found.settled
        # What is left of the difference near its end is less than the noise.
        assert 0.4 * end < found.share < end + 0.1
        assert found.time_ns == found.flows * 1e3


def test_what_grows_for_as_long_as_it_lasts_does_not_settle() -> None:
    found = warmup(flows(noise(1, 4000) + np.linspace(0, 3, 4000)))
    assert not found.settled
    assert str(found).startswith("does not settle within half of the run")


def test_the_unfinished_do_not_count_and_too_few_are_told() -> None:
    table = flows(noise(1, 400))
    some = table.with_columns(slowdown=pl.when(pl.col("start_ns") % 2e3 == 0).then("slowdown"))
    assert warmup(some).share == pytest.approx(warmup(some.drop_nulls()).share)
    with pytest.raises(RunError, match="99 finished flows are too few to tell: 100 are needed"):
        warmup(table.head(99))
    with pytest.raises(RunError, match="no column 'fct'"):
        warmup(table, "fct")


def test_a_queue_that_fills_needs_time(tmp_path: Path) -> None:
    # Long flows come to an idle link at 90 % of its rate: the first ones find it empty.
    scenario = tailrace.Scenario(
        level="flow",
        seed=3,
        fabric={"kind": "star", "hosts": 2, "host_rate": "1Gbps"},
        workload={
            "sizes": {"fixed": "1MB"},
            "load": 0.9,
            "flows": 4000,
            "pattern": "pairs",
            "from": [0],
            "to": [1],
        },
        scheme={"name": "rcp"},
    )
    result = scenario.run()
    found = warmup(result)
    assert found.settled
    assert found == warmup(result.flows.to_polars())
    # Without flows before it, all that was said is that none are to be left out.
    if found.flows:
        again = scenario.with_(**{"measure.warmup": found.field}).run()
        assert again.measured_flows().to_polars().height == pytest.approx(4000 - found.flows, abs=1)
    else:
        assert "from its first flow on" in str(found)


def test_what_is_said_is_a_time_that_a_scenario_takes() -> None:
    for time_ns, said in ((99.0, "99ns"), (12_345_678_901.25, "12345678902ns")):
        found = Warmup(time_ns, flows=7, share=0.1, settled=True)
        assert f'measure.warmup = "{said}"' in str(found)
        scenario = tailrace.Scenario(
            level="flow",
            fabric={"preset": "micro4"},
            workload={"sizes": "web-search", "load": 0.3, "flows": 5},
            scheme={"name": "rcp"},
            measure={"warmup": found.field},
        )
        assert scenario.run().info["scheme"] == "rcp"
