// The page, used as a user would.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PICTURES, browser, house, into, scrollTo } from "./house.js";

let home;
let seat;

before(async () => {
  home = await house();
  seat = await browser();
  await seat.page.goto(home.link);
  await into(seat.page, "chat");
});

after(async () => {
  await seat?.end();
  await home?.end();
});

const texts = (page, kind) => page.locator(`#log > li.${kind} > .bubble`).allInnerTexts();

async function say(page, words) {
  await page.fill("#words", words);
  await page.press("#words", "Enter");
}

// Waits until the log has a message of the user that ends with `words` and an answer after it, and
// no turn is running.
async function answered(page, words) {
  await page.waitForFunction((words) => {
    const items = [...document.querySelectorAll("#log > li")];
    const own = items.findLastIndex((li) => li.className === "human" && li.querySelector(".bubble").innerText.endsWith(words));
    return own >= 0 && items.slice(own + 1).some((li) => li.matches(".assistant:not(.live)")) && !document.querySelector(".live, .waiting, .dots");
  }, words);
}

test("the code leaves the address bar", () => {
  assert.equal(seat.page.url(), `${home.origin}/#chat`);
});

test("a page that is not paired says what to do", async (t) => {
  const other = await browser();
  t.after(other.end);
  await other.page.goto(home.origin);
  await other.page.waitForSelector("#alone:not([hidden])");
  const words = await other.page.innerText("#alone-text");
  assert.equal(words, "this page isn't paired yet: run ollim-bot open and use the link it prints.");

  await other.page.goto(await home.order("link"));
  await into(other.page, "chat");
});

test("a used link says so, unless the browser is already known", async (t) => {
  await seat.page.goto(home.link);
  await into(seat.page, "chat");
  const other = await browser();
  t.after(other.end);
  await other.page.goto(home.link);
  await other.page.waitForSelector("#alone:not([hidden])");
  assert.match(await other.page.innerText("#alone-text"), /already used or is older than ten minutes/);
});

test("own words show at once, the answer streams, and both stay once", async () => {
  await home.order("hold");
  await say(seat.page, "one two three four five six seven eight");
  assert.deepEqual(await texts(seat.page, "human"), ["one two three four five six seven eight"]);
  await seat.page.waitForSelector(".live .bubble");
  await home.order("go");
  await answered(seat.page, "seven eight");
  assert.deepEqual(await texts(seat.page, "human"), ["one two three four five six seven eight"]);
  assert.deepEqual(await texts(seat.page, "assistant"), ["one two three four five six seven eight"]);
  assert.equal(await seat.page.innerText("#voice"), "one two three four five six seven eight");
});

test("shift and enter make a new line, and slash goes to the words", async () => {
  await seat.page.focus("#scroll");
  await seat.page.keyboard.press("/");
  await seat.page.keyboard.type("first");
  await seat.page.keyboard.press("Shift+Enter");
  await seat.page.keyboard.type("second");
  assert.equal(await seat.page.inputValue("#words"), "first\nsecond");
  await seat.page.keyboard.press("Enter");
  await answered(seat.page, "first\nsecond");
  assert.equal((await texts(seat.page, "human")).at(-1), "first\nsecond");
});

test("steps are folded and can be opened", async () => {
  await home.order("hold");
  await say(seat.page, "!tool what is next?");
  await seat.page.waitForSelector(".doing");
  await home.order("go");
  await answered(seat.page, "what is next?");
  assert.equal(await seat.page.innerText(".steps summary"), "1 step: read calendar");
  assert.equal(await seat.page.locator(".steps dl").isVisible(), false);
  await seat.page.click(".steps summary");
  assert.match(await seat.page.innerText(".steps dl"), /→ 15:00 dentist/);
});

test("stopping keeps the half answer and marks it", async () => {
  await say(seat.page, "!forever");
  await seat.page.waitForFunction(() => document.querySelector(".live .bubble")?.textContent.includes("word 9 "));
  await seat.page.click("#stop");
  await answered(seat.page, "!forever");
  assert.match(await seat.page.innerText(".cut .bubble"), /^word 0 word 1/);
  assert.equal(await seat.page.innerText(".cut .under"), "stopped here");
  assert.equal(await seat.page.locator("#stop").isVisible(), false);
});

test("speaking over an answer cuts it off and is answered after it", async () => {
  await say(seat.page, "!forever please");
  await seat.page.waitForSelector(".live .bubble");
  await say(seat.page, "over you");
  await answered(seat.page, "over you");
  const order = await seat.page.$$eval("#log > li:not(.bare)", (all) => all.slice(-4).map((li) => li.className));
  assert.deepEqual(order, ["human", "assistant cut", "human", "assistant"]);
});

test("a failure and a notice are told in words", async () => {
  await say(seat.page, "!fail");
  await seat.page.waitForSelector(".note");
  assert.match(await seat.page.innerText(".note"), /the model answered nothing/);
  await home.order("notice the calendar is not connected");
  await seat.page.waitForSelector("text=the calendar is not connected");
});

test("a second tab shows the same, also in the middle of an answer", async () => {
  await say(seat.page, "!forever again");
  await seat.page.waitForSelector(".live .bubble");
  const tab = await seat.context.newPage();
  await tab.goto(home.origin);
  await into(tab, "chat");
  await tab.waitForSelector(".live .bubble");
  assert.match(await tab.innerText(".live .bubble"), /^word 0 word 1/);
  await tab.click("#stop");
  await Promise.all([tab, seat.page].map((page) => answered(page, "!forever again")));
  await say(tab, "from the second tab");
  await Promise.all([tab, seat.page].map((page) => answered(page, "from the second tab")));
  assert.deepEqual(await texts(tab, "assistant"), await texts(seat.page, "assistant"));
  assert.deepEqual(await texts(tab, "human"), await texts(seat.page, "human"));
  await tab.close();
});

test("a restart of the assistant doubles nothing and loses nothing", async () => {
  const before = await texts(seat.page, "human");
  await home.order("down");
  await seat.page.waitForSelector(".state.away");
  await say(seat.page, "said into the dark");
  await seat.page.waitForSelector(".unsent");
  assert.match(await seat.page.innerText(".unsent .under"), /may not have arrived/);
  await home.order("up");
  await seat.page.waitForSelector(".state:not(.away)");
  await seat.page.click(".unsent button >> text=try again");
  await answered(seat.page, "said into the dark");
  assert.deepEqual(await texts(seat.page, "human"), [...before, "said into the dark"]);
  await seat.page.reload();
  await seat.page.waitForFunction(() => [...document.querySelectorAll("li.human .bubble")].at(-1)?.textContent === "said into the dark");
  assert.deepEqual(await texts(seat.page, "human"), [...before, "said into the dark"]);
});

test("a draft survives a reload", async () => {
  await seat.page.fill("#words", "half a thou");
  await seat.page.reload();
  await into(seat.page, "chat");
  assert.equal(await seat.page.inputValue("#words"), "half a thou");
  await seat.page.fill("#words", "");
});

test("older things come when scrolling up, not before", async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), "ollim-history-")), "history.json");
  writeFileSync(file, JSON.stringify(Array.from({ length: 180 }, (_, at) => `entry number ${at}`)));
  const long = await house(file);
  t.after(long.end);
  const reader = await browser();
  t.after(reader.end);
  await reader.page.goto(long.link);
  await into(reader.page, "chat");
  const count = () => reader.page.locator("#log > li").count();
  await reader.page.waitForSelector("text=entry number 179");
  assert.equal(await count(), 50);
  await scrollTo(reader.page, 180);
  const all = await texts(reader.page, "assistant");
  assert.deepEqual(all, Array.from({ length: 180 }, (_, at) => `entry number ${at}`));
});

test("nothing broke, nothing was blocked, nothing went elsewhere", () => {
  assert.deepEqual([seat.errors, seat.dialogs, seat.abroad], [[], [], []]);
});

const SAMPLE = `here is the **plan** for *tomorrow*:

1. dentist at \`15:00\`
2. groceries, then [the recipe](https://example.com/soup?serves=2)
   - leeks
   - cream

\`\`\`
ollim-bot reminder add "leave" --at 14:35 --with-a-very-long-flag-that-does-not-fit-on-a-phone
\`\`\`
more at https://example.org/a/very/long/path/that/never/ends/and/never/breaks/anywhere/at/all.html`;

for (const width of [1280, 380]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`it fits ${width} pixels, ${colorScheme}`, async (t) => {
      const eye = await browser({ viewport: { width, height: 760 }, colorScheme, reducedMotion: "reduce" });
      t.after(eye.end);
      const own = await house();
      t.after(own.end);
      await eye.page.goto(own.origin);
      await eye.page.waitForSelector("#alone:not([hidden])");
      await eye.page.screenshot({ path: `${PICTURES}/unpaired-${width}-${colorScheme}.png` });
      await eye.page.goto(own.link);
      await into(eye.page, "chat");
      await eye.page.waitForSelector("#empty:not([hidden])");
      await eye.page.screenshot({ path: `${PICTURES}/empty-${width}-${colorScheme}.png` });
      await say(eye.page, SAMPLE);
      await eye.page.waitForFunction(() => document.querySelector("#log > li.assistant:not(.live) pre") && !document.querySelector(".live, .waiting, .dots"));
      await eye.page.screenshot({ path: `${PICTURES}/long-${width}-${colorScheme}.png` });
      await say(eye.page, "!tool and after that?");
      await answered(eye.page, "and after that?");
      await say(eye.page, "!fail");
      await eye.page.waitForSelector(".note");
      await say(eye.page, "!forever");
      await eye.page.waitForFunction(() => document.querySelector(".live .bubble")?.textContent.includes("word 20 "));
      await eye.page.screenshot({ path: `${PICTURES}/chat-${width}-${colorScheme}.png` });
      const wide = await eye.page.evaluate(() => [document.documentElement, document.querySelector("#scroll")]
        .map((node) => node.scrollWidth - node.clientWidth));
      assert.deepEqual(wide, [0, 0]);
      await eye.page.click("#stop");
    });
  }
}
