// Open approvals: each one is shown with the whole call until it is answered, on this page or on
// another surface.

import * as assistant from "./assistant.js";
import { make, plain } from "./bubbles.js";

const ANSWERS = [
  ["allow", "allow once", "primary"],
  ["deny", "deny", ""],
  ["always", "always allow", ""],
];

export class Asks {
  // `around` runs a change that resizes the log; `tell` adds the outcome of an approval to the log.
  constructor({ place, voice }, { tell, around }) {
    Object.assign(this, { place, voice, tell, around });
    this.open = new Map(); // approval id -> its card
    this.steps = new Map(); // approval id -> the step of the model that it belongs to
    this.together = new Map(); // step -> the row that answers all of its approvals
  }

  // Shows exactly these open approvals.
  stand(approvals) {
    this.around(() => {
      const known = new Set(approvals.map(({ id }) => id));
      for (const id of this.open.keys()) if (!known.has(id)) this.remove(id);
      for (const approval of approvals) this.show(approval);
    });
  }

  asked(approval) {
    const news = !this.open.has(approval.id);
    this.around(() => this.show(approval));
    if (news) this.voice.textContent = `may i? ${plain(approval.caption)}`;
  }

  answered({ id, caption, how }) {
    this.around(() => this.remove(id));
    const denied = how === "denied" || how === "expired" || how === "cancelled";
    this.tell(plain(caption), how, denied);
  }

  show(approval) {
    const fresh = card(approval, (verdict, node) => this.answer(approval.id, verdict, node));
    const old = this.open.get(approval.id);
    const held = old?.contains(document.activeElement) ? document.activeElement.dataset.verdict : null;
    if (old) old.replaceWith(fresh);
    else this.place.append(fresh);
    this.open.set(approval.id, fresh);
    this.steps.set(approval.id, approval.step);
    this.gather(approval.step);
    this.place.hidden = false;
    if (held) fresh.querySelector(`[data-verdict="${held}"]`)?.focus();
  }

  remove(id) {
    const node = this.open.get(id);
    const focused = node?.contains(document.activeElement);
    node?.remove();
    this.open.delete(id);
    const step = this.steps.get(id);
    this.steps.delete(id);
    this.gather(step);
    this.place.hidden = this.open.size === 0;
    if (focused) (this.place.querySelector("button") ?? document.getElementById("words")).focus();
  }

  // Groups the approvals of one step under a row that answers all of them at once.
  gather(step) {
    const ids = [...this.steps].filter(([, of]) => of === step).map(([id]) => id);
    this.together.get(step)?.remove();
    this.together.delete(step);
    if (ids.length < 2) return;
    const row = make("section", "ask together");
    row.setAttribute("aria-label", `${ids.length} approvals`);
    row.append(make("h3", "", `May I run these ${ids.length}?`));
    const buttons = row.appendChild(make("p", "buttons"));
    for (const [verdict, label, look] of [["allow", "Allow all", "primary"], ["deny", "Deny all", ""]]) {
      const button = buttons.appendChild(make("button", look, label));
      button.type = "button";
      button.addEventListener("click", () => this.answer(`step ${step}`, verdict, row));
    }
    this.open.get(ids[0]).before(row);
    this.together.set(step, row);
  }

  async answer(id, verdict, node) {
    // `aria-busy` instead of `disabled`: a disabled button loses the keyboard focus.
    if (node.ariaBusy === "true") return;
    node.ariaBusy = "true";
    try {
      await assistant.command(`/${verdict} ${id}`);
    } catch (error) {
      if (!node.isConnected) return;
      this.around(() => {
        node.ariaBusy = "false";
        node.querySelector(".wrong")?.remove();
        node.append(make("p", "wrong", error.message));
      });
    }
  }
}

function card({ id, caption, tool, input, until, waits, always }, answer) {
  const node = make("section", "ask");
  node.dataset.id = id;
  node.setAttribute("aria-label", `approval ${id}`);
  const head = node.appendChild(make("h3", "", "may i? "));
  head.append(make("span", "", plain(caption)));
  const call = node.appendChild(make("pre"));
  call.tabIndex = 0;
  call.append(make("b", "", tool), `\n${input}`);
  const row = node.appendChild(make("p", "buttons"));
  for (const [verdict, label, look] of ANSWERS) {
    const button = row.appendChild(make("button", look, label));
    button.type = "button";
    button.dataset.verdict = verdict;
    button.addEventListener("click", () => answer(verdict, node));
  }
  const time = new Date(until).toLocaleString(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" }).toLowerCase();
  const note = waits ? `i wait for you · approval ${id}` : `i went on without it; with a yes i try again · approval ${id} · open until ${time}`;
  node.append(make("p", "under", `${always} · ${note}`));
  return node;
}
