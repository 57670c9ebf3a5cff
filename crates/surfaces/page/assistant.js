// Client of the assistant's HTTP API. All paths are fixed: the page's own address never decides
// where a request is sent.

export class Refused extends Error {
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

const UNREACHABLE = "i can't reach the assistant. is it running?";

export const pair = (code) => post("/api/pair", { code });
export const say = (text, to) => post("/api/messages", to === undefined ? { text } : { text, reply_to: to });
export const press = (message, button, words) => post("/api/buttons", { message, button, words });
export const command = (text) => post("/api/commands", { text });
export const stop = () => post("/api/stop", {});
export const health = () => ask("/api/health");
export const today = () => ask("/api/today");
export const pings = (days) => ask(`/api/pings?days=${Number(days)}`);
export const cost = (days) => ask(`/api/cost?days=${Number(days)}`);
export const updates = () => ask("/api/updates");
export const delivery = () => ask("/api/delivery");
export const devices = () => ask("/api/devices");
export const forget = (id) => post("/api/devices/remove", { id });
export const reading = (text) => post("/api/reading", { text });
export const capture = (text) => post("/api/capture", { text });
export const undo = (mark) => post("/api/undo", { undo: mark });
export const sortInbox = (id, { when }) => post("/api/inbox", when ? { do: "plan", id, when } : { do: "drop", id });
export const checkFile = (file, text) => post("/api/schedule/check", { file, text });
export const schedule = (from, to) => ask(from ? `/api/schedule?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}` : "/api/schedule");
export const calendar = (from, to) => ask(from ? `/api/calendar?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}` : "/api/calendar");
export const context = () => ask("/api/context");
export const readUpdate = (id) => post("/api/updates/read", { id });
export const dislike = (ping) => post("/api/pings/dislike", { ping });
export const versions = (file) => ask(`/api/schedule/versions?file=${encodeURIComponent(file)}`);
export const version = (file, id) => ask(`/api/schedule/version?file=${encodeURIComponent(file)}&id=${encodeURIComponent(id)}`);
export const plan = (text) => post("/api/schedule/words", { text });
export const run = (job) => post("/api/schedule/run", { job });
export const pause = (job) => post("/api/schedule/pause", { job });
export const resume = (job) => post("/api/schedule/resume", { job });
export const jobFile = (file) => ask(`/api/schedule/file?file=${encodeURIComponent(file)}`);
export const saveJobFile = (file, before, text) => post("/api/schedule/file", { file, before, text });
export const notes = () => ask("/api/notes");
export const note = (file) => ask(`/api/notes/text?file=${encodeURIComponent(file)}`);
export const sessions = (limit) => ask(`/api/sessions?limit=${Number(limit)}`);

export function search(words, before) {
  const from = before === undefined ? "" : `&before=${Number(before)}`;
  return ask(`/api/search?words=${encodeURIComponent(words)}${from}`);
}

export const messagesTo = (id) => ask(`/api/messages?to=${Number(id)}`);

export function messages(before) {
  return ask(before === undefined ? "/api/messages" : `/api/messages?before=${Number(before)}`);
}

// Subscribes to the event stream. `heard` is called with the name and data of each event; `lost` is
// called when the connection breaks.
export function follow(heard, lost) {
  let source;
  let waits = 500;
  const open = () => {
    source = new EventSource("/api/events");
    for (const name of ["hello", "reload", "said", "began", "delta", "progress", "working", "asked", "answered", "waiting", "ended", "compacting", "compacted", "undone", "forked", "unforked", "moved", "sent", "away", "held", "card", "notice"]) {
      source.addEventListener(name, (event) => {
        waits = 500;
        heard(name, JSON.parse(event.data));
      });
    }
    source.onerror = () => {
      source.close();
      lost();
      setTimeout(again, waits);
      waits = Math.min(waits * 2, 8000);
    };
  };
  // An EventSource does not expose the HTTP status, so a normal request finds out why the stream
  // was refused.
  const again = async () => {
    try {
      await health();
    } catch (error) {
      if (error.status === 401) return lost(error);
      setTimeout(again, waits);
      waits = Math.min(waits * 2, 8000);
      return;
    }
    open();
  };
  open();
  return () => source.close();
}

function post(path, body) {
  return ask(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-ollim": "1" },
    body: JSON.stringify(body),
  });
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", redirect: "error", ...options });
  } catch {
    throw new Refused(0, "unreachable", UNREACHABLE);
  }
  const answer = await response.json().catch(() => null);
  if (response.ok && answer) return answer;
  const problem = answer?.error;
  throw new Refused(response.status, problem?.kind ?? "broken", problem?.message ?? UNREACHABLE);
}
