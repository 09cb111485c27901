// Maps that move: one time for all maps of a point, a link to choose, and its flows.
"use strict";
(() => {
  const { maps, colour, number } = window.tailrace;
  const DRAWN = "http://www.w3.org/2000/svg";
  const UNKNOWN = 255;

  const make = (parent, name, attributes = {}, content = null) => {
    const element = parent.namespaceURI === DRAWN || name === "svg"
      ? document.createElementNS(DRAWN, name) : document.createElement(name);
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    if (content !== null) element.textContent = content;
    return parent.appendChild(element);
  };
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const size = (count) => {
    const [unit, factor] = [["GB", 1e9], ["MB", 1e6], ["KB", 1e3]].find(([, least]) => count >= least) || ["bytes", 1];
    return `${Number((count / factor).toPrecision(3))} ${unit}`;
  };
  const time = (us) => {
    const [unit, factor] = [["s", 1e6], ["ms", 1e3]].find(([, least]) => us >= least) || ["µs", 1];
    return `${Number((us / factor).toPrecision(4))} ${unit}`;
  };
  const short = (value) => String(Number(value.toPrecision(4)));
  const counts = (rows) => new Map(rows.map(([line, ...pairs]) => {
    const own = new Map();
    for (let at = 0; at < pairs.length; at += 2) own.set(pairs[at], pairs[at + 1]);
    return [line, own];
  }));

  // A scheme's map: its numbers, and the elements that show them.
  class FabricMap {
    constructor(figure, plain, holder) {
      const shape = figure.plain.fabrics[plain.fabric];
      Object.assign(this, { figure, plain, shape, frames: plain.totals ? 1 : figure.plain.frames });
      Object.assign(this, { used: bytes(plain.used), queue: bytes(plain.queue) });
      Object.assign(this, { marked: counts(plain.marked), dropped: counts(plain.dropped) });
      const own = make(holder, "div", { class: "map" });
      this.title = make(own, "p", {}, plain.scheme);
      const svg = make(own, "svg", {
        viewBox: `0 0 ${shape.width} ${shape.height}`, role: "group", "aria-label": `The fabric under ${plain.scheme}`,
        style: shape.room,
      });
      svg.addEventListener("click", (event) => figure.choose(this, this.under(event, svg)));
      this.halo = make(svg, "path", { class: "chosen", d: "" });
      this.paths = shape.lines.map((line) => make(svg, "path", { d: way(line) }));
      make(svg, "use", { href: `#${shape.boxes}` });
      this.dots = shape.lines.map((line) => make(svg, "circle", { class: "queue", ...place(line, 0.9 * shape.dot, "c"), r: 0 }));
      this.marks = shape.lines.map(() => make(svg, "path", { class: "mark", d: "" }));
      this.drops = shape.lines.map(() => make(svg, "path", { class: "drop", d: "" }));
      // Wide and unseen, so that a finger finds them; one of them is in the order of tabs, arrows go to the others.
      this.targets = shape.lines.map((line, at) => make(svg, "path", {
        class: "target", d: way(line), role: "button", tabindex: at ? -1 : 0, "aria-label": shape.names[at],
      }));
      this.targets.forEach((target, at) => {
        make(target, "title", {}, shape.names[at]);
        target.addEventListener("keydown", (event) => this.key(event, at));
        ["pointerenter", "focus"].forEach((what) => target.addEventListener(what, () => this.name(at)));
      });
    }

    key(event, at) {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Enter" || event.key === " ") this.figure.choose(this, at);
      else if (step) this.enter((at + step + this.targets.length) % this.targets.length).focus();
      else return;
      event.preventDefault();
    }

    // The line that is meant: what was hit, or the nearest one, since a finger is wider than a line.
    under(event, svg) {
      const hit = this.targets.indexOf(event.target.closest(".target"));
      if (hit >= 0) return hit;
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      const distances = this.shape.lines.map((line) => Math.min(...points(line).map((at) => Math.hypot(at[0] - x, at[1] - y))));
      const least = Math.min(...distances);
      return least < 25 ? distances.indexOf(least) : -1;
    }

    // The line to which the tab key comes.
    enter(at) {
      this.targets.forEach((target, other) => { target.tabIndex = other === at ? 0 : -1; });
      return this.targets[at];
    }

    name(at) {
      const label = `${this.shape.names[at]}: ${this.values(at, this.figure.at)}`;
      this.targets[at].setAttribute("aria-label", label);
      this.targets[at].querySelector("title").textContent = label;
    }

    // The place of a value. A map of totals shows the same at any time.
    place(line, frame) {
      return line * this.frames + (this.frames > 1 ? frame : 0);
    }

    usedAt(line, frame) {
      const value = this.used[this.place(line, frame)];
      return value === UNKNOWN ? null : value / 2;
    }

    queueAt(line, frame) {
      return ((this.queue[this.place(line, frame)] || 0) / 255) * this.figure.plain.longest;
    }

    values(line, frame) {
      const used = this.usedAt(line, frame);
      if (used === null) return "no sample";
      const count = (of) => of.get(line)?.get(this.frames > 1 ? frame : 0) || 0;
      const queue = this.plain.totals ? "" : `, queue at most ${size(this.queueAt(line, frame))}`;
      return `${used} % of its rate${queue}, ${number(count(this.marked))} marked, ${number(count(this.dropped))} dropped`;
    }

    draw(frame) {
      const { plain, steps } = this.figure;
      this.shape.lines.forEach((line, at) => {
        const used = this.used[this.place(at, frame)];
        this.paths[at].setAttribute("class", used === UNKNOWN ? "unknown" : `u${steps.filter((step) => used > step).length}`);
        const queue = this.queue[this.place(at, frame)] || 0;
        this.dots[at].setAttribute("r", queue ? 1.5 + (this.shape.dot - 1.5) * Math.sqrt(queue / 255) : 0);
        const sign = (of, most, signs, distance, shape) => {
          const count = of.get(at)?.get(this.frames > 1 ? frame : 0);
          signs[at].setAttribute("d", count ? shape(along(line, distance), 2 + 2.5 * Math.sqrt(count / most)) : "");
        };
        sign(this.marked, plain.marked, this.marks, 2 * this.shape.dot + 3, triangle);
        sign(this.dropped, plain.dropped, this.drops, 2 * this.shape.dot + 11, cross);
      });
    }

    shows(line) {
      this.halo.setAttribute("d", line < 0 ? "" : way(this.shape.lines[line]));
    }
  }

  const way = ([x, y, toX, toY, ...bend]) => `M${x} ${y}${bend.length ? `Q${bend[0]} ${bend[1]} ` : "L"}${toX} ${toY}`;
  const along = ([x, y, toX, toY, bendX = toX, bendY = toY], distance) => {
    const share = distance / Math.max(1, Math.hypot(bendX - x, bendY - y));
    return [x + share * (bendX - x), y + share * (bendY - y)];
  };
  // Places along the whole of a line.
  const points = ([x, y, toX, toY, bendX = (x + toX) / 2, bendY = (y + toY) / 2]) => [...Array(21).keys()].map((step) => {
    const t = step / 20;
    const mix = (from, bend, to) => (1 - t) ** 2 * from + 2 * t * (1 - t) * bend + t ** 2 * to;
    return [mix(x, bendX, toX), mix(y, bendY, toY)];
  });
  const place = (line, distance) => {
    const [cx, cy] = along(line, distance);
    return { cx, cy };
  };
  const triangle = ([x, y], s) => `M${x} ${y - s}l${s} ${1.8 * s}h${-2 * s}z`;
  const cross = ([x, y], s) => `M${x - s} ${y - s}l${2 * s} ${2 * s}m${-2 * s} 0l${2 * s} ${-2 * s}`;

  class Figure {
    constructor(element, plain) {
      Object.assign(this, { element, plain, steps: plain.steps, at: plain.start, chosen: null });
      this.find = (name) => element.querySelector(`[data-${name}]`);
      element.classList.add("live");
      this.maps = plain.maps.map((one) => new FabricMap(this, one, this.find("maps")));
      this.fillLinks();
      this.slider = this.find("time");
      if (this.slider) this.moves();
      this.draw();
    }

    fillLinks() {
      const select = this.find("link");
      const names = [...new Set(this.plain.fabrics.flatMap((shape) => shape.names))];
      make(select, "option", { value: "" }, "choose one, or click it");
      names.forEach((name) => make(select, "option", { value: name }, name));
      select.addEventListener("change", () => {
        const own = this.chosen?.map.shape.names.includes(select.value) ? this.chosen.map : null;
        const map = own || this.maps.find((one) => one.shape.names.includes(select.value));
        this.choose(map, map ? map.shape.names.indexOf(select.value) : -1);
      });
    }

    moves() {
      this.slider.max = this.plain.frames - 1;
      this.slider.value = this.at;
      this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
      this.button = this.find("play");
      this.button.addEventListener("click", () => (this.timer ? this.stop() : this.play()));
    }

    play() {
      if (this.at === this.plain.frames - 1) this.go(0);
      this.button.textContent = "pause";
      this.timer = setInterval(() => (this.at < this.plain.frames - 1 ? this.go(this.at + 1) : this.stop()), 250);
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.button.textContent = "play";
    }

    go(at) {
      this.at = at;
      this.slider.value = at;
      this.draw();
    }

    when() {
      const { every, unit } = this.plain;
      return `${short(this.at * every)} to ${short((this.at + 1) * every)} ${unit}`;
    }

    draw() {
      this.maps.forEach((map) => map.draw(this.at));
      if (this.slider) {
        this.find("when").textContent = this.when();
        this.slider.setAttribute("aria-valuetext", this.when());
      }
      if (this.chosen) this.tell();
    }

    choose(map, line) {
      const holder = this.find("chosen");
      this.chosen = map && line >= 0 ? { map, line, name: map.shape.names[line] } : null;
      this.find("link").value = this.chosen ? this.chosen.name : "";
      this.maps.forEach((one) => one.shows(this.chosen ? one.shape.names.indexOf(this.chosen.name) : -1));
      holder.replaceChildren();
      if (!this.chosen) return;
      map.enter(line);
      make(holder, "h4", {}, this.chosen.name);
      this.told = make(holder, "ul", { "aria-live": this.slider ? "off" : "polite" });
      if (this.slider) this.drawCharts(make(holder, "div", { class: "maps" }));
      this.listFlows(holder);
      this.tell();
    }

    // What the chosen link does now, under each scheme that has it.
    tell() {
      const { name, map, line } = this.chosen;
      this.told.replaceChildren();
      this.maps.forEach((one) => {
        const own = one.shape.names.indexOf(name);
        if (own >= 0) make(this.told, "li", {}, `${one.plain.scheme}: ${one.values(own, this.at)}`);
      });
      const [from, to] = [this.at * this.plain.us, (this.at + 1) * this.plain.us];
      const { start } = this.plain.flows[map.plain.flows];
      const { fct } = this.plain.flows[map.plain.flows].runs[map.plain.run];
      this.rows?.forEach((row) => {
        const flow = Number(row.dataset.flow);
        const going = this.slider && start[flow] <= to && (fct[flow] === null || start[flow] + fct[flow] >= from);
        row.className = going ? "now" : "";
        row.lastChild.textContent = going ? "in progress" : "";
      });
      this.charts?.forEach((chart) => chart.redraw(false));
    }

    drawCharts(holder) {
      const { name } = this.chosen;
      const { frames, every, unit } = this.plain;
      const x = [...Array(frames).keys()].map((at) => (at + 0.5) * every);
      const shown = this.maps.filter((map) => !map.plain.totals && map.shape.names.includes(name));
      const axis = (label) => ({
        label, stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 },
        values: (_, values) => values.map(number), size: 56, labelSize: 20,
      });
      const chart = (label, value) => {
        const own = make(holder, "div", { class: "plot" });
        const series = shown.map((map) => ({
          label: map.plain.scheme, stroke: colour(`--c${map.plain.pen % 7}`), width: 1.5, points: { show: false },
        }));
        const columns = shown.map((map) => x.map((_, at) => value(map, map.shape.names.indexOf(name), at)));
        return new uPlot({
          width: Math.max(260, Math.min(460, this.element.clientWidth - 40)), height: 190, series: [{}, ...series],
          scales: { x: { time: false, range: [0, frames * every] }, y: { range: (_, low, high) => [0, Math.max(high, 1)] } },
          axes: [{ ...axis(`Time (${unit})`), size: 36 }, axis(label)], legend: { live: false }, hooks: { draw: [(u) => this.drawNow(u)] },
        }, [x, ...columns], own);
      };
      this.charts = [
        chart("Share of its rate (%)", (map, line, at) => map.usedAt(line, at)),
        chart("Longest queue (KB)", (map, line, at) => (map.usedAt(line, at) === null ? null : map.queueAt(line, at) / 1e3)),
      ];
    }

    // The time that the maps show, in a chart.
    drawNow(u) {
      const [from, to] = [this.at, this.at + 1].map((at) => u.valToPos(at * this.plain.every, "x", true));
      u.ctx.save();
      u.ctx.globalAlpha = 0.35;
      u.ctx.fillStyle = colour("--accent");
      u.ctx.fillRect(from, u.bbox.top, Math.max(4, to - from), u.bbox.height);
      u.ctx.restore();
    }

    listFlows(holder) {
      const { map, line } = this.chosen;
      const flows = this.plain.flows[map.plain.flows];
      const listed = flows.through[line];
      this.rows = [];
      if (!listed.length) {
        const inner = flows.choice && map.shape.inner[line];
        make(holder, "p", {}, inner ? "Packets of a flow take several ways here, so that no flow belongs to this link." : "No flow passed it.");
        return;
      }
      const others = this.plain.maps.filter((one) => one.flows === map.plain.flows);
      const which = flows.count[line] > listed.length ? "the largest, and the largest when its queue was longest" : "all";
      const table = make(make(holder, "div", { class: "wide" }), "table");
      make(table, "caption", {}, `${number(listed.length)} of ${number(flows.count[line])} flows that passed it${flows.largest ? `, of the ${number(flows.largest)} largest of the run` : ""}: ${which}; completion, and slowdown behind ×`);
      const head = make(make(table, "thead"), "tr");
      const header = ["flow", "from", "to", "size", "start", ...others.map((one) => one.scheme), ""];
      header.forEach((name, at) => make(head, "th", { scope: "col", ...(at === 1 || at === 2 || at === header.length - 1 ? {} : { class: "number" }) }, name));
      const body = make(table, "tbody");
      this.rows = listed.map((flow) => {
        const row = make(body, "tr", { "data-flow": flow });
        const cell = (content, kind = "number") => make(row, "td", kind ? { class: kind } : {}, content);
        cell(String(flows.flow[flow]));
        cell(flows.hosts[flows.src[flow]], "");
        cell(flows.hosts[flows.dst[flow]], "");
        cell(size(flows.size[flow]));
        cell(time(flows.start[flow]));
        others.forEach((one) => {
          const { fct, slowdown } = flows.runs[one.run];
          cell(fct[flow] === null ? "unfinished" : `${time(fct[flow])} ×${slowdown[flow]}`);
        });
        cell("", "");
        return row;
      });
    }
  }

  const figures = [];
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => figures.forEach((figure) => {
    if (figure.chosen) figure.choose(figure.chosen.map, figure.chosen.line);
  }));

  // What is folded is made when it is opened.
  document.querySelectorAll("[data-fabric]").forEach((element) => {
    const begin = () => figures.push(new Figure(element, maps[element.dataset.fabric]));
    const folded = element.closest("details:not([open])");
    if (folded) folded.addEventListener("toggle", begin, { once: true });
    else begin();
  });
})();
