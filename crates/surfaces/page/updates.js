// Updates: the pending updates of background runs, until main has read them.

import * as assistant from "./assistant.js";
import { make, spoken } from "./bubbles.js";
import { Rows, View, alarm, box, button, say } from "./kit.js";

export class Updates extends View {
  // `talk` goes to the chat and puts a text into the composer.
  constructor(section, { talk, tell }) {
    super(section);
    Object.assign(this, { talk, tell });
    this.none = section.appendChild(make("p", "none"));
    this.list = section.appendChild(make("ul", "updates-list"));
    this.rows = new Rows(this.list, ({ id }) => id, (update) => this.update(update));
  }

  ask() {
    return assistant.updates();
  }

  show({ updates }) {
    say(this.none, updates.length ? "" : "nothing waits. what a background run finds stands here until the main conversation has read it.");
    this.rows.show(updates.toReversed());
  }

  update({ id, at, from, text }) {
    const li = make("li");
    const node = li.appendChild(box(from));
    node.firstChild.id = "";
    node.removeAttribute("aria-labelledby");
    node.append(make("p", "under", new Date(at).toLocaleString(undefined, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }).toLowerCase()), spoken(text));
    const row = node.appendChild(make("p", "buttons"));
    const talk = button("talk about it", "", () => this.talk(`about what ${from} found: `));
    talk.setAttribute("aria-label", `talk about it: ${from}`);
    const wrong = node.appendChild(alarm());
    const read = button("mark as read", "", async () => {
      try {
        this.tell((await assistant.readUpdate(id)).text);
        await this.read();
      } catch (error) {
        say(wrong, error.message);
      }
    });
    read.setAttribute("aria-label", `mark as read: ${from}`);
    read.title = "you have read it, so the main conversation is not told of it";
    row.append(talk, read);
    return li;
  }
}
