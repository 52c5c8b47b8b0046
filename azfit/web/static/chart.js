// Charts as SVG: curves of panels, the value along a game, counts by plies.

import { element, svg } from "./dom.js";

const WIDTH = 460, HEIGHT = 240, LEFT = 60, RIGHT = 14, TOP = 10, BOTTOM = 42;

// A function from [low, high] to pixels; logarithmic scales end in a zero of their own.
function scale(low, high, from, to, smallest = null) {
  if (smallest === null) {
    const span = high - low || 1;
    return (value) => from + ((value - low) / span) * (to - from);
  }
  const decades = Math.log10(Math.max(high, 10 * smallest) / smallest), zero = 0.12;
  return (value) => {
    const share = value < smallest ? (value / smallest) * zero
      : zero + (Math.log10(value / smallest) / decades) * (1 - zero);
    return from + share * (to - from);
  };
}

function ticks(low, high, count = 4) {
  const span = high - low || 1, rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const marks = [];
  for (let mark = Math.ceil(low / step) * step; mark <= high + step * 1e-9; mark += step) marks.push(mark);
  return marks;
}

function decades(smallest, high) {
  const marks = [0];
  for (let mark = smallest; mark <= high * 1.001; mark *= 10) marks.push(mark);
  return marks;
}

const figure = (value) => Number(value.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 6 });

function axes(x, y, xTicks, yTicks, xLabel, format = figure) {
  return svg("g", { class: "axes" },
    yTicks.map((value) => svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) })),
    yTicks.map((value) => svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, format(value))),
    xTicks.map((value) => svg("text", { x: x(value), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, figure(value))),
    svg("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 3, "text-anchor": "middle" }, xLabel));
}

// A panel as /api/runs/…/curves has it.
export function panelChart(panel) {
  const curves = panel.curves.map(finite).filter((curve) => curve.x.length);
  if (!curves.length) return null;
  const xs = curves.flatMap((curve) => curve.x), ys = curves.flatMap((curve) => curve.y);
  let low = panel.low ?? Math.min(0, ...ys), high = panel.high ?? Math.max(panel.least_high, ...ys);
  if (high <= low) high = low + 1;
  let smallest = null;
  if (panel.logarithmic) {
    const above = ys.filter((value) => value > 0);
    smallest = above.length ? 10 ** Math.floor(Math.log10(Math.min(...above))) : 1e-5;
    [low, high] = [0, Math.max(high, 10 * smallest)];
  }
  const left = Math.min(...xs), right = Math.max(...xs, left + 1);
  const x = scale(left, right, LEFT, WIDTH - RIGHT);
  const y = scale(low, high, HEIGHT - BOTTOM, TOP, smallest);
  const format = panel.share ? (value) => `${figure(100 * value)} %` : figure;
  const marks = smallest === null ? ticks(low, high) : decades(smallest, high);
  const whole = ticks(left, right, 5).filter((value) => panel.x_label !== "iteration" || Number.isInteger(value));
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart", role: "img",
    "aria-label": `${panel.title}: ${curves.map((curve) => `${curve.label} ${format(curve.y.at(-1))}`).join(", ")}` },
  axes(x, y, whole, marks, panel.x_label, format),
  curves.map((curve, number) => curveOf(curve, x, y, `curve-${number} side-${curve.side ?? "none"} ${curve.style}`)));
  return element("figure", { class: "panel" }, element("figcaption", {}, panel.title), drawing, legend(curves, format));
}

// Without the points that are no numbers, which a run that diverged has.
function finite(curve) {
  const isFinite = curve.y.map((value) => value !== null);
  const kept = (values) => values.filter((_, i) => isFinite[i]);
  return { ...curve, x: kept(curve.x), y: kept(curve.y) };
}

function curveOf(curve, x, y, kind) {
  const points = curve.x.map((value, i) => [x(value), y(curve.y[i])]);
  if (isMarks(curve)) return svg("g", { class: kind }, points.map(([px, py]) => mark(curve.style, px, py)));
  const marks = points.length <= 60 ? points.map(([cx, cy]) => svg("circle", { cx, cy, r: 2 })) : [];
  const path = [svg("path", { d: points.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("") })];
  return svg("g", { class: kind }, path, marks);
}

const isMarks = ({ style }) => style === "up" || style === "cross";

const mark = (style, x, y) => svg("path", { class: "mark",
  d: style === "up" ? `M${x} ${y - 4}l4.5 8h-9z` : `M${x - 4} ${y - 4}l8 8m0-8l-8 8` });

function legend(curves, format) {
  return element("ul", { class: "curve-legend" }, curves.map((curve, number) =>
    element("li", { class: `curve-${number} side-${curve.side ?? "none"} ${curve.style}` },
      svg("svg", { viewBox: "0 0 26 8", "aria-hidden": true },
        isMarks(curve) ? mark(curve.style, 13, 4) : svg("path", { d: "M1 4H25" })),
      `${curve.label} ${format(curve.y.at(-1))}`)));
}

// The exact value along a game, seen by the first side; near the edge is near the end.
// space: its width in pixels; a long game takes more.
export function gameChart(points, firstSide, mistakes, shown, jump, space) {
  const height = 150, top = 24, middle = height / 2, room = middle - top, axis = 20;
  const width = Math.max(space, 18 * points.length);
  const x = (ply) => 48 + (ply / Math.max(1, points.length - 1)) * (width - 60);
  const y = (point) => {
    const lost = point.result === "over" && point.plies === 0 && point.winner !== null;
    const result = point.result === "over" ? (lost ? "loss" : "draw") : point.result;
    if (result === "draw") return middle;
    const good = (result === "win") === (point.to_move === firstSide);
    const near = point.plies === null ? 0.5 : 1 / (1 + point.plies / 12);
    return middle + (good ? -1 : 1) * room * (0.45 + 0.55 * near);
  };
  const path = points.map((point, ply) => `${ply ? "L" : "M"}${x(ply).toFixed(1)} ${y(point).toFixed(1)}`).join("");
  const wrong = new Set(mistakes.map((move) => move.ply));
  const marks = points.map((point, ply) => {
    const isWrong = wrong.has(ply);
    const kind = `point${isWrong ? " mistake" : ""}${ply === shown ? " shown" : ""}`;
    const shape = isWrong
      ? svg("path", { d: `M${x(ply)} ${y(point) - 7}l6.5 11h-13z` })
      : svg("circle", { cx: x(ply), cy: y(point), r: ply === shown ? 5 : 3.2 });
    return svg("g", { class: kind, onclick: () => jump(ply) },
      svg("title", {}, `after ply ${ply}${isWrong ? ", a mistake" : ""}`), shape);
  });
  const first = firstSide.toUpperCase();
  const plies = ticks(0, points.length - 1, Math.min(10, points.length - 1)).filter(Number.isInteger);
  const bottom = height + axis;
  return svg("svg", { viewBox: `0 0 ${width} ${bottom}`, width, height: bottom, class: "game-chart", role: "img",
    "aria-label": `Exact value along the game, ${mistakes.length} mistakes` },
  svg("line", { x1: 0, x2: width, y1: middle, y2: middle, class: "zero" }),
  svg("text", { x: 2, y: 12 }, `${first} wins`), svg("text", { x: 2, y: middle - 4 }, "draw"),
  svg("text", { x: 2, y: height - 4 }, `${first} loses`),
  svg("line", { x1: 0, x2: width, y1: height, y2: height, class: "zero" }),
  plies.map((ply) => svg("text", { x: x(ply), y: height + 14, "text-anchor": "middle", class: "ply" }, String(ply))),
  svg("text", { x: 2, y: height + 14 }, "ply"),
  svg("path", { d: path, class: "course" }), marks);
}

const compact = (value) => value.toLocaleString("en", { notation: "compact" });

// Positions by plies to the end, on a logarithmic scale.
export function depthChart(depths) {
  const decided = depths.filter((depth) => depth.plies > 0 && depth.result !== "draw");
  if (!decided.length) return null;
  const deepest = Math.max(...decided.map((depth) => depth.plies));
  const most = Math.max(...decided.map((depth) => depth.nodes));
  const x = (ply) => LEFT + ((ply - 1) / deepest) * (WIDTH - RIGHT - LEFT);
  const y = scale(0, most, HEIGHT - BOTTOM, TOP, 1);
  const width = Math.max(1, (WIDTH - RIGHT - LEFT) / deepest - 1);
  const bars = decided.map(({ plies, result, nodes }) => svg("rect", {
    x: x(plies), y: y(nodes), width, height: Math.max(0, HEIGHT - BOTTOM - y(nodes)), class: result },
  svg("title", {}, `${result} in ${plies}: ${nodes.toLocaleString("en")} positions`)));
  const marks = decades(1, most).filter((mark) => mark >= 1);
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart depths", role: "img",
    "aria-label": `Positions by plies to the end, up to ${deepest}` },
  axes((ply) => x(ply) + width / 2, y, ticks(1, deepest, 8).filter(Number.isInteger), marks, "plies to the end", compact), bars);
}
