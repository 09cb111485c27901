"""A small scenario, and a small experiment run once for all tests that look at results."""

from pathlib import Path

import pytest

from tailrace import Result, ResultFolder, Scenario
from tailrace.__main__ import command

EXPERIMENT = Path(__file__).with_name("small.toml")


@pytest.fixture
def scenario() -> Scenario:
    return Scenario(
        fabric={"kind": "star", "hosts": 4, "host_rate": "10Gbps", "host_delay": "10us", "buffer": "300KB"},
        workload={"sizes": "web-search", "load": 0.5, "flows": 200},
        scheme={"name": "pias"},
        measure={"sample_every": "100us", "sample_ports": ["switch0->host0"]},
    )


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ResultFolder:
    """The result folder of the experiment, plots included."""
    out = tmp_path_factory.mktemp("small") / "out"
    assert command(["run", str(EXPERIMENT), "--out", str(out)]) == 0
    return ResultFolder(out)


@pytest.fixture(scope="session")
def result(folder: ResultFolder) -> Result:
    return folder.run(folder.summary["run"][0])
