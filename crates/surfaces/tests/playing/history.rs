//! History queries over records in memory.

use domain::card::Card;
use domain::conversation::Text;
use domain::inbox::InboxItem;
use domain::record::{InboxChange, MessageChange, PlanChange, Record};
use engine::ports::{History, PingRecord, ReadError, SearchHit, SearchQuery};
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::InMemoryJournal;

impl History for InMemoryJournal {
    fn inbox(&self) -> BoxFuture<'_, Result<Vec<InboxItem>, ReadError>> {
        let mut inbox: Vec<InboxItem> = Vec::new();
        for record in self.0.borrow().iter() {
            let Record::Inbox(change) = record else { continue };
            match change {
                InboxChange::Added(kept) => inbox.push(kept.clone()),
                InboxChange::Removed(id, _) => inbox.retain(|kept| kept.id != *id),
            }
        }
        Box::pin(async { Ok(inbox) })
    }

    fn cards(&self, limit: u32) -> BoxFuture<'_, Result<Vec<Card>, ReadError>> {
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

    fn pings(&self, _: Timestamp, _: u32) -> BoxFuture<'_, Result<Vec<PingRecord>, ReadError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn start_times(&self, limit: u32) -> BoxFuture<'_, Result<Vec<(Timestamp, Timestamp)>, ReadError>> {
        let records = self.0.borrow();
        let begun = records.iter().rev().filter_map(|record| {
            let Record::Plan(PlanChange::Occurrence(one)) = record else { return None };
            Some((one.key.due, one.since))
        });
        let begun: Vec<_> = begun.take(limit as usize).collect();
        Box::pin(async { Ok(begun) })
    }

    fn search(&self, looked_for: SearchQuery) -> BoxFuture<'_, Result<Vec<SearchHit>, ReadError>> {
        let words = looked_for.words.to_lowercase();
        let mut found = self.entries();
        found.retain(|entry| looked_for.before.is_none_or(|before| entry.id < before));
        found.retain(|entry| {
            let text = entry.content.text().to_lowercase();
            !words.trim().is_empty() && words.split_whitespace().all(|word| text.contains(word))
        });
        found.reverse();
        found.truncate(looked_for.limit as usize);
        let found = found.into_iter().map(|entry| SearchHit { entry, origin: None }).collect();
        Box::pin(async { Ok(found) })
    }
}
