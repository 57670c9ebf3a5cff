//! A reminder that rang, on its way to whoever can press its buttons.

use domain::card::{Card, PICK, State};
use jiff::Zoned;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::embed::ButtonWire;
use crate::web::sessions::moment;

/// A reminder that rang.
#[derive(Serialize)]
pub struct CardWire {
    pub id: String,
    /// What the human asked to be reminded of.
    pub words: String,
    /// How it was put when it rang.
    pub said: String,
    pub rang: String,
    /// `open`, `done`, `moved`, `planned` or `dropped`.
    pub state: &'static str,
    /// When it was done, or when it rings again.
    pub at: Option<String>,
    pub buttons: Vec<ButtonWire>,
    /// What is sent, with the words for a time, to move it: nothing, if it cannot be moved.
    pub moves: Option<String>,
    /// The times that are offered for that.
    pub times: Vec<String>,
    /// What it says now, and a time that it speaks of.
    pub says: String,
    pub when: Option<String>,
}

impl From<&Card> for CardWire {
    fn from(card: &Card) -> Self {
        // Which buttons there are does not depend on the time.
        Self::new(card, &card.rang.to_zoned(TimeZone::UTC))
    }
}

impl CardWire {
    /// The card as it stands at `now`.
    pub fn new(card: &Card, now: &Zoned) -> Self {
        let (state, at) = match &card.state {
            State::Open => ("open", None),
            State::Done(at) => ("done", Some(at.to_string())),
            State::Moved(to, _) => ("moved", Some(to.to_string())),
            State::Planned(_) => ("planned", None),
            State::Dropped => ("dropped", None),
        };
        let sheet = card.sheet(now);
        let (moves, times) = sheet.menu.map(|menu| (menu.press, menu.options)).unzip();
        Self {
            id: card.id.to_string(),
            words: card.words.clone(),
            said: card.said.clone(),
            rang: moment(card.rang, now.time_zone()),
            state,
            at,
            buttons: sheet.buttons.iter().map(ButtonWire::from).collect(),
            moves,
            times: times.unwrap_or_default().into_iter().filter(|time| time != PICK).collect(),
            says: sheet.words,
            when: sheet.when.map(|when| moment(when, now.time_zone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::card::{CardId, Chase};
    use domain::schedule::ItemId;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn a_card_is_told_with_what_can_be_pressed() {
        let open = Card {
            id: CardId(ItemId::parse("a1b2c3d4").unwrap()),
            words: "leave".to_owned(),
            said: "⏰ leave".to_owned(),
            rang: Timestamp::UNIX_EPOCH,
            state: State::Open,
            snoozes: 0,
            chase: Chase::Once,
            followed: None,
        };
        let wire = CardWire::from(&open);
        let pressed: Vec<_> = wire.buttons.iter().filter_map(|button| button.press.as_deref()).collect();
        assert_eq!(pressed[..2], ["act:rem_done:a1b2c3d4", "act:rem_later:a1b2c3d4"]);
        assert_eq!((wire.state, wire.moves.as_deref()), ("open", Some("act:rem_move:a1b2c3d4")));
        let done = CardWire::from(&Card { state: State::Done(Timestamp::UNIX_EPOCH), ..open });
        assert_eq!((done.state, done.at.as_deref()), ("done", Some("1970-01-01T00:00:00Z")));
        assert_eq!((done.buttons.len(), done.moves), (1, None));
    }
}
