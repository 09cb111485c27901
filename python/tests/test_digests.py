"""Results of a build are those that are written down, and a digest that is another one is found."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "experiments" / "digests.py"
spec = importlib.util.spec_from_file_location("digests", FILE)
assert spec is not None
assert spec.loader is not None
digests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(digests)

DUMBBELL = "smoke/fabric-dumbbell"
RUN = digests.Digest("e0", "t0")


def test_each_smoke_experiment_and_each_paper_is_written_down() -> None:
    _, recorded = digests.read(digests.FILE.read_text("utf-8"))
    assert set(recorded) == {digests.heading(name, scale) for name, scale in digests.names().items()}
    papers = {file.parent.name for file in FILE.parent.glob("*/*.toml")} - {"live"}
    assert {name.partition("/")[0] for name in digests.names()} == papers | {"demo"}


def test_this_build_has_the_results_that_are_written_down(capsys: pytest.CaptureFixture[str]) -> None:
    assert digests.main(["--only", DUMBBELL]) == 0
    assert "all 1 runs are those of digests.toml" in capsys.readouterr().out


def test_a_digest_that_is_another_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model, recorded = digests.read(digests.FILE.read_text("utf-8"))
    ((point, run),) = recorded[DUMBBELL].items()
    events = run.events[:-1] + ("1" if run.events[-1] == "0" else "0")
    recorded[DUMBBELL][point] = run._replace(events=events)
    file = tmp_path / "digests.toml"
    file.write_text(digests.written(model, recorded), "utf-8")
    monkeypatch.setattr(digests, "FILE", file)
    assert digests.main(["--only", DUMBBELL]) == 1
    lines = capsys.readouterr().out.splitlines()
    before, now = f"{events} {run.tables}", f"{run.events} {run.tables}"
    assert lines[0] == f"{DUMBBELL}, {point}: {before} became {now} (events only)"
    assert "A change of results is a decision" in lines[1]
    assert digests.main(["--only", DUMBBELL, "--write"]) == 0
    assert file.read_text("utf-8") == digests.written(model, recorded | {DUMBBELL: {point: run}})


@pytest.mark.parametrize(
    ("now", "model", "message"),
    [
        (RUN, 3, ""),
        (digests.Digest("e1", "t0"), 3, "a, p: e0 t0 became e1 t0 (events only)\n"),
        (digests.Digest("e0", "t1"), 4, "a, p: e0 t0 became e0 t1 (tables)\n"),
    ],
)
def test_other_tables_are_another_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], now: object, model: int, message: str
) -> None:
    """Events alone are none; nor are runs that come or go."""
    file = tmp_path / "digests.toml"
    file.write_text(digests.written(3, {"a": {"p": RUN, "gone": RUN}, "b": {"q": RUN}}), "utf-8")
    found = {"a": {"p": now, "new": RUN}}
    assert digests.conclude(found, only="a", file=file) == 1
    assert digests.conclude(found, only="a", write=True, file=file) == 0
    assert digests.read(file.read_text("utf-8")) == (model, found | {"b": {"q": RUN}})
    assert message in capsys.readouterr().out
    assert digests.conclude(found, only="a", file=file) == 0


def test_an_experiment_that_cannot_be_run_is_named() -> None:
    with pytest.raises(SystemExit, match="no experiment has qqq in its name"):
        digests.main(["--only", "qqq"])
    with pytest.raises(SystemExit, match=r"demo cannot be run: .*unrecognized option"):
        digests.made(["cat", "--qqq"], "demo", 1.0, Path("nowhere"))
