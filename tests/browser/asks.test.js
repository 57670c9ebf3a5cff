// Approvals on the page: shown with the whole call, answered once on any surface, and still there
// after a reload.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PICTURES, assistant, browser, eventually, into } from "./house.js";

const remove = { tool: "inbox_remove", input: { number: 1 } };
const LONG = { number: 2, why: `because <img src=x onerror=alert(1)> ${"of a very long reason ".repeat(60)}the end` };

const SCRIPT = [
  { blocks: [{ tool: "inbox_add", input: { text: "milk" } }] },
  { say: "kept." },
  { blocks: [{ text: "one moment." }, remove] },
  { say: "it is gone." },
  { blocks: [remove] },
  { say: "as you like." },
  { blocks: [{ tool: "inbox_remove", input: LONG }] },
  { say: "still open." },
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

const card = (page = seat.page) => page.locator(".ask");
const told = (words, page = seat.page) => page.waitForFunction((words) => document.body.innerText.includes(words), words);

async function say(words) {
  await seat.page.fill("#words", words);
  await seat.page.press("#words", "Enter");
}

async function pictures(name) {
  for (const colorScheme of ["light", "dark"]) {
    await seat.page.emulateMedia({ colorScheme });
    for (const width of [1280, 380]) {
      await seat.page.setViewportSize({ width, height: 720 });
      await seat.page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}-${width}.png`) });
    }
  }
  await seat.page.emulateMedia({ colorScheme: null });
  await seat.page.setViewportSize({ width: 1280, height: 800 });
}

// PM-7, PM-9, SL-11
test("an approval shows the whole call, and a yes by keyboard lets it run", async () => {
  await say("remember milk");
  await told("kept.");
  await say("/permissions default");
  await told("the mode is `default`");
  await say("drop the milk");
  await card().waitFor();
  assert.match(await card().locator("h3").innerText(), /may i\? inbox remove/);
  assert.equal(await card().locator("pre").innerText(), 'inbox_remove\n{\n  "number": 1\n}');
  await eventually(async () => assert.deepEqual(await card().locator("button").allInnerTexts(), ["allow once", "deny", "always allow"]));
  await told("waiting for your yes: inbox remove");
  await pictures("ask");

  await seat.page.focus("#words");
  for (let back = 0; back < 3; back += 1) await seat.page.keyboard.press("Shift+Tab");
  assert.equal(await seat.page.evaluate(() => document.activeElement.dataset.verdict), "allow");
  await seat.page.keyboard.press("Enter");
  await told("it is gone.");
  await told("inbox remove — allowed");
  await card().waitFor({ state: "detached" });
  assert.equal(await seat.page.evaluate(() => document.activeElement.id), "words");
});

// PM-9, ST-6
test("an answer elsewhere closes the approval here, and a denied call is struck out", async () => {
  await say("drop it again");
  await card().waitFor();
  const other = await seat.context.newPage();
  await other.goto(new URL("/", seat.page.url()).href);
  await into(other, "chat");
  await card(other).locator("[data-verdict=deny]").click();
  await told("as you like.");
  await card().waitFor({ state: "detached" });
  await other.close();
  const struck = seat.page.locator(".steps .step.denied");
  await eventually(async () => assert.deepEqual(await struck.allInnerTexts(), ["inbox remove"]));
  await seat.page.reload();
  await told("as you like.");
  await eventually(async () => assert.deepEqual(await struck.allInnerTexts(), ["inbox remove"]));
  await pictures("denied");
});

test("an approval is still there after a reload and after a crash, and says so when it is answered too late", async () => {
  await say("drop the second");
  await card().waitFor();
  await seat.page.reload();
  await card().waitFor();
  assert.match(await card().locator("pre").innerText(), /<img src=x onerror=alert\(1\)>[^]*the end/);
  assert.deepEqual(seat.dialogs, []);
  await seat.page.setViewportSize({ width: 380, height: 720 });
  const wide = await seat.page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.equal(wide, false, "it wraps");
  await seat.page.setViewportSize({ width: 1280, height: 800 });
  await pictures("ask-long");

  await home.kill();
  await home.start();
  await told("still open.");
  await card().waitFor();
  await eventually(async () => assert.match(await card().locator(".under").innerText(), /i went on without it/));
  await pictures("ask-late");

  const answers = await seat.page.evaluate(() => {
    const send = (text) => fetch("/api/commands", {
      method: "POST",
      headers: { "content-type": "application/json", "x-ollim": "1" },
      body: JSON.stringify({ text }),
    }).then((response) => response.json());
    return send("/deny 3").then(async (first) => [first, await send("/allow 3")]);
  });
  assert.equal(answers[0].text, "denied.");
  assert.match(answers[1].error.message, /^that was already answered: denied at \d\d:\d\d, on the page\.$/);
  await seat.page.waitForFunction(() => !document.querySelector(".ask"));
  assert.deepEqual(seat.errors, []);
});
