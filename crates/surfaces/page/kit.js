// Shared parts of all views.

import { make } from "./bubbles.js";

const SOON = 150; // milliseconds
const NOW_AND_THEN = 10_000;
const OFTEN = ["delta", "progress", "working", "waiting"]; // these events start and end nothing

// A view that shows loaded data, and loads it again after events.
export class View {
  constructor(section) {
    Object.assign(this, { section, open: false, asked: 0, data: null });
  }

  enter() {
    this.open = true;
    this.clock = setInterval(() => this.read(), NOW_AND_THEN);
    return this.read();
  }

  leave() {
    this.open = false;
    clearInterval(this.clock);
  }

  // Debounces events, because many arrive together.
  heard(name) {
    if (!this.open || OFTEN.includes(name)) return;
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.open && this.read(), SOON);
  }

  // Only the answer to the newest request is shown.
  async read() {
    const ask = (this.asked += 1);
    try {
      const data = await this.ask();
      if (ask !== this.asked) return;
      this.data = data;
      this.fail("");
      this.show(data);
    } catch (error) {
      if (ask === this.asked) this.fail(error.message ?? String(error));
    }
  }

  fail(message) {
    this.wrong ??= this.section.insertBefore(alarm(), this.section.children[1] ?? null);
    say(this.wrong, message);
  }
}

export function alarm() {
  const node = make("p", "wrong");
  node.setAttribute("role", "alert");
  node.hidden = true;
  return node;
}

export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
  node.hidden = !text;
}

// Builds a button. While its action runs it cannot be pressed again, and keeps the focus.
export function button(text, className, press) {
  const node = make("button", className, text);
  node.type = "button";
  node.addEventListener("click", async () => {
    if (node.ariaBusy === "true") return;
    node.ariaBusy = "true";
    try {
      await press(node);
    } finally {
      node.ariaBusy = null;
    }
  });
  return node;
}

// Builds a menu of options; `hint` adds an input for another value.
export function menu(label, options, choose, hint) {
  const node = make("details", "menu");
  node.append(make("summary", "", label));
  const list = node.appendChild(make("div", "choices"));
  const chosen = async (words) => {
    node.open = false;
    node.firstChild.focus();
    await choose(words);
  };
  list.append(...options.map((words) => button(words, "", () => chosen(words))));
  if (hint) list.append(typed(hint, chosen));
  closes(node);
  return node;
}

function typed(hint, chosen) {
  const form = make("form");
  const input = form.appendChild(make("input"));
  Object.assign(input, { placeholder: hint, autocomplete: "off", maxLength: 200 });
  input.setAttribute("aria-label", `another time, like ${hint}`);
  form.append(make("button", "", "go"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) chosen(input.value.trim());
  });
  return form;
}

// Closes a menu on Escape, on a click outside, and when the focus leaves it.
export function closes(node) {
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !node.open) return;
    event.stopPropagation();
    node.open = false;
    node.firstElementChild.focus();
  });
  node.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !node.contains(relatedTarget)) node.open = false;
  });
  document.addEventListener("click", ({ target }) => {
    if (!node.contains(target)) node.open = false;
  });
}

// The table with the same data as a plot.
export class Twin {
  constructor(label, heads) {
    this.node = make("details", "twin");
    this.node.append(make("summary", "", "the same as a table"));
    const frame = this.node.appendChild(make("div", "frame"));
    Object.assign(frame, { tabIndex: 0, role: "region", ariaLabel: label });
    const table = frame.appendChild(make("table"));
    const row = table.appendChild(make("thead")).appendChild(make("tr"));
    row.append(...heads.map((head) => {
      const th = make("th", "", head);
      th.scope = "col";
      return th;
    }));
    this.body = table.appendChild(make("tbody"));
  }

  fill(rows) {
    this.body.replaceChildren(...rows.map((cells) => {
      const tr = make("tr");
      tr.append(...cells.map((cell) => make("td", "", String(cell ?? ""))));
      return tr;
    }));
  }
}

// Builds a section with a title.
export function box(title, className = "") {
  const node = make("section", `box ${className}`.trim());
  const head = node.appendChild(make("h2", "", title));
  head.id = `box-${title.replace(/\W+/g, "-")}`;
  node.setAttribute("aria-labelledby", head.id);
  return node;
}

// A list that updates its rows in place, so that the focus and open menus are preserved.
export class Rows {
  constructor(list, key, draw) {
    Object.assign(this, { list, key, draw, known: new Map() });
  }

  show(things) {
    const held = document.activeElement;
    const named = new Map(things.map((thing) => [String(this.key(thing)), thing]));
    for (const [name, { node }] of this.known) {
      if (named.has(name)) continue;
      node.remove();
      this.known.delete(name);
    }
    let at = 0;
    for (const [name, thing] of named) {
      const told = JSON.stringify(thing);
      let row = this.known.get(name);
      // A row with an open menu is not replaced.
      if (!row || (row.told !== told && !row.node.querySelector("details.menu[open]"))) {
        const node = this.draw(thing);
        const place = row ? places(row.node).indexOf(document.activeElement) : -1;
        row?.node.replaceWith(node);
        if (place >= 0) places(node)[Math.min(place, places(node).length - 1)]?.focus();
        this.known.set(name, (row = { node, told }));
      }
      if (this.list.children[at] !== row.node) this.list.insertBefore(row.node, this.list.children[at] ?? null);
      at += 1;
    }
    if (held !== document.activeElement && held.isConnected && this.list.contains(held)) held.focus();
  }
}

// Returns the focusable elements of `node`.
const places = (node) => [...node.querySelectorAll("button, summary, a, input, select, textarea")];

const DAY = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });

// Formats the date of a timestamp. The timestamp is already in the user's time zone.
export const day = (at) => DAY.format(new Date(`${at.slice(0, 10)}T12:00`)).toLowerCase().replace(",", "");
export const clock = (at) => at.slice(11, 16);

// Formats the distance between two times.
export function ago(at, now) {
  const minutes = Math.round((Date.parse(now) - Date.parse(at)) / 60_000);
  const [size, back] = [Math.abs(minutes), minutes >= 0];
  if (size < 1) return "now";
  const words = size < 60 ? `${size} min` : size < 48 * 60 ? `${Math.round(size / 60)} h` : `${Math.round(size / 1440)} days`;
  return back ? `${words} ago` : `in ${words}`;
}

export const count = (many, one, more = `${one}s`) => `${many} ${many === 1 ? one : more}`;

export const money = (dollars) => `$${dollars < 0.1 && dollars > 0 ? dollars.toFixed(3) : dollars.toFixed(2)}`;

// Formats the cost of calls. Calls without a known price are not shown as free.
export function price({ dollars, calls, unpriced_calls: unpriced }) {
  if (!unpriced) return money(dollars);
  return unpriced >= calls ? "price unknown" : `${money(dollars)} and ${count(unpriced, "call")} without a price`;
}
