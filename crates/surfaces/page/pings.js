// Pings: sent and deferred pings with their outcome and response time, and the remaining budget.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { levels } from "./dayplot.js";
import { Rows, Twin, View, alarm, box, button, clock, count, day, say } from "./kit.js";
import { bars, line, ticks } from "./plots.js";

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const PARTS = ["morning", "midday", "afternoon", "evening"];
const WORDS = { open: "no reaction", refused: "not let through", held: "held back" };
const outcome = (name) => WORDS[name] ?? name;

export class Pings extends View {
  constructor(section, { tell }) {
    super(section);
    this.tell = tell;
    this.left = box("how many are left", "left-box");
    this.curve = this.left.appendChild(make("div", "curve"));
    this.words = this.left.appendChild(make("p", "under"));
    this.steps = this.left.appendChild(make("div", "steppers"));
    this.wrongStep = this.left.appendChild(alarm());
    this.leftTwin = new Twin("pings left, as a table", ["time", "before", "after", "what"]);
    this.left.append(this.leftTwin.node);
    this.soon = box("minutes until you reacted");
    this.grid = this.soon.appendChild(make("table", "grid"));
    this.soon.append(make("p", "under", "the median; · fewer than 3"));
    this.became = box("what became of them");
    this.bars = this.became.appendChild(make("div"));
    this.becameTwin = new Twin("what became of them, as a table", ["what became of it", "how many"]);
    this.became.append(this.becameTwin.node);
    const boxes = make("div", "boxes");
    boxes.append(this.soon, this.became);
    this.held = box("held back");
    this.held.hidden = true;
    this.heldList = this.held.appendChild(make("ul", "pinged"));
    const all = box("the last 7 days");
    this.none = all.appendChild(make("p", "none"));
    this.list = all.appendChild(make("ul", "pinged"));
    this.rows = new Rows(this.list, ({ at, why }) => `${at} ${why}`, (ping) => this.ping(ping));
    section.append(this.left, boxes, this.held, all);
  }

  ask() {
    return assistant.pings(7);
  }

  show({ budget, grid, outcomes, pings, now, from, attention }) {
    const own = pings.filter(({ lane }) => lane !== "you asked");
    const points = levels(own, budget, Date.parse(from), Date.parse(now));
    const marks = own.map(({ at, outcome: what }) => ({ at: Date.parse(at), held: what === "refused" || what === "held" }));
    this.curve.replaceChildren(line(points, marks, { from, to: now, top: budget.capacity, label: `pings left over 7 days; now ${budget.words}` }), ticks(from, now));
    say(this.words, [budget.words, caps(attention)].filter(Boolean).join(" · "));
    this.leftTwin.fill(own.filter(({ left }) => left).map(({ at, left, words }) => [`${day(at)} ${clock(at)}`, left[0].toFixed(1), left[1].toFixed(1), words]));
    this.stepper(budget);
    this.drawGrid(grid);
    this.bars.replaceChildren(outcomes.length ? bars(outcomes.map(({ outcome: name, count: many }) => [outcome(name), many, name.replace(" ", "-")])) : make("p", "none", "nothing yet."));
    this.becameTwin.fill(outcomes.map(({ outcome: name, count: many }) => [outcome(name), many]));
    this.drawHeld(attention);
    say(this.none, pings.length ? "" : "no reminder rang and nothing was pinged.");
    this.rows.show(pings);
  }

  drawHeld({ held, next_digest: digest }) {
    this.held.hidden = !held.length;
    this.held.querySelector("h2").textContent = `held back (${held.length})`;
    this.heldList.replaceChildren(...held.map(({ at, name, words, why }) => {
      const li = make("li");
      li.append(line1([make("span", "time", `${day(at)} ${clock(at)}`), make("b", "", name), make("span", "said", words)]), make("p", "under", [why, digest ? `told ${digest.words}` : ""].filter(Boolean).join(" · ")));
      return li;
    }));
  }

  // Builds the buttons that change the budget; each runs `/ping-budget`.
  stepper(budget) {
    const { capacity, refill_minutes: minutes } = budget;
    const told = JSON.stringify([capacity, minutes]);
    if (this.stepped === told) return;
    this.stepped = told;
    const held = [...this.steps.querySelectorAll("button")].indexOf(document.activeElement);
    const set = async (size, refill) => {
      try {
        await assistant.command(`/ping-budget ${size} ${refill}`);
        say(this.wrongStep, "");
        this.tell(`at most ${size}, one more every ${refill} minutes.`);
        await this.read();
      } catch (error) {
        say(this.wrongStep, error.message);
      }
    };
    const steps = [
      ["at most", `${capacity}`, () => set(Math.max(1, capacity - 1), minutes), () => set(capacity + 1, minutes)],
      ["one more every", `${minutes} min`, () => set(capacity, Math.max(15, minutes - 15)), () => set(capacity, minutes + 15)],
    ];
    this.steps.replaceChildren(...steps.map(([name, value, less, more]) => {
      const row = make("div", "stepper");
      row.append(make("span", "", name), step("−", `${name}: less`, less), make("b", "", value), step("+", `${name}: more`, more));
      return row;
    }));
    if (held >= 0) this.steps.querySelectorAll("button")[held]?.focus();
  }

  drawGrid(cells) {
    const head = make("tr");
    head.append(make("td"), ...DAYS.map((name) => scoped(name, "col")));
    const most = Math.max(1, ...cells.map(({ minutes }) => minutes ?? 0));
    const rows = PARTS.map((part) => {
      const tr = make("tr");
      tr.append(scoped(part, "row"), ...DAYS.map((name) => {
        const { minutes, count: many } = cells.find((cell) => cell.part === part && cell.day === name) ?? {};
        const td = make("td", "", minutes === null || minutes === undefined ? "·" : String(minutes));
        td.title = many ? `${count(many, "reaction")}` : "no reaction";
        if (typeof minutes === "number") td.dataset.shade = Math.min(4, Math.ceil((minutes / most) * 4));
        return td;
      }));
      return tr;
    });
    this.grid.replaceChildren(head, ...rows);
  }

  ping(ping) {
    const { at, lane, name, job, words, outcome: what, minutes, why } = ping;
    const li = make("li");
    const after = minutes === null ? "" : ` after ${minutes} min`;
    const source = name ?? (lane === "you asked" ? "reminder" : job);
    const told = make("p", "why");
    told.hidden = true;
    const ask = button("why", "", async () => {
      if (!told.hidden) return say(told, "");
      const answer = await assistant.command(`/why ${why}`).catch((error) => ({ text: error.message }));
      say(told, answer.text ?? "");
    });
    ask.setAttribute("aria-label", `why: ${words}`);
    const acts = [ask];
    // Only pings that were shown and that the user did not ask for can be marked as not useful.
    const shown = /^ping:(\d+)$/.exec(why);
    if (shown) {
      const useless = button("not useful", "", async () => {
        const answer = await assistant.dislike(Number(shown[1])).then(() => "noted. it counts for the one who pinged.", (error) => error.message);
        say(told, answer);
        useless.disabled = answer.startsWith("noted");
      });
      useless.setAttribute("aria-label", `not useful: ${words}`);
      acts.push(useless);
    }
    li.append(line1([make("span", "time", `${day(at)} ${clock(at)}`), make("b", "", source), make("span", "said", words), ...acts]), make("p", "under", `${lane} · ${outcome(what)}${after}`), told);
    return li;
  }
}

function line1(parts) {
  const node = make("p", "line");
  node.append(...parts);
  return node;
}

function step(sign, label, press) {
  const node = button(sign, "", press);
  node.setAttribute("aria-label", label);
  return node;
}

function scoped(text, scope) {
  const th = make("th", "", text);
  th.scope = scope;
  return th;
}

function caps({ pushes, a_day: most, quiet }) {
  return [most ? `${pushes} of at most ${most} today` : "", quiet === "off" ? "" : `quiet hours ${quiet}`].filter(Boolean).join(" · ");
}
