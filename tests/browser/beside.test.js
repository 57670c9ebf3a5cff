// Views next to the schedule: the calendar, the week, earlier versions of files, updates that were
// read, and the usage of the context window. The data comes from the real assistant.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PICTURES, ZONE, assistant, browser, date, eventually, into } from "./house.js";

const routine = (id, cron, more, words) => `---\nid: ${id}\ncron: "${cron}"\n${more}---\n${words}\n`;

let home;
let seat;
let page;

before(async () => {
  home = await assistant([
    { blocks: [{ tool: "report_updates", input: { message: "two mails need an answer." } }] },
    ...Array.from({ length: 6 }, () => ({ say: "morning." })),
  ]);
  home.file("routines/mail.md", routine("mail", "0 0 1 1 *", "background: true\nupdate-main-session: freely\ndescription: look at the mail\n", "look"));
  home.file("routines/water.md", routine("water", "0 9,18 * * *", "description: water the plants\n", "water"));
  for (const [name, at, from, to] of [["dentist", 0, "11:00", "12:00"], ["standup <b>", 0, "11:30", "11:45"], ["review", 2, "15:00", "16:00"]]) {
    const added = home.command("cal", "add", name, "--start", `${date(at)}T${from}`, "--end", `${date(at)}T${to}`);
    assert.equal(added.code, 0, added.err);
  }
  seat = await browser();
  page = seat.page;
  await page.goto(await home.start());
  await into(page, "schedule");
  await page.locator('#schedule .job[data-job="routine:mail"] >> text=run now').click();
  await page.waitForFunction(async () => (await (await fetch("/api/updates")).json()).updates.length === 1);
});

after(async () => {
  await seat?.end();
  await home?.end();
});

const wide = () => page.evaluate(() => [document.documentElement, document.querySelector("main > :not([hidden])")].map((node) => node.scrollWidth - node.clientWidth));

async function looks(name) {
  for (const width of [380, 1280]) {
    await page.setViewportSize({ width, height: width === 380 ? 900 : 800 });
    await eventually(async () => assert.deepEqual(await wide(), [0, 0], `${name} at ${width}`));
    await page.screenshot({ path: join(PICTURES, `${name}-${width}.png`) });
  }
}

test("what stands in the calendar is a row of the day, and in its table", async () => {
  await into(page, "today");
  await page.waitForSelector("#today .booked");
  assert.deepEqual(await page.$$eval("#today .booked text", (all) => all.map((text) => text.textContent)), ["dentist", "standup <b>"]);
  assert.match(await page.locator("#today .plots svg[role=img]").first().getAttribute("aria-label"), /^calendar: 11:00 to 12:00 dentist; 11:30 to 11:45 standup <b>$/);
  const rows = await page.$$eval("#today .twin tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent).join("|")));
  assert.ok(rows.includes("|11:00 to 12:00||dentist|calendar"), rows.join("\n"));
  await looks("calendar");
});

test("the next seven days are a picture and a table", async () => {
  await into(page, "schedule");
  await page.locator("#schedule .week > summary").focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("#schedule .week .booked text >> text=review");
  assert.equal(await page.locator("#schedule .week .row-name").count(), 7);
  const rows = await page.$$eval("#schedule .week tbody tr", (all) => all.map((row) => [...row.cells].slice(2).map((cell) => cell.textContent).join("|")));
  // Only the times of today that are still to come are shown, so the expectation depends on the
  // hour.
  const hour = Number(new Intl.DateTimeFormat("en-GB", { hour: "2-digit", hour12: false, timeZone: ZONE }).format(new Date())) % 24;
  const ahead = [9, 18].filter((time) => time > hour).length;
  assert.equal(rows.filter((row) => row.includes("|water the plants|")).length, 12 + ahead, rows.join("\n"));
  assert.equal(rows.filter((row) => row === "15:00 to 16:00|review|calendar").length, 1);
  await looks("week");
});

test("a file is looked at as it was, and brought back", async () => {
  await into(page, "files");
  const row = page.locator("#files li", { hasText: "routines/water.md" }).first();
  await row.locator("text=edit").click();
  const text = await row.locator("textarea:not([disabled])").inputValue();
  for (const hours of ["8,18", "7,18"]) {
    if (!(await row.locator("textarea").count())) await row.locator("text=edit").click();
    await page.waitForFunction(() => document.querySelector("#files textarea:not([disabled])")?.value.includes("water"));
    await row.locator("textarea:not([disabled])").fill(text.replace("9,18", hours));
    await row.locator("text=save").first().click();
    await row.locator("textarea").waitFor({ state: "detached" });
  }
  await row.locator("text=history").click();
  await row.locator(".versions li").nth(1).locator("text=what changed since").click();
  await row.locator(".changes .new", { hasText: '+ cron: "0 7,18 * * *"' }).waitFor();
  await row.locator(".changes .gone", { hasText: '- cron: "0 8,18 * * *"' }).waitFor();
  await looks("history");
  await row.locator(".versions li").nth(1).locator("text=bring this back").click();
  await row.locator(".past").waitFor({ state: "detached" });
  assert.match(home.file("routines/water.md"), /0 8,18/);
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "history of routines/water.md"));
});

test("an update that was read here is not told to the conversation", async () => {
  await into(page, "updates");
  await page.locator("#updates >> text=mark as read").click();
  await page.waitForSelector("#updates .none >> text=nothing waits");
  assert.match(home.command("updates").out, /No updates wait/);
});

test("how full the conversation is stands under the chat", async () => {
  await into(page, "chat");
  await page.fill("#words", "good morning");
  await page.press("#words", "Enter");
  await page.waitForSelector("#ring svg");
  await eventually(async () => assert.match(await page.innerText("#ring"), /^\d+k? of 200k$/));
  assert.match(await page.getAttribute("#ring", "aria-label"), /at 160k i sum up/);
  await looks("ring");
  assert.deepEqual(seat.errors, []);
  assert.deepEqual(seat.abroad, []);
});
