// K5: whatever the model says stays words.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { attacks } from "./attacks.js";
import { browser, house, into } from "./house.js";

const QUIET = ["A", "BUTTON", "CODE", "DIV", "EM", "I", "LI", "OL", "P", "PRE", "SPAN", "STRONG", "UL"];

// What in the log could act: a foreign element, a handler, an address that is not of the web.
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

// Where the page itself asks for something; anything else would be an attack at work.
const OWN = /^\/($|\w+\.(css|js)$|icon\.svg$|api\/(pair|health|messages|events|schedule|sessions|today|pings|cost|updates|delivery|devices|search|reading)$)/;

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

// K5: 500 and more strings, through the real parser of a real browser.
test(`${attacks.length} attacks in the history of the model are words`, async (t) => {
  assert.ok(attacks.length >= 500, `only ${attacks.length}`);
  const file = join(mkdtempSync(join(tmpdir(), "ollim-attacks-")), "history.json");
  writeFileSync(file, JSON.stringify(attacks));
  const room = await watched(t, file);
  const count = () => room.page.locator("#log > li").count();
  await room.page.waitForFunction(() => document.querySelectorAll("#log > li").length === 50);
  await room.page.hover("#scroll");
  for (let more = 0; more < 2000 && (await count()) < attacks.length; more += 1) await room.page.mouse.wheel(0, -4000);
  assert.equal(await count(), attacks.length);
  const shown = await room.page.$$eval("#log > li > .bubble", (all) => all.map((node) => node.textContent));
  const scripts = attacks.map((text, at) => [text, at]).filter(([text]) => text.startsWith("<script>"));
  for (const [text, at] of scripts) assert.equal(shown[at], text);
  await room.verdict();
});

// K5: and on their way in.
test("attacks in a streamed answer, in own words and in a notice are words", async (t) => {
  const room = await watched(t);
  for (let from = 0; from < attacks.length; from += 100) {
    const words = attacks.slice(from, from + 100).join("\n\n");
    await room.page.fill("#words", words);
    await room.page.press("#words", "Enter");
    await room.page.waitForSelector(".live .bubble");
    await room.page.waitForFunction(() => !document.querySelector(".live, .waiting, .dots"), undefined, { timeout: 90_000 });
  }
  await room.home.order("notice <img src=x onerror=pwned(1)><script>pwned(1)</script>");
  await room.page.waitForSelector(".note");
  assert.match(await room.page.innerText(".note"), /^<img src=x/);
  await room.verdict();
});

test("a mountain of marks does not stop the page", async (t) => {
  const room = await watched(t);
  const marks = ["[", "*", "_", "`", "](", "http://", "- ", "- x\n", "1. ", "\\", "[a](", "**a", "> ", "```\n"];
  for (const mark of marks) {
    const spent = await room.page.evaluate(async (text) => {
      const { render } = await import("/markdown.js");
      const start = performance.now();
      render(text);
      return performance.now() - start;
    }, mark.repeat(100_000 / mark.length));
    assert.ok(spent < 1000, `${JSON.stringify(mark)} took ${spent} ms`);
  }
  await room.verdict();
});

// K5: what a fork is about is the model's word too.
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

test("an attack that worked would be noticed", async (t) => {
  const room = await watched(t);
  await room.page.evaluate(() => {
    document.querySelector("#log").innerHTML = "<li><img src=x onerror=pwned(1)><a href='javascript:1'>x</a></li>";
  });
  const found = await room.page.evaluate(active, QUIET);
  assert.equal(found.length, 4);
  await assert.rejects(room.verdict());
});
