"use strict";
// The chart of a report: curves of arms, drawn by dygraphs from the JSON in the page.
(() => {
  // A link to a closed part opens it, on this page or from another one.
  const openPart = (hash) => {
    const part = hash && document.getElementById(hash.slice(1));
    if (!part || !("open" in part)) return;
    part.open = true;
    part.scrollIntoView();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link) openPart(link.hash);
  });
  addEventListener("hashchange", () => openPart(location.hash));
  addEventListener("DOMContentLoaded", () => openPart(location.hash));  // parts come after this script
  const source = document.getElementById("curves");
  if (!source || typeof Dygraph === "undefined") return;
  const data = {axis: 0, log_y: false, axes: [], arms: []};
  const root = document.documentElement;
  root.classList.add("js");

  // Okabe and Ito's palette; in the dark theme, lighter shades of it
  const light = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333"];
  const dark = ["#56B4E9", "#FF8A3C", "#2FD3A2", "#E6A3C8", "#F5C242", "#9AD1F5", "#DDDDDD"];
  const dashes = [null, [7, 3], [2, 2], [9, 3, 2, 3], [14, 4], [6, 2, 2, 2, 2, 2], [1, 4], [14, 3, 5, 3]];
  const element = (id) => document.getElementById(id);
  // shown and chosen contain names of arms: those that are drawn, and those whose box the reader has touched
  const state = {axis: null, shown: new Set(), chosen: new Set(), seeds: false, logX: false, logY: false, end: false};
  let graph = null, zoomed = false, fitted = "";  // zoomed: by the reader; fitted: the y range that the page chose
  let kept = null;  // the zoom while no line is shown
  let ceiling = Infinity;  // what lies above is drawn here

  const isDark = () => root.dataset.theme === "dark" ||
    (root.dataset.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const colour = (arm) => (isDark() ? dark : light)[arm.colour % light.length];

  // ---- numbers in words
  const units = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "u"]];
  const scaled = (value, unit) => {
    if (value === 0) return "0";
    const [factor, prefix] = units.find(([size]) => Math.abs(value) >= size * 0.9999) || [1, ""];
    return `${Number((value / factor).toPrecision(4))} ${prefix}${unit}`;
  };
  const places = {bytes: (x) => scaled(x, "B"), seconds: (x) => scaled(x, "s")};
  const xText = (x) => (places[data.axes[state.axis].kind] || ((value) => String(Number(value.toPrecision(6)))))(x);
  const yText = (y, places = Math.abs(y) >= 1e5 ? 3 : 4) => {
    const digits = Number(y.toPrecision(places));
    return Math.abs(y) >= 1e5 ? digits.toExponential().replace("e+", "e") : String(digits);
  };

  // ---- lines: one for each arm, or one for each of its runs
  const linesOf = (arm) => {
    // The band of an arm that rose would hide the others, as would those of many arms.
    const half = arm.calm && (arm.best || state.shown.size <= 6) ? arm.half : null;
    const rest = arm.diverged > 0 && arm.diverged < arm.runs.length;
    const name = rest ? `${arm.name}, mean of ${arm.runs.length - arm.diverged} that did not diverge` : arm.name;
    if (!state.seeds) return [lineOf(arm, name, arm.x, arm.mean, half, arm.ends_diverged)];
    return arm.runs.map((run) => lineOf(arm, `${arm.name}, seed ${run.seed}`, run.x, run.loss, null, run.diverged));
  };
  // Leaves out evaluations without a finite loss and, if only the end is shown, those in the first half of the steps.
  // crossed: whether a cross marks its end.
  const lineOf = (arm, name, onAxes, y, half, crossed) => {
    const x = onAxes[state.axis], steps = onAxes[data.axes.findIndex((each) => each.kind === "steps")];
    const first = state.end ? steps[steps.length - 1] / 2 : -Infinity;
    const shown = y.map((_, i) => i).filter((i) => y[i] !== null && x[i] !== null && steps[i] >= first);
    const of = (values) => values && shown.map((i) => values[i]);
    return {arm, name, x: of(x), y: of(y), half: of(half), crossed};
  };
  const usable = (x, y) => (!state.logX || x > 0) && (!state.logY || y > 0);

  // If the lines have more than 2,000 different x values, these are moved to evenly spaced ones, about 2,000, because
  // otherwise the table would be too large.
  const placesOf = (lines) => {
    const most = 2000, all = new Set(lines.flatMap((line) => line.x).filter((x) => !state.logX || x > 0));
    if (all.size <= most) return (x) => x;
    const [to, back] = state.logX ? [Math.log, Math.exp] : [(x) => x, (x) => x];
    let low = Infinity, high = -Infinity;
    all.forEach((x) => { low = Math.min(low, to(x)); high = Math.max(high, to(x)); });
    const step = (high - low) / most;
    return (x) => (state.logX && x <= 0 ? x : back(low + Math.round((to(x) - low) / step) * step));
  };

  // dygraphs takes one table with a column for each line
  const tableOf = (lines) => {
    const rows = new Map(), place = placesOf(lines);
    lines.forEach((line, column) => line.x.forEach((exact, i) => {
      const y = line.y[i], x = place(exact);
      if (!usable(x, y)) return;
      if (!rows.has(x)) rows.set(x, new Array(lines.length).fill(null));
      const half = line.half ? line.half[i] : null;
      const low = half === null ? y : y - half, high = half === null ? y : y + half;
      const cell = [state.logY && low <= 0 ? y * 1e-6 : low, y, high].map((value) => Math.min(value, ceiling));
      rows.get(x)[column] = state.seeds ? cell[1] : cell;
    }));
    const empty = state.seeds ? null : [null, null, null];
    return [...rows.keys()].sort((a, b) => a - b).map((x) => [x, ...rows.get(x).map((cell) => cell || empty)]);
  };

  // Arms that neither diverged nor rose set the range; on a logarithmic axis the others may extend it by a factor of
  // 100. Bands may widen the range by up to its own height on either side, but not below 0, because no loss is negative;
  // on a logarithmic axis, down to half of the least loss. If there is a window, only what lies in it counts. Without
  // one, the first evaluations do not count on a linear axis if they alone set more than two thirds of the range, and
  // every line has at least three.
  const rangeOf = (lines, [from, to] = [-Infinity, Infinity]) => {
    const calm = lines.filter((line) => line.arm.calm), used = calm.length > 0 ? calm : lines;
    let least = Infinity, most = -Infinity, first = Infinity, last = -Infinity, low = Infinity, high = -Infinity;
    let later = -Infinity, laterHigh = -Infinity;
    const include = (x, y, half, i = 1) => {
      if (!usable(x, y) || x < from || x > to) return;
      if (i > 0) [later, laterHigh] = [Math.max(later, y), Math.max(laterHigh, y + half)];
      least = Math.min(least, y);
      most = Math.max(most, y);
      low = Math.min(low, y - half);
      high = Math.max(high, y + half);
      first = Math.min(first, x);
      last = Math.max(last, x);
    };
    used.forEach((line) => line.x.forEach((x, i) => include(x, line.y[i], line.half && line.half[i] || 0, i)));
    [from, to].filter(Number.isFinite).forEach((x) => linesAt(x).filter(({line}) => used.includes(line))
      .forEach(({y, half}) => include(x, y, half || 0)));
    if (!(most >= least)) return {y: null, x: null};
    const seen = ({x, y}) => y.filter((value, i) => Number.isFinite(value) && x[i] >= from && x[i] <= to);
    if (state.logY) most = Math.min(100 * most, Math.max(most, ...lines.flatMap(seen)));
    const start = Math.max(...used.map((line) => line.y[0]).filter(Number.isFinite));
    // A line may explode and come back: the range ends at 10 times the loss at the start, except in a window or without
    // calm arms.
    if (calm.length > 0 && from === -Infinity && start > 0) most = Math.min(most, Math.max(least, 10 * start));
    if (least > 0) low = Math.max(low, 0);
    const startSets = !state.logY && !state.end && from === -Infinity && used.every((line) => line.x.length > 2) &&
      later > least && most - least > 3 * (later - least);
    if (startSets) [most, high] = [later, laterHigh];
    if (state.logY) least = Math.max(low, least / 2);
    if (!state.logY) [least, most] = [Math.max(low, 2 * least - most), Math.min(high, 2 * most - least)];
    const margin = state.logY ? 1.1 : 0.06 * (most - least || Math.abs(most) || 1);
    const y = state.logY ? [least / margin, most * margin] : [least - margin, most + margin];
    const room = state.logX ? 0 : 0.01 * (last - first);
    const alone = state.logX ? [first / 1.1, first * 1.1] : [first - (0.1 * first || 1), first + (0.1 * first || 1)];
    return {y, x: first < last ? [first - room, last + room] : alone};
  };

  // Reads every line at the mouse's x: between two evaluations, from the straight line that is drawn.
  let drawn = [];
  const between = (xs, values, x, toX, toY, back) => {
    const found = xs.findIndex((each) => each >= x * 0.9999), after = found < 0 ? xs.length - 1 : found;
    if (after === 0 || values[after - 1] === null || values[after] === null) return values[after];
    const share = (toX(x) - toX(xs[after - 1])) / (toX(xs[after]) - toX(xs[after - 1]));
    return back(toY(values[after - 1]) + Math.min(1, Math.max(0, share)) * (toY(values[after]) - toY(values[after - 1])));
  };
  const same = (value) => value;
  // Returns the points of a line that are drawn: of several at the same x, such as evaluations between exchanges, only
  // the last.
  const drawnOf = (line) => {
    const shown = line.x.map((_, i) => i).filter((i) => usable(line.x[i], line.y[i]))
      .filter((i, k, all) => k + 1 === all.length || line.x[all[k + 1]] > line.x[i]);
    const of = (values) => values && shown.map((i) => values[i]);
    return {line, x: of(line.x), y: of(line.y), half: of(line.half)};
  };
  const readAt = ({line, x: xs, y: ys, half}, x) => {
    const toX = state.logX ? Math.log : same;
    const y = between(xs, ys, x, toX, ...(state.logY ? [Math.log, Math.exp] : [same, same]));
    return {line, y, half: half && between(xs, half, x, toX, same, same)};
  };
  const linesAt = (x) => drawn.filter(({x: xs}) => x >= xs[0] * 0.9999 && x <= xs[xs.length - 1] * 1.0001)
    .map((line) => readAt(line, x));
  // Selects the x value nearest to the mouse, and the line nearest to the mouse there. dygraphs would take the nearest
  // point of any line, which may be far to the left or right of the mouse.
  const pointNear = (domX, domY) => {
    const row = graph.findClosestRow(domX), lines = row < 0 ? [] : linesAt(graph.getValue(row, 0));
    const distance = ({y}) => Math.abs(graph.toDomYCoord(y) - domY);
    lines.sort((a, b) => distance(a) - distance(b));
    return {row, seriesName: lines.length ? lines[0].line.name : null};
  };
  // Draws a triangle at the frame where a line leaves the chart at the top.
  const drawExits = (context, area, chart) => drawn.forEach(({line, x, y}) => y.forEach((value, i) => {
    const scale = state.logY ? Math.log : same, top = chart.yAxisRange()[1];
    if (!(value <= top && y[i + 1] > top)) return;
    const share = (scale(top) - scale(value)) / (scale(Math.min(y[i + 1], ceiling)) - scale(value));
    const from = chart.toDomXCoord(x[i]), at = from + share * (chart.toDomXCoord(x[i + 1]) - from);
    if (at < area.x || at > area.x + area.w) return;
    context.fillStyle = colour(line.arm);
    context.beginPath();
    [[0, 0], [-5, 9], [5, 9]].forEach(([dx, dy]) => context.lineTo(at + dx, area.y + dy));
    context.fill();
  }));
  // Draws a cross at the end of each line that ends because its runs diverged, at the frame if the end is above it.
  const drawCrosses = (context, area, chart) => drawn.filter(({line, x}) => line.crossed && x.length).forEach((each) => {
    const last = each.x.length - 1, x = chart.toDomXCoord(each.x[last]);
    const y = Math.max(area.y + 5, chart.toDomYCoord(each.y[last]));
    if (x < area.x || x > area.x + area.w || y > area.y + area.h) return;
    context.strokeStyle = colour(each.line.arm);
    context.lineWidth = 2;
    context.beginPath();
    [[-5, 5], [5, -5]].forEach(([from, to]) => {
      context.moveTo(x - 5, y + from);
      context.lineTo(x + 5, y + to);
    });
    context.stroke();
  });
  const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const legend = (point) => {
    if (point.x === undefined) return "move the mouse over the chart, or touch it, to read values";
    const most = 14, nearest = point.series.find((each) => each.isHighlighted);
    const known = linesAt(point.x).sort((a, b) => a.y - b.y);
    const isNearest = ({line}) => nearest !== undefined && line.name === nearest.label;
    const ordered = known.length > most ? [...known.filter(isNearest), ...known.filter((each) => !isNearest(each))] : known;
    const rows = ordered.slice(0, most)
      .map(({line, y, half: width}) => {
        const text = Math.abs(y) >= 1e-3 && Math.abs(y) < 1e4 ? y.toPrecision(4) : yText(y);  // 0.3500, not 0.35
        const half = width === null ? "" : ` ± ${yText(width, 2)}`;
        const mark = `<b style="color:${colour(line.arm)}">&#9632;</b>`;
        return `<span>${mark} ${escaped(line.name)}: ${text}${half}</span>`;
      });
    if (known.length > most) rows.push(`<span>and ${known.length - most} more</span>`);
    return `<strong>${escaped(data.axes[state.axis].label)} ${xText(point.x)}</strong> ${rows.join(" ")}`;
  };

  // A finger scrolls the page over the chart, and a tap reads values. dygraphs would drag the curves away.
  const withoutTouch = Object.fromEntries(
    Object.entries(Dygraph.defaultInteractionModel).filter(([event]) => !event.startsWith("touch")));

  // Places of labels on a logarithmic axis: powers of ten and, if these are few, multiples of them.
  const logTicks = (low, high, pixels, options, chart, values) => {
    const first = Math.floor(Math.log10(low)), decades = Math.ceil(Math.log10(high)) - first;
    const fitting = (digits) => {
      const ticks = [], stride = Math.max(1, Math.ceil(decades / (pixels / 40)));
      for (let power = first; power <= first + decades; power += stride) {
        digits.forEach((digit) => ticks.push(digit * 10 ** power));
      }
      return ticks.filter((tick) => tick >= low && tick <= high);
    };
    const ticks = [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 6, 8], [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]].map(fitting)
      .find((each) => each.length > Math.min(5, pixels / 80));
    if (!ticks) return Dygraph.numericTicks(low, high, pixels, options, chart, values);
    return ticks.map((v) => ({v, label: options("axisLabelFormatter").call(chart, v)}));
  };

  const draw = (keepZoom = false, refit = false) => {
    const zoom = !keepZoom ? null : zoomed && graph ? {x: graph.xAxisRange(), y: graph.yAxisRange()} : kept;
    const fits = zoom !== null && (refit || String(zoom.y) === fitted);
    zoomed = zoom !== null;
    const lines = data.arms.filter((arm) => state.shown.has(arm.name)).flatMap(linesOf).filter((line) => line.x.length > 0);
    drawn = lines.map(drawnOf);
    const range = zoom ? {x: zoom.x, y: fits && rangeOf(lines, zoom.x).y || zoom.y} : rangeOf(lines);
    // A browser draws steep lines without their dashes, so no line rises far above the range.
    ceiling = !range.y ? Infinity : state.logY ? 1e6 * range.y[1] : range.y[1] + 50 * (range.y[1] - range.y[0]);
    const table = tableOf(lines), box = element("chart-box");
    if (graph) graph.destroy();
    graph = null;
    box.textContent = table.length ? "" : data.arms.length === 0 ? ""
      : `nothing to draw: ${data.arms.some((arm) => arm.mean.length) ? "choose an arm below" : "there are no evaluations"}`;
    element("chart-legend").textContent = "";
    root.dataset.drawn = String(table.length ? lines.length : 0);
    const narrow = box.clientWidth < 500;
    // Reserves room for the values, so that what is below the chart does not move.
    element("chart-legend").style.minHeight = `${1.3 * (1 + Math.ceil(Math.min(lines.length, 14) / (narrow ? 1 : 3)))}rem`;
    kept = table.length ? null : zoom;
    if (!table.length) return;
    const series = {}, grid = isDark() ? "#3a3f46" : "#dddddd";
    lines.forEach((line) => {
      series[line.name] = {color: colour(line.arm), strokePattern: dashes[line.arm.dash % dashes.length],
                           strokeWidth: line.arm.best ? 2 : 1.2};
    });
    graph = new Dygraph(box, table, {
      labels: ["x", ...lines.map((line) => line.name)], series, customBars: !state.seeds, fillAlpha: 0.14,
      connectSeparatedPoints: true, legend: "always", labelsDiv: element("chart-legend"), legendFormatter: legend,
      interactionModel: withoutTouch, labelsKMB: false, logscale: state.logY, valueRange: range.y, dateWindow: range.x,
      zoomCallback: (low, high) => {
        zoomed = graph.isZoomed();
        if (!zoomed) setTimeout(() => draw());
        if (zoomed && String(graph.yAxisRange()) === fitted) fit(lines, [low, high]);
      },
      xlabel: escaped(data.axes[state.axis].label), ylabel: "evaluated loss", gridLineColor: grid, axisLineColor: grid,
      underlayCallback: (...canvas) => { drawCrosses(...canvas); drawExits(...canvas); }, highlightCircleSize: 4, highlightSeriesOpts: {strokeWidth: 3}, highlightSeriesBackgroundAlpha: 1, xRangePad: 4, pointSize: 3, rightGap: narrow ? 20 : 30,
      axes: {x: {logscale: state.logX, axisLabelFormatter: (x) => xText(x), valueFormatter: xText,
                 axisLabelWidth: narrow ? 50 : 72, pixelsPerLabel: narrow ? 48 : 90, ...(state.logX && {ticker: logTicks})},
             y: {axisLabelFormatter: (y) => yText(y), axisLabelWidth: 56, ...(state.logY && {ticker: logTicks})}},
    });
    graph.findClosestPoint = pointNear;
    if (!zoom || fits) fitted = String(graph.yAxisRange());
  };
  // After a zoom along x, the y axis fits what is left to see, unless the reader has zoomed along y.
  const fit = (lines, window) => {
    const {y} = rangeOf(lines, window);
    if (y) graph.updateOptions({valueRange: y});
    fitted = String(graph.yAxisRange());
  };

  // ---- controls
  const touched = new Set();  // keys of the boxes that the reader has touched
  const axis = element("axis");
  axis.onchange = () => { state.axis = Number(axis.value); draw(); };
  const toggle = (id, key) => {
    element(id).onchange = (event) => { touched.add(key); state[key] = event.target.checked; draw(["seeds", "logY"].includes(key), key === "logY"); };
    element(id).checked = state[key];
  };
  toggle("log-x", "logX");
  toggle("log-y", "logY");
  toggle("end-only", "end");
  toggle("seeds", "seeds");
  element("reset").onclick = () => draw();
  element("theme").onclick = () => { root.dataset.theme = isDark() ? "light" : "dark"; draw(true); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(true));

  // A piece of an arm's line, as the chart draws it.
  const swatchOf = (arm) => {
    const svg = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);
    const swatch = svg("svg"), line = svg("line");
    Object.entries({x1: 0, y1: 3, x2: 28, y2: 3}).forEach(([name, value]) => line.setAttribute(name, value));
    line.setAttribute("stroke-dasharray", (dashes[arm.dash % dashes.length] || []).join(" "));
    swatch.setAttribute("class", "swatch");
    swatch.setAttribute("viewBox", "0 0 28 6");
    swatch.style.setProperty("--light", light[arm.colour % light.length]);
    swatch.style.setProperty("--dark", dark[arm.colour % dark.length]);
    swatch.append(line);
    return swatch;
  };
  const boxOf = (arm) => {
    const label = document.createElement("label"), box = document.createElement("input");
    const name = document.createElement("span"), known = (value) => value !== null;
    const empty = !arm.mean.some(known) && !arm.runs.some((run) => run.loss.some(known));
    box.type = "checkbox";
    box.disabled = empty;
    box.checked = state.shown.has(arm.name);
    box.onchange = () => {
      state.chosen.add(arm.name);
      box.checked ? state.shown.add(arm.name) : state.shown.delete(arm.name);
      draw(true);
    };
    if (empty) label.className = "empty";
    name.textContent = arm.name + arm.remark;
    if (arm.best) name.className = "best";
    label.append(box, swatchOf(arm), name);
    return label;
  };
  const choose = (wanted) => {
    data.arms.forEach((arm) => {
      state.chosen.add(arm.name);
      wanted(arm) ? state.shown.add(arm.name) : state.shown.delete(arm.name);
    });
    show(true);
  };
  element("all-arms").onclick = () => choose(() => true);
  element("best-arms").onclick = () => choose((arm) => arm.best);
  element("no-arms").onclick = () => choose(() => false);

  const show = (keepZoom = false) => {
    const rows = new Map();
    data.arms.forEach((arm) => {
      if (!rows.has(arm.colour)) rows.set(arm.colour, document.createElement("div"));
      rows.get(arm.colour).append(boxOf(arm));
    });
    element("arms").replaceChildren(...rows.values());
    draw(keepZoom);
  };
  // Takes new data. Arms whose box the reader has not touched are shown if they are at their best rate.
  const adopt = (fresh) => {
    Object.assign(data, fresh);
    if (state.axis === null && data.axes.length) state.axis = data.axis;
    if (!touched.has("logY") && !zoomed) state.logY = element("log-y").checked = data.log_y;
    element("best-arms").hidden = data.arms.every((arm) => arm.best);
    element("all-arms").hidden = element("no-arms").hidden = data.arms.length < 2;
    element("dashes").hidden = data.arms.every((arm) => arm.dash === 0);
    element("bands").hidden = element("seeds").parentElement.hidden = data.arms.every((arm) => arm.runs.length < 2);  // one run is its own mean
    axis.replaceChildren(...data.axes.map((each, i) => new Option(each.label, String(i), false, i === state.axis)));
    data.arms.filter((arm) => !state.chosen.has(arm.name)).forEach((arm) => {
      arm.best ? state.shown.add(arm.name) : state.shown.delete(arm.name);
    });
    show(true);
  };
  if (source.textContent.trim()) adopt(JSON.parse(source.textContent));

  // ---- a page that `onebit watch` serves requests what has changed
  if (!root.dataset.watch) return;
  let last = "";
  const update = async () => {
    try {
      const answer = await fetch("update"), text = await answer.text();
      if (!answer.ok) {
        element("status").textContent = `This is the last state; there is no update: ${text.trim()}`;
        last = "";
      } else if (text !== last) {
        const parts = JSON.parse(last = text);
        document.title = parts.title;
        const opened = [...document.querySelectorAll("#front details[open]")].map((part) => part.id);
        element("front").innerHTML = parts.front;
        opened.forEach((id) => { if (element(id)) element(id).open = true; });
        element("map").innerHTML = parts.map;
        element("status").textContent = parts.progress;
        if (parts.curves.arms) adopt(parts.curves);
      }
      if (answer.ok) root.dataset.updates = String(Number(root.dataset.updates || 0) + 1);
    } catch (error) {
      element("status").textContent = "The program that serves this page has ended; this is the last state.";
      last = "";
    }
    setTimeout(update, Number(root.dataset.watch));
  };
  update();
})();
