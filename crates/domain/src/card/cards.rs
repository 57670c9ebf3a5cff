//! The collection of cards that can still be pressed.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Card, CardId, Chase, KEPT, State};
use crate::cost::Source;
use crate::post::PostKey;

/// The cards that can still be pressed, each with its post.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cards {
    all: BTreeMap<CardId, (Card, PostKey)>,
    /// Open cards that may still get a follow-up.
    unanswered: BTreeSet<CardId>,
}

impl Cards {
    /// Drops cards that are older than [`CARD_LIFETIME`] relative to the newest one.
    pub fn new(mut cards: Vec<(Card, PostKey)>) -> Self {
        let newest = cards.iter().map(|(card, _)| card.rang).max();
        let oldest = newest.and_then(|newest| newest.checked_sub(KEPT).ok()).unwrap_or(Timestamp::MIN);
        cards.retain(|(card, _)| card.rang > oldest);
        let unanswered = cards.iter().filter(|(card, _)| card.waits()).map(|(card, _)| card.id.clone());
        let unanswered = unanswered.collect();
        let all = cards.into_iter().map(|(card, post)| (card.id.clone(), (card, post))).collect();
        Self { all, unanswered }
    }

    /// Returns the card `id` if it is not too old.
    pub fn get(&self, id: &CardId) -> Option<&(Card, PostKey)> {
        self.all.get(id)
    }

    /// The card whose delivery or follow-up has this post; prefers open cards.
    pub fn posted(&self, key: &PostKey) -> Option<&CardId> {
        let cards =
            self.all.values().filter(|(card, post)| post == key || card.followed.as_ref() == Some(key));
        let mut cards: Vec<&Card> = cards.map(|(card, _)| card).collect();
        cards.sort_by_key(|card| card.state != State::Open);
        cards.first().map(|card| &card.id)
    }

    /// The cards of a group post, in the order of their list.
    pub fn under(&self, key: &PostKey) -> Vec<&Card> {
        let all = self.all.values().filter(|(_, post)| post == key).map(|(card, _)| card);
        // Uses the positions in the message, so that numbers stay the same after a press. Cards
        // with the same text each get their own position.
        let mut taken = BTreeSet::new();
        let mut placed: Vec<(usize, &Card)> = Vec::new();
        for card in all {
            let place = card.places().find(|place| !taken.contains(place)).unwrap_or(usize::MAX);
            taken.insert(place);
            placed.push((place, card));
        }
        placed.sort_by_key(|(place, _)| *place);
        placed.into_iter().map(|(_, card)| card).collect()
    }

    /// The newest open card that matches `is`.
    pub fn find_open(&self, is: impl Fn(&Card) -> bool) -> Option<&CardId> {
        let open = self.all.values().map(|(card, _)| card).filter(|card| card.state == State::Open);
        open.filter(|card| is(card)).max_by_key(|card| card.rang).map(|card| &card.id)
    }

    /// The number of snoozes before the reminder `source`.
    pub fn put_off(&self, source: &Source) -> u32 {
        let became = |card: &&Card| matches!(&card.state, State::Moved(_, again) | State::Planned(again) if again == source);
        let before = self.all.values().map(|(card, _)| card).find(became);
        before.map_or(0, |card| card.snoozes + 1)
    }

    /// Open cards that may still get a follow-up.
    pub fn unanswered(&self) -> impl Iterator<Item = &(Card, PostKey)> {
        self.unanswered.iter().filter_map(|id| self.all.get(id))
    }

    /// Inserts or replaces `card`, and drops cards that are too old.
    pub fn keep(&mut self, card: Card, post: PostKey) {
        let oldest = card.rang.checked_sub(KEPT).unwrap_or(Timestamp::MIN);
        self.all.retain(|_, (card, _)| card.rang > oldest);
        let all = &self.all;
        self.unanswered.retain(|id| all.contains_key(id));
        if card.waits() {
            self.unanswered.insert(card.id.clone())
        } else {
            self.unanswered.remove(&card.id)
        };
        self.all.insert(card.id.clone(), (card, post));
    }
}

impl Card {
    fn waits(&self) -> bool {
        self.state == State::Open && self.chase != Chase::Left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::ItemId;

    #[test]
    fn cards_that_were_too_old_while_running_are_too_old_after_a_start() {
        let first: Timestamp = "2026-11-16T09:00:00Z".parse().unwrap();
        let card = |day: i64| Card {
            id: CardId(ItemId::parse(&format!("d{day}")).unwrap()),
            words: "call".to_owned(),
            said: "⏰ call".to_owned(),
            rang: first + jiff::SignedDuration::from_hours(24 * day),
            state: State::Open,
            snoozes: 0,
            chase: Chase::Left,
            followed: None,
        };
        let post = PostKey("words:1".to_owned());
        let all: Vec<(Card, PostKey)> = (0..40).map(|day| (card(day), post.clone())).collect();
        let mut kept = Cards::new(Vec::new());
        all.iter().cloned().for_each(|(card, post)| kept.keep(card, post));
        let read = Cards::new(all);
        assert_eq!(format!("{read:?}"), format!("{kept:?}"));
        assert_eq!(read.under(&post).len() as i64, KEPT.as_hours() / 24);
    }
}
