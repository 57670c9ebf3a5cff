//! Cards: a reminder that rang, with what the human can do about it.
//!
//! A card is pressed once: what it came to is written down, and pressing it again changes nothing.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp, Zoned};

use crate::cost::Source;
use crate::embed::{Action, Button, Style};
use crate::post::{Menu, PostKey, Sheet};
use crate::schedule::ItemId;

/// How long a card can be pressed.
pub const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How much later `In 10 min` is.
pub const LATER: SignedDuration = SignedDuration::from_mins(10);
/// The choice with which a time is asked for.
pub const PICK: &str = "pick a time…";
/// The choice that ends it.
pub const DROP: &str = "drop it";

/// What a card is known by: its reminder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CardId(pub ItemId);

impl fmt::Display for CardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

/// A reminder that rang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// What it is known by.
    pub id: CardId,
    /// What the human asked to be reminded of.
    pub words: String,
    /// How it was put when it rang.
    pub said: String,
    /// When it rang.
    pub rang: Timestamp,
    /// What became of it.
    pub state: State,
}

/// What became of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing yet.
    Open,
    /// It is done, since then.
    Done(Timestamp),
    /// It rings again then, as this reminder.
    Moved(Timestamp, Source),
    /// It does not ring again.
    Dropped,
}

/// What can be done with a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// It is done.
    Done,
    /// It rings again in ten minutes.
    Later,
    /// The assistant breaks it down into small steps.
    Split,
    /// It rings again at the time in these words.
    Move(String),
    /// The last of these is taken back.
    Undo,
}

/// The cards that can be pressed, each with what it was posted under.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cards(BTreeMap<CardId, (Card, PostKey)>);

impl Cards {
    /// These cards.
    pub fn new(cards: Vec<(Card, PostKey)>) -> Self {
        Self(cards.into_iter().map(|(card, post)| (card.id.clone(), (card, post))).collect())
    }

    /// The card `id`: nothing, if it is too old.
    pub fn get(&self, id: &CardId) -> Option<&(Card, PostKey)> {
        self.0.get(id)
    }

    /// The card that was posted under `key`.
    pub fn posted(&self, key: &PostKey) -> Option<&CardId> {
        self.0.iter().find(|(_, (_, post))| post == key).map(|(id, _)| id)
    }

    /// Keeps `card` beside all others that are not too old.
    pub fn keep(&mut self, card: Card, post: PostKey) {
        let oldest = card.rang.checked_sub(KEPT).unwrap_or(Timestamp::MIN);
        self.0.retain(|_, (card, _)| card.rang > oldest);
        self.0.insert(card.id.clone(), (card, post));
    }
}

impl Card {
    /// What the human sees of it.
    pub fn sheet(&self, now: &Zoned) -> Sheet {
        let words = &self.words;
        match &self.state {
            State::Open => Sheet {
                words: self.said.clone(),
                buttons: self.buttons(),
                menu: Some(self.menu(now)),
                ..Sheet::default()
            },
            State::Done(at) => {
                let at = at.to_zoned(now.time_zone().clone());
                let words = format!("~~{words}~~ done {}", at.strftime("%H:%M"));
                Sheet { words, buttons: vec![self.undo()], ..Sheet::default() }
            }
            State::Moved(to, _) => Sheet {
                words: format!("{words} · moved to"),
                when: Some(*to),
                buttons: vec![self.undo()],
                ..Sheet::default()
            },
            State::Dropped => {
                let words = format!("~~{words}~~ dropped");
                Sheet { words, buttons: vec![self.undo()], ..Sheet::default() }
            }
        }
    }

    fn buttons(&self) -> Vec<Button> {
        let button = |label: &str, style, act| {
            let (label, action) = (label.to_owned(), Action::Card(self.id.clone(), act));
            Button { label, style, action }
        };
        vec![
            button("Done", Style::Success, Act::Done),
            button("In 10 min", Style::Secondary, Act::Later),
            button("Break it down", Style::Secondary, Act::Split),
        ]
    }

    fn undo(&self) -> Button {
        let (label, action) = ("Undo".to_owned(), Action::Card(self.id.clone(), Act::Undo));
        Button { label, style: Style::Secondary, action }
    }

    /// Times that fit most days; those of today only while they are ahead.
    fn menu(&self, now: &Zoned) -> Menu {
        let tonight = (now.hour() < 19).then_some("tonight 20:00");
        let times = ["in 1 hour", "in 3 hours"].into_iter().chain(tonight);
        let days = ["tomorrow 09:00", "saturday 10:00", "next monday 09:00", PICK, DROP];
        let options = times.chain(days).map(str::to_owned).collect();
        let press = Action::Card(self.id.clone(), Act::Move(String::new())).press().unwrap_or_default();
        Menu { label: "Move to…".to_owned(), press, options }
    }
}
