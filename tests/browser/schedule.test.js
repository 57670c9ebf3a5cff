// The schedule on the page: with data from the real assistant, and with fixed data for all states
// of an occurrence.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { OFFSET, PICTURES, assistant, browser, eventually, house, into } from "./house.js";

const EVIL = "<img src=x onerror=alert(1)> <b>tea</b> & \"quotes\"";
const job = (id, cron, more, words) => `---\nid: ${id}\ncron: ${cron}\n${more}---\n${words}\n`;

let home;
let seat;

before(async () => {
  home = await assistant(["stretch a little.", "the mail is quiet.", "another one."].map((say) => ({ say })));
  seat = await browser();
  await seat.page.goto(await home.start());
  await into(seat.page, "chat");
});

after(async () => {
  await seat?.end();
  await home?.end();
});

const row = (name) => seat.page.locator(`#schedule .job[data-job="${name}"]`);
const shown = (name) => row(name).waitFor();
const wide = (page) => page.evaluate(() => [document.documentElement, document.querySelector("#schedule")].map((node) => node.scrollWidth - node.clientWidth));
const until = (page, words, ...given) => page.waitForFunction(words, ...given);

test("where nothing is planned, the view says how to begin", async () => {
  await seat.page.keyboard.press("Escape");
  await seat.page.evaluate(() => { location.hash = "schedule"; });
  await seat.page.waitForSelector("#schedule .none >> text=nothing is planned");
  assert.match(await seat.page.innerText("#schedule .none"), /remind me to .*routines\/mail\.md/);
  assert.equal(new URL(seat.page.url()).hash, "#schedule");
});

test("what files plan is listed with its times, soonest first, and names are words", async () => {
  home.file("routines/stretch.md", job("stretch", "59 23 * * *", "", "tell me to stretch"));
  home.file("routines/mail.md", job("mail", "0 */6 * * *", "background: true\ndescription: my mail\n", "look at my mail"));
  home.file("reminders/evil.md", `---\nid: evil\nrun-at: 2031-01-02T03:04:05${OFFSET}\ndescription: '${EVIL}'\n---\ntea\n`);
  await seat.page.evaluate(() => { location.hash = "chat"; });
  await until(seat.page, async () => (await (await fetch("/api/schedule")).json()).jobs.length === 3);
  await seat.page.evaluate(() => { location.hash = "schedule"; });
  await Promise.all(["routine:stretch", "routine:mail", "reminder:evil"].map(shown));
  await eventually(async () => assert.equal(await seat.page.locator("#schedule .job").last().getAttribute("data-job"), "reminder:evil"));
  assert.match(await row("routine:mail").innerText(), /my mail[\s\S]*in the background[\s\S]*every 6 hours[\s\S]*· in \d/);
  assert.equal(await row("reminder:evil").locator(".called b").textContent(), EVIL.slice(0, 60).trimEnd());
  assert.equal(await seat.page.locator("#schedule img, #schedule .jobs b b").count(), 0);
  assert.equal(await row("routine:stretch").locator(".mark.coming").count(), 1);
  const told = await row("routine:stretch").locator("svg.strip").getAttribute("aria-label");
  assert.equal(told, "today: 23:59 to come");
  assert.deepEqual([seat.errors, seat.dialogs, seat.abroad], [[], [], []]);
});

test("words plan something from here too, and it is in the list", async () => {
  const { page } = seat;
  await page.fill("#captured", "call mum on 3 jan 2031 at 10:00");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#capture .stored >> text=call mum");
  assert.equal(await page.inputValue("#captured"), "");
  await page.waitForSelector("#schedule .job >> text=call mum");
});

test("a job is run now, and the strip tells by itself that it was done", async () => {
  await row("routine:mail").locator("text=run now").click();
  await row("routine:mail").locator(".mark.silent").waitFor();
  await eventually(async () => assert.match(await row("routine:mail").locator("svg.strip").getAttribute("aria-label"), /done, and there was nothing to say/));
  await row("routine:stretch").locator("text=run now").click();
  await row("routine:stretch").locator(".mark.done").waitFor();
  await eventually(async () => {
    const kinds = await seat.page.$$eval("#schedule tbody tr", (all) => all.map((tr) => tr.dataset.kind));
    assert.ok(kinds.includes("silent") && kinds.includes("done") && kinds.includes("coming"), kinds.join());
  });
  await row("routine:mail").locator(".spent", { hasText: /^\$0\.\d+ in 30 days$/ }).waitFor();
  assert.equal(await row("reminder:evil").locator(".spent").innerText(), "");
});

test("a job is paused by a line in its file, and goes on without it", async () => {
  const before = home.file("routines/stretch.md");
  await row("routine:stretch").locator('text="pause"').click();
  await row("routine:stretch").locator("text=resume").waitFor();
  await row("routine:stretch").locator('.next >> text="paused"').waitFor();
  assert.match(home.file("routines/stretch.md"), /^paused: true$/m);
  await row("routine:stretch").locator("text=resume").click();
  await row("routine:stretch").locator('text="pause"').waitFor();
  assert.equal(home.file("routines/stretch.md"), before);
});

test("an edit that cannot be read is told with its line, and nothing is lost", async () => {
  const { page } = seat;
  const before = home.file("routines/stretch.md");
  await row("routine:stretch").locator("text=edit").focus();
  await page.keyboard.press("Enter");
  const text = row("routine:stretch").locator("textarea");
  await until(page, () => document.querySelector("#schedule textarea")?.value);
  assert.equal(await text.inputValue(), before);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "TEXTAREA");
  const wrong = before.replace("59 23", "99 23");
  await text.fill(wrong);
  await page.keyboard.press("Control+Enter");
  await row("routine:stretch").locator(".editor .wrong[role=alert]").waitFor();
  assert.match(await row("routine:stretch").locator(".editor .wrong[role=alert]").innerText(), /not saved\. line 3: `cron`/);
  assert.equal(await text.inputValue(), wrong);
  assert.equal(await text.evaluate((node) => node.value.slice(node.selectionStart, node.selectionEnd)), "cron: 99 23 * * *");
  assert.equal(home.file("routines/stretch.md"), before);
  await page.screenshot({ path: join(PICTURES, "schedule-edit-error.png") });

  await page.keyboard.press("Escape");
  await row("routine:stretch").locator(".editor .wrong[role=alert] >> text=you changed something").waitFor();
  await text.fill(before.replace("59 23", "58 23"));
  await row("routine:stretch").locator(".editor .primary").click();
  await row("routine:stretch").locator(".when >> text=every day 23:58").waitFor();
  await row("routine:stretch").locator(".editor").waitFor({ state: "detached" });
});

test("who writes is not disturbed by what happens meanwhile, and what another wrote is not overwritten", async () => {
  const { page } = seat;
  await row("routine:stretch").locator("text=edit").click();
  const text = row("routine:stretch").locator("textarea");
  await until(page, () => document.querySelector("#schedule textarea")?.value);
  await text.pressSequentially("x");
  home.file("routines/stretch.md", job("stretch", "57 23 * * *", "", "tell me to stretch"));
  await row("routine:mail").locator("text=run now").evaluate((node) => node.click());
  await row("routine:mail").locator(".mark.silent").nth(1).waitFor();
  await page.keyboard.type("y");
  assert.match(await text.inputValue(), /xy/);
  await row("routine:stretch").locator(".editor .primary").click();
  await row("routine:stretch").locator(".editor .wrong >> text=somebody else").waitFor();
  assert.match(await text.inputValue(), /xy/);
  await row("routine:stretch").locator("text=close without saving").click();
});

test("a broken file is named at the top, and can be mended there", async () => {
  const { page } = seat;
  home.file("routines/bad.md", job("bad", "<img src=x onerror=alert(1)>", "", "x"));
  await page.waitForSelector("#schedule .broken li");
  const told = await page.innerText("#schedule .broken");
  assert.match(told, /routines\/bad\.md can't be used\. line 3: `cron`/);
  await page.click("#schedule .broken >> text=edit");
  await until(page, () => document.querySelector("#schedule .broken textarea")?.value);
  await page.fill("#schedule .broken textarea", job("bad", "0 12 * * *", "", "good now"));
  await page.click("#schedule .broken .primary");
  await shown("routine:bad");
  await until(page, () => !document.querySelector("#schedule .broken li"));
  assert.deepEqual([seat.errors, seat.dialogs, seat.abroad], [[], [], []]);
});

test("a file that asks for more than is accepted says so, and whoever saves it accepts it", async () => {
  const { page } = seat;
  home.file("routines/mail.md", job("mail", "0 */6 * * *", "background: true\ndescription: my mail\nallowed-tools:\n- WebSearch\n", "look at my mail"));
  await page.waitForSelector("#schedule .broken li");
  const told = await page.innerText("#schedule .broken");
  assert.match(told, /routines\/mail\.md asks for "WebSearch", which you have not accepted: it runs without\..* so does saving it here\./);
  await page.screenshot({ path: join(PICTURES, "schedule-asks.png") });
  await page.click("#schedule .broken >> text=edit");
  await until(page, () => document.querySelector("#schedule .broken textarea")?.value.includes("WebSearch"));
  await page.click("#schedule .broken .primary");
  await until(page, () => !document.querySelector("#schedule .broken li"));
  assert.deepEqual([seat.errors, seat.dialogs], [[], []]);
});

test("a reminder is moved with the keyboard, told as it is stored, and taken back", async () => {
  const { page } = seat;
  const file = "reminders/visit.md";
  home.file(file, `---\nid: visit\nrun-at: 2031-03-04T10:00:00${OFFSET}\n---\nvisit the museum\n`);
  await shown("reminder:visit");
  const before = home.file(file);
  const menu = row("reminder:visit").locator("details.menu > summary");
  assert.equal(await menu.getAttribute("aria-label"), "move visit the museum");
  await menu.focus();
  await page.keyboard.press("Enter");
  await row("reminder:visit").locator(".choices input").focus();
  await page.keyboard.type("5 mar 2031 11:30");
  await page.keyboard.press("Enter");
  await row("reminder:visit").locator(".outcome >> text=5 mar 2031 11:30").waitFor();
  assert.match(home.file(file), /2031-03-05T11:30:00/);
  await row("reminder:visit").locator(".outcome button").focus();
  await page.keyboard.press("Enter");
  await row("reminder:visit").locator(".outcome >> text=4 mar 2031 10:00").waitFor();
  assert.equal(home.file(file).replaceAll('"', ""), before);
});

// Fixed data with all states of an occurrence, which the real assistant would need days to produce.

const at = (time, day = "16") => `2026-11-${day}T${time}:00+01:00`;
const past = (time, state, more = {}) => ({
  job: "routine:x", name: "x", due: at(time), state, late: false, why: "", since: at(time), tries: 1, silent: false, again: null, missed: null, ...more,
});
const planned = (id, name, when, next, more = {}) => ({
  job: `routine:${id}`, id, name, file: `routines/${id}.md`, kind: "routine", when, next: next && { at: at(next), words: `today ${next} · in ${Number(next.slice(0, 2)) - 14} h` },
  paused: null, background: true, session: null, may_ping: true, fires: next ? [at(next)] : [], fires_cut: false, open: null, last: [], ...more,
});
const often = Array.from({ length: 144 }, (_, n) => at(`${String(Math.floor(n / 6)).padStart(2, "0")}:${n % 6}0`));
const DAY = {
  now: at("14:33"), from: at("00:00"), to: "2026-11-17T00:00:00+01:00", hours: [0, 6, 12, 18].map((hour) => ({ hour, at: at(`${String(hour).padStart(2, "0")}:00`) })),
  paused: null, left_out: 0,
  jobs: [
    planned("calendar", "calendar watch", "every 2 hours 09:00-19:00", "15:00", {
      fires: ["15:00", "17:00", "19:00"].map((time) => at(time)),
      last: [past("13:00", "done", { silent: true }), past("11:00", "done"), past("09:00", "done", { late: true })],
    }),
    planned("stretch", "stretch", "weekdays 15:00", "15:00", { background: false }),
    planned("reports", "monthly numbers", "every month on the 1st, 09:00", null, { open: past("14:30", "running"), session: "persistent" }),
    planned("bank", "look at the bank account and tell me about anything that...", "every day 12:05 and 18:05", "18:05", {
      last: [past("12:05", "missed", { why: "it was too late when i could", missed: [1, at("12:05")] })],
    }),
    planned("feeds", "feeds", "every day 08:00 and 20:00", "20:00", { may_ping: false, last: [past("08:00", "failed", { why: "the model did not answer" })] }),
    planned("often", "every ten minutes", "every 10 min", "15:00", { fires: often.slice(90), last: often.slice(0, 88).reverse().map((due) => past("00:00", "done", { due })) }),
    planned("review", "weekly review", "sundays 17:00", null, { paused: { until: at("09:00", "23"), words: "paused until mon 23 nov 09:00 · in 7 days" } }),
  ],
  gone: [past("10:00", "done", { job: "reminder:d1", name: "call the dentist" })],
  missed: [past("12:05", "missed", { name: "bank account", why: "it was too late when i could", missed: [1, at("12:05")] }), past("08:00", "missed", { name: "water the plants, all of them, also those on the balcony", due: at("08:00", "14"), why: "it was too late when i could", missed: [6, at("13:00", "14")] })],
  broken: [{ file: "routines/news.md", why: "line 3: `cron`: \"0 25 * * *\": the hour is 25; write 0 to 23" }],
};

// The costs of some of these jobs.
const cost = (name, dollars, calls, unpriced) => ({ name, runs: calls, dollars, calls, unpriced_calls: unpriced, cached_percent: 0 });
const SPENT = [cost("routine:calendar", 0.42, 90, 0), cost("routine:often", 12.5, 4000, 0), cost("routine:feeds", 0, 60, 60), cost("routine:bank", 0.3, 60, 1), cost("main", 3, 9, 0)];

async function day(t, settings) {
  const played = await house();
  t.after(played.end);
  const eye = await browser({ reducedMotion: "reduce", ...settings });
  t.after(eye.end);
  await eye.page.route("**/api/schedule", (route) => route.fulfill({ json: DAY }));
  await eye.page.route("**/api/cost*", async (route) => {
    const response = await route.fetch();
    return route.fulfill({ response, json: { ...(await response.json()), by_source: SPENT } });
  });
  await eye.page.goto(played.link);
  await into(eye.page, "chat");
  await eye.page.goto(`${played.origin}/#schedule`);
  await eye.page.waitForSelector("#schedule .job");
  return eye;
}

test("each thing that becomes of a time has a shape of its own, and words", async (t) => {
  const { page, errors } = await day(t);
  const shape = (kind) => page.$eval(`#schedule .legend .mark.${kind}`, (node) => node.innerHTML);
  const kinds = ["done", "silent", "late", "running", "coming", "again", "failed", "missed", "skipped"];
  assert.equal(new Set(await Promise.all(kinds.map(shape))).size, kinds.length);
  const marks = (job) => page.$$eval(`#schedule [data-job="${job}"] .mark`, (all) => all.map((node) => node.getAttribute("class").slice(5)));
  assert.deepEqual(await marks("routine:calendar"), ["late", "done", "silent", "coming", "coming", "coming"]);
  assert.deepEqual(await marks("routine:reports"), ["running"]);
  const label = await page.getAttribute('#schedule [data-job="routine:bank"] svg', "aria-label");
  assert.equal(label, "today: 12:05 missed: it was too late when i could; 18:05 to come");
  const line = await page.locator('#schedule [data-job="routine:bank"] .now-line').getAttribute("x1");
  assert.ok(Math.abs(Number.parseFloat(line) - (14.55 / 24) * 100) < 0.1, line);
  assert.equal(await page.isDisabled('#schedule [data-job="routine:reports"] >> text=run now'), true);
  const table = await page.$$eval("#schedule tbody tr", (all) => all.map((tr) => [...tr.cells].map((cell) => cell.textContent)));
  assert.ok(table.some((cells) => cells.join("|") === "10:00|done|reminder:d1|call the dentist"));
  assert.match(await page.innerText("#schedule section.missed"), /water the plants[\s\S]*6 times, last/);
  assert.deepEqual(errors, []);
});

test("each job tells what it cost in thirty days; what has no price is not free, and what never ran says nothing", async (t) => {
  const { page, errors } = await day(t);
  const told = () => page.$$eval("#schedule .job", (all) => all.map((node) => [node.dataset.job.slice(8), node.querySelector(".spent").textContent]));
  await page.waitForSelector("#schedule .spent >> text=in 30 days");
  assert.deepEqual(await told(), [
    ["calendar", "$0.42 in 30 days"], ["stretch", ""], ["reports", ""], ["bank", "$0.30 and 1 call without a price in 30 days"],
    ["feeds", "price unknown in 30 days"], ["often", "$12.50 in 30 days"], ["review", ""],
  ]);
  await page.route("**/api/cost*", (route) => route.fulfill({ status: 500, json: { error: { kind: "broken", message: "the ledger cannot be read" } } }));
  await page.keyboard.press("c");
  await into(page, "schedule");
  await page.waitForFunction(() => !document.querySelector("#schedule .spent").textContent);
  assert.deepEqual([(await told()).length, await page.locator("#schedule > .wrong, #schedule .whole > .wrong").isVisible()], [7, false]);
  assert.deepEqual(errors, []);
});

test("what is planned waits for no ledger, and the ledger is not read at every look", async (t) => {
  const { page, errors } = await day(t);
  await page.waitForSelector("#schedule .spent >> text=in 30 days");
  await into(page, "chat");
  let [asked, answer] = [0, () => {}];
  await page.route("**/api/cost*", async (route) => {
    asked += 1;
    await new Promise((resolve) => { answer = resolve; });
    return route.fulfill({ json: { by_source: [cost("routine:stretch", 0.7, 3, 0)] } });
  });
  const later = { ...DAY, jobs: DAY.jobs.map((job) => (job.id === "stretch" ? { ...job, name: "stretch and bend" } : job)) };
  await page.route("**/api/schedule", (route) => route.fulfill({ json: later }));
  await page.route("**/api/schedule/run", (route) => route.fulfill({ json: {} }));
  await into(page, "schedule");
  const stretch = page.locator('#schedule [data-job="routine:stretch"]');
  await stretch.locator("text=stretch and bend").waitFor();
  for (let look = 0; look < 3; look += 1) {
    await Promise.all([page.waitForResponse("**/api/schedule"), stretch.locator("text=run now").click()]);
  }
  assert.equal(asked, 1, "the ledger was asked once");
  answer();
  await stretch.locator(".spent", { hasText: "$0.70 in 30 days" }).waitFor();
  assert.deepEqual(errors, []);
});

test("all of it can be reached by keyboard", async (t) => {
  const { page } = await day(t);
  await page.keyboard.press("c");
  await into(page, "chat");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("d");
  await page.waitForSelector("#schedule:not([hidden])");
  const met = [];
  for (let step = 0; step < 40; step += 1) {
    await page.keyboard.press("Tab");
    met.push(await page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent));
  }
  for (const name of ["edit routines/news.md", "run now: stretch", "pause: stretch", "edit: stretch", "resume: weekly review", "what the marks mean", "the same as a table"]) {
    assert.ok(met.includes(name), `${name} is not among ${met.join(", ")}`);
  }
});

for (const [width, height] of [[1280, 860], [380, 860]]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`a day fits ${width} pixels, ${colorScheme}`, async (t) => {
      const { page, errors } = await day(t, { viewport: { width, height }, colorScheme });
      assert.deepEqual(await wide(page), [0, 0]);
      const out = await page.$$eval("#schedule button, #schedule .axis span, #schedule .job > *", (all) => all.filter((node) => node.getBoundingClientRect().right > innerWidth + 1).length);
      assert.equal(out, 0, "nothing runs out of the page");
      await page.screenshot({ path: join(PICTURES, `schedule-${width}-${colorScheme}.png`) });
      await page.click("#schedule .key summary");
      await page.click("#schedule .whole > .twin summary");
      assert.deepEqual(await wide(page), [0, 0]);
      await page.screenshot({ path: join(PICTURES, `schedule-${width}-${colorScheme}-open.png`), fullPage: true });
      assert.deepEqual(errors, []);
    });
  }
}

const DENTIST = planned("d2", "call the dentist", "mon 16 nov 18:00", "18:00", {
  job: "reminder:d2", kind: "reminder", file: "reminders/d2.md", background: false,
});

test("a reminder is dragged along its strip; what is over, and what is let go of with Escape, changes nothing", async (t) => {
  const { page, errors } = await day(t);
  const asked = [];
  const answers = (route, kind, json) => {
    asked.push(route.request().postDataJSON()[kind]);
    return route.fulfill({ json });
  };
  await page.route("**/api/schedule", (route) => route.fulfill({ json: { ...DAY, jobs: [DENTIST, ...DAY.jobs] } }));
  await page.route("**/api/capture", (route) => answers(route, "text", { ok: true, text: "✓ today 20:05 · in 5 h 32 min · call the dentist", undo: "plan:1" }));
  await page.route("**/api/undo", (route) => answers(route, "undo", { ok: true, text: "call the dentist is back.", turn: null }));
  await into(page, "chat");
  await into(page, "schedule");
  const job = page.locator('#schedule [data-job="reminder:d2"]');
  await job.waitFor();
  const grip = job.locator(".movable .grip");
  const take = async (hour) => {
    const [mark, strip] = [await grip.boundingBox(), await job.locator("svg.strip").boundingBox()];
    const y = mark.y + mark.height / 2;
    await page.mouse.move(mark.x + mark.width / 2, y);
    await page.mouse.down();
    await page.mouse.move(strip.x + (strip.width * hour) / 24, y, { steps: 6 });
    return job.locator(".dragged").innerText();
  };
  const home = await job.locator(".movable").getAttribute("x");
  assert.match(await take(20.1), /^20:(00|05|10)$/);
  await page.keyboard.press("Escape");
  assert.equal(await job.locator(".movable").getAttribute("x"), home);
  await page.mouse.up();
  assert.match(await take(9), /^09:\d\d is over$/);
  await page.mouse.up();
  assert.equal(await job.locator(".movable").getAttribute("x"), home);
  assert.deepEqual(asked, []);
  const chosen = await take(20.1);
  await page.screenshot({ path: join(PICTURES, "dragged.png") });
  await page.mouse.up();
  await job.locator(".outcome >> text=✓ today 20:05").waitFor();
  assert.equal(await job.locator(".dragged").count(), 0);
  await job.locator(".outcome button").click();
  await job.locator(".outcome >> text=is back").waitFor();
  assert.deepEqual(asked, [`move d2 to today ${chosen}`, "plan:1"]);
  for (const width of [1280, 380]) {
    await page.setViewportSize({ width, height: 800 });
    await job.locator("details.menu > summary").click();
    assert.deepEqual(await wide(page), [0, 0]);
    await page.screenshot({ path: join(PICTURES, `moves-${width}.png`) });
    await page.keyboard.press("Escape");
  }
  assert.equal(await page.locator('#schedule [data-job="routine:stretch"] .movable').count(), 0, "a routine has its file");
  assert.deepEqual(errors, []);
});
