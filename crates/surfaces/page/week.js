// The week: seven days, one below the other from midnight to midnight, with jobs and calendar
// events.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { appointments, axis, dayplot, dayTick } from "./dayplot.js";
import { Twin, clock, day, say } from "./kit.js";
import { STATES, marksOf, state } from "./strip.js";

const DAYS = 7;

export class Week {
  constructor() {
    this.asked = 0;
    this.node = make("details", "week dayplot");
    this.node.append(make("summary", "", "the next 7 days"));
    this.wrong = this.node.appendChild(make("p", "wrong"));
    this.wrong.setAttribute("role", "alert");
    this.wrong.hidden = true;
    this.hours = this.node.appendChild(make("div", "axis"));
    this.hours.ariaHidden = "true";
    this.plots = this.node.appendChild(make("div", "plots"));
    this.twin = new Twin("the next 7 days as a table", ["no.", "day", "time", "what", "what becomes of it"]);
    this.node.append(this.twin.node);
    this.node.addEventListener("toggle", () => this.read());
  }

  // Loads again if the schedule has changed and the week is open.
  follow({ from, jobs, gone }) {
    const told = JSON.stringify([from, jobs, gone]);
    if (told === this.told) return;
    Object.assign(this, { told, from });
    this.read();
  }

  async read() {
    if (!this.node.open || !this.from) return;
    const ask = (this.asked += 1);
    const dates = Array.from({ length: DAYS + 1 }, (_, ahead) => later(this.from.slice(0, 10), ahead));
    try {
      // Loads each day separately: only the daemon knows the user's time zone, and so the start and
      // end of a day.
      const days = await Promise.all(dates.slice(0, DAYS).map((date, at) => assistant.schedule(date, dates[at + 1])));
      if (ask !== this.asked) return;
      say(this.wrong, "");
      this.draw(days, []);
      const { events, notes } = await assistant.calendar(dates[0], dates[DAYS]);
      if (ask !== this.asked) return;
      say(this.wrong, notes.join(" "));
      this.draw(days, events);
    } catch (error) {
      if (ask === this.asked) say(this.wrong, error.message);
    }
  }

  draw(days, events) {
    let number = 0;
    const rows = [];
    const drawn = days.flatMap((here) => {
      const name = day(here.from);
      const marks = marksIn(here).map((mark) => ({ ...mark, number: (number += 1) }));
      const booked = events.filter(({ from, to }) => Date.parse(from) < Date.parse(here.to) && Date.parse(to) > Date.parse(here.from));
      rows.push(...booked.map(({ name: what, from, to, kind }) => ["", name, kind === "day" ? "all day" : `${clock(from)} to ${clock(to)}`, what, "calendar"]));
      rows.push(...marks.map((mark) => [mark.number, name, clock(mark.at), mark.name, STATES[mark.kind]]));
      const [[, picture]] = dayplot([{ name, marks }], here, this.plots.clientWidth - 90);
      const cell = make("div");
      cell.append(...(booked.length ? [appointments(booked, here, this.plots.clientWidth - 90)] : []), picture);
      return [make("span", "row-name", name), cell];
    });
    axis(days[0], this.hours, dayTick);
    this.plots.replaceChildren(...drawn);
    this.twin.fill(rows);
  }
}

// Returns all marks of one day, ordered by time.
function marksIn(here) {
  const all = here.jobs.flatMap((job) => marksOf(job, here).map((mark) => ({ ...mark, name: job.name })));
  const gone = here.gone.map((one) => ({ at: one.due, kind: state(one), name: one.name }));
  return [...all, ...gone].sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

// Returns the date `days` days after `date`.
function later(date, days) {
  const at = new Date(`${date}T12:00:00Z`);
  at.setUTCDate(at.getUTCDate() + days);
  return at.toISOString().slice(0, 10);
}
