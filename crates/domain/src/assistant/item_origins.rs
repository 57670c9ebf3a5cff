//! Origins of items: inbox items, notes, tasks and events that a model wrote in a conversation with
//! outside text are recorded with the label of that conversation. A tool result that shows their
//! text again is joined with the label.
//!
//! Labels restrict actions and never hide information, so such a result is still shown in full.
//! Text is recognized by the first words of its lines, whichever tool shows it; a note is also
//! recognized by its path.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use super::active_turn::ActiveTurn;
use super::{Assistant, Transaction};
use crate::conversation::Branch;
use crate::inbox::InboxItemId;
use crate::label::{Label, Realm, Realms};
use crate::permission::{Capability, Destination, own_command, tool_action};
use crate::record::PlanChange;
use crate::tool::{Outcome, ToolCall, ToolClass, ToolResult};

/// The maximum number of recorded items; the oldest are dropped first.
const ITEMS: usize = 1_000;
/// The number of words compared per line.
const LINE_WORDS: usize = 6;
/// Outside of lists of items, a line needs at least this many words and letters to be recognized,
/// because shorter ones match by chance.
const RARE_WORDS: usize = 2;
const RARE_LETTERS: usize = 10;
/// The maximum number of bytes recorded per note.
const KEPT_BYTES: usize = 64 << 10;
/// The maximum number of sources named in a description.
const NAMED: usize = 3;
/// Commands of the program that list items.
const LISTS: [&str; 11] =
    ["add", "cal", "done", "inbox", "move", "now", "reminder", "routine", "tasks", "today", "week"];
/// Flags of `tasks` and `cal` whose values are text.
const TEXTS: [&str; 4] = ["--title", "--summary", "--notes", "--description"];

/// An item of the user, other than a job, that a model wrote or changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnItem {
    /// An inbox item.
    Inbox(InboxItemId),
    /// The file at this path.
    Note(String),
    /// The task with this title or id.
    Task(String),
    /// The calendar event with this title or id.
    Event(String),
}

impl fmt::Display for OwnItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inbox(InboxItemId(id)) => write!(f, "inbox:{id}"),
            Self::Note(path) => write!(f, "note:{path}"),
            Self::Task(title) => write!(f, "task:{title}"),
            Self::Event(title) => write!(f, "event:{title}"),
        }
    }
}

impl FromStr for OwnItem {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("inbox", id)) => id.parse().map(InboxItemId).map(Self::Inbox).map_err(|_| "no number"),
            Some(("note", path)) => Ok(Self::Note(path.to_owned())),
            Some(("task", title)) => Ok(Self::Task(title.to_owned())),
            Some(("event", title)) => Ok(Self::Event(title.to_owned())),
            Some(_) | None => Err("no item"),
        }
    }
}

impl OwnItem {
    /// Returns the name shown to the user.
    pub fn name(&self) -> String {
        match self {
            Self::Inbox(InboxItemId(id)) => format!("inbox item {id}"),
            Self::Note(path) => path.clone(),
            Self::Task(title) => format!("task {title}"),
            Self::Event(title) => format!("event {title}"),
        }
    }
}

/// The origin of an item's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemOrigin {
    /// The label of the conversation in which the text was written.
    pub label: Label,
    /// A description of the outside text read before, such as `mail and a page from example.org`.
    pub from: String,
    /// The first words of each line of the text.
    pub words: String,
    /// The time of writing.
    pub at: Timestamp,
}

/// Descriptions of the outside text read in a conversation, each with the realms it belongs to.
pub(super) type Sources = Vec<(Realms, String)>;

impl Assistant {
    /// Describes the outside text read on `branch`, such as `mail and a page from example.org`.
    /// After a restart only the realms are known.
    pub(super) fn read_from(&self, branch: &Branch, label: Label) -> String {
        let sources = self.transient.sources.get(branch);
        let mut told: Vec<String> = Vec::new();
        for realm in label.outside.iter() {
            let of_realm = sources.into_iter().flatten().filter(|(realms, _)| realms.contains(realm));
            let described: Vec<String> = of_realm.map(|(_, description)| description.clone()).collect();
            if described.is_empty() {
                told.push(realm.display_name().to_owned());
            }
            told.extend(described);
        }
        told.dedup();
        let more = told.len() > NAMED;
        told.truncate(NAMED);
        told.extend(more.then(|| "more".to_owned()));
        told.join(" and ")
    }

    /// Records which pages were fetched and that the web was searched on `branch`.
    pub(super) fn note_sources(&mut self, branch: &Branch, running: &ActiveTurn, results: &[ToolResult]) {
        for result in results.iter().filter(|result| result.label.is_tainted()) {
            let Some(call) = running.unanswered.iter().find(|call| call.id == result.call) else { continue };
            let description = if self.class_of(call) == Some(ToolClass::Fetches) {
                let Destination::Address { host, .. } = tool_action(call, ToolClass::Fetches).destination
                else {
                    continue;
                };
                if host.is_empty() { "a page".to_owned() } else { format!("a page from {host}") }
            } else if self.class_of(call) == Some(ToolClass::Searches) {
                "a web search".to_owned()
            } else {
                continue;
            };
            let description = (Realms::single(Realm::Web), description);
            let memory = &self.state;
            let fork = memory.fork.as_ref().map(|fork| &fork.branch);
            let lives = |branch: &Branch| {
                *branch == Branch::Main || fork == Some(branch) || memory.turns.runs.contains_key(branch)
            };
            self.transient.sources.retain(|branch, _| lives(branch));
            let sources = self.transient.sources.entry(branch.clone()).or_default();
            if !sources.contains(&description) && sources.len() <= NAMED {
                sources.push(description);
            }
        }
    }

    /// Returns the joined label of the conversations whose running calls change items of the user,
    /// with a description of the outside text they read. `None` if they read none.
    pub(super) fn changing_now(&self) -> Option<(Label, String)> {
        self.writing_now(|call| self.changes(call))
    }

    /// Like `changing_now`, for the calls that `writes` accepts. A call that waits for an approval
    /// does not count.
    fn writing_now(&self, writes: impl Fn(&ToolCall) -> bool) -> Option<(Label, String)> {
        let mut found: Option<(Label, String)> = None;
        for (branch, running) in &self.active_turns {
            let waits = |call: &ToolCall| {
                let mut open = self.state.approvals.open.iter();
                open.any(|open| open.turn == running.turn && open.call.id == call.id)
            };
            let label = self.label(branch);
            if label.is_tainted() && running.unanswered.iter().any(|call| writes(call) && !waits(call)) {
                let from = self.read_from(branch, label);
                found = Some(match found {
                    Some((before, told)) if told == from => (before.join(label), told),
                    Some((before, told)) => (before.join(label), format!("{told} and {from}")),
                    None => (label, from),
                });
            }
        }
        found
    }

    /// Returns true if `call` can change reminders, routines or the inbox.
    fn changes(&self, call: &ToolCall) -> bool {
        let first = self.first_own_word(call);
        let changes = ["done", "inbox", "lighter", "move", "pause", "resume", "snooze", "undo"];
        self.can_plan(call)
            || call.name.starts_with("inbox_")
            || first.is_some_and(|first| changes.contains(&first.as_str()))
    }

    /// Returns the first word of the program's own command that `call` runs.
    fn first_own_word(&self, call: &ToolCall) -> Option<String> {
        if self.class_of(call) != Some(ToolClass::Shell) {
            return None;
        }
        own_command::parse(&call.input.text("command")?)?.into_iter().next()
    }

    /// Records the origin of a new inbox item if a model added it in a conversation with outside
    /// text.
    pub(super) fn note_kept(&mut self, id: InboxItemId, text: &str, minutes: &mut Transaction) {
        let writes = |call: &ToolCall| self.changes(call) && are_from(text, &call.input.canonical().0);
        let written = self.writing_now(writes);
        // The text of a missed reminder is also added to the inbox.
        let same = self
            .state
            .plans
            .origins
            .values()
            .find(|origin| origin.label.is_tainted() && origin.words == text);
        let known = same.map(|origin| (origin.label, origin.from.clone()));
        if let Some((label, from)) = written.or(known) {
            self.mark(OwnItem::Inbox(id), label, &from, text, minutes);
        }
    }

    /// Records the origin of the notes, tasks and events that the finished calls of `running`
    /// wrote.
    pub(super) fn mark_written(
        &mut self,
        branch: &Branch,
        running: &ActiveTurn,
        results: &[ToolResult],
        minutes: &mut Transaction,
    ) {
        let knows = self.label(branch);
        let from = self.read_from(branch, knows);
        for call in &running.unanswered {
            let failed = |result: &ToolResult| {
                result.call == call.id && matches!(result.outcome, Outcome::Failed | Outcome::Denied)
            };
            if !results.iter().any(failed) {
                self.mark_call(call, knows, &from, minutes);
            }
        }
    }

    /// Records the origin of the item that `call` wrote in a conversation with the label `knows`.
    pub(super) fn mark_call(&mut self, call: &ToolCall, knows: Label, from: &str, minutes: &mut Transaction) {
        match self.class_of(call) {
            Some(ToolClass::Edits)
                if matches!(
                    tool_action(call, ToolClass::Edits).capability,
                    Capability::Notes | Capability::Reversible
                ) =>
            {
                self.mark_note(call, knows, from, minutes);
            }
            Some(ToolClass::Shell) if knows.is_tainted() => {
                let words = call.input.text("command").and_then(|command| own_command::parse(&command));
                if let Some((item, text)) = words.and_then(|words| item_of(&words)) {
                    self.mark(item, knows, from, &text, minutes);
                }
            }
            Some(_) | None => {}
        }
    }

    fn mark_note(&mut self, call: &ToolCall, knows: Label, from: &str, minutes: &mut Transaction) {
        let Some(path) = call.input.text("file_path").map(|path| plain_path(&path)) else { return };
        let item = OwnItem::Note(path);
        let before = self.state.plans.items.get(&item).cloned();
        let whole = call.input.text("content");
        if !knows.is_tainted() {
            // The whole text is replaced in a conversation without outside text.
            if whole.is_some() && before.is_some() {
                self.state.plans.items.remove_mut(&item);
                minutes.record_plan(Some(PlanChange::Marked(item, None)));
            }
            return;
        }
        let (label, text) = match (whole, before) {
            (Some(whole), _) => (knows, whole),
            (None, before) => {
                let new = call.input.text("new_string").unwrap_or_default();
                let label = before.as_ref().map_or(knows, |before| before.label.join(knows));
                (label, before.map_or(new.clone(), |before| format!("{}\n{new}", before.words)))
            }
        };
        self.mark(item, label, from, &text, minutes);
    }

    fn mark(&mut self, item: OwnItem, label: Label, from: &str, text: &str, minutes: &mut Transaction) {
        let origin = ItemOrigin { label, from: from.to_owned(), words: beginnings(text), at: minutes.at };
        let items = &mut self.state.plans.items;
        items.insert_mut(item.clone(), origin.clone());
        minutes.record_plan(Some(PlanChange::Marked(item, Some(origin))));
        if items.size() > ITEMS {
            let oldest = items.iter().min_by_key(|(_, origin)| origin.at).map(|(item, _)| item.clone());
            if let Some(oldest) = oldest {
                items.remove_mut(&oldest);
                minutes.record_plan(Some(PlanChange::Marked(oldest, None)));
            }
        }
    }

    /// Joins each result that shows the text of a recorded item or job with the label of that item
    /// or job.
    pub(super) fn with_origins(&self, running: &ActiveTurn, results: Vec<ToolResult>) -> Vec<ToolResult> {
        let plans = &self.state.plans;
        if plans.items.is_empty() && plans.origins.values().all(|origin| !origin.label.is_tainted()) {
            return results;
        }
        let known = self.known_lines();
        let joined = results.into_iter().map(|result| {
            let call = running.unanswered.iter().find(|call| call.id == result.call);
            let label = call.map_or(Label::PLAIN, |call| self.label_of_shown(call, &result.text, &known));
            ToolResult { label: result.label.join(label), ..result }
        });
        joined.collect()
    }

    /// Returns the lines of recorded items and jobs, by their first word.
    fn known_lines(&self) -> BTreeMap<String, Vec<Line>> {
        let plans = &self.state.plans;
        let jobs = plans.origins.iter().filter(|(_, origin)| origin.label.is_tainted());
        let jobs = jobs.flat_map(|(source, origin)| {
            let name = plans.agenda.get(source).map(|plan| plan.job.display_name()).unwrap_or_default();
            [(origin.words.clone(), origin.label), (name, origin.label)]
        });
        let items = plans.items.values().map(|origin| (origin.words.clone(), origin.label));
        let mut known: BTreeMap<String, Vec<Line>> = BTreeMap::new();
        for (text, label) in jobs.chain(items) {
            for line in lines(&text) {
                if let Some(first) = line.first().cloned() {
                    known.entry(first).or_default().push(Line { words: line, label });
                }
            }
        }
        known
    }

    fn label_of_shown(&self, call: &ToolCall, text: &str, known: &BTreeMap<String, Vec<Line>>) -> Label {
        let class = self.class_of(call);
        let from_elsewhere = [ToolClass::Fetches, ToolClass::Searches, ToolClass::Foreign];
        if class.is_none_or(|class| from_elsewhere.contains(&class)) {
            return Label::PLAIN;
        }
        let first = self.first_own_word(call);
        let lists = matches!(class, Some(ToolClass::Own | ToolClass::Notes | ToolClass::Plans))
            || first.is_some_and(|first| LISTS.contains(&first.as_str()));
        let words = words(text);
        let path = call.input.text("file_path").filter(|_| class == Some(ToolClass::Reads));
        let mut label = path.map_or(Label::PLAIN, |path| self.label_of_file(&path));
        // A changing call repeats its own input in its result; that alone adds no label.
        let own_words = if self.changes(call) { call.input.canonical().0 } else { String::new() };
        for (at, word) in words.iter().enumerate() {
            for line in known.get(word).into_iter().flatten() {
                let is_shown = words[at..].starts_with(&line.words) && (lists || line.is_rare());
                if is_shown && !are_from(&line.words.join(" "), &own_words) {
                    label = label.join(line.label);
                }
            }
        }
        label
    }

    /// Returns the label of the note or the job file at `path`.
    fn label_of_file(&self, path: &str) -> Label {
        let path = plain_path(path);
        let plans = &self.state.plans;
        let notes = plans.items.iter().filter_map(|(item, origin)| {
            let OwnItem::Note(note) = item else { return None };
            is_same_file(note, &path).then_some(origin.label)
        });
        let jobs = plans.origins.iter().filter_map(|(source, origin)| {
            let plan = plans.agenda.get(source)?;
            is_same_file(&plan.job.file, &path).then_some(origin.label)
        });
        notes.chain(jobs).fold(Label::PLAIN, Label::join)
    }
}

/// A line that a model wrote in a conversation with outside text.
struct Line {
    words: Vec<String>,
    label: Label,
}

impl Line {
    /// Returns true if the line is unlikely to occur in other texts by chance.
    fn is_rare(&self) -> bool {
        let letters: usize = self.words.iter().map(|word| word.chars().count()).sum();
        self.words.len() >= RARE_WORDS && letters >= RARE_LETTERS
    }
}

/// Returns the task or event that a command of the program writes, with the written text.
fn item_of(words: &[String]) -> Option<(OwnItem, String)> {
    let (list, rest) = words.split_first()?;
    let (verb, rest) = rest.split_first()?;
    let title: Vec<&str> =
        rest.iter().take_while(|word| !word.starts_with('-')).map(String::as_str).collect();
    let title = title.join(" ");
    let item: fn(String) -> OwnItem = match list.as_str() {
        "tasks" => OwnItem::Task,
        "cal" => OwnItem::Event,
        _ => return None,
    };
    // `update` names the item by its id, which is not part of its text.
    let mut texts = match verb.as_str() {
        "add" => vec![title.clone()],
        "update" => Vec::new(),
        _ => return None,
    };
    for (at, word) in rest.iter().enumerate() {
        match word.split_once('=') {
            Some((flag, value)) if TEXTS.contains(&flag) => texts.push(value.to_owned()),
            _ if TEXTS.contains(&word.as_str()) => texts.extend(rest.get(at + 1).cloned()),
            _ => {}
        }
    }
    Some((item(title), texts.join("\n")))
}

/// Returns the words of `text`, normalized for comparison. Line ends may be escaped as in JSON.
fn words(text: &str) -> Vec<String> {
    let ends = ["\\n", "\\t", "\\r", "\\u000a", "\\u0009", "\\u000d"];
    let spelled = ends.iter().fold(text.to_owned(), |text, end| text.replace(end, " "));
    let words = spelled.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Returns the first words of each line of `text`.
fn lines(text: &str) -> impl Iterator<Item = Vec<String>> {
    text.lines().map(|line| {
        let mut words = words(line);
        words.truncate(LINE_WORDS);
        words
    })
}

/// Returns the first words of each line of `text` without duplicates, for storage.
fn beginnings(text: &str) -> String {
    let mut seen = BTreeSet::new();
    let mut kept = String::new();
    for line in lines(text).map(|words| words.join(" ")).filter(|line| !line.is_empty()) {
        if kept.len() + line.len() < KEPT_BYTES && seen.insert(line.clone()) {
            kept.push_str(&line);
            kept.push('\n');
        }
    }
    kept
}

/// Returns true if every word of `text` occurs in `input`.
pub(super) fn are_from(text: &str, input: &str) -> bool {
    let given = words(input);
    words(text).iter().all(|word| given.contains(word))
}

/// Returns `path` without empty, `.` and `..` parts.
fn plain_path(path: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in path.trim().split(['/', '\\']) {
        match part.trim() {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part.to_owned()),
        }
    }
    parts.join("/")
}

/// Returns true if both paths name the same file; one of them may be absolute and the other
/// relative.
fn is_same_file(one: &str, other: &str) -> bool {
    let one = plain_path(one).to_lowercase();
    let other = plain_path(other).to_lowercase();
    one == other || one.ends_with(&format!("/{other}")) || other.ends_with(&format!("/{one}"))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::sync::Arc;

    use jiff::Zoned;

    use super::super::{
        Answer, Event, FileScan, InboxCommand, Plans, Request, ScheduleCommand, State, TurnRequest,
        UserMessage,
    };
    use super::*;
    use crate::compaction::ContextWindow;
    use crate::conversation::{Block, Conversation, EntryId, Json};
    use crate::record::SurfaceName;
    use crate::rng::Rng;
    use crate::tool::{ServerToolKinds, ToolSpec};
    use crate::turn::TurnId;

    const TURN: TurnId = TurnId(1);

    fn at(time: &str) -> Zoned {
        format!("2026-11-15T{time}[Europe/Madrid]").parse().unwrap()
    }

    /// Returns an assistant with an active turn on main and the given plans and origins.
    fn talk(plans: Plans) -> Assistant {
        let tool = |(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class };
        let tools = [
            ("Bash", ToolClass::Shell),
            ("Grep", ToolClass::Reads),
            ("Read", ToolClass::Reads),
            ("WebFetch", ToolClass::Fetches),
            ("Write", ToolClass::Edits),
            ("Edit", ToolClass::Edits),
            ("inbox_add", ToolClass::Notes),
            ("inbox_list", ToolClass::Own),
            ("schedule", ToolClass::Plans),
        ];
        let mut memory = State::new(Conversation::new(BTreeMap::new(), EntryId(1)));
        memory.plans = plans;
        let mut main =
            Assistant::new(memory, Arc::from(tools.map(tool)), ContextWindow::DEFAULT, Rng::new(7));
        main.on_event(Event::FilesChanged(Vec::new(), FileScan::First), &at("08:00"));
        main.handle(Request::Say(UserMessage::from_text(SurfaceName::Page, "go")), &at("08:00"));
        main
    }

    fn calls(main: &mut Assistant, name: &str, input: &str) {
        let (id, name, input) = (format!("{name} {input}"), name.to_owned(), Json(input.to_owned()));
        let blocks = vec![Block::Call(ToolCall { id, name, input })];
        let may_run = TurnRequest::MayRun {
            blocks,
            model_calls: Vec::new(),
            kinds: ServerToolKinds::new(),
            max_calls: 1,
        };
        main.handle(Request::Turn(TURN, may_run), &at("08:01"));
    }

    fn ran(main: &mut Assistant, text: &str, label: Label) {
        let call = main.active_turns[&Branch::Main].unanswered[0].id.clone();
        let result = ToolResult { call, text: text.to_owned(), outcome: Outcome::Done, label };
        main.handle(Request::Turn(TURN, TurnRequest::CallsDone(vec![result])), &at("08:01"));
    }

    /// Returns an assistant whose main conversation has read a page from example.org.
    fn reader() -> Assistant {
        let mut main = talk(Plans::default());
        calls(&mut main, "WebFetch", r#"{"url":"https://example.org/flats"}"#);
        ran(&mut main, "a flat", Label::outside(Realm::Web));
        main
    }

    fn plans(main: &mut Assistant, words: &str) -> String {
        calls(main, "schedule", &format!("{{\"words\":{words:?}}}"));
        let answer =
            main.handle(Request::Schedule(ScheduleCommand::PlanText(words.to_owned())), &at("08:01")).0;
        let (Answer::Text(text) | Answer::Refused(text)) = answer else { panic!("{answer:?}") };
        ran(main, &text, Label::PLAIN);
        text
    }

    fn written() -> Assistant {
        let mut main = reader();
        let note = r#"{"file_path":"notes/flat.md","content":"Flat\nthe flat costs 900 euros a month\n"}"#;
        calls(&mut main, "Write", note);
        ran(&mut main, "written", Label::PLAIN);
        let task =
            r#"{"command":"ollim-bot tasks add 'pay Mallory' --notes 'her account is 4711' --due fri"}"#;
        calls(&mut main, "Bash", task);
        ran(&mut main, "added", Label::private(Realm::Tasks));
        calls(&mut main, "Bash", r#"{"command":"ollim-bot cal add 'see the flat' --start 'fri 9'"}"#);
        ran(&mut main, "added", Label::private(Realm::Calendar));
        calls(&mut main, "inbox_add", r#"{"text":"visit it"}"#);
        main.handle(Request::Inbox(InboxCommand::Keep("visit it".to_owned())), &at("08:01"));
        ran(&mut main, "kept as 1", Label::PLAIN);
        plans(&mut main, "sign at noon");
        main
    }

    /// Returns true if `text`, as the result of this call in a new conversation, is labelled as
    /// outside text.
    fn is_known(written: &Assistant, name: &str, input: &str, text: &str) -> bool {
        let mut main = talk(written.state.plans.clone());
        calls(&mut main, name, input);
        ran(&mut main, text, Label::private(Realm::Files));
        main.label(&Branch::Main).is_tainted()
    }

    /// Notes, tasks, events and inbox items that a model wrote in a conversation with outside text
    /// are recognized in a conversation without it, whichever tool shows them. Other items of the
    /// user are not.
    #[test]
    fn what_a_model_wrote_is_known_again_in_a_clean_conversation() {
        let main = written();
        let known = |name: &str, input: &str, text: &str| is_known(&main, name, input, text);
        let bash = |command: &str| format!("{{\"command\":{command:?}}}");
        assert!(known("Read", r#"{"file_path":"./notes/flat.md"}"#, "all of it was changed since"));
        assert!(known("Read", r#"{"file_path":"/srv/data/notes/Flat.md"}"#, "x"));
        assert!(known("Grep", r#"{"pattern":"costs"}"#, "notes/flat.md:2: the flat costs 900 euros a month"));
        assert!(known("Bash", &bash("cat notes/flat.md"), "Flat\nthe flat costs 900 euros a month\n"));
        assert!(known("Bash", &bash("ollim-bot tasks"), "7  buy milk\n8  Pay Mallory  fri"));
        assert!(known("Bash", &bash("ollim-bot tasks --json"), r#"{"notes":"her account is 4711\nnow"}"#));
        assert!(known("Bash", &bash("ollim-bot cal upcoming"), "fri 9:00 see the flat"));
        assert!(known("inbox_list", "{}", "1. visit it"));
        assert!(known("schedule", r#"{"words":"today"}"#, "12:00 · sign"));
        assert!(known("Bash", &bash("ollim-bot reminder list"), "a1b2  12:00  sign"));
        assert!(known("Read", r#"{"file_path":"reminders/sign.md"}"#, "x"));
        for (name, input, text) in [
            ("Read", r#"{"file_path":"notes/other.md"}"#, "Flat shoes, and sign the card. I visit it."),
            ("Bash", &bash("ollim-bot tasks"), "7  buy milk"),
            ("Bash", &bash("ollim-bot help"), "sign in with an account"),
            ("inbox_list", "{}", "2. call mum"),
            ("schedule", r#"{"words":"today"}"#, "12:00 · lunch"),
        ] {
            assert!(!known(name, input, text), "{name} {input}");
        }
    }

    /// A note that a model replaces in a conversation without outside text loses its label; an
    /// edited one keeps it.
    #[test]
    fn a_note_that_is_written_anew_is_the_users_again() {
        let main = written();
        let read = |main: &Assistant| is_known(main, "Read", r#"{"file_path":"notes/flat.md"}"#, "x");
        let mut clean = talk(main.state.plans.clone());
        calls(&mut clean, "Edit", r#"{"file_path":"notes/flat.md","old_string":"a","new_string":"b"}"#);
        ran(&mut clean, "written", Label::PLAIN);
        assert!(read(&clean));
        calls(&mut clean, "Write", r#"{"file_path":"notes/flat.md","content":"mine"}"#);
        ran(&mut clean, "written", Label::PLAIN);
        assert!(!read(&clean));
        // A denied call wrote nothing.
        let mut reader = reader();
        calls(&mut reader, "Write", r#"{"file_path":"notes/new.md","content":"mine"}"#);
        let call = reader.active_turns[&Branch::Main].unanswered[0].id.clone();
        let outcome = Outcome::Denied;
        let result = ToolResult { call, text: String::new(), outcome, label: Label::PLAIN };
        reader.handle(Request::Turn(TURN, TurnRequest::CallsDone(vec![result])), &at("08:01"));
        assert!(reader.state.plans.items.is_empty());
    }

    /// A change that a model makes after reading a page names the page: in the list of changes,
    /// when it is undone, and next to the item. Changes by the user name nothing.
    #[test]
    fn a_change_after_outside_text_names_what_was_read() {
        let mut main = written();
        let told = |main: &mut Assistant, words: &str| {
            let answer =
                main.handle(Request::Schedule(ScheduleCommand::PlanText(words.to_owned())), &at("08:02")).0;
            let (Answer::Text(text) | Answer::Refused(text)) = answer else { panic!("{answer:?}") };
            text
        };
        told(&mut main, "dentist tomorrow at 10");
        let page = "(after reading a page from example.org)";
        let list = told(&mut main, "undo list");
        let lines: Vec<&str> = list.lines().collect();
        assert_eq!(lines[1], "1. Planned: dentist, just now", "{list}");
        assert_eq!(lines[2], format!("2. Planned: sign {page}, 1 min ago"), "{list}");
        assert_eq!(lines[3], format!("3. Added to the inbox: visit it {page}, 1 min ago"), "{list}");
        for item in ["notes/flat.md", "task pay Mallory", "event see the flat"] {
            assert!(list.contains(&format!("- {item} {page}")), "{list}");
        }
        let plans = &main.state.plans;
        let origin_of = |name: &str| {
            let mut plans = plans.agenda.plans().filter(|(_, plan)| plan.job.display_name() == name);
            plans.next().map(|(source, _)| main.state.plans.origin_of(source).map(str::to_owned))
        };
        assert_eq!(origin_of("dentist"), Some(None));
        assert_eq!(origin_of("sign"), Some(Some("a page from example.org".to_owned())));
        assert_eq!(plans.origin_of_kept(InboxItemId(1)), Some("a page from example.org"));
        assert!(!told(&mut main, "undo").contains("after reading"));
        assert_eq!(told(&mut main, "undo"), format!("taken back: sign {page}"));
        assert_eq!(told(&mut main, "undo"), format!("taken back: visit it {page}"));
    }

    /// A reminder of the user that a model only moves after reading a page names the page, and its
    /// text keeps the user's label.
    #[test]
    fn a_reminder_that_was_only_moved_keeps_its_label() {
        let mut main = talk(Plans::default());
        plans(&mut main, "dentist tomorrow at 10");
        calls(&mut main, "WebFetch", r#"{"url":"https://example.org/flats"}"#);
        ran(&mut main, "a flat", Label::outside(Realm::Web));
        plans(&mut main, "move dentist to friday 11");
        let plans = &main.state.plans;
        let (source, _) = plans.agenda.plans().next().unwrap();
        assert_eq!(plans.origin_of(source), Some("a page from example.org"));
        assert_eq!(main.label_of_text(source), Label::PLAIN);
        let list = main.tell_changes(&at("08:02"));
        assert!(list.contains("Changed: dentist (after reading a page from example.org)"), "{list}");
    }
}
