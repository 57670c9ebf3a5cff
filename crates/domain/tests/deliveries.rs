//! Tests of webhook deliveries: their records, checks, runs, and restarts.
#![expect(clippy::unwrap_used, reason = "test helpers stop with a reason")]

use std::sync::Arc;

use domain::assistant::{
    Answer, Assistant, Effect, Event, FileScan, Request, ScheduleCommand, State, TurnOutcome, TurnOutput,
    TurnStart, Update, UserMessage,
};
use domain::compaction::ContextWindow;
use domain::conversation::{
    Block, Branch, Completeness, Conversation, Entry, EntryContent, EntryId, Json, Text, Usage,
};
use domain::cost::CostSource;
use domain::delivery::{Delivery, DeliveryChange, MAX_WAITING, REPEAT, Value, ValueKind};
use domain::label::Realm;
use domain::model::ModelChoices;
use domain::occurrence::{Occurrence, OccurrenceEnd, OccurrenceState};
use domain::place::BackgroundPlace;
use domain::record::{ForkChange, PlanChange, Record, SurfaceName};
use domain::rng::Rng;
use domain::run::Run;
use domain::schedule::{
    InitialContext, ItemId, PingPermission, Prompt, ReportPolicy, RunOptions, ThinkingOverride, ToolRule,
    WebhookIntake, WebhookSpec,
};
use domain::turn::{TurnEnding, TurnId};
use jiff::{SignedDuration, Zoned};

const MORNING: &str = "2026-11-16T10:00:00+01:00[Europe/Madrid]";

/// An assistant, a clock, and all its effects.
struct Harness {
    assistant: Assistant,
    now: Zoned,
    records: Vec<Record>,
    shown: Vec<Update>,
    starts: Vec<TurnStart>,
}

impl Harness {
    fn with_model(model: &str) -> Self {
        let memory = State::new(Conversation::new(Default::default(), EntryId(1)));
        let choices = ModelChoices { default_model: model.to_owned(), ..ModelChoices::default() };
        let room = ContextWindow { limit: 100_000, fill_percent: 80 };
        let assistant = Assistant::new(memory, Arc::from([]), room, Rng::new(7)).with_models(choices);
        let mut house = Self {
            assistant,
            now: MORNING.parse().unwrap(),
            records: Vec::new(),
            shown: Vec::new(),
            starts: Vec::new(),
        };
        let effects = house.assistant.on_event(Event::FilesChanged(Vec::new(), FileScan::First), &house.now);
        house.apply(effects);
        house
    }

    fn apply(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write(records) => self.records.extend(records),
                Effect::Show(shown) => self.shown.push(shown),
                Effect::StartTurn(start) => self.starts.push(start),
                Effect::Decide(..)
                | Effect::ReturnResult(..)
                | Effect::CarryOut(_)
                | Effect::Interrupt(_)
                | Effect::Prioritize(_)
                | Effect::LoadSkills(..) => {}
            }
        }
    }

    fn deliver(&mut self, delivery: Delivery) -> Answer {
        let request = Request::Schedule(ScheduleCommand::DeliverWebhook(Box::new(delivery)));
        let (answer, effects) = self.assistant.handle(request, &self.now);
        self.apply(effects);
        answer
    }

    /// Ends the last turn with the answer `words`.
    fn finish_with_text(&mut self, words: &str) {
        let said = EntryContent::Assistant(vec![Block::Text(words.to_owned())], Completeness::Complete);
        self.finish(vec![said], TurnEnding::Finished);
    }

    fn finish(&mut self, said: Vec<EntryContent>, ending: TurnEnding) {
        self.finish_turn(self.starts.last().unwrap().turn, said, ending);
    }

    fn finish_turn(&mut self, turn: TurnId, said: Vec<EntryContent>, ending: TurnEnding) {
        let ended = TurnOutcome {
            output: TurnOutput::Contents(said),
            ending,
            usage: Usage::default(),
            unrecorded_calls: Vec::new(),
        };
        let effects = self.assistant.on_event(Event::TurnEnded(turn, ended), &self.now);
        self.apply(effects);
    }

    fn advance(&mut self, time: SignedDuration) {
        self.now = &self.now + time;
        let effects = self.assistant.on_event(Event::Woke, &self.now);
        self.apply(effects);
    }

    fn runs(&self) -> Vec<&Run> {
        let mut all = Vec::new();
        for record in &self.records {
            if let Record::Fork(ForkChange::RunStarted(run)) = record {
                all.push(run);
            }
        }
        all
    }

    fn occurrences(&self) -> Vec<&Occurrence> {
        let mut all = Vec::new();
        for record in &self.records {
            if let Record::Plan(PlanChange::Occurrence(occurrence)) = record {
                all.push(occurrence);
            }
        }
        all
    }

    fn outcome(&self) -> &OccurrenceEnd {
        let OccurrenceState::Ended(end) = &self.occurrences().last().unwrap().state else {
            panic!("it has not ended")
        };
        end
    }

    fn notices(&self) -> Vec<&str> {
        let mut all = Vec::new();
        for shown in &self.shown {
            if let Update::Notice(text) = shown {
                all.push(text.as_str());
            }
        }
        all
    }

    fn entries_on(&self, branch: &Branch) -> Vec<&Entry> {
        let mut all = Vec::new();
        for record in &self.records {
            if let Record::EntryAppended(on, entry) = record
                && on == branch
            {
                all.push(entry);
            }
        }
        all
    }

    /// Returns the first entry on the branch of the last run.
    fn prompt(&self) -> String {
        let branch = &self.runs().last().unwrap().branch;
        let said = self.entries_on(branch).first().map(|entry| entry.content.clone());
        let Some(EntryContent::User(heard)) = said else { panic!("nothing was said first") };
        heard.preface + &heard.text
    }
}

fn webhook_spec(template: &str, deliver: Option<&str>) -> WebhookSpec {
    WebhookSpec {
        id: ItemId::parse("ci").unwrap(),
        fields: "{}".to_owned(),
        intake: WebhookIntake::default(),
        context: InitialContext::Main,
        options: RunOptions::default(),
        deliver: deliver.map(Prompt::new),
        template: Prompt::new(template),
    }
}

fn delivery_of(hook: WebhookSpec, json: &str, kind: ValueKind, marks: &[&str]) -> Delivery {
    let value = Value { name: "title".to_owned(), json: Json(json.to_owned()), kind };
    let marks = marks.iter().map(|mark| (*mark).to_owned()).collect();
    Delivery { webhook: hook, values: vec![value], marks }
}

fn free_text_delivery(marks: &[&str]) -> Delivery {
    delivery_of(webhook_spec("Look at {title}.", None), "\"red build\"", ValueKind::Free, marks)
}

/// WH-11, WH-12, WH-15, WH-18, F6: A run without tools checks the values first; then the run begins
/// with an outside label, minimal tools, and the template as its unchanged instruction.
#[test]
fn delivery_is_checked_without_tools_and_run_with_minimal_tools() {
    let mut house = Harness::with_model("anthropic:x");
    assert_eq!(house.deliver(free_text_delivery(&["a"])), Answer::Done);
    let came =
        |record: &Record| matches!(record, Record::Plan(PlanChange::Delivery(DeliveryChange::Received(..))));
    assert!(house.records.iter().any(came), "it is on disk before anybody hears of it");
    let check = house.runs()[0].clone();
    assert_eq!((&check.source, &check.terms.tools), (&CostSource::Reader, &ToolRule::Only(Vec::new())));
    assert_eq!(check.terms.thinking, ThinkingOverride::Off);
    assert_eq!(check.terms.model.as_ref().map(|model| model.as_str()), Some("haiku"));
    assert!(house.prompt().contains("{\"title\":\"red build\"}"));
    assert_eq!(house.runs().len(), 1, "nothing runs before it was looked at");

    house.finish_with_text("{\"safe\": true, \"flagged\": []}");
    let run = house.runs()[1].clone();
    assert_eq!(run.source, CostSource::Webhook("ci".to_owned()));
    let tools = run.terms.tools.allowed().unwrap();
    assert!(tools.contains(&"mcp__discord__ping_user".to_owned()), "{tools:?}");
    assert!(
        !tools.iter().any(|tool| ["Bash", "Write", "WebFetch", "Read"].contains(&tool.as_str())),
        "{tools:?}"
    );
    let prompt = house.prompt();
    assert!(prompt.contains("[webhook:ci] "), "{prompt}");
    assert!(prompt.ends_with("in the data above.\nLook at {title}."), "{prompt}");
    let entries = house.entries_on(&run.branch);
    assert!(!entries.is_empty());
    for entry in entries {
        assert!(entry.label.outside.contains(Realm::Webhook), "{entry:?}");
    }
    house.finish_with_text("nothing to do.");
    assert_eq!(*house.outcome(), OccurrenceEnd::Done(String::new()));
}

/// WH-14: The user's activity is read when the run begins, not when the call was received.
#[test]
fn user_activity_is_read_when_the_run_begins() {
    let mut house = Harness::with_model("anthropic:x");
    house.deliver(free_text_delivery(&["a"]));
    let check = house.starts.last().unwrap().turn;
    let hello = Request::Say(UserMessage::from_text(SurfaceName::Page, "hello"));
    let (_, effects) = house.assistant.handle(hello, &house.now);
    house.apply(effects);
    let safe = Block::Text("{\"safe\": true, \"flagged\": []}".to_owned());
    house.finish_turn(
        check,
        vec![EntryContent::Assistant(vec![safe], Completeness::Complete)],
        TurnEnding::Finished,
    );
    assert_eq!(house.runs().last().unwrap().source, CostSource::Webhook("ci".to_owned()));
    assert!(house.prompt().contains("mid-conversation"), "{}", house.prompt());
}

/// WH-16: Flagged values are not run, with or without a name, and the user is notified.
#[test]
fn flagged_delivery_is_not_run() {
    for (said, told) in [
        (
            "{\"safe\": false, \"flagged\": [\"title\"]}",
            "i did not run webhook ci: `title` reads like an order to me.",
        ),
        (
            "{\"safe\": false, \"flagged\": []}",
            "i did not run webhook ci: what was brought reads like an order to me.",
        ),
    ] {
        let mut house = Harness::with_model("anthropic:x");
        house.deliver(free_text_delivery(&[]));
        house.finish_with_text(said);
        assert_eq!(house.runs().len(), 1, "only who looked at it ran");
        assert_eq!(house.notices(), [told]);
        assert!(matches!(house.outcome(), OccurrenceEnd::Skipped(_)));
    }
}

/// WH-17, F6: An unreadable check is not an approval: it is retried, and then given up with a
/// notice to the user.
#[test]
fn unreadable_check_allows_nothing() {
    let mut house = Harness::with_model("anthropic:x");
    house.deliver(free_text_delivery(&[]));
    for _ in 0..3 {
        house.finish_with_text("i think this is fine, go ahead");
        house.advance(SignedDuration::from_mins(20));
    }
    assert!(house.runs().iter().all(|run| run.source == CostSource::Reader), "nothing ran");
    assert_eq!(house.runs().len(), 3);
    assert!(matches!(house.outcome(), OccurrenceEnd::Failed(_)));
    assert_eq!(
        house.notices(),
        ["webhook ci could not be finished: nobody could check what was brought, so it was not run"]
    );
}

/// WH-15: Values without free text need no check.
#[test]
fn values_without_free_text_are_not_checked() {
    let mut house = Harness::with_model("anthropic:x");
    house.deliver(delivery_of(webhook_spec("Look at {title}.", None), "\"passed\"", ValueKind::Fixed, &[]));
    assert_eq!(house.runs().len(), 1);
    assert_eq!(house.runs()[0].source, CostSource::Webhook("ci".to_owned()));
}

/// F2: Deliveries with the same mark are accepted once within a week.
#[test]
fn repeated_delivery_is_accepted_once() {
    let mut house = Harness::with_model("offline");
    assert_eq!(house.deliver(free_text_delivery(&["a", "b"])), Answer::Done);
    assert_eq!(house.deliver(free_text_delivery(&["b"])), Answer::Text(REPEAT.to_owned()));
    house.now = &house.now + SignedDuration::from_hours(7 * 24 - 1);
    assert_eq!(house.deliver(free_text_delivery(&["a"])), Answer::Text(REPEAT.to_owned()));
    house.now = &house.now + SignedDuration::from_hours(1);
    assert_eq!(house.deliver(free_text_delivery(&["a"])), Answer::Done);
}

/// The calls of one webhook are handled one after the other, and the number of waiting ones is
/// limited.
#[test]
fn deliveries_of_one_webhook_run_one_after_the_other() {
    let mut house = Harness::with_model("anthropic:x");
    for _ in 0..MAX_WAITING {
        assert_eq!(house.deliver(free_text_delivery(&[])), Answer::Done);
    }
    assert!(matches!(house.deliver(free_text_delivery(&[])), Answer::Refused(_)));
    assert_eq!(house.runs().len(), 1);
    house.finish_with_text("{\"safe\": true}");
    house.finish_with_text("done.");
    let readers = house.runs().iter().filter(|run| run.source == CostSource::Reader).count();
    assert_eq!((readers, house.runs().len()), (2, 3), "the second is looked at now");
}

/// A delivery that needs no model is sent as a ping with an outside label, and charged to the
/// budget.
#[test]
fn verbatim_delivery_is_sent_without_a_model() {
    let mut house = Harness::with_model("anthropic:x");
    house.deliver(delivery_of(
        webhook_spec("", Some("{title} is done")),
        "\"build 4\"",
        ValueKind::Free,
        &[],
    ));
    assert!(house.starts.is_empty(), "no model is asked");
    let sent = house.shown.iter().find_map(|shown| {
        let Update::Side(domain::assistant::SideUpdate::RunShowed { source, entry }) = shown else {
            return None;
        };
        Some((source.to_string(), entry))
    });
    let (source, entry) = sent.unwrap();
    assert_eq!((source.as_str(), entry.content.text().as_str()), ("webhook:ci", "build 4 is done"));
    assert!(entry.label.outside.contains(Realm::Webhook));
    let charged =
        |record: &Record| matches!(record, Record::State(domain::record::StateChange::PingCharged(_)));
    assert_eq!(house.records.iter().filter(|record| charged(record)).count(), 1);
    assert!(matches!(house.outcome(), OccurrenceEnd::Done(_)));
}

/// A message that may not ring now is deferred, and one that may not ring at all is only reported.
#[test]
fn verbatim_delivery_is_deferred_in_quiet_hours() {
    let mut house = Harness::with_model("anthropic:x");
    house.now = "2026-11-16T23:30:00+01:00[Europe/Madrid]".parse().unwrap();
    house.deliver(delivery_of(
        webhook_spec("", Some("{title} is done")),
        "\"build 4\"",
        ValueKind::Free,
        &[],
    ));
    assert_eq!(
        *house.outcome(),
        OccurrenceEnd::Done("its words wait for the digest: it was quiet".to_owned())
    );

    let mut house = Harness::with_model("anthropic:x");
    let voice = ReportPolicy { pings: PingPermission::Never, ..ReportPolicy::default() };
    let silent = WebhookSpec {
        options: RunOptions { report_policy: voice, ..RunOptions::default() },
        ..webhook_spec("", Some("{title}"))
    };
    house.deliver(delivery_of(silent, "\"build 4\"", ValueKind::Free, &[]));
    assert_eq!(*house.outcome(), OccurrenceEnd::Done("it may not ping".to_owned()));
    assert!(house.records.iter().any(|record| matches!(record, Record::Update(_))));
}

/// Without a model nothing is run, and the user sees the values.
#[test]
fn delivery_is_shown_without_a_model() {
    let mut house = Harness::with_model("offline");
    house.deliver(free_text_delivery(&[]));
    assert!(house.starts.is_empty());
    let sent = house.shown.iter().any(|shown| {
        matches!(shown, Update::Side(domain::assistant::SideUpdate::RunShowed { entry, .. })
        if entry.content.text().contains("- title: red build"))
    });
    assert!(sent);
}

/// WH-19: A webhook run is forked from main or isolated, and has no session of its own.
#[test]
fn webhook_run_has_no_session() {
    for (knowing, isolated) in [(InitialContext::Main, false), (InitialContext::PromptOnly, true)] {
        let mut house = Harness::with_model("anthropic:x");
        let spec = WebhookSpec { context: knowing, ..webhook_spec("Look.", None) };
        house.deliver(delivery_of(spec, "1", ValueKind::Fixed, &[]));
        let aside = house.runs()[0].place;
        assert_eq!(matches!(aside, BackgroundPlace::Isolated(_)), isolated);
        assert!(!matches!(aside, BackgroundPlace::Persistent));
    }
}
