// Files: the job files, which can be edited here. The effect of a change is shown before it is
// saved.

import * as assistant from "./assistant.js";
import { make } from "./bubbles.js";
import { Editor } from "./editor.js";
import { Past } from "./past.js";
import { Rows, View, alarm, button, count, say } from "./kit.js";

export class Files extends View {
  constructor(section, { tell }) {
    super(section);
    this.tell = tell;
    section.append(make("p", "under", "routines and reminders are text files in the data directory. you can change them here or with any editor; what they said before is kept."));
    this.none = section.appendChild(make("p", "none"));
    this.list = section.appendChild(make("ul", "file-list"));
    this.known = new Map();
    const box = section.appendChild(make("section", "notes"));
    box.append(make("h2", "", "memory"), make("p", "under", "what is written down beside them, by you or by me: other texts in the data directory."));
    this.noted = { none: box.appendChild(make("p", "none")), rows: new Rows(box.appendChild(make("ul", "file-list")), ({ file }) => file, note) };
  }

  ask() {
    return Promise.all([assistant.schedule(), assistant.notes()]);
  }

  show([{ jobs, broken, left_out: more }, { notes, more: others }]) {
    say(this.noted.none, notes.length ? (others ? `only the first ${notes.length} are shown here.` : "") : "nothing is written down yet.");
    this.noted.rows.show(notes.map(({ file }) => ({ file })));
    const files = [
      ...broken.map(({ file, why }) => ({ file, says: why, wrong: true })),
      ...jobs.filter(({ file }) => !broken.some((one) => one.file === file)).map(({ file, name, when, next }) => ({ file, says: [name, when, next?.words].filter(Boolean).join(" · "), wrong: false })),
    ].sort((one, other) => other.wrong - one.wrong || one.file.localeCompare(other.file));
    say(this.none, files.length ? (more ? `${count(more, "file")} more are not shown here.` : "") : "there is no file yet. type a plan below, and one is written.");
    const named = new Map(files.map((file) => [file.file, file]));
    for (const [name, { node, editor, past }] of this.known) {
      if (named.has(name) || editor || past) continue;
      node.remove();
      this.known.delete(name);
    }
    for (const [at, file] of [...named.values()].entries()) {
      const row = this.known.get(file.file) ?? this.row(file.file);
      this.known.set(file.file, row);
      say(row.says, file.says);
      row.says.classList.toggle("wrong", file.wrong);
      if (this.list.children[at] !== row.node && !row.editor && !row.past) this.list.insertBefore(row.node, this.list.children[at] ?? null);
    }
  }

  row(file) {
    const row = { node: make("li"), says: make("p", "under"), editor: null, past: null };
    const head = row.node.appendChild(make("div", "file-head"));
    const edit = button("edit", "", () => {
      if (row.editor) return row.editor.text.focus();
      edit.setAttribute("aria-expanded", "true");
      row.editor = new Editor(file, (how) => {
        row.editor = null;
        edit.setAttribute("aria-expanded", "false");
        edit.focus();
        if (how === "saved") this.tell(`${file} is saved.`);
        for (const time of [0, 400, 1200]) setTimeout(() => this.open && this.read(), time);
      });
      row.node.append(row.editor.node);
    });
    edit.setAttribute("aria-label", `edit ${file}`);
    edit.setAttribute("aria-expanded", "false");
    const past = button("history", "", () => {
      if (row.past) return row.past.close();
      past.setAttribute("aria-expanded", "true");
      row.past = new Past(file, (text) => {
        row.past = null;
        past.setAttribute("aria-expanded", "false");
        past.focus();
        if (text) this.tell(text);
        for (const time of [0, 400, 1200]) setTimeout(() => this.open && this.read(), time);
      });
      row.node.append(row.past.node);
    });
    past.setAttribute("aria-label", `history of ${file}`);
    past.setAttribute("aria-expanded", "false");
    const buttons = make("p", "buttons");
    buttons.append(edit, past);
    head.append(make("b", "", file), buttons);
    row.node.append(row.says);
    return row;
  }
}

// Builds a note whose text is loaded each time it is opened.
function note({ file }) {
  const li = make("li");
  const details = li.appendChild(make("details", "note"));
  details.append(make("summary", "", file));
  const text = details.appendChild(make("pre"));
  Object.assign(text, { tabIndex: 0, role: "region", ariaLabel: file });
  const wrong = details.appendChild(alarm());
  details.addEventListener("toggle", async () => {
    if (!details.open) return;
    text.textContent = "reading…";
    const said = await assistant.note(file).catch((error) => ({ text: "", why: error.message }));
    text.textContent = said.text || (said.why ? "" : "it is empty.");
    say(wrong, said.why ?? "");
  });
  return li;
}
