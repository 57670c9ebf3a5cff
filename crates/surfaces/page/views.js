// The views: which part of the page is shown, by the word after # in its address. Chat is the first.

// One line for each view, in the order of the bar.
const VIEWS = [
  { name: "chat", title: "Chat", key: "c" },
  { name: "schedule", title: "Schedule", key: "d" },
  { name: "sessions", title: "Sessions", key: "s" },
];

export class Views {
  // `rooms` has for each view its section, and what happens when it is entered and left.
  constructor(nav, rooms) {
    this.nav = nav;
    this.rooms = rooms;
    this.here = null;
    this.links = new Map(VIEWS.map(({ name, title, key }) => {
      const link = document.createElement("a");
      Object.assign(link, { href: `#${name}`, textContent: title, title: `${title} (${key})` });
      return [name, link];
    }));
    nav.replaceChildren(...this.links.values());
    document.addEventListener("keydown", (event) => this.pressed(event), true);
  }

  // Shows what the address names.
  go() {
    const named = location.hash.slice(1);
    const next = VIEWS.some(({ name }) => name === named) ? named : VIEWS[0].name;
    if (next === this.here) return;
    if (this.here) this.rooms[this.here].leave();
    this.here = next;
    for (const [name, link] of this.links) {
      this.rooms[name].section.hidden = name !== next;
      if (name === next) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.rooms[next].enter();
  }

  show(name) {
    history.pushState(null, "", `#${name}`);
    this.go();
  }

  // Shows nothing of it all.
  close() {
    this.nav.replaceChildren();
    for (const { section } of Object.values(this.rooms)) section.hidden = true;
  }

  // A letter goes to its view. `/` is for words, and those are typed in the chat.
  pressed(event) {
    const typing = event.target.closest?.("input, textarea, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !this.nav.children.length) return;
    const view = event.key === "/" ? VIEWS[0] : VIEWS.find(({ key }) => key === event.key);
    if (view && view.name !== this.here) this.show(view.name);
  }
}
