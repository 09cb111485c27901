"""The command as users call it: in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tailrace as package
from tailrace import ResultFolder, Scenario, ScenarioError

SMALL = Path(__file__).with_name("small.toml")
EXPERIMENT = SMALL.read_text("utf-8")
# So seldom sampled that the samples of a run fit into memory.
LONG = EXPERIMENT.replace("flows = 200", "flows = 10000000").replace('"100us"', '"1s"')


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


def test_a_wrong_plot_is_a_mistake_before_anything_runs(tmp_path: Path) -> None:
    file = tmp_path / "plot.toml"
    file.write_text(EXPERIMENT.replace('x = "workload.load"', 'x = "laod"', 1))
    done = tailrace("run", file, "--out", tmp_path / "out", "--set", "workload.flows=20")
    assert (done.returncode, done.stdout) == (2, "")
    assert 'plot.toml:28: plot.load.x: unknown axis "laod"' in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_plot_that_cannot_be_drawn_is_a_failure_that_hides_nothing(tmp_path: Path) -> None:
    file = tmp_path / "plot.toml"
    file.write_text(EXPERIMENT.replace('y = "port_bytes"', 'y = "prot_bytes"', 1))
    done = tailrace("run", file, "--out", tmp_path / "out", "--set", "workload.flows=20")
    assert done.returncode == 1
    assert 'plot could not be drawn: plot.queue.y: unknown metric "prot_bytes"; did you mean' in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.count("plot: ") == 8


def test_text_of_users_cannot_steer_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "title.toml"
    loud = EXPERIMENT.replace("Two schemes at", r"Two \u001b[2Jschemes at").replace('"PIAS"', r'"PI\u0007AS"')
    file.write_text(loud)
    done = tailrace("run", file, "--out", tmp_path / "out", "--set", "workload.flows=20")
    assert done.returncode == 0
    assert r"Two \u001b[2Jschemes at" in done.stdout
    assert r"PI\u0007AS" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x07" not in done.stdout + done.stderr


def test_paths_need_not_be_utf8(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    (folder / "small.toml").write_text(EXPERIMENT)
    done = tailrace(
        "run", folder / "small.toml", "--out", folder / "out", "--set", "workload.flows=20", "--json"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["plots"]) == 10
    assert (
        len(ResultFolder(folder / "out").run(json.loads(done.stdout)["runs"][0]["run"]).flows.to_polars())
        == 20
    )
    (folder / "small.toml").write_text("= 3")
    done = tailrace("run", folder / "small.toml")
    assert (done.returncode, done.stdout) == (2, "")
    with pytest.raises(ScenarioError, match="small"):
        Scenario.from_file(folder / "small.toml").run()


def test_a_closed_pipe_ends_the_command_quietly() -> None:
    command = [sys.executable, "-m", "tailrace", "schemes", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
def test_no_one_need_read_standard_error(tmp_path: Path) -> None:
    args = [sys.executable, "-m", "tailrace", "run", SMALL, "--set", "workload.flows=20", "--set"]
    wrong, right = [*args, "workload.laod=1"], [*args, "workload.class=0", "--out", tmp_path / "out"]
    with Path("/dev/full").open("wb") as full:
        assert subprocess.run(wrong, stderr=full, check=False).returncode == 2
        for _ in range(2):  # The second time, it says that all was there.
            done = subprocess.run(right, stderr=full, stdout=subprocess.PIPE, check=False)
            assert (done.returncode, done.stdout.count(b"plot: ")) == (0, 10)
        done = subprocess.run(right, stdout=full, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr.count(b"cannot write to standard output")) == (1, 1)
    read, write = os.pipe()
    os.close(read)
    assert subprocess.run(right, stderr=write, stdout=subprocess.PIPE, check=False).returncode == 0
    os.close(write)


def test_closed_streams_are_not_written_into_files(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m tailrace run "{SMALL}" --set workload.flows=20 --out out'
    for closed in (">&- 2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(f"{command} {closed}", shell=True, cwd=tmp_path, check=False)
        assert done.returncode == 0
    folder = ResultFolder(tmp_path / "out")
    assert len(list((folder.path / "plots").iterdir())) == 10
    assert all(len(folder.run(key).flows.to_polars()) == 20 for key in folder.summary["run"])


def test_a_second_ctrl_c_ends_the_command_at_once() -> None:
    code = """
import os, signal, sys, time
from tailrace import __main__

def slow(args):
    try:
        print("ready", flush=True)
        time.sleep(60)
    finally:
        print("once", flush=True)
        time.sleep(60)

__main__.command = slow
sys.exit(__main__.main())
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        for said in ("ready", "once"):
            assert process.stdout.readline() == f"{said}\n"
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (-signal.SIGINT, "")


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
