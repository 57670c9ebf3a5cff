// Today: the next item, fired reminders, the plot of the day, later items, and open questions.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { appointments, axis, booked, curve, dayTick, dayplot, said } from "./dayplot.js";
import { Rows, Twin, View, alarm, ago, box, button, clock, count, day, menu, say } from "./kit.js";
import { Limit } from "./limit.js";
import { STATES, marksOf, sample, state } from "./strip.js";

const TIMES = ["in 1 hour", "tonight 20:00", "tomorrow 09:00", "saturday 10:00", "next monday 09:00"];
const HINT = "fri 10";
const CALENDAR = 60_000; // minimum milliseconds between two requests for the calendar

export class Today extends View {
  constructor(section, { tell, show }) {
    super(section);
    Object.assign(this, { tell, go: show });
    this.next = make("div", "next");
    this.cards = make("div", "cards");
    this.rows = new Rows(this.cards, ({ id }) => id, (card) => this.card(card));
    this.picture = this.plot();
    this.later = list(box("later today"));
    this.later.box.append(this.lighter());
    this.inbox = list(box("inbox"));
    this.held = list(box("held"));
    this.limit = new Limit("standing", () => this.read());
    this.limit.show("", null);
    this.foot = make("p", "foot");
    const boxes = make("div", "boxes");
    boxes.append(this.later.box, this.inbox.box, this.held.box);
    section.append(this.limit.node, this.next, this.cards, this.picture.node, boxes, this.foot);
    this.later.rows = new Rows(this.later.ul, ({ job, at }) => `${job} ${at}`, (due) => this.due(due));
    this.inbox.rows = new Rows(this.inbox.ul, ({ id }) => id, (kept) => this.kept(kept));
    this.held.rows = new Rows(this.held.ul, ({ id }) => id, (held) => this.heldBack(held));
    addEventListener("resize", () => this.open && this.data && this.draw(this.data));
  }

  async ask() {
    const [today, schedule, pings, cost, health] = await Promise.all([
      assistant.today(), assistant.schedule(), assistant.pings(1), assistant.cost(1), assistant.health(),
    ]);
    this.look();
    return { today, schedule, pings, cost, health };
  }

  // Loads the calendar in the background and not too often, because it may be on a slow remote
  // server.
  async look() {
    if (this.looked > Date.now() - CALENDAR) return;
    this.looked = Date.now();
    this.calendar = await assistant.calendar().catch((error) => ({ events: [], notes: [`the calendar is not here: ${error.message}`] }));
    if (this.open && this.data) this.draw(this.data);
  }

  show(data) {
    const { today, pings } = data;
    this.showNext(today);
    this.rows.show(today.cards.filter(({ id, state }) => state === "open" || this.seen?.has(id)));
    this.seen = new Set([...(this.seen ?? []), ...today.cards.filter(({ state }) => state === "open").map(({ id }) => id)]);
    this.draw(data);
    const next = today.next;
    const rest = today.rest.filter(({ job, at }) => job !== next?.job || at !== next?.at);
    this.later.box.querySelector(".lighter").hidden = !rest.some(({ job }) => job.startsWith("reminder:"));
    fill(this.later, rest, rest.length ? "" : "nothing else today.");
    fill(this.inbox, today.kept.toReversed(), today.kept.length ? "" : "empty. what you type without a time waits here.");
    const { held } = today.attention;
    fill(this.held, held, held.length ? "" : "nothing is held back.");
    this.held.head.textContent = held.length ? `held (${held.length})` : "held";
    this.inbox.head.textContent = today.kept.length ? `inbox (${today.kept.length})` : "inbox";
    const { standing, raised } = data.cost.unattended;
    this.limit.show(standing ?? "", raised);
    say(this.foot, footer(data));
    this.told = pings;
  }

  showNext({ next, now }) {
    const told = JSON.stringify([next, now.at.slice(0, 16)]);
    if (this.nextTold === told || this.next.contains(document.activeElement)) return;
    this.nextTold = told;
    if (!next) {
      this.next.replaceChildren(make("p", "big", "nothing is planned"), make("p", "under", "type it below, like “call tom fri 10”."));
      return;
    }
    const soon = next.at.slice(0, 10) === now.at.slice(0, 10) ? clock(next.at) : `${day(next.at)} ${clock(next.at)}`;
    const head = make("p", "big");
    head.append(make("span", "time", soon), " ", make("span", "", next.name));
    const step = next.first_step ? [make("p", "under", `first step: ${next.first_step}`)] : [];
    step.push(...origin(next));
    this.next.replaceChildren(make("h2", "unseen", "next"), head, make("p", "under", next.words.split(" · ").slice(1).join(" · ")), ...step, this.actions(next));
  }

  // Actions before an item is due: a reminder can be marked as done or moved; a routine can be run.
  actions(due) {
    const row = make("p", "buttons");
    const wrong = alarm();
    const change = async (words) => {
      try {
        const { text } = await assistant.plan(words);
        say(wrong, "");
        this.done(text);
      } catch (error) {
        say(wrong, error.message);
      }
    };
    if (due.job.startsWith("reminder:")) {
      row.append(labelled(button("done", "", () => change(`done ${due.id}`)), `done: ${due.name}`));
      row.append(labelled(menu("move", TIMES, (to) => change(`move ${due.id} to ${to}`), HINT), `move ${due.name}`));
    } else {
      row.append(labelled(button("run now", "", async () => {
        try {
          await assistant.run(due.job);
          this.done(`${due.name} begins.`);
        } catch (error) {
          say(wrong, error.message);
        }
      }), `run now: ${due.name}`));
    }
    const both = make("div", "acts");
    both.append(row, wrong);
    return both;
  }

  // A button for `/lighter`, which moves postponable items to tomorrow.
  lighter() {
    const row = make("p", "buttons lighter");
    row.hidden = true;
    const told = make("p", "under");
    told.setAttribute("role", "status");
    row.append(button("lighter day", "", async () => {
      const answer = await assistant.command("/lighter").catch((error) => ({ text: error.message }));
      say(told, answer.text ?? "");
      this.done("");
    }));
    const both = make("div");
    both.append(row, told);
    return both;
  }

  // Announces a change and loads again.
  done(text) {
    this.nextTold = null;
    this.tell(text);
    for (const time of [0, 400, 1200]) setTimeout(() => this.open && this.read(), time);
  }

  due(due) {
    const li = make("li");
    const line = make("p", "line");
    line.append(make("span", "time", clock(due.at)), make("span", "what", due.name), make("span", "under", due.words.split(" · ")[1] ?? ""));
    li.append(line, ...origin(due), this.actions(due));
    return li;
  }

  kept(kept) {
    const li = make("li");
    const wrong = alarm();
    const sort = async (what) => {
      try {
        const { text } = await assistant.sortInbox(kept.id, what);
        this.done(text);
      } catch (error) {
        say(wrong, error.message);
      }
    };
    const row = make("p", "buttons");
    row.append(labelled(menu("when?", TIMES, (when) => sort({ when }), HINT), `when? ${kept.text.slice(0, 80)}`));
    row.append(labelled(button("drop", "", () => sort({})), `drop: ${kept.text.slice(0, 80)}`));
    const acts = make("div", "acts");
    acts.append(row, wrong);
    li.append(make("p", "line", kept.text), ...origin(kept), acts);
    return li;
  }

  heldBack(held) {
    const li = make("li");
    const details = make("details");
    details.append(make("summary", "", `${held.name}: read`), make("p", "", held.words), make("p", "under", held.why));
    li.append(details);
    return li;
  }

  // Builds the card of a fired reminder with its actions.
  card(card) {
    const node = make("section", `rang ${card.state}`);
    node.setAttribute("aria-label", `reminder: ${card.words}`);
    const head = node.appendChild(make("p", "says"));
    head.append(...struck(card.says));
    if (card.when) head.append(` ${day(card.when)} ${clock(card.when)}`);
    const asked = card.says.includes(card.words) ? [] : [card.words];
    node.append(make("p", "under", [...asked, `rang ${clock(card.rang)}`, ago(card.rang, this.now())].join(" · ")));
    const row = node.appendChild(make("p", "buttons"));
    const wrong = node.appendChild(alarm());
    const press = async (button, choice) => {
      try {
        const { text } = await assistant.press(0, button, choice);
        say(wrong, "");
        this.done(text ?? "noted.");
      } catch (error) {
        say(wrong, error.message);
      }
    };
    row.append(...card.buttons.map(({ label, style, press: sends }) =>
      labelled(button(label, style, () => press(sends)), `${label}: ${card.words}`)));
    if (card.moves) row.append(labelled(menu("Move to…", card.times, (to) => press(card.moves, to), HINT), `Move to… ${card.words}`));
    return node;
  }

  now() {
    return this.data.today.now.at;
  }

  plot() {
    const node = make("figure", "dayplot");
    node.append(make("h2", "unseen", "the day"));
    const hours = node.appendChild(make("div", "axis"));
    hours.ariaHidden = "true";
    const plots = node.appendChild(make("div", "plots"));
    const twin = new Twin("today as a table", ["no.", "time", "what became of it", "name", "whose"]);
    const key = make("details", "key");
    key.append(make("summary", "", "what the marks mean"));
    const marks = key.appendChild(make("ul", "legend"));
    marks.append(...Object.keys(STATES).map((kind) => {
      const li = make("li");
      li.append(sample(kind), make("span", "", STATES[kind]));
      return li;
    }));
    marks.append(make("li", "", "▼ a ping, ■ one that was kept back; the line is how many are left, dotted for what comes"));
    const notes = node.appendChild(make("p", "under"));
    const under = node.appendChild(make("div", "under-plot"));
    under.append(key, twin.node);
    return { node, hours, plots, notes, twin };
  }

  draw({ schedule, pings, today }) {
    const { node, hours, plots, twin } = this.picture;
    const window = { ...schedule, quiet: today.attention.spans };
    const marks = numbered(schedule);
    const rows = [
      { name: "you asked", marks: marks.filter(({ own }) => own) },
      { name: "my checks", marks: marks.filter(({ own }) => !own) },
    ];
    axis(window, hours, dayTick);
    const { events, notes } = this.calendar ?? { events: [], notes: [] };
    const drawn = [...(events.length ? [["calendar", appointments(events, window, plots.clientWidth - 90)]] : []), ...dayplot(rows, window, plots.clientWidth || 320), [`pings ${Math.floor(pings.budget.available)} of ${pings.budget.capacity}`, curve(pings.pings.filter(({ lane }) => lane !== "you asked"), pings.budget, window)]];
    plots.replaceChildren(...drawn.flatMap(([name, picture]) => [make("span", "row-name", name), picture]));
    node.hidden = false;
    say(this.picture.notes, [...events.filter(({ kind }) => kind === "day").map(booked), ...notes].join(" · "));
    twin.fill([
      ...events.map(({ from, to, kind, name, place }) => ["", kind === "day" ? "all day" : `${clock(from)} to ${clock(to)}`, "", place ? `${name}, ${place}` : name, "calendar"]),
      ...marks.map(({ number, at, kind, why, name, own }) => [number, clock(at), `${STATES[kind]}${why ? `: ${why}` : ""}`, name, own ? "you asked" : "my check"]),
    ]);
    node.dataset.marks = marks.map(said).join("\n");
  }
}

// Shows which outside text the assistant had read before it wrote or changed the item.
function origin({ origin }) {
  return origin ? [make("p", "under", `Added or changed after reading ${origin}`)] : [];
}

// Returns all marks of the day in order, each with its number.
function numbered(schedule) {
  const own = (job) => job.startsWith("reminder:");
  const all = schedule.jobs.flatMap((job) => marksOf(job, schedule).map((mark) => ({ ...mark, name: job.name, own: own(job.job) })));
  const gone = schedule.gone.map((one) => ({ at: one.due, kind: state(one), why: one.why, name: one.name, own: own(one.job) }));
  const sorted = [...all, ...gone].sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
  return sorted.map((mark, at) => ({ ...mark, number: at + 1 }));
}

// Done and dropped items are struck through.
function struck(text) {
  return text.split("~~").map((part, at) => (at % 2 ? make("s", "", part) : part));
}

function footer({ cost, health, pings, today }) {
  const { nearest } = cost.unattended;
  const spent = nearest ? `${nearest} for unattended work` : `$${cost.today.dollars.toFixed(2)} today`;
  const broken = today.broken ? [`${count(today.broken, "file")} can't be read`] : [];
  const surfaces = [health.surfaces.join(", "), health.discord && `discord ${health.discord}`].filter(Boolean);
  const { quiet_until: quiet, focus } = today.attention;
  const calm = [focus && `focused${focus.on ? ` on ${focus.on}` : ""} until ${clock(focus.until.at)}`, quiet && `quiet until ${clock(quiet.at)}`].filter(Boolean);
  return [`brain: ${health.brain}`, ...surfaces, spent, pings.budget.words, ...calm, ...broken].join(" · ");
}

function list(box) {
  const none = box.appendChild(make("p", "none"));
  const ul = box.appendChild(make("ul"));
  return { box, head: box.querySelector("h2"), none, ul };
}

function fill({ none, rows }, things, words) {
  say(none, words);
  rows.show(things);
}

function labelled(node, words) {
  (node.matches("details") ? node.firstChild : node).setAttribute("aria-label", words);
  return node;
}
