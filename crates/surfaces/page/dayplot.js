// The plot of a day: one row per kind of past and future events, and the remaining ping budget over
// the same hours. The number in a mark is the number of its line in the list.

import { make } from "./bubbles.js";
import { path, svg } from "./marks.js";
import { STATES, clock } from "./strip.js";

const STEP = 26; // minimum distance of two marks on one level, in pixels
const MANY = 40; // above this number of marks, a row has marks without numbers
const CURVE = 44;
const BAR = 21;
const LETTER = 6.2; // average width of a character in a bar, in pixels

// Draws rows of marks over one time axis. Each mark has a row, a time, a kind and a number.
export function dayplot(rows, day, width) {
  const parts = [];
  for (const { name, marks } of rows) {
    const placed = spread(marks, day, width);
    const height = STEP * Math.max(1, ...placed.map(({ level }) => level + 1)) + 8;
    const label = `${name}: ${marks.length ? marks.map(said).join("; ") : "nothing"}`;
    const drawn = ground(day, height, label);
    for (const { mark, at, level } of placed) drawn.append(numbered(mark, at, STEP * (level + 0.5) + 4, marks.length > MANY));
    parts.push([name, drawn]);
  }
  return parts;
}

// Draws calendar events as bars with their names.
export function appointments(events, day, width) {
  const timed = events.filter(({ kind }) => kind === "time");
  const label = `calendar: ${events.map(booked).join("; ")}`;
  const ends = [];
  const placed = timed.map((event) => {
    const [from, to] = [share(event.from, day), share(event.to, day)].map((at) => Math.min(100, Math.max(0, at)));
    const wide = Math.max(to - from, 0.6);
    // A name that does not fit into its bar is placed after it, or before it at the end of the day.
    const words = ((event.name.length * LETTER + 10) / Math.max(width, 100)) * 100;
    const where = words <= wide ? "in" : from + wide + words <= 100 ? "after" : from >= words ? "before" : "in";
    const begins = where === "before" ? from - words : from;
    let level = ends.findIndex((end) => end <= begins);
    if (level < 0) level = Math.min(ends.length, 3);
    ends[level] = where === "after" ? from + wide + words : from + wide;
    return { event, from, wide, where, level };
  });
  const height = BAR * Math.max(1, ends.length) + 6;
  const drawn = ground(day, height, label);
  for (const { event, from, wide, where, level } of placed) {
    const place = svg("svg", { x: `${from}%`, y: level * BAR + 4, width: `${wide}%`, height: BAR - 3, class: "booked", overflow: where === "in" ? "hidden" : "visible" });
    place.append(svg("rect", { width: "100%", height: BAR - 3, rx: 4 }));
    const told = {
      in: { x: 5 },
      after: { x: "100%", dx: 5, class: "beside" },
      before: { x: -5, "text-anchor": "end", class: "beside" },
    };
    place.appendChild(svg("text", { y: 13, ...told[where] })).textContent = event.name;
    place.appendChild(svg("title")).textContent = booked(event);
    drawn.append(place);
  }
  for (const event of events.filter(({ kind }) => kind === "day")) {
    const place = drawn.appendChild(svg("svg", { x: 0, y: 0, width: "100%", height: 4, class: "booked" }));
    place.append(svg("rect", { width: "100%", height: 3 }));
    place.appendChild(svg("title")).textContent = booked(event);
  }
  return drawn;
}

export const booked = ({ name, from, to, kind, place }) =>
  `${kind === "day" ? "all day" : `${clock(from)} to ${clock(to)}`} ${name}${place ? `, ${place}` : ""}`;

// Draws the ping budget: solid until now, dotted after now; a triangle for each ping, a square for
// each deferred ping.
export function curve(pings, budget, day) {
  const label = `pings left: ${budget.words}`;
  const drawn = ground(day, CURVE, label);
  const [from, to, now] = [day.from, day.to, day.now].map(Date.parse);
  const top = Math.max(1, budget.capacity);
  const y = (left) => CURVE - 6 - (left / top) * (CURVE - 14);
  const x = (time) => ((time - from) / (to - from)) * 1000;
  const line = (points) => points.map(([time, left], at) => `${at ? "L" : "M"}${x(time).toFixed(1)} ${y(left).toFixed(1)}`).join("");
  const inner = svg("svg", { viewBox: `0 0 1000 ${CURVE}`, preserveAspectRatio: "none", width: "100%", height: CURVE });
  const past = levels(pings, budget, from, Math.min(now, to));
  const ahead = refill(past.at(-1), budget, to);
  inner.append(path("left", line(past)), path("left ahead", line(ahead)));
  drawn.append(inner);
  for (const { at, outcome } of pings.filter(({ at }) => Date.parse(at) >= from)) {
    const held = outcome === "held" || outcome === "refused";
    const place = svg("svg", { x: `${x(Date.parse(at)) / 10}%`, y: 8, overflow: "visible", class: "mark ping" });
    place.append(held ? svg("rect", { class: "full", x: -4, y: -4, width: 8, height: 8 }) : path("full", "M-5-4H5L0 5Z"));
    place.appendChild(svg("title")).textContent = `${clock(at)} ${held ? "kept back" : "ping"}`;
    drawn.append(place);
  }
  return drawn;
}

// Computes the budget over time from the current level and the level before and after each ping.
// The known level before a ping limits the refill, because the refill rate may have been changed
// since.
export function levels(pings, { available, refill_minutes: minutes }, from, to) {
  const pace = minutes * 60_000;
  const charged = pings.filter(({ left, at }) => left && Date.parse(at) >= from && Date.parse(at) <= to).toReversed();
  const known = [...charged.map(({ at, left: [before, after] }) => [Date.parse(at), before, after]), [to, available, available]];
  const [when, first] = known[0];
  // No ping is known before the first one. If the budget could have refilled to its level since
  // `from`, it is assumed to have been full; otherwise the level is computed back with the refill
  // rate.
  const begin = when - from >= first * pace ? first : first - (when - from) / pace;
  const points = [[from, begin]];
  for (const [time, before, after] of known) {
    const [since, left] = points.at(-1);
    const full = since + Math.max(0, before - left) * pace;
    if (full < time) points.push([full, before]);
    points.push([time, before]);
    if (after !== before) points.push([time, after]);
  }
  return points;
}

function refill([since, left], { capacity, refill_minutes: minutes }, to) {
  const full = since + Math.max(0, capacity - left) * minutes * 60_000;
  if (full >= to) return [[since, left], [to, left + (to - since) / 60_000 / minutes]];
  return [[since, left], [full, capacity], [to, capacity]];
}

export const share = (time, { from, to }) =>
  Number((((Date.parse(time) - Date.parse(from)) / (Date.parse(to) - Date.parse(from))) * 100).toFixed(3));

// Draws the background of all rows: hours, quiet hours and the current time.
function ground(day, height, label) {
  const drawn = svg("svg", { class: "strip plot", width: "100%", height, role: "img", "aria-label": label });
  const clamp = (at) => Math.min(100, Math.max(0, at));
  for (const { from, to } of day.quiet ?? []) {
    const [start, end] = [clamp(share(from, day)), clamp(share(to, day))];
    if (end > start) drawn.append(svg("rect", { class: "quiet", x: `${start}%`, y: 0, width: `${end - start}%`, height }));
  }
  for (const { at } of day.hours) {
    const x = `${share(at, day)}%`;
    drawn.append(svg("line", { class: "hour", x1: x, x2: x, y1: 0, y2: height }));
  }
  const now = share(day.now, day);
  if (now >= 0 && now <= 100) drawn.append(svg("line", { class: "now-line", x1: `${now}%`, x2: `${now}%`, y1: 0, y2: height }));
  return drawn;
}

// Puts each mark on the first level where it does not overlap another one.
function spread(marks, day, width) {
  const ends = [];
  const wide = (STEP / Math.max(width, 100)) * 100;
  return marks.map((mark) => {
    const at = share(mark.at, day);
    let level = marks.length > MANY ? 0 : ends.findIndex((end) => end <= at - wide);
    if (level < 0) level = ends.length < 4 ? ends.length : 3;
    ends[level] = at;
    return { mark, at, level };
  });
}

function numbered(mark, at, y, bare) {
  const place = svg("svg", { x: `${at}%`, y, overflow: "visible", class: `mark ${mark.kind}` });
  place.append(...(bare ? [svg("rect", { class: "full", x: -1, y: -8, width: 2, height: 16 })] : big(mark.kind)));
  if (!bare) place.appendChild(svg("text", { class: "number", y: 3.5 })).textContent = mark.number;
  place.appendChild(svg("title")).textContent = said(mark);
  return place;
}

export const said = ({ number, at, kind, name }) => `${number} ${clock(at)} ${name}, ${STATES[kind]}`;

// Returns the shapes of the strip, large enough for a number.
function big(kind) {
  const circle = (name, r) => svg("circle", { class: name, r });
  switch (kind) {
    case "done": return [circle("full", 10)];
    case "late": return [path("full", "M0-12 12 0 0 12-12 0Z")];
    case "silent": return [svg("rect", { class: "hollow", x: -8.5, y: -8.5, width: 17, height: 17 })];
    case "missed": return [circle("hollow dashed", 9.5), path("stroke", "M6-11 11-6M11-11 6-6")];
    case "failed": return [path("full", "M0-13 12 9H-12Z")];
    case "again": return [path("hollow", "M0-13 12 9H-12Z")];
    case "running": return [circle("hollow", 11), circle("hollow thin", 8)];
    case "skipped": return [svg("rect", { class: "hollow dashed", x: -8.5, y: -8.5, width: 17, height: 17 })];
    default: return [circle("hollow", 9.5)];
  }
}

export function axis(day, node, tick) {
  const end = day.hours.length ? [{ at: day.to, hour: 24 }] : [];
  node.replaceChildren(...[...day.hours, ...end].map((hour) => tick(hour, day)));
}

export function dayTick({ at, hour }, { from, to }) {
  const node = make("span", "", String(hour).padStart(2, "0"));
  node.style.left = `${((Date.parse(at) - Date.parse(from)) / (Date.parse(to) - Date.parse(from))) * 100}%`;
  return node;
}
