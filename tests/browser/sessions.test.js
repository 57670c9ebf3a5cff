// The session tree on the page: with data from the real assistant, and with fixed data for all
// events.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PICTURES, assistant, browser, eventually, house, into } from "./house.js";

const SCRIPT = [
  "good morning. two things today: the dentist at 15:00, and groceries.",
  "i am here. what about the flights?",
  "the cheapest is 80, on the 14th of march.",
  "let us plan the trip.",
  "lisbon it is, from the 14th to the 21st.",
  "i am here.",
  "hello again.",
  "they cost 80, on the 14th. we greeted again.",
  "what about the insurance?",
].map((say) => ({ say }));

let home;
let seat;

before(async () => {
  home = await assistant(SCRIPT);
  seat = await browser();
  await seat.page.goto(await home.start());
  await into(seat.page, "chat");
});

after(async () => {
  await seat?.end();
  await home?.end();
});

const kinds = (page) => page.$$eval("#sessions .picture .node", (all) => all.map((node) => node.classList[1]));
const table = (page) => page.$$eval("#sessions tbody tr", (all) => all.map((row) => row.dataset.kind));
const drawn = (page, count) => page.waitForFunction((count) => document.querySelectorAll("#sessions .picture .node").length === count, count);
const wide = (page) => page.evaluate(() => [document.documentElement, document.querySelector("#sessions")].map((node) => node.scrollWidth - node.clientWidth));

// Sends a message and waits until its effect is visible.
async function say(words, done) {
  await seat.page.fill("#words", words);
  await seat.page.press("#words", "Enter");
  await seat.page.waitForFunction((done) => document.querySelector("#log").innerText.includes(done), done);
  await seat.page.waitForFunction(() => !document.querySelector(".live, .waiting, .dots"));
}

const STORY = ["now", "undone", "undone", "compacted", "created", "cleared", "dropped", "began", "saved", "began", "reported", "began", "created"];

test("before anything was said, the view says so", async () => {
  await seat.page.evaluate(() => { location.hash = "sessions"; });
  await seat.page.waitForSelector("#sessions .empty >> text=nothing was said yet");
  assert.equal(new URL(seat.page.url()).hash, "#sessions");
  assert.equal(await seat.page.locator("#chat").isVisible(), false);
  await seat.page.keyboard.press("c");
  await into(seat.page, "chat");
});

test("a talk with forks, a clearing and an undoing is drawn as it went", async () => {
  await say("good morning", "groceries");
  await say("/fork flights", "what about the flights?");
  await say("how much are they?", "the cheapest is 80");
  await say("/report they cost 80, on the 14th", "summary queued");
  await say("/fork the trip", "let us plan");
  await say("lisbon in march", "lisbon it is");
  await say("/save", "saved to main");
  await say("/fork", "i am here.");
  await say("/exit", "Fork Ended — discarded");
  await say("/clear", "cleared:");
  await say("hello?", "hello again");
  await say("/compact", "compacted:");
  await say("/undo", "every word again");
  await say("/undo", "our old conversation again");

  await seat.page.evaluate(() => { location.hash = "sessions"; });
  await drawn(seat.page, STORY.length);
  await eventually(async () => assert.deepEqual(await kinds(seat.page), STORY));
  assert.deepEqual(await table(seat.page), STORY);
  const counted = await seat.page.evaluate(() => Object.fromEntries(
    ["edge.began", "edge.reported", "edge.saved", "edge.undone", "lane.reported", "lane.saved", "lane.dropped", "trunk.beside"]
      .map((name) => [name, document.querySelectorAll(`.picture .${name}`).length]),
  ));
  assert.deepEqual(counted, {
    "edge.began": 3, "edge.reported": 1, "edge.saved": 1, "edge.undone": 2,
    "lane.reported": 1, "lane.saved": 1, "lane.dropped": 1, "trunk.beside": 2,
  });
  const titles = await seat.page.$$eval("#sessions .node .title", (all) => all.map((node) => node.textContent.trim()));
  assert.deepEqual(titles.slice(0, 4), ["main", "taken back · the clearing", "taken back · the compaction", "compacted"]);
  assert.deepEqual([titles[8], titles[10], titles[11]], ["saved · the trip", "reported · flights", "began · flights"]);
  assert.match(titles[6], /^dropped · fork\/\w+/);
});

test("the terminal tells the same tree", () => {
  const told = JSON.parse(home.command("sessions", "tree", "--json").out);
  const whys = told.lines.map(({ why }) => why);
  assert.deepEqual(whys, ["undone", "undone", "compacted", "created", "cleared", "dropped", "forked", "promoted", "forked", "reported", "forked", "created"]);
  assert.match(told.drawing, /┃◀╮ {2}fork\/\w+ saved [\d :-]+ · the trip · 4 entries/);
});

test("it can be walked by keyboard, and enter tells what is known", async () => {
  const { page } = seat;
  await page.focus("#sessions .node[tabindex='0']");
  assert.equal(await page.locator("#sessions .node[tabindex='0']").count(), 1, "one stop for the tab key");
  for (let row = 0; row < 10; row += 1) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const facts = await page.innerText("#sessions .facts");
  assert.match(facts, /reported · flights/);
  assert.match(facts, /session\s+[0-9a-f]{8}-/);
  assert.match(facts, /entries\s+4 entries/);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.match(await page.innerText("#sessions .facts"), /how it ended\s+reported, today/);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#sessions .facts").isVisible(), false);
  await page.keyboard.press("End");
  assert.equal(await page.evaluate(() => document.activeElement.classList[1]), "created");
  await page.click("#sessions .node.saved");
  assert.match(await page.innerText("#sessions .facts"), /session before/);
  await page.click("#sessions .node.undone >> nth=0");
  assert.match(await page.innerText("#sessions .facts"), /took back\s+started over, today/);
  await page.click("#sessions .facts button");
});

test("it grows by itself while one looks at it", async () => {
  const other = await seat.context.newPage();
  await other.goto(`${new URL(seat.page.url()).origin}/`);
  await into(other, "chat");
  await other.fill("#words", "/fork insurance");
  await other.press("#words", "Enter");
  await drawn(seat.page, STORY.length + 2);
  assert.deepEqual((await kinds(seat.page)).slice(0, 3), ["now", "open", "began"]);
  await other.waitForFunction(() => document.querySelector("#log").innerText.includes("what about the insurance?"));
  await other.close();
});

test("it is looked at in both sizes and both lights", async () => {
  for (const [width, height] of [[1280, 860], [380, 800]]) {
    for (const colorScheme of ["dark", "light"]) {
      await seat.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await seat.page.setViewportSize({ width, height });
      await seat.page.waitForFunction((width) => Math.abs(document.querySelector(".picture svg").clientWidth - document.querySelector(".picture").clientWidth) < 2 && innerWidth === width, width);
      await seat.page.$eval("#sessions .key", (key) => { key.open = matchMedia("(min-width: 60rem)").matches; });
      if (width > 1000) await seat.page.click("#sessions .node.saved");
      await seat.page.evaluate(() => document.querySelector("#sessions").scrollTo(0, 0));
      await seat.page.screenshot({ path: join(PICTURES, `sessions-${width}-${colorScheme}.png`) });
      await eventually(async () => assert.deepEqual(await wide(seat.page), [0, 0]));
      await seat.page.keyboard.press("Escape");
    }
  }
  await seat.page.click("#sessions .node.reported");
  const [node, sheet] = await Promise.all([".node.reported", ".facts"].map((name) => seat.page.locator(`#sessions ${name}`).boundingBox()));
  assert.ok(node.y + node.height <= sheet.y, "the details do not lie over what they tell of");
  await seat.page.screenshot({ path: join(PICTURES, "sessions-380-facts.png") });
  await seat.page.click("#sessions .facts button");
  await seat.page.setViewportSize({ width: 1280, height: 860 });
  assert.deepEqual([seat.errors, seat.abroad], [[], []]);
});

// Fixed data with all events, which the real assistant would need months to produce.

const place = (session, depth) => ({ session: `${session}-0000-4000-8000-000000000000`, depth });
const move = (why, branch, lane, more = {}) => ({
  at: "2026-11-15T08:00:00+01:00", branch, why, label: null, lane, from: place("aaaaaaaa", 9), to: null, main: null, entries: 3, left_behind: 0, ...more,
});
const began = (branch, lane, label) => move("forked", branch, lane, { label, from: null, to: place("bbbbbbbb", 2) });
const MONTHS = {
  lanes: 3,
  older: 1200,
  left_out: "1200 older moves are left out.",
  open: [
    { branch: "main", session: "cccccccc", label: null, lane: 0, entries: 412 },
    { branch: "fork/car", session: "dddddddd", label: "car insurance", lane: 1, entries: 8 },
  ],
  lines: [
    began("fork/car", 1, "car insurance"),
    move("ended", "fork/mail", 2, { label: "morning mail" }),
    move("lapsed", "fork/quiet", 3, { label: "a topic that is <b>very</b> long and says more than fits on any line of a small screen, really" }),
    move("compacted", "main", 0, { to: place("cccccccc", 10), entries: 148 }),
    began("fork/quiet", 3, "a topic that is <b>very</b> long and says more than fits on any line of a small screen, really"),
    began("fork/mail", 2, "morning mail"),
    move("promoted", "fork/trip", 1, { label: "plan the trip", left_behind: 2, main: { from: place("eeeeeeee", 6), to: place("ffffffff", 9) } }),
    move("dropped", "fork/idea", 2),
    move("compacted", "fork/trip", 1, { label: "plan the trip", to: place("ffffffff", 9) }),
    began("fork/idea", 2, null),
    began("fork/trip", 1, "plan the trip"),
    move("ended", "fork/before", 1, { label: "began before what is told" }),
  ],
};

async function months(t, settings) {
  const played = await house();
  t.after(played.end);
  const eye = await browser({ reducedMotion: "reduce", ...settings });
  t.after(eye.end);
  const asked = [];
  await eye.page.route("**/api/sessions*", (route) => {
    asked.push(new URL(route.request().url()).search);
    return route.fulfill({ json: MONTHS });
  });
  await eye.page.goto(played.link);
  await into(eye.page, "chat");
  await eye.page.goto(`${played.origin}/#sessions`);
  await eye.page.waitForSelector("#sessions .picture svg");
  return { ...eye, asked };
}

test("every way out has a shape of its own, and words", async (t) => {
  const { page, errors, asked } = await months(t);
  const shape = (kind) => page.$eval(`.picture .node.${kind}`, (node) => [...node.querySelectorAll("path, circle, rect:not(.hit)")].map((mark) => `${mark.tagName} ${mark.getAttribute("class")}`).join(", "));
  const shapes = await Promise.all(["saved", "dropped", "lapsed", "ended", "open", "compacted", "began"].map(shape));
  assert.equal(new Set(shapes.slice(0, 6)).size, 6, shapes.join(" | "));
  assert.equal(await page.locator(".picture .edge.saved").getAttribute("marker-end"), "url(#to-saved)");
  assert.deepEqual(await kinds(page), await table(page));
  const said = await page.$$eval("#sessions tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(said[8].slice(1, 5), ["saved", "fork/trip", "plan the trip", "3 entries, 2 entries of main left behind"]);
  assert.ok(said[4][3].includes("<b>very</b>"), "words stay words");
  assert.equal(await page.innerText("#sessions .left-out"), "1200 older moves are left out.");
  await Promise.all([page.waitForResponse(/limit=800/), page.click("#sessions .more")]);
  // The view loads again regularly and after events, always with the last requested limit.
  assert.equal(asked[0], "?limit=200");
  assert.deepEqual([...new Set(asked)], ["?limit=200", "?limit=800"]);
  assert.deepEqual(errors, []);
});

for (const colorScheme of ["light", "dark"]) {
  test(`months fit 380 pixels, ${colorScheme}`, async (t) => {
    const { page, errors } = await months(t, { viewport: { width: 380, height: 900 }, colorScheme });
    assert.deepEqual(await wide(page), [0, 0]);
    const over = await page.$$eval(".picture text", (all) => all.filter((line) => line.getBoundingClientRect().right > innerWidth).length);
    assert.equal(over, 0, "no words run out of the picture");
    await page.screenshot({ path: join(PICTURES, `months-380-${colorScheme}.png`) });
    await page.click("#sessions .twin summary");
    assert.deepEqual(await wide(page), [0, 0]);
    await page.click("#sessions .node.lapsed");
    await page.screenshot({ path: join(PICTURES, `months-380-${colorScheme}-facts.png`) });
    assert.match(await page.innerText("#sessions .facts"), /it fell quiet/);
    assert.deepEqual(errors, []);
  });
}
