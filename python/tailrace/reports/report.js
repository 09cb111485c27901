// Charts that answer: each figure's still picture gives way to a chart of uPlot's, drawn from the same numbers.
"use strict";
(() => {
  const { charts, ranks, maps } = JSON.parse(document.getElementById("charts").textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dashes = [[], [6, 4], [2, 3]];
  const raised = (power) => String(power).replace(/[-0-9]/g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);

  const number = (value) => {
    if (value == null) return "–";
    const size = Math.abs(value);
    if (size && (size >= 1e6 || size < 1e-3)) {
      const power = Math.floor(Math.log10(size) + 1e-9);
      const digits = Number((value / 10 ** power).toPrecision(3));
      return digits === 1 ? "10" + raised(power) : digits + "×10" + raised(power);
    }
    return Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
  };

  class Figure {
    constructor(element, chart) {
      Object.assign(this, { element, chart, plot: element.querySelector(".plot") });
      this.hidden = new Set();
      this.name = element.querySelector("h3").textContent;
      element.classList.add("live");
      element.addEventListener("change", () => this.draw());
      element.querySelector("[data-reset]").addEventListener("click", () => this.draw());
      new ResizeObserver(() => {
        if (this.drawn && this.plot.clientWidth !== this.width) this.draw();
      }).observe(this.plot);
      this.draw();
    }

    // Views are in the order of the product of the choices.
    view() {
      const chosen = this.chart.choices.map((options, place) => {
        const select = this.element.querySelector(`[data-choice="${place}"]`);
        return [options.length, select ? Number(select.value) : 0];
      });
      return this.chart.views[chosen.reduce((at, [count, own]) => at * count + own, 0)];
    }

    checked(selector) {
      return Boolean(this.element.querySelector(selector)?.checked);
    }

    draw() {
      const view = this.view();
      const tail = this.checked("[data-tail]");
      const log = { x: this.checked('[data-log="x"]'), y: this.checked('[data-log="y"]') || tail };
      const kept = (value, axis) => Number.isFinite(value) && (value > 0 || !log[axis]);
      const tables = view.curves.map((curve) => {
        // What is at this rank or above it; of the first that is all.
        const known = curve.count === undefined ? null : ranks[curve.count] || [];
        const share = (rank, place) => (tail ? 1 - (place ? known[place - 1] : 0) / curve.of : rank / curve.of);
        const y = known ? known.map(share) : curve.y;
        const places = curve.x.map((_, place) => place).filter((p) => kept(curve.x[p], "x") && kept(y[p], "y"));
        const columns = [curve.x, y].concat(curve.low ? [curve.low, curve.high] : []);
        const table = columns.map((column) => places.map((place) => column[place]));
        // uPlot joins by values of x that differ.
        table[0].forEach((x, place, all) => { if (place && x <= all[place - 1]) all[place] = all[place - 1] * (1 + 1e-9) + 1e-12; });
        return table;
      });
      const series = [{ label: view.x, value: (_, value) => number(value) }];
      const bands = [];
      const edges = [];
      view.curves.forEach((curve) => {
        const stroke = colour(`--c${curve.pen % 7}`);
        const show = !this.hidden.has(curve.label);
        series.push({
          label: curve.label, stroke, show, width: 2, dash: dashes[Math.floor(curve.pen / 7)], spanGaps: true,
          points: { show: curve.x.length < 40 }, value: (_, value) => number(value),
        });
        if (curve.low) {
          const edge = { stroke: stroke + "55", show, width: 1, spanGaps: true, points: { show: false } };
          const at = series.length;
          series.push({ ...edge, label: curve.label }, { ...edge, label: curve.label });
          edges.push(at, at + 1);
          bands.push({ series: [at + 1, at], fill: stroke + "22" });
        }
      });
      const axis = (label) => ({
        label, stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 },
        values: (_, values) => values.map((value) => (value == null ? "" : number(value))), size: 64, labelSize: 22,
      });
      this.width = this.plot.clientWidth;
      const options = {
        width: Math.max(260, this.width - 16), height: Math.max(280, Math.min(420, this.width * 0.55)),
        scales: { x: { time: false, distr: log.x ? 3 : 1 }, y: { distr: log.y ? 3 : 1, ...(this.chart.tail && !log.y ? { range: [0, 1] } : {}) } },
        axes: [{ ...axis(view.x), size: 40 }, axis(tail ? "Share of flows above" : view.y)], series, bands,
        // A point of x belongs to one curve: of the others the nearest is shown.
        cursor: { dataIdx: (u, place, at) => (place ? nearest(u.data[place], at) : at) },
        hooks: { setSeries: [(u, place, change) => this.choose(u, place, change)] },
      };
      const empty = tables.every((table) => !table[0].length);
      this.plot.replaceChildren();
      if (empty) {
        this.plot.textContent = "no such flows";
        return;
      }
      this.drawn = new uPlot(options, uPlot.join(tables), this.plot);
      this.drawn.root.setAttribute("role", "group");
      this.drawn.root.setAttribute("aria-label", this.name);
      const rows = this.plot.querySelectorAll(".u-legend .u-series");
      rows.forEach((row, place) => {
        if (edges.includes(place)) row.hidden = true;
        else if (place) this.answersKeys(row.querySelector("th"));
      });
    }

    // A curve is hidden by its name, which keys reach as well.
    answersKeys(name) {
      name.tabIndex = 0;
      name.setAttribute("role", "button");
      name.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        name.click();
      });
    }

    // A curve's band comes and goes with it, and it stays hidden in other views.
    choose(u, place, change) {
      if (place == null || change.show == null) return;
      const label = u.series[place].label;
      const known = this.hidden.has(label);
      if (known !== change.show) return;
      if (change.show) this.hidden.delete(label);
      else this.hidden.add(label);
      u.series.forEach((series, other) => {
        if (other !== place && other > 0 && series.label === label) u.setSeries(other, { show: change.show });
      });
    }
  }

  const nearest = (values, at) => {
    for (let step = 0; step < values.length; step += 1) {
      if (values[at - step] != null) return at - step;
      if (values[at + step] != null) return at + step;
    }
    return at;
  };

  // Paper shows what is folded, too.
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((of) => { of.open = true; }));

  // What maps of fabrics use as well.
  window.tailrace = { maps, colour, number };

  const figures = [...document.querySelectorAll("[data-chart]")].map((element) => new Figure(element, charts[element.dataset.chart]));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => figures.forEach((figure) => figure.draw()));
})();
