//! What the assistant keeps in mind of what is planned: the agenda, and the occurrences that have not ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use rpds::RedBlackTreeMapSync;

use super::item_origins::{ItemOrigin, OwnItem};
use super::origins::PlanOrigin;
use super::reverting::Changed;
use crate::cost::Source;
use crate::inbox::KeptId;
use crate::occurrence::{Key, Occurrence, Stage};
use crate::record::{MessageId, Stand};
use crate::schedule::{Accounted, Agenda, ItemId, Lateness, What};

/// What is planned, and what is being done about it. Copies share what did not change.
#[derive(Clone, Debug, Default)]
pub struct Plans {
    /// What is planned.
    pub agenda: Agenda,
    /// What was accounted for before the start, of plans whose files were not read yet.
    pub known: RedBlackTreeMapSync<Source, Accounted>,
    /// The occurrences that have not ended.
    pub open: RedBlackTreeMapSync<Key, Occurrence>,
    /// Labels of the jobs whose words a model wrote in a conversation with outside text.
    pub origins: RedBlackTreeMapSync<Source, PlanOrigin>,
    /// Origins of inbox items, notes, tasks and events that a model wrote in a conversation with outside text.
    pub items: RedBlackTreeMapSync<OwnItem, ItemOrigin>,
    /// Where the sessions of persistent routines stand.
    pub sessions: BTreeMap<ItemId, Stand>,
    /// The files with which something is wrong.
    pub broken: BTreeMap<String, Broken>,
    /// The jobs whose last time failed, and why: the human knows.
    pub failing: BTreeMap<Source, String>,
    /// When the last late one was begun.
    pub caught_up: Option<Timestamp>,
    /// What was done last, and when: what the human may mean by `it`.
    pub rang: Option<(What, Timestamp)>,
    /// The last changes in plain words, until they are taken back; the newest is the last.
    pub changes: Arc<Vec<Changed>>,
    /// The latest time at which anybody looked.
    pub looked: Option<Timestamp>,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// In which way.
    pub flaw: Flaw,
    /// What the human is told of it.
    pub why: String,
}

/// In which way a file is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It cannot be read. Whose it says it is, as far as that can be.
    Unreadable(Option<Source>),
    /// It asks for more than the human has accepted.
    Asking,
}

impl PartialEq for Plans {
    /// Two copies are the same if the same is planned and open in both; how far they were told does not matter.
    fn eq(&self, other: &Self) -> bool {
        let planned = |plans: &Self| -> Vec<_> {
            plans.agenda.plans().map(|(_, plan)| (Arc::clone(&plan.planned), plan.next)).collect()
        };
        self.open == other.open && self.sessions == other.sessions && planned(self) == planned(other)
    }
}

impl Plans {
    /// Returns what was read before the job `source` was planned or changed, if that was text from outside.
    pub fn origin_of(&self, source: &Source) -> Option<&str> {
        self.origins.get(source).map(|origin| origin.from.as_str()).filter(|from| !from.is_empty())
    }

    /// Returns what was read before this was put into the inbox, if that was text from outside.
    pub fn origin_of_kept(&self, id: KeptId) -> Option<&str> {
        self.items.get(&OwnItem::Inbox(id)).map(|origin| origin.from.as_str())
    }

    /// The last change that was not taken back.
    pub fn last(&self) -> Option<&Changed> {
        self.changes.last()
    }

    /// The change that was made since all was as in `before`. What is last once another was taken back is older.
    pub fn made_since(&self, before: &Self) -> Option<&Changed> {
        self.last().filter(|last| !before.changes.contains(last))
    }

    /// Something is wrong with `file`. Whether nobody knew.
    pub(super) fn flawed(&mut self, file: String, broken: Broken) -> bool {
        let why = broken.why.clone();
        self.broken.insert(file, broken).is_none_or(|known| known.why != why)
    }

    /// The occurrence of `source` that is being done, waits for another try, or waits for main.
    pub fn busy_with(&self, source: &Source) -> Option<&Occurrence> {
        self.of(source).find(|occurrence| occurrence.stage != Stage::Queued)
    }

    /// The occurrence of `source` that waits for an earlier one.
    pub fn queued(&self, source: &Source) -> Option<&Occurrence> {
        self.of(source).find(|occurrence| occurrence.stage == Stage::Queued)
    }

    /// The occurrence that was put to main with `message`.
    pub fn asked(&self, message: MessageId) -> Option<&Occurrence> {
        self.open.values().find(|occurrence| occurrence.stage == Stage::Asked(message))
    }

    /// How many late ones go on.
    pub fn late(&self) -> usize {
        let goes_on = |stage: &Stage| matches!(stage, Stage::Running(_) | Stage::Asked(_));
        let late =
            |occurrence: &&Occurrence| occurrence.lateness == Lateness::Late && goes_on(&occurrence.stage);
        self.open.values().filter(late).count()
    }

    /// The first time at which a failed one is tried again.
    pub fn tries_again(&self) -> Option<Timestamp> {
        let read = |occurrence: &&Occurrence| !self.is_unread(occurrence);
        let again = |occurrence: &Occurrence| match occurrence.stage {
            Stage::Again(at) => Some(at),
            Stage::Running(_) | Stage::Asked(_) | Stage::Queued | Stage::Ended(_) => None,
        };
        self.open.values().filter(read).filter_map(again).min()
    }

    /// Whether nobody knows yet what the file of its job says since the start.
    pub fn is_unread(&self, occurrence: &Occurrence) -> bool {
        self.known.contains_key(&occurrence.key.source)
    }

    fn of<'a>(&'a self, source: &Source) -> impl Iterator<Item = &'a Occurrence> + use<'a> {
        let key = |due| Key { source: source.clone(), due };
        self.open.range(key(Timestamp::MIN)..=key(Timestamp::MAX)).map(|(_, occurrence)| occurrence)
    }
}
