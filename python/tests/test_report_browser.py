"""The report in a real browser: opened, clicked through, read back and photographed."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from test_report import charts

from tailrace import ResultFolder
from tailrace.reports import report
from tailrace.reports.page import answers

spec = importlib.util.spec_from_file_location(
    "photograph", Path(__file__).parents[2] / "docs" / "photograph.py"
)
assert spec is not None
assert spec.loader is not None
photograph = importlib.util.module_from_spec(spec)
spec.loader.exec_module(photograph)
pytestmark = pytest.mark.skipif(
    photograph.browser() is None or not answers(),
    reason="SKIPPED: no Chromium (make programs) or no uPlot (python python/uplot.py), so nothing is opened",
)

# Before the page's own scripts: what goes wrong is kept.
EARLY = "<script>window.wrong = []; addEventListener('error', (e) => wrong.push(e.message));</script>"
# After them: what is done, and what is then there, as JSON in the page's title.
LATE = """<script>
const said = { wrong };
const figures = [...document.querySelectorAll("[data-chart]")];
said.charts = figures.map((figure) => figure.id);
said.drawn = figures.map((figure) => figure.querySelectorAll("canvas").length);
const own = document.getElementById("r0-distributions");
const axis = () => own.querySelector(".u-legend .u-series").textContent;
const chosen = (place, value) => {
  const select = own.querySelector(`[data-choice="${place}"]`);
  select.value = value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
};
said.first = axis();
chosen(2, 1);
said.second = axis();
own.querySelector("[data-tail]").click();
own.querySelector('[data-log="x"]').click();
said.still_drawn = own.querySelectorAll("canvas").length;
const curve = () => own.querySelectorAll(".u-legend .u-series")[1];
const name = curve().querySelector("th");
name.focus();
said.focused = document.activeElement === name;
name.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
said.hidden = curve().classList.contains("u-off");
chosen(1, 1);
said.hidden_in_another_view = curve().classList.contains("u-off");
own.querySelector("[data-reset]").click();
const over = own.querySelector(".u-over");
const box = over.getBoundingClientRect();
const at = { bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 };
over.dispatchEvent(new MouseEvent("mouseenter", at));
over.dispatchEvent(new MouseEvent("mousemove", at));
said.wide = document.documentElement.scrollWidth - innerWidth;
said.cells = [...document.querySelectorAll("#r0-means table tr")].map((row) =>
  [...row.children].map((cell) => cell.textContent));
document.querySelectorAll("details").forEach((part) => { part.open = true; });
// Words that are on more than one line, in tables.
said.broken = [...document.querySelectorAll("th, td")].flatMap((cell) => {
  const text = cell.firstChild;
  if (!text || text.nodeType !== Node.TEXT_NODE) return [];
  return [...text.data.matchAll(/\\S+/g)].filter((word) => {
    const range = document.createRange();
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
  }).map((word) => word[0]);
});
said.wide = Math.max(said.wide, document.documentElement.scrollWidth - innerWidth);
requestAnimationFrame(() => requestAnimationFrame(() => {
  said.hovered = [...own.querySelectorAll(".u-legend .u-value")].map((cell) => cell.textContent);
  const told = document.createElement("pre");
  told.id = "told";
  told.textContent = JSON.stringify(said);
  document.body.append(told);
  parent.postMessage({ wide: said.wide, broken: said.broken }, "*");
}));
</script>"""


def told(dom: str) -> dict[str, object]:
    (text,) = re.findall(r'<pre id="told">(.*?)</pre>', dom, re.DOTALL)
    return json.loads(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


@pytest.fixture(scope="module")
def page(folder: ResultFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(folder.path, out=tmp_path_factory.mktemp("browser") / "report.html")


@pytest.fixture(scope="module")
def tried(page: Path) -> Path:
    text = page.read_text("utf-8")
    tried = page.with_name("tried.html")
    tried.write_text(text.replace("<head>", f"<head>{EARLY}").replace("</body>", f"{LATE}</body>"), "utf-8")
    return tried


def test_charts_are_drawn_and_answer(page: Path, tried: Path) -> None:
    said = told(photograph.browse(tried, "--window-size=1200,900", "--dump-dom"))
    assert said["wrong"] == []
    assert said["charts"] == list(charts(page.read_text("utf-8")))
    assert said["drawn"] == [1] * len(said["charts"])
    assert "Slowdown" in said["first"]
    assert "Completion time" in said["second"]
    assert said["still_drawn"] == 1
    assert said["focused"]
    assert said["hidden"]
    assert said["hidden_in_another_view"]
    assert said["wide"] <= 0
    # Under the pointer there are numbers: of x, and of the curve that is shown.
    assert re.fullmatch(r"[0-9.,×⁰¹²³⁴⁵⁶⁷⁸⁹]+", said["hovered"][0]), said["hovered"]
    assert re.fullmatch(r"[0-9.,×⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", said["hovered"][2]), said["hovered"]


def test_numbers_that_are_read_back_are_the_tables(folder: ResultFolder, tried: Path) -> None:
    cells = told(photograph.browse(tried, "--window-size=1200,900", "--dump-dom"))["cells"]
    header, first = cells[0], cells[1]
    row = folder.means.row(0, named=True)
    shown = dict(zip(header, first, strict=True))
    assert shown["scheme"] == row["scheme"]
    assert shown["flows"].split()[0] == f"{row['flows'] * row['seeds']:.0f}"
    assert shown["slowdown"].startswith(f"{row['slowdown_mean']:.2f}")


def test_a_phone_scrolls_one_way_only(tried: Path) -> None:
    frame = tried.with_name("phone.html")
    frame.write_text(
        "<script>addEventListener('message', (e) => { const p = document.createElement('pre'); p.id = 'told';"
        "p.textContent = JSON.stringify(e.data); document.body.append(p); });</script>"
        f'<body><iframe src="{tried.name}" width="390" height="844"></iframe></body>',
        "utf-8",
    )
    said = told(photograph.browse(frame, "--window-size=800,900", "--dump-dom"))
    assert said["wide"] <= 0
    assert said["broken"] == []


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("screen", photograph.SCREENS)
def test_pictures_show_curves_with_and_without_scripts(page: Path, screen: str, scripts: bool) -> None:
    text = page.read_text("utf-8")
    shown = page.with_name(f"shown{scripts}.html")
    # Without scripts: as a browser has it that runs none.
    shown.write_text(text if scripts else re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL), "utf-8")
    picture = page.with_name(f"shown{scripts}{screen}.png")
    photograph.photograph(shown, picture, photograph.SCREENS[screen][0], 3600)
    seen = np.rint(imread(picture)[:, :, :3] * 255).astype(int)
    # The pens of both schemes, each in more than a few places.
    for pen in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)):
        assert (seen == pen).all(axis=2).sum() > 300, pen
