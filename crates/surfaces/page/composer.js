// The composer: the input for chat messages.

const DRAFT = "draft";

export class Composer {
  constructor({ words, send, stop, target }, say, halt) {
    Object.assign(this, { words, send, stop, say, target, reply: null });
    words.value = sessionStorage.getItem(DRAFT) ?? "";
    words.addEventListener("input", () => this.changed());
    target.querySelector("button").addEventListener("click", () => this.replyTo(null));
    words.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.replyTo(null);
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    });
    send.addEventListener("click", () => this.submit());
    stop.addEventListener("click", halt);
    this.changed();
  }

  submit() {
    const text = this.words.value;
    if (!text.trim()) return;
    const { reply } = this;
    this.words.value = "";
    this.changed();
    this.replyTo(null);
    this.say(text, reply ?? undefined);
  }

  // Sets the message that the next one replies to, or none.
  replyTo(reply) {
    this.reply = reply;
    this.target.hidden = !reply;
    this.target.querySelector("span").textContent = reply ? `reply to: ${reply.words}` : "";
    this.words.focus();
  }

  // Puts a text that was not delivered back, before the text typed since.
  takeBack(text) {
    this.words.value = [text, this.words.value].filter(Boolean).join("\n");
    this.changed();
    this.words.focus();
  }

  busy(running) {
    this.stop.hidden = !running;
  }

  changed() {
    const { words } = this;
    words.style.height = "auto";
    words.style.height = `${words.scrollHeight}px`;
    this.send.disabled = !words.value.trim();
    sessionStorage.setItem(DRAFT, words.value);
  }
}
