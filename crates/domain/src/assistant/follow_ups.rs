//! Follow-ups: an unanswered reminder is repeated once in other words, and then waits for the
//! digest.

use jiff::{SignedDuration, Timestamp};

use super::{Assistant, Transaction};
use crate::attention::DeferReason;
use crate::card::{Card, FollowUpState, follow_up_text};
use crate::outbox::OutboxKey;

/// How long an unanswered card waits for the digest if follow-ups are off.
const DEFAULT_WAIT_MINUTES: u32 = 20;
/// After this delay a reminder is not followed up, but only waits for the digest.
const MAX_DELAY: SignedDuration = SignedDuration::from_hours(2);

impl Assistant {
    /// Returns the time at which the next card needs a follow-up.
    pub(super) fn next_follow_up(&self) -> Option<Timestamp> {
        self.state.messages.cards.unanswered().filter_map(|(card, _)| self.follow_up_due(card)).min()
    }

    /// Returns the time at which `card` needs its next follow-up, if it still waits.
    fn follow_up_due(&self, card: &Card) -> Option<Timestamp> {
        let wait_minutes =
            self.state.choices.settings.notifications.follow_up_minutes.unwrap_or(DEFAULT_WAIT_MINUTES);
        let wait = SignedDuration::from_mins(i64::from(wait_minutes));
        let since = match card.follow_up {
            FollowUpState::AskedOnce => card.rang_at,
            FollowUpState::AskedTwice(at) => at,
            FollowUpState::Finished => return None,
        };
        since.checked_add(wait).ok()
    }

    /// Follows up or defers the cards that are due.
    pub(super) fn follow_up_cards(&mut self, tx: &mut Transaction) {
        let cards = &self.state.messages.cards;
        let due = cards.unanswered().filter_map(|(card, post)| Some((self.follow_up_due(card)?, card, post)));
        let due: Vec<(Timestamp, Card, OutboxKey)> = due
            .filter(|(at, ..)| *at <= tx.at)
            .map(|(at, card, post)| (at, card.clone(), post.clone()))
            .collect();
        for (at, card, post) in due {
            if card.follow_up == FollowUpState::AskedOnce && self.may_follow_up(at, &post, tx) {
                self.follow_up_card(card, post, tx)
            } else {
                self.defer_message(
                    (card.source(), "reminder".to_owned()),
                    (card.task.clone(), self.label_of_text(&card.source())),
                    DeferReason::Unanswered,
                    tx,
                );
                self.save_card_silently((Card { follow_up: FollowUpState::Finished, ..card }, post), tx);
            }
        }
    }

    /// Returns true if a card due since `at` may be followed up now: not in quiet hours or a focus,
    /// and not one of several.
    fn may_follow_up(&self, at: Timestamp, post: &OutboxKey, tx: &Transaction) -> bool {
        let now = tx.at.to_zoned(tx.zone.clone());
        let undisturbed = self.quiet_until(&now).is_none() && self.current_focus(&now).is_none();
        let wanted = self.state.choices.settings.notifications.follow_up_minutes.is_some();
        let alone = self.state.messages.cards.group_of(post).len() == 1;
        wanted && undisturbed && alone && tx.at.duration_since(at) < MAX_DELAY
    }

    fn follow_up_card(&mut self, card: Card, post: OutboxKey, tx: &mut Transaction) {
        let label = self.label_of_text(&card.source());
        let post_key = self.say_labelled_on_main(&follow_up_text(&card), label, tx);
        let followed = post_key.unwrap_or_else(|| OutboxKey::card(&card.id, tx.at));
        let card =
            Card { follow_up: FollowUpState::AskedTwice(tx.at), follow_up_post: Some(followed), ..card };
        self.save_card_silently((card, post), tx);
    }
}
