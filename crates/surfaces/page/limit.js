// The daily limit of unattended work: its state, and the command that changes it.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { alarm, button, say } from "./kit.js";

const COMMAND = "/config daily_limit";
const HINT = "dollars, tokens such as 8M, both, off, or default for what settings.toml says. it holds at once and every day, and can be taken back.";

export class Limit {
  constructor(className, changed) {
    Object.assign(this, { changed, node: make("div", className), words: make("p"), outcome: make("p", "outcome"), wrong: alarm() });
    this.outcome.setAttribute("role", "status");
    this.raise = button("", "", () => this.give(`${COMMAND} ${this.raised}`));
    this.node.append(this.words, this.raise, this.outcome, this.wrong);
  }

  // Adds an input for any limit.
  field() {
    const form = make("form", "buttons");
    const label = form.appendChild(make("label", "", "daily limit "));
    const input = label.appendChild(make("input"));
    Object.assign(input, { placeholder: "6 8M", autocomplete: "off", maxLength: 40, required: true });
    const hint = make("p", "under", HINT);
    hint.id = "limit-hint";
    input.setAttribute("aria-describedby", hint.id);
    form.append(make("button", "", "change"));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const typed = input.value.trim();
      if (typed && (await this.give(`${COMMAND} ${typed}`))) input.value = "";
    });
    this.outcome.before(form, hint);
    return this;
  }

  show(words, raised) {
    this.raised = raised;
    say(this.words, words);
    say(this.raise, raised ? `raise the limit to ${unitsOf(raised)} a day` : "");
    this.node.hidden = !words && !this.outcome.textContent;
  }

  // Changes the limit. The answer names the previous limit and the undo command, which becomes a
  // button.
  async give(command) {
    if (this.giving) return false;
    this.giving = true;
    const held = [this.raise, this.undo].includes(document.activeElement);
    try {
      const { text } = await assistant.command(command);
      const [said, back] = text.replaceAll("**", "").split("`");
      if (back) this.undo = button("Undo", "", () => this.give(back));
      this.outcome.replaceChildren(said, ...(this.undo ? [this.undo] : []));
      say(this.wrong, "");
      if (held) this.undo?.focus();
      await this.changed();
      this.outcome.scrollIntoView({ block: "nearest" });
      return true;
    } catch (error) {
      say(this.wrong, error.message);
      return false;
    } finally {
      this.giving = false;
    }
  }
}

// Formats a limit such as `$6.00 8M`: dollars, tokens, or both.
function unitsOf(limit) {
  return limit.split(" ").map((most) => (most.startsWith("$") ? most : `${most} tokens`)).join(" and ");
}
