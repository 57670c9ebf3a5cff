//! Labels of job texts that a model wrote in a conversation with outside text. The label is stored
//! beside the job, not in its file, and applies wherever the text is used.
//!
//! A call may write a file that is read only after the call. Therefore a new plan is compared with
//! the calls that run, and for a while with those that ran.

use jiff::{SignedDuration, Timestamp};

use super::active_turn::ActiveTurn;
use super::item_origins::are_from;
use super::{Assistant, Transaction};
use crate::conversation::Branch;
use crate::cost::CostSource;
use crate::label::Label;
use crate::permission::{Capability, own_command, tool_action};
use crate::record::PlanChange;
use crate::schedule::PlannedJob;
use crate::tool::{ToolCall, ToolClass};

/// How long after a call a file that it wrote may be read.
const WRITE_WINDOW: SignedDuration = SignedDuration::from_mins(2);

/// Text of a job written by a model, with the label of the conversation in which it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOrigin {
    /// Label of the conversation in which the text was written.
    pub label: Label,
    /// The text, to recognize a job that reuses it, such as the next check in a chain.
    pub words: String,
    /// A description of the outside text read there before, such as `mail and a page from
    /// example.org`. Empty if not known.
    pub from: String,
}

/// A call that may have written a job, with the label of its conversation.
#[derive(Clone, Debug)]
pub(super) struct RecentWrite {
    input: String,
    label: Label,
    from: String,
    until: Timestamp,
}

impl Assistant {
    /// Returns the label of the text of the job `source`.
    pub(super) fn label_of_text(&self, source: &CostSource) -> Label {
        self.state.plans.origins.get(source).map_or(Label::PLAIN, |origin| origin.label)
    }

    /// Remembers a call that ended or runs as an approved call, because a job file that is read
    /// soon may have been written by it.
    pub(super) fn remember_write(&mut self, call: &ToolCall, label: Label, from: &str, tx: &Transaction) {
        let at = tx.at;
        self.transient.recent_writes.retain(|written| written.until > at);
        if label.is_tainted() && self.can_plan(call) {
            let until = at.saturating_add(WRITE_WINDOW).unwrap_or(at);
            let input = call.input.canonical().0;
            self.transient.recent_writes.push(RecentWrite { input, label, from: from.to_owned(), until });
        }
    }

    /// Sets the label of a new plan's text if a recent call of a model may have written it.
    pub(super) fn label_new_plan(&mut self, planned: &PlannedJob, tx: &mut Transaction) {
        let source = planned.source();
        let words = planned.prompt().as_str();
        let known = self.state.plans.agenda.get(&source);
        if self.state.plans.known_watermarks.contains_key(&source) {
            return;
        }
        let before = self.label_of_text(&source);
        if let Some(plan) = known.filter(|plan| plan.job.prompt().as_str() == words) {
            if plan.job.spec != planned.spec
                && let Some((_, from)) = self.changing_now()
            {
                let origin = PlanOrigin { label: before, words: words.to_owned(), from };
                self.keep_origin(source, origin, tx);
            }
            return;
        }
        let writes = |running: &ActiveTurn| {
            let waits = |call: &ToolCall| {
                let mut open = self.state.approvals.open.iter();
                open.any(|open| open.turn == running.turn && open.call.id == call.id)
            };
            running.unanswered.iter().any(|call| self.can_plan(call) && !waits(call))
        };
        let running = self.active_turns.iter().filter(|(_, running)| writes(running));
        let running: Vec<Branch> = running.map(|(branch, _)| branch.clone()).collect();
        let label = running.iter().map(|branch| self.label(branch)).filter(|label| label.is_tainted());
        let label = label.fold(before, Label::join);
        let written = self.transient.recent_writes.iter().filter(|written| written.until > tx.at);
        let written = written.filter(|written| are_from(words, &written.input));
        let written: Vec<&RecentWrite> = written.collect();
        let label = written.iter().fold(label, |label, written| label.join(written.label));
        let same = self.state.plans.origins.values().filter(|origin| origin.words == words);
        let same: Vec<&PlanOrigin> = same.filter(|origin| origin.label != Label::PLAIN).collect();
        let label = same.iter().fold(label, |label, origin| label.join(origin.label));
        if label != Label::PLAIN {
            let running = running.iter().map(|branch| (branch, self.label(branch)));
            let running = running.filter(|(_, label)| label.is_tainted());
            let mut from: Vec<String> =
                running.map(|(branch, label)| self.read_from(branch, label)).collect();
            from.extend(written.iter().map(|written| written.from.clone()));
            from.extend(same.iter().map(|origin| origin.from.clone()));
            from.sort();
            from.dedup();
            from.retain(|from| !from.is_empty());
            let origin = PlanOrigin { label, words: words.to_owned(), from: from.join(" and ") };
            self.keep_origin(source, origin, tx);
        }
    }

    fn keep_origin(&mut self, source: CostSource, origin: PlanOrigin, minutes: &mut Transaction) {
        self.state.plans.origins.insert_mut(source.clone(), origin.clone());
        minutes.record_plan(Some(PlanChange::PromptOrigin(source, origin, minutes.at)));
    }

    /// Returns true if `call` can write a job.
    pub(super) fn can_plan(&self, call: &ToolCall) -> bool {
        match self.tools.iter().find(|tool| tool.name == call.name).map(|tool| tool.class) {
            Some(ToolClass::Plans) => true,
            Some(ToolClass::Edits) => tool_action(call, ToolClass::Edits).capability == Capability::Authority,
            Some(ToolClass::Shell) => {
                let words = call.input.text("command").and_then(|command| own_command::parse(&command));
                let first = words.and_then(|words| words.into_iter().next());
                first.is_some_and(|first| ["reminder", "routine", "add"].contains(&first.as_str()))
            }
            Some(ToolClass::Own) => call.name == "follow_up_chain",
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

    use super::super::{Answer, Event, FileScan, Request, ScheduleCommand, State, TurnRequest, UserMessage};
    use super::*;
    use crate::compaction::ContextWindow;
    use crate::conversation::{Block, Conversation, EntryId, Json};
    use crate::label::Realm;
    use crate::record::SurfaceName;
    use crate::rng::Rng;
    use crate::schedule::{ItemId, JobFileChange, JobSpec, JobTarget, Moment, Prompt, Reminder};
    use crate::tool::{Outcome, ServerToolKinds, ToolResult, ToolSpec};
    use crate::turn::TurnId;

    const TURN: TurnId = TurnId(1);

    fn at(time: &str) -> Zoned {
        format!("2026-11-15T{time}[Europe/Madrid]").parse().unwrap()
    }

    /// Returns an assistant with an active turn on main that has read a result with `label`.
    fn assistant_that_read(label: Label) -> Assistant {
        let tool = |(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class };
        let tools = [("Bash", ToolClass::Shell), ("schedule", ToolClass::Plans)].map(tool);
        let memory = State::new(Conversation::new(BTreeMap::new(), EntryId(1)));
        let mut main = Assistant::new(memory, Arc::from(tools), ContextWindow::DEFAULT, Rng::new(7));
        main.on_event(Event::FilesChanged(Vec::new(), FileScan::First), &at("08:00"));
        main.handle(Request::Say(UserMessage::from_text(SurfaceName::Page, "go")), &at("08:00"));
        call_tool(&mut main, r#"{"command":"ollim-bot mail unread"}"#, "08:00");
        finish_call(&mut main, label, "08:00");
        main
    }

    fn call_tool(main: &mut Assistant, command: &str, time: &str) {
        let id = "c".to_owned();
        let name = "Bash".to_owned();
        let blocks = vec![Block::Call(ToolCall { id, name, input: Json(command.to_owned()) })];
        let may_run = TurnRequest::MayRun {
            blocks,
            model_calls: Vec::new(),
            kinds: ServerToolKinds::new(),
            max_calls: 1,
        };
        main.handle(Request::Turn(TURN, may_run), &at(time));
    }

    fn finish_call(main: &mut Assistant, label: Label, time: &str) {
        let result =
            ToolResult { call: "c".to_owned(), text: "done".to_owned(), outcome: Outcome::Done, label };
        main.handle(Request::Turn(TURN, TurnRequest::CallsDone(vec![result])), &at(time));
    }

    fn add_file(main: &mut Assistant, id: &str, words: &str, time: &str) -> Label {
        let id = ItemId::parse(id).unwrap();
        let due = Moment::of(&at("20:00"));
        let reminder = Reminder::new(id, due, JobTarget::main(), Prompt::new(words)).unwrap();
        let planned = PlannedJob { spec: JobSpec::Reminder(reminder), file: format!("reminders/{words}.md") };
        let source = planned.source();
        main.on_event(
            Event::FilesChanged(vec![JobFileChange::Planned(Arc::new(planned))], FileScan::Later),
            &at(time),
        );
        main.label_of_text(&source)
    }

    /// A command that writes a job file is remembered while it runs and for a while afterwards.
    #[test]
    fn file_written_by_a_call_has_the_label_of_its_conversation() {
        let mail = Label::both(Realm::Mail);
        let add = r#"{"command":"ollim-bot reminder add -m 'pay \"Anna\", now' --delay 20"}"#;
        let mut main = assistant_that_read(mail);
        assert_eq!(
            add_file(&mut main, "b1", "buy milk", "08:00"),
            Label::PLAIN,
            "nothing was planned by a call"
        );
        call_tool(&mut main, add, "08:01");
        assert!(add_file(&mut main, "b2", "pay \"Anna\", now", "08:01").is_tainted());
        finish_call(&mut main, Label::private(Realm::Tasks), "08:01");
        assert!(add_file(&mut main, "b3", "pay Anna now", "08:02").is_tainted(), "its file is read later");
        assert_eq!(add_file(&mut main, "b4", "buy bread", "08:02"), Label::PLAIN, "the user's own");
        assert_eq!(add_file(&mut main, "b1", "buy milk", "08:02"), Label::PLAIN);
        assert_eq!(add_file(&mut main, "b5", "now pay", "08:30"), Label::PLAIN, "that was long ago");
        assert!(add_file(&mut main, "b6", "pay Anna now", "08:30").is_tainted(), "the same words again");
        let mut main = assistant_that_read(Label::private(Realm::Mail));
        call_tool(&mut main, add, "08:01");
        assert_eq!(add_file(&mut main, "b2", "pay Anna, now", "08:01"), Label::PLAIN, "nobody outside wrote");
    }

    /// Text that a call passes to the planner gets its label at once, also if the user approved the
    /// call.
    #[test]
    fn text_planned_by_a_call_has_the_label_of_its_conversation() {
        let mut main = assistant_that_read(Label::both(Realm::Mail));
        call_tool(&mut main, r#"{"command":"ollim-bot add pay Anna at 10"}"#, "08:01");
        let words = ScheduleCommand::PlanText("pay Anna at 10".to_owned());
        assert!(matches!(main.handle(Request::Schedule(words), &at("08:01")).0, Answer::Text(_)));
        let labels: Vec<Label> = main.state.plans.origins.values().map(|origin| origin.label).collect();
        assert_eq!(labels.len(), 1);
        assert!(labels[0].is_tainted());
    }
}
