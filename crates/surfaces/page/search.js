// Search over the whole history.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { alarm, button, clock, count, day, say } from "./kit.js";

const WHO = { human: "you", assistant: "ollim", tools: "a tool", summary: "a summary" };
const PAUSE = 250; // milliseconds after the last key press before the search starts

export class Search {
  // `jump` shows an entry in the chat.
  constructor(section, { jump, tell }) {
    Object.assign(this, { section, jump, tell, asked: 0, hits: [] });
    const form = section.appendChild(make("form", "search-form"));
    const label = form.appendChild(make("label", "", "words that were said"));
    this.input = form.appendChild(make("input"));
    Object.assign(this.input, { id: "looked-for", type: "search", maxLength: 200, autocomplete: "off" });
    label.htmlFor = this.input.id;
    this.state = section.appendChild(make("p", "under"));
    this.state.setAttribute("role", "status");
    this.bar = section.appendChild(make("progress", "looking"));
    this.bar.ariaLabel = "looking";
    this.bar.hidden = true;
    this.wrong = section.appendChild(alarm());
    this.list = section.appendChild(make("ol", "hits"));
    this.more = section.appendChild(button("older ones", "", () => this.look(this.hits.at(-1)?.id)));
    this.more.hidden = true;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.look();
    });
    this.input.addEventListener("input", () => {
      clearTimeout(this.soon);
      this.soon = setTimeout(() => this.look(), PAUSE);
    });
  }

  enter() {
    if (matchMedia("(pointer: fine)").matches) this.input.focus();
  }

  leave() {}

  heard() {}

  // A search that takes longer than a second shows the elapsed time.
  async look(before) {
    const words = this.input.value.trim();
    const ask = (this.asked += 1);
    const since = Date.now();
    this.rest();
    if (!words) return this.show([], false, words);
    this.list.ariaBusy = "true";
    this.more.disabled = true;
    this.ticking = setInterval(() => {
      this.bar.hidden = false;
      say(this.state, `looking${before === undefined ? "" : " further back"}… ${Math.round((Date.now() - since) / 1000)} s`);
    }, 1000);
    try {
      const { hits, more } = await assistant.search(words, before);
      if (ask !== this.asked) return;
      say(this.wrong, "");
      this.show(before === undefined ? hits : [...this.hits, ...hits], more, words);
    } catch (error) {
      if (ask !== this.asked) return;
      say(this.state, "");
      say(this.wrong, error.message);
    } finally {
      if (ask === this.asked) this.rest();
    }
  }

  // Ends the progress display of a search.
  rest() {
    clearInterval(this.ticking);
    this.bar.hidden = true;
    this.list.ariaBusy = null;
    this.more.disabled = false;
  }

  show(hits, more, words) {
    this.hits = hits;
    this.more.hidden = !more;
    const found = hits.length ? `${count(hits.length, "place")}${more ? " and more" : ""}, newest first` : "that was never said.";
    say(this.state, words ? found : "");
    this.list.replaceChildren(...hits.map((hit) => this.hit(hit, words)));
  }

  hit({ id, at, by, text }, words) {
    const li = make("li");
    const open = button("", "hit", () => this.jump(id));
    open.append(make("span", "under", `${WHO[by]} · ${day(at)} ${at.slice(0, 4)} ${clock(at)}`), marked(text, words));
    li.append(open);
    return li;
  }
}

// Highlights each search word in the text.
function marked(text, words) {
  const span = make("span", "said");
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const lower = text.toLowerCase();
  if (lower.length !== text.length) return Object.assign(span, { textContent: text });
  let at = 0;
  while (at < text.length) {
    const found = wanted.map((word) => [lower.indexOf(word, at), word]).filter(([place]) => place >= 0).sort(([one], [other]) => one - other)[0];
    if (!found) break;
    const [place, word] = found;
    span.append(text.slice(at, place), make("mark", "", text.slice(place, place + word.length)));
    at = place + word.length;
  }
  span.append(text.slice(at));
  return span;
}
