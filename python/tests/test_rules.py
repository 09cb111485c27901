"""A scheme's rule for rates, written in Python."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tailrace
from tailrace import Prospect, Rule, RunError, Scenario, ScenarioError

FABRIC = {"preset": "spine144", "leaves": 2, "spines": 2, "hosts_per_leaf": 4}


def scenario(scheme: str, **workload: Any) -> Scenario:
    workload = {"sizes": "web-search", "load": 0.8, "flows": 600} | workload
    return Scenario(fabric=FABRIC, workload=workload, scheme={"name": scheme}, level="flow")


def ends(result: tailrace.Result) -> pl.DataFrame:
    return result.flows.to_polars().select("flow", "fct_ns")


class Shortest(Rule):
    follows_progress = True

    def rank(self, flow: Prospect) -> tuple[int, int]:
        assert flow.left is not None
        return flow.left, flow.id


class Levels(Rule):
    knows_sizes = False
    limits = (100_000, 1_000_000)

    def rank(self, flow: Prospect) -> int:
        assert flow.size is None
        assert flow.left is None
        return sum(flow.sent >= limit for limit in self.limits)

    def stays_until(self, flow: Prospect) -> int | None:
        return next((limit for limit in self.limits if limit > flow.sent), None)


def test_a_rule_in_python_is_the_one_in_rust() -> None:
    exact = scenario("srpt")
    assert ends(exact.run(rule=Shortest())).equals(ends(exact.run()))


def test_queues_by_bytes_sent_are_those_of_mlfq() -> None:
    params = {"thresholds": ["100KB", "1MB"], "port": {"queues": 3}}
    exact = scenario("mlfq").with_(scheme={"name": "mlfq", "params": params})
    assert ends(exact.run(rule=Levels())).equals(ends(exact.run()))


def test_weights_share_a_link() -> None:
    class ByHost(Rule):
        def weight(self, flow: Prospect) -> float:
            return 3.0 if flow.src == 0 else 1.0

    fabric = {"kind": "star", "hosts": 3, "host_rate": "1Gbps", "delay": "1us", "buffer": "1MB"}
    rules = [{"from": [n], "to": [2], "sizes": {"fixed": "3MB"}} for n in (0, 1)]
    workload = {"flows": 2, "pattern": "pairs", "arrivals": "once", "rule": rules}
    both = Scenario(fabric=fabric, workload=workload, scheme={"name": "rcp"}, level="flow")
    times = both.run(rule=ByHost()).flows.to_polars().sort("src")["fct_ns"].to_list()
    # At three quarters of the link, and the rest of it when that has ended.
    assert times[1] / times[0] == pytest.approx(1.5, rel=0.01)


def test_what_is_due_gets_no_more_than_it_needs() -> None:
    class JustInTime(Rule):
        def due(self, flow: Prospect) -> float | None:
            assert flow.deadline_s is not None
            return flow.deadline_s

    due = scenario("rcp", flows=1, deadline={"fixed": "50ms"}, sizes={"fixed": "1MB"})
    [time] = due.run(rule=JustInTime()).flows.to_polars()["fct_ns"]
    assert time == pytest.approx(50e6, rel=0.01)


def test_what_comes_of_a_rule_is_not_its_schemes(tmp_path: Path) -> None:
    # The scheme has no rule of its own.
    result = scenario("dctcp", flows=20).run(rule=Shortest())
    assert result.info["rule"] == "Shortest"
    assert repr(result).startswith("Result(dctcp by the rule Shortest: 20 measured flows")
    with pytest.raises(RunError, match="cannot be saved, since a scenario cannot say its rule"):
        result.save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"rank": lambda _, flow: 1 / 0}, "division by zero"),
        ({"rank": lambda _, flow: -1}, "rank must be an integer from 0"),
        ({"rank": lambda _, flow: "first"}, "and not first"),
        ({"weight": lambda _, flow: 0.0}, "weight must be from 1e-6 to 1e6, and not 0"),
        ({"weight": lambda _, flow: float("nan")}, "and not NaN"),
        ({"stays_until": lambda _, flow: flow.sent}, "stays_until must be more than the 0 bytes"),
        ({"due": lambda _, flow: -1.0}, "due must be a time from 0 to 1e6 seconds, or None, and not -1"),
        ({"weight": lambda _, flow: "heavy"}, "weight must be a number, and not heavy"),
        ({"stays_until": lambda _, flow: 1.5}, "stays_until must be a number of bytes, or None, and not 1.5"),
        ({"due": lambda _, flow: "soon"}, "due must be a time in seconds, or None, and not soon"),
    ],
)
def test_what_a_rule_raises_ends_the_run(attributes: dict[str, Any], said: str) -> None:
    wrong = type("Wrong", (Rule,), attributes)()
    with pytest.raises((ArithmeticError, TypeError, ValueError), match=said):
        scenario("rcp", flows=20).run(rule=wrong)


def test_what_is_no_rule_or_no_flow_level_is_said() -> None:
    with pytest.raises(
        TypeError, match=r"rule must be an object of a subclass of tailrace\.Rule, and not object"
    ):
        scenario("rcp").run(rule=object())  # type: ignore[arg-type]
    packets = scenario("rcp").with_(level="packet")
    with pytest.raises(ScenarioError, match="packets have none"):
        packets.run(rule=Shortest())
