//! History queries over records in memory.

use domain::card::Card;
use domain::conversation::Text;
use domain::inbox::Kept;
use domain::record::{InboxChange, MessageChange, PlanChange, Record};
use engine::ports::{Found, History, LookedFor, Pinged, Unreadable};
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::Ledger;

impl History for Ledger {
    fn inbox(&self) -> BoxFuture<'_, Result<Vec<Kept>, Unreadable>> {
        let mut inbox: Vec<Kept> = Vec::new();
        for record in self.0.borrow().iter() {
            let Record::Inbox(change) = record else { continue };
            match change {
                InboxChange::Kept(kept) => inbox.push(kept.clone()),
                InboxChange::Removed(id, _) => inbox.retain(|kept| kept.id != *id),
            }
        }
        Box::pin(async { Ok(inbox) })
    }

    fn cards(&self, limit: u32) -> BoxFuture<'_, Result<Vec<Card>, Unreadable>> {
        let mut cards: Vec<Card> = Vec::new();
        for record in self.0.borrow().iter() {
            if let Record::Message(MessageChange::Card(card, _)) = record {
                cards.retain(|known| known.id != card.id);
                cards.push(card.clone());
            }
        }
        cards.reverse();
        cards.truncate(limit as usize);
        Box::pin(async { Ok(cards) })
    }

    fn pings(&self, _: Timestamp, _: u32) -> BoxFuture<'_, Result<Vec<Pinged>, Unreadable>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn begun(&self, limit: u32) -> BoxFuture<'_, Result<Vec<(Timestamp, Timestamp)>, Unreadable>> {
        let records = self.0.borrow();
        let begun = records.iter().rev().filter_map(|record| {
            let Record::Plan(PlanChange::Occurred(one)) = record else { return None };
            Some((one.key.due, one.since))
        });
        let begun: Vec<_> = begun.take(limit as usize).collect();
        Box::pin(async { Ok(begun) })
    }

    fn search(&self, looked_for: LookedFor) -> BoxFuture<'_, Result<Vec<Found>, Unreadable>> {
        let words = looked_for.words.to_lowercase();
        let mut found = self.entries();
        found.retain(|entry| looked_for.before.is_none_or(|before| entry.id < before));
        found.retain(|entry| {
            let text = entry.said.text().to_lowercase();
            !words.trim().is_empty() && words.split_whitespace().all(|word| text.contains(word))
        });
        found.reverse();
        found.truncate(looked_for.limit as usize);
        let found = found.into_iter().map(|entry| Found { entry, spoken: None }).collect();
        Box::pin(async { Ok(found) })
    }
}
