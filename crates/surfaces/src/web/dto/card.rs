//! Reminder cards as JSON.

use domain::card::{Card, CardState, PICK_TIME_OPTION};
use jiff::Zoned;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::embed::ButtonDto;
use crate::web::sessions::format_time;

#[derive(Serialize)]
pub struct CardDto {
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
    pub buttons: Vec<ButtonDto>,
    /// Value to send with a time to move it, if it can be moved.
    pub moves: Option<String>,
    /// Suggested times for moving it.
    pub times: Vec<String>,
    /// Current text, and the time it mentions.
    pub says: String,
    pub when: Option<String>,
}

impl From<&Card> for CardDto {
    fn from(card: &Card) -> Self {
        // The buttons do not depend on the time.
        Self::new(card, &card.rang_at.to_zoned(TimeZone::UTC))
    }
}

impl CardDto {
    /// Creates the card as of `now`.
    pub fn new(card: &Card, now: &Zoned) -> Self {
        let (state, at) = match &card.state {
            CardState::Open => ("open", None),
            CardState::Done(at) => ("done", Some(at.to_string())),
            CardState::Moved(to, _) => ("moved", Some(to.to_string())),
            CardState::Planned(_) => ("planned", None),
            CardState::Dropped => ("dropped", None),
        };
        let sheet = card.body(now);
        let (moves, times) = sheet.menu.map(|menu| (menu.action_id, menu.options)).unzip();
        Self {
            id: card.id.to_string(),
            words: card.task.clone(),
            said: card.text.clone(),
            rang: format_time(card.rang_at, now.time_zone()),
            state,
            at,
            buttons: sheet.buttons.iter().map(ButtonDto::from).collect(),
            moves,
            times: times.unwrap_or_default().into_iter().filter(|time| time != PICK_TIME_OPTION).collect(),
            says: sheet.text,
            when: sheet.time.map(|when| format_time(when, now.time_zone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::card::{CardId, FollowUpState};
    use domain::schedule::ItemId;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn a_card_contains_its_buttons() {
        let open = Card {
            id: CardId(ItemId::parse("a1b2c3d4").unwrap()),
            task: "leave".to_owned(),
            text: "⏰ leave".to_owned(),
            rang_at: Timestamp::UNIX_EPOCH,
            state: CardState::Open,
            snoozes: 0,
            follow_up: FollowUpState::AskedOnce,
            follow_up_post: None,
        };
        let wire = CardDto::from(&open);
        let pressed: Vec<_> = wire.buttons.iter().filter_map(|button| button.press.as_deref()).collect();
        assert_eq!(pressed[..2], ["act:rem_done:a1b2c3d4", "act:rem_later:a1b2c3d4"]);
        assert_eq!((wire.state, wire.moves.as_deref()), ("open", Some("act:rem_move:a1b2c3d4")));
        let done = CardDto::from(&Card { state: CardState::Done(Timestamp::UNIX_EPOCH), ..open });
        assert_eq!((done.state, done.at.as_deref()), ("done", Some("1970-01-01T00:00:00Z")));
        assert_eq!((done.buttons.len(), done.moves), (1, None));
    }
}
