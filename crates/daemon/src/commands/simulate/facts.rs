//! Events of a simulation, derived from the records that are written.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::assistant::Shown;
use domain::conversation::{Branch, Entry, Said, Text};
use domain::cost::Source;
use domain::occurrence::{End, Occurrence, Stage};
use domain::post::PostKey;
use domain::record::{
    Charge, FileWork, ForkChange, MessageChange, MessageId, PlanChange, Record, ReportChange, StateChange,
    TurnChange,
};
use domain::report::{Report, ReportId};
use domain::schedule::What;
use domain::tool::{Outcome, Showing, ToolCall, ToolResult};
use domain::turn::{Ending, TurnId};
use engine::played::{PlayedClock, Watching};
use engine::ports::{Clock, Surface};
use jiff::{SignedDuration, Timestamp};

/// An event of the simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    pub at: Timestamp,
    /// The job it belongs to, if any.
    pub job: Option<String>,
    /// The due time of the job.
    pub due: Option<Timestamp>,
    pub what: Happened,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Happened {
    /// A job was started: delay, and number of the attempt.
    Fired(SignedDuration, u32),
    /// The job waits for its previous run.
    Queued,
    /// The job failed for this reason and will be retried at this time.
    Again(String, Timestamp),
    Ended(End),
    /// The user is shown this text.
    Pinged(String, Urgent),
    /// The call of this tool was refused for this reason.
    Refused(String, String),
    /// A ping was charged to the budget.
    Charged(Charge),
    /// An update was left for main.
    Reported(String),
    /// Main read these updates.
    HandedOver(Vec<String>),
    /// The assistant said this on main.
    Said(String),
    /// A follow-up was scheduled.
    Follows(Timestamp),
    /// A notice for the user.
    Told(String),
}

/// The urgency of a ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgent {
    /// Counts against the ping budget.
    No,
    /// Does not count.
    Critical,
}

/// Collects events from written records and from notices.
pub struct Watch {
    clock: Arc<PlayedClock>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    facts: Vec<Fact>,
    /// The jobs of branches and of messages.
    branches: BTreeMap<Branch, (Source, Option<Timestamp>)>,
    messages: BTreeMap<MessageId, (Source, Timestamp)>,
    /// The job that main is answering, and its turn. Text after the end of this turn belongs to no
    /// job.
    main: Option<(Source, Timestamp)>,
    turn: Option<TurnId>,
    /// The reminders whose cards are in the current write, with the keys of their posts.
    rung: Vec<(PostKey, Source)>,
    calls: BTreeMap<String, ToolCall>,
    reports: BTreeMap<ReportId, Report>,
}

impl Watch {
    /// Creates a recorder that uses `clock`.
    pub fn new(clock: Arc<PlayedClock>) -> Self {
        Self { clock, seen: Mutex::default() }
    }

    /// Returns all events, in order.
    pub fn facts(&self) -> Vec<Fact> {
        self.seen().facts.clone()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watching for Watch {
    fn wrote(&self, records: &[Record]) {
        let now = self.clock.now().timestamp();
        let mut seen = self.seen();
        let why = records.iter().find_map(failure).unwrap_or_default();
        seen.rung = records.iter().flat_map(rung).collect();
        for record in records {
            seen.see(record, &why, now);
        }
    }
}

impl Surface for Watch {
    fn show(&self, shown: &Shown) {
        if let Shown::Notice(text) = shown {
            let at = self.clock.now().timestamp();
            let what = Happened::Told(text.clone());
            self.seen().facts.push(Fact { at, job: None, due: None, what });
        }
    }
}

/// Returns why a turn failed, if this record closes a failed one.
fn failure(record: &Record) -> Option<String> {
    let Record::Turn(TurnChange::Closed(closed)) = record else { return None };
    match &closed.ending {
        Ending::Failed(failure) => Some(failure.to_string()),
        Ending::Interrupted => Some("it was stopped".to_owned()),
        Ending::Finished => None,
    }
}

/// Returns the reminder of a card, with the keys of its post and of the post that rephrased it.
fn rung(record: &Record) -> Vec<(PostKey, Source)> {
    let Record::Message(MessageChange::Card(card, post)) = record else { return Vec::new() };
    let keys = [Some(post), card.followed.as_ref()].into_iter().flatten();
    keys.map(|key| (key.clone(), card.source())).collect()
}

impl Seen {
    #[expect(clippy::wildcard_enum_match_arm, reason = "most records are no events")]
    fn see(&mut self, record: &Record, why: &str, at: Timestamp) {
        match record {
            Record::Plan(PlanChange::Occurred(occurrence)) => self.occurred(occurrence, why, at),
            Record::Plan(PlanChange::File(FileWork::Write(what))) => self.planned(what, at),
            Record::Fork(ForkChange::Running(run)) => {
                self.branches.insert(run.branch.clone(), (run.source.clone(), run.due));
            }
            Record::Turn(TurnChange::Decided(_, decision, _)) => {
                self.calls.insert(decision.call.id.clone(), decision.call.clone());
            }
            Record::Message(MessageChange::Taken(message, _)) => {
                self.main = self.messages.get(message).cloned().or(self.main.take());
            }
            Record::Turn(TurnChange::Opened(opened)) if opened.branch == Branch::Main => {
                self.turn = Some(opened.turn);
            }
            Record::Turn(TurnChange::Closed(closed)) if self.turn == Some(closed.turn) => {
                (self.main, self.turn) = (None, None);
            }
            Record::Said(branch, entry) => self.said(branch, entry, at),
            Record::State(StateChange::Charged(charge)) => {
                let last = self.facts.last().map(|fact| (fact.job.clone(), fact.due)).unwrap_or_default();
                self.facts.push(Fact { at, job: last.0, due: last.1, what: Happened::Charged(*charge) });
            }
            Record::Report(ReportChange::Left(report)) => {
                self.reports.insert(report.id, report.clone());
                let job = Some(report.from.clone());
                let what = Happened::Reported(report.text.clone());
                self.facts.push(Fact { at, job, due: None, what });
            }
            Record::Report(ReportChange::Read(reading)) => {
                let read = reading.quoted.iter().chain(&reading.counted);
                let texts = read.filter_map(|id| self.reports.get(id)).map(|report| report.text.clone());
                let what = Happened::HandedOver(texts.collect());
                self.facts.push(Fact { at, job: None, due: None, what });
            }
            _ => {}
        }
    }

    fn occurred(&mut self, occurrence: &Occurrence, why: &str, at: Timestamp) {
        let Occurrence { key, tries, .. } = occurrence;
        if let Stage::Asked(message) = &occurrence.stage {
            self.messages.insert(*message, (key.source.clone(), key.due));
        }
        let what = match &occurrence.stage {
            Stage::Running(_) | Stage::Asked(_) => Happened::Fired(at.duration_since(key.due), *tries),
            Stage::Queued => Happened::Queued,
            Stage::Again(next) => Happened::Again(why.to_owned(), *next),
            Stage::Ended(end) => Happened::Ended(end.clone()),
        };
        self.facts.push(Fact { at, job: Some(key.source.to_string()), due: Some(key.due), what });
    }

    fn planned(&mut self, what: &What, at: Timestamp) {
        if let What::Reminder(reminder) = what {
            let job = Some(Source::Reminder(reminder.id.to_string()).to_string());
            let due = reminder.run_at.at;
            self.facts.push(Fact { at, job, due: Some(due), what: Happened::Follows(due) });
        }
    }

    /// Returns the only reminder that `entry` is about.
    fn rung_with(&self, entry: &Entry) -> Option<String> {
        let key = PostKey::words(entry);
        let mut about = self.rung.iter().filter(|(post, _)| *post == key);
        let (_, source) = about.next()?;
        about.all(|(_, other)| other == source).then(|| source.to_string())
    }

    fn said(&mut self, branch: &Branch, entry: &Entry, at: Timestamp) {
        let said = &entry.said;
        let (job, due) = match (branch, &self.main, self.branches.get(branch)) {
            (Branch::Main, Some((source, due)), _) => (Some(source.to_string()), Some(*due)),
            (Branch::Main, None, _) => (self.rung_with(entry), None),
            (_, _, Some((source, due))) => (Some(source.to_string()), *due),
            (_, _, None) => (None, None),
        };
        let whats: Vec<Happened> = match (branch, said) {
            (_, Said::Tools(results)) => results.iter().filter_map(|result| self.came_of(result)).collect(),
            (Branch::Main, Said::Assistant(blocks, _)) => {
                let text = blocks.text();
                (!text.trim().is_empty()).then_some(Happened::Said(text)).into_iter().collect()
            }
            (Branch::Fork(_), Said::Assistant(..))
            | (_, Said::Human(_) | Said::Summary(_) | Said::Recalled(_)) => Vec::new(),
        };
        self.facts.extend(whats.into_iter().map(|what| Fact { at, job: job.clone(), due, what }));
    }

    fn came_of(&self, result: &ToolResult) -> Option<Happened> {
        let call = self.calls.get(&result.call);
        match &result.outcome {
            Outcome::Done => None,
            Outcome::Shown(showing) => {
                let text = match showing {
                    Showing::Words(text) => text.clone(),
                    Showing::Embed(embed) => embed.title.clone(),
                };
                let input =
                    call.and_then(|call| serde_json::from_str::<serde_json::Value>(&call.input.0).ok());
                let critical = input.is_some_and(|input| input["critical"] == true);
                Some(Happened::Pinged(text, if critical { Urgent::Critical } else { Urgent::No }))
            }
            Outcome::Failed | Outcome::Denied => {
                let tool = call.map(|call| call.name.clone()).unwrap_or_default();
                let why = result.text.strip_prefix("Error: ").unwrap_or(&result.text);
                Some(Happened::Refused(tool, why.to_owned()))
            }
        }
    }
}
