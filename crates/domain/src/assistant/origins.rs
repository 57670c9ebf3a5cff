//! Labels of job texts that a model wrote in a conversation with outside text. The label is stored
//! beside the job, not in its file, and applies wherever the text is used.
//!
//! A call may write a file that is read only after the call. Therefore a new plan is compared with
//! the calls that run, and for a while with those that ran.

use jiff::{SignedDuration, Timestamp};

use super::item_origins::are_from;
use super::running::Running;
use super::{Assistant, Minutes};
use crate::conversation::Branch;
use crate::cost::Source;
use crate::label::Label;
use crate::permission::{Power, deed, own_command};
use crate::record::PlanChange;
use crate::schedule::Planned;
use crate::tool::{Class, ToolCall};

/// How long after a call a file that it wrote may be read.
const WRITING: SignedDuration = SignedDuration::from_mins(2);

/// Text of a job written by a model, with the label of the conversation in which it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOrigin {
    /// Label of the conversation in which the text was written.
    pub label: Label,
    /// The text, to recognize a job that reuses it, such as the next check in a chain.
    pub words: String,
    /// What was read there before, such as `mail and a page from example.org`. Empty, if that is not known.
    pub from: String,
}

/// A call that may have written a job, with the label of its conversation.
#[derive(Clone, Debug)]
pub(super) struct Written {
    input: String,
    knows: Label,
    from: String,
    until: Timestamp,
}

impl Assistant {
    /// Returns the label of the text of the job `source`.
    pub(super) fn label_of_words(&self, source: &Source) -> Label {
        self.memory.plans.origins.get(source).map_or(Label::PLAIN, |origin| origin.label)
    }

    /// A call ends, or is carried out aside: a job whose file is read soon may be from it.
    pub(super) fn note_writing(&mut self, call: &ToolCall, knows: Label, from: &str, minutes: &Minutes) {
        let at = minutes.at;
        self.wants.written.retain(|written| written.until > at);
        if knows.is_tainted() && self.plans(call) {
            let until = at.saturating_add(WRITING).unwrap_or(at);
            let input = call.input.canonical().0;
            self.wants.written.push(Written { input, knows, from: from.to_owned(), until });
        }
    }

    /// Sets the label of a new plan's text if a recent call of a model may have written it.
    pub(super) fn note_origin(&mut self, planned: &Planned, minutes: &mut Minutes) {
        let source = planned.source();
        let words = planned.message().as_str();
        let known = self.memory.plans.agenda.get(&source);
        if self.memory.plans.known.contains_key(&source) {
            return;
        }
        let before = self.label_of_words(&source);
        if let Some(plan) = known.filter(|plan| plan.planned.message().as_str() == words) {
            if plan.planned.what != planned.what
                && let Some((_, from)) = self.changing_now()
            {
                let origin = PlanOrigin { label: before, words: words.to_owned(), from };
                self.keep_origin(source, origin, minutes);
            }
            return;
        }
        let writes = |running: &Running| {
            let waits = |call: &ToolCall| {
                let mut open = self.memory.approvals.open.iter();
                open.any(|open| open.turn == running.turn && open.call.id == call.id)
            };
            running.unanswered.iter().any(|call| self.plans(call) && !waits(call))
        };
        let running = self.running.iter().filter(|(_, running)| writes(running));
        let running: Vec<Branch> = running.map(|(branch, _)| branch.clone()).collect();
        let label = running.iter().map(|branch| self.label_of(branch)).filter(|label| label.is_tainted());
        let label = label.fold(before, Label::join);
        let written = self.wants.written.iter().filter(|written| written.until > minutes.at);
        let written = written.filter(|written| are_from(words, &written.input));
        let written: Vec<&Written> = written.collect();
        let label = written.iter().fold(label, |label, written| label.join(written.knows));
        let same = self.memory.plans.origins.values().filter(|origin| origin.words == words);
        let same: Vec<&PlanOrigin> = same.filter(|origin| origin.label != Label::PLAIN).collect();
        let label = same.iter().fold(label, |label, origin| label.join(origin.label));
        if label != Label::PLAIN {
            let running = running.iter().map(|branch| (branch, self.label_of(branch)));
            let running = running.filter(|(_, label)| label.is_tainted());
            let mut from: Vec<String> =
                running.map(|(branch, label)| self.read_from(branch, label)).collect();
            from.extend(written.iter().map(|written| written.from.clone()));
            from.extend(same.iter().map(|origin| origin.from.clone()));
            from.sort();
            from.dedup();
            from.retain(|from| !from.is_empty());
            let origin = PlanOrigin { label, words: words.to_owned(), from: from.join(" and ") };
            self.keep_origin(source, origin, minutes);
        }
    }

    fn keep_origin(&mut self, source: Source, origin: PlanOrigin, minutes: &mut Minutes) {
        self.memory.plans.origins.insert_mut(source.clone(), origin.clone());
        minutes.plan(Some(PlanChange::Written(source, origin, minutes.at)));
    }

    /// Returns true if `call` can write a job.
    pub(super) fn plans(&self, call: &ToolCall) -> bool {
        match self.tools.iter().find(|tool| tool.name == call.name).map(|tool| tool.class) {
            Some(Class::Plans) => true,
            Some(Class::Edits) => deed(call, Class::Edits).power == Power::Authority,
            Some(Class::Shell) => {
                let words = call.input.text("command").and_then(|command| own_command::words(&command));
                let first = words.and_then(|words| words.into_iter().next());
                first.is_some_and(|first| ["reminder", "routine", "add"].contains(&first.as_str()))
            }
            Some(Class::Own) => call.name == "follow_up_chain",
            Some(_) | None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use jiff::Zoned;

    use super::super::{Answer, Event, Look, Memory, Planning, Progress, Request, Saying};
    use super::*;
    use crate::compaction::Room;
    use crate::conversation::{Block, Conversation, EntryId, Json};
    use crate::dice::Dice;
    use crate::label::Realm;
    use crate::record::SurfaceName;
    use crate::schedule::{Charter, FileNews, ItemId, Moment, Prompt, Reminder, What};
    use crate::tool::{Outcome, ServerKinds, ToolResult, ToolSpec};
    use crate::turn::TurnId;

    const TURN: TurnId = TurnId(1);

    fn at(time: &str) -> Zoned {
        format!("2026-11-15T{time}[Europe/Madrid]").parse().unwrap()
    }

    /// Returns an assistant with an active turn on main that has read a result with `label`.
    fn reader(label: Label) -> Assistant {
        let tool = |(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class };
        let tools = [("Bash", Class::Shell), ("schedule", Class::Plans)].map(tool);
        let memory = Memory::of(Conversation::new(BTreeMap::new(), EntryId(1)));
        let mut main = Assistant::new(memory, Arc::from(tools), Room::HOUSE, Dice::new(7));
        main.on(Event::Files(Vec::new(), Look::First), &at("08:00"));
        main.asked(Request::Say(Saying::words(SurfaceName::Page, "go")), &at("08:00"));
        calls(&mut main, r#"{"command":"ollim-bot mail unread"}"#, "08:00");
        ran(&mut main, label, "08:00");
        main
    }

    fn calls(main: &mut Assistant, command: &str, time: &str) {
        let id = "c".to_owned();
        let name = "Bash".to_owned();
        let blocks = vec![Block::Call(ToolCall { id, name, input: Json(command.to_owned()) })];
        let may_run = Progress::MayRun { blocks, spent: Vec::new(), kinds: ServerKinds::new(), most: 1 };
        main.asked(Request::Turn(TURN, may_run), &at(time));
    }

    fn ran(main: &mut Assistant, label: Label, time: &str) {
        let result =
            ToolResult { call: "c".to_owned(), text: "done".to_owned(), outcome: Outcome::Done, label };
        main.asked(Request::Turn(TURN, Progress::Ran(vec![result])), &at(time));
    }

    fn file(main: &mut Assistant, id: &str, words: &str, time: &str) -> Label {
        let id = ItemId::parse(id).unwrap();
        let due = Moment::of(&at("20:00"));
        let reminder = Reminder::new(id, due, Charter::main(), Prompt::new(words)).unwrap();
        let planned = Planned { what: What::Reminder(reminder), file: format!("reminders/{words}.md") };
        let source = planned.source();
        main.on(Event::Files(vec![FileNews::Plans(Arc::new(planned))], Look::Again), &at(time));
        main.label_of_words(&source)
    }

    /// A command that writes a job file is remembered while it runs and for a while afterwards.
    #[test]
    fn a_file_that_a_call_wrote_is_known_as_what_was_read_before() {
        let mail = Label::both(Realm::Mail);
        let add = r#"{"command":"ollim-bot reminder add -m 'pay \"Anna\", now' --delay 20"}"#;
        let mut main = reader(mail);
        assert_eq!(file(&mut main, "b1", "buy milk", "08:00"), Label::PLAIN, "nothing was planned by a call");
        calls(&mut main, add, "08:01");
        assert!(file(&mut main, "b2", "pay \"Anna\", now", "08:01").is_tainted());
        ran(&mut main, Label::private(Realm::Tasks), "08:01");
        assert!(file(&mut main, "b3", "pay Anna now", "08:02").is_tainted(), "its file is read later");
        assert_eq!(file(&mut main, "b4", "buy bread", "08:02"), Label::PLAIN, "the user's own");
        assert_eq!(file(&mut main, "b1", "buy milk", "08:02"), Label::PLAIN);
        assert_eq!(file(&mut main, "b5", "now pay", "08:30"), Label::PLAIN, "that was long ago");
        assert!(file(&mut main, "b6", "pay Anna now", "08:30").is_tainted(), "the same words again");
        let mut main = reader(Label::private(Realm::Mail));
        calls(&mut main, add, "08:01");
        assert_eq!(file(&mut main, "b2", "pay Anna, now", "08:01"), Label::PLAIN, "nobody outside wrote");
    }

    /// Text that a call passes to the planner gets its label at once, also if the user approved the
    /// call.
    #[test]
    fn words_that_a_call_plans_are_known_as_what_was_read_before() {
        let mut main = reader(Label::both(Realm::Mail));
        calls(&mut main, r#"{"command":"ollim-bot add pay Anna at 10"}"#, "08:01");
        let words = Planning::Words("pay Anna at 10".to_owned());
        assert!(matches!(main.asked(Request::Plan(words), &at("08:01")).0, Answer::Told(_)));
        let labels: Vec<Label> = main.memory.plans.origins.values().map(|origin| origin.label).collect();
        assert_eq!(labels.len(), 1);
        assert!(labels[0].is_tainted());
    }
}
