// Embeds on the page: shown, pressed, and still there after a reload.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { assistant, browser } from "./house.js";

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
  ],
};

const SCRIPT = [
  { blocks: [{ text: "here it is." }, { tool: "discord_embed", input: EMBED }] },
  { say: "that is your day." },
  { say: "first the dentist." },
];

let home;
let seat;

before(async () => {
  home = await assistant(SCRIPT);
  seat = await browser();
  await seat.page.goto(await home.start());
  await seat.page.waitForSelector("#chat:not([hidden])");
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
  assert.equal(await embed.getByText("Done").isDisabled(), true, "what does not work yet cannot be pressed");
}

test("an embed is shown, and is still there after a reload", async () => {
  await seat.page.fill("#words", "my day?");
  await seat.page.press("#words", "Enter");
  await seat.page.waitForFunction(() => document.body.innerText.includes("that is your day."));
  await look();
  await seat.page.reload();
  await seat.page.waitForFunction(() => document.body.innerText.includes("that is your day."));
  await look();
  const out = fileURLToPath(new URL("out", import.meta.url));
  mkdirSync(out, { recursive: true });
  for (const width of [1280, 380]) {
    await seat.page.setViewportSize({ width, height: 720 });
    await seat.page.screenshot({ path: join(out, `embed-${width}.png`) });
  }
});

test("a button says its words, once", async () => {
  await seat.page.click(".embed button.primary");
  await seat.page.waitForFunction(() => document.body.innerText.includes("first the dentist."));
  assert.equal(await seat.page.locator(".embed button.primary").isDisabled(), true);
  const own = await seat.page.locator("#log > li.human > .bubble").allInnerTexts();
  assert.deepEqual(own, ["my day?", "[button] plan the day"]);
});
