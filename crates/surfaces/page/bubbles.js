// Bubbles: how one thing that was said looks.

import { render } from "./markdown.js";

export function make(name, className, text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// What was said, as an item of the log. `results` holds what came of each call, as far as it is known.
export function bubble(entry, results) {
  const li = make("li", entry.by);
  li.dataset.id = entry.id;
  const at = new Date(entry.at);
  li.title = at.toLocaleString();
  li.dataset.date = at.toDateString();
  switch (entry.by) {
    case "human":
      if (!entry.text && !entry.images) li.classList.add("bare");
      if (entry.text) li.append(make("div", "bubble", entry.text));
      if (entry.images) li.append(make("p", "under", entry.images === 1 ? "a picture" : `${entry.images} pictures`));
      break;
    case "assistant":
      if (entry.text.trim()) li.append(spoken(entry.text));
      if (entry.calls.length) li.append(steps(entry.calls, results));
      if (!entry.whole) {
        li.classList.add("cut");
        li.append(make("p", "under", "stopped here"));
      }
      break;
    case "summary":
      li.append(folded("compacted: what came before, in short", entry.text));
      break;
    case "recalled":
      li.append(make("p", "under", "the summary was taken back; every word counts again"));
      break;
    default:
      li.append(...shownBy(entry.results ?? []));
      if (!li.children.length) li.classList.add("bare");
  }
  if (entry.from) {
    li.classList.add("sent");
    li.append(make("p", "under", entry.from));
  }
  if (words(entry)) li.append(reply(entry));
  return li;
}

// What tools show: words for the human, and embeds.
function shownBy(results) {
  return results.flatMap(({ words, embed: card }) => [words && spoken(words), card && embed(card)].filter(Boolean));
}

// The words of a message, as far as there are any to reply to.
export function words(entry) {
  if (entry.text !== undefined) return entry.text.trim();
  const parts = (entry.results ?? []).map((result) => result.words ?? result.embed?.title ?? "");
  return parts.filter(Boolean).join(" ").trim();
}

function reply(entry) {
  // Its word is in the style: who copies a message copies what was said.
  const button = make("button", "reply");
  button.type = "button";
  button.dataset.reply = entry.id;
  button.dataset.words = words(entry).slice(0, 120);
  button.setAttribute("aria-label", `reply to: ${button.dataset.words}`);
  return button;
}

function folded(title, text) {
  const details = make("details", "steps");
  details.append(make("summary", "", title), spoken(text));
  return details;
}

export function spoken(text) {
  const div = make("div", "bubble");
  div.append(render(text));
  return div;
}

// A title, some facts and buttons. What is sent when a button is pressed is on it; without that it cannot be.
export function embed({ title, description, color, fields, buttons, footer }) {
  const card = make("section", `embed ${color}`);
  card.append(make("h3", "", title));
  if (description) card.append(spoken(description));
  if (fields.length) {
    const facts = card.appendChild(make("dl"));
    for (const { name, value, inline } of fields) {
      const fact = facts.appendChild(make("div", inline ? "" : "wide"));
      fact.append(make("dt", "", name), make("dd", "", value));
    }
  }
  if (buttons.length) {
    const row = card.appendChild(make("p", "buttons"));
    for (const { label, style, press } of buttons) {
      const button = row.appendChild(make("button", style, label));
      button.type = "button";
      button.disabled = !press;
      if (press) button.dataset.press = press;
    }
  }
  if (footer) card.append(make("p", "under", footer));
  return card;
}

export function note(text, quiet) {
  const li = make("li", quiet ? "note quiet" : "note");
  li.appendChild(make("div", "bubble")).append(...bold(text));
  return li;
}

// What stands between two pairs of stars is bold; nothing else is marked in a note.
function bold(text) {
  const parts = text.split("**");
  if (parts.length % 2 === 0) return [text];
  return parts.map((part, at) => (at % 2 ? make("strong", "", part) : part));
}

// A command as the human gave it. It is no part of the conversation.
export function order(text) {
  const li = make("li", "human order");
  li.append(make("div", "bubble", text));
  return li;
}

// A note that is an embed: how a side conversation begins and ends.
export function cardNote(card) {
  const li = make("li", "note card");
  li.append(embed(card));
  return li;
}

export function dots() {
  const div = make("div", "dots");
  div.setAttribute("role", "img");
  div.setAttribute("aria-label", "thinking");
  div.append(make("i"), make("i"), make("i"));
  return div;
}

// The name of a tool in words. What stands in brackets is left as it is.
export const plain = (tool) => tool.replace(/^[^(]*/, (name) => name.replace(/[_-]+/g, " "));

function steps(calls, results) {
  const details = make("details", "steps");
  const summary = details.appendChild(make("summary", "", `${calls.length === 1 ? "1 step" : `${calls.length} steps`}: `));
  for (const [at, call] of calls.entries()) {
    if (at) summary.append(", ");
    const name = summary.appendChild(make("span", "step", plain(call.tool)));
    name.dataset.step = call.id;
    name.classList.toggle("denied", results.get(call.id)?.outcome === "denied");
  }
  const list = details.appendChild(make("dl"));
  for (const call of calls) {
    list.append(make("dt", "", plain(call.tool)));
    if (call.input && call.input !== "{}") list.append(make("dd", "", call.input));
    const result = list.appendChild(make("dd", "result"));
    result.dataset.call = call.id;
    tell(result, results.get(call.id));
  }
  return details;
}

export function tell(node, result) {
  node.textContent = result ? `→ ${result.text}` : "…";
  node.classList.toggle("failed", Boolean(result) && result.outcome !== "done");
}

// What a tool does, in one line. One that was denied is struck out.
export function doing({ tool, doing: what }, seconds) {
  if (what === "denied") return struck(make("p", "doing"), plain(tool), "denied");
  const time = seconds >= 3 ? ` ${seconds} s` : "";
  return make("p", "doing", what === "waits" ? `waiting for your yes: ${plain(tool)}…${time}` : `${plain(tool)}…${time}`);
}

// What came of an approval, as it stands in the log.
export function answer(caption, how, denied) {
  const li = note("", true);
  if (denied) struck(li.firstChild, caption, how);
  else li.firstChild.textContent = `${caption} — ${how}`;
  return li;
}

function struck(node, words, how) {
  node.append(make("s", "", words), ` — ${how}`);
  return node;
}
