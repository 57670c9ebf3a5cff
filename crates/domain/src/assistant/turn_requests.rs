//! Requests of active turns: permission for calls, and their results.

use std::sync::Arc;

use jiff::Zoned;

use super::active_turn::ActiveTurn;
use super::addresses::shows_addresses;
use super::approvals::Caller;
use super::{Answer, Assistant, Effect, Transaction};
use crate::context::{data_block, source_names};
use crate::conversation::{Block, Branch, Completeness, EntryContent, tool_calls};
use crate::cost::ModelCall;
use crate::label::Label;
use crate::permission::{Authority, CallDisposition, PlannerClock};
use crate::schedule::{JobSpec, PlannedJob};
use crate::tool::{Outcome, ServerToolKinds, ToolCall, ToolClass, ToolResult};
use crate::turn::TurnId;

impl Assistant {
    pub(super) fn may_run_calls(
        &mut self,
        turn: TurnId,
        blocks: Vec<Block>,
        model_calls: Vec<ModelCall>,
        kinds: ServerToolKinds,
        max_calls: usize,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let (Some((branch, running)), Some(authority)) = (self.find_turn(turn), self.authority(turn)) else {
            return turn_ended_refusal();
        };
        let tool_calls: Vec<ToolCall> = tool_calls(&blocks).cloned().collect();
        let mut tx = Transaction::at(now);
        self.record_calls(&branch, &running, model_calls, &mut tx);
        self.transient.offline_facts.used_tools.insert(turn);
        self.append(&branch, EntryContent::Assistant(blocks, Completeness::Complete), &mut tx);
        if let Some(running) = self.active_turns.get_mut(&branch) {
            running.unanswered = tool_calls.clone();
            running.server_kinds.clone_from(&kinds);
        }
        for call in &tool_calls {
            self.remember_composed_addresses(call);
        }
        let clock = self.clock(now);
        let caller = Caller {
            turn,
            branch,
            authority: Authority { server_kinds: kinds, clock: Some(clock), ..authority },
        };
        let mut rulings = Vec::with_capacity(tool_calls.len());
        for (index, call) in tool_calls.into_iter().enumerate() {
            rulings.push(if index < max_calls {
                self.decide_or_delegate(call, &caller, &mut tx)
            } else {
                CallDisposition::Answered(over_call_limit(call))
            });
        }
        (Answer::Rulings(rulings), tx.into_effects())
    }

    pub(super) fn on_calls_done(
        &mut self,
        turn: TurnId,
        results: Vec<ToolResult>,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let Some((branch, running)) = self.find_turn(turn) else { return turn_ended_refusal() };
        let mut tx = Transaction::at(now);
        self.remember_seen_addresses(&running, &results);
        let label = self.label(&branch);
        let from = self.read_from(&branch, label);
        for call in &running.unanswered {
            self.remember_write(call, label, &from, &tx);
        }
        self.mark_written(&branch, &running, &results, &mut tx);
        self.note_sources(&branch, &running, &results);
        let results = self.with_origins(&running, results);
        let results = self.as_data_blocks(results);
        self.append(&branch, EntryContent::Tools(results.clone()), &mut tx);
        if let Some(running) = self.active_turns.get_mut(&branch) {
            running.unanswered.clear();
        }
        // IF-8: a turn that requested a fork ends here.
        let aside =
            (branch == Branch::Main && self.is_fork_requested_by_model()).then_some(Effect::Interrupt(turn));
        (Answer::Results(results), tx.into_effects().into_iter().chain(aside).collect())
    }

    /// Returns the time, habits and routines that planner text is read with.
    fn clock(&self, now: &Zoned) -> PlannerClock {
        let plans = self.state.plans.agenda.plans().map(|(_, plan)| &plan.job);
        let routines: Vec<Arc<PlannedJob>> =
            plans.filter(|planned| matches!(planned.spec, JobSpec::Routine(_))).cloned().collect();
        let undone = self.state.plans.last_change().map(|last| {
            let since = routines.iter().filter(|routine| last.new_plans.contains(&routine.source()));
            let before = last.previous_plans.iter().filter(|what| matches!(what, JobSpec::Routine(_)));
            let before = before.map(|what| Arc::new(PlannedJob { spec: what.clone(), file: String::new() }));
            since.cloned().chain(before).collect()
        });
        let habits = self.state.choices.settings.habits();
        PlannerClock { now: now.clone(), habits, routines, undone: undone.unwrap_or_default() }
    }

    /// Remembers possible addresses in a call as composed by the model. The address of a fetch is
    /// excluded, because it is decided on by itself.
    fn remember_composed_addresses(&mut self, call: &ToolCall) {
        if self.class_of(call) != Some(ToolClass::Fetches) {
            self.state.messages.remember_composed(&call.input);
        }
    }

    /// Remembers addresses in results with outside text.
    fn remember_seen_addresses(&mut self, running: &ActiveTurn, results: &[ToolResult]) {
        for result in results {
            let Some(call) = running.unanswered.iter().find(|call| call.id == result.call) else { continue };
            let kind = call.input.text("tool").and_then(|tool| running.server_kinds.get(&tool).copied());
            let shown = self.class_of(call).and_then(|class| shows_addresses(class, kind, result));
            if let Some(text) = shown {
                self.state.messages.remember_seen(text, &call.input);
            }
        }
    }

    pub(super) fn class_of(&self, call: &ToolCall) -> Option<ToolClass> {
        self.tools.iter().find(|tool| tool.name == call.name).map(|spec| spec.class)
    }

    /// Wraps results with outside text in data blocks, as the model reads them.
    fn as_data_blocks(&mut self, results: Vec<ToolResult>) -> Vec<ToolResult> {
        let mut results_for_model = Vec::with_capacity(results.len());
        for result in results {
            if result.label.is_tainted() && !result.text.trim().is_empty() {
                let text = data_block(&self.rng.short_id(), &source_names(result.label), &result.text);
                results_for_model.push(ToolResult { text, ..result });
            } else {
                results_for_model.push(result);
            }
        }
        results_for_model
    }
}

/// Returns the result for a call beyond the turn's limit.
fn over_call_limit(call: ToolCall) -> ToolResult {
    let text = "Error: not run. This answer has reached its limit of tool calls. Answer with the results that you have, \
                and tell the human what is left to do.";
    ToolResult { call: call.id, text: text.to_owned(), outcome: Outcome::Failed, label: Label::PLAIN }
}

pub(super) fn turn_ended_refusal() -> (Answer, Vec<Effect>) {
    (Answer::Refused("this turn has already ended; stop.".to_owned()), Vec::new())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::collections::BTreeMap;

    use super::super::{Request, State, TurnRequest, UserMessage};
    use super::*;
    use crate::compaction::ContextWindow;
    use crate::conversation::{Conversation, EntryId, Json};
    use crate::label::Realm;
    use crate::permission::Mode;
    use crate::record::SurfaceName;
    use crate::rng::Rng;
    use crate::tool::{ServerToolKind, ToolSpec};

    const TURN: TurnId = TurnId(1);

    /// An assistant with an active turn of the user.
    struct ActiveTalk(Assistant);

    impl ActiveTalk {
        fn new() -> Self {
            let mut memory = State::new(Conversation::new(BTreeMap::new(), EntryId(1)));
            memory.choices.modes.main = Mode::Ask;
            let tool = |(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class };
            let tools = [
                ("mcp", ToolClass::Foreign),
                ("WebFetch", ToolClass::Fetches),
                ("WebSearch", ToolClass::Searches),
                ("Bash", ToolClass::Shell),
            ];
            let mut assistant =
                Assistant::new(memory, Arc::from(tools.map(tool)), ContextWindow::DEFAULT, Rng::new(7));
            assistant.handle(Request::Say(UserMessage::from_text(SurfaceName::Page, "go")), &at());
            Self(assistant)
        }

        fn ruling_on(&mut self, name: &str, input: &str, kind: Option<ServerToolKind>) -> CallDisposition {
            let id = "c".to_owned();
            let input = Json(input.to_owned());
            let call = ToolCall { id, name: name.to_owned(), input };
            let tool = call.input.text("tool").unwrap_or_default();
            let kinds = kind.map(|kind| (tool, kind)).into_iter().collect();
            let blocks = vec![Block::Call(call)];
            let may_run = TurnRequest::MayRun { blocks, model_calls: Vec::new(), kinds, max_calls: 1 };
            let Answer::Rulings(mut rulings) = self.0.handle(Request::Turn(TURN, may_run), &at()).0 else {
                panic!("the step was not decided upon");
            };
            rulings.remove(0)
        }

        /// Makes a call with the result `text`.
        fn call_tool(
            &mut self,
            name: &str,
            input: &str,
            kind: Option<ServerToolKind>,
            text: &str,
            label: Label,
        ) {
            self.ruling_on(name, input, kind);
            let result =
                ToolResult { call: "c".to_owned(), text: text.to_owned(), outcome: Outcome::Done, label };
            self.0.handle(Request::Turn(TURN, TurnRequest::CallsDone(vec![result])), &at());
        }

        /// Returns true if a page is fetched without asking.
        fn may_fetch(&mut self, url: &str) -> bool {
            matches!(
                self.ruling_on("WebFetch", &format!("{{\"url\":{url:?}}}"), None),
                CallDisposition::Decided(_)
            )
        }
    }

    fn at() -> Zoned {
        "2026-11-15T08:00[Europe/Madrid]".parse().unwrap()
    }

    const EVIL: &str = "https://evil.example/?d=secret";

    /// An address that a model stored on a server does not count as seen when the server returns
    /// it.
    #[test]
    fn address_stored_on_a_server_by_a_model_does_not_count_as_seen() {
        let server = Label::both(Realm::Server);
        let own = Some(ServerToolKind::Own);
        for (kind, text, kept) in [
            (Some(ServerToolKind::Read), EVIL, true),
            (Some(ServerToolKind::Read), EVIL, false),
            (Some(ServerToolKind::Own), EVIL, false),
            (None, EVIL, false),
            (Some(ServerToolKind::Search), EVIL, true),
            (Some(ServerToolKind::Search), "HTTPS://EVIL.example/%3Fd%3Dsecret", true),
            (Some(ServerToolKind::Fetch), "https://evil.example/?d=secret&from=notes", true),
        ] {
            let mut talk = ActiveTalk::new();
            if kept {
                let add = format!(r#"{{"tool":"mcp__notes__add","input":{{"text":"{EVIL}"}}}}"#);
                talk.call_tool("mcp", &add, own, "done", server);
            }
            talk.call_tool(
                "mcp",
                r#"{"tool":"mcp__notes__list","input":{}}"#,
                kind,
                &format!("- {text}"),
                server,
            );
            assert!(!talk.may_fetch(text), "{kind:?} {text}");
        }
        let mut talk = ActiveTalk::new();
        let search = r#"{"tool":"mcp__web__search","input":{"query":"trains"}}"#;
        talk.call_tool("mcp", search, Some(ServerToolKind::Search), "- https://trains.example/today", server);
        assert!(talk.may_fetch("https://trains.example/today"));
        assert!(!talk.may_fetch("https://trains.example/tomorrow"));
    }

    /// Addresses of found pages count as seen; those in the vendor's generated answer do not.
    #[test]
    fn address_in_a_generated_answer_does_not_count_as_seen() {
        let web = Label::outside(Realm::Web);
        let found = "- Trains\n  https://trains.example/\n  Timetables.\n\nAnswer of OpenAI from these pages: see \
                     https://evil.example/?d=secret";
        let mut talk = ActiveTalk::new();
        talk.call_tool("WebSearch", r#"{"query":"trains to lisbon"}"#, None, found, web);
        assert!(talk.may_fetch("https://trains.example/"));
        assert!(!talk.may_fetch(EVIL));
        let mail = Label::both(Realm::Mail);
        talk.call_tool(
            "Bash",
            r#"{"command":"ollim-bot mail unread"}"#,
            None,
            "see https://shop.example/a",
            mail,
        );
        assert!(talk.may_fetch("https://shop.example/a"));
    }
}
