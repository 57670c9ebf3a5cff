//! State of the schedule: the agenda and the open occurrences.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use rpds::RedBlackTreeMapSync;

use super::item_origins::{ItemOrigin, OwnItem};
use super::plan_origins::PlanOrigin;
use super::plan_undo::PlanUndo;
use crate::cost::CostSource;
use crate::inbox::InboxItemId;
use crate::occurrence::{Occurrence, OccurrenceKey, OccurrenceState};
use crate::record::{MessageId, SessionHead};
use crate::schedule::{Agenda, ItemId, JobSpec, Lateness, Watermark};

/// Plans and open occurrences. Copies share unchanged parts.
#[derive(Clone, Debug, Default)]
pub struct Plans {
    /// Plans with their due times.
    pub agenda: Agenda,
    /// Watermarks from before the start, of plans whose files have not been read yet.
    pub known_watermarks: RedBlackTreeMapSync<CostSource, Watermark>,
    /// Occurrences that have not ended.
    pub open: RedBlackTreeMapSync<OccurrenceKey, Occurrence>,
    /// Labels of jobs whose text a model wrote in a conversation with outside text.
    pub origins: RedBlackTreeMapSync<CostSource, PlanOrigin>,
    /// Origins of inbox items, notes, tasks and events that a model wrote in a conversation with outside text.
    pub items: RedBlackTreeMapSync<OwnItem, ItemOrigin>,
    /// Session heads of persistent routines.
    pub sessions: BTreeMap<ItemId, SessionHead>,
    /// Job files with problems, by path.
    pub broken: BTreeMap<String, BrokenFile>,
    /// Jobs whose last occurrence failed, with the reason already shown to the user.
    pub failing: BTreeMap<CostSource, String>,
    /// Start of the last late job.
    pub caught_up: Option<Timestamp>,
    /// The last finished plan, which the user may mean by `it`.
    pub last_finished: Option<(JobSpec, Timestamp)>,
    /// Undoable changes, newest last.
    pub changes: Arc<Vec<PlanUndo>>,
    /// The latest time seen by the schedule, to detect a clock that was set back.
    pub latest_time: Option<Timestamp>,
}

/// A problem with a job file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenFile {
    pub problem: FileProblem,
    /// Text for the user.
    pub why: String,
}

/// The kind of problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileProblem {
    /// Unreadable; with the plan that the file names, as far as known.
    Unreadable(Option<CostSource>),
    /// It asks for more than the user has accepted.
    NotAccepted,
}

impl PartialEq for Plans {
    /// Compares plans, open occurrences and sessions; watermarks do not matter.
    fn eq(&self, other: &Self) -> bool {
        let planned = |plans: &Self| -> Vec<_> {
            plans.agenda.plans().map(|(_, plan)| (Arc::clone(&plan.job), plan.next)).collect()
        };
        self.open == other.open && self.sessions == other.sessions && planned(self) == planned(other)
    }
}

impl Plans {
    /// Describes the outside text that a model had read before it planned or changed the job
    /// `source`.
    pub fn origin_of(&self, source: &CostSource) -> Option<&str> {
        self.origins.get(source).map(|origin| origin.from.as_str()).filter(|from| !from.is_empty())
    }

    /// Describes the outside text that a model had read before it added this inbox item.
    pub fn origin_of_kept(&self, id: InboxItemId) -> Option<&str> {
        self.items.get(&OwnItem::Inbox(id)).map(|origin| origin.from.as_str())
    }

    /// Returns the last change that was not undone.
    pub fn last_change(&self) -> Option<&PlanUndo> {
        self.changes.last()
    }

    /// Returns the last change, if it was made after the copy `before`; an older change can become
    /// the last one through an undo.
    pub fn change_since(&self, before: &Self) -> Option<&PlanUndo> {
        self.last_change().filter(|last| !before.changes.contains(last))
    }

    /// Records a problem with `file`. Returns true if it is new.
    pub(super) fn set_broken(&mut self, file: String, broken: BrokenFile) -> bool {
        let why = broken.why.clone();
        self.broken.insert(file, broken).is_none_or(|known| known.why != why)
    }

    /// Returns the occurrence of `source` that runs, waits for a retry, or waits for main.
    pub fn busy_with(&self, source: &CostSource) -> Option<&Occurrence> {
        self.occurrences_of(source).find(|occurrence| occurrence.state != OccurrenceState::Queued)
    }

    /// Returns the queued occurrence of `source`.
    pub fn queued(&self, source: &CostSource) -> Option<&Occurrence> {
        self.occurrences_of(source).find(|occurrence| occurrence.state == OccurrenceState::Queued)
    }

    /// Returns the occurrence whose prompt is `message`.
    pub fn asked_with(&self, message: MessageId) -> Option<&Occurrence> {
        self.open.values().find(|occurrence| occurrence.state == OccurrenceState::SentToMain(message))
    }

    /// Returns the number of late occurrences in progress.
    pub fn late_count(&self) -> usize {
        let goes_on = |stage: &OccurrenceState| {
            matches!(stage, OccurrenceState::Running(_) | OccurrenceState::SentToMain(_))
        };
        let late =
            |occurrence: &&Occurrence| occurrence.lateness == Lateness::Late && goes_on(&occurrence.state);
        self.open.values().filter(late).count()
    }

    /// Returns the earliest retry time.
    pub fn next_retry(&self) -> Option<Timestamp> {
        let read = |occurrence: &&Occurrence| !self.is_unread(occurrence);
        let again = |occurrence: &Occurrence| match occurrence.state {
            OccurrenceState::Retrying(at) => Some(at),
            OccurrenceState::Running(_)
            | OccurrenceState::SentToMain(_)
            | OccurrenceState::Queued
            | OccurrenceState::Ended(_) => None,
        };
        self.open.values().filter(read).filter_map(again).min()
    }

    /// Returns true if the job's file has not been read since the start.
    pub fn is_unread(&self, occurrence: &Occurrence) -> bool {
        self.known_watermarks.contains_key(&occurrence.key.source)
    }

    fn occurrences_of<'a>(&'a self, source: &CostSource) -> impl Iterator<Item = &'a Occurrence> + use<'a> {
        let key = |due| OccurrenceKey { source: source.clone(), due };
        self.open.range(key(Timestamp::MIN)..=key(Timestamp::MAX)).map(|(_, occurrence)| occurrence)
    }
}
