"""The types of a scenario's fields are those of its schema, and catch what is wrong before anything runs."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import tailrace
from tailrace import _tailrace, fields

PYTHON = Path(__file__).parents[1]


def test_the_module_is_what_the_schema_says() -> None:
    written = runpy.run_path(str(PYTHON / "fields.py"))["written"]()
    assert (PYTHON / "tailrace" / "fields.py").read_text("utf-8") == written, "python python/fields.py"


def test_every_table_of_the_schema_has_its_fields() -> None:
    schema = json.loads(_tailrace.schema())
    tables = {name: own for name, own in schema["$defs"].items() if "properties" in own}
    assert len(tables) > 20
    for name, own in [*tables.items(), ("Scenario", schema)]:
        assert set(getattr(fields, name).__annotations__) == set(own["properties"]), name


def test_they_are_plain_tables() -> None:
    rule = fields.Rule(
        **{"from": [0], "to": [1], "sizes": {"fixed": "10KB"}, "load": 0.2, "pattern": "pairs"}
    )
    workload = fields.Workload(flows=20, rule=[rule])
    fabric = fields.Fabric(kind="star", hosts=2, host_rate="1Gbps")
    scenario = tailrace.Scenario(fabric=fabric, workload=workload, scheme=fields.SchemeChoice(name="tcp"))
    assert scenario.run().info["classes"][0]["flows"] == 20


LINES = {
    'Fabric(preset="micro4")': "",
    'Fabric(kind="star", hosts=2)': "",
    'Fabric(kind="graph", hosts=["a", "b"])': "",
    'Fabric(kind="star", hosts=2.5)': '(expression has type "float", TypedDict item "hosts" has type "int |',
    'Fabric(presett="micro4")': 'Extra key "presett" for TypedDict "Fabric"',
    'Fabric(leaves="4")': '(expression has type "str", TypedDict item "leaves" has type "int")',
    'Fabric(load_balancing="spary")': "Literal['ecmp', 'spray'",
    'Workload(sizes={"fixed": "10KB"}, load=0.5)': "",
    'Workload(sizes="web-serach")': 'TypedDict item "sizes" has type "Sizes"',
}


def test_a_type_checker_says_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "built.py"
    file.write_text("from tailrace.fields import Fabric, Workload\n" + "\n".join(LINES))
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "built.py"]
    env = {"MYPYPATH": str(PYTHON)}
    checked = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path).stdout
    for number, wrong in enumerate(LINES.values(), start=2):
        said = "".join(line for line in checked.splitlines() if f"built.py:{number}: error" in line)
        assert bool(said) == bool(wrong), checked
        assert wrong in said
