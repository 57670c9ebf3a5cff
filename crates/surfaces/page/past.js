// The history of one file: its versions, their differences, and restoring one of them.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { alarm, button, clock, day, say } from "./kit.js";

const MANY = 400; // maximum number of lines that are compared line by line

export class Past {
  // `done` is called with the outcome when it closes.
  constructor(file, done) {
    Object.assign(this, { file, done });
    this.node = make("div", "past");
    this.node.setAttribute("role", "group");
    this.node.setAttribute("aria-label", `history of ${file}`);
    this.none = this.node.appendChild(make("p", "under", "reading…"));
    this.wrong = this.node.appendChild(alarm());
    this.list = this.node.appendChild(make("ol", "versions"));
    const buttons = this.node.appendChild(make("p", "buttons"));
    buttons.append(button("close", "", () => this.close()));
    this.node.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
    this.read();
  }

  async read() {
    try {
      const [{ text }, { versions }] = await Promise.all([assistant.jobFile(this.file), assistant.versions(this.file)]);
      this.now = text;
      say(this.none, versions.length ? "" : "nothing of it was kept yet. each change from now on is, if git is installed.");
      this.list.replaceChildren(...versions.map((version) => this.row(version)));
      await this.mark(versions[0]);
    } catch (error) {
      say(this.none, "");
      say(this.wrong, error.message);
    }
  }

  // The current version needs no restore button.
  async mark(newest) {
    if (!newest || (await assistant.version(this.file, newest.id)).text !== this.now) return;
    const row = this.list.firstElementChild;
    row.querySelector(".buttons").replaceWith(make("span", "under", "what it says now"));
  }

  row({ id, at, what }) {
    const li = make("li");
    const when = `${day(at)} ${clock(at)}`;
    const line = li.appendChild(make("p", "line"));
    const changes = make("pre", "changes");
    changes.hidden = true;
    changes.tabIndex = 0;
    changes.setAttribute("role", "region");
    changes.setAttribute("aria-label", `what changed in ${this.file} since ${when}`);
    const buttons = make("span", "buttons");
    const look = button("what changed since", "", async () => {
      changes.hidden = !changes.hidden;
      look.setAttribute("aria-expanded", String(!changes.hidden));
      if (changes.hidden || changes.firstChild) return;
      await this.tried(async () => {
        const { text } = await assistant.version(this.file, id);
        changes.replaceChildren(...differences(text, this.now).map(([sign, words]) => make("span", { "-": "gone", "+": "new" }[sign] ?? "", `${sign} ${words}\n`)));
      });
    });
    look.setAttribute("aria-expanded", "false");
    const back = button("bring this back", "", () => this.tried(async () => {
      const { text } = await assistant.version(this.file, id);
      if (text === this.now) return say(this.wrong, "it says exactly that already.");
      await assistant.saveJobFile(this.file, this.now, text);
      this.close(`${this.file} says again what it said ${when}.`);
    }));
    look.setAttribute("aria-label", `what changed since ${when}`);
    back.setAttribute("aria-label", `bring back what it said ${when}`);
    buttons.append(look, back);
    line.append(make("span", "time", when), make("span", "what", what), buttons);
    li.append(changes);
    return li;
  }

  async tried(what) {
    say(this.wrong, "");
    try {
      await what();
    } catch (error) {
      say(this.wrong, error.message);
    }
  }

  close(text = "") {
    this.node.remove();
    this.done(text);
  }
}

// Compares two texts by their longest common subsequence of lines: returns removed, added and kept
// lines in order.
export function differences(before, after) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  if (old.length > MANY || now.length > MANY) return [...old.map((line) => ["-", line]), ...now.map((line) => ["+", line])];
  const long = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let one = old.length - 1; one >= 0; one -= 1) {
    for (let two = now.length - 1; two >= 0; two -= 1) {
      long[one][two] = old[one] === now[two] ? long[one + 1][two + 1] + 1 : Math.max(long[one + 1][two], long[one][two + 1]);
    }
  }
  const told = [];
  let [one, two] = [0, 0];
  while (one < old.length || two < now.length) {
    if (one < old.length && two < now.length && old[one] === now[two]) {
      told.push([" ", old[one]]);
      one += 1;
      two += 1;
    } else if (two >= now.length || (one < old.length && long[one + 1][two] >= long[one][two + 1])) {
      told.push(["-", old[one]]);
      one += 1;
    } else {
      told.push(["+", now[two]]);
      two += 1;
    }
  }
  return told;
}
