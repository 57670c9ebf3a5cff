//! Labels: which private data a text contains, and which of its sources are outside.
//!
//! A label only rises, because text cannot be unread. `permission` decides what follows from a
//! label.

use std::fmt;
use std::str::FromStr;

/// The source of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Realm {
    /// The user's messages.
    Chat,
    Mail,
    Calendar,
    Tasks,
    /// The user's files.
    Files,
    /// Earlier conversations.
    History,
    Web,
    /// A tool server.
    Server,
    Picture,
    Webhook,
    /// A report of a run that read text from outside.
    Report,
}

impl Realm {
    pub const ALL: [Self; 11] = [
        Self::Chat,
        Self::Mail,
        Self::Calendar,
        Self::Tasks,
        Self::Files,
        Self::History,
        Self::Web,
        Self::Server,
        Self::Picture,
        Self::Webhook,
        Self::Report,
    ];

    /// Returns the stored word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Mail => "mail",
            Self::Calendar => "calendar",
            Self::Tasks => "tasks",
            Self::Files => "files",
            Self::History => "history",
            Self::Web => "web",
            Self::Server => "server",
            Self::Picture => "picture",
            Self::Webhook => "webhook",
            Self::Report => "report",
        }
    }

    /// Returns the name for the user, after "from".
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Chat => "our conversation",
            Self::Mail => "mail",
            Self::Calendar => "the calendar",
            Self::Tasks => "tasks",
            Self::Files => "files",
            Self::History => "earlier conversations",
            Self::Web => "the web",
            Self::Server => "a tool server",
            Self::Picture => "a picture",
            Self::Webhook => "a webhook",
            Self::Report => "a background report",
        }
    }

    fn bit(self) -> u16 {
        1 << (self as u16)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Realms(u16);

impl Realms {
    pub const NONE: Self = Self(0);

    pub fn single(realm: Realm) -> Self {
        Self(realm.bit())
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, realm: Realm) -> bool {
        self.0 & realm.bit() != 0
    }

    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether all realms are in `other`.
    pub fn is_subset_of(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = Realm> {
        Realm::ALL.into_iter().filter(move |realm| self.contains(*realm))
    }

    fn parse(text: &str) -> Option<Self> {
        let known = |word: &str| Realm::ALL.into_iter().find(|realm| realm.as_str() == word);
        let words = text.split(',').filter(|word| !word.is_empty());
        words.map(|word| known(word).map(Self::single)).try_fold(Self::NONE, |all, one| Some(all.union(one?)))
    }
}

impl fmt::Display for Realms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.iter().map(Realm::as_str).collect();
        f.write_str(&words.join(","))
    }
}

/// The label of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Label {
    /// The realms of its private data.
    pub private: Realms,
    /// The realms of its outside text: everything that is not written by the user, the program or
    /// the model.
    pub outside: Realms,
}

impl Label {
    /// No private data and no outside text.
    pub const PLAIN: Self = Self { private: Realms::NONE, outside: Realms::NONE };

    /// Private data that the user wrote.
    pub fn private(realm: Realm) -> Self {
        Self { private: Realms::single(realm), outside: Realms::NONE }
    }

    /// Text that anyone may have written.
    pub fn outside(realm: Realm) -> Self {
        Self { private: Realms::NONE, outside: Realms::single(realm) }
    }

    /// Private data that anyone may have written, such as mail.
    pub fn both(realm: Realm) -> Self {
        Self { private: Realms::single(realm), outside: Realms::single(realm) }
    }

    /// Returns the label of both together.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { private: self.private.union(other.private), outside: self.outside.union(other.outside) }
    }

    /// Returns whether it contains outside text.
    pub fn is_tainted(self) -> bool {
        !self.outside.is_empty()
    }

    pub fn is_private(self) -> bool {
        !self.private.is_empty()
    }

    /// Returns whether `other` covers this label.
    pub fn is_covered_by(self, other: Self) -> bool {
        self.private.is_subset_of(other.private) && self.outside.is_subset_of(other.outside)
    }
}

/// The stored form: private realms, then outside realms.
impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{};{}", self.private, self.outside)
    }
}

impl FromStr for Label {
    type Err = InvalidLabel;

    fn from_str(text: &str) -> Result<Self, InvalidLabel> {
        let read = |text: &str| {
            let (private, outside) = text.split_once(';')?;
            Some(Self { private: Realms::parse(private)?, outside: Realms::parse(outside)? })
        };
        read(text).ok_or_else(|| InvalidLabel(text.to_owned()))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no label")]
pub struct InvalidLabel(String);

#[cfg(test)]
mod tests {
    use super::*;

    fn label(number: u32) -> Label {
        let bits = |shift: u32| Realms(((number >> shift) & 0x7ff) as u16);
        Label { private: bits(0), outside: bits(11) }
    }

    /// A stored label is parsed back unchanged.
    #[test]
    fn label_round_trips() {
        for number in (0..1 << 22).step_by(97) {
            let label = label(number);
            assert_eq!(label.to_string().parse(), Ok(label));
        }
        assert_eq!(Label::both(Realm::Mail).to_string(), "mail;mail");
        for wrong in ["", "mail", "mail;mice", "mail;;web"] {
            assert!(wrong.parse::<Label>().is_err(), "{wrong}");
        }
    }

    /// A label only rises, in any order of joins.
    #[test]
    fn joined_label_covers_both() {
        for number in (0..1 << 22).step_by(5_003) {
            let one = label(number);
            let other = label(number.rotate_left(7) & 0x3f_ffff);
            let both = one.join(other);
            assert!(one.is_covered_by(both) && other.is_covered_by(both), "{one} {other}");
            assert_eq!((both, both), (other.join(one), both.join(one)));
            assert_eq!(one.join(Label::PLAIN), one);
        }
    }
}
