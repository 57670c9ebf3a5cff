// The chat: the log of entries, the answer that is being streamed, and messages that were not
// delivered yet.
//
// Each entry has a number and is shown once, even if it is received several times. After a lost
// connection the newest page of entries is therefore simply loaded again.

import * as assistant from "./assistant.js";
import { Asks } from "./asks.js";
import { markDays } from "./days.js";
import { answer, bubble, cardNote, doing, dots, make, note, order, plain, spoken, tell, words } from "./bubbles.js";

const MAIN = "main";
const NEAR = 80; // distance from the end, in pixels, that counts as being at the end

export class Chat {
  constructor(parts) {
    this.parts = parts;
    this.shown = new Map(); // entry id -> its item
    this.results = new Map(); // call id -> its result
    this.pending = []; // messages of the user that are not entries of the conversation yet
    this.running = new Map(); // turn -> its streamed text and state
    this.hush = make("li", "assistant"); // dots, shown until the answer begins
    this.hush.append(dots());
    this.read = Promise.resolve();
    this.refusal = null; // the last message about a refused key that was shown
    this.branch = MAIN; // the branch that the user is on: main or an interactive fork
    this.banner = null; // the note with the exits of the interactive fork
    this.asks = new Asks({ place: parts.asks, voice: parts.voice }, {
      tell: (caption, how, denied) => this.place(answer(caption, how, denied), this.newest() + 0.5),
      around: (change) => this.around(change),
    });
    this.more = false;
    this.apart = false; // true while an older part is shown that does not reach the newest entries
    this.reading = false;
    parts.scroll.addEventListener("scroll", () => this.scrolled(), { passive: true });
    parts.down.addEventListener("click", () => this.toNewest());
    parts.log.addEventListener("click", (event) => this.pressed(event.target));
    setInterval(() => this.tick(), 1000);
  }

  // Returning to the chat restores the scroll position, or the end if the user was there.

  enter() {
    if (this.left === undefined) this.toEnd();
    else this.parts.scroll.scrollTop = this.left;
    this.parts.down.hidden = this.isNewest();
  }

  leave() {
    this.left = this.atEnd() ? undefined : this.parts.scroll.scrollTop;
  }

  // Dispatches an event by name.

  heard(name, data) {
    if (name === "hello" || name === "reload") return this.catchUp(data);
    if (name === "forked" || name === "unforked") return this.stepped(name, data);
    if (name === "undone" && data.branch === this.branch) return this.readAgain();
    if (name === "moved" && this.branch === MAIN) return this.readAgain();
    const stay = this.atEnd();
    if (name === "said" && data.branch === this.branch) this.said(data.entry);
    if (name === "began" && data.branch === this.branch) this.began(data.turn, "", null);
    if (name === "delta") this.delta(data);
    if (name === "progress") this.progress(data);
    if (name === "working") this.working(data);
    if (name === "asked") this.asks.asked(data);
    if (name === "answered") this.asks.answered(data);
    if (name === "waiting") this.working({ turn: data.turn, tool: `the model is not there, trying again in ${data.seconds} s` });
    if (name === "ended" && data.branch === this.branch) this.ended(data);
    if (name === "compacting" && data.branch === this.branch) this.compacting(data);
    if (name === "compacted" && data.branch === this.branch) this.compacted(data);
    if (name === "held" && data.branch === this.branch) this.held(data);
    if (name === "sent") this.sent(data.entry);
    if (name === "away") this.putAway(data.message);
    if (name === "notice") this.notice(data.text);
    this.settle(stay);
  }

  // The user entered or left an interactive fork, so another branch is shown.
  async stepped(name, { branch, card }) {
    this.branch = name === "forked" ? branch : MAIN;
    await this.readAgain();
    this.showCard(card);
    this.settle(true);
  }

  // Shows the card of a started or ended fork. The previous card is removed, because its exits no
  // longer work.
  showCard(card) {
    this.banner?.remove();
    this.banner = cardNote(card);
    this.place(this.banner, this.newest() + 0.5);
    this.parts.voice.textContent = `${card.title}. ${card.description}`;
  }

  async catchUp(scene) {
    const stay = this.atEnd();
    this.branch = scene.fork?.branch ?? MAIN;
    for (const run of this.running.values()) run.li.remove();
    this.running.clear();
    for (const run of scene.running.filter((run) => run.branch === this.branch)) this.began(run.turn, run.text, run.tool, run.doing, run.note);
    this.asks.stand(scene.approvals);
    if (scene.compacting) this.compacting(scene.compacting);
    if (!scene.held) this.refusal = null;
    await this.readAgain();
    if (scene.fork?.card && !this.banner?.isConnected) this.showCard(scene.fork.card);
    if (scene.held && scene.held !== this.refusal) this.notice(scene.held);
    if (scene.held) this.refusal = scene.held;
    for (const words of this.pending.filter((words) => words.state === "unsure")) this.unsent(words, words.why);
    this.settle(stay);
  }

  // Loads are serialized, so that the newest one is applied last.
  readAgain() {
    if (this.apart) return Promise.resolve();
    this.read = this.read.catch(() => {}).then(() => this.readNewest());
    return this.read;
  }

  // Replaces the shown entries that contradict the newest page, because the conversation may have
  // been cleared or a compaction undone. Entries that arrive during the request are not on that
  // page and are kept.
  async readNewest() {
    const stay = this.atEnd();
    const before = [...this.shown.keys()];
    const { messages, more } = await assistant.messages();
    const first = messages[0]?.id ?? 0;
    const known = new Set(messages.map((entry) => entry.id));
    const joins = messages.some((entry) => this.shown.has(entry.id));
    for (const id of before) {
      if ((joins && id < first) || known.has(id)) continue;
      this.shown.get(id)?.remove();
      this.shown.delete(id);
    }
    for (const entry of messages) this.show(entry);
    if (!joins || this.oldest() === first) this.more = more;
    this.settle(stay);
  }

  // Shows an entry. An entry of the assistant ends the streamed text that it completes.
  said(entry) {
    if (entry.by === "assistant") this.spoke(entry);
    if (entry.by === "tools") for (const run of this.running.values()) run.tool = null;
    this.show(entry);
  }

  show(entry) {
    if (this.shown.has(entry.id)) return;
    if (entry.by === "human") this.claim(entry);
    if (entry.by === "tools") this.ran(entry.results);
    const li = bubble(entry, this.results);
    this.shown.set(entry.id, li);
    this.place(li, entry.id);
  }

  // A background run sent a ping; it is shown on every branch.
  sent(entry) {
    this.show(entry);
    this.parts.voice.textContent = words(entry);
  }

  putAway(id) {
    const li = this.shown.get(id);
    li?.replaceChildren();
    li?.classList.add("bare");
  }

  // Removes the pending message that became this entry.
  claim(entry) {
    const at = this.pending.findIndex((words) => words.after < entry.id && words.text === entry.text);
    if (at < 0) return;
    this.pending[at].li.remove();
    this.pending.splice(at, 1);
  }

  ran(results) {
    for (const result of results) {
      this.results.set(result.call, result);
      for (const node of this.parts.log.querySelectorAll(".result")) {
        if (node.dataset.call === result.call) tell(node, result);
      }
      for (const node of this.parts.log.querySelectorAll(".step")) {
        if (node.dataset.step === result.call) node.classList.toggle("denied", result.outcome === "denied");
      }
    }
  }

  spoke(entry) {
    for (const run of this.running.values()) {
      run.text = "";
      run.spoke = true;
      this.draw(run);
    }
    if (this.running.size && entry.text) this.parts.voice.textContent = entry.text;
  }

  began(turn, text, tool, doing = "runs", note = null) {
    this.running.get(turn)?.li.remove();
    const run = { text, tool, doing, note, li: make("li", "assistant live"), since: Date.now(), spoke: false, drawing: false };
    this.running.set(turn, run);
    this.parts.log.append(run.li);
    this.draw(run);
  }

  delta({ turn, text }) {
    const run = this.running.get(turn);
    if (!run) return;
    run.text += text;
    run.tool = null;
    run.note = null;
    if (run.drawing) return;
    run.drawing = true;
    requestAnimationFrame(() => {
      const stay = this.atEnd();
      run.drawing = false;
      this.draw(run);
      this.settle(stay);
    });
  }

  // A progress note of the model. It is shown until text of the answer follows, and is not part of
  // the answer.
  progress({ turn, note }) {
    const run = this.running.get(turn);
    if (!run) return;
    run.note = note;
    this.draw(run);
  }

  working({ turn, tool, doing = "runs" }) {
    const run = this.running.get(turn);
    if (!run) return;
    Object.assign(run, { tool, doing, since: Date.now() });
    this.draw(run);
  }

  ended({ turn, how, why }) {
    const run = this.running.get(turn);
    run?.li.remove();
    this.running.delete(turn);
    if (how === "failed") this.notice(why);
    if (how === "interrupted" && run && !run.spoke) this.notice("stopped before anything was said.", true);
  }

  held({ turn, first, why }) {
    this.running.get(turn)?.li.remove();
    this.running.delete(turn);
    if (first) this.notice(why);
    this.refusal = why;
  }

  compacting({ turn, tokens }) {
    this.began(turn, "", `compacting our conversation${tokens ? `, ${Math.round(tokens / 1000)}k tokens` : ""}`);
  }

  compacted({ turn, done, text }) {
    this.running.get(turn)?.li.remove();
    this.running.delete(turn);
    this.notice(done ? `compacted: ${text}` : text, done);
  }

  // Shows the command above the note that answers it. Work that it starts is shown while it runs.
  async command(text) {
    const stay = this.atEnd();
    this.place(order(text), this.newest() + 0.5);
    this.settle(stay);
    try {
      const answer = await assistant.command(text);
      if (answer.text) this.notice(answer.text, true);
    } catch (error) {
      this.notice(error.message);
      if (error.status === 0) this.parts.takeBack(text);
    }
    this.settle(stay);
  }

  notice(text, quiet) {
    const li = note(text, quiet);
    this.place(li, this.newest() + 0.5);
    this.parts.voice.textContent = text;
  }

  // Messages of the user are shown as soon as they are sent.

  async say(text, reply) {
    const li = make("li", "human waiting");
    if (reply) li.append(make("p", "under", `reply to: ${reply.words}`));
    li.append(make("div", "bubble", text));
    const words = { text, li, reply, after: this.newest(), state: "sending" };
    this.pending.push(words);
    this.parts.log.append(li);
    this.settle(true);
    await this.send(words);
  }

  pressed(button) {
    const { reply, words, press } = button.dataset;
    if (reply) this.parts.replyTo({ id: Number(reply), words });
    if (press && !button.disabled) this.press(button, Number(button.closest("li").dataset.id));
  }

  // Sends the text of a button. The button is disabled unless the request was refused; then it can
  // be pressed again.
  async press(button, message) {
    button.disabled = true;
    const stay = this.atEnd();
    try {
      const answer = await assistant.press(Number.isInteger(message) ? message : 0, button.dataset.press);
      if (answer.text) this.notice(answer.text, true);
    } catch (error) {
      this.notice(error.message);
      button.disabled = false;
    }
    this.settle(stay);
  }

  async send(words) {
    words.state = "sending";
    words.li.className = "human waiting";
    words.li.querySelector(".why")?.remove();
    this.settle(this.atEnd());
    try {
      await assistant.say(words.text, words.reply?.id);
      words.state = "sent";
    } catch (error) {
      // Without a response it is unknown whether the message arrived; `catchUp` finds out.
      const lost = error.status === 0;
      words.why = lost ? "this may not have arrived." : error.message;
      if (this.pending.includes(words)) this.unsent(words, words.why);
      if (lost) words.state = "unsure";
    }
    this.settle(this.atEnd());
  }

  unsent(words, why) {
    words.state = "unsent";
    words.li.className = "human unsent";
    words.li.querySelector(".why")?.remove();
    const under = make("p", "under why", why);
    const again = make("button", "", "try again");
    const drop = make("button", "", "take back");
    again.addEventListener("click", () => this.send(words));
    drop.addEventListener("click", () => this.takeBack(words));
    under.append(again, drop);
    words.li.append(under);
  }

  takeBack(words) {
    words.li.remove();
    this.pending = this.pending.filter((other) => other !== words);
    this.parts.takeBack(words.text);
    this.settle(this.atEnd());
  }

  // Drawing.

  draw(run) {
    const seconds = Math.round((Date.now() - run.since) / 1000);
    const parts = [];
    if (run.text.trim()) parts.push(spoken(run.text));
    if (run.note) parts.push(make("p", "doing progress", run.note));
    if (run.tool) parts.push(doing(run, seconds));
    if (!parts.length) parts.push(run.li.querySelector(".dots") ?? dots());
    if (parts.length === 1 && parts[0].parentNode === run.li) return;
    run.li.replaceChildren(...parts);
  }

  tick() {
    for (const run of this.running.values()) if (run.tool) this.draw(run);
  }

  // Runs a change that resizes the log, and keeps it scrolled to the end if it was there.
  around(change) {
    const stay = this.atEnd();
    change();
    if (stay) this.toEnd();
  }

  place(li, number) {
    li.dataset.id = number;
    let before = this.parts.log.lastElementChild;
    while (before && !(Number(before.dataset.id) <= number)) before = before.previousElementSibling;
    if (before) before.after(li);
    else this.parts.log.prepend(li);
  }

  // Runs after any change: keeps streamed and pending items last, and the log at the end if `stay`
  // is set.
  settle(stay) {
    const { log, empty, down } = this.parts;
    const busy = this.running.size > 0;
    const waits = this.pending.some((words) => words.state === "sending" || words.state === "sent");
    const tail = [...this.running.values(), ...this.pending].map(({ li }) => li);
    if (waits && !busy) tail.push(this.hush);
    else this.hush.remove();
    const last = [...log.children].slice(log.children.length - tail.length);
    if (tail.some((li, at) => last[at] !== li)) log.append(...tail);
    markDays(this.parts.log);
    empty.hidden = log.children.length > 0;
    if (stay) this.toEnd();
    down.hidden = this.isNewest();
    this.parts.busy(busy);
  }

  newest() {
    return Math.max(0, ...this.shown.keys());
  }

  oldest() {
    return Math.min(Infinity, ...this.shown.keys());
  }

  atEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.parts.scroll;
    return scrollHeight - scrollTop - clientHeight < NEAR;
  }

  // Returns true if the newest entry is visible.
  isNewest() {
    return !this.apart && this.atEnd();
  }

  toEnd() {
    this.parts.scroll.scrollTop = this.parts.scroll.scrollHeight;
    this.parts.down.hidden = !this.apart;
  }

  // Shows the entries around the entry `id`. `toNewest` restores the newer ones.
  async jump(id) {
    await this.read.catch(() => {});
    if (!this.shown.has(id)) {
      const { messages, more } = await assistant.messagesTo(id);
      if (!messages.some((entry) => entry.id === id)) {
        return this.notice("that is not there any more.", true);
      }
      for (const li of this.shown.values()) li.remove();
      this.shown.clear();
      for (const entry of messages) this.show(entry);
      Object.assign(this, { more, apart: true });
      this.settle(false);
    }
    const li = this.shown.get(id);
    li.scrollIntoView({ block: "center" });
    li.tabIndex = -1;
    li.focus({ preventScroll: true });
    this.parts.down.hidden = this.isNewest();
  }

  // Returns from an older part to the newest entries.
  async toNewest() {
    if (this.apart) {
      for (const li of this.shown.values()) li.remove();
      this.shown.clear();
      this.apart = false;
      await this.readAgain();
    }
    this.toEnd();
  }

  scrolled() {
    if (this.isNewest()) this.parts.down.hidden = true;
    if (this.parts.scroll.scrollTop < 240) this.readOlder();
  }

  async readOlder() {
    if (!this.more || this.reading || !this.shown.size) return;
    this.reading = true;
    this.parts.older.hidden = false;
    try {
      const page = await assistant.messages(this.oldest());
      const { scroll } = this.parts;
      const below = scroll.scrollHeight - scroll.scrollTop;
      for (const entry of page.messages.toReversed()) this.show(entry);
      this.more = page.more && page.messages.length > 0;
      this.parts.older.hidden = true;
      markDays(this.parts.log);
      scroll.scrollTop = scroll.scrollHeight - below;
    } catch {
      // The connection is lost; the next scroll tries again.
    } finally {
      this.parts.older.hidden = true;
      this.reading = false;
    }
  }
}
