// The session tree: the history of the conversation as rows, newest first, and its drawing.
//
// Main is the trunk; every other branch has a lane next to it from its start to its end. The exit
// of a fork is shown by the shape of its last edge and mark, and as text; colour only repeats it.

import { marks, path, svg } from "./marks.js";

const ROW = 52; // height of a row in pixels
const TOP = 30;
const BEND = 20; // vertical distance between a row and the point where its edge meets the trunk

// Builds the rows of the drawing from the data of the API.
export function rows({ open, lines }) {
  const tips = open.map((tip) => ({ ...tip, kind: tip.branch === "main" ? "now" : "open", to: { session: tip.session } }));
  const all = [...tips, ...lines.map((line) => ({ ...line, kind: kind(line) }))];
  join(all);
  for (const row of all) {
    if (row.undid === undefined || row.undid === null) continue;
    row.undone = all[row.undid + tips.length];
    row.undone.taken = true;
  }
  return all;
}

function kind({ branch, why }) {
  if (why === "promoted") return "saved";
  if (branch === "main") return why;
  if (why === "forked" || why === "created") return "began";
  return why === "cleared" ? "dropped" : why;
}

// Oldest first: finds the rows where the branch of each row starts and ends.
function join(all) {
  const begun = new Map();
  for (let at = all.length - 1; at >= 0; at -= 1) {
    const row = all[at];
    row.index = at;
    if (row.branch === "main") continue;
    if (row.kind === "began") begun.set(row.branch, row);
    const start = begun.get(row.branch);
    if (row.kind !== "open" && row.to) continue;
    row.begins = start?.index ?? all.length;
    if (start) start.ends = at;
    begun.delete(row.branch);
  }
}

// Draws the tree in `width` pixels. `words` returns the two lines next to a row.
export function picture(all, { lanes, older }, width, words) {
  const step = Math.min(26, (width * 0.4) / Math.max(lanes, 1));
  const at = {
    x: (lane) => 26 + lane * step,
    y: (row) => TOP + row * ROW,
    text: 26 + lanes * step + 20,
    end: all.length,
  };
  const height = TOP + (all.length - 1) * ROW + (older ? ROW : 30);
  const drawn = svg("svg", { class: "tree", width, height, viewBox: `0 0 ${width} ${height}`, role: "group" });
  drawn.append(arrows(), ...all.flatMap((row) => edges(row, at)), ...trunk(all, at, older));
  drawn.append(...all.map((row) => node(row, at, width, words(row))));
  return drawn;
}

function arrows() {
  const defs = svg("defs");
  for (const [id, d] of [["saved", "M1 1 7 4 1 7Z"], ["reported", "M1 1 7 4 1 7"], ["undone", "M1 1 7 4 1 7"]]) {
    const size = id === "saved" ? 13 : 9;
    const marker = defs.appendChild(svg("marker", {
      id: `to-${id}`, class: `arrow ${id}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: size, markerHeight: size,
      markerUnits: "userSpaceOnUse", orient: "auto",
    }));
    marker.append(svg("path", { d }));
  }
  return defs;
}

// Draws the trunk. It is thin where main's current path does not go through it: beside a saved
// fork, and on the part that an undo left.
function trunk(all, at, older) {
  const beside = new Array(all.length + 1).fill(0);
  for (const row of all) {
    const saved = row.kind === "saved" && !row.taken ? row.begins : undefined;
    const bottom = row.left_behind && row.undone ? row.undone.index : saved;
    if (bottom === undefined) continue;
    beside[row.index] += 1;
    beside[bottom] -= 1;
  }
  const pieces = [];
  let there = false;
  let saved = 0;
  all.forEach((row, index) => {
    saved += beside[index];
    if (row.branch === "main") there = Boolean(row.kind === "now" || row.from);
    if (!there) return;
    const name = saved > 0 ? "trunk beside" : "trunk";
    const last = pieces.at(-1);
    if (last?.name === name && last.end === index) last.end = index + 1;
    else pieces.push({ name, start: index, end: index + 1 });
  });
  // Beside a saved fork, the thin piece reaches from where the fork left the trunk to where it
  // joined it again.
  const meets = (piece, other, row) => {
    const bend = piece?.end === row && other?.start === row ? { saved: -BEND, began: BEND }[all[row].kind] : 0;
    return at.y(row) + (bend ?? 0);
  };
  return pieces.map((piece, number) => {
    const { name, start, end } = piece;
    const bottom = end < all.length ? meets(piece, pieces[number + 1], end) : at.y(end - 1) + (older ? ROW : 18);
    return path(name, `M${at.x(0)} ${meets(pieces[number - 1], piece, start)}V${bottom}`);
  });
}

function edges(row, { x, y, end }) {
  const [here, root, level] = [x(row.lane), x(0), y(row.index)];
  const parts = [];
  if (row.begins !== undefined) {
    const bottom = row.begins < end ? y(row.begins) : y(end - 1) + 18;
    parts.push(path(`lane ${row.kind}`, `M${here} ${bottom}V${level}`));
  }
  if (row.kind === "began" && row.why === "forked") parts.push(path("edge began", `M${root} ${level + BEND}Q${here} ${level + BEND} ${here} ${level}`));
  if (row.lane > 0 && (row.kind === "saved" || row.kind === "reported")) {
    const edge = path(`edge ${row.kind}`, `M${here} ${level}Q${here} ${level - BEND} ${root + 5} ${level - BEND}`);
    edge.setAttribute("marker-end", `url(#to-${row.kind})`);
    parts.push(edge);
  }
  if (row.undone) {
    // A longer undo bends farther out, so that overlapping undo edges can be told apart.
    const [aside, back] = [root - Math.min(30, 10 + 6 * (row.undone.index - row.index)), y(row.undone.index)];
    const edge = path("edge undone", `M${root} ${level}C${aside} ${level} ${aside} ${back} ${root - 10} ${back}`);
    edge.setAttribute("marker-end", "url(#to-undone)");
    parts.push(edge);
  }
  return parts;
}

function node(row, at, width, [title, under]) {
  const [x, y] = [at.x(row.lane), at.y(row.index)];
  const group = svg("g", { class: `node ${row.kind}`, role: "button", tabindex: -1, "aria-label": `${title}, ${under}` });
  group.dataset.row = row.index;
  group.append(svg("rect", { class: "hit", x: 1, y: y - ROW / 2 + 1, width: width - 2, height: ROW - 2, rx: 10 }));
  group.append(...marks(row.kind, x, y));
  for (const [name, text, down] of [["title", `${title} `, -3], ["under", under, 15]]) {
    const line = group.appendChild(svg("text", { class: name, x: at.text, y: y + down }));
    line.textContent = text;
  }
  return group;
}

// Truncates texts that do not fit next to the lanes; the details and the table have them in full.
// Measures all texts before changing one, because each change forces a new layout.
export function fit(drawn, width) {
  const cuts = [...drawn.querySelectorAll("text")].map((line) => [line, fitting(line, width - line.getAttribute("x") - 8)]);
  for (const [line, some] of cuts) {
    if (some < line.textContent.length) line.textContent = `${line.textContent.slice(0, some).trimEnd()}…`;
  }
}

// Returns how many characters of a line fit into `room`, including the ellipsis.
function fitting(line, room) {
  let [some, most] = [0, line.textContent.length];
  if (line.getComputedTextLength() <= room) return most;
  while (some < most) {
    const middle = Math.ceil((some + most) / 2);
    if (line.getSubStringLength(0, middle) <= room - 12) some = middle;
    else most = middle - 1;
  }
  return some;
}
