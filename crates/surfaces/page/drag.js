// Dragging: moves a future time to another time of the same day on its strip.
//
// The menu next to the strip does the same without dragging. Both send the same command, and the
// page shows the time that the assistant confirms.

import { make } from "./bubbles.js";
import { svg } from "./marks.js";

const STEP = 5 * 60_000; // milliseconds between two drop positions
const GRIP = 14; // radius around a mark, in pixels, in which it can be dragged

// Makes the mark `mark` of the strip `drawn` draggable. Calls `begins` and `ends` around a drag,
// and `move` with the chosen clock time.
export function draggable(drawn, mark, day, { begins, ends, move }) {
  mark.classList.add("movable");
  mark.prepend(svg("circle", { class: "grip", r: GRIP }));
  mark.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    const label = make("output", "dragged");
    const home = mark.getAttribute("x");
    let chosen = null;
    const put = ({ clientX }) => {
      const { left, width } = drawn.getBoundingClientRect();
      const place = placed((clientX - left) / width, day);
      chosen = place.ahead ? place.clock : null;
      mark.setAttribute("x", `${place.share * 100}%`);
      label.style.left = `${place.share * 100}%`;
      label.textContent = place.ahead ? place.clock : `${place.clock} is over`;
    };
    const stop = () => {
      ends();
      label.remove();
      for (const [name, does] of Object.entries(heard)) removeEventListener(name, does, true);
    };
    const back = () => {
      stop();
      mark.setAttribute("x", home);
    };
    const heard = {
      pointermove: put,
      pointerup: () => {
        if (chosen === null) return back();
        stop();
        move(chosen);
      },
      pointercancel: back,
      keydown: (pressed) => {
        if (pressed.key !== "Escape") return;
        pressed.stopPropagation();
        back();
      },
    };
    for (const [name, does] of Object.entries(heard)) addEventListener(name, does, true);
    begins();
    drawn.parentNode.append(label);
    put(event);
  });
}

// Returns the drop position nearest to `share` of the day, with its clock time in the user's time
// zone.
export function placed(share, { from, to, now, hours }) {
  const [start, end] = [Date.parse(from), Date.parse(to)];
  const wanted = start + Math.min(1, Math.max(0, share)) * (end - start);
  const at = Math.min(end - STEP, start + Math.round((wanted - start) / STEP) * STEP);
  const since = hours.findLast((hour) => Date.parse(hour.at) <= at) ?? { at: from, hour: 0 };
  const minutes = since.hour * 60 + Math.floor((at - Date.parse(since.at)) / 60_000);
  const clock = `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
  return { share: (at - start) / (end - start), clock, ahead: at > Date.parse(now) };
}
