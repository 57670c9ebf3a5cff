//! Events of a simulation, derived from the records that are written.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::assistant::Update;
use domain::conversation::{Branch, Entry, EntryContent, Text};
use domain::cost::CostSource;
use domain::occurrence::{Occurrence, OccurrenceEnd, OccurrenceState};
use domain::outbox::OutboxKey;
use domain::pending_update::{PendingUpdate, UpdateId};
use domain::record::{
    ForkChange, JobFileEdit, MessageChange, MessageId, PingCharge, PlanChange, Record, StateChange,
    TurnChange, UpdateChange,
};
use domain::schedule::JobSpec;
use domain::tool::{Outcome, ShownContent, ToolCall, ToolResult};
use domain::turn::{TurnEnding, TurnId};
use engine::ports::{Clock, Surface};
use engine::simulation::{JournalObserver, SimClock};
use jiff::{SignedDuration, Timestamp};

/// An event of the simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct SimEvent {
    pub at: Timestamp,
    /// The job it belongs to, if any.
    pub job: Option<String>,
    /// The due time of the job.
    pub due: Option<Timestamp>,
    pub kind: SimEventKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SimEventKind {
    /// A job was started: delay, and number of the attempt.
    Fired(SignedDuration, u32),
    /// The job waits for its previous run.
    Queued,
    /// The job failed for this reason and will be retried at this time.
    Retry(String, Timestamp),
    Ended(OccurrenceEnd),
    /// The user is shown this text.
    Ping(String, Urgency),
    /// The call of this tool was refused for this reason.
    CallRefused(String, String),
    /// A ping was charged to the budget.
    PingsCharged(PingCharge),
    /// An update was left for main.
    UpdateLeft(String),
    /// Main read these updates.
    UpdatesRead(Vec<String>),
    /// The assistant said this on main.
    Message(String),
    /// A follow-up was scheduled.
    FollowUp(Timestamp),
    /// A notice for the user.
    Notice(String),
}

/// The urgency of a ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Counts against the ping budget.
    Normal,
    /// Does not count.
    Critical,
}

/// Collects events from written records and from notices.
pub struct EventRecorder {
    clock: Arc<SimClock>,
    seen: Mutex<RecorderState>,
}

#[derive(Default)]
struct RecorderState {
    events: Vec<SimEvent>,
    /// The jobs of branches and of messages.
    branches: BTreeMap<Branch, (CostSource, Option<Timestamp>)>,
    messages: BTreeMap<MessageId, (CostSource, Timestamp)>,
    /// The job that main is answering, and its turn. Text after the end of this turn belongs to no
    /// job.
    answering: Option<(CostSource, Timestamp)>,
    turn: Option<TurnId>,
    /// The reminders whose cards are in the current write, with the keys of their posts.
    cards: Vec<(OutboxKey, CostSource)>,
    calls: BTreeMap<String, ToolCall>,
    reports: BTreeMap<UpdateId, PendingUpdate>,
}

impl EventRecorder {
    /// Creates a recorder that uses `clock`.
    pub fn new(clock: Arc<SimClock>) -> Self {
        Self { clock, seen: Mutex::default() }
    }

    /// Returns all events, in order.
    pub fn events(&self) -> Vec<SimEvent> {
        self.seen().events.clone()
    }

    fn seen(&self) -> MutexGuard<'_, RecorderState> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JournalObserver for EventRecorder {
    fn after_write(&self, records: &[Record]) {
        let now = self.clock.now().timestamp();
        let mut seen = self.seen();
        let why = records.iter().find_map(turn_failure).unwrap_or_default();
        seen.cards = records.iter().flat_map(card_posts).collect();
        for record in records {
            seen.apply(record, &why, now);
        }
    }
}

impl Surface for EventRecorder {
    fn show(&self, shown: &Update) {
        if let Update::Notice(text) = shown {
            let at = self.clock.now().timestamp();
            let what = SimEventKind::Notice(text.clone());
            self.seen().events.push(SimEvent { at, job: None, due: None, kind: what });
        }
    }
}

/// Returns why a turn failed, if this record closes a failed one.
fn turn_failure(record: &Record) -> Option<String> {
    let Record::Turn(TurnChange::Closed(closed)) = record else { return None };
    match &closed.ending {
        TurnEnding::Failed(failure) => Some(failure.to_string()),
        TurnEnding::Interrupted => Some("it was stopped".to_owned()),
        TurnEnding::Finished => None,
    }
}

/// Returns the reminder of a card, with the keys of its post and of the post that rephrased it.
fn card_posts(record: &Record) -> Vec<(OutboxKey, CostSource)> {
    let Record::Message(MessageChange::Card(card, post)) = record else { return Vec::new() };
    let keys = [Some(post), card.follow_up_post.as_ref()].into_iter().flatten();
    keys.map(|key| (key.clone(), card.source())).collect()
}

impl RecorderState {
    #[expect(clippy::wildcard_enum_match_arm, reason = "most records are no events")]
    fn apply(&mut self, record: &Record, why: &str, at: Timestamp) {
        match record {
            Record::Plan(PlanChange::Occurrence(occurrence)) => self.apply_occurrence(occurrence, why, at),
            Record::Plan(PlanChange::JobFile(JobFileEdit::Write(what))) => self.apply_plan(what, at),
            Record::Fork(ForkChange::RunStarted(run)) => {
                self.branches.insert(run.branch.clone(), (run.source.clone(), run.due));
            }
            Record::Turn(TurnChange::CallDecided(_, decision, _)) => {
                self.calls.insert(decision.call.id.clone(), decision.call.clone());
            }
            Record::Message(MessageChange::Taken(message, _)) => {
                self.answering = self.messages.get(message).cloned().or(self.answering.take());
            }
            Record::Turn(TurnChange::Opened(opened)) if opened.branch == Branch::Main => {
                self.turn = Some(opened.turn);
            }
            Record::Turn(TurnChange::Closed(closed)) if self.turn == Some(closed.turn) => {
                (self.answering, self.turn) = (None, None);
            }
            Record::EntryAppended(branch, entry) => self.apply_entry(branch, entry, at),
            Record::State(StateChange::PingCharged(charge)) => {
                let last = self.events.last().map(|fact| (fact.job.clone(), fact.due)).unwrap_or_default();
                self.events.push(SimEvent {
                    at,
                    job: last.0,
                    due: last.1,
                    kind: SimEventKind::PingsCharged(*charge),
                });
            }
            Record::Update(UpdateChange::Left(report)) => {
                self.reports.insert(report.id, report.clone());
                let job = Some(report.source.clone());
                let what = SimEventKind::UpdateLeft(report.text.clone());
                self.events.push(SimEvent { at, job, due: None, kind: what });
            }
            Record::Update(UpdateChange::Read(reading)) => {
                let read = reading.quoted.iter().chain(&reading.counted);
                let texts = read.filter_map(|id| self.reports.get(id)).map(|report| report.text.clone());
                let what = SimEventKind::UpdatesRead(texts.collect());
                self.events.push(SimEvent { at, job: None, due: None, kind: what });
            }
            _ => {}
        }
    }

    fn apply_occurrence(&mut self, occurrence: &Occurrence, why: &str, at: Timestamp) {
        let Occurrence { key, tries, .. } = occurrence;
        if let OccurrenceState::SentToMain(message) = &occurrence.state {
            self.messages.insert(*message, (key.source.clone(), key.due));
        }
        let what = match &occurrence.state {
            OccurrenceState::Running(_) | OccurrenceState::SentToMain(_) => {
                SimEventKind::Fired(at.duration_since(key.due), *tries)
            }
            OccurrenceState::Queued => SimEventKind::Queued,
            OccurrenceState::Retrying(next) => SimEventKind::Retry(why.to_owned(), *next),
            OccurrenceState::Ended(end) => SimEventKind::Ended(end.clone()),
        };
        self.events.push(SimEvent { at, job: Some(key.source.to_string()), due: Some(key.due), kind: what });
    }

    fn apply_plan(&mut self, what: &JobSpec, at: Timestamp) {
        if let JobSpec::Reminder(reminder) = what {
            let job = Some(CostSource::Reminder(reminder.id.to_string()).to_string());
            let due = reminder.run_at.at;
            self.events.push(SimEvent { at, job, due: Some(due), kind: SimEventKind::FollowUp(due) });
        }
    }

    /// Returns the only reminder that `entry` is about.
    fn reminder_of(&self, entry: &Entry) -> Option<String> {
        let key = OutboxKey::of_entry(entry);
        let mut about = self.cards.iter().filter(|(post, _)| *post == key);
        let (_, source) = about.next()?;
        about.all(|(_, other)| other == source).then(|| source.to_string())
    }

    fn apply_entry(&mut self, branch: &Branch, entry: &Entry, at: Timestamp) {
        let said = &entry.content;
        let (job, due) = match (branch, &self.answering, self.branches.get(branch)) {
            (Branch::Main, Some((source, due)), _) => (Some(source.to_string()), Some(*due)),
            (Branch::Main, None, _) => (self.reminder_of(entry), None),
            (_, _, Some((source, due))) => (Some(source.to_string()), *due),
            (_, _, None) => (None, None),
        };
        let whats: Vec<SimEventKind> = match (branch, said) {
            (_, EntryContent::Tools(results)) => {
                results.iter().filter_map(|result| self.tool_event(result)).collect()
            }
            (Branch::Main, EntryContent::Assistant(blocks, _)) => {
                let text = blocks.text();
                (!text.trim().is_empty()).then_some(SimEventKind::Message(text)).into_iter().collect()
            }
            (Branch::Fork(_), EntryContent::Assistant(..))
            | (_, EntryContent::User(_) | EntryContent::Summary(_) | EntryContent::SummaryRecalled(_)) => {
                Vec::new()
            }
        };
        self.events.extend(whats.into_iter().map(|what| SimEvent { at, job: job.clone(), due, kind: what }));
    }

    fn tool_event(&self, result: &ToolResult) -> Option<SimEventKind> {
        let call = self.calls.get(&result.call);
        match &result.outcome {
            Outcome::Done => None,
            Outcome::Shown(showing) => {
                let text = match showing {
                    ShownContent::Text(text) => text.clone(),
                    ShownContent::Embed(embed) => embed.title.clone(),
                };
                let input =
                    call.and_then(|call| serde_json::from_str::<serde_json::Value>(&call.input.0).ok());
                let critical = input.is_some_and(|input| input["critical"] == true);
                Some(SimEventKind::Ping(text, if critical { Urgency::Critical } else { Urgency::Normal }))
            }
            Outcome::Failed | Outcome::Denied => {
                let tool = call.map(|call| call.name.clone()).unwrap_or_default();
                let why = result.text.strip_prefix("Error: ").unwrap_or(&result.text);
                Some(SimEventKind::CallRefused(tool, why.to_owned()))
            }
        }
    }
}
