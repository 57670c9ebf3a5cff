// The schedule: all jobs, today as a strip and as a table, with their actions.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { draggable } from "./drag.js";
import { Editor } from "./editor.js";
import { View, button, day, menu, price, say } from "./kit.js";
import { Week } from "./week.js";
import { STATES, clock, marksOf, sample, state, strip, words } from "./strip.js";

const TIMES = ["in 1 hour", "tonight 20:00", "tomorrow 09:00", "saturday 10:00", "next monday 09:00"];
const HINT = "fri 10";
const DAYS = 30; // days that are included in costs
const AFTER_SAVING = [300, 900, 2000]; // delays until the daemon has noticed a changed file
const NONE = "nothing is planned. type it below (“remind me to call mum at 18:00”), say it in the chat, or write a file such as routines/mail.md.";

export class Schedule extends View {
  constructor(section, voice) {
    super(section);
    const part = (name) => section.querySelector(`.${name}`);
    const names = ["empty", "whole", "wrong", "broken", "none", "axis", "jobs", "over", "missed"];
    this.parts = Object.fromEntries(names.map((name) => [name, part(name)]));
    Object.assign(this.parts, { rests: part("all-rest"), more: part("left-out"), table: section.querySelector("tbody") });
    Object.assign(this, { voice, rows: new Map(), broken: new Map(), spent: new Map(), counted: 0 });
    part("legend").append(...Object.keys(STATES).map(legend));
    this.week = new Week();
    this.parts.over.before(this.week.node);
  }

  // After a file was changed, loads again a few times, because the daemon notices the change with a
  // delay.
  changed() {
    for (const time of AFTER_SAVING) setTimeout(() => this.open && this.read(), time);
  }

  enter() {
    this.ended = null;
    return super.enter();
  }

  ask() {
    return assistant.schedule();
  }

  // Loads costs separately, so that the schedule does not wait for them and works without them.
  async count() {
    const ask = (this.counted += 1);
    const rows = await assistant.cost(DAYS).then(({ by_source: rows }) => rows, () => []);
    if (ask !== this.counted) return;
    this.spent = new Map(rows.map((row) => [row.name, row]));
    for (const row of this.rows.values()) row.pay();
  }

  show(data) {
    const { parts } = this;
    parts.empty.hidden = true;
    parts.whole.hidden = false;
    say(parts.none, data.jobs.length || data.gone.length ? "" : NONE);
    say(parts.rests, data.paused ? `all routines are ${data.paused.words}.` : "");
    say(parts.more, data.left_out ? `${data.left_out} more are planned and not shown here.` : "");
    const end = data.hours.length ? [{ at: data.to, hour: 24 }] : [];
    parts.axis.replaceChildren(...[...data.hours, ...end].map((hour) => tick(hour, data)));
    parts.axis.hidden = !data.jobs.length;
    this.place(parts.broken, this.broken, data.broken, ({ file }) => file, (one) => new Broken(one, this));
    this.place(parts.jobs, this.rows, data.jobs, ({ job }) => job, (one) => new Row(one, this));
    list(parts.over, data.gone.map((one) => [words({ ...one, at: one.due, kind: state(one) }), one.name, state(one)]));
    list(parts.missed, data.missed.map((one) => [missedWords(one), one.name, "missed"]));
    parts.table.replaceChildren(...table(data));
    this.week.follow(data);
    // Costs are loaded when the view is entered, and after an occurrence has ended.
    const ended = JSON.stringify(data.jobs.map(({ last }) => last[0]));
    if (ended !== this.ended) this.count();
    this.ended = ended;
  }

  // Keeps the row of each item, so that the focus and open editors are preserved.
  place(list, rows, things, key, make) {
    const held = document.activeElement;
    const known = new Map(things.map((thing) => [key(thing), thing]));
    for (const [name, row] of rows) {
      if (known.has(name)) continue;
      if (row.editor) row.gone();
      else {
        row.node.remove();
        rows.delete(name);
      }
    }
    let at = 0;
    for (const [name, thing] of known) {
      const row = rows.get(name) ?? make(thing);
      rows.set(name, row);
      row.update(thing, this.data);
      if (list.children[at] !== row.node) list.insertBefore(row.node, list.children[at] ?? null);
      at += 1;
    }
    if (held !== document.activeElement && list.contains(held)) held.focus();
  }

  fail(message) {
    say(this.data ? this.parts.wrong : this.parts.empty, message || (this.data ? "" : "reading…"));
  }

  tell(message) {
    this.voice.textContent = message;
  }
}

// An item with a file that can be edited.
class Filed {
  constructor(file, view) {
    Object.assign(this, { file, view, editor: null, node: make("li") });
    this.edit = button("edit", "", () => this.toggle());
    this.edit.setAttribute("aria-expanded", "false");
  }

  toggle() {
    if (this.editor) return this.editor.text.focus();
    this.edit.setAttribute("aria-expanded", "true");
    this.editor = new Editor(this.file, (how) => {
      this.editor = null;
      this.edit.setAttribute("aria-expanded", "false");
      this.edit.focus();
      if (how === "saved") {
        this.view.tell(`${this.file} is saved.`);
        this.view.changed();
      } else this.view.read();
    });
    this.node.append(this.editor.node);
  }
}

class Broken extends Filed {
  constructor({ file }, view) {
    super(file, view);
    this.head = make("b");
    this.why = make("span", "why");
    this.node.append(this.head, this.why, this.edit);
    this.edit.setAttribute("aria-label", `edit ${file}`);
  }

  update({ why, asks }) {
    this.asks = asks;
    this.head.textContent = asks ? `${this.file} ` : `${this.file} can't be used. `;
    this.why.textContent = asks ? `${why} so does saving it here.` : why;
  }

  gone() {
    this.why.textContent = this.asks ? "is accepted as it is." : "it can be used again.";
  }
}

class Row extends Filed {
  constructor(job, view) {
    super(job.file, view);
    this.node.className = "job";
    this.node.dataset.job = job.job;
    this.parts = Object.fromEntries(["called", "when", "next", "day", "spent", "outcome", "wrong"].map((name) => [name, make("div", name)]));
    this.parts.wrong.setAttribute("role", "alert");
    this.parts.wrong.hidden = true;
    this.parts.outcome.setAttribute("role", "status");
    this.parts.outcome.hidden = true;
    this.run = button("run now", "", () => this.ask(this.run, assistant.run));
    this.rest = button("pause", "", () => this.ask(this.rest, this.paused ? assistant.resume : assistant.pause));
    this.rest.hidden = job.kind !== "routine";
    const buttons = make("div", "buttons");
    buttons.append(this.run, this.rest, this.edit);
    if (job.kind === "reminder") buttons.append((this.moves = menu("move", TIMES, (to) => this.move(to), HINT)));
    const { called, when, next, day, spent, outcome, wrong } = this.parts;
    this.node.append(called, when, next, day, buttons, spent, outcome, wrong);
  }

  update(job, data) {
    const { called, when, next } = this.parts;
    this.job = job.job;
    this.file = job.file;
    this.paused = job.paused;
    this.node.classList.toggle("resting", Boolean(job.paused));
    const origin = job.origin ? [make("span", "tags", `Added or changed after reading ${job.origin}`)] : [];
    called.replaceChildren(make("b", "", job.name), make("span", "tags", tags(job)), ...origin);
    when.textContent = job.when;
    next.textContent = upcoming(job);
    this.pay();
    if (!this.dragging) this.draw(job, data);
    this.rest.textContent = job.paused ? "resume" : "pause";
    this.run.disabled = Boolean(job.open && state(job.open) === "running");
    for (const [node, verb] of [[this.run, "run now"], [this.rest, this.rest.textContent], [this.edit, "edit"]]) {
      node.setAttribute("aria-label", `${verb}: ${job.name}`);
    }
    this.moves?.firstChild.setAttribute("aria-label", `move ${job.name}`);
    this.id = job.id;
  }

  pay() {
    const cost = this.view.spent.get(this.job);
    this.parts.spent.replaceChildren(...(cost ? [price(cost), make("span", "", ` in ${DAYS} days`)] : []));
  }

  // A reminder that is due today can be dragged to another time of today.
  draw(job, data) {
    const drawn = strip(job, data);
    const mark = job.kind === "reminder" && drawn.querySelector(".mark.coming");
    this.parts.day.replaceChildren(drawn);
    if (!mark) return;
    draggable(drawn, mark, data, {
      begins: () => { this.dragging = true; },
      ends: () => { this.dragging = false; },
      move: (clock) => this.move(`today ${clock}`),
    });
  }

  // Moves the item and shows the confirmed time. The move can be undone until another change
  // follows.
  async move(to) {
    const { outcome, wrong } = this.parts;
    try {
      const { text, undo } = await assistant.capture(`move ${this.id} to ${to}`);
      say(wrong, "");
      say(outcome, text);
      if (undo) outcome.append(button("Undo", "", () => this.back(undo)));
      this.view.tell(text);
    } catch (error) {
      say(wrong, error.message);
      this.update(this.view.data.jobs.find(({ job }) => job === this.job), this.view.data);
    }
    this.view.changed();
  }

  async back(undo) {
    const { outcome, wrong } = this.parts;
    try {
      const { text } = await assistant.undo(undo);
      say(wrong, "");
      say(outcome, text);
      this.view.tell(text);
    } catch (error) {
      say(outcome, "");
      say(wrong, error.message);
    }
    this.view.changed();
  }

  gone() {
    say(this.parts.wrong, "this is not planned any more. what you wrote is still here.");
  }

  async ask(pressed, what) {
    pressed.setAttribute("aria-busy", "true");
    try {
      const { text } = await what(this.job);
      say(this.parts.wrong, "");
      this.view.tell(text ?? "it begins.");
      if (text) this.view.changed();
      await this.view.read();
    } catch (error) {
      say(this.parts.wrong, error.message);
    }
    pressed.removeAttribute("aria-busy");
  }
}

function tags({ kind, background, may_ping: pings, session }) {
  const aside = background ? ["in the background", pings ? "" : "never pings"] : ["in the chat"];
  return [kind, ...aside, session === "persistent" ? "remembers its runs" : ""].filter(Boolean).join(" · ");
}

function upcoming({ open, paused, next, last }) {
  if (open?.state === "again") return `failed; tried again ${clock(open.again)}`;
  if (open) return open.state === "queued" ? "waits for its turn" : "being done now";
  if (paused) return paused.words;
  if (next) return next.words;
  return last.length ? "it does not come any more" : "never";
}

function missedWords({ due, missed, why }) {
  const [count, last] = missed ?? [1, due];
  const times = count > 1 ? `${count} times, last ${day(last)} ${clock(last)}` : `${day(due)} ${clock(due)}`;
  return `${times}: ${why}`;
}

function list(section, lines) {
  section.hidden = !lines.length;
  section.querySelector("ul").replaceChildren(...lines.map(([text, name, kind]) => {
    const item = make("li");
    item.append(sample(kind), make("b", "", name), make("span", "", text));
    return item;
  }));
}

function tick({ at, hour }, { from, to }) {
  const node = make("span", "", String(hour).padStart(2, "0"));
  node.style.left = `${((Date.parse(at) - Date.parse(from)) / (Date.parse(to) - Date.parse(from))) * 100}%`;
  return node;
}

function table(data) {
  const gone = data.gone.map((one) => ({ at: one.due, kind: state(one), why: one.why, job: one.job, name: one.name }));
  const all = data.jobs.flatMap((job) => marksOf(job, data).map((mark) => ({ ...mark, job: job.job, name: job.name })));
  return [...all, ...gone].sort((one, other) => Date.parse(one.at) - Date.parse(other.at)).map((mark) => {
    const tr = make("tr");
    tr.dataset.kind = mark.kind;
    const became = words(mark).slice(6);
    tr.append(...[clock(mark.at), became, mark.job, mark.name].map((cell) => make("td", "", cell)));
    return tr;
  });
}

function legend(kind) {
  const item = make("li");
  item.append(sample(kind), make("span", "", STATES[kind]));
  return item;
}
