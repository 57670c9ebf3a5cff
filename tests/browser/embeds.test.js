// Embeds on the page: shown, their buttons pressed, and still there after a reload.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PICTURES, assistant, browser, eventually, into } from "./house.js";

const EMBED = {
  title: "📅 Today <img src=x onerror=alert(1)>",
  description: "two things.\\n**both** short.",
  color: "green",
  fields: [
    { name: "15:00", value: "dentist" },
    { name: "17:30", value: "<b>groceries</b>" },
    { name: "note", value: "leave at 14:35", inline: false },
  ],
  buttons: [
    { label: "Plan it", style: "primary", action: "agent:plan the day" },
    { label: "Done", style: "success", action: "task_done:abc" },
    { label: "Close", action: "dismiss" },
  ],
};

const SCRIPT = [
  { blocks: [{ text: "here it is." }, { tool: "discord_embed", input: EMBED }] },
  { say: "that is your day." },
  { say: "first the dentist." },
  { say: "then the groceries." },
  { say: "about your taxes." },
];

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

async function look() {
  const embed = seat.page.locator(".embed");
  await embed.first().waitFor();
  assert.equal(await embed.count(), 1);
  assert.equal(await embed.locator("h3").innerText(), "Today <img src=x onerror=alert(1)>");
  assert.equal(await embed.locator(".bubble").innerText(), "two things.\nboth short.");
  assert.deepEqual(await embed.locator("dd").allInnerTexts(), ["dentist", "<b>groceries</b>", "leave at 14:35"]);
  assert.equal(await embed.locator("img, b").count(), 0, "words stay words");
}

test("an embed is shown, and is still there after a reload", async () => {
  await seat.page.fill("#words", "my day?");
  await seat.page.press("#words", "Enter");
  await seat.page.waitForFunction(() => document.body.innerText.includes("that is your day."));
  await look();
  await seat.page.reload();
  await seat.page.waitForFunction(() => document.body.innerText.includes("that is your day."));
  await look();
  for (const width of [1280, 380]) {
    await seat.page.setViewportSize({ width, height: 720 });
    await seat.page.screenshot({ path: join(PICTURES, `embed-${width}.png`) });
  }
});

test("a button asks its question, once", async () => {
  await seat.page.click(".embed button.primary");
  await seat.page.waitForFunction(() => document.body.innerText.includes("first the dentist."));
  assert.equal(await seat.page.locator(".embed button.primary").isDisabled(), true);
  const own = await seat.page.locator("#log > li.human > .bubble").allInnerTexts();
  assert.deepEqual(own, ["my day?", "[button] plan the day"]);
  await seat.page.reload();
  await seat.page.waitForSelector(".embed button.primary");
  await seat.page.click(".embed button.primary");
  await seat.page.waitForFunction(() => document.body.innerText.includes("was used already"));
});

test("a button of a task does what it says, and tells why it did not work", async () => {
  await seat.page.locator(".embed button.success").click();
  await seat.page.waitForFunction(() => document.body.innerText.includes("that did not work: there is no task `abc`"));
});

test("a reply quotes what it replies to, and can be called off", async () => {
  const { page } = seat;
  const item = page.locator("#log > li.assistant", { hasText: "first the dentist." });
  await item.locator(".reply").focus();
  await page.keyboard.press("Enter");
  assert.equal(await page.innerText("#target span"), "reply to: first the dentist.");
  assert.equal(await page.evaluate(() => document.activeElement.id), "words");
  await page.keyboard.press("Escape");
  assert.equal(await page.isVisible("#target"), false);
  await item.hover();
  await item.locator(".reply").click();
  const sent = page.waitForRequest((request) => request.url().endsWith("/api/messages") && request.method() === "POST");
  await page.fill("#words", "and then?");
  await page.press("#words", "Enter");
  const { reply_to: to } = (await sent).postDataJSON();
  assert.equal(String(to), await item.getAttribute("data-id"));
  await page.waitForFunction(() => document.body.innerText.includes("then the groceries."));
  await page.waitForSelector("#target", { state: "hidden" });
});

test("the three ways out of a side conversation are buttons", async () => {
  const { page } = seat;
  await page.fill("#words", "/fork taxes");
  await page.press("#words", "Enter");
  await page.waitForFunction(() => document.body.innerText.includes("about your taxes."));
  const card = page.locator(".note.card .embed");
  assert.equal(await card.locator("h3").innerText(), "Forked Session");
  assert.deepEqual(await card.locator("button").allInnerTexts(), ["Save Context", "Report", "Exit Fork"]);
  await page.reload();
  await page.waitForSelector(".note.card button.danger");
  await page.click(".note.card button.danger");
  await page.waitForFunction(() => document.body.innerText.includes("Fork Ended — discarded"));
  await eventually(async () => assert.equal(await page.locator(".note.card").count(), 1));
});

test("what is put away is gone, also after a reload", async () => {
  const { page } = seat;
  await page.click(".embed.green button.secondary");
  await page.waitForFunction(() => !document.querySelector(".embed.green"));
  await page.reload();
  await page.waitForFunction(() => document.body.innerText.includes("that is your day."));
  assert.equal(await page.locator(".embed.green").count(), 0);
});
