//! Explanations of why a job did or did not reach the user correspond to what was recorded.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]

use std::sync::Arc;

use domain::conversation::{
    Block, Branch, Completeness, Entry, EntryContent, EntryId, Json, Usage, UserInput,
};
use domain::cost::{Account, Attendance, CostSource, LedgerEntry, Micros, ModelCall};
use domain::explanation::{ExplanationReport, JobExplanation, Subject};
use domain::occurrence::{Occurrence, OccurrenceEnd, OccurrenceKey, OccurrenceState};
use domain::permission::{AllowReason, Decision};
use domain::record::{
    Address, Message, MessageChange, MessageId, PingCharge, PlanChange, Record, SentChange, ShownMessage,
    StateChange, SurfaceName, TurnChange, TurnClosed, TurnOpened as Begun,
};
use domain::rng::Rng;
use domain::schedule::Lateness;
use domain::tool::{Outcome, ShownContent, ToolCall, ToolResult};
use domain::turn::{TurnEnding, TurnId};
use engine::ports::Journal as _;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use journal::disk::RealDisk;
use journal::{OpenParams, Paths, open, open_read_only};

/// Number of generated occurrences.
const OCCURRENCES: u64 = 1_000;

/// A ping: its entry, its text, and the budget before and after its charge.
type ExpectedPing = (u64, String, Option<(f64, f64)>);

/// The expected explanation of one occurrence.
#[derive(Debug, PartialEq)]
struct ExpectedExplanation {
    source: String,
    due: Timestamp,
    late: i64,
    tries: u32,
    end: Option<(&'static str, String)>,
    pings: Vec<ExpectedPing>,
    refused: Vec<(String, String)>,
    tokens: u64,
    cost: Micros,
    silence: Option<String>,
}

/// Generates the records of random occurrences and the expected explanations.
struct Generator {
    dice: Rng,
    records: Vec<Record>,
    number: u64,
    entry: u64,
}

impl Generator {
    fn pick(&mut self, below: u64) -> u64 {
        (self.dice.next_u64() >> 33) % below
    }

    fn write(&mut self) -> ExpectedExplanation {
        self.number += 1;
        let id = format!("job{}", self.pick(30));
        let source = if self.pick(3) == 0 { CostSource::Reminder(id) } else { CostSource::Routine(id) };
        let due = Timestamp::constant(1_794_700_000, 0)
            + SignedDuration::from_mins(i64::try_from(self.number).unwrap() * 7);
        let late = [0, 0, 0, 90, 3_600][usize::try_from(self.pick(5)).unwrap()];
        let began = due + SignedDuration::from_secs(late);
        let mut truth = ExpectedExplanation {
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
        let key = OccurrenceKey { source, due };
        let name = format!("Job {}", self.number);
        let occurrence = Occurrence {
            key,
            name,
            prompt: words,
            lateness,
            tries: 0,
            state: OccurrenceState::Queued,
            since: began,
            shown_verbatim: false,
        };
        let why = format!("because {}", self.number);
        match self.pick(7) {
            0 => {
                let last = due + SignedDuration::from_mins(2);
                let count = 3;
                self.add_unstarted(
                    occurrence,
                    OccurrenceEnd::Missed { last, count, reason: why },
                    &mut truth,
                );
            }
            1 if self.pick(2) == 0 => self.add_unstarted(occurrence, OccurrenceEnd::Skipped(why), &mut truth),
            1 => self.add_unstarted(occurrence, OccurrenceEnd::Cancelled(why), &mut truth),
            2 => {
                self.records.push(Record::Plan(PlanChange::Occurrence(occurrence)));
                truth.silence = Some("it waits for the one before it".to_owned());
            }
            3 => self.add_started(occurrence, OccurrenceEnd::Failed(why), &mut truth),
            _ => self.add_started(occurrence, OccurrenceEnd::Done(String::new()), &mut truth),
        }
        truth
    }

    fn add_unstarted(&mut self, occurrence: Occurrence, end: OccurrenceEnd, truth: &mut ExpectedExplanation) {
        truth.end = Some((end.as_str(), end.note().to_owned()));
        truth.silence = Some(end.note().to_owned());
        let ended = Occurrence { state: OccurrenceState::Ended(end), ..occurrence };
        self.records.push(Record::Plan(PlanChange::Occurrence(ended)));
    }

    fn add_started(&mut self, occurrence: Occurrence, end: OccurrenceEnd, truth: &mut ExpectedExplanation) {
        truth.tries = 1 + u32::try_from(self.pick(3)).unwrap();
        let branch = Branch::fork(&format!("run{}", self.number)).unwrap();
        let begun =
            Occurrence { tries: truth.tries, state: OccurrenceState::Running(branch.clone()), ..occurrence };
        let after = begun.since + SignedDuration::from_secs(5);
        self.records.push(Record::Plan(PlanChange::Occurrence(begun.clone())));
        self.turn(&branch, &begun.key.source, after, truth);
        truth.end = Some((end.as_str(), end.note().to_owned()));
        if truth.pings.is_empty() {
            truth.silence = Some(match (&end, truth.refused.last()) {
                (OccurrenceEnd::Failed(why), _) => why.clone(),
                (_, Some((tool, _))) => format!("`{tool}` was refused"),
                (_, None) => "it asked for no ping".to_owned(),
            });
        }
        let ended = Occurrence { state: OccurrenceState::Ended(end), since: after, ..begun };
        self.records.push(Record::Plan(PlanChange::Occurrence(ended)));
    }

    fn say(&mut self, branch: &Branch, parent: Option<EntryId>, said: EntryContent) -> EntryId {
        self.entry += 1;
        let id = EntryId(self.entry);
        let at = Timestamp::UNIX_EPOCH;
        self.records.push(Record::EntryAppended(
            branch.clone(),
            Entry {
                id,
                parent,
                at,
                content: said,
                own_label: domain::label::Label::PLAIN,
                label: domain::label::Label::PLAIN,
            },
        ));
        id
    }

    /// A turn with up to three calls: each is shown and charged, refused, or done.
    fn turn(&mut self, branch: &Branch, source: &CostSource, at: Timestamp, truth: &mut ExpectedExplanation) {
        let turn = TurnId(self.number);
        let answers = MessageId(self.number);
        let to = Address::Branch(branch.clone());
        let text = "words".to_owned();
        let message = Message {
            id: answers,
            at,
            surface: SurfaceName::Internal,
            address: to,
            text,
            images: Vec::new(),
            external_id: None,
            label: domain::label::Label::PLAIN,
        };
        let heard = EntryContent::User(UserInput {
            preface: "words".to_owned(),
            text: String::new(),
            images: Vec::new(),
        });
        self.records.push(Record::Message(MessageChange::Received(message)));
        let mut last = self.say(branch, None, heard);
        self.records.push(Record::Message(MessageChange::Taken(answers, last)));
        self.records.push(Record::Turn(TurnChange::Opened(Begun {
            turn,
            branch: branch.clone(),
            message: answers,
            at,
        })));
        for number in 0..self.pick(4) {
            last = self.call((turn, branch, source), (last, number), at, truth);
        }
        let usage = Usage { input: self.pick(500), output: self.pick(50), ..Usage::default() };
        let account = Account { source: source.clone(), attended: Attendance::Unattended };
        let cost = Micros(self.pick(900));
        (truth.tokens, truth.cost) = (usage.input, cost);
        let call = ModelCall { model: "puppet".to_owned(), usage };
        self.records.push(Record::CallSpent(LedgerEntry {
            at,
            branch: branch.clone(),
            turn,
            account,
            call,
            cost: Some(cost),
        }));
        self.records.push(Record::Turn(TurnChange::Closed(TurnClosed {
            turn,
            ending: TurnEnding::Finished,
            usage,
            at,
        })));
    }

    fn call(
        &mut self,
        (turn, branch, source): (TurnId, &Branch, &CostSource),
        (parent, number): (EntryId, u64),
        at: Timestamp,
        truth: &mut ExpectedExplanation,
    ) -> EntryId {
        let tool = ["ping_user", "discord_embed", "report_updates"][usize::try_from(self.pick(3)).unwrap()];
        let id = format!("call-{}-{number}", turn.0);
        let input = Json("{}".to_owned());
        let call = ToolCall { id: id.clone(), name: tool.to_owned(), input };
        let blocks = EntryContent::Assistant(vec![Block::Call(call.clone())], Completeness::Complete);
        let asked = self.say(branch, Some(parent), blocks);
        let decision = Decision::allowed(&call, AllowReason::OwnTool);
        self.records.push(Record::Turn(TurnChange::CallDecided(turn, decision, at)));
        let words = format!("words of {id}");
        let (outcome, text) = match self.pick(3) {
            0 => (Outcome::Shown(ShownContent::Text(words.clone())), "Message sent.".to_owned()),
            1 => (Outcome::Failed, format!("Error: no, {id}")),
            _ => (Outcome::Done, "done".to_owned()),
        };
        let result = ToolResult {
            call: id.clone(),
            text,
            outcome: outcome.clone(),
            label: domain::label::Label::PLAIN,
        };
        let entry = self.say(branch, Some(asked), EntryContent::Tools(vec![result]));
        match outcome {
            Outcome::Shown(_) => {
                let showed = ShownMessage { branch: branch.clone(), source: source.clone(), entry };
                self.records.push(Record::from(SentChange::RunShowed(showed)));
                let charge =
                    (self.pick(4) > 0).then(|| (5.0, f64::from(u32::try_from(self.pick(6)).unwrap())));
                if let Some((before, after)) = charge {
                    self.records.push(Record::State(StateChange::PingCharged(PingCharge {
                        entry,
                        before,
                        after,
                    })));
                }
                truth.pings.push((entry.0, words, charge));
            }
            Outcome::Failed => truth.refused.push((tool.to_owned(), format!("no, {id}"))),
            Outcome::Done | Outcome::Denied => {}
        }
        entry
    }
}

/// Converts an explanation for comparison with the expected one.
fn as_expected(work: &JobExplanation) -> ExpectedExplanation {
    let (occurrence, began) = work.due.as_ref().unwrap();
    let end = match &occurrence.state {
        OccurrenceState::Ended(end) => Some((end.as_str(), end.note().to_owned())),
        OccurrenceState::Running(_)
        | OccurrenceState::SentToMain(_)
        | OccurrenceState::Retrying(_)
        | OccurrenceState::Queued => None,
    };
    let ping = |ping: &domain::explanation::ShownPing| {
        (ping.entry.0, ping.text.clone(), ping.charge.map(|charge| (charge.before, charge.after)))
    };
    ExpectedExplanation {
        source: work.source.to_string(),
        due: occurrence.key.due,
        late: began.duration_since(occurrence.key.due).as_secs(),
        tries: occurrence.tries,
        end,
        pings: work.pings.iter().map(ping).collect(),
        refused: work.refused.clone(),
        tokens: work.total().usage.input,
        cost: work.total().cost,
        silence: work.silence_reason(),
    }
}

/// H4: for a thousand random occurrences the explanation is the expected one.
#[test]
fn the_explanation_of_any_occurrence_is_correct() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::new(dir.path());
    let now = Timestamp::constant(1_794_700_000, 0);
    let place =
        OpenParams { paths: paths.clone(), disk: Arc::new(RealDisk), zone: TimeZone::UTC, now, pid: 1 };
    let opened = open(place).unwrap();
    let mut scribe = Generator { dice: Rng::new(4), records: Vec::new(), number: 0, entry: 0 };
    let truths: Vec<ExpectedExplanation> = (0..OCCURRENCES).map(|_| scribe.write()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(opened.journal.write(scribe.records)).unwrap();
    let database = open_read_only(&paths).unwrap().unwrap();
    let explain = |words: &str| database.explain(&Subject::parse(words).unwrap(), &TimeZone::UTC).unwrap();
    for truth in &truths {
        let Some(ExplanationReport::Work(found)) = explain(&format!("{}@{}", truth.source, truth.due)) else {
            panic!("nobody knows of {truth:?}")
        };
        assert_eq!(as_expected(&found), *truth);
        let words = found.render(&TimeZone::UTC);
        for (_, why) in &truth.refused {
            assert!(words.contains(why), "{words}");
        }
        assert_eq!(words.contains("it did not reach you"), truth.silence.is_some(), "{words}");
        for (entry, text, _) in &truth.pings {
            assert!(words.contains(text), "{words}");
            assert_eq!(explain(&entry.to_string()), Some(ExplanationReport::Work(found.clone())));
        }
    }
    let last = truths.iter().rev().find(|truth| truth.source == "routine:job1").unwrap();
    let Some(ExplanationReport::Job(times)) = explain("routine:job1") else { panic!("nobody knows of job1") };
    let times: Vec<ExpectedExplanation> = times.iter().map(as_expected).collect();
    assert_eq!((times.len(), &times[0]), (10, last));
    assert_eq!(explain("nobody"), None);
}

/// The id of a withdrawn message is not reused while an occurrence refers to it.
#[test]
fn the_id_of_a_withdrawn_message_is_not_reused() {
    let dir = tempfile::tempdir().unwrap();
    let now = Timestamp::UNIX_EPOCH;
    let paths = Paths::new(dir.path());
    let place =
        || OpenParams { paths: paths.clone(), disk: Arc::new(RealDisk), zone: TimeZone::UTC, now, pid: 1 };
    let opened = open(place()).unwrap();
    let id = opened.state.messages.next;
    let to = Address::UserBranch;
    let message = Message {
        id,
        at: now,
        surface: SurfaceName::Internal,
        address: to,
        text: "drink water".to_owned(),
        images: Vec::new(),
        external_id: None,
        label: domain::label::Label::PLAIN,
    };
    let asked = Occurrence {
        key: OccurrenceKey { source: CostSource::Reminder("water".to_owned()), due: now },
        name: "water".to_owned(),
        prompt: "drink water".to_owned(),
        lateness: Lateness::OnTime,
        tries: 1,
        state: OccurrenceState::SentToMain(id),
        since: now,
        shown_verbatim: true,
    };
    let called_off = Occurrence {
        state: OccurrenceState::Ended(OccurrenceEnd::Cancelled("its file is gone".to_owned())),
        ..asked.clone()
    };
    let records = vec![
        Record::Message(MessageChange::Received(message)),
        Record::Plan(PlanChange::Occurrence(asked)),
        Record::Message(MessageChange::Dropped(id)),
        Record::Plan(PlanChange::Occurrence(called_off)),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(opened.journal.write(records)).unwrap();
    drop(opened);
    assert!(open(place()).unwrap().state.messages.next > id);
}
