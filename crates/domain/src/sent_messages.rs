//! Messages that were sent to the user: the run of each message, and the prompts of its buttons.
//!
//! Both are kept for seven days. Older ones are ignored, and removed when the next one is added.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::conversation::{EntryId, SessionId};
use crate::cost::CostSource;
use crate::label::{Label, Realm};
use crate::record::{MessageChange, Record, SentChange};

/// The time for which origins and prompts are kept.
pub const RETENTION: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The id of a message on a surface. On the page and in the terminal it is the id of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SentId(pub u64);

impl From<EntryId> for SentId {
    fn from(entry: EntryId) -> Self {
        Self(entry.0)
    }
}

/// The run that sent a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageOrigin {
    pub id: SentId,
    pub session: SessionId,
    /// The session of main when the run began, if it began there.
    pub parent: Option<SessionId>,
    /// The time when this was stored.
    pub at: Timestamp,
    /// The end of the run; `None` for a run of another program.
    pub end: Option<RunEnd>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    pub source: CostSource,
    /// The entry of main at which it began; `None` if it has no history of main.
    pub root: Option<EntryId>,
    /// The last entry of the run.
    pub entry: EntryId,
    /// The joined label of all entries on the path.
    pub label: Label,
}

/// The result of looking up the origin of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginLookup<'a> {
    /// A run that can be continued.
    Live(&'a MessageOrigin, &'a RunEnd),
    /// A run that cannot be continued.
    Expired(OriginExpiry),
    /// No known run.
    Unknown,
}

/// The reason why a run cannot be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginExpiry {
    TooOld,
    /// The run belongs to another program.
    OtherProgram,
}

/// The id of a stored prompt: eight hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoredPromptId(pub String);

impl fmt::Display for StoredPromptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The prompt of a button, stored until it is pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPrompt {
    pub id: StoredPromptId,
    pub prompt: String,
    /// The time when it was stored.
    pub at: Timestamp,
    pub label: Label,
}

/// The known origins and stored prompts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentMessages {
    origins: BTreeMap<SentId, MessageOrigin>,
    prompts: BTreeMap<StoredPromptId, StoredPrompt>,
}

impl SentMessages {
    pub fn new(origins: Vec<MessageOrigin>, inquiries: Vec<StoredPrompt>) -> Self {
        let origins = origins.into_iter().map(|origin| (origin.id, origin)).collect();
        let inquiries = inquiries.into_iter().map(|inquiry| (inquiry.id.clone(), inquiry)).collect();
        Self { origins, prompts: inquiries }
    }

    /// MT-7: Looks up the origin of the message `id`.
    pub fn origin(&self, id: SentId, now: Timestamp) -> OriginLookup<'_> {
        match self.origins.get(&id) {
            None => OriginLookup::Unknown,
            Some(origin) if is_old(origin.at, now) => OriginLookup::Expired(OriginExpiry::TooOld),
            Some(origin) => match &origin.end {
                Some(end) => OriginLookup::Live(origin, end),
                None => OriginLookup::Expired(OriginExpiry::OtherProgram),
            },
        }
    }

    /// Returns the label of the message `id`; `None` if no run of this program sent it.
    pub fn label(&self, id: SentId) -> Option<Label> {
        let of_others = Label::outside(Realm::Report);
        self.origins.get(&id).map(|origin| origin.end.as_ref().map_or(of_others, |end| end.label))
    }

    /// MT-6, MT-8: Adds `origins` and removes those that are too old.
    pub fn add_origins(&mut self, origins: &[MessageOrigin], now: Timestamp) {
        if !origins.is_empty() {
            self.origins.retain(|_, origin| !is_old(origin.at, now));
            self.origins.extend(origins.iter().map(|origin| (origin.id, origin.clone())));
        }
    }

    /// Removes origins that are too old. Returns whether there were any.
    pub fn prune(&mut self, now: Timestamp) -> bool {
        let before = self.origins.len();
        self.origins.retain(|_, origin| !is_old(origin.at, now));
        self.origins.len() < before
    }

    /// Removes the origins of these messages. Returns whether any of them was known.
    pub fn remove(&mut self, ids: &[SentId]) -> bool {
        let before = self.origins.len();
        self.origins.retain(|id, _| !ids.contains(id));
        self.origins.len() < before
    }

    /// Returns whether exactly this origin is known.
    pub fn has_origin(&self, origin: &MessageOrigin) -> bool {
        self.origins.get(&origin.id) == Some(origin)
    }

    /// Returns whether there are origins that are too old.
    pub fn has_old(&self, now: Timestamp) -> bool {
        self.origins.values().any(|origin| is_old(origin.at, now))
    }

    /// XB-9: Returns the prompt `id`; `None` if it was used or is too old.
    pub fn stored_prompt(&self, id: &StoredPromptId, now: Timestamp) -> Option<&StoredPrompt> {
        self.prompts.get(id).filter(|inquiry| !is_old(inquiry.at, now))
    }

    /// Adds a prompt and removes those that are too old.
    pub fn register_prompt(&mut self, inquiry: StoredPrompt) {
        self.prompts.retain(|_, other| !is_old(other.at, inquiry.at));
        self.prompts.insert(inquiry.id.clone(), inquiry);
    }

    /// Removes and returns the prompt `id`, so that it is used only once.
    pub fn take_prompt(&mut self, id: &StoredPromptId) -> Option<StoredPrompt> {
        self.prompts.remove(id)
    }
}

/// Returns whether something that was stored at `at` is too old.
pub fn is_old(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) >= RETENTION
}

impl From<SentChange> for Record {
    fn from(change: SentChange) -> Self {
        Self::Message(MessageChange::Sent(change))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::constant(1_794_700_000, 0) + SignedDuration::from_hours(hours)
    }

    fn origin(id: u64, hours: i64, end: Option<RunEnd>) -> MessageOrigin {
        let session = SessionId::parse("9d1e").unwrap();
        MessageOrigin { id: SentId(id), session, parent: None, at: at(hours), end }
    }

    fn end() -> Option<RunEnd> {
        Some(RunEnd {
            source: CostSource::Routine("mail".to_owned()),
            root: None,
            entry: EntryId(9),
            label: Label::PLAIN,
        })
    }

    /// MT-7, MT-8: Origins are live, too old, of another program, or unknown; old ones are removed
    /// when one is added.
    #[test]
    fn origin_is_known_for_seven_days() {
        let mut sent = SentMessages::new(vec![origin(1, 0, end()), origin(2, 0, None)], Vec::new());
        assert!(matches!(sent.origin(SentId(1), at(7 * 24 - 1)), OriginLookup::Live(..)));
        assert_eq!(sent.origin(SentId(1), at(7 * 24)), OriginLookup::Expired(OriginExpiry::TooOld));
        assert_eq!(sent.origin(SentId(2), at(1)), OriginLookup::Expired(OriginExpiry::OtherProgram));
        assert_eq!(sent.origin(SentId(3), at(1)), OriginLookup::Unknown);
        sent.add_origins(&[], at(7 * 24));
        assert_eq!(
            sent.origin(SentId(1), at(7 * 24)),
            OriginLookup::Expired(OriginExpiry::TooOld),
            "nothing was kept"
        );
        sent.add_origins(&[origin(3, 7 * 24, end())], at(7 * 24));
        assert_eq!(sent.origin(SentId(1), at(7 * 24)), OriginLookup::Unknown);
        assert!(matches!(sent.origin(SentId(3), at(7 * 24)), OriginLookup::Live(..)));
    }

    /// XB-9: A prompt is used once, within seven days.
    #[test]
    fn prompt_is_used_once() {
        let inquiry = |id: &str, hours| {
            let prompt = "what now?".to_owned();
            StoredPrompt { id: StoredPromptId(id.to_owned()), prompt, at: at(hours), label: Label::PLAIN }
        };
        let mut sent = SentMessages::default();
        sent.register_prompt(inquiry("0a1b2c3d", 0));
        let id = StoredPromptId("0a1b2c3d".to_owned());
        assert!(sent.stored_prompt(&id, at(1)).is_some());
        assert_eq!(sent.stored_prompt(&id, at(7 * 24)), None);
        assert!(sent.take_prompt(&id).is_some() && sent.take_prompt(&id).is_none());
        sent.register_prompt(inquiry("0a1b2c3d", 0));
        sent.register_prompt(inquiry("1a1b2c3d", 7 * 24));
        assert_eq!(sent.take_prompt(&id), None, "it was too old to be kept");
    }
}
