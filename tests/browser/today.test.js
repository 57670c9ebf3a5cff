// Today on the page, with data from the real assistant: the next item, fired reminders and open
// questions; and capture from every view.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PICTURES, assistant, browser, date, eventually, into } from "./house.js";

const DAY = 24 * 60 * 60_000;

// Returns the timestamp `milliseconds` from now.
const stamp = (milliseconds) => new Date(Date.now() + milliseconds).toISOString().replace(/\.\d+Z/, "+00:00");
const reminder = (id, at, words) => `---\nid: ${id}\nrun-at: ${at}\n---\n${words}\n`;
const routine = (id, cron, more, words) => `---\nid: ${id}\ncron: ${cron}\n${more}---\n${words}\n`;

let home;
let seat;
let page;

before(async () => {
  home = await assistant(Array.from({ length: 12 }, () => ({ say: "⏰ the bag: what is the first thing you need?" })));
  home.file("reminders/bag.md", reminder("bag", stamp(3_000), "pack the bag"));
  home.file("reminders/groceries.md", reminder("groceries", stamp(2 * 60 * 60_000), "groceries for the week"));
  home.file("reminders/mum.md", reminder("mum", stamp(4 * 60 * 60_000), "call mum"));
  home.file("routines/wrap.md", routine("wrap", "30 16 * * *", "background: true\ndescription: wrap-up\n", "look"));
  home.file("reminders/far.md", reminder("far", stamp(3 * DAY), "renew the passport"));
  home.file("routines/mail.md", routine("mail", "0,30 7-22 * * *", "background: true\ndescription: look at the mail\n", "look"));
  for (const [name, from, to] of [["standup", "09:45", "10:00"], ["dentist", "15:00", "16:30"]]) {
    home.command("cal", "add", name, "--start", `${date()}T${from}`, "--end", `${date()}T${to}`);
  }
  seat = await browser();
  page = seat.page;
  await page.goto(await home.start());
  await page.waitForSelector("#today:not([hidden])");
});

after(async () => {
  await seat?.end();
  await home?.end();
});

const stored = () => page.waitForSelector("#capture .stored:not([hidden])").then((node) => node.innerText());
const wide = () => page.evaluate(() => [document.documentElement, document.querySelector("main > :not([hidden])")].map((node) => node.scrollWidth - node.clientWidth));

async function capture(words) {
  await page.fill("#captured", words);
  await page.press("#captured", "Enter");
  return stored();
}

test("the page opens on today, with what is next in both forms of time", async () => {
  await page.waitForSelector("#today .next .big .time");
  assert.match(await page.innerText("#today .next"), /\d\d:\d\d\s+\S[\s\S]*\n(in \d|now)/);
  assert.equal(await page.getAttribute("#views a[aria-current]", "href"), "#today");
});

test("words are read while they are typed, and nothing is done", async () => {
  await page.fill("#captured", "call tom tomorrow at 10:00");
  await page.waitForSelector("#capture .reading[data-does=plan]");
  assert.match(await page.innerText("#capture .reading"), /\w{3} \d+ \w{3} 10:00 · in .* · call tom/);
  await page.fill("#captured", "locker 214");
  await page.waitForSelector("#capture .reading[data-does=keep]");
  await page.fill("#captured", "call tom on 31 feb at 10");
  await page.waitForSelector("#capture .reading[data-does=wrong]");
  const names = await page.evaluate(async () => (await (await fetch("/api/schedule")).json()).jobs.map(({ name }) => name));
  assert.ok(!names.includes("call tom"), names.join());
  assert.match(await page.innerText("#today"), /inbox\n\s*empty\./);
});

test("what cannot be a time is told, and the words are kept", async () => {
  assert.match(await capture("call tom on 31 feb at 10"), /feb[\s\S]*kept in your inbox as \d+ · call tom on 31 feb at 10/);
  await page.locator("#today .boxes li", { hasText: "31 feb" }).waitFor();
  await page.click("#capture .stored button");
  await page.locator("#today .boxes li", { hasText: "31 feb" }).waitFor({ state: "detached" });
});

test("enter stores it, it is read back, and undo takes back this and nothing else", async () => {
  assert.match(await capture("call tom tomorrow at 10:00"), /✓ \w{3} \d+ \w{3} 10:00 · in .* · call tom/);
  await page.click("#capture .stored button");
  await page.waitForSelector("#capture .stored >> text=taken back: call tom");
  await capture("call ann tomorrow at 11:00");
  const undo = await page.$eval("#capture .stored button", (node) => node.textContent);
  assert.equal(undo, "Undo");
  home.command("routine", "list");
  await page.evaluate(async () => {
    await fetch("/api/schedule/words", { method: "POST", headers: { "content-type": "application/json", "x-ollim": "1" }, body: JSON.stringify({ text: "call bob tomorrow at 12:00" }) });
  });
  await page.click("#capture .stored button");
  await page.waitForSelector("#capture .stored.wrong >> text=something else was changed");
  const names = await page.evaluate(async () => (await (await fetch("/api/schedule")).json()).jobs.map(({ name }) => name));
  assert.ok(names.includes("call ann") && names.includes("call bob") && !names.includes("call tom"), names.join());
});

test("words without a time wait in the inbox, get one there, or are dropped", async () => {
  assert.match(await capture("plan lisbon"), /kept in your inbox as \d+ · plan lisbon/);
  await page.click("#capture .stored button");
  await page.locator("#today .boxes li", { hasText: "plan lisbon" }).waitFor({ state: "detached" });
  await capture("plan porto");
  await capture("locker 214");
  const item = (words) => page.locator("#today .boxes li", { hasText: words });
  await item("plan porto").locator("summary").click();
  await item("plan porto").locator("input").fill("in 3 days at 9:00");
  await item("plan porto").locator("input").press("Enter");
  await item("plan porto").waitFor({ state: "detached" });
  await item("locker 214").locator("text=drop").click();
  await item("locker 214").waitFor({ state: "detached" });
  assert.match(await page.innerText("#today"), /inbox\n\s*empty\./);
});

test("a reminder that rang is a card: it is moved, taken back, and done", async () => {
  const card = page.locator("#today .rang");
  await card.waitFor();
  assert.match(await card.innerText(), /the first thing you need[\s\S]*pack the bag · rang \d\d:\d\d/);
  await card.locator("summary").click();
  await page.keyboard.press("Escape");
  assert.equal(await card.locator(".choices").isVisible(), false);
  await card.locator("summary").press("Enter");
  await card.locator("text=tomorrow 09:00").press("Enter");
  await page.waitForSelector("#today .rang.moved");
  assert.match(await card.innerText(), /moved to .* 09:00/);
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.textContent), "Undo"));
  await page.keyboard.press("Enter");
  await page.waitForSelector("#today .rang.open");
  await card.locator("text=Done").click();
  await page.waitForSelector("#today .rang.done");
  assert.match(await card.locator("s").innerText(), /pack the bag/);
});

test("the day is a picture with numbers, and the same as a table", async () => {
  const numbers = await page.$$eval("#today .plot .number", (all) => all.map((node) => node.textContent));
  const rows = await page.$$eval("#today tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual([...numbers].sort((a, b) => a - b), rows.map(([number]) => number).filter(Boolean));
  assert.deepEqual(rows.filter(([number]) => !number).map(([, time, , name]) => `${time} ${name}`), ["09:45 to 10:00 standup", "15:00 to 16:30 dentist"]);
  const bag = rows.find(([, , , name]) => name === "pack the bag");
  assert.deepEqual([bag[2].split(":")[0], bag[4]], ["done", "you asked"]);
  await eventually(async () => assert.equal(await page.locator("#today svg[role=img]").count(), 4));
  assert.match(await page.locator("#today svg[role=img]").nth(1).getAttribute("aria-label"), /^you asked: .*pack the bag, done/);
});

test("slash goes to capture from every view but the chat, and what was typed survives a reload", async () => {
  for (const view of ["schedule", "sessions", "today"]) {
    await into(page, view);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "captured", view);
  }
  await page.keyboard.type("half a thou");
  await page.reload();
  await page.waitForSelector("#capture .reading:not([hidden])");
  assert.equal(await page.inputValue("#captured"), "half a thou");
  await page.fill("#captured", "");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("c");
  await page.waitForSelector("#chat:not([hidden])");
  assert.equal(await page.locator("#capture").isVisible(), false);
});

test("another tab says what was changed here, without being asked", async () => {
  await into(page, "today");
  const tab = await seat.context.newPage();
  await tab.goto(new URL("/", page.url()).href);
  await tab.waitForSelector("#today .boxes");
  await capture("from the first tab");
  await tab.waitForSelector("#today .boxes >> text=from the first tab");
  await tab.close();
  await page.click("#told button");
});

for (const width of [1280, 380]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`today fits ${width} pixels, ${colorScheme}`, async () => {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: width === 380 ? 900 : 800 });
      await page.fill("#captured", "call tom fri 10:00");
      await page.waitForSelector("#capture .reading[data-does=plan]:not([hidden])");
      await eventually(async () => assert.deepEqual(await wide(), [0, 0]));
      await page.screenshot({ path: join(PICTURES, `today-${width}-${colorScheme}.png`) });
      await page.fill("#captured", "");
    });
  }
}

test("nothing broke, nothing was blocked, nothing went elsewhere", () => {
  assert.deepEqual([seat.errors, seat.dialogs, seat.abroad], [[], [], []]);
});
