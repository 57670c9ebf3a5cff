// Renders a subset of Markdown from the model as inert nodes.
//
// It creates nodes only and never parses text as HTML, so output of the model cannot run code.

const REACH = 2000; // characters in which a closing mark is searched
const DEPTH = 6;

export function render(text) {
  const into = document.createDocumentFragment();
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    const fence = /^\s{0,3}(`{3,}|~{3,})/.exec(line);
    if (!line.trim()) at += 1;
    else if (fence) at = code(lines, at, fence[1], into);
    else if (item(line)) at = list(lines, at, into, 0);
    else at = paragraph(lines, at, into);
  }
  return into;
}

function code(lines, start, mark, into) {
  let stop = start + 1;
  while (stop < lines.length && !lines[stop].trim().startsWith(mark)) stop += 1;
  const pre = node("pre", into);
  pre.tabIndex = 0;
  node("code", pre).textContent = lines.slice(start + 1, stop).join("\n");
  return stop + 1;
}

function item(line) {
  const found = /^(\s*)(?:([-*+])|(\d{1,4})[.)])\s+(\S.*)$/.exec(line);
  return found && { indent: found[1].length, number: found[3], text: found[4] };
}

function list(lines, start, into, depth) {
  const first = item(lines[start]);
  const all = node(first.number ? "ol" : "ul", into);
  if (first.number) all.start = Number(first.number);
  let at = start;
  let last = null;
  while (at < lines.length) {
    const next = item(lines[at]);
    if (!next) {
      if (!last || !/^\s+\S/.test(lines[at])) break;
      last.append("\n");
      inline(lines[at].trim(), last, 0);
      at += 1;
    } else if (next.indent > first.indent + 1 && last && depth < DEPTH) {
      at = list(lines, at, last, depth + 1);
    } else if (next.indent < first.indent || !next.number !== !first.number) {
      break;
    } else {
      last = node("li", all);
      inline(next.text, last, 0);
      at += 1;
    }
  }
  return at;
}

function paragraph(lines, start, into) {
  let at = start;
  const words = [];
  while (at < lines.length && lines[at].trim() && !/^\s{0,3}(```|~~~)/.test(lines[at])) {
    if (at > start && item(lines[at])) break;
    words.push(lines[at]);
    at += 1;
  }
  const heading = words.length === 1 && /^#{1,6}\s+(.*?)\s*#*$/.exec(words[0]);
  const p = node("p", into);
  if (heading) inline(heading[1], node("strong", p), 1);
  else inline(words.join("\n"), p, 0);
  return at;
}

function inline(text, into, depth) {
  let plain = "";
  let at = 0;
  const flush = () => {
    if (plain) into.append(plain);
    plain = "";
  };
  while (at < text.length) {
    const found = depth < DEPTH && mark(text, at);
    if (found) {
      flush();
      found.make(into, depth + 1);
      at = found.end;
    } else {
      const escaped = text[at] === "\\" && /[\\`*_[\]()#+\-.!~>]/.test(text[at + 1] ?? "");
      plain += escaped ? text[at + 1] : text[at];
      at += escaped ? 2 : 1;
    }
  }
  flush();
}

function mark(text, at) {
  switch (text[at]) {
    case "`": return ticked(text, at);
    case "*": return emphasis(text, at, text[at + 1] === "*" ? "**" : "*");
    case "_": return /\w/.test(text[at - 1] ?? "") ? null : emphasis(text, at, text[at + 1] === "_" ? "__" : "_");
    case "[": return link(text, at);
    case "h": return bare(text, at);
    default: return null;
  }
}

function near(text, what, from) {
  const found = text.slice(from, from + REACH).indexOf(what);
  return found < 0 ? -1 : from + found;
}

function ticked(text, at) {
  const ticks = /^`{1,9}/.exec(text.slice(at, at + 9))[0];
  const end = near(text, ticks, at + ticks.length);
  if (end < 0) return null;
  const inside = text.slice(at + ticks.length, end);
  return {
    end: end + ticks.length,
    make: (into) => { node("code", into).textContent = inside.trim() || inside; },
  };
}

function emphasis(text, at, marks) {
  const from = at + marks.length;
  const end = near(text, marks, from + 1);
  if (end < 0 || /\s/.test(text[from]) || /\s/.test(text[end - 1])) return null;
  if (marks[0] === "_" && /\w/.test(text[end + marks.length] ?? "")) return null;
  const name = marks.length === 2 ? "strong" : "em";
  return { end: end + marks.length, make: (into, depth) => inline(text.slice(from, end), node(name, into), depth) };
}

function link(text, at) {
  const middle = near(text, "](", at);
  const end = middle < 0 ? -1 : near(text, ")", middle);
  if (end < 0) return null;
  const label = text.slice(at + 1, middle);
  const address = safe(text.slice(middle + 2, end).trim());
  if (!address || label.includes("[")) return null;
  return { end: end + 1, make: (into) => anchor(into, address, label.trim()) };
}

function bare(text, at) {
  if (/\w/.test(text[at - 1] ?? "")) return null;
  const found = /^https?:\/\/[^\s<>"'`\\]+/.exec(text.slice(at, at + REACH));
  const words = found && found[0].replace(/[.,;:!?)\]*_]+$/, "");
  const address = words && safe(words);
  return address ? { end: at + words.length, make: (into) => anchor(into, address, words) } : null;
}

// User info before the host is refused: it would make an address look like another one.
function safe(words) {
  let address;
  try {
    address = new URL(words);
  } catch {
    return null;
  }
  const web = address.protocol === "https:" || address.protocol === "http:";
  return web && !address.username && !address.password ? address : null;
}

function anchor(into, address, label) {
  const a = node("a", into);
  a.href = address.href;
  a.rel = "noreferrer noopener";
  a.target = "_blank";
  a.textContent = label || address.href;
  if (label === address.href || `${label}/` === address.href) return;
  const rest = address.pathname + address.search + address.hash;
  const shown = rest === "/" ? "" : rest.length > 40 ? `${rest.slice(0, 40)}…` : rest;
  const target = node("span", into);
  target.className = "target";
  target.textContent = ` (${address.host}${shown})`;
}

function node(name, into) {
  return into.appendChild(document.createElement(name));
}
