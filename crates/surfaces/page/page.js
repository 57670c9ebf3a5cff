// The page: pairs this browser if the address contains a code, then shows the views and follows the
// event stream.

import * as assistant from "./assistant.js";
import { Capture } from "./capture.js";
import { Chat } from "./chat.js";
import { Composer } from "./composer.js";
import { Cost } from "./cost.js";
import { Files } from "./files.js";
import { Health } from "./health.js";
import { Notices } from "./notices.js";
import { Pings } from "./pings.js";
import { Ring } from "./ring.js";
import { Schedule } from "./schedule.js";
import { Search } from "./search.js";
import { Sessions } from "./sessions.js";
import { Tabs } from "./tabs.js";
import { Today } from "./today.js";
import { Updates } from "./updates.js";
import { Views } from "./views.js";

const part = (id) => document.getElementById(id);
const TITLES = { 0: "one moment", 401: "not paired", 403: "not paired", 429: "too many tries" };
let chat = null;
let composer = null;
let views = null;

addEventListener("hashchange", () => {
  const code = takeCode();
  if (views && !code) views.go();
  else begin(code);
});
begin(takeCode());

// Removes the code from the address bar before anything else, so that it does not stay in the
// browser's history.
function takeCode() {
  const code = new URLSearchParams(location.hash.slice(1)).get("k");
  if (code !== null || location.search) history.replaceState(null, "", "/");
  return code;
}

// Returns true for a sign-in code, which must not be sent to the model, whatever it replies to.
function isCode(text) {
  return /^(\/login\s+)?[\w-]{16,}#[\w-]{16,}$/.test(text.trim());
}

async function begin(code) {
  let refusal = null;
  if (code) await assistant.pair(code).catch((error) => { refusal = error; });
  try {
    const health = await assistant.health();
    if (!chat) show(health);
    else if (code) location.reload();
  } catch (error) {
    alone(refusal ?? error);
    if (error.status === 0) setTimeout(() => begin(null), 2000);
  }
}

function show(health) {
  part("alone").hidden = true;
  composer = new Composer(
    { words: part("words"), send: part("send"), stop: part("stop"), target: part("target") },
    (text, reply) => {
      const typed = /^\/reply\s+(\d+)\s+(.+)$/s.exec(text);
      if (typed) return chat.say(typed[2], { id: Number(typed[1]), words: `message ${typed[1]}` });
      if (isCode(text)) return chat.command(text.trim());
      return text.startsWith("/") && !reply ? chat.command(text) : chat.say(text, reply);
    },
    () => assistant.stop().catch((error) => state(error.message, true)),
  );
  chat = new Chat({
    scroll: part("scroll"),
    log: part("log"),
    empty: part("empty"),
    older: part("older"),
    down: part("down"),
    voice: part("voice"),
    asks: part("asks"),
    takeBack: (text) => composer.takeBack(text),
    replyTo: (reply) => composer.replyTo(reply),
    busy: (running) => {
      composer.busy(running);
      document.title = running ? "● ollim" : "ollim";
    },
  });
  const tell = (text) => { part("voice").textContent = text; };
  const notices = new Notices();
  const ring = new Ring(part("ring"));
  const rooms = {
    today: new Today(part("today"), { tell }),
    schedule: new Schedule(part("schedule"), part("voice")),
    pings: new Pings(part("pings"), { tell }),
    sessions: new Sessions(part("sessions")),
    updates: new Updates(part("updates"), { tell, talk: (words) => talk(words) }),
    cost: new Cost(part("cost")),
    files: new Files(part("files"), { tell }),
    search: new Search(part("search"), { jump: (id) => jump(id) }),
    health: new Health(part("health"), { tell, notices }),
  };
  const capture = new Capture(part("capture"), {
    tell,
    changed: () => rooms[views.here]?.read?.(),
  });
  views = new Views(part("views"), {
    ...rooms,
    chat: { section: part("chat"), enter: () => enterChat(), leave: () => leaveChat() },
  }, (here) => (here === "chat" ? part("words") : capture).focus());
  part("capture").hidden = false;
  const tabs = new Tabs(part("told"), health, (brain) => state(brain, false));
  views.go();
  state(health.brain, false);
  for (const notice of health.notices) chat.notice(notice);
  const leave = assistant.follow((name, data) => {
    // After a restart another version may answer.
    if (name === "hello") assistant.health().then((now) => tabs.meet(now), () => {});
    notices.heard(name, data);
    ring.heard(name);
    Promise.resolve(chat.heard(name, data)).catch((error) => state(error.message, true));
    views.waits("chat", chat.asks.open.size > 0);
    for (const room of Object.values(rooms)) room.heard(name);
  }, (error) => {
    if (!error) return state("reconnecting…", true);
    leave();
    alone(error);
  });
}

function enterChat() {
  part("capture").hidden = true;
  composer.changed();
  chat.enter();
  if (matchMedia("(pointer: fine)").matches) part("words").focus();
}

function leaveChat() {
  part("capture").hidden = false;
  chat.leave();
}

// Goes to the chat and puts `words` into the composer.
function talk(words) {
  views.show("chat");
  composer.takeBack(words);
}

// Goes to the entry `id` in the chat.
async function jump(id) {
  views.show("chat");
  await chat.jump(id).catch((error) => state(error.message, true));
}

function state(text, away) {
  part("state").textContent = text;
  part("state").classList.toggle("away", away);
}

function alone(error) {
  views?.close();
  part("capture").hidden = true;
  part("alone").hidden = false;
  part("alone-title").textContent = TITLES[error.status] ?? "that didn't work";
  part("alone-text").replaceChildren(...words(error.message));
  state("", false);
}

// Renders text in backticks as code.
function words(message) {
  return message.split("`").map((text, at) => {
    if (at % 2 === 0) return text;
    const code = document.createElement("code");
    code.textContent = text;
    return code;
  });
}
