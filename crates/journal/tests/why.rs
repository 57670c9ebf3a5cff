//! Explanations of why a job did or did not reach the user correspond to what was recorded.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]

use std::sync::Arc;

use domain::conversation::{Block, Branch, Entry, EntryId, Heard, Json, Reach, Said, Usage};
use domain::cost::{Account, Attended, Call, Micros, Source, Spent};
use domain::dice::Dice;
use domain::explanation::{Explained, Subject, Work};
use domain::occurrence::{End, Key, Occurrence, Stage};
use domain::permission::{Allowed, Decision};
use domain::record::{
    Address, Charge, Closed, Message, MessageChange, MessageId, Opened as Begun, PlanChange, Record,
    SentChange, Showed, StateChange, SurfaceName, TurnChange,
};
use domain::schedule::Lateness;
use domain::tool::{Outcome, Showing, ToolCall, ToolResult};
use domain::turn::{Ending, TurnId};
use engine::ports::Journal as _;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use journal::disk::RealDisk;
use journal::{Paths, Place, open, peek};

/// Number of generated occurrences.
const TIMES: u64 = 1_000;

/// A ping: its entry, its text, and the budget before and after its charge.
type Pinged = (u64, String, Option<(f64, f64)>);

/// The expected explanation of one occurrence.
#[derive(Debug, PartialEq)]
struct Truth {
    source: String,
    due: Timestamp,
    late: i64,
    tries: u32,
    end: Option<(&'static str, String)>,
    pings: Vec<Pinged>,
    refused: Vec<(String, String)>,
    tokens: u64,
    cost: Micros,
    silence: Option<String>,
}

/// Generates the records of random occurrences and the expected explanations.
struct Scribe {
    dice: Dice,
    records: Vec<Record>,
    number: u64,
    entry: u64,
}

impl Scribe {
    fn pick(&mut self, below: u64) -> u64 {
        (self.dice.roll() >> 33) % below
    }

    fn write(&mut self) -> Truth {
        self.number += 1;
        let id = format!("job{}", self.pick(30));
        let source = if self.pick(3) == 0 { Source::Reminder(id) } else { Source::Routine(id) };
        let due = Timestamp::constant(1_794_700_000, 0)
            + SignedDuration::from_mins(i64::try_from(self.number).unwrap() * 7);
        let late = [0, 0, 0, 90, 3_600][usize::try_from(self.pick(5)).unwrap()];
        let began = due + SignedDuration::from_secs(late);
        let mut truth = Truth {
            source: source.to_string(),
            due,
            late,
            tries: 0,
            end: None,
            pings: Vec::new(),
            refused: Vec::new(),
            tokens: 0,
            cost: Micros(0),
            silence: None,
        };
        let lateness = if late > 1 { Lateness::Late } else { Lateness::OnTime };
        let words = "words".to_owned();
        let key = Key { source, due };
        let name = format!("Job {}", self.number);
        let occurrence = Occurrence {
            key,
            name,
            words,
            lateness,
            tries: 0,
            stage: Stage::Queued,
            since: began,
            shown: false,
        };
        let why = format!("because {}", self.number);
        match self.pick(7) {
            0 => {
                let last = due + SignedDuration::from_mins(2);
                let count = 3;
                self.was_not_begun(occurrence, End::Missed { last, count, why }, &mut truth);
            }
            1 if self.pick(2) == 0 => self.was_not_begun(occurrence, End::Skipped(why), &mut truth),
            1 => self.was_not_begun(occurrence, End::Cancelled(why), &mut truth),
            2 => {
                self.records.push(Record::Plan(PlanChange::Occurred(occurrence)));
                truth.silence = Some("it waits for the one before it".to_owned());
            }
            3 => self.was_begun(occurrence, End::Failed(why), &mut truth),
            _ => self.was_begun(occurrence, End::Done(String::new()), &mut truth),
        }
        truth
    }

    fn was_not_begun(&mut self, occurrence: Occurrence, end: End, truth: &mut Truth) {
        truth.end = Some((end.as_str(), end.why().to_owned()));
        truth.silence = Some(end.why().to_owned());
        let ended = Occurrence { stage: Stage::Ended(end), ..occurrence };
        self.records.push(Record::Plan(PlanChange::Occurred(ended)));
    }

    fn was_begun(&mut self, occurrence: Occurrence, end: End, truth: &mut Truth) {
        truth.tries = 1 + u32::try_from(self.pick(3)).unwrap();
        let branch = Branch::fork(&format!("run{}", self.number)).unwrap();
        let begun = Occurrence { tries: truth.tries, stage: Stage::Running(branch.clone()), ..occurrence };
        let after = begun.since + SignedDuration::from_secs(5);
        self.records.push(Record::Plan(PlanChange::Occurred(begun.clone())));
        self.turn(&branch, &begun.key.source, after, truth);
        truth.end = Some((end.as_str(), end.why().to_owned()));
        if truth.pings.is_empty() {
            truth.silence = Some(match (&end, truth.refused.last()) {
                (End::Failed(why), _) => why.clone(),
                (_, Some((tool, _))) => format!("`{tool}` was refused"),
                (_, None) => "it asked for no ping".to_owned(),
            });
        }
        let ended = Occurrence { stage: Stage::Ended(end), since: after, ..begun };
        self.records.push(Record::Plan(PlanChange::Occurred(ended)));
    }

    fn say(&mut self, branch: &Branch, parent: Option<EntryId>, said: Said) -> EntryId {
        self.entry += 1;
        let id = EntryId(self.entry);
        let at = Timestamp::UNIX_EPOCH;
        self.records.push(Record::Said(
            branch.clone(),
            Entry {
                id,
                parent,
                at,
                said,
                own: domain::label::Label::PLAIN,
                label: domain::label::Label::PLAIN,
            },
        ));
        id
    }

    /// A turn with up to three calls: each is shown and charged, refused, or done.
    fn turn(&mut self, branch: &Branch, source: &Source, at: Timestamp, truth: &mut Truth) {
        let turn = TurnId(self.number);
        let answers = MessageId(self.number);
        let to = Address::Branch(branch.clone());
        let text = "words".to_owned();
        let message = Message {
            id: answers,
            at,
            surface: SurfaceName::House,
            to,
            text,
            images: Vec::new(),
            mark: None,
            label: domain::label::Label::PLAIN,
        };
        let heard =
            Said::Human(Heard { preface: "words".to_owned(), text: String::new(), images: Vec::new() });
        self.records.push(Record::Message(MessageChange::Received(message)));
        let mut last = self.say(branch, None, heard);
        self.records.push(Record::Message(MessageChange::Taken(answers, last)));
        self.records.push(Record::Turn(TurnChange::Opened(Begun {
            turn,
            branch: branch.clone(),
            answers,
            at,
        })));
        for number in 0..self.pick(4) {
            last = self.call((turn, branch, source), (last, number), at, truth);
        }
        let usage = Usage { input: self.pick(500), output: self.pick(50), ..Usage::default() };
        let account = Account { source: source.clone(), attended: Attended::Unattended };
        let cost = Micros(self.pick(900));
        (truth.tokens, truth.cost) = (usage.input, cost);
        let call = Call { model: "puppet".to_owned(), usage };
        self.records.push(Record::Spent(Spent {
            at,
            branch: branch.clone(),
            turn,
            account,
            call,
            cost: Some(cost),
        }));
        self.records.push(Record::Turn(TurnChange::Closed(Closed {
            turn,
            ending: Ending::Finished,
            usage,
            at,
        })));
    }

    fn call(
        &mut self,
        (turn, branch, source): (TurnId, &Branch, &Source),
        (parent, number): (EntryId, u64),
        at: Timestamp,
        truth: &mut Truth,
    ) -> EntryId {
        let tool = ["ping_user", "discord_embed", "report_updates"][usize::try_from(self.pick(3)).unwrap()];
        let id = format!("call-{}-{number}", turn.0);
        let input = Json("{}".to_owned());
        let call = ToolCall { id: id.clone(), name: tool.to_owned(), input };
        let blocks = Said::Assistant(vec![Block::Call(call.clone())], Reach::Whole);
        let asked = self.say(branch, Some(parent), blocks);
        let decision = Decision::allowed(&call, Allowed::OwnTool);
        self.records.push(Record::Turn(TurnChange::Decided(turn, decision, at)));
        let words = format!("words of {id}");
        let (outcome, text) = match self.pick(3) {
            0 => (Outcome::Shown(Showing::Words(words.clone())), "Message sent.".to_owned()),
            1 => (Outcome::Failed, format!("Error: no, {id}")),
            _ => (Outcome::Done, "done".to_owned()),
        };
        let result = ToolResult {
            call: id.clone(),
            text,
            outcome: outcome.clone(),
            label: domain::label::Label::PLAIN,
        };
        let entry = self.say(branch, Some(asked), Said::Tools(vec![result]));
        match outcome {
            Outcome::Shown(_) => {
                let showed = Showed { branch: branch.clone(), source: source.clone(), entry };
                self.records.push(Record::from(SentChange::Showed(showed)));
                let charge =
                    (self.pick(4) > 0).then(|| (5.0, f64::from(u32::try_from(self.pick(6)).unwrap())));
                if let Some((before, after)) = charge {
                    self.records.push(Record::State(StateChange::Charged(Charge { entry, before, after })));
                }
                truth.pings.push((entry.0, words, charge));
            }
            Outcome::Failed => truth.refused.push((tool.to_owned(), format!("no, {id}"))),
            Outcome::Done | Outcome::Denied => {}
        }
        entry
    }
}

/// The explanation in the form of the expected one.
fn told(work: &Work) -> Truth {
    let (occurrence, began) = work.due.as_ref().unwrap();
    let end = match &occurrence.stage {
        Stage::Ended(end) => Some((end.as_str(), end.why().to_owned())),
        Stage::Running(_) | Stage::Asked(_) | Stage::Again(_) | Stage::Queued => None,
    };
    let ping = |ping: &domain::explanation::Ping| {
        (ping.entry.0, ping.text.clone(), ping.charge.map(|charge| (charge.before, charge.after)))
    };
    Truth {
        source: work.source.to_string(),
        due: occurrence.key.due,
        late: began.duration_since(occurrence.key.due).as_secs(),
        tries: occurrence.tries,
        end,
        pings: work.pings.iter().map(ping).collect(),
        refused: work.refused.clone(),
        tokens: work.total().usage.input,
        cost: work.total().cost,
        silence: work.silence(),
    }
}

/// H4: for a thousand random occurrences the explanation is the expected one.
#[test]
fn whatever_came_of_a_time_the_answer_is_true() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::new(dir.path());
    let now = Timestamp::constant(1_794_700_000, 0);
    let place = Place { paths: paths.clone(), disk: Arc::new(RealDisk), zone: TimeZone::UTC, now, pid: 1 };
    let opened = open(place).unwrap();
    let mut scribe = Scribe { dice: Dice::new(4), records: Vec::new(), number: 0, entry: 0 };
    let truths: Vec<Truth> = (0..TIMES).map(|_| scribe.write()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(opened.journal.write(scribe.records)).unwrap();
    let database = peek(&paths).unwrap().unwrap();
    let explain = |words: &str| database.explain(&Subject::read(words).unwrap(), &TimeZone::UTC).unwrap();
    for truth in &truths {
        let Some(Explained::Work(found)) = explain(&format!("{}@{}", truth.source, truth.due)) else {
            panic!("nobody knows of {truth:?}")
        };
        assert_eq!(told(&found), *truth);
        let words = found.tell(&TimeZone::UTC);
        for (_, why) in &truth.refused {
            assert!(words.contains(why), "{words}");
        }
        assert_eq!(words.contains("it did not reach you"), truth.silence.is_some(), "{words}");
        for (entry, text, _) in &truth.pings {
            assert!(words.contains(text), "{words}");
            assert_eq!(explain(&entry.to_string()), Some(Explained::Work(found.clone())));
        }
    }
    let last = truths.iter().rev().find(|truth| truth.source == "routine:job1").unwrap();
    let Some(Explained::Job(times)) = explain("routine:job1") else { panic!("nobody knows of job1") };
    let times: Vec<Truth> = times.iter().map(told).collect();
    assert_eq!((times.len(), &times[0]), (10, last));
    assert_eq!(explain("nobody"), None);
}

/// The id of a withdrawn message is not reused while an occurrence refers to it.
#[test]
fn the_number_of_a_message_that_was_taken_back_is_not_given_again() {
    let dir = tempfile::tempdir().unwrap();
    let now = Timestamp::UNIX_EPOCH;
    let paths = Paths::new(dir.path());
    let place = || Place { paths: paths.clone(), disk: Arc::new(RealDisk), zone: TimeZone::UTC, now, pid: 1 };
    let opened = open(place()).unwrap();
    let id = opened.memory.messages.next;
    let to = Address::Here;
    let message = Message {
        id,
        at: now,
        surface: SurfaceName::House,
        to,
        text: "drink water".to_owned(),
        images: Vec::new(),
        mark: None,
        label: domain::label::Label::PLAIN,
    };
    let asked = Occurrence {
        key: Key { source: Source::Reminder("water".to_owned()), due: now },
        name: "water".to_owned(),
        words: "drink water".to_owned(),
        lateness: Lateness::OnTime,
        tries: 1,
        stage: Stage::Asked(id),
        since: now,
        shown: true,
    };
    let called_off =
        Occurrence { stage: Stage::Ended(End::Cancelled("its file is gone".to_owned())), ..asked.clone() };
    let records = vec![
        Record::Message(MessageChange::Received(message)),
        Record::Plan(PlanChange::Occurred(asked)),
        Record::Message(MessageChange::Dropped(id)),
        Record::Plan(PlanChange::Occurred(called_off)),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(opened.journal.write(records)).unwrap();
    drop(opened);
    assert!(open(place()).unwrap().memory.messages.next > id);
}
