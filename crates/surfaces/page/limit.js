// The daily limit of work nobody waits for: how it stands, and the command that changes it.

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

  // A field for whatever limit the human wants.
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

  // The answer tells what the limit was, and the command that takes it back, which becomes a button.
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

// `$6.00 8M` is dollars and tokens, and either may stand alone.
function unitsOf(limit) {
  return limit.split(" ").map((most) => (most.startsWith("$") ? most : `${most} tokens`)).join(" and ");
}
