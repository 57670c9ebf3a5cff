// The whole program: the real assistant, the real page, and a model server that speaks the real
// API.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PICTURES, assistant, browser, into } from "./house.js";

const SCRIPT = [
  { say: "morning, julius. two things today: the dentist at 15:00, and groceries before six." },
  { blocks: [{ text: "got it." }, { tool: "inbox_add", input: { text: "locker 214" } }] },
  { say: "**locker 214** is kept. anything else before you leave?" },
  { say: "half an answer that never ends", fault: { kind: "stall", at: 5 } },
  { say: "here is the whole answer." },
  { say: "they greeted, and locker 214 was kept." },
];

let home;
let seat;

before(async () => {
  home = await assistant(SCRIPT);
  seat = await browser();
});

after(async () => {
  await seat?.end();
  await home?.end();
});

const bubbles = (page) => page.locator("#log > li > .bubble").allInnerTexts();
const idle = (page) => page.waitForFunction(() => !document.querySelector(".live, .waiting, .dots"));

async function say(page, words) {
  await page.fill("#words", words);
  await page.press("#words", "Enter");
}

test("what the terminal said is on the page, and what the page says is in the terminal", async () => {
  const first = home.command("chat", "--once", "good morning");
  assert.deepEqual([first.code, first.err], [0, ""]);
  assert.match(first.out, /the dentist at 15:00/);

  await seat.page.goto(await home.start());
  await into(seat.page, "chat");
  await seat.page.waitForFunction(() => document.body.innerText.includes("dentist"));
  await say(seat.page, "remember: locker 214");
  await seat.page.waitForFunction(() => document.body.innerText.includes("anything else"));
  await idle(seat.page);

  assert.match(home.command("sessions", "tree").out, /●  main · now · \w{8} · 6 entries/);
  for (const width of [1280, 380]) {
    await seat.page.setViewportSize({ width, height: 720 });
    await seat.page.screenshot({ path: join(PICTURES, `whole-${width}.png`) });
  }
  await seat.page.setViewportSize({ width: 1280, height: 800 });
});

test("the answer streams: words are on the page while the model still speaks", async () => {
  await say(seat.page, "and now?");
  await seat.page.waitForFunction(() => document.querySelector(".live")?.innerText.includes("half an"));
});

test("after kill -9 in the middle of an answer the page goes on, whole and in order", async () => {
  const before = await bubbles(seat.page);
  await home.kill();
  await home.start();
  await seat.page.waitForFunction(() => document.body.innerText.includes("here is the whole answer."));
  await idle(seat.page);
  const bubblesNow = await bubbles(seat.page);
  assert.deepEqual(bubblesNow.slice(0, -1), before.slice(0, -1), "nothing before it changed");
  assert.equal(bubblesNow.at(-1), "here is the whole answer.");
  assert.equal(bubblesNow.filter((text) => text === "and now?").length, 1);
  assert.deepEqual(seat.errors, []);
  assert.deepEqual(seat.abroad, []);
});

test("a summary comes, and goes when it is taken back elsewhere", async () => {
  const compacted = home.command("compact");
  assert.equal(compacted.code, 0, compacted.err);
  await seat.page.waitForSelector("#log > li.summary");
  const before = await seat.page.locator("#log > li.human").allInnerTexts();
  assert.equal(home.command("compact", "--undo").code, 0);
  await seat.page.waitForFunction(() => !document.querySelector("#log > li.summary"));
  assert.deepEqual(await seat.page.locator("#log > li.human").allInnerTexts(), before);
});
