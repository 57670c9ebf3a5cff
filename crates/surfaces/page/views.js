// The views: the hash of the address selects the visible view. The default is today.

import { make } from "./bubbles.js";
import { closes } from "./kit.js";

// The views in the order of the navigation bar. Those with `more` are in its menu.
const VIEWS = [
  { name: "today", title: "Today", key: "t" },
  { name: "chat", title: "Chat", key: "c" },
  { name: "schedule", title: "Schedule", key: "d" },
  { name: "pings", title: "Pings", key: "p" },
  { name: "sessions", title: "Sessions", key: "s", more: true },
  { name: "updates", title: "Updates", key: "u", more: true },
  { name: "cost", title: "Cost", key: "o", more: true },
  { name: "files", title: "Files", key: "f", more: true },
  { name: "search", title: "Search", key: "q", more: true },
  { name: "health", title: "Health", key: "h", more: true },
];

export class Views {
  // `rooms` has the section and the enter and leave functions of each view; `write` focuses the
  // input of a view.
  constructor(nav, rooms, write) {
    Object.assign(this, { nav, rooms, write, here: null, links: new Map(VIEWS.map((view) => [view.name, link(view)])) });
    this.more = make("details", "menu more");
    this.more.append(make("summary", "", "more"));
    const list = this.more.appendChild(make("div", "choices"));
    for (const { name, more } of VIEWS) (more ? list : nav).append(this.links.get(name));
    nav.append(this.more);
    closes(this.more);
    document.addEventListener("keydown", (event) => this.pressed(event), true);
  }

  // Shows the view that the address names.
  go() {
    const named = location.hash.slice(1).split("/")[0];
    const next = VIEWS.find(({ name }) => name === named) ?? VIEWS[0];
    this.more.open = false;
    if (next.name === this.here) return;
    if (this.here) this.rooms[this.here].leave();
    this.here = next.name;
    for (const [name, link] of this.links) {
      this.rooms[name].section.hidden = name !== next.name;
      if (name === next.name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.more.firstChild.textContent = next.more ? next.title : "more";
    this.more.classList.toggle("here", Boolean(next.more));
    document.body.dataset.view = next.name;
    this.rooms[next.name].enter();
  }

  show(name) {
    history.pushState(null, "", `#${name}`);
    this.go();
  }

  // Marks a view that waits for an answer of the user.
  waits(name, waits) {
    const link = this.links.get(name);
    link.classList.toggle("waits", waits);
    link.title = waits ? "something waits for your yes or no" : "";
  }

  // Hides all views.
  close() {
    this.nav.replaceChildren();
    delete document.body.dataset.view;
    for (const { section } of Object.values(this.rooms)) section.hidden = true;
  }

  // A letter key goes to its view; `/` focuses the input.
  pressed(event) {
    const typing = event.target.closest?.("input, textarea, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !this.nav.children.length) return;
    if (event.key === "/") {
      event.preventDefault();
      return this.write(this.here);
    }
    const view = VIEWS.find(({ key }) => key === event.key);
    if (view && view.name !== this.here) this.show(view.name);
  }
}

function link({ name, title, key }) {
  const node = make("a", "", title);
  Object.assign(node, { href: `#${name}`, title: `${title} (${key})` });
  return node;
}
