//! Reminder cards as JSON.

use domain::card::{Card, PICK, State};
use jiff::Zoned;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::embed::ButtonWire;
use crate::web::sessions::moment;

#[derive(Serialize)]
pub struct CardWire {
    pub id: String,
    /// The user's text.
    pub words: String,
    /// The text shown when it rang.
    pub said: String,
    pub rang: String,
    /// `open`, `done`, `moved`, `planned` or `dropped`.
    pub state: &'static str,
    /// When it was done, or when it rings again.
    pub at: Option<String>,
    pub buttons: Vec<ButtonWire>,
    /// Value to send with a time to move it, if it can be moved.
    pub moves: Option<String>,
    /// Suggested times for moving it.
    pub times: Vec<String>,
    /// Current text, and the time it mentions.
    pub says: String,
    pub when: Option<String>,
}

impl From<&Card> for CardWire {
    fn from(card: &Card) -> Self {
        // The buttons do not depend on the time.
        Self::new(card, &card.rang.to_zoned(TimeZone::UTC))
    }
}

impl CardWire {
    /// Creates the card as of `now`.
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
