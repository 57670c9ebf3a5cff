// The strip: one day of one job, from midnight to midnight, as a line of marks.
//
// The state of an occurrence is shown by the shape of its mark and as text; colour only repeats it.
// Positions are percentages, so the strip fits any width.

import { path, svg } from "./marks.js";

const HEIGHT = 28;
const MIDDLE = HEIGHT / 2;
const MANY = 30; // above this number of marks, a row is drawn as ticks

// Texts for the states of an occurrence.
export const STATES = {
  done: "done",
  silent: "done, and there was nothing to say",
  late: "done late",
  running: "being done",
  coming: "to come",
  again: "failed, and is tried again",
  failed: "failed",
  missed: "missed",
  skipped: "left out",
};

export const clock = (at) => at.slice(11, 16);

// Returns the shown state of an occurrence.
export function state({ state: stage, late, silent }) {
  switch (stage) {
    case "done": return late ? "late" : silent ? "silent" : "done";
    case "asked": case "queued": return "running";
    case "cancelled": return "skipped";
    default: return stage in STATES ? stage : "skipped";
  }
}

// Returns all marks of a job between `from` and `to`, ordered by time.
export function marksOf(job, { from, to }) {
  const [start, end] = [Date.parse(from), Date.parse(to)];
  const inside = (at) => Date.parse(at) >= start && Date.parse(at) < end;
  const past = [...(job.open ? [job.open] : []), ...job.last.filter(({ due }) => due !== job.open?.due)];
  const all = past.map((one) => ({ at: one.due, kind: state(one), why: one.why, missed: one.missed }));
  const known = new Set(past.map(({ due }) => Date.parse(due)));
  all.push(...job.fires.filter((at) => !known.has(Date.parse(at))).map((at) => ({ at, kind: "coming", why: "" })));
  return all.filter(({ at }) => inside(at)).sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

export function words({ at, kind, why, missed }) {
  const times = missed?.[0] > 1 ? ` (${missed[0]} times, until ${clock(missed[1])})` : "";
  return `${clock(at)} ${STATES[kind]}${times}${why ? `: ${why}` : ""}`;
}

export function strip(job, day) {
  const all = marksOf(job, day);
  const drawn = svg("svg", { class: "strip", height: HEIGHT, width: "100%", role: "img", "aria-label": told(all, job) });
  const at = (time) => `${share(time, day)}%`;
  const now = share(day.now, day);
  if (now > 0) drawn.append(svg("rect", { class: "past", x: 0, y: 2, width: `${Math.min(now, 100)}%`, height: HEIGHT - 4 }));
  drawn.append(svg("line", { class: "base", x1: 0, x2: "100%", y1: MIDDLE, y2: MIDDLE }));
  for (const { at: hour } of day.hours) drawn.append(svg("line", { class: "hour", x1: at(hour), x2: at(hour), y1: 4, y2: HEIGHT - 4 }));
  if (now >= 0 && now <= 100) drawn.append(svg("line", { class: "now-line", x1: `${now}%`, x2: `${now}%`, y1: 0, y2: HEIGHT }));
  for (const mark of all) {
    const place = svg("svg", { x: at(mark.at), y: MIDDLE, overflow: "visible", class: `mark ${mark.kind}` });
    place.append(...shape(mark.kind, all.length > MANY));
    place.appendChild(svg("title")).textContent = words(mark);
    drawn.append(place);
  }
  return drawn;
}

// Draws a single mark for the legend.
export function sample(kind) {
  const drawn = svg("svg", { class: "strip", width: 24, height: 20, viewBox: "-12 -10 24 20", "aria-hidden": true });
  const group = drawn.appendChild(svg("g", { class: `mark ${kind}` }));
  group.append(...shape(kind, false));
  return drawn;
}

function told(all, job) {
  if (!all.length) return `today: nothing${job.paused ? `, ${job.paused.words}` : ""}`;
  const some = all.length > 12 ? [...all.slice(0, 12).map(words), `and ${all.length - 12} more`] : all.map(words);
  return `today: ${some.join("; ")}`;
}

function share(time, { from, to }) {
  const [start, end] = [Date.parse(from), Date.parse(to)];
  return Number((((Date.parse(time) - start) / (end - start)) * 100).toFixed(3));
}

const circle = (name, r) => svg("circle", { class: name, r });

function shape(kind, many) {
  if (many) {
    const [high, wide] = kind === "coming" ? [4, 2] : [8, 3];
    return [svg("rect", { class: "full", x: -wide / 2, y: -high, width: wide, height: 2 * high })];
  }
  switch (kind) {
    case "done": return [circle("full", 6)];
    case "late": return [path("full", "M0-8 8 0 0 8-8 0Z")];
    case "coming": return [circle("hollow", 5.5)];
    case "silent": return [svg("rect", { class: "hollow", x: -4.5, y: -4.5, width: 9, height: 9 })];
    case "missed": return [path("stroke", "M-5-5 5 5M5-5-5 5")];
    case "failed": return [path("full", "M0-8 8 6H-8Z")];
    case "again": return [path("hollow", "M0-7 7 5H-7Z")];
    case "running": return [circle("hollow", 7), circle("full", 3.5)];
    default: return [path("stroke", "M-6 0H6")];
  }
}
