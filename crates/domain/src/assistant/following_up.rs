//! Follow-ups: an unanswered reminder is repeated once in other words, and then waits for the
//! digest.

use jiff::{SignedDuration, Timestamp};

use super::{Assistant, Minutes};
use crate::attention::HeldFor;
use crate::card::{Card, Chase, put_otherwise};
use crate::post::PostKey;

/// How long an unanswered card waits for the digest if follow-ups are off.
const USUAL: u32 = 20;
/// After this delay a reminder is not followed up, but only waits for the digest.
const STALE: SignedDuration = SignedDuration::from_hours(2);

impl Assistant {
    /// Returns the time at which the next card needs a follow-up.
    pub(super) fn cards_wake(&self) -> Option<Timestamp> {
        self.memory.messages.cards.unanswered().filter_map(|(card, _)| self.waited(card)).min()
    }

    /// Returns the time at which `card` needs its next follow-up, if it still waits.
    fn waited(&self, card: &Card) -> Option<Timestamp> {
        let minutes = self.memory.chosen.settings.calm.follow_up_minutes.unwrap_or(USUAL);
        let wait = SignedDuration::from_mins(i64::from(minutes));
        let since = match card.chase {
            Chase::Once => card.rang,
            Chase::Twice(at) => at,
            Chase::Left => return None,
        };
        since.checked_add(wait).ok()
    }

    /// Follows up or defers the cards that are due.
    pub(super) fn tend_cards(&mut self, minutes: &mut Minutes) {
        let cards = &self.memory.messages.cards;
        let due = cards.unanswered().filter_map(|(card, post)| Some((self.waited(card)?, card, post)));
        let due: Vec<(Timestamp, Card, PostKey)> = due
            .filter(|(at, ..)| *at <= minutes.at)
            .map(|(at, card, post)| (at, card.clone(), post.clone()))
            .collect();
        for (at, card, post) in due {
            if card.chase == Chase::Once && self.may_follow_up(at, &post, minutes) {
                self.follow_up_on(card, post, minutes)
            } else {
                self.keep_back(
                    (card.source(), "reminder".to_owned()),
                    (card.words.clone(), self.label_of_words(&card.source())),
                    HeldFor::Unanswered,
                    minutes,
                );
                self.write_card((Card { chase: Chase::Left, ..card }, post), minutes);
            }
        }
    }

    /// Returns true if a card due since `at` may be followed up now: not in quiet hours or a focus,
    /// and not one of several.
    fn may_follow_up(&self, at: Timestamp, post: &PostKey, minutes: &Minutes) -> bool {
        let now = minutes.at.to_zoned(minutes.zone.clone());
        let calm = self.quiet_until(&now).is_none() && self.focus(&now).is_none();
        let wanted = self.memory.chosen.settings.calm.follow_up_minutes.is_some();
        let alone = self.memory.messages.cards.under(post).len() == 1;
        wanted && calm && alone && minutes.at.duration_since(at) < STALE
    }

    fn follow_up_on(&mut self, card: Card, post: PostKey, minutes: &mut Minutes) {
        let label = self.label_of_words(&card.source());
        let said = self.speak_of(&put_otherwise(&card), label, minutes);
        let followed = said.unwrap_or_else(|| PostKey::card(&card.id, minutes.at));
        let card = Card { chase: Chase::Twice(minutes.at), followed: Some(followed), ..card };
        self.write_card((card, post), minutes);
    }
}
