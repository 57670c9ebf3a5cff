// The editor of one job file. A text is saved only if the assistant can parse it, and is never lost
// because of an error.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { button, say } from "./kit.js";

const PAUSE = 300; // milliseconds after the last key press before the text is checked

export class Editor {
  // `done` is called when the editor closes.
  constructor(file, done) {
    Object.assign(this, { file, done, before: null, asked: 0 });
    this.node = make("div", "editor");
    const label = make("label", "", file);
    this.text = make("textarea");
    this.text.id = label.htmlFor = `edit-${file}`;
    Object.assign(this.text, { rows: 12, spellcheck: false, disabled: true });
    this.text.setAttribute("autocomplete", "off");
    this.wrong = make("p", "wrong");
    this.wrong.id = `wrong-${file}`;
    this.wrong.setAttribute("role", "alert");
    this.wrong.hidden = true;
    this.text.setAttribute("aria-describedby", this.wrong.id);
    this.fires = make("p", "fires");
    this.fires.setAttribute("role", "status");
    this.fires.hidden = true;
    this.text.addEventListener("input", () => this.typed());
    this.save = button("save", "primary", () => this.keep());
    const away = button("close without saving", "", () => this.close());
    const buttons = make("p", "buttons");
    buttons.append(this.save, away);
    this.node.append(label, this.text, this.wrong, this.fires, buttons);
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.leave(event);
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.keep();
    });
    this.open();
  }

  async open() {
    try {
      const { text } = await assistant.jobFile(this.file);
      this.before = this.text.value = text;
      this.text.disabled = false;
      this.text.focus();
      this.text.setSelectionRange(0, 0);
      this.text.scrollTop = 0;
      this.check();
    } catch (error) {
      this.say(error.message);
    }
  }

  typed() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.check(), PAUSE);
  }

  // Shows the effect of the text before it is saved. Only the answer to the newest request counts.
  async check() {
    const ask = (this.asked += 1);
    try {
      const { when, rests, next } = await assistant.checkFile(this.file, this.text.value);
      if (ask !== this.asked) return;
      const times = next.map(({ words }) => words);
      say(this.fires, [`${when}${rests ? ", paused" : ""}. next: `, times.length ? times.join("; ") : "never again"].join(""));
      this.fires.classList.remove("wrong");
    } catch (error) {
      if (ask !== this.asked) return;
      say(this.fires, `this can't be saved: ${error.message}`);
      this.fires.classList.add("wrong");
    }
  }

  async keep() {
    if (this.before === null || this.save.disabled) return;
    this.save.disabled = true;
    try {
      await assistant.saveJobFile(this.file, this.before, this.text.value);
      this.close("saved");
    } catch (error) {
      this.say(error.message);
      this.show(/^line (\d+)/.exec(error.message));
    }
    this.save.disabled = false;
  }

  say(message) {
    this.wrong.hidden = false;
    this.wrong.textContent = `not saved. ${message}`;
    if (this.before === null) this.wrong.textContent = message;
    this.text.setAttribute("aria-invalid", "true");
  }

  // Selects the line with the error.
  show(found) {
    this.text.focus();
    if (!found) return;
    const lines = this.text.value.split("\n");
    const line = Math.min(Number(found[1]), lines.length) - 1;
    const start = lines.slice(0, line).join("\n").length + (line ? 1 : 0);
    this.text.setSelectionRange(start, start + lines[line].length);
  }

  // Handles Escape: closes the editor only if the text is unchanged.
  leave(event) {
    event.stopPropagation();
    if (this.before === null || this.text.value === this.before) return this.close();
    this.say("you changed something: save it, or close without saving.");
  }

  close(how = "closed") {
    clearTimeout(this.soon);
    this.asked += 1;
    this.node.remove();
    this.done(how);
  }
}
