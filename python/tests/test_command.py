"""The command as users call it: in a process of its own."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tailrace as package
from tailrace import ResultFolder

SMALL = Path(__file__).with_name("small.toml")
EXPERIMENT = SMALL.read_text("utf-8")
LONG = EXPERIMENT.replace("flows = 200", "flows = 10000000")


def tailrace(*args: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tailrace", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_finished_experiment_is_found_again(folder: ResultFolder) -> None:
    again = tailrace("run", SMALL, "--out", folder.path, "--json")
    assert again.returncode == 0
    assert "8 of 8 runs were there already" in again.stderr
    assert len(json.loads(again.stdout)["plots"]) == 10


def test_mistakes_are_told_without_a_traceback(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(EXPERIMENT.replace('kind = "star"', 'kind = "sart"'))
    done = tailrace("run", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {file}:4: fabric.kind: ")
    assert 'did you mean "star"?' in done.stderr


def test_a_wrong_plot_costs_a_warning_not_the_results(tmp_path: Path) -> None:
    file = tmp_path / "plot.toml"
    file.write_text(EXPERIMENT.replace('x = "workload.load"', 'x = "laod"', 1))
    done = tailrace("run", file, "--out", tmp_path / "out", "--set", "workload.flows=20")
    assert done.returncode == 0
    assert 'plots were not drawn: plot.load.x: unknown axis "laod"' in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out" / "summary.csv").exists()


def test_a_closed_pipe_ends_the_command_quietly() -> None:
    command = [sys.executable, "-m", "tailrace", "schemes", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""


def test_ctrl_c_ends_the_command(tmp_path: Path) -> None:
    file, out = tmp_path / "long.toml", tmp_path / "out"
    file.write_text(LONG)
    command = [sys.executable, "-m", "tailrace", "run", file, "--out", out]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not (out / "experiment.toml").exists():
            time.sleep(0.05)
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors


def test_ctrl_c_ends_the_command_while_it_is_imported() -> None:
    code = """
import sys

class Interrupt:
    def find_spec(name, *_):
        if name == "tailrace._tailrace":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt)
from tailrace.__main__ import main
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_the_command_starts_without_what_it_rarely_needs() -> None:
    code = "import sys, tailrace.__main__; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_package_has_what_it_lists() -> None:
    code = "import tailrace as t; assert dir(t) == t.__all__ and all(hasattr(t, name) for name in t.__all__)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    with pytest.raises(AttributeError, match="module 'tailrace' has no attribute 'Scenaro'"):
        _ = package.Scenaro


def test_ctrl_c_is_an_ordinary_interrupt_in_python(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    one_run = LONG[LONG.index("[fabric]") : LONG.index("[[scheme]]")]
    file.write_text(one_run + '[scheme]\nname = "pias"\n')
    code = (
        "import sys, tailrace as t; t.Scenario.from_file(sys.argv[1]).run(lambda far: print(far, flush=True))"
    )
    command = [sys.executable, "-c", code, file]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("Progress(")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")
