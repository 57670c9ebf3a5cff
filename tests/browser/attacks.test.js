// K5: output of the model is shown as text and never runs.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { attacks } from "./attacks.js";
import { browser, date, house, into, scrollTo } from "./house.js";

const QUIET = ["A", "BUTTON", "CODE", "DIV", "EM", "I", "LI", "OL", "P", "PRE", "SPAN", "STRONG", "UL"];

// Returns the elements of the log that could run or load something: foreign elements, handlers,
// addresses outside http.
function active(quiet) {
  const found = [];
  for (const node of document.querySelectorAll("#log *")) {
    if (!quiet.includes(node.tagName)) found.push(node.outerHTML);
    for (const { name, value } of node.attributes) {
      const fine = ["class", "title", "role", "aria-label", "tabindex", "start", "rel", "target"].includes(name);
      const web = name === "href" && /^https?:\/\/[^@]*$/.test(value) && node.rel === "noreferrer noopener";
      const ours = name === "type" && value === "button" && node.className === "reply";
      if (!fine && !web && !ours && !name.startsWith("data-")) found.push(`${name}=${value}`);
    }
  }
  return found;
}

// The requests that the page itself sends; any other request means that an attack worked.
const OWN = /^\/($|\w+\.(css|js)$|icon\.svg$|api\/(pair|health|context|calendar|messages|events|schedule(\/versions?|\/file)?|sessions|today|pings|cost|updates|delivery|devices|search|notes(\/text)?|reading)$)/;

async function watched(t, history) {
  const home = await house(history);
  t.after(home.end);
  const seat = await browser();
  t.after(seat.end);
  const strange = [];
  seat.context.on("request", (request) => {
    const address = new URL(request.url());
    if (address.origin !== home.origin || !OWN.test(address.pathname)) strange.push(request.url());
  });
  await seat.page.addInitScript(() => {
    window.pwned = () => document.documentElement.setAttribute("pwned", "");
  });
  await seat.page.goto(home.link);
  await into(seat.page, "chat");
  const verdict = async () => {
    assert.deepEqual(await seat.page.evaluate(active, QUIET), []);
    assert.equal(await seat.page.evaluate(() => document.documentElement.hasAttribute("pwned")), false);
    assert.equal(seat.page.url(), `${home.origin}/#chat`);
    assert.deepEqual([strange, seat.abroad, seat.dialogs, seat.errors], [[], [], [], []]);
  };
  return { home, page: seat.page, verdict };
}

// K5: more than 500 strings, through the parser of a real browser.
test(`${attacks.length} attacks in the history of the model are words`, async (t) => {
  assert.ok(attacks.length >= 500, `only ${attacks.length}`);
  const file = join(mkdtempSync(join(tmpdir(), "ollim-attacks-")), "history.json");
  writeFileSync(file, JSON.stringify(attacks));
  const room = await watched(t, file);
  const count = () => room.page.locator("#log > li").count();
  await room.page.waitForFunction(() => document.querySelectorAll("#log > li").length === 50);
  await scrollTo(room.page, attacks.length);
  assert.equal(await count(), attacks.length);
  const shown = await room.page.$$eval("#log > li > .bubble", (all) => all.map((node) => node.textContent));
  const scripts = attacks.map((text, at) => [text, at]).filter(([text]) => text.startsWith("<script>"));
  for (const [text, at] of scripts) assert.equal(shown[at], text);
  await room.verdict();
});

// K5: the same strings while they arrive as a stream.
test("attacks in a streamed answer, in own words and in a notice are words", async (t) => {
  const room = await watched(t);
  for (let from = 0; from < attacks.length; from += 100) {
    const words = attacks.slice(from, from + 100).join("\n\n");
    const answers = from / 100 + 1;
    await room.page.fill("#words", words);
    await room.page.press("#words", "Enter");
    await room.page.waitForFunction((least) => document.querySelectorAll("#log > li.assistant:not(.live)").length >= least && !document.querySelector(".live, .waiting, .dots"), answers);
  }
  await room.home.order("notice <img src=x onerror=pwned(1)><script>pwned(1)</script>");
  await room.page.waitForSelector(".note");
  assert.match(await room.page.innerText(".note"), /^<img src=x/);
  await room.verdict();
});

test("a mountain of marks does not stop the page", async (t) => {
  const room = await watched(t);
  const marks = ["[", "*", "_", "`", "](", "http://", "- ", "- x\n", "1. ", "\\", "[a](", "**a", "> ", "```\n"];
  // Twice the marks may take twice the steps. The test counts executed steps, because durations
  // depend on the machine. The browser only counts the steps of scripts that it parses while
  // counting, so each run uses a new script name.
  let scripts = 0;
  const steps = async (text) => {
    const name = `/markdown.js?${scripts += 1}`;
    await room.page.coverage.startJSCoverage({ resetOnNavigation: false });
    await room.page.evaluate(async ([name, text]) => { (await import(name)).render(text); }, [name, text]);
    const { functions } = (await room.page.coverage.stopJSCoverage()).find(({ url }) => url.endsWith(name));
    return functions.flatMap(({ ranges }) => ranges).reduce((sum, { count }) => sum + count, 0);
  };
  for (const mark of marks) {
    const some = await steps(mark.repeat(2_000));
    const twice = await steps(mark.repeat(4_000));
    assert.ok(twice < 2.2 * some, `${JSON.stringify(mark)} takes ${some} steps, and twice of it ${twice}`);
    await room.page.evaluate(async (text) => { (await import("/markdown.js")).render(text); }, mark.repeat(100_000 / mark.length));
  }
  await room.verdict();
});

// K5: the topic of a fork is also text of the model.
test("attacks as topics of forks are words, in the picture and in the table", async (t) => {
  const room = await watched(t);
  const lines = attacks.map((label, at) => ({
    at: "2026-11-15T08:00:00Z", branch: `fork/${at}`, why: "forked", label, lane: 1, from: null,
    to: { session: "s", depth: 1 }, main: null, entries: 1, left_behind: 0,
  }));
  await room.page.route("**/api/sessions*", (route) => route.fulfill({ json: { open: [], lines, lanes: 1, older: 0, left_out: null } }));
  await room.page.evaluate(() => { location.hash = "sessions"; });
  await room.page.waitForSelector("#sessions .node");
  const shown = await room.page.$$eval("#sessions tbody tr", (all) => all.map((row) => row.cells[3].textContent));
  assert.deepEqual(shown, attacks);
  const tags = await room.page.$$eval("#sessions .picture *, #sessions tbody *", (all) => [...new Set(all.map((node) => node.tagName))]);
  assert.deepEqual(tags.sort(), ["TD", "TR", "circle", "defs", "g", "marker", "path", "rect", "svg", "text"]);
  await room.page.click("#sessions .node >> nth=0");
  await room.page.evaluate(() => history.replaceState(null, "", "/#chat"));
  await room.verdict();
});

// Returns the elements of a view that could run or load something.
function acting(view) {
  const found = [];
  const bad = ["SCRIPT", "IFRAME", "IMG", "OBJECT", "EMBED", "LINK", "STYLE", "META", "BASE", "VIDEO", "AUDIO", "SOURCE", "PORTAL", "TEMPLATE", "NOSCRIPT", "MATH", "ANIMATE", "FOREIGNOBJECT"];
  for (const node of document.querySelectorAll(`#${view} *`)) {
    if (bad.includes(node.tagName.toUpperCase())) found.push(node.outerHTML.slice(0, 200));
    for (const { name, value } of node.attributes) {
      if (name.startsWith("on") || name === "srcdoc" || name === "formaction" || name === "action") found.push(`${name}=${value}`);
      if (/^(href|src|xlink:href|data)$/.test(name) && !/^(#|https?:\/\/[^@]*$)/.test(value)) found.push(`${name}=${value}`);
    }
  }
  return found;
}

// K5: calendar entries are written by other people.
test("attacks as names and places of appointments are words, in the picture and in the table", async (t) => {
  const room = await watched(t);
  const day = date();
  const events = attacks.map((name) => ({ name, place: name, from: `${day}T10:00:00+00:00`, to: `${day}T11:00:00+00:00`, kind: "time" }));
  await room.page.route("**/api/calendar*", (route) => route.fulfill({ json: { events, notes: attacks.slice(0, 5) } }));
  await room.page.evaluate(() => { location.hash = "today"; });
  await room.page.reload();
  await room.page.waitForSelector("#today .booked");
  assert.deepEqual(await room.page.$$eval("#today .booked text", (all) => all.map((text) => text.textContent)), attacks);
  assert.deepEqual(await room.page.evaluate(acting, "today"), []);
  await room.page.evaluate(() => { location.hash = "chat"; });
  await room.page.waitForSelector("#chat:not([hidden])");
  await room.verdict();
});

const AT = "2026-11-15T08:00:00+01:00";
const TIME = { at: AT, words: "sun 15 nov 08:00 · in 2 h" };
const ATTENTION = (held) => ({ quiet: "22:00-08:00", spans: [], quiet_until: null, focus: null, next_digest: TIME, pushes: 0, a_day: 6, minutes_apart: 45, held });
const BUDGET = { capacity: 5, available: 4, refill_minutes: 90, used_today: 1, critical_today: 0, words: attacks[0] };
const TOTAL = { calls: 1, unpriced_calls: 0, input: 1, cache_read: 1, cache_write: 0, output: 1, cached_percent: 50, dollars: 0.1 };
const once = (text, at, more) => ({ job: text, id: `i${at}`, name: text, file: text, kind: "reminder", when: text, next: TIME, paused: null, background: false, session: null, may_ping: false, fires: [AT], fires_cut: false, open: null, last: [], ...more });

// Data for all views, with an attack in every text.
const TOLD = {
  today: { now: TIME, next: { job: "reminder:x", id: "x", name: attacks[5], ...TIME }, rest: attacks.map((name, at) => ({ job: `reminder:${at}`, id: name, name, at: AT, words: name })), inbox: "", kept: attacks.map((text, id) => ({ id, at: AT, text })), cards: attacks.map((words, at) => ({ id: words + at, words, said: words, rang: AT, state: "open", at: null, buttons: [{ label: words, style: "success", press: words }], moves: words, times: [words], says: `${words} ~~${words}~~`, when: null })), attention: ATTENTION(attacks.map((words, id) => ({ id, at: AT, job: words, name: words, words, why: words }))), missed: [], broken: 1 },
  schedule: { now: AT, from: "2026-11-15T00:00:00+01:00", to: "2026-11-16T00:00:00+01:00", hours: [], paused: null, jobs: attacks.map((text, at) => once(text, at)), left_out: 0, gone: [], missed: [], broken: attacks.map((why, at) => ({ file: `${why}${at}`, why })) },
  pings: { now: AT, from: "2026-11-09T00:00:00+01:00", days: 7, budget: BUDGET, attention: ATTENTION(attacks.map((words, id) => ({ id, at: AT, job: words, name: words, words, why: words }))), grid: [], outcomes: attacks.map((outcome) => ({ outcome, count: 1 })), pings: attacks.map((words, at) => ({ at: AT, lane: words, job: words, name: words, words, outcome: words, minutes: 1, left: [5, 4], why: `${words}${at}` })) },
  cost: { date: "2026-11-15", days: 14, today: TOTAL, week: TOTAL, month: TOTAL, by_source: attacks.map((name) => ({ name, ...TOTAL })), by_model: attacks.map((name) => ({ name, ...TOTAL })), by_day: [], by_day_and_source: attacks.map((name) => ({ day: "2026-11-15", name, ...TOTAL })), unattended: { dollars: 0, tokens: 0, dollars_per_day: 5, tokens_per_day: null, dollars_left: 5, tokens_left: null } },
  updates: { updates: attacks.map((text, id) => ({ id, at: AT, from: text, text })) },
  search: { hits: attacks.map((text, id) => ({ id, at: AT, by: "human", text })), more: true },
  devices: { devices: attacks.map((label, id) => ({ id: String(id), label, paired: AT })) },
  delivery: { count: 0, half: null, most: null, bins: attacks.map((late) => ({ late, count: 1 })) },
};

// K5: all other views that show text by other people.
test("attacks in everything that the views are told are words", async (t) => {
  const room = await watched(t);
  const { page } = room;
  const health = await page.evaluate(async () => (await fetch("/api/health")).json());
  const told = { ...TOLD, health: { ...health, brain: attacks[3], data_dir: attacks[4], surfaces: attacks, discord: attacks[7], notices: attacks } };
  await page.route(/\/api\/(today|schedule|pings|cost|updates|search|devices|delivery|health)(\?|$)/, (route) => {
    const name = /\/api\/(\w+)/.exec(route.request().url())[1];
    return route.fulfill({ json: told[name] });
  });
  const wanted = { today: ".rang", schedule: ".job", pings: ".pinged li", cost: "tbody tr", updates: "li", files: ".file-list li", search: ".hit", health: ".devices li" };
  for (const [view, thing] of Object.entries(wanted)) {
    await page.evaluate((name) => { location.hash = name; }, view);
    if (view === "search") await page.fill("#looked-for", "<img src=x onerror=pwned(1)>");
    await page.waitForFunction(([name, what, least]) => document.querySelectorAll(`#${name} ${what}`).length >= least, [view, thing, view === "search" ? 30 : 300]);
    assert.deepEqual(await page.evaluate(acting, view), [], view);
    const words = await page.locator(`#${view}`).evaluate((node) => node.textContent);
    assert.ok(words.includes("<script>"), `${view} shows the words`);
  }
  await page.evaluate(() => { location.hash = "chat"; });
  await page.evaluate(() => document.querySelector("#log").replaceChildren());
  await room.verdict();
});

test("an attack that worked would be noticed", async (t) => {
  const room = await watched(t);
  await room.page.evaluate(() => {
    document.querySelector("#log").innerHTML = "<li><img src=x onerror=pwned(1)><a href='javascript:1'>x</a></li>";
  });
  const found = await room.page.evaluate(active, QUIET);
  assert.equal(found.length, 4);
  await assert.rejects(room.verdict());
});
