"""The page of docs/validation.md: what is printed into it, and where."""

import subprocess
import sys
import tomllib
from pathlib import Path

import tailrace

ROOT = Path(__file__).parent.parent.parent


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Python code beside the modules of benches/validate."""
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, 'benches/validate'); {code}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_part_of_the_page_is_replaced_and_nothing_else() -> None:
    done = run(
        "import page; from pathlib import Path;"
        "text = Path('docs/validation.md').read_text(encoding='utf-8');"
        "names = ['one run', '10 seeds', 'verdict'];"
        "once = text\nfor name in names: once = page.replaced(once, name, f'new {name}')\n"
        "twice = once\nfor name in names: twice = page.replaced(twice, name, f'new {name}')\n"
        "assert once == twice\n"
        "assert all(f'```\\nnew {name}\\n```' in once for name in names)\n"
        "kept = [line for line in text.splitlines() if line.startswith('#')]\n"
        "assert kept == [line for line in once.splitlines() if line.startswith('#')]"
    )
    assert done.returncode == 0, done.stderr


def test_a_page_without_its_markers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("# Nothing here\n", encoding="utf-8")
    done = run(f"import page; from pathlib import Path; page.write(Path({str(path)!r}), {{'one run': 'x'}})")
    assert done.returncode == 1
    assert "the page has no lines <!-- one run: begin" in done.stderr
    assert path.read_text(encoding="utf-8") == "# Nothing here\n"


def test_the_live_table_has_every_scheme_of_the_registry() -> None:
    text = (ROOT / "experiments/live/schemes.toml").read_text(encoding="utf-8")
    listed = sorted(scheme["name"] for scheme in tomllib.loads(text)["scheme"])
    of_flows = {"orchestra", "stf", "sff", "srpt", "edf"}
    assert listed == sorted(set(tailrace.schemes()) - of_flows), "experiments/live/schemes.toml"
    page = (ROOT / "docs/validation.md").read_text(encoding="utf-8")
    table = page.split("<!-- live: begin", 1)[1].split("<!-- live: end", 1)[0]
    rows = {line.split()[0] for line in table.splitlines() if line.endswith("%")}
    assert rows == set(listed), "docs/validation.md"
