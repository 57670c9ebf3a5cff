//! The cards that can be pressed.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Card, CardId, Chase, KEPT, State};
use crate::cost::Source;
use crate::post::PostKey;

/// The cards that can be pressed, each with what it was posted under.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cards {
    all: BTreeMap<CardId, (Card, PostKey)>,
    /// Those that nobody has answered and that may be put otherwise.
    unanswered: BTreeSet<CardId>,
}

impl Cards {
    /// Those of these cards that are not too old beside the newest one.
    pub fn new(mut cards: Vec<(Card, PostKey)>) -> Self {
        let newest = cards.iter().map(|(card, _)| card.rang).max();
        let oldest = newest.and_then(|newest| newest.checked_sub(KEPT).ok()).unwrap_or(Timestamp::MIN);
        cards.retain(|(card, _)| card.rang > oldest);
        let unanswered = cards.iter().filter(|(card, _)| card.waits()).map(|(card, _)| card.id.clone());
        let unanswered = unanswered.collect();
        let all = cards.into_iter().map(|(card, post)| (card.id.clone(), (card, post))).collect();
        Self { all, unanswered }
    }

    /// The card `id`: nothing, if it is too old.
    pub fn get(&self, id: &CardId) -> Option<&(Card, PostKey)> {
        self.all.get(id)
    }

    /// The card that was posted under `key`, the first time or when it was put otherwise; of several, one that is open.
    pub fn posted(&self, key: &PostKey) -> Option<&CardId> {
        let cards =
            self.all.values().filter(|(card, post)| post == key || card.followed.as_ref() == Some(key));
        let mut cards: Vec<&Card> = cards.map(|(card, _)| card).collect();
        cards.sort_by_key(|card| card.state != State::Open);
        cards.first().map(|card| &card.id)
    }

    /// All that rang together under `key`, in the order in which they are told.
    pub fn under(&self, key: &PostKey) -> Vec<&Card> {
        let all = self.all.values().filter(|(_, post)| post == key).map(|(card, _)| card);
        // The order they rang in: a number means the same thing after a press as before it. Of two with the same words
        // each has a line of its own.
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

    /// The newest open card with which `is` agrees.
    pub fn find_open(&self, is: impl Fn(&Card) -> bool) -> Option<&CardId> {
        let open = self.all.values().map(|(card, _)| card).filter(|card| card.state == State::Open);
        open.filter(|card| is(card)).max_by_key(|card| card.rang).map(|card| &card.id)
    }

    /// How often what rings now as `source` was put off before.
    pub fn put_off(&self, source: &Source) -> u32 {
        let became = |card: &&Card| matches!(&card.state, State::Moved(_, again) | State::Planned(again) if again == source);
        let before = self.all.values().map(|(card, _)| card).find(became);
        before.map_or(0, |card| card.snoozes + 1)
    }

    /// Those that nobody has answered and that may be put otherwise.
    pub fn unanswered(&self) -> impl Iterator<Item = &(Card, PostKey)> {
        self.unanswered.iter().filter_map(|id| self.all.get(id))
    }

    /// Keeps `card` beside all others that are not too old.
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
