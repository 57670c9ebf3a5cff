//! Tests of webhook deliveries: their records, checks, runs, and restarts.
#![expect(clippy::unwrap_used, reason = "test helpers stop with a reason")]

use std::sync::Arc;

use domain::assistant::{
    Answer, Assistant, Effect, Ended, Event, Left, Look, Memory, Planning, Request, Saying, Shown, Start,
};
use domain::compaction::Room;
use domain::conversation::{Block, Branch, Conversation, Entry, EntryId, Json, Reach, Said, Text, Usage};
use domain::cost::Source;
use domain::delivery::{Delivery, DeliveryChange, Kind, REPEAT, Value, WAITING};
use domain::dice::Dice;
use domain::label::Realm;
use domain::model::Choices;
use domain::occurrence::{End, Occurrence, Stage};
use domain::place::Aside;
use domain::record::{ForkChange, PlanChange, Record, SurfaceName};
use domain::run::Run;
use domain::schedule::{
    Entrance, ItemId, Knowing, Pings, Prompt, Terms, Thinking, ToolRule, Voice, WebhookSpec,
};
use domain::turn::{Ending, TurnId};
use jiff::{SignedDuration, Zoned};

const MORNING: &str = "2026-11-16T10:00:00+01:00[Europe/Madrid]";

/// An assistant, a clock, and all its effects.
struct House {
    assistant: Assistant,
    now: Zoned,
    records: Vec<Record>,
    shown: Vec<Shown>,
    starts: Vec<Start>,
}

impl House {
    fn with(model: &str) -> Self {
        let memory = Memory::of(Conversation::new(Default::default(), EntryId(1)));
        let choices = Choices { usual: model.to_owned(), ..Choices::default() };
        let room = Room { limit: 100_000, percent: 80 };
        let assistant = Assistant::new(memory, Arc::from([]), room, Dice::new(7)).choosing_from(choices);
        let mut house = Self {
            assistant,
            now: MORNING.parse().unwrap(),
            records: Vec::new(),
            shown: Vec::new(),
            starts: Vec::new(),
        };
        let effects = house.assistant.on(Event::Files(Vec::new(), Look::First), &house.now);
        house.follow(effects);
        house
    }

    fn follow(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write(records) => self.records.extend(records),
                Effect::Show(shown) => self.shown.push(shown),
                Effect::StartTurn(start) => self.starts.push(start),
                Effect::Decide(..)
                | Effect::Answer(..)
                | Effect::Carry(_)
                | Effect::Interrupt(_)
                | Effect::Hurry(_)
                | Effect::LoadSkills(..) => {}
            }
        }
    }

    fn deliver(&mut self, delivery: Delivery) -> Answer {
        let request = Request::Plan(Planning::Deliver(Box::new(delivery)));
        let (answer, effects) = self.assistant.asked(request, &self.now);
        self.follow(effects);
        answer
    }

    /// Ends the last turn with the answer `words`.
    fn says(&mut self, words: &str) {
        let said = Said::Assistant(vec![Block::Text(words.to_owned())], Reach::Whole);
        self.ends(vec![said], Ending::Finished);
    }

    fn ends(&mut self, said: Vec<Said>, ending: Ending) {
        self.turn_ends(self.starts.last().unwrap().turn, said, ending);
    }

    fn turn_ends(&mut self, turn: TurnId, said: Vec<Said>, ending: Ending) {
        let ended = Ended { left: Left::Said(said), ending, usage: Usage::default(), spent: Vec::new() };
        let effects = self.assistant.on(Event::TurnEnded(turn, ended), &self.now);
        self.follow(effects);
    }

    fn later(&mut self, time: SignedDuration) {
        self.now = &self.now + time;
        let effects = self.assistant.on(Event::Woke, &self.now);
        self.follow(effects);
    }

    fn runs(&self) -> Vec<&Run> {
        let mut all = Vec::new();
        for record in &self.records {
            if let Record::Fork(ForkChange::Running(run)) = record {
                all.push(run);
            }
        }
        all
    }

    fn occurrences(&self) -> Vec<&Occurrence> {
        let mut all = Vec::new();
        for record in &self.records {
            if let Record::Plan(PlanChange::Occurred(occurrence)) = record {
                all.push(occurrence);
            }
        }
        all
    }

    fn end(&self) -> &End {
        let Stage::Ended(end) = &self.occurrences().last().unwrap().stage else { panic!("it has not ended") };
        end
    }

    fn notices(&self) -> Vec<&str> {
        let mut all = Vec::new();
        for shown in &self.shown {
            if let Shown::Notice(text) = shown {
                all.push(text.as_str());
            }
        }
        all
    }

    fn said_on(&self, branch: &Branch) -> Vec<&Entry> {
        let mut all = Vec::new();
        for record in &self.records {
            if let Record::Said(on, entry) = record
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
        let said = self.said_on(branch).first().map(|entry| entry.said.clone());
        let Some(Said::Human(heard)) = said else { panic!("nothing was said first") };
        heard.preface + &heard.text
    }
}

fn hook(template: &str, deliver: Option<&str>) -> WebhookSpec {
    WebhookSpec {
        id: ItemId::parse("ci").unwrap(),
        fields: "{}".to_owned(),
        entrance: Entrance::default(),
        knowing: Knowing::Main,
        terms: Terms::default(),
        deliver: deliver.map(Prompt::new),
        template: Prompt::new(template),
    }
}

fn brought(hook: WebhookSpec, json: &str, kind: Kind, marks: &[&str]) -> Delivery {
    let value = Value { name: "title".to_owned(), json: Json(json.to_owned()), kind };
    let marks = marks.iter().map(|mark| (*mark).to_owned()).collect();
    Delivery { hook, values: vec![value], marks }
}

fn free(marks: &[&str]) -> Delivery {
    brought(hook("Look at {title}.", None), "\"red build\"", Kind::Free, marks)
}

/// WH-11, WH-12, WH-15, WH-18, F6: A run without tools checks the values first; then the run begins
/// with an outside label, minimal tools, and the template as its unchanged instruction.
#[test]
fn a_call_is_looked_at_by_somebody_without_tools_and_then_run_with_the_least() {
    let mut house = House::with("anthropic:x");
    assert_eq!(house.deliver(free(&["a"])), Answer::Noted);
    let came =
        |record: &Record| matches!(record, Record::Plan(PlanChange::Delivery(DeliveryChange::Came(..))));
    assert!(house.records.iter().any(came), "it is on disk before anybody hears of it");
    let check = house.runs()[0].clone();
    assert_eq!((&check.source, &check.terms.tools), (&Source::Reader, &ToolRule::Only(Vec::new())));
    assert_eq!(check.terms.thinking, Thinking::Off);
    assert_eq!(check.terms.model.as_ref().map(|model| model.as_str()), Some("haiku"));
    assert!(house.prompt().contains("{\"title\":\"red build\"}"));
    assert_eq!(house.runs().len(), 1, "nothing runs before it was looked at");

    house.says("{\"safe\": true, \"flagged\": []}");
    let run = house.runs()[1].clone();
    assert_eq!(run.source, Source::Webhook("ci".to_owned()));
    let tools = run.terms.tools.allowed().unwrap();
    assert!(tools.contains(&"mcp__discord__ping_user".to_owned()), "{tools:?}");
    assert!(
        !tools.iter().any(|tool| ["Bash", "Write", "WebFetch", "Read"].contains(&tool.as_str())),
        "{tools:?}"
    );
    let prompt = house.prompt();
    assert!(prompt.contains("[webhook:ci] "), "{prompt}");
    assert!(prompt.ends_with("in the data above.\nLook at {title}."), "{prompt}");
    let entries = house.said_on(&run.branch);
    assert!(!entries.is_empty());
    for entry in entries {
        assert!(entry.label.outside.has(Realm::Webhook), "{entry:?}");
    }
    house.says("nothing to do.");
    assert_eq!(*house.end(), End::Done(String::new()));
}

/// WH-14: The user's activity is read when the run begins, not when the call was received.
#[test]
fn whether_the_human_talks_is_looked_at_when_the_run_begins() {
    let mut house = House::with("anthropic:x");
    house.deliver(free(&["a"]));
    let check = house.starts.last().unwrap().turn;
    let hello = Request::Say(Saying::words(SurfaceName::Page, "hello"));
    let (_, effects) = house.assistant.asked(hello, &house.now);
    house.follow(effects);
    let safe = Block::Text("{\"safe\": true, \"flagged\": []}".to_owned());
    house.turn_ends(check, vec![Said::Assistant(vec![safe], Reach::Whole)], Ending::Finished);
    assert_eq!(house.runs().last().unwrap().source, Source::Webhook("ci".to_owned()));
    assert!(house.prompt().contains("mid-conversation"), "{}", house.prompt());
}

/// WH-16: Flagged values are not run, with or without a name, and the user is notified.
#[test]
fn what_reads_like_an_order_is_not_run() {
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
        let mut house = House::with("anthropic:x");
        house.deliver(free(&[]));
        house.says(said);
        assert_eq!(house.runs().len(), 1, "only who looked at it ran");
        assert_eq!(house.notices(), [told]);
        assert!(matches!(house.end(), End::Skipped(_)));
    }
}

/// WH-17, F6: An unreadable check is not an approval: it is retried, and then given up with a
/// notice to the user.
#[test]
fn a_check_that_nobody_understands_lets_nothing_through() {
    let mut house = House::with("anthropic:x");
    house.deliver(free(&[]));
    for _ in 0..3 {
        house.says("i think this is fine, go ahead");
        house.later(SignedDuration::from_mins(20));
    }
    assert!(house.runs().iter().all(|run| run.source == Source::Reader), "nothing ran");
    assert_eq!(house.runs().len(), 3);
    assert!(matches!(house.end(), End::Failed(_)));
    assert_eq!(
        house.notices(),
        ["webhook ci could not be finished: nobody could check what was brought, so it was not run"]
    );
}

/// WH-15: Values without free text need no check.
#[test]
fn values_that_can_say_nothing_are_not_looked_at() {
    let mut house = House::with("anthropic:x");
    house.deliver(brought(hook("Look at {title}.", None), "\"passed\"", Kind::Fixed, &[]));
    assert_eq!(house.runs().len(), 1);
    assert_eq!(house.runs()[0].source, Source::Webhook("ci".to_owned()));
}

/// F2: Deliveries with the same mark are accepted once within a week.
#[test]
fn a_delivery_that_comes_twice_is_one_delivery() {
    let mut house = House::with("offline");
    assert_eq!(house.deliver(free(&["a", "b"])), Answer::Noted);
    assert_eq!(house.deliver(free(&["b"])), Answer::Told(REPEAT.to_owned()));
    house.now = &house.now + SignedDuration::from_hours(7 * 24 - 1);
    assert_eq!(house.deliver(free(&["a"])), Answer::Told(REPEAT.to_owned()));
    house.now = &house.now + SignedDuration::from_hours(1);
    assert_eq!(house.deliver(free(&["a"])), Answer::Noted);
}

/// The calls of one webhook are handled one after the other, and the number of waiting ones is
/// limited.
#[test]
fn the_calls_of_one_webhook_come_one_after_the_other() {
    let mut house = House::with("anthropic:x");
    for _ in 0..WAITING {
        assert_eq!(house.deliver(free(&[])), Answer::Noted);
    }
    assert!(matches!(house.deliver(free(&[])), Answer::Refused(_)));
    assert_eq!(house.runs().len(), 1);
    house.says("{\"safe\": true}");
    house.says("done.");
    let readers = house.runs().iter().filter(|run| run.source == Source::Reader).count();
    assert_eq!((readers, house.runs().len()), (2, 3), "the second is looked at now");
}

/// A delivery that needs no model is sent as a ping with an outside label, and charged to the
/// budget.
#[test]
fn words_for_the_human_go_out_without_a_model() {
    let mut house = House::with("anthropic:x");
    house.deliver(brought(hook("", Some("{title} is done")), "\"build 4\"", Kind::Free, &[]));
    assert!(house.starts.is_empty(), "no model is asked");
    let sent = house.shown.iter().find_map(|shown| {
        let Shown::Aside(domain::assistant::Aside::Sent { source, entry }) = shown else { return None };
        Some((source.to_string(), entry))
    });
    let (source, entry) = sent.unwrap();
    assert_eq!((source.as_str(), entry.said.text().as_str()), ("webhook:ci", "build 4 is done"));
    assert!(entry.label.outside.has(Realm::Webhook));
    let charged = |record: &Record| matches!(record, Record::State(domain::record::StateChange::Charged(_)));
    assert_eq!(house.records.iter().filter(|record| charged(record)).count(), 1);
    assert!(matches!(house.end(), End::Done(_)));
}

/// A message that may not ring now is deferred, and one that may not ring at all is only reported.
#[test]
fn words_for_the_human_wait_for_a_good_moment() {
    let mut house = House::with("anthropic:x");
    house.now = "2026-11-16T23:30:00+01:00[Europe/Madrid]".parse().unwrap();
    house.deliver(brought(hook("", Some("{title} is done")), "\"build 4\"", Kind::Free, &[]));
    assert_eq!(*house.end(), End::Done("its words wait for the digest: it was quiet".to_owned()));

    let mut house = House::with("anthropic:x");
    let voice = Voice { pings: Pings::Never, ..Voice::default() };
    let silent = WebhookSpec { terms: Terms { voice, ..Terms::default() }, ..hook("", Some("{title}")) };
    house.deliver(brought(silent, "\"build 4\"", Kind::Free, &[]));
    assert_eq!(*house.end(), End::Done("it may not ping".to_owned()));
    assert!(house.records.iter().any(|record| matches!(record, Record::Report(_))));
}

/// Without a model nothing is run, and the user sees the values.
#[test]
fn without_a_model_the_human_sees_what_was_brought() {
    let mut house = House::with("offline");
    house.deliver(free(&[]));
    assert!(house.starts.is_empty());
    let sent = house.shown.iter().any(|shown| {
        matches!(shown, Shown::Aside(domain::assistant::Aside::Sent { entry, .. })
        if entry.said.text().contains("- title: red build"))
    });
    assert!(sent);
}

/// WH-19: A webhook run is forked from main or isolated, and has no session of its own.
#[test]
fn a_webhook_keeps_no_session() {
    for (knowing, isolated) in [(Knowing::Main, false), (Knowing::Itself, true)] {
        let mut house = House::with("anthropic:x");
        let spec = WebhookSpec { knowing, ..hook("Look.", None) };
        house.deliver(brought(spec, "1", Kind::Fixed, &[]));
        let aside = house.runs()[0].aside;
        assert_eq!(matches!(aside, Aside::Isolated(_)), isolated);
        assert!(!matches!(aside, Aside::Persistent));
    }
}
