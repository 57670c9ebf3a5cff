// Date separators: the first log item of each day is labelled with its date.

export function markDays(log) {
  let day = new Date().toDateString();
  let first = true;
  for (const li of log.children) {
    if (!li.dataset.date || li.classList.contains("bare")) continue;
    if (li.dataset.date === day) delete li.dataset.day;
    else li.dataset.day = label(li.dataset.date);
    if (first && li.dataset.date !== day) li.dataset.day = label(li.dataset.date);
    first = false;
    day = li.dataset.date;
  }
}

function label(date) {
  const day = new Date(date);
  const year = day.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
  return day.toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long", year }).toLowerCase();
}
