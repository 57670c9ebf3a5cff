// Plots: lines, bars and columns. Each fits its available width, and the same data is shown in a
// table.

import { make } from "./bubbles.js";
import { path, svg } from "./marks.js";

const HIGH = 90;
const DAY = 86_400_000;
const FAR = 3; // a limit this many times higher than the values is named instead of drawn to scale

// Draws a line through `points` of [time, value], with a mark at each time in `marks`.
export function line(points, marks, { from, to, top, label }) {
  const [start, end] = [Date.parse(from), Date.parse(to)];
  const drawn = svg("svg", { class: "plot", width: "100%", height: HIGH, role: "img", "aria-label": label });
  const y = (value) => HIGH - 4 - (value / Math.max(1, top)) * (HIGH - 18);
  const x = (time) => ((time - start) / Math.max(1, end - start)) * 1000;
  for (const value of [0, top]) drawn.append(svg("line", { class: "hour", x1: 0, x2: "100%", y1: y(value), y2: y(value) }));
  const inner = svg("svg", { viewBox: `0 0 1000 ${HIGH}`, preserveAspectRatio: "none", width: "100%", height: HIGH });
  inner.append(path("left", points.map(([time, value], at) => `${at ? "L" : "M"}${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join("")));
  drawn.append(inner);
  for (const { at, held } of marks) {
    const place = svg("svg", { x: `${x(at) / 10}%`, y: 7, overflow: "visible", class: "mark ping" });
    place.append(held ? svg("rect", { class: "full", x: -3.5, y: -3.5, width: 7, height: 7 }) : path("full", "M-4.5-4H4.5L0 4.5Z"));
    drawn.append(place);
  }
  return drawn;
}

// Builds the labels of the days below a line.
export function ticks(from, to) {
  const node = make("div", "axis");
  node.ariaHidden = "true";
  const long = Date.parse(to) - Date.parse(from);
  // `from` is in the user's time zone, so its date is the user's date.
  const noon = Date.parse(`${from.slice(0, 10)}T12:00Z`);
  for (let at = 0; at * DAY < long; at += 1) {
    const name = new Date(noon + at * DAY).toLocaleDateString("en-GB", { weekday: "short", timeZone: "UTC" });
    const span = node.appendChild(make("span", "", name.toLowerCase()));
    span.style.left = `${((at * DAY) / long) * 100}%`;
  }
  return node;
}

// Draws one horizontal bar for each [name, count, class].
export function bars(rows) {
  const most = Math.max(1, ...rows.map(([, count]) => count));
  const list = make("ul", "bars");
  list.append(...rows.map(([name, count, kind]) => {
    const li = make("li");
    const bar = svg("svg", { width: "100%", height: 14, "aria-hidden": true, class: `gauge ${kind ?? ""}` });
    bar.append(svg("rect", { width: `${(count / most) * 100}%`, height: 14, rx: 3 }));
    li.append(make("span", "", name), bar, make("b", "", String(count)));
    return li;
  }));
  return list;
}

// Draws columns of [name, parts] with each part [index of its source, value], and a dashed line at
// `limit`.
export function columns(days, { limit, label }) {
  const drawn = svg("svg", { class: "plot columns", width: "100%", height: HIGH * 1.6, role: "img", "aria-label": label });
  const high = HIGH * 1.6 - 4;
  const sum = (parts) => parts.reduce((all, [, value]) => all + value, 0);
  const most = Math.max(0.001, ...days.map(([, parts]) => sum(parts)));
  const far = limit > FAR * most;
  const top = far ? most * 1.15 : Math.max(most, limit ?? 0);
  const wide = 100 / Math.max(1, days.length);
  for (const [at, [name, parts]] of days.entries()) {
    let under = high;
    for (const [source, value] of parts) {
      const size = (value / top) * (high - 12);
      under -= size;
      const rect = svg("rect", { class: `source-${source % 8}`, x: `${at * wide + wide * 0.14}%`, y: under.toFixed(2), width: `${wide * 0.72}%`, height: Math.max(0.5, size).toFixed(2) });
      rect.appendChild(svg("title")).textContent = `${name}: $${value.toFixed(4)}`;
      drawn.append(rect);
    }
  }
  drawn.append(svg("line", { class: "base", x1: 0, x2: "100%", y1: high, y2: high }));
  if (limit) {
    const y = far ? 12 : high - (limit / top) * (high - 12);
    drawn.append(svg("line", { class: "limit", x1: 0, x2: "100%", y1: y, y2: y }));
    drawn.appendChild(svg("text", { class: "limit-name", x: 2, y: y - 3 })).textContent = `limit $${limit.toFixed(2)}${far ? ", far above" : ""}`;
  }
  return drawn;
}

// Draws shares from 0 to 100 as narrow columns; a missing value leaves a gap.
export function shares(values, label) {
  const high = 34;
  const drawn = svg("svg", { class: "plot shares", width: "100%", height: high, role: "img", "aria-label": label });
  const wide = 100 / Math.max(1, values.length);
  for (const [at, value] of values.entries()) {
    if (value === null) continue;
    const size = (value / 100) * (high - 2);
    drawn.append(svg("rect", { class: "share", x: `${at * wide + wide * 0.14}%`, y: high - size, width: `${wide * 0.72}%`, height: size }));
  }
  drawn.append(svg("line", { class: "base", x1: 0, x2: "100%", y1: high - 0.5, y2: high - 0.5 }));
  return drawn;
}
