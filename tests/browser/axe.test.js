// Accessibility: axe checks every view, wide and narrow, light and dark, with all menus and details
// open.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { assistant, browser, date, into } from "./house.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = ["today", "chat", "schedule", "pings", "sessions", "updates", "cost", "files", "search", "health"];
const routine = (id, cron, more, words) => `---\nid: ${id}\ncron: "${cron}"\n${more}---\n${words}\n`;
const soon = (seconds) => new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d+Z/, "+00:00");

let home;
let seat;
let page;

before(async () => {
  home = await assistant([
    { blocks: [{ tool: "ping_user", input: { message: "your 16:00 moved to 15:30" } }] },
    { blocks: [{ tool: "report_updates", input: { message: "two mails need an answer." } }] },
    ...Array.from({ length: 8 }, () => ({ say: "the dentist moved to **friday**. `13:00`" })),
  ]);
  home.file("routines/mail.md", routine("mail", "0 0 1 1 *", "background: true\nupdate-main-session: freely\n", "look"));
  home.file("routines/often.md", routine("often", "0 */4 * * *", "description: look around\n", "look"));
  home.file("routines/bad.md", routine("bad", "99 8 * * *", "", "look"));
  home.command("cal", "add", "dentist", "--start", `${date()}T11:00`, "--end", `${date()}T12:00`);
  seat = await browser({ reducedMotion: "reduce" });
  page = seat.page;
  await page.goto(await home.start());
  await into(page, "schedule");
  await page.locator('#schedule .job[data-job="routine:mail"] >> text=run now').click();
  await page.waitForFunction(async () => (await (await fetch("/api/pings?days=1")).json()).pings.length > 0);
  // From here on all answers of the model are equal, so the reminder cannot take an answer that was
  // meant for the run.
  await page.waitForFunction(async () => (await (await fetch("/api/updates")).json()).updates.length > 0);
  home.file("reminders/bag.md", `---\nid: bag\nrun-at: ${soon(2)}\n---\npack the bag\n`);
  await into(page, "today");
  await page.fill("#captured", "plan lisbon");
  await page.press("#captured", "Enter");
  await page.waitForSelector("#today .rang");
  await page.evaluate(AXE);
});

after(async () => {
  await seat?.end();
  await home?.end();
});

// Returns the violations that axe finds, as one message.
async function findings() {
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const bad = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  return bad.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 4).map(({ target, any }) => `${target.join(" ")} (${any[0]?.message ?? ""})`).join("; ")}`);
}

async function opened(view) {
  if (view === "search") await page.fill("#looked-for", "dentist");
  if (view === "files" && !(await page.locator("#files textarea").count())) await page.locator("#files button").first().click();
  if (view === "files" && !(await page.locator("#files .past").count())) await page.locator("#files >> text=history").nth(1).click();
  await page.waitForFunction((name) => document.getElementById(name).innerText.length > 20, view);
  await page.evaluate((name) => {
    for (const details of document.querySelectorAll(`#${name} details:not(.menu)`)) details.open = true;
  }, view);
}

for (const width of [1280, 380]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`no view at ${width} pixels, ${colorScheme}, has a serious finding`, async () => {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      const all = {};
      for (const view of VIEWS) {
        await into(page, view);
        await opened(view);
        const found = await findings();
        if (found.length) all[view] = found;
      }
      assert.deepEqual(all, {});
    });
  }
}

test("an open menu and a reading have no serious finding either", async () => {
  await into(page, "today");
  await page.fill("#captured", "call tom fri 10");
  await page.waitForSelector("#capture .reading:not([hidden])");
  await page.locator("#today .boxes .menu summary").first().click();
  assert.deepEqual(await findings(), []);
  await page.keyboard.press("Escape");
  await page.click("#views .more > summary");
  assert.deepEqual(await findings(), []);
});

test("axe would have found something", async () => {
  await page.evaluate(() => document.body.append(document.createElement("button")));
  assert.match((await findings()).join(), /button-name/);
});
