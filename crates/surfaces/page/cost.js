// Cost: spending by source and by day, the cached share of the input, and the daily limit of
// unattended work.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { Twin, View, box, button, count, day, money, price } from "./kit.js";
import { Limit } from "./limit.js";
import { columns, shares } from "./plots.js";
import { svg } from "./marks.js";

const SPANS = [1, 7, 14, 30];
const percent = (share) => (share === null ? "–" : `${share} %`);
const lasting = (days) => (days === 1 ? "today" : `the last ${days} days`);

// Returns the average cost of a run, if all of its calls have a price.
function each({ dollars, calls, unpriced_calls: unpriced, runs }) {
  if (unpriced) return unpriced >= calls ? "price unknown" : "–";
  return runs ? money(dollars / runs) : "–";
}

export class Cost extends View {
  constructor(section) {
    super(section);
    this.sums = make("dl", "sums");
    this.days = 14;
    const picture = box("day by day, by source");
    this.head = picture.querySelector("h2");
    this.spans = make("div", "buttons spans");
    this.spans.setAttribute("role", "group");
    this.spans.setAttribute("aria-label", "how many days");
    this.spans.append(...SPANS.map((days) => Object.assign(button(days === 1 ? "today" : `${days} days`, "", () => this.look(days)), { value: days })));
    this.mark();
    this.picture = picture.appendChild(make("div"));
    this.key = picture.appendChild(make("ul", "sources"));
    picture.append(make("h3", "", "cached share of what was read"));
    this.cached = picture.appendChild(make("div"));
    this.axis = picture.appendChild(make("p", "under ends"));
    this.twin = new Twin("cost by day as a table", ["day", "source", "cost", "calls", "cached"]);
    picture.append(this.twin.node);
    this.sources = table("by source", ["source", "runs", "each", "cost", "cached"]);
    this.models = table("by model", ["model", "calls", "cost", "cached"]);
    this.limit = new Limit("daily-limit", () => this.read()).field();
    this.forecast = make("p", "under forecast");
    section.append(this.sums, this.forecast, this.spans, picture, this.limit.node, this.sources.node, this.models.node);
  }

  ask() {
    return assistant.cost(this.days);
  }

  // Shows the last `days` days.
  look(days) {
    this.days = days;
    this.mark();
    return this.read();
  }

  mark() {
    for (const node of this.spans.children) node.ariaPressed = String(Number(node.value) === this.days);
  }

  show(data) {
    this.sums.replaceChildren(...[["today", data.today], ["7 days", data.week], ["30 days", data.month]].flatMap(([name, total]) => {
      const part = make("div");
      const none = total.calls && total.unpriced_calls >= total.calls;
      const more = total.unpriced_calls && !none ? `, and ${count(total.unpriced_calls, "call")} without a price` : "";
      part.append(make("dt", "", name), make("dd", "", none ? "price unknown" : money(total.dollars)), make("dd", "under", `${count(total.calls, "call")} · ${percent(total.cached_percent)} cached${more}`));
      return [part];
    }));
    this.forecast.textContent = data.forecast?.words ?? "a forecast needs a whole day on which a model was called.";
    this.draw(data);
    const { dollars, dollars_per_day: most, tokens, tokens_per_day: words, standing, raised } = data.unattended;
    const limits = [most !== null && `${money(dollars)} of ${money(most)}`, words !== null && `${tokens.toLocaleString("en")} of ${words.toLocaleString("en")} tokens`].filter(Boolean);
    this.limit.show(limits.length
      ? `unattended work today: ${limits.join(", ")}. ${standing ?? "when the limit is reached, routines stop until tomorrow and reminders keep going."}`
      : "unattended work has no limit.", raised);
    this.sources.fill(data.by_source.toSorted(dearest).map((row) => [row.name, row.runs, each(row), price(row), percent(row.cached_percent)]));
    this.models.fill(data.by_model.toSorted(dearest).map((row) => [row.name, row.calls, price(row), percent(row.cached_percent)]));
  }

  draw(data) {
    const days = spell(data.date, data.days);
    this.head.textContent = `${lasting(data.days)}, by source`;
    const names = data.by_source.toSorted(dearest).map(({ name }) => name);
    const rows = Map.groupBy(data.by_day_and_source, ({ day: of }) => of);
    const parts = days.map((date) => [date, (rows.get(date) ?? []).map(({ name, dollars }) => [Math.max(0, names.indexOf(name)), dollars])]);
    const limit = data.unattended.dollars_per_day;
    const label = `cost of ${lasting(data.days)}: ${data.by_day.map((row) => `${row.name} ${price(row)}`).join(", ") || "nothing"}`;
    this.picture.replaceChildren(columns(parts, { limit, label }));
    this.key.replaceChildren(...names.slice(0, 8).map((name, at) => {
      const li = make("li");
      const drawn = svg("svg", { width: 12, height: 12, "aria-hidden": true });
      drawn.append(svg("rect", { class: `source-${at % 8}`, width: 12, height: 12, rx: 3 }));
      li.append(drawn, make("span", "", name));
      return li;
    }));
    const shared = new Map(data.by_day.map(({ name, cached_percent: cached }) => [name, cached]));
    const values = days.map((date) => shared.get(date) ?? null);
    this.cached.replaceChildren(shares(values, `cached share: ${days.map((date, at) => `${date} ${percent(values[at])}`).join(", ")}`));
    this.axis.replaceChildren(make("span", "", day(days[0])), make("span", "", "today"));
    this.twin.fill(data.by_day_and_source.toReversed().map((row) => [day(row.day), row.name, price(row), row.calls, percent(row.cached_percent)]));
  }
}

const dearest = (one, other) => other.dollars - one.dollars || one.name.localeCompare(other.name);

// Returns the `count` dates up to `date`.
function spell(date, count) {
  const last = Date.parse(`${date}T12:00:00Z`);
  return Array.from({ length: count }, (_, at) => new Date(last - (count - 1 - at) * 86_400_000).toISOString().slice(0, 10));
}

function table(title, heads) {
  const node = box(title, "wide-box");
  const frame = node.appendChild(make("div", "frame"));
  Object.assign(frame, { tabIndex: 0, role: "region", ariaLabel: title });
  const drawn = frame.appendChild(make("table"));
  const row = drawn.appendChild(make("thead")).appendChild(make("tr"));
  row.append(...heads.map((head) => Object.assign(make("th", "", head), { scope: "col" })));
  const body = drawn.appendChild(make("tbody"));
  const fill = (rows) => {
    node.hidden = !rows.length;
    body.replaceChildren(...rows.map((cells) => {
      const tr = make("tr");
      tr.append(...cells.map((cell) => make("td", "", String(cell))));
      return tr;
    }));
  };
  return { node, fill };
}
