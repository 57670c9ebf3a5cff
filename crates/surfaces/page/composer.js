// The composer: where the human types.

const DRAFT = "draft";

export class Composer {
  constructor({ words, send, stop }, say, halt) {
    Object.assign(this, { words, send, stop, say });
    words.value = sessionStorage.getItem(DRAFT) ?? "";
    words.addEventListener("input", () => this.changed());
    words.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    });
    send.addEventListener("click", () => this.submit());
    stop.addEventListener("click", halt);
    document.addEventListener("keydown", (event) => {
      const typing = event.target.closest?.("input, textarea, [contenteditable]");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      words.focus();
    });
    this.changed();
  }

  submit() {
    const text = this.words.value;
    if (!text.trim()) return;
    this.words.value = "";
    this.changed();
    this.words.focus();
    this.say(text);
  }

  // Words that were not heard come back, before what was typed since.
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
