// Tells the user that the page is open in another tab, or older than the running assistant.

import { button, say } from "./kit.js";

export class Tabs {
  constructor(place, { version }, brain) {
    Object.assign(this, { place, version, brain });
    this.channel = new BroadcastChannel("ollim");
    this.channel.onmessage = ({ data }) => {
      if (data === "here") this.channel.postMessage("too");
      this.tell("this page is open in another tab too. both show the same, and what you typed in either stays there.");
    };
    this.channel.postMessage("here");
  }

  // After a restart another model or version may answer.
  meet({ version, brain }) {
    this.brain(brain);
    if (version === this.version) return;
    const again = button("reload", "", () => location.reload());
    this.tell(`the assistant is now version ${version}; this page is from ${this.version}. what you typed is kept.`, again);
  }

  tell(text, ...more) {
    if (this.stale) return;
    this.stale = more.length > 0;
    say(this.place, text);
    const close = button("×", "", () => say(this.place, ""));
    close.setAttribute("aria-label", "put this away");
    this.place.append(...more, ...(more.length ? [] : [close]));
  }
}
