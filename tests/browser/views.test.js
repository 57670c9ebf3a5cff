// The views in the navigation bar and under `more`, with data from the real assistant.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PICTURES, assistant, browser, eventually, into } from "./house.js";

const VIEWS = ["pings", "cost", "files", "search", "health"];
const routine = (id, cron, more, words) => `---\nid: ${id}\ncron: "${cron}"\n${more}---\n${words}\n`;

let home;
let seat;
let page;

before(async () => {
  home = await assistant([
    { blocks: [{ tool: "report_updates", input: { message: "two mails need an answer: the bank, and **anna**." } }] },
    { blocks: [{ tool: "ping_user", input: { message: "your 16:00 moved to 15:30" } }] },
    ...Array.from({ length: 8 }, () => ({ say: "the dentist moved to friday." })),
  ]);
  home.file("routines/mail.md", routine("mail", "0 0 1 1 *", "background: true\nupdate-main-session: freely\ndescription: look at the mail\n", "look"));
  home.file("routines/morning.md", routine("morning", "30 8 * * 1-5", "description: morning check-in\n", "look"));
  // Without quiet hours a ping is shown and not deferred, at whatever hour the test runs.
  const quiet = home.command("quiet", "off");
  assert.equal(quiet.code, 0, quiet.err);
  seat = await browser({ permissions: ["notifications"] });
  page = seat.page;
  await page.goto(await home.start());
  await into(page, "schedule");
  await page.locator('#schedule .job[data-job="routine:mail"] >> text=run now').click();
  await page.waitForFunction(async () => (await (await fetch("/api/pings?days=1")).json()).pings.length === 1);
});

after(async () => {
  await seat?.end();
  await home?.end();
});

const wide = () => page.evaluate(() => [document.documentElement, document.querySelector("main > :not([hidden])")].map((node) => node.scrollWidth - node.clientWidth));

test("every view is in the bar or under more, and has a key", async () => {
  const bar = await page.$$eval("#views > a", (all) => all.map((link) => link.textContent));
  assert.deepEqual(bar, ["Today", "Chat", "Schedule", "Pings"]);
  await page.click("#views .more > summary");
  const more = await page.$$eval("#views .more a", (all) => all.map((link) => link.textContent));
  assert.deepEqual(more, ["Sessions", "Updates", "Cost", "Files", "Search", "Health"]);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#views .choices").isVisible(), false);
  for (const [key, view] of [["p", "pings"], ["u", "updates"], ["o", "cost"], ["f", "files"], ["h", "health"], ["t", "today"]]) {
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press(key);
    await page.waitForSelector(`#${view}:not([hidden])`);
  }
});

test("a ping stands in the list with its lane and what became of it, and says why", async () => {
  await into(page, "pings");
  const ping = page.locator("#pings .pinged li", { hasText: "your 16:00 moved to 15:30" });
  await ping.waitFor();
  assert.match(await ping.innerText(), /look at the mail[\s\S]*my idea · no reaction/);
  await ping.locator("text=why").click();
  await ping.locator(".why", { hasText: "routine:mail" }).waitFor();
  const rows = await page.$$eval("#pings .left-box tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(rows.map(([, ...rest]) => rest), [["5.0", "4.0", "your 16:00 moved to 15:30"]]);
  assert.deepEqual(await page.$$eval("#pings .bars li", (all) => all.map((li) => li.innerText.split("\n").map((part) => part.trim()).filter(Boolean))), [["no reaction", "1"]]);
  assert.equal(await page.locator("#pings .grid td", { hasText: "·" }).count(), 28);
});

test("the budget is changed by one step, and the button keeps the focus", async () => {
  await page.locator("#pings .stepper button").nth(1).focus();
  await page.keyboard.press("Enter");
  await page.waitForSelector("#pings .stepper b >> text=6");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "at most: more");
  await page.locator("#pings .stepper button").nth(2).click();
  await page.waitForSelector("#pings .stepper b >> text=75 min");
});

test("what a run left is an update, and can be talked about", async () => {
  await into(page, "updates");
  await page.waitForSelector("#updates li >> text=two mails need an answer");
  assert.equal(await page.locator("#updates li strong").innerText(), "anna");
  for (const width of [380, 1280]) {
    await page.setViewportSize({ width, height: width === 380 ? 900 : 800 });
    await eventually(async () => assert.deepEqual(await wide(), [0, 0]));
    await page.screenshot({ path: join(PICTURES, `updates-${width}-light.png`) });
  }
  await page.locator("#updates >> text=talk about it").click();
  await page.waitForSelector("#chat:not([hidden])");
  assert.equal(await page.inputValue("#words"), "about what routine:mail found: ");
  await page.fill("#words", "");
});

test("what a reminder on the page is answered with counts as its outcome", async () => {
  const soon = new Date(Date.now() + 2_000).toISOString().replace(/\.\d+Z/, "+00:00");
  home.file("reminders/bag.md", `---\nid: bag\nrun-at: ${soon}\n---\npack the bag\n`);
  await into(page, "today");
  await page.locator("#today .rang >> text=Done").click();
  await page.waitForSelector("#today .rang.done");
  await into(page, "pings");
  await page.locator("#pings .pinged li", { hasText: "pack the bag" }).locator("text=/you asked · done after \\d+ min/").waitFor();
  await page.locator("#pings .bars li", { hasText: "done" }).waitFor();
});

test("what is written down can be read under Files, as words and nothing else", async () => {
  const evil = "<img src=x onerror=alert(1)> the flat is at 12, rua x";
  home.file("notes/lisbon.md", evil);
  home.file("state/secret.md", "nobody sees this");
  await into(page, "chat");
  await into(page, "files");
  const note = page.locator("#files .note", { hasText: "notes/lisbon.md" });
  await note.locator("summary").focus();
  await page.keyboard.press("Enter");
  await note.locator("pre >> text=the flat is at 12").waitFor();
  assert.equal(await note.locator("pre").textContent(), evil);
  assert.equal(await page.locator("#files img").count(), 0);
  assert.ok(!(await page.innerText("#files")).includes("secret.md"));
  const taken = await page.evaluate(async () => Promise.all(["state/secret.md", "notes/../state/secret.md"].map(async (file) => (await fetch(`/api/notes/text?file=${encodeURIComponent(file)}`)).status)));
  assert.deepEqual(taken, [400, 400]);
  await page.keyboard.press("Enter");
});

test("a search that takes longer than a second says so, and for how long, for the first places and for older ones", async () => {
  const holds = [];
  await page.route("**/api/search*", (route) => { holds.push(route); });
  const hit = { id: 1, at: "2026-11-15T10:00:00+01:00", by: "human", text: "the dentist" };
  const answers = async (json) => (await holds.shift()).fulfill({ json });
  const bar = page.locator("#search progress");
  await into(page, "search");
  await page.fill("#looked-for", "dentist");
  await page.waitForSelector("#search [role=status] >> text=/looking… \\d+ s/");
  assert.equal(await bar.isVisible(), true);
  await answers({ hits: [hit], more: true });
  await page.waitForSelector("#search .hit");
  assert.equal(await bar.isVisible(), false);
  await page.click("#search >> text=older ones");
  await page.waitForSelector("#search [role=status] >> text=/looking further back… \\d+ s/");
  assert.equal(await page.isDisabled("#search >> text=older ones"), true);
  await answers({ hits: [{ ...hit, id: 0 }], more: false });
  await page.waitForSelector("#search [role=status] >> text=2 places");
  await page.unroute("**/api/search*");
  await page.fill("#looked-for", "");
});

test("cost is told by day and source, with the limit and the cached share, and the same as a table", async () => {
  await into(page, "cost");
  await page.waitForSelector("#cost .sums dd");
  assert.match(await page.innerText("#cost .sums"), /today\s+\$\d/);
  assert.match(await page.locator("#cost svg[role=img]").first().getAttribute("aria-label"), /^cost of the last 14 days: \d{4}-/);
  assert.match(await page.innerText("#cost"), /limit \$5\.00[\s\S]*when the limit is reached, routines stop/);
  assert.match(await page.innerText("#cost .forecast"), /a forecast needs a whole day/);
  const words = "forecast: about $0.40 today, about $12.00 this month.";
  await page.route("**/api/cost*", async (route) => {
    const response = await route.fetch();
    return route.fulfill({ response, json: { ...(await response.json()), forecast: { words } } });
  });
  await into(page, "chat");
  await into(page, "cost");
  await page.waitForSelector(`#cost .forecast >> text=${words}`);
  await page.unroute("**/api/cost*");
  const sources = await page.$$eval("#cost .twin tbody tr", (all) => all.map((row) => row.cells[1].textContent));
  assert.ok(sources.includes("routine:mail"), sources.join());
});

// Answers the request for costs with changed data of the real assistant.
const told = async (change) => {
  await page.route("**/api/cost*", async (route) => {
    const response = await route.fetch();
    return route.fulfill({ response, json: change(await response.json()) });
  });
};

test("what has no price is not shown as free, and each is told by run", async () => {
  const total = { calls: 4, unpriced_calls: 0, input: 10, cache_read: 0, cache_write: 0, output: 5, cached_percent: 0, dollars: 0.4 };
  const free = { ...total, unpriced_calls: 4, dollars: 0 };
  const some = { ...total, unpriced_calls: 1, dollars: 0.3 };
  await told((cost) => ({
    ...cost,
    today: free, week: some, month: total,
    by_source: [{ name: "main", runs: 2, ...total }, { name: "routine:mail", runs: 2, ...free }, { name: "fork", runs: 1, ...some }],
    by_model: [{ name: "local", ...free }],
    by_day_and_source: [{ day: cost.date, name: "routine:mail", ...free }],
    by_day: [{ name: cost.date, ...free }],
  }));
  await into(page, "chat");
  await into(page, "cost");
  const cells = (title) => page.$$eval(`#cost [aria-label="${title}"] tbody tr`, (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  await page.waitForSelector('#cost [aria-label="by source"] tbody >> text=price unknown');
  assert.deepEqual(await cells("by source"), [
    ["main", "2", "$0.20", "$0.40", "0 %"],
    ["fork", "1", "–", "$0.30 and 1 call without a price", "0 %"],
    ["routine:mail", "2", "price unknown", "price unknown", "0 %"],
  ]);
  assert.deepEqual(await cells("by model"), [["local", "4", "price unknown", "0 %"]]);
  assert.match(await page.innerText("#cost .sums"), /today\s+price unknown\s+4 calls[\s\S]*7 days\s+\$0\.30\s+4 calls · 0 % cached, and 1 call without a price/);
  assert.match(await page.locator("#cost svg[role=img]").first().getAttribute("aria-label"), /price unknown$/);
  await page.screenshot({ path: join(PICTURES, "cost-unpriced.png"), fullPage: true });
  await page.unroute("**/api/cost*");
});

test("cost looks back as far as is chosen", async () => {
  await into(page, "cost");
  for (const [days, title] of [["today", "today, by source"], ["7 days", "the last 7 days, by source"], ["30 days", "the last 30 days, by source"], ["14 days", "the last 14 days, by source"]]) {
    await page.locator("#cost .spans button", { hasText: new RegExp(`^${days}$`) }).click();
    await page.waitForSelector(`#cost h2 >> text=${title}`);
    assert.deepEqual(await page.$$eval("#cost .spans [aria-pressed=true]", (all) => all.map((node) => node.textContent)), [days]);
  }
});

test("a limit that is nearly or wholly used stands on today and in the checks, the nearer of the two", async () => {
  const words = "today's 5.0M tokens are used up. routines are left out until tomorrow, reminders go on.";
  await into(page, "today");
  await page.waitForSelector("#today .foot");
  assert.equal(await page.locator("#today .standing").isVisible(), false);
  await told((cost) => ({ ...cost, unattended: { ...cost.unattended, nearest: "5.0M of 5.0M tokens", percent: 100, standing: words } }));
  await into(page, "chat");
  await into(page, "today");
  await page.waitForSelector(`#today .standing >> text=${words}`);
  assert.match(await page.innerText("#today .foot"), /5\.0M of 5\.0M tokens for unattended work/);
  await page.screenshot({ path: join(PICTURES, "today-limit.png"), fullPage: true });
  await into(page, "health");
  await page.waitForSelector(`#health .checks .look >> text=${words}`);
  await page.unroute("**/api/cost*");
  await into(page, "chat");
  await into(page, "health");
  await page.waitForSelector("#health .checks .fine >> text=/(\\$\\d+\\.\\d\\d|tokens) used today by unattended work/");
});

// Returns the current daily limit of unattended work.
const holds = () => page.evaluate(async () => {
  const { dollars_per_day: dollars, tokens_per_day: tokens } = (await (await fetch("/api/cost?days=1")).json()).unattended;
  return [dollars, tokens];
});

test("the daily limit is changed where the cost is told, with what it was, and taken back by keyboard", async () => {
  const first = await holds();
  await into(page, "cost");
  const limit = page.locator("#cost .daily-limit");
  await limit.locator("input").fill("lots");
  await page.keyboard.press("Enter");
  await limit.locator("[role=alert] >> text=it cannot be `lots`. use dollars").waitFor();
  assert.deepEqual([await limit.locator("input").inputValue(), await holds()], ["lots", first]);
  await limit.locator("input").fill("6 8M");
  await page.keyboard.press("Enter");
  await limit.locator(".outcome >> text=/^daily_limit: \\$6.00 8M. it was \\$5.00( \\w+)?. Undo$/").waitFor();
  assert.deepEqual(await holds(), [6, 8_000_000]);
  await page.waitForSelector("#cost .daily-limit >> text=/of \\$6.00, .* of 8,000,000 tokens/");
  assert.equal(await limit.locator("[role=alert]").isVisible(), false);
  for (const width of [380, 1280]) {
    await page.setViewportSize({ width, height: width === 380 ? 900 : 800 });
    await eventually(async () => assert.deepEqual(await wide(), [0, 0]));
    await limit.locator(".outcome button").scrollIntoViewIfNeeded();
    await page.screenshot({ path: join(PICTURES, `cost-limit-${width}.png`) });
  }
  await limit.locator(".outcome button").focus();
  await page.keyboard.press("Enter");
  await limit.locator(".outcome >> text=/it was \\$6.00 8M. Undo$/").waitFor();
  assert.deepEqual(await holds(), first);
  assert.equal(JSON.parse(home.file("state/config.json")).daily_limit, null, "it is as written again");
});

test("near the limit one press raises it, and says to what before", async () => {
  const first = await holds();
  await told((cost) => ({ ...cost, unattended: { ...cost.unattended, standing: "today's $5.00 is used up.", raised: "$10.00 9M" } }));
  await into(page, "chat");
  await into(page, "today");
  const raise = page.locator("#today .standing button");
  await raise.filter({ hasText: /^raise the limit to \$10\.00 and 9M tokens a day$/ }).waitFor();
  for (const width of [380, 1280]) {
    await page.setViewportSize({ width, height: width === 380 ? 900 : 800 });
    await eventually(async () => assert.deepEqual(await wide(), [0, 0]));
    await page.screenshot({ path: join(PICTURES, `today-limit-${width}.png`) });
  }
  await page.unroute("**/api/cost*");
  await raise.focus();
  await page.keyboard.press("Enter");
  await page.locator("#today .standing .outcome", { hasText: "daily_limit: $10.00 9M. it was $5.00" }).waitFor();
  assert.deepEqual(await holds(), [10, 9_000_000]);
  await page.waitForSelector("#today .standing > button", { state: "hidden" });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Undo");
  await page.screenshot({ path: join(PICTURES, "today-raised.png") });
  await page.keyboard.press("Enter");
  await page.locator("#today .standing .outcome", { hasText: "it was $10.00 9M" }).waitFor();
  assert.deepEqual(await holds(), first);
});

test("a file says what it would do before it is saved, and a mistake is named", async () => {
  await into(page, "files");
  const row = page.locator("#files li", { hasText: "routines/morning.md" });
  await row.locator("text=edit").click();
  await row.locator(".fires", { hasText: "weekdays 08:30. next:" }).waitFor();
  assert.equal((await row.locator(".fires").innerText()).split(";").length, 5);
  const text = await row.locator("textarea").inputValue();
  await row.locator("textarea").fill(text.replace("30 8", "99 8"));
  await row.locator(".fires.wrong", { hasText: "line 3" }).waitFor();
  await row.locator("textarea").fill(text.replace("30 8", "45 9"));
  await row.locator(".fires:not(.wrong)", { hasText: "weekdays 09:45" }).waitFor();
  assert.match(home.file("routines/morning.md"), /30 8/, "nothing was saved yet");
  await row.locator("text=save").first().click();
  await row.locator("textarea").waitFor({ state: "detached" });
  assert.match(home.file("routines/morning.md"), /45 9/);
});

test("what was said is found, and shown where it was said", async () => {
  await into(page, "chat");
  await page.fill("#words", "when is the dentist?");
  await page.press("#words", "Enter");
  await page.waitForFunction(() => !document.querySelector(".live, .waiting, .dots") && document.body.innerText.includes("moved to friday"));
  await into(page, "search");
  await page.fill("#looked-for", "DENTIST?");
  const hit = page.locator("#search .hit", { hasText: "when is the dentist?" });
  await hit.waitFor();
  assert.match(await page.innerText("#search [role=status]"), /\d+ places?, newest first/);
  assert.equal(await hit.locator("mark").innerText(), "dentist?");
  await hit.click();
  await page.waitForSelector("#chat:not([hidden])");
  assert.match(await page.evaluate(() => document.activeElement.innerText), /when is the dentist\?/);
  await into(page, "search");
  await page.fill("#looked-for", "nobody ever said this");
  await page.waitForSelector("#search >> text=that was never said.");
});

test("health tells what is checked, how late things began, and forgets a device on the second press", async () => {
  await into(page, "health");
  await page.waitForSelector("#health .checks .fine");
  assert.match(await page.innerText("#health .checks"), /brain\s+anthropic:[\s\S]*files\s+\d+ plans? can be read/);
  assert.match(await page.innerText("#health"), /\d+ times? · half within/);
  const other = await browser();
  const link = /http:\S+#k=\w+/.exec(home.command("open", "--print").out + home.command("open").out)?.[0];
  if (link) {
    await other.page.goto(link);
    await other.page.waitForSelector("#today:not([hidden])");
    await page.waitForFunction(() => document.querySelectorAll("#health .devices li").length === 2);
    const forget = page.locator("#health .devices button").last();
    await forget.click();
    assert.equal(await forget.innerText(), "really forget");
    await forget.click();
    await other.page.waitForSelector("#alone:not([hidden])");
    await page.waitForFunction(() => document.querySelectorAll("#health .devices li").length === 1);
  }
  await other.end();
  assert.ok(link, "no link to pair another browser with");
});

test("notifications are off until they are wanted, and a test shows one", async () => {
  await into(page, "health");
  await page.evaluate(() => {
    window.told = [];
    window.Notification = class { static permission = "default"; constructor(title, { body, tag }) { window.told.push([title, body, tag]); } close() {} };
  });
  await page.evaluate(() => { Notification.requestPermission = async () => { Notification.permission = "granted"; return "granted"; }; });
  await page.locator("#health >> text=turn on").click();
  await page.locator("#health >> text=Send test").click();
  assert.deepEqual(await page.evaluate(() => window.told), [["ollim", "this is how a reminder looks.", "test"]]);
  const soon = new Date(Date.now() + 2_000).toISOString().replace(/\.\d+Z/, "+00:00");
  await page.evaluate(() => Object.defineProperty(document, "hidden", { value: true, configurable: true }));
  home.file("reminders/tea.md", `---\nid: tea\nrun-at: ${soon}\n---\ntea is ready\n`);
  await page.waitForFunction(() => window.told.some(([, , tag]) => tag === "card-tea"));
  await page.evaluate(() => delete document.hidden);
  await page.locator("#health >> text=turn off").click();
  assert.equal(await page.locator("#health >> text=Send test").count(), 0);
});

test("a second tab and a newer assistant are told in one line, and nothing is lost", async () => {
  await page.fill("#captured", "half a thou");
  const tab = await seat.context.newPage();
  await tab.goto(new URL("/", page.url()).href);
  await Promise.all([page, tab].map((one) => one.waitForSelector("#told >> text=open in another tab too")));
  assert.equal(await page.inputValue("#captured"), "half a thou");
  await tab.close();
  await page.click("#told button");
  await page.route("**/api/health", async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, version: "9.9.9" } });
  });
  await home.kill();
  await home.start();
  await page.waitForSelector("#told >> text=the assistant is now version 9.9.9");
  await page.unroute("**/api/health");
  await page.click("#told >> text=reload");
  await page.waitForSelector("#views a");
  assert.equal(await page.inputValue("#captured"), "half a thou");
  await page.fill("#captured", "");
});

for (const width of [1280, 380]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`all views fit ${width} pixels, ${colorScheme}`, async () => {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: width === 380 ? 900 : 800 });
      for (const view of VIEWS) {
        await into(page, view);
        if (view === "search") await page.fill("#looked-for", "dentist");
        await page.waitForLoadState("networkidle").catch(() => {});
        await page.waitForFunction((name) => document.getElementById(name).innerText.length > 60, view);
        await eventually(async () => assert.deepEqual(await wide(), [0, 0], view));
        await page.screenshot({ path: join(PICTURES, `${view}-${width}-${colorScheme}.png`) });
      }
    });
  }
}

test("nothing broke, nothing was blocked, nothing went elsewhere", () => {
  assert.deepEqual([seat.errors, seat.dialogs, seat.abroad], [[], [], []]);
});
