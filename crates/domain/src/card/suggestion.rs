//! Suggestion cards: `5 of 6 times you moved stretch from 11:00 to 14:00. move it?`
//!
//! The times are parsed from the message, so that exactly what the user reads is done.

use jiff::civil::Time;

use super::{Card, CardAction, CardId, CardState, FollowUpState};
use crate::attention::MoveSuggestion;
use crate::embed::ButtonStyle;
use crate::outbox::MessageBody;
use crate::schedule::ItemId;

/// The prefix of the routine's id in the id of the card.
const ID_PREFIX: &str = "move.";
const QUESTION: &str = ". move it?";

/// The current and the suggested time of a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeChange {
    /// The current time.
    pub from: Time,
    /// The suggested time.
    pub to: Time,
}

impl Card {
    /// The card that suggests another time for the routine `id` with the display name `name`.
    pub fn for_suggestion(
        id: &ItemId,
        name: &str,
        from: Time,
        found: MoveSuggestion,
        at: jiff::Timestamp,
    ) -> Option<Self> {
        let MoveSuggestion { moved, total: of, to } = found;
        let said = format!(
            "{moved} of {of} times you moved {name} from {} to {}{QUESTION}",
            format_time(from),
            format_time(to)
        );
        let id = CardId(ItemId::parse(&format!("{ID_PREFIX}{id}")).ok()?);
        let words = name.to_owned();
        let state = CardState::Open;
        let chase = FollowUpState::Finished;
        Some(Self {
            id,
            task: words,
            text: said,
            rang_at: at,
            state,
            snoozes: 0,
            follow_up: chase,
            follow_up_post: None,
        })
    }

    /// The routine and the times of a suggestion card; `None` for other cards.
    pub fn time_change(&self) -> Option<(&str, TimeChange)> {
        let routine = self.id.0.as_str().strip_prefix(ID_PREFIX)?;
        let (rest, to) = self.text.strip_suffix(QUESTION)?.rsplit_once(" to ")?;
        let (_, from) = rest.rsplit_once(" from ")?;
        let clock = |text: &str| Time::strptime("%H:%M", text).ok();
        Some((routine, TimeChange { from: clock(from)?, to: clock(to)? }))
    }

    /// Renders a suggestion card; `None` for other cards.
    pub(super) fn suggestion_body(&self) -> Option<MessageBody> {
        let (_, TimeChange { from, to }) = self.time_change()?;
        let settled = |at: Time, how: &str| {
            (format!("{} {how} {}.", self.task, format_time(at)), vec![self.undo_button()])
        };
        let (words, buttons) = match &self.state {
            CardState::Open => (
                self.text.clone(),
                vec![
                    self.button("Move it", ButtonStyle::Primary, CardAction::Plan),
                    self.button("Leave it", ButtonStyle::Secondary, CardAction::Drop),
                ],
            ),
            CardState::Done(_) | CardState::Moved(..) | CardState::Planned(_) => {
                settled(to, "comes from now on at")
            }
            CardState::Dropped => settled(from, "stays at"),
        };
        Some(MessageBody { text: words, buttons, ..MessageBody::default() })
    }
}

fn format_time(time: Time) -> String {
    time.strftime("%H:%M").to_string()
}
