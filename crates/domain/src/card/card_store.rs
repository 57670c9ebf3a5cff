//! The collection of cards that can still be pressed.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{CARD_LIFETIME, Card, CardId, CardState, FollowUpState};
use crate::cost::CostSource;
use crate::outbox::OutboxKey;

/// The cards that can still be pressed, each with its post.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CardStore {
    all: BTreeMap<CardId, (Card, OutboxKey)>,
    /// Open cards that may still get a follow-up.
    unanswered: BTreeSet<CardId>,
}

impl CardStore {
    /// Drops cards that are older than [`CARD_LIFETIME`] relative to the newest one.
    pub fn new(mut cards: Vec<(Card, OutboxKey)>) -> Self {
        let newest = cards.iter().map(|(card, _)| card.rang_at).max();
        let oldest =
            newest.and_then(|newest| newest.checked_sub(CARD_LIFETIME).ok()).unwrap_or(Timestamp::MIN);
        cards.retain(|(card, _)| card.rang_at > oldest);
        let unanswered =
            cards.iter().filter(|(card, _)| card.awaits_follow_up()).map(|(card, _)| card.id.clone());
        let unanswered = unanswered.collect();
        let all = cards.into_iter().map(|(card, post)| (card.id.clone(), (card, post))).collect();
        Self { all, unanswered }
    }

    /// Returns the card `id` if it is not too old.
    pub fn get(&self, id: &CardId) -> Option<&(Card, OutboxKey)> {
        self.all.get(id)
    }

    /// The card whose delivery or follow-up has this post; prefers open cards.
    pub fn find_by_post(&self, key: &OutboxKey) -> Option<&CardId> {
        let cards =
            self.all.values().filter(|(card, post)| post == key || card.follow_up_post.as_ref() == Some(key));
        let mut cards: Vec<&Card> = cards.map(|(card, _)| card).collect();
        cards.sort_by_key(|card| card.state != CardState::Open);
        cards.first().map(|card| &card.id)
    }

    /// The cards of a group post, in the order of their list.
    pub fn group_of(&self, key: &OutboxKey) -> Vec<&Card> {
        let all = self.all.values().filter(|(_, post)| post == key).map(|(card, _)| card);
        // Uses the positions in the message, so that numbers stay the same after a press. Cards
        // with the same text each get their own position.
        let mut taken = BTreeSet::new();
        let mut placed: Vec<(usize, &Card)> = Vec::new();
        for card in all {
            let place = card.list_positions().find(|place| !taken.contains(place)).unwrap_or(usize::MAX);
            taken.insert(place);
            placed.push((place, card));
        }
        placed.sort_by_key(|(place, _)| *place);
        placed.into_iter().map(|(_, card)| card).collect()
    }

    /// The newest open card that matches `is`.
    pub fn find_open(&self, is: impl Fn(&Card) -> bool) -> Option<&CardId> {
        let open = self.all.values().map(|(card, _)| card).filter(|card| card.state == CardState::Open);
        open.filter(|card| is(card)).max_by_key(|card| card.rang_at).map(|card| &card.id)
    }

    /// The number of snoozes before the reminder `source`.
    pub fn snooze_count(&self, source: &CostSource) -> u32 {
        let became = |card: &&Card| matches!(&card.state, CardState::Moved(_, again) | CardState::Planned(again) if again == source);
        let before = self.all.values().map(|(card, _)| card).find(became);
        before.map_or(0, |card| card.snoozes + 1)
    }

    /// Open cards that may still get a follow-up.
    pub fn unanswered(&self) -> impl Iterator<Item = &(Card, OutboxKey)> {
        self.unanswered.iter().filter_map(|id| self.all.get(id))
    }

    /// Inserts or replaces `card`, and drops cards that are too old.
    pub fn insert(&mut self, card: Card, post: OutboxKey) {
        let oldest = card.rang_at.checked_sub(CARD_LIFETIME).unwrap_or(Timestamp::MIN);
        self.all.retain(|_, (card, _)| card.rang_at > oldest);
        let all = &self.all;
        self.unanswered.retain(|id| all.contains_key(id));
        if card.awaits_follow_up() {
            self.unanswered.insert(card.id.clone())
        } else {
            self.unanswered.remove(&card.id)
        };
        self.all.insert(card.id.clone(), (card, post));
    }
}

impl Card {
    fn awaits_follow_up(&self) -> bool {
        self.state == CardState::Open && self.follow_up != FollowUpState::Finished
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::ItemId;

    #[test]
    fn old_cards_are_dropped_equally_on_insert_and_on_load() {
        let first: Timestamp = "2026-11-16T09:00:00Z".parse().unwrap();
        let card = |day: i64| Card {
            id: CardId(ItemId::parse(&format!("d{day}")).unwrap()),
            task: "call".to_owned(),
            text: "⏰ call".to_owned(),
            rang_at: first + jiff::SignedDuration::from_hours(24 * day),
            state: CardState::Open,
            snoozes: 0,
            follow_up: FollowUpState::Finished,
            follow_up_post: None,
        };
        let post = OutboxKey("words:1".to_owned());
        let all: Vec<(Card, OutboxKey)> = (0..40).map(|day| (card(day), post.clone())).collect();
        let mut kept = CardStore::new(Vec::new());
        all.iter().cloned().for_each(|(card, post)| kept.insert(card, post));
        let read = CardStore::new(all);
        assert_eq!(format!("{read:?}"), format!("{kept:?}"));
        assert_eq!(read.group_of(&post).len() as i64, CARD_LIFETIME.as_hours() / 24);
    }
}
