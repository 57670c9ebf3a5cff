// Fixtures: a fake or real assistant, and a browser with an empty profile.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../..", import.meta.url));
const FLAGS = [
  "--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

// The timeout of all waits in milliseconds. It is long because a busy machine is slow; only a
// failure takes this long.
export const PATIENCE = 180_000;

// Screenshots. They are not compared; `cargo xtask screenshots` copies some into docs/screens.
export const PICTURES = join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "pictures");
mkdirSync(PICTURES, { recursive: true });

// The user's time zone is one in which it is ten in the morning when the tests start, so that no
// test meets midnight, quiet hours or a change of the clocks. OLLIM_TEST_HOUR sets another hour.
const ahead = ((Number(process.env.OLLIM_TEST_HOUR ?? 10) - new Date().getUTCHours() + 36) % 24) - 12;
export const ZONE = ahead === 0 ? "Etc/UTC" : `Etc/GMT${ahead > 0 ? "-" : "+"}${Math.abs(ahead)}`;
export const OFFSET = `${ahead < 0 ? "-" : "+"}${String(Math.abs(ahead)).padStart(2, "0")}:00`;

// Returns the date in the user's time zone, today or `later` days after it.
export function date(later = 0) {
  return new Intl.DateTimeFormat("sv-SE", { timeZone: ZONE }).format(Date.now() + later * 86_400_000);
}

const programs = new Map();

// Builds a program of the workspace once and returns its path. OLLIM_TEST_BINS skips the build.
function built(name, ...where) {
  const bins = process.env.OLLIM_TEST_BINS;
  if (bins) return join(bins, where.includes("--example") ? "examples" : ".", name);
  if (programs.has(name)) return programs.get(name);
  const options = { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 };
  const done = spawnSync("cargo", ["build", "--quiet", ...where, name, "--message-format=json"], options);
  if (done.status !== 0) throw new Error(done.stderr);
  const made = done.stdout.split("\n").filter((line) => line.includes('"executable":"')).map((line) => JSON.parse(line));
  programs.set(name, made.at(-1).executable);
  return programs.get(name);
}

// Starts a child process whose output is read line by line.
function played(program, args, options = {}) {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], ...options });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const gone = new Promise((done) => child.once("exit", done));
  const stop = (signal) => {
    if (child.exitCode === null && child.signalCode === null) process.kill(child.pid, signal);
    return gone;
  };
  // The test runner calls the cleanup with the test as argument, which must not be used as the
  // signal.
  const end = () => stop("SIGTERM");
  const kill = () => stop("SIGKILL");
  return { child, end, kill, heard: async () => (await lines.next()).value };
}

// Returns the variables of libfaketime, so that the program has the same shifted clock as the tests
// and the browser.
function shiftedClock() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => name === "LD_PRELOAD" || /FAKE/.test(name)));
}

// Returns a free port. A restarted assistant uses the same port again, also while other tests run
// on this machine.
function freePort() {
  return new Promise((done, failed) => {
    const server = createServer().on("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

// Starts the real assistant in a directory of its own, with a scripted model.
export async function assistant(script) {
  const dir = mkdtempSync(join(tmpdir(), "ollim-home-"));
  const acts = join(dir, "script.json");
  writeFileSync(acts, JSON.stringify(script));
  const model = played(built("model-server", "-p", "testkit", "--bin"), ["--script", acts]);
  const address = /http:\/\/[\d.:]+/.exec(await model.heard())[0];
  const env = {
    PATH: process.env.PATH, HOME: dir, OLLIM_USER_NAME: "julius", OLLIM_TIMEZONE: ZONE,
    OLLIM_HTTP: `127.0.0.1:${await freePort()}`,
    ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: address, ...shiftedClock(),
  };
  const program = built("ollim-bot", "-p", "ollim-bot", "--bin");
  const command = (...args) => {
    const done = spawnSync(program, args, { env, encoding: "utf8" });
    return { out: done.stdout, err: done.stderr, code: done.status };
  };
  let running;
  const start = async () => {
    running = played(program, ["run", "--no-chat"], { env });
    for (let line = ""; line !== undefined; line = await running.heard()) {
      const link = /http:\/\/\S+#k=\w+/.exec(line);
      if (link) return link[0];
    }
    throw new Error("the assistant did not start");
  };
  const end = async () => {
    await running?.end();
    await model.end();
    rmSync(dir, { recursive: true, force: true });
  };
  // Returns the content of a file of the data directory; writes `text` first if it is given.
  const file = (name, text) => {
    const path = join(dir, ".ollim-bot", name);
    if (text === undefined) return readFileSync(path, "utf8");
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return text;
  };
  return { start, command, file, kill: () => running.kill(), end };
}

// Opens the page with a fake assistant.
export async function house(history) {
  const { child, end, heard } = played(built("page", "-p", "surfaces", "--example"), ["0", ...(history ? [history] : [])], { env: { ...process.env, TZ: ZONE } });
  const link = await heard();
  const order = async (words) => {
    child.stdin.write(`${words}\n`);
    return words.startsWith("notice") ? undefined : heard();
  };
  return { link, origin: link.split("/#")[0], order, end };
}

// Starts a browser with an empty profile. Requests to other hosts are counted in `abroad`.
export async function browser(settings = {}) {
  const profile = mkdtempSync(join(tmpdir(), "ollim-page-"));
  const launch = () =>
    chromium.launchPersistentContext(profile, {
      executablePath: "/usr/bin/chromium",
      args: FLAGS,
      viewport: { width: 1280, height: 800 },
      timezoneId: ZONE,
      timeout: PATIENCE,
      ...settings,
    });
  // A Chromium that crashes before a page is open is not a failure of the page, so it is started
  // once more.
  const context = await launch().catch(launch);
  context.setDefaultTimeout(PATIENCE);
  const abroad = [];
  const dialogs = [];
  const errors = [];
  const watch = (page) => {
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      dialog.dismiss();
    });
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => {
      if (/Content Security Policy/.test(message.text())) errors.push(message.text());
    });
  };
  context.pages().forEach(watch);
  context.on("page", watch);
  context.on("request", (request) => {
    if (!/^http:\/\/(127\.0\.0\.1|localhost):/.test(request.url())) abroad.push(request.url());
  });
  const end = async () => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { context, page: context.pages()[0], abroad, dialogs, errors, end };
}

// Repeats `check` until it throws nothing and returns its result. Throws the last error after the
// timeout.
export async function eventually(check) {
  const end = performance.now() + PATIENCE;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await pause(50);
  }
}

// Scrolls up in the chat until at least `count` entries are shown and all requests are done.
export async function scrollTo(page, count) {
  await page.hover("#scroll");
  await eventually(async () => {
    await page.mouse.wheel(0, -2000);
    const [shown, reading] = await page.evaluate(() => [document.querySelectorAll("#log > li").length, !document.querySelector("#older").hidden]);
    if (shown < count || reading) throw new Error(`${shown} of ${count} entries`);
  });
}

// Opens a view of the page by its address.
export async function into(page, view) {
  await page.waitForSelector("#views a");
  await page.evaluate((name) => { location.hash = name; }, view);
  await page.waitForSelector(`#${view}:not([hidden])`);
}
