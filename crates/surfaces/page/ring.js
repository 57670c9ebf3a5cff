// The ring: how full the context window is, as a picture and in numbers. A tick marks where
// compaction starts.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { svg } from "./marks.js";

const ROUND = 2 * Math.PI * 8;
const CHANGES = ["hello", "ended", "compacted", "undone", "forked", "unforked", "moved"];

export class Ring {
  constructor(node) {
    this.node = node;
    this.drawn = null;
  }

  heard(name) {
    if (CHANGES.includes(name)) this.read();
  }

  // Loads the usage. The ring is optional, so errors hide it.
  async read() {
    const told = await assistant.context().catch(() => null);
    this.node.hidden = !told?.tokens;
    if (told?.tokens) this.show(told);
  }

  show({ tokens, limit, compacts }) {
    const key = `${tokens} ${limit} ${compacts}`;
    if (this.drawn === key) return;
    this.drawn = key;
    const words = `${thousands(tokens)} of ${thousands(limit)}`;
    const share = Math.min(1, tokens / limit);
    const turn = (compacts / limit) * 2 * Math.PI - Math.PI / 2;
    const at = (radius) => [10 + radius * Math.cos(turn), 10 + radius * Math.sin(turn)].map((part) => part.toFixed(2));
    const [[x1, y1], [x2, y2]] = [at(5.5), at(10)];
    const drawn = svg("svg", { class: "ring", width: 20, height: 20, viewBox: "0 0 20 20", "aria-hidden": true });
    drawn.append(
      svg("circle", { class: "whole-ring", cx: 10, cy: 10, r: 8 }),
      svg("circle", { class: tokens >= compacts ? "filled full" : "filled", cx: 10, cy: 10, r: 8, "stroke-dasharray": `${(share * ROUND).toFixed(1)} ${ROUND.toFixed(1)}`, transform: "rotate(-90 10 10)" }),
      svg("line", { class: "compacts", x1, y1, x2, y2 }),
    );
    this.node.replaceChildren(drawn, make("span", "", words));
    this.node.title = `i remember ${words} tokens word by word. at ${thousands(compacts)} i sum up what came before; /compact does it now.`;
    this.node.setAttribute("aria-label", this.node.title);
  }
}

const thousands = (many) => (many < 1000 ? String(many) : `${Math.round(many / 1000)}k`);
