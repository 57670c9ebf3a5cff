//! Labels: what is known of the words in a context besides the words. Whose private things they tell of, and where
//! words came from that nobody here wrote.
//!
//! A label only rises: whoever has read something has read it. What follows from one is decided in `permission`.

use std::fmt;
use std::str::FromStr;

/// Where something is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Realm {
    /// What the human said to us.
    Chat,
    /// Mail.
    Mail,
    /// The calendar.
    Calendar,
    /// The list of tasks, and the inbox.
    Tasks,
    /// The human's files.
    Files,
    /// What was said before, elsewhere.
    History,
    /// A page of the web, or a search.
    Web,
    /// A server that lends us tools.
    Server,
    /// A picture.
    Picture,
    /// A webhook.
    Webhook,
    /// What a run left whose own words come from outside.
    Report,
}

impl Realm {
    /// All of them.
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

    /// The word for it, as it is kept.
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

    /// What it is to people, after "from".
    pub fn in_words(self) -> &'static str {
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

/// A set of realms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Realms(u16);

impl Realms {
    /// None.
    pub const NONE: Self = Self(0);

    /// This one alone.
    pub fn of(realm: Realm) -> Self {
        Self(realm.bit())
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `realm` is among them.
    pub fn has(self, realm: Realm) -> bool {
        self.0 & realm.bit() != 0
    }

    /// These and those.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of these are among `other`.
    pub fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = Realm> {
        Realm::ALL.into_iter().filter(move |realm| self.has(*realm))
    }

    fn read(text: &str) -> Option<Self> {
        let known = |word: &str| Realm::ALL.into_iter().find(|realm| realm.as_str() == word);
        let words = text.split(',').filter(|word| !word.is_empty());
        words.map(|word| known(word).map(Self::of)).try_fold(Self::NONE, |all, one| Some(all.and(one?)))
    }
}

impl fmt::Display for Realms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.iter().map(Realm::as_str).collect();
        f.write_str(&words.join(","))
    }
}

/// What is known of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Label {
    /// The private things that they tell of.
    pub private: Realms,
    /// Where those words are from that nobody here wrote: nowhere, if somebody here wrote all of them.
    pub outside: Realms,
}

impl Label {
    /// Nothing is private, and nothing is from outside.
    pub const PLAIN: Self = Self { private: Realms::NONE, outside: Realms::NONE };

    /// What is private to the human, and theirs.
    pub fn private(realm: Realm) -> Self {
        Self { private: Realms::of(realm), outside: Realms::NONE }
    }

    /// What anybody may have written.
    pub fn outside(realm: Realm) -> Self {
        Self { private: Realms::NONE, outside: Realms::of(realm) }
    }

    /// What is private to the human, and what anybody may have written, such as mail.
    pub fn both(realm: Realm) -> Self {
        Self { private: Realms::of(realm), outside: Realms::of(realm) }
    }

    /// What is known of both together.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { private: self.private.and(other.private), outside: self.outside.and(other.outside) }
    }

    /// Whether words from outside are among them.
    pub fn is_tainted(self) -> bool {
        !self.outside.is_empty()
    }

    /// Whether anything private is among them.
    pub fn is_private(self) -> bool {
        !self.private.is_empty()
    }

    /// Whether `other` knows all that this one does.
    pub fn within(self, other: Self) -> bool {
        self.private.within(other.private) && self.outside.within(other.outside)
    }
}

/// As it is kept: what is private, and what is from outside.
impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{};{}", self.private, self.outside)
    }
}

impl FromStr for Label {
    type Err = Unlabelled;

    fn from_str(text: &str) -> Result<Self, Unlabelled> {
        let read = |text: &str| {
            let (private, outside) = text.split_once(';')?;
            Some(Self { private: Realms::read(private)?, outside: Realms::read(outside)? })
        };
        read(text).ok_or_else(|| Unlabelled(text.to_owned()))
    }
}

/// What is no label.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no label")]
pub struct Unlabelled(String);

#[cfg(test)]
mod tests {
    use super::*;

    fn label(number: u32) -> Label {
        let bits = |shift: u32| Realms(((number >> shift) & 0x7ff) as u16);
        Label { private: bits(0), outside: bits(11) }
    }

    /// A label is kept as words, and no label is lost on the way.
    #[test]
    fn a_label_reads_back_as_it_was_written() {
        for number in (0..1 << 22).step_by(97) {
            let label = label(number);
            assert_eq!(label.to_string().parse(), Ok(label));
        }
        assert_eq!(Label::both(Realm::Mail).to_string(), "mail;mail");
        for wrong in ["", "mail", "mail;mice", "mail;;web"] {
            assert!(wrong.parse::<Label>().is_err(), "{wrong}");
        }
    }

    /// A label only rises, whatever comes in which order.
    #[test]
    fn what_was_read_stays_read() {
        for number in (0..1 << 22).step_by(5_003) {
            let one = label(number);
            let other = label(number.rotate_left(7) & 0x3f_ffff);
            let both = one.join(other);
            assert!(one.within(both) && other.within(both), "{one} {other}");
            assert_eq!((both, both), (other.join(one), both.join(one)));
            assert_eq!(one.join(Label::PLAIN), one);
        }
    }
}
