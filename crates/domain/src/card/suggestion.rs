//! Suggestion cards: `5 of 6 times you moved stretch from 11:00 to 14:00. move it?`
//!
//! The times are parsed from the message, so that exactly what the user reads is done.

use jiff::civil::Time;

use super::{Act, Card, CardId, Chase, State};
use crate::attention::Suggestion;
use crate::embed::Style;
use crate::post::Sheet;
use crate::schedule::ItemId;

/// The prefix of the routine's id in the id of the card.
const ABOUT: &str = "move.";
const ASKS: &str = ". move it?";

/// The current and the suggested time of a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The current time.
    pub from: Time,
    /// The suggested time.
    pub to: Time,
}

impl Card {
    /// The card that suggests another time for the routine `id` with the display name `name`.
    pub fn suggesting(
        id: &ItemId,
        name: &str,
        from: Time,
        found: Suggestion,
        at: jiff::Timestamp,
    ) -> Option<Self> {
        let Suggestion { moved, of, to } = found;
        let said =
            format!("{moved} of {of} times you moved {name} from {} to {}{ASKS}", shown(from), shown(to));
        let id = CardId(ItemId::parse(&format!("{ABOUT}{id}")).ok()?);
        let words = name.to_owned();
        let state = State::Open;
        let chase = Chase::Left;
        Some(Self { id, words, said, rang: at, state, snoozes: 0, chase, followed: None })
    }

    /// The routine and the times of a suggestion card; `None` for other cards.
    pub fn suggestion(&self) -> Option<(&str, Times)> {
        let routine = self.id.0.as_str().strip_prefix(ABOUT)?;
        let (rest, to) = self.said.strip_suffix(ASKS)?.rsplit_once(" to ")?;
        let (_, from) = rest.rsplit_once(" from ")?;
        let clock = |text: &str| Time::strptime("%H:%M", text).ok();
        Some((routine, Times { from: clock(from)?, to: clock(to)? }))
    }

    /// Renders a suggestion card; `None` for other cards.
    pub(super) fn suggestion_sheet(&self) -> Option<Sheet> {
        let (_, Times { from, to }) = self.suggestion()?;
        let settled =
            |at: Time, how: &str| (format!("{} {how} {}.", self.words, shown(at)), vec![self.undo()]);
        let (words, buttons) = match &self.state {
            State::Open => (
                self.said.clone(),
                vec![
                    self.button("Move it", Style::Primary, Act::Plan),
                    self.button("Leave it", Style::Secondary, Act::Drop),
                ],
            ),
            State::Done(_) | State::Moved(..) | State::Planned(_) => settled(to, "comes from now on at"),
            State::Dropped => settled(from, "stays at"),
        };
        Some(Sheet { words, buttons, ..Sheet::default() })
    }
}

fn shown(time: Time) -> String {
    time.strftime("%H:%M").to_string()
}
