//! Requests of active turns: permission for calls, and their results.

use std::sync::Arc;

use jiff::Zoned;

use super::addresses::shows_addresses;
use super::approving::Caller;
use super::running::Running;
use super::{Answer, Assistant, Effect, Minutes};
use crate::context::{data_block, sources};
use crate::conversation::{Block, Branch, Reach, Said, calls};
use crate::cost::Call;
use crate::label::Label;
use crate::permission::{Authority, Clock, Ruling};
use crate::schedule::{Planned, What};
use crate::tool::{Class, Outcome, ServerKinds, ToolCall, ToolResult};
use crate::turn::TurnId;

impl Assistant {
    pub(super) fn may_run(
        &mut self,
        turn: TurnId,
        blocks: Vec<Block>,
        spent: Vec<Call>,
        kinds: ServerKinds,
        most: usize,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let (Some((branch, running)), Some(authority)) = (self.run_of(turn), self.authority(turn)) else {
            return gone();
        };
        let called: Vec<ToolCall> = calls(&blocks).cloned().collect();
        let mut minutes = Minutes::at(now);
        self.spend(&branch, &running, spent, &mut minutes);
        self.wants.tried.worked.insert(turn);
        self.say_on(&branch, Said::Assistant(blocks, Reach::Whole), &mut minutes);
        if let Some(running) = self.running.get_mut(&branch) {
            running.unanswered = called.clone();
            running.kinds.clone_from(&kinds);
        }
        for call in &called {
            self.note_composed(call);
        }
        let clock = self.clock(now);
        let caller = Caller { turn, branch, authority: Authority { kinds, clock: Some(clock), ..authority } };
        let mut rulings = Vec::with_capacity(called.len());
        for (index, call) in called.into_iter().enumerate() {
            rulings.push(if index < most {
                self.rule_and_delegate(call, &caller, &mut minutes)
            } else {
                Ruling::Answered(over_the_limit(call))
            });
        }
        (Answer::Decided(rulings), minutes.effects())
    }

    pub(super) fn ran(
        &mut self,
        turn: TurnId,
        results: Vec<ToolResult>,
        now: &Zoned,
    ) -> (Answer, Vec<Effect>) {
        let Some((branch, running)) = self.run_of(turn) else { return gone() };
        let mut minutes = Minutes::at(now);
        self.note_links(&running, &results);
        let knows = self.label_of(&branch);
        let from = self.read_from(&branch, knows);
        for call in &running.unanswered {
            self.note_writing(call, knows, &from, &minutes);
        }
        self.mark_written(&branch, &running, &results, &mut minutes);
        self.note_sources(&branch, &running, &results);
        let results = self.with_origins(&running, results);
        let results = self.as_data(results);
        self.say_on(&branch, Said::Tools(results.clone()), &mut minutes);
        if let Some(running) = self.running.get_mut(&branch) {
            running.unanswered.clear();
        }
        // IF-8: a turn that requested a fork ends here.
        let aside = (branch == Branch::Main && self.is_called_aside()).then_some(Effect::Interrupt(turn));
        (Answer::Results(results), minutes.effects().into_iter().chain(aside).collect())
    }

    /// Returns what words for the planner are read by.
    fn clock(&self, now: &Zoned) -> Clock {
        let plans = self.memory.plans.agenda.plans().map(|(_, plan)| &plan.planned);
        let routines: Vec<Arc<Planned>> =
            plans.filter(|planned| matches!(planned.what, What::Routine(_))).cloned().collect();
        let undone = self.memory.plans.last().map(|last| {
            let since = routines.iter().filter(|routine| last.since.contains(&routine.source()));
            let before = last.before.iter().filter(|what| matches!(what, What::Routine(_)));
            let before = before.map(|what| Arc::new(Planned { what: what.clone(), file: String::new() }));
            since.cloned().chain(before).collect()
        });
        let habits = self.memory.chosen.settings.habits();
        Clock { now: now.clone(), habits, routines, undone: undone.unwrap_or_default() }
    }

    /// Remembers possible addresses in a call as composed by the model. The address of a fetch is
    /// excluded, because it is decided on by itself.
    fn note_composed(&mut self, call: &ToolCall) {
        if self.class_of(call) != Some(Class::Fetches) {
            self.memory.messages.remember_composed(&call.input);
        }
    }

    /// Remembers addresses in results with outside text.
    fn note_links(&mut self, running: &Running, results: &[ToolResult]) {
        for result in results {
            let Some(call) = running.unanswered.iter().find(|call| call.id == result.call) else { continue };
            let kind = call.input.text("tool").and_then(|tool| running.kinds.get(&tool).copied());
            let shown = self.class_of(call).and_then(|class| shows_addresses(class, kind, result));
            if let Some(text) = shown {
                self.memory.messages.remember_seen(text, &call.input);
            }
        }
    }

    pub(super) fn class_of(&self, call: &ToolCall) -> Option<Class> {
        self.tools.iter().find(|tool| tool.name == call.name).map(|spec| spec.class)
    }

    /// Wraps results with outside text in data blocks, as the model reads them.
    fn as_data(&mut self, results: Vec<ToolResult>) -> Vec<ToolResult> {
        let mut read = Vec::with_capacity(results.len());
        for result in results {
            if result.label.is_tainted() && !result.text.trim().is_empty() {
                let text = data_block(&self.dice.id8(), &sources(result.label), &result.text);
                read.push(ToolResult { text, ..result });
            } else {
                read.push(result);
            }
        }
        read
    }
}

/// Returns the result for a call beyond the turn's limit.
fn over_the_limit(call: ToolCall) -> ToolResult {
    let text = "Error: not run. This answer has reached its limit of tool calls. Answer with the results that you have, \
                and tell the human what is left to do.";
    ToolResult { call: call.id, text: text.to_owned(), outcome: Outcome::Failed, label: Label::PLAIN }
}

pub(super) fn gone() -> (Answer, Vec<Effect>) {
    (Answer::Refused("this turn has already ended; stop.".to_owned()), Vec::new())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::collections::BTreeMap;

    use super::super::{Memory, Progress, Request, Saying};
    use super::*;
    use crate::compaction::Room;
    use crate::conversation::{Conversation, EntryId, Json};
    use crate::dice::Dice;
    use crate::label::Realm;
    use crate::permission::Mode;
    use crate::record::SurfaceName;
    use crate::tool::{ServerKind, ToolSpec};

    const TURN: TurnId = TurnId(1);

    /// An assistant with an active turn of the user.
    struct Talk(Assistant);

    impl Talk {
        fn new() -> Self {
            let mut memory = Memory::of(Conversation::new(BTreeMap::new(), EntryId(1)));
            memory.chosen.modes.main = Mode::Ask;
            let tool = |(name, class)| ToolSpec { name, description: Cow::Borrowed(""), schema: "{}", class };
            let tools = [
                ("mcp", Class::Foreign),
                ("WebFetch", Class::Fetches),
                ("WebSearch", Class::Searches),
                ("Bash", Class::Shell),
            ];
            let mut assistant = Assistant::new(memory, Arc::from(tools.map(tool)), Room::HOUSE, Dice::new(7));
            assistant.asked(Request::Say(Saying::words(SurfaceName::Page, "go")), &at());
            Self(assistant)
        }

        fn rules_on(&mut self, name: &str, input: &str, kind: Option<ServerKind>) -> Ruling {
            let id = "c".to_owned();
            let input = Json(input.to_owned());
            let call = ToolCall { id, name: name.to_owned(), input };
            let tool = call.input.text("tool").unwrap_or_default();
            let kinds = kind.map(|kind| (tool, kind)).into_iter().collect();
            let blocks = vec![Block::Call(call)];
            let may_run = Progress::MayRun { blocks, spent: Vec::new(), kinds, most: 1 };
            let Answer::Decided(mut rulings) = self.0.asked(Request::Turn(TURN, may_run), &at()).0 else {
                panic!("the step was not decided upon");
            };
            rulings.remove(0)
        }

        /// Makes a call with the result `text`.
        fn calls(&mut self, name: &str, input: &str, kind: Option<ServerKind>, text: &str, label: Label) {
            self.rules_on(name, input, kind);
            let result =
                ToolResult { call: "c".to_owned(), text: text.to_owned(), outcome: Outcome::Done, label };
            self.0.asked(Request::Turn(TURN, Progress::Ran(vec![result])), &at());
        }

        /// Returns true if a page is fetched without asking.
        fn fetches(&mut self, url: &str) -> bool {
            matches!(self.rules_on("WebFetch", &format!("{{\"url\":{url:?}}}"), None), Ruling::Decided(_))
        }
    }

    fn at() -> Zoned {
        "2026-11-15T08:00[Europe/Madrid]".parse().unwrap()
    }

    const EVIL: &str = "https://evil.example/?d=secret";

    /// An address that a model stored on a server does not count as seen when the server returns
    /// it.
    #[test]
    fn an_address_that_a_server_kept_for_a_model_was_not_seen() {
        let server = Label::both(Realm::Server);
        let own = Some(ServerKind::Own);
        for (kind, text, kept) in [
            (Some(ServerKind::Read), EVIL, true),
            (Some(ServerKind::Read), EVIL, false),
            (Some(ServerKind::Own), EVIL, false),
            (None, EVIL, false),
            (Some(ServerKind::Search), EVIL, true),
            (Some(ServerKind::Search), "HTTPS://EVIL.example/%3Fd%3Dsecret", true),
            (Some(ServerKind::Fetch), "https://evil.example/?d=secret&from=notes", true),
        ] {
            let mut talk = Talk::new();
            if kept {
                let add = format!(r#"{{"tool":"mcp__notes__add","input":{{"text":"{EVIL}"}}}}"#);
                talk.calls("mcp", &add, own, "done", server);
            }
            talk.calls(
                "mcp",
                r#"{"tool":"mcp__notes__list","input":{}}"#,
                kind,
                &format!("- {text}"),
                server,
            );
            assert!(!talk.fetches(text), "{kind:?} {text}");
        }
        let mut talk = Talk::new();
        let search = r#"{"tool":"mcp__web__search","input":{"query":"trains"}}"#;
        talk.calls("mcp", search, Some(ServerKind::Search), "- https://trains.example/today", server);
        assert!(talk.fetches("https://trains.example/today"));
        assert!(!talk.fetches("https://trains.example/tomorrow"));
    }

    /// Addresses of found pages count as seen; those in the vendor's generated answer do not.
    #[test]
    fn an_address_in_the_answer_of_a_model_was_not_seen() {
        let web = Label::outside(Realm::Web);
        let found = "- Trains\n  https://trains.example/\n  Timetables.\n\nAnswer of OpenAI from these pages: see \
                     https://evil.example/?d=secret";
        let mut talk = Talk::new();
        talk.calls("WebSearch", r#"{"query":"trains to lisbon"}"#, None, found, web);
        assert!(talk.fetches("https://trains.example/"));
        assert!(!talk.fetches(EVIL));
        let mail = Label::both(Realm::Mail);
        talk.calls(
            "Bash",
            r#"{"command":"ollim-bot mail unread"}"#,
            None,
            "see https://shop.example/a",
            mail,
        );
        assert!(talk.fetches("https://shop.example/a"));
    }
}
