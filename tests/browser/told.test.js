// Events whose effect only the page shows: an undone compaction, and a refused key.

import assert from "node:assert/strict";
import { test } from "node:test";
import { browser, eventually, house, into } from "./house.js";

const SCENE = { running: [], compacting: null, approvals: [], held: null };
const entry = (id, by, text) => ({ id, parent: id - 1 || null, at: "2026-11-15T08:00:00Z", by, text, images: 0, calls: [], whole: true });
const TALK = [entry(1, "human", "hello"), entry(2, "assistant", "good morning")];

// Opens a paired page. Each connection to the event stream gets the next of `streams`, and each
// request for messages the next of `pages`; the last page is repeated. After the last stream no
// events follow.
async function told(t, streams, pages) {
  const home = await house();
  t.after(home.end);
  const seat = await browser();
  t.after(seat.end);
  let lines = 0;
  let reads = 0;
  let silent;
  const over = new Promise((done) => { silent = done; });
  await seat.page.route("**/api/events", (route) => {
    const stream = streams[lines];
    lines += 1;
    if (!stream) return silent();
    const body = stream.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join("");
    return route.fulfill({ contentType: "text/event-stream", body });
  });
  await seat.page.route("**/api/messages", (route) => {
    const messages = pages[Math.min(reads, pages.length - 1)];
    reads += 1;
    return route.fulfill({ json: { messages, more: false } });
  });
  await seat.page.goto(home.link);
  await into(seat.page, "chat");
  await over;
  return seat.page;
}

// Returns the content of the log, without the time that a tool has been running.
const log = (page) => page.$$eval("#log > li", (all) => all.map((li) => `${li.className}: ${li.innerText.replace(/… \d+ s$/, "…")}`));

test("a summary that was taken back goes, and who speaks meanwhile goes on", async (t) => {
  const summary = entry(3, "summary", "we greeted");
  const page = await told(t, [[
    ["hello", SCENE],
    ["began", { turn: 7, branch: "main", answers: 1 }],
    ["delta", { turn: 7, text: "as i was saying" }],
    ["undone", { branch: "main", summary: 3 }],
  ]], [[...TALK, summary], TALK]);
  await page.waitForSelector("text=as i was saying");
  await eventually(async () => assert.deepEqual(await log(page), ["human: hello", "assistant: good morning", "assistant live: as i was saying"]));
});

test("a summary that was taken back while nobody listened goes too", async (t) => {
  const summary = entry(3, "summary", "we greeted");
  const page = await told(t, [[["hello", SCENE]], [["hello", SCENE]]], [[...TALK, summary], TALK]);
  await eventually(async () => assert.deepEqual(await log(page), ["human: hello", "assistant: good morning"]));
});

test("a refused key is told once, after what was said, however often the line breaks", async (t) => {
  const held = { ...SCENE, held: "the model takes no key." };
  const again = { turn: 7, branch: "main", newest: 1, first: false, why: held.held };
  const page = await told(t, [[["hello", held]], [["hello", held], ["held", again]], [["hello", held]]], [TALK]);
  await eventually(async () => assert.deepEqual(await log(page), ["human: hello", "assistant: good morning", "note: the model takes no key."]));
});

test("a progress note is shown with the step, as plain text, until the answer begins", async (t) => {
  const note = "Checking <img src=x onerror=alert(1)> the **calendar** first.";
  const page = await told(t, [[
    ["hello", SCENE],
    ["began", { turn: 7, branch: "main", answers: 1 }],
    ["progress", { turn: 7, note: "Reading the mail." }],
    ["progress", { turn: 7, note }],
    ["working", { turn: 7, tool: "read_calendar", doing: "runs" }],
    ["progress", { turn: 8, note: "Another turn." }],
  ]], [TALK]);
  await page.waitForSelector("text=read calendar");
  await eventually(async () => assert.deepEqual(await log(page), ["human: hello", "assistant: good morning", `assistant live: ${note}\n\nread calendar…`]));
});

test("a progress note goes when the answer begins, and who comes late sees the newest one", async (t) => {
  const run = { turn: 7, branch: "main", answers: 1, text: "", note: "Reading the mail.", tool: null, doing: null };
  const late = await told(t, [[["hello", { ...SCENE, running: [run] }]]], [TALK]);
  await late.waitForSelector("text=Reading the mail.");
  const page = await told(t, [[
    ["hello", { ...SCENE, running: [run] }],
    ["delta", { turn: 7, text: "you are free" }],
  ]], [TALK]);
  await page.waitForSelector("text=you are free");
  await eventually(async () => assert.deepEqual(await log(page), ["human: hello", "assistant: good morning", "assistant live: you are free"]));
});

test("a page lists the commands when it is asked for help, after the command itself", async (t) => {
  const page = await told(t, [], [TALK]);
  await page.fill("#words", "/help");
  await page.press("#words", "Enter");
  await page.waitForSelector(".note");
  const lines = (await page.innerText(".note")).split("\n");
  assert.ok(lines.some((line) => line.startsWith("/undo ")), lines.join("|"));
  assert.ok(lines.some((line) => line.startsWith("/help ")), lines.join("|"));
  const all = await log(page);
  assert.equal(all[0], "human order: /help");
  assert.match(all[1], /^note quiet: our conversation/);
});

test("what is bold in an answer is bold on the page", async (t) => {
  const page = await told(t, [], [TALK]);
  await page.fill("#words", "/config model.main");
  await page.press("#words", "Enter");
  await page.waitForSelector(".note strong");
  await eventually(async () => assert.deepEqual(await log(page), ["human order: /config model.main", "note quiet: model.main: (default)"]));
});

test("what a background run sends stands where it came, and a reply and a button name it", async (t) => {
  const card = {
    title: "Mail", description: "two need you", color: "blue", fields: [], footer: "bg",
    buttons: [{ label: "Answer", style: "primary", press: "act:agent:0a1b2c3d" }],
  };
  const sent = { id: 7, parent: 6, at: "2026-11-15T08:00:00Z", by: "tools", from: "routine:mail", results: [{ call: "a", done: true, text: "Message sent.", words: "two mails", embed: null }] };
  const embed = { ...sent, id: 9, results: [{ call: "b", done: true, text: "Embed sent.", words: null, embed: card }] };
  const run = "fork/1f2e3d4c";
  const page = await told(t, [[
    ["hello", SCENE],
    ["began", { turn: 8, branch: run, answers: 4 }],
    ["delta", { turn: 8, text: "nobody reads this" }],
    ["said", { branch: run, entry: entry(6, "assistant", "nobody reads this") }],
    ["sent", { entry: sent }],
    ["sent", { entry: embed }],
  ]], [TALK]);
  await page.waitForSelector(".embed");
  const lines = (await log(page)).map((line) => line.replaceAll("\n", " "));
  assert.deepEqual(lines.map((line) => line.split(":")[0]), ["human", "assistant", "tools sent", "tools sent"]);
  assert.ok(lines[2].includes("two mails") && lines[2].includes("routine:mail"), lines[2]);
  assert.equal(await page.getByText("nobody reads this").count(), 0);

  const posted = [];
  await page.route("**/api/buttons", (route) => {
    posted.push(route.request().postDataJSON());
    return route.fulfill({ status: 422, json: { ok: false, error: { kind: "refused", message: "leave it first." } } });
  });
  await page.click(".embed button.primary");
  await page.waitForSelector("text=leave it first.");
  assert.deepEqual(posted, [{ message: 9, button: "act:agent:0a1b2c3d" }]);
  assert.equal(await page.isDisabled(".embed button.primary"), false);

  await page.route("**/api/messages", (route) => {
    posted.push(route.request().postDataJSON());
    return route.fulfill({ status: 202, json: { ok: true, message: 5 } });
  });
  await page.locator('li[data-id="7"] .reply').focus();
  await page.keyboard.press("Enter");
  await page.fill("#words", "who wrote?");
  await page.press("#words", "Enter");
  await page.waitForSelector("text=reply to: two mails");
  assert.deepEqual(posted.at(-1), { text: "who wrote?", reply_to: 7 });
});
