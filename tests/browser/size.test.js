// The size of the page: transferred bytes, and the amount that a long conversation loads.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { browser, eventually, house, into, scrollTo } from "./house.js";

const ENTRIES = 10_000;

test("the whole page takes at most 150 KB on its way", async (t) => {
  const home = await house();
  t.after(home.end);
  const seat = await browser();
  t.after(seat.end);
  const line = await seat.context.newCDPSession(seat.page);
  await line.send("Network.enable");
  await line.send("Network.setCacheDisabled", { cacheDisabled: true });
  let bytes = 0;
  line.on("Network.loadingFinished", ({ encodedDataLength }) => { bytes += encodedDataLength; });
  await seat.page.goto(home.link);
  await seat.page.waitForSelector("#today .foot:not([hidden])");
  assert.ok(bytes > 30_000 && bytes <= 150 * 1024, `${bytes} bytes`);
  const first = bytes;
  // The first visit is by an unknown client, which gets a new connection for each file.
  await seat.page.reload();
  await seat.page.waitForSelector("#today .foot:not([hidden])");
  const paint = await seat.page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  t.diagnostic(`${first} bytes with all that today is told; first paint of a known browser after ${Math.round(paint)} ms`);
});

test(`a conversation of ${ENTRIES} entries scrolls without being loaded whole`, async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), "ollim-long-")), "history.json");
  writeFileSync(file, JSON.stringify(Array.from({ length: ENTRIES }, (_, at) => `entry number ${at}`)));
  const home = await house(file);
  t.after(home.end);
  const seat = await browser();
  t.after(seat.end);
  const { page } = seat;
  let asked = 0;
  page.on("request", (request) => { asked += /\/api\/messages/.test(request.url()) ? 1 : 0; });
  await page.goto(home.link);
  await into(page, "chat");
  await page.waitForSelector(`text=entry number ${ENTRIES - 1}`);
  const count = () => page.locator("#log > li").count();
  assert.deepEqual([await count(), asked], [50, 1]);
  await scrollTo(page, 500);
  await eventually(async () => {
    const [shown, nodes] = [await count(), await page.evaluate(() => document.querySelectorAll("#log *").length)];
    assert.ok(shown >= 500 && shown <= 600, `${shown} entries`);
    assert.equal(asked, shown / 50, "one question for every fifty");
    assert.ok(nodes < 8 * shown, `${nodes} nodes`);
  });
  await into(page, "search");
  await page.fill("#looked-for", "entry number 17 ");
  const hit = page.locator("#search .hit", { hasText: /entry number 17$/ });
  await eventually(async () => {
    if (await hit.count()) return;
    await page.locator("#search >> text=older ones").click();
    throw new Error("entry number 17 was not found");
  });
  await hit.click();
  await page.waitForFunction(() => document.activeElement?.innerText.includes("entry number 17"));
  assert.ok((await count()) <= 60, "only what is around it is there");
  await page.click("#down");
  await page.waitForSelector(`text=entry number ${ENTRIES - 1}`);
  await eventually(async () => assert.equal(await count(), 50));
});
