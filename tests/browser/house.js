// The house: the page with a played assistant behind it, and a browser of its own.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../..", import.meta.url));
const FLAGS = [
  "--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

let program;

function built() {
  if (program) return program;
  const options = { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 };
  const args = ["build", "--quiet", "-p", "surfaces", "--example", "page", "--message-format=json"];
  const done = spawnSync("cargo", args, options);
  if (done.status !== 0) throw new Error(done.stderr);
  const made = done.stdout.split("\n").filter((line) => line.includes('"executable":"')).map((line) => JSON.parse(line));
  program = made.at(-1).executable;
  return program;
}

export async function house(history) {
  const child = spawn(built(), ["0", ...(history ? [history] : [])], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const heard = async () => (await lines.next()).value;
  const link = await heard();
  const order = async (words) => {
    child.stdin.write(`${words}\n`);
    return words.startsWith("notice") ? undefined : heard();
  };
  const gone = new Promise((done) => child.once("exit", done));
  const end = () => {
    if (child.exitCode === null) process.kill(child.pid);
    return gone;
  };
  return { link, origin: link.split("/#")[0], order, end };
}

// A browser with an empty profile. Anything that leaves the house is counted in `abroad`.
export async function browser(settings = {}) {
  const profile = mkdtempSync(join(tmpdir(), "ollim-page-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium",
    args: FLAGS,
    viewport: { width: 1280, height: 800 },
    ...settings,
  });
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
