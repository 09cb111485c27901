"""Maps that move, in a real browser: time, links, flows, keys, at the width of a desk and of a phone."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_fabric_map import INCAST, maps, run
from test_report_browser import EARLY, photograph, pytestmark, told

from tailrace import ResultFolder
from tailrace.reports import report

__all__ = ["pytestmark"]  # Where there is no browser nothing is opened.

# What is done on the page, and what is then there, told to the page around it.
LATE = """<script>
const said = { wrong };
const figure = document.querySelector("[data-fabric]");
const find = (selector) => figure.querySelector(selector);
const all = (selector) => [...figure.querySelectorAll(selector)];
const shown = () => all("[data-maps] svg path").map((path) => getComputedStyle(path).stroke).join();
const texts = (elements) => [...elements].map((element) => element.textContent);
const rows = () => all("[data-chosen] [data-flow]").map((row) => texts(row.children));
const key = (name) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
const slider = find("[data-time]");
const go = (at) => { slider.value = at; slider.dispatchEvent(new Event("input", { bubbles: true })); };
said.maps = all("[data-maps] .map").length;
said.stills = getComputedStyle(find(".stills")).display;
said.start = [Number(slider.value), find("[data-when]").textContent];
const colours = shown();
go(0);
said.first = [find("[data-when]").textContent, slider.getAttribute("aria-valuetext"), shown() !== colours];
go(said.start[0]);
said.again = shown() === colours;
const target = all(".target").find((line) => line.getAttribute("aria-label") === "switch0->host0");
target.dispatchEvent(new PointerEvent("pointerenter"));
said.label = target.getAttribute("aria-label");
target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
said.chosen = [find("[data-link]").value, find("[data-chosen] h4").textContent];
said.charts = all("[data-chosen] canvas").length;
said.values = texts(all("[data-chosen] li"));
said.rows = rows();
said.halos = all(".chosen").filter((halo) => halo.getAttribute("d")).length;
go(said.start[0] + 1);
said.later = texts(all("[data-chosen] li"));
go(said.start[0]);
// By keys: the chosen line is the one that tab comes to; an arrow goes to the next, and Enter chooses it.
said.tab = all('.map:first-child .target[tabindex="0"]').map((line) => line.getAttribute("aria-label"));
target.focus();
key("ArrowRight");
said.next = document.activeElement.getAttribute("aria-label");
key("Enter");
said.by_keys = [find("[data-link]").value, rows().every((row) => row[2] === "host1")];
// A finger that comes down beside a line.
const box = find("[data-maps] svg").getBoundingClientRect();
const place = find("[data-maps] svg").viewBox.baseVal;
const [x, y] = PLACE;
find("[data-maps] svg").dispatchEvent(new MouseEvent("click", {
  bubbles: true,
  clientX: box.left + (x - 6) * box.width / place.width,
  clientY: box.top + y * box.height / place.height,
}));
said.finger = find("[data-link]").value;
const select = find("[data-link]");
select.value = "host3->switch0";
select.dispatchEvent(new Event("change", { bubbles: true }));
said.selected = find("[data-chosen] h4").textContent;
said.wide = document.documentElement.scrollWidth - innerWidth;
go(0);
const play = find("[data-play]");
play.click();
said.playing = play.textContent;
setTimeout(() => {
  said.played = Number(slider.value);
  play.click();
  said.paused = play.textContent;
  parent.postMessage(JSON.stringify(said), "*");
}, 1200);
</script>"""
AROUND = """<script>addEventListener("message", (event) => {
  const told = document.createElement("pre");
  told.id = "told";
  told.textContent = event.data;
  document.body.append(told);
});</script><body><iframe src="tried.html" width="WIDTH" height="900"></iframe></body>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ResultFolder:
    return run(tmp_path_factory.mktemp("watched"), INCAST)


@pytest.fixture(scope="module")
def page(folder: ResultFolder) -> Path:
    return report(folder.path)


@pytest.mark.parametrize("width", [1100, 390])
def test_a_fabric_can_be_watched(page: Path, width: int) -> None:
    text = page.read_text("utf-8")
    of = maps(text)["r0-fabric0"]
    fabric = of["fabrics"][0]
    x, y, _, to_y = fabric["lines"][fabric["names"].index("switch0->host6")]
    late = LATE.replace("PLACE", json.dumps([x, (y + to_y) / 2]))
    tried = text.replace("<head>", f"<head>{EARLY}").replace("</body>", f"{late}</body>")
    page.with_name("tried.html").write_text(tried, "utf-8")
    around = page.with_name("around.html")
    around.write_text(AROUND.replace("WIDTH", str(width)), "utf-8")
    said: dict[str, Any] = told(photograph.browse(around, "--window-size=1300,1000", "--dump-dom"))
    assert said["wrong"] == []
    assert said["wide"] <= 0
    assert (said["maps"], said["stills"]) == (2, "none")

    # Time.
    begin = of["start"] * of["every"]
    assert said["start"] == [of["start"], f"{begin:.4g} to {begin + of['every']:.4g} ms"]
    assert said["first"] == ["0 to 0.2 ms", "0 to 0.2 ms", True]
    assert said["again"]
    assert (said["playing"], said["paused"]) == ("pause", "play")
    assert 2 <= said["played"] <= 5

    # A link.
    assert said["chosen"] == ["switch0->host0", "switch0->host0"]
    assert said["charts"] == 2
    assert said["label"] == f"switch0->host0: {said['values'][0].removeprefix('dctcp: ')}"
    assert [line.split(":")[0] for line in said["values"]] == ["dctcp", "tcp"]
    assert "of its rate, queue at most " in said["values"][0]
    assert " 0 marked" not in said["values"][0]
    assert said["later"] != said["values"]
    assert said["halos"] == 2
    assert said["selected"] == "host3->switch0"
    assert said["finger"] == "switch0->host6"

    # Its flows, those in progress marked.
    flows = of["flows"][0]
    through = flows["through"][fabric["names"].index("switch0->host0")]
    assert [row[0] for row in said["rows"]] == [str(flows["flow"][flow]) for flow in through]
    assert {row[2] for row in said["rows"]} == {"host0"}
    assert {row[3] for row in said["rows"]} == {"100 KB", "20 KB"}
    going = {row[1] for row in said["rows"] if row[3] == "100 KB" and row[-1] == "in progress"}
    assert going == {f"host{host}" for host in range(1, 9)}

    # Keys.
    assert said["tab"] == ["switch0->host0: " + said["values"][0].removeprefix("dctcp: ")]
    assert said["next"].startswith("switch0->host1")
    assert said["by_keys"] == ["switch0->host1", True]


WIDE = """<script>
const map = document.querySelector("[data-maps] .map");
const wide = document.documentElement.scrollWidth - innerWidth;
parent.postMessage(JSON.stringify({ wide, within: map.scrollWidth - map.clientWidth }), "*");
</script>"""


def test_a_wide_map_scrolls_on_a_phone_and_the_page_does_not(tmp_path: Path) -> None:
    text = INCAST.replace(
        'kind = "star"\nhosts = 9\nhost_rate = "10Gbps"\nhost_delay = "5us"', 'preset = "spine144"'
    )
    page = report(run(tmp_path, text).path)
    tried = page.read_text("utf-8").replace("</body>", f"{WIDE}</body>")
    page.with_name("tried.html").write_text(tried, "utf-8")
    around = page.with_name("around.html")
    around.write_text(AROUND.replace("WIDTH", "390"), "utf-8")
    said: dict[str, Any] = told(photograph.browse(around, "--window-size=1300,1000", "--dump-dom"))
    assert said["wide"] <= 0
    assert said["within"] > 300
