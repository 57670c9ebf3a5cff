// The sessions: the session tree as a picture and as a table, with details of the selected node.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { marks, path, svg } from "./marks.js";
import { View } from "./kit.js";
import { fit, picture, rows } from "./tree.js";

const MOST = 5000;
const OFTEN = ["began", "notice", "held"]; // these events change no session
const KINDS = {
  now: ["main", "where we are"],
  open: ["open", "a side conversation that goes on"],
  began: ["began", "a side conversation begins"],
  saved: ["saved", "it became the main conversation"],
  reported: ["reported", "it left a report for main"],
  dropped: ["dropped", "nothing of it was kept"],
  lapsed: ["lapsed", "it fell quiet and ended by itself"],
  ended: ["ended", "it came to its end"],
  compacted: ["compacted", "a summary stands for all before"],
  undone: ["taken back", "a change of main was undone"],
  cleared: ["started over", "the conversation was cleared"],
  created: ["main began", "the first words"],
};

export class Sessions extends View {
  constructor(section) {
    super(section);
    const part = (name) => section.querySelector(`.${name}`);
    this.parts = { empty: part("empty"), whole: part("whole"), picture: part("picture"), legend: part("legend"), facts: part("facts"), table: section.querySelector("tbody"), older: part("left-out"), more: part("more") };
    Object.assign(this, { all: [], chosen: null, limit: 200, drawn: "" });
    part("key").open = matchMedia("(min-width: 60rem)").matches;
    this.parts.legend.append(...Object.keys(KINDS).map(sample));
    this.parts.picture.addEventListener("click", ({ target }) => this.choose(target.closest(".node")));
    this.parts.picture.addEventListener("keydown", (event) => this.pressed(event));
    this.parts.facts.addEventListener("keydown", ({ key }) => key === "Escape" && this.close());
    this.parts.more.addEventListener("click", () => {
      this.limit = Math.min(this.limit * 4, MOST);
      this.read();
    });
    new ResizeObserver(() => this.draw()).observe(this.parts.picture);
  }

  heard(name) {
    if (!OFTEN.includes(name)) super.heard(name);
  }

  ask() {
    return assistant.sessions(this.limit);
  }

  // A tree that was drawn stays visible when loading fails.
  fail(message) {
    if (message && !this.all.length) this.say(message);
  }

  show(data) {
    const told = JSON.stringify(data);
    if (told === this.told) return;
    this.told = told;
    this.all = rows(data);
    if (!this.all.length) return this.say("nothing was said yet. what we say in the chat grows a tree here.");
    this.parts.empty.hidden = true;
    this.parts.whole.hidden = false;
    this.parts.older.textContent = data.left_out ?? "";
    this.parts.more.hidden = !data.older || this.limit >= MOST;
    this.parts.table.replaceChildren(...this.all.map(entry));
    this.drawn = "";
    this.draw();
  }

  say(text) {
    this.parts.whole.hidden = true;
    this.parts.empty.hidden = false;
    this.parts.empty.textContent = text;
  }

  // Draws the tree and restores the focus.
  draw() {
    const width = Math.floor(this.parts.picture.clientWidth);
    if (!width || !this.all.length || this.drawn === String(width)) return;
    this.drawn = String(width);
    const held = this.key(document.activeElement?.closest?.(".node"));
    const drawn = picture(this.all, this.data, width, words);
    drawn.setAttribute("aria-label", "the session tree, newest first. arrow keys move, enter tells more. the same is in the table.");
    this.parts.picture.replaceChildren(drawn);
    fit(drawn, width);
    const nodes = [...drawn.querySelectorAll(".node")];
    const find = (key) => key && nodes.find((node) => this.key(node) === key);
    this.stand(find(held) ?? find(this.chosen) ?? nodes[0]);
    if (held) this.standing.focus();
    const chosen = find(this.chosen);
    if (chosen) this.tell(chosen);
    else if (this.chosen) this.close();
  }

  key(node) {
    const row = node && this.all[node.dataset.row];
    return row && [row.branch, row.kind, row.at ?? ""].join(" ");
  }

  // One node at a time is in the tab order; the arrow keys move between nodes.
  stand(node) {
    this.standing?.setAttribute("tabindex", -1);
    node.setAttribute("tabindex", 0);
    this.standing = node;
  }

  pressed(event) {
    const node = event.target.closest(".node");
    const last = this.all.length - 1;
    const at = Number(node?.dataset.row);
    const to = { ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last }[event.key];
    if (!node || (to === undefined && event.key !== "Enter" && event.key !== " " && event.key !== "Escape")) return;
    event.preventDefault();
    if (event.key === "Escape") return this.close();
    if (to === undefined) return this.choose(node);
    this.stand(this.parts.picture.querySelector(`[data-row="${to}"]`));
    this.standing.focus();
    this.standing.scrollIntoView({ block: "nearest" });
  }

  choose(node) {
    if (!node) return;
    this.chosen = this.key(node);
    this.stand(node);
    this.tell(node);
    const { facts } = this.parts;
    if (getComputedStyle(facts).position !== "fixed") return;
    // On a small screen the details cover the tree, so the selected node is scrolled into view.
    const hidden = node.getBoundingClientRect().bottom - facts.getBoundingClientRect().top;
    if (hidden > 0) this.section.scrollBy(0, hidden + 8);
  }

  tell(node) {
    for (const other of this.parts.picture.querySelectorAll(".chosen")) other.classList.remove("chosen");
    node.classList.add("chosen");
    const row = this.all[node.dataset.row];
    const list = make("dl");
    for (const [name, value] of facts(row, this.all)) list.append(make("dt", "", name), make("dd", "", value));
    const away = make("button", "", "close");
    away.type = "button";
    away.addEventListener("click", () => this.close());
    this.parts.facts.replaceChildren(make("h2", "", words(row)[0]), list, away);
    this.parts.facts.hidden = false;
  }

  close() {
    if (this.parts.facts.contains(document.activeElement)) this.standing.focus();
    this.parts.picture.querySelector(".chosen")?.classList.remove("chosen");
    this.chosen = null;
    this.parts.facts.hidden = true;
  }
}

const NOUNS = { compacted: "the compaction", saved: "the saving", cleared: "the clearing" };
const about = (row) => (row.branch === "main" ? (NOUNS[row.undone?.kind] ?? "") : row.label || row.branch);
const count = (number) => (number === 1 ? "1 entry" : `${number} entries`);

// Returns the two lines next to a row: the event and its subject, then the time and size.
function words(row) {
  const title = [KINDS[row.kind]?.[0] ?? row.kind, about(row)].filter(Boolean).join(" · ");
  const under = [row.at ? when(row.at) : "now", said(row), left(row)];
  return [title, under.filter(Boolean).join(" · ")];
}

function said({ kind, entries }) {
  if (kind === "created" || kind === "undone") return "";
  return kind === "compacted" ? `${count(entries)} summed up` : count(entries);
}

function left({ kind, left_behind: some }) {
  return some ? `${count(some)}${kind === "saved" ? " of main" : ""} left behind` : "";
}

// Creating a formatter is expensive, so each exists once.
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const OLD_DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });

function when(at) {
  const [time, now] = [new Date(at), new Date()];
  const days = Math.round((new Date(now).setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000);
  const day = (time.getFullYear() === now.getFullYear() ? DAY : OLD_DAY).format(time).toLowerCase();
  return `${["today", "yesterday"][days] ?? day} ${CLOCK.format(time)}`;
}

function facts(row, all) {
  const end = row.kind === "began" && all[row.ends];
  const moved = row.main ?? (row.why && row.from && row.to ? row : null);
  const session = (row.to ?? row.from)?.session;
  return [
    ["what", KINDS[row.kind]?.[1] ?? row.kind],
    ["took back", row.undone && `${words(row.undone)[0]}, ${when(row.undone.at)}`],
    ["about", row.branch === "main" ? "" : row.label || "nobody said"],
    ["branch", row.branch],
    ["session", session],
    ["session before", moved && moved.from?.session !== session ? moved.from?.session : ""],
    ["when", row.at ? new Date(row.at).toLocaleString() : "now"],
    ["entries", [said(row), left(row)].filter(Boolean).join(", ")],
    ["how it ended", end ? (end.kind === "open" ? "it goes on" : `${KINDS[end.kind][0]}, ${when(end.at)}`) : ""],
  ].filter(([, value]) => value);
}

function entry(row) {
  const tr = make("tr");
  const cells = [row.at ? when(row.at) : "now", KINDS[row.kind]?.[0] ?? row.kind, row.branch, row.label ?? (row.undone ? about(row) : ""), [said(row), left(row)].filter(Boolean).join(", "), (row.to ?? row.from)?.session ?? ""];
  tr.append(...cells.map((cell) => make("td", "", cell)));
  tr.dataset.kind = row.kind;
  return tr;
}

// Builds one item of the legend: the edge and mark of a kind, and their meaning.
function sample(kind) {
  const drawn = svg("svg", { class: "tree", width: 34, height: 22, viewBox: "0 0 34 22", "aria-hidden": true });
  if (kind === "saved" || kind === "reported") {
    const edge = drawn.appendChild(path(`edge ${kind}`, "M24 11H5"));
    edge.setAttribute("marker-end", `url(#to-${kind})`);
  }
  const group = drawn.appendChild(svg("g", { class: `mark ${kind}` }));
  group.append(...marks(kind, 24, 11));
  const item = make("li");
  item.append(drawn, make("b", "", KINDS[kind][0]), make("span", "", KINDS[kind][1]));
  return item;
}
