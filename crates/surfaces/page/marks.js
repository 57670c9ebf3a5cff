// Marks: small SVG shapes, one for each kind of event.

const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

export const path = (name, d) => svg("path", { class: name, d });

const circle = (name, cx, cy, r) => svg("circle", { class: name, cx, cy, r });
const cross = (x, y) => path("stroke", `M${x - 5} ${y - 5}l10 10m0-10l-10 10`);

// Returns the mark of one kind, centred on a point.
export function marks(kind, x, y) {
  switch (kind) {
    case "now": return [circle("full", x, y, 7)];
    case "open": return [circle("hollow", x, y, 7), circle("full", x, y, 3)];
    case "created": return [circle("hollow", x, y, 6)];
    case "saved": return [circle("full", x, y, 6)];
    case "reported": return [circle("hollow", x, y, 6)];
    case "dropped": return [cross(x, y)];
    case "lapsed": return [circle("hollow dashed", x, y, 9), cross(x, y)];
    case "ended": return [svg("rect", { class: "full", x: x - 5, y: y - 5, width: 10, height: 10 })];
    case "compacted": return [path("full", `M${x} ${y - 9}l8 9-8 9-8-9Z`)];
    case "cleared": return [path("gap", `M${x - 9} ${y - 1}l18-6`), path("stroke", `M${x - 9} ${y + 3}l18-6m-18 0l18-6`)];
    case "undone": return [path("hollow", `M${x} ${y - 7}l7 12h-14Z`)];
    default: return [circle("full", x, y, 4)];
  }
}
