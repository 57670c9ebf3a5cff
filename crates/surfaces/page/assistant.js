// The assistant, as the page reaches it. Every address here is fixed: nothing in the page's own address
// decides where anything is sent.

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
export const press = (message, button) => post("/api/buttons", { message, button });
export const command = (text) => post("/api/commands", { text });
export const stop = () => post("/api/stop", {});
export const health = () => ask("/api/health");
export const schedule = () => ask("/api/schedule");
export const run = (job) => post("/api/schedule/run", { job });
export const pause = (job) => post("/api/schedule/pause", { job });
export const resume = (job) => post("/api/schedule/resume", { job });
export const jobFile = (file) => ask(`/api/schedule/file?file=${encodeURIComponent(file)}`);
export const saveJobFile = (file, before, text) => post("/api/schedule/file", { file, before, text });
export const sessions = (limit) => ask(`/api/sessions?limit=${Number(limit)}`);

export function messages(before) {
  return ask(before === undefined ? "/api/messages" : `/api/messages?before=${Number(before)}`);
}

// Follows what is shown. `heard` is told each event by name; `lost` is told when the line breaks.
export function follow(heard, lost) {
  let source;
  let waits = 500;
  const open = () => {
    source = new EventSource("/api/events");
    for (const name of ["hello", "reload", "said", "began", "delta", "working", "asked", "answered", "waiting", "ended", "compacting", "compacted", "undone", "forked", "unforked", "moved", "sent", "away", "held", "notice"]) {
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
  // A stream cannot say why it was refused; a question can.
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
