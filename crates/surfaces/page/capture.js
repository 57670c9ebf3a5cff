// Capture: the input line at the end of every view except the chat. While the user types, it shows
// how the text would be understood.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { button, say } from "./kit.js";

const PAUSE = 120; // milliseconds after the last key press before the text is interpreted
const DRAFT = "captured";

export class Capture {
  // `changed` is called after an item was stored; `tell` announces a text to screen readers.
  constructor(form, { changed, tell }) {
    const part = (name) => form.querySelector(`.${name}`);
    Object.assign(this, { form, changed, tell, input: form.querySelector("input"), reading: part("reading"), stored: part("stored"), asked: 0 });
    this.input.value = sessionStorage.getItem(DRAFT) ?? "";
    this.input.addEventListener("input", () => this.typed());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.store();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.input.value) this.input.blur();
    });
    if (this.input.value) this.typed();
  }

  focus() {
    this.input.focus();
  }

  typed() {
    sessionStorage.setItem(DRAFT, this.input.value);
    clearTimeout(this.soon);
    if (!this.input.value.trim()) return this.clear();
    say(this.stored, "");
    this.soon = setTimeout(() => this.read(), PAUSE);
  }

  clear() {
    clearTimeout(this.soon);
    this.asked += 1;
    this.reading.replaceChildren();
    this.reading.hidden = true;
  }

  // Shows how the text is understood. Only the answer to the newest request counts, and errors are
  // ignored.
  async read() {
    const ask = (this.asked += 1);
    const reading = await assistant.reading(this.input.value).catch(() => null);
    if (ask !== this.asked || !reading) return;
    const { does, words, other, notes } = reading;
    this.reading.dataset.does = does;
    this.reading.replaceChildren(make("span", "how", words));
    if (other) this.reading.append(make("span", "", `or did you mean ${other}?`));
    this.reading.append(...notes.map((note) => make("span", "", note)));
    this.reading.hidden = false;
  }

  // Stores the text. A text that could not be stored stays in the input.
  async store() {
    const text = this.input.value;
    if (!text.trim() || this.busy) return;
    this.busy = true;
    try {
      const { text: told, undo } = await assistant.capture(text);
      if (this.input.value === text) this.input.value = "";
      sessionStorage.setItem(DRAFT, this.input.value);
      this.clear();
      this.confirm(told, undo);
      this.changed();
    } catch (error) {
      this.refuse(error.message);
    }
    this.busy = false;
  }

  confirm(told, undo) {
    this.stored.classList.remove("wrong");
    say(this.stored, told);
    if (undo) this.stored.append(button("Undo", "", () => this.undo(undo)));
    this.tell(told);
  }

  async undo(undo) {
    try {
      const { text } = await assistant.undo(undo);
      this.confirm(text, null);
      this.changed();
    } catch (error) {
      this.refuse(error.message);
    }
    this.focus();
  }

  refuse(message) {
    say(this.stored, message);
    this.stored.classList.add("wrong");
  }
}
