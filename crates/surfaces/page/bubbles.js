// Builds the nodes of log items: messages, tool calls, embeds and notes.

import { render } from "./markdown.js";

export function make(name, className, text) {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// Builds the log item of an entry. `results` maps call ids to the tool results known so far.
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

// Builds the nodes of tool results that are shown to the user: text and embeds.
function shownBy(results) {
  return results.flatMap(({ words, embed: card }) => [words && spoken(words), card && embed(card)].filter(Boolean));
}

// Returns the text of a message that a reply can quote; empty if it has none.
export function words(entry) {
  if (entry.text !== undefined) return entry.text.trim();
  const parts = (entry.results ?? []).map((result) => result.words ?? result.embed?.title ?? "");
  return parts.filter(Boolean).join(" ").trim();
}

function reply(entry) {
  // The label comes from CSS, so that it is not copied together with the message.
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

// Builds an embed with a title, fields and buttons. A button stores the text that a press sends; a
// button without such a text is disabled.
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

// Renders `**bold**`; notes support no other markup.
function bold(text) {
  const parts = text.split("**");
  if (parts.length % 2 === 0) return [text];
  return parts.map((part, at) => (at % 2 ? make("strong", "", part) : part));
}

// Builds the item of a command that the user typed. It is not part of the conversation.
export function order(text) {
  const li = make("li", "human order");
  li.append(make("div", "bubble", text));
  return li;
}

// Builds a note with an embed, used for the start and end of an interactive fork.
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

// Replaces `_` and `-` in a tool name by spaces, except in parentheses.
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

// Builds the line that shows a running tool. A denied tool is struck through.
export function doing({ tool, doing: what }, seconds) {
  if (what === "denied") return struck(make("p", "doing"), plain(tool), "denied");
  const time = seconds >= 3 ? ` ${seconds} s` : "";
  return make("p", "doing", what === "waits" ? `waiting for your yes: ${plain(tool)}…${time}` : `${plain(tool)}…${time}`);
}

// Builds the log item with the outcome of an approval.
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
