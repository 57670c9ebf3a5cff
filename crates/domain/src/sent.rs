//! What was sent to the human: which run a message came from, and what its buttons ask.
//!
//! Both are known for seven days. What is older is not looked at, and is forgotten when the next one is kept.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::conversation::{EntryId, SessionId};
use crate::cost::Source;
use crate::label::{Label, Realm};
use crate::record::{MessageChange, Record, SentChange};

/// How long a reply finds its run, and a button its question.
pub const KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The number by which a surface knows a message that the human sees. On the page and in the terminal it is
/// the number of the entry that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SentId(pub u64);

impl From<EntryId> for SentId {
    fn from(entry: EntryId) -> Self {
        Self(entry.0)
    }
}

/// Where a message came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The message.
    pub id: SentId,
    /// The session of the run.
    pub session: SessionId,
    /// The session of main when the run began, if it began there.
    pub parent: Option<SessionId>,
    /// When this was kept.
    pub at: Timestamp,
    /// Where the run ended: nothing, if it was none of ours.
    pub end: Option<End>,
}

/// Where a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Whose run it was.
    pub source: Source,
    /// The entry of main at which it began: none, if it has nothing of main.
    pub root: Option<EntryId>,
    /// The last entry of the run.
    pub entry: EntryId,
    /// What is known of all words on the way there.
    pub label: Label,
}

/// What is known of where a message came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// From a run that can be gone on with.
    Live(&'a Origin, &'a End),
    /// From one that cannot.
    Expired(Gone),
    /// From none that we know of.
    Unknown,
}

/// Why a run cannot be gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// It is too long ago.
    Old,
    /// It was another program's.
    Elsewhere,
}

/// The number of a question: eight hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InquiryId(pub String);

impl fmt::Display for InquiryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a button asks when it is pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inquiry {
    /// Its number.
    pub id: InquiryId,
    /// What it asks.
    pub prompt: String,
    /// When it was kept.
    pub at: Timestamp,
    /// What is known of what it asks.
    pub label: Label,
}

/// What is known of what was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    origins: BTreeMap<SentId, Origin>,
    inquiries: BTreeMap<InquiryId, Inquiry>,
}

impl Sent {
    /// These origins and questions.
    pub fn new(origins: Vec<Origin>, inquiries: Vec<Inquiry>) -> Self {
        let origins = origins.into_iter().map(|origin| (origin.id, origin)).collect();
        let inquiries = inquiries.into_iter().map(|inquiry| (inquiry.id.clone(), inquiry)).collect();
        Self { origins, inquiries }
    }

    /// MT-7: where the message `id` came from.
    pub fn origin(&self, id: SentId, now: Timestamp) -> Found<'_> {
        match self.origins.get(&id) {
            None => Found::Unknown,
            Some(origin) if is_old(origin.at, now) => Found::Expired(Gone::Old),
            Some(origin) => match &origin.end {
                Some(end) => Found::Live(origin, end),
                None => Found::Expired(Gone::Elsewhere),
            },
        }
    }

    /// What is known of the words of the message `id`: nothing, if no run of ours sent it.
    pub fn label(&self, id: SentId) -> Option<Label> {
        let of_others = Label::outside(Realm::Report);
        self.origins.get(&id).map(|origin| origin.end.as_ref().map_or(of_others, |end| end.label))
    }

    /// MT-6, MT-8: keeps `origins` beside all others that are not too old.
    pub fn keep(&mut self, origins: &[Origin], now: Timestamp) {
        if !origins.is_empty() {
            self.origins.retain(|_, origin| !is_old(origin.at, now));
            self.origins.extend(origins.iter().map(|origin| (origin.id, origin.clone())));
        }
    }

    /// Removes messages that are too old. Returns whether there were any.
    pub fn prune(&mut self, now: Timestamp) -> bool {
        let before = self.origins.len();
        self.origins.retain(|_, origin| !is_old(origin.at, now));
        self.origins.len() < before
    }

    /// Forgets where these messages came from. Returns whether any of them was known.
    pub fn remove(&mut self, ids: &[SentId]) -> bool {
        let before = self.origins.len();
        self.origins.retain(|id, _| !ids.contains(id));
        self.origins.len() < before
    }

    /// Whether exactly this is known of where a message came from.
    pub fn has(&self, origin: &Origin) -> bool {
        self.origins.get(&origin.id) == Some(origin)
    }

    /// Whether messages are known that are too old.
    pub fn has_old(&self, now: Timestamp) -> bool {
        self.origins.values().any(|origin| is_old(origin.at, now))
    }

    /// XB-9: the question `id`: nothing, if it was asked or is too old.
    pub fn inquiry(&self, id: &InquiryId, now: Timestamp) -> Option<&Inquiry> {
        self.inquiries.get(id).filter(|inquiry| !is_old(inquiry.at, now))
    }

    /// Keeps a question beside all others that are not too old.
    pub fn register(&mut self, inquiry: Inquiry) {
        self.inquiries.retain(|_, other| !is_old(other.at, inquiry.at));
        self.inquiries.insert(inquiry.id.clone(), inquiry);
    }

    /// The question `id` is asked, and nobody asks it again.
    pub fn take(&mut self, id: &InquiryId) -> Option<Inquiry> {
        self.inquiries.remove(id)
    }
}

/// Whether what was kept at `at` is no longer known.
pub fn is_old(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) >= KEPT
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

    fn origin(id: u64, hours: i64, end: Option<End>) -> Origin {
        let session = SessionId::read("9d1e").unwrap();
        Origin { id: SentId(id), session, parent: None, at: at(hours), end }
    }

    fn end() -> Option<End> {
        Some(End {
            source: Source::Routine("mail".to_owned()),
            root: None,
            entry: EntryId(9),
            label: Label::PLAIN,
        })
    }

    /// MT-7, MT-8: live, too old, another program's, and unknown; what is too old goes when something is kept.
    #[test]
    fn a_message_is_known_for_seven_days() {
        let mut sent = Sent::new(vec![origin(1, 0, end()), origin(2, 0, None)], Vec::new());
        assert!(matches!(sent.origin(SentId(1), at(7 * 24 - 1)), Found::Live(..)));
        assert_eq!(sent.origin(SentId(1), at(7 * 24)), Found::Expired(Gone::Old));
        assert_eq!(sent.origin(SentId(2), at(1)), Found::Expired(Gone::Elsewhere));
        assert_eq!(sent.origin(SentId(3), at(1)), Found::Unknown);
        sent.keep(&[], at(7 * 24));
        assert_eq!(sent.origin(SentId(1), at(7 * 24)), Found::Expired(Gone::Old), "nothing was kept");
        sent.keep(&[origin(3, 7 * 24, end())], at(7 * 24));
        assert_eq!(sent.origin(SentId(1), at(7 * 24)), Found::Unknown);
        assert!(matches!(sent.origin(SentId(3), at(7 * 24)), Found::Live(..)));
    }

    /// XB-9: a question is asked once, within seven days.
    #[test]
    fn a_question_is_asked_once() {
        let inquiry = |id: &str, hours| {
            let prompt = "what now?".to_owned();
            Inquiry { id: InquiryId(id.to_owned()), prompt, at: at(hours), label: Label::PLAIN }
        };
        let mut sent = Sent::default();
        sent.register(inquiry("0a1b2c3d", 0));
        let id = InquiryId("0a1b2c3d".to_owned());
        assert!(sent.inquiry(&id, at(1)).is_some());
        assert_eq!(sent.inquiry(&id, at(7 * 24)), None);
        assert!(sent.take(&id).is_some() && sent.take(&id).is_none());
        sent.register(inquiry("0a1b2c3d", 0));
        sent.register(inquiry("1a1b2c3d", 7 * 24));
        assert_eq!(sent.take(&id), None, "it was too old to be kept");
    }
}
