//! Implements the read-only port `History`.

use domain::card::Card;
use domain::inbox::Kept;
use engine::ports::{Found, History, LookedFor, Pinged, Unreadable};
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::Journal;

impl History for Journal {
    fn inbox(&self) -> BoxFuture<'_, Result<Vec<Kept>, Unreadable>> {
        self.read(|reader| reader.database.inbox())
    }

    fn cards(&self, limit: u32) -> BoxFuture<'_, Result<Vec<Card>, Unreadable>> {
        self.read(move |reader| {
            let cards = reader.database.newest_cards(limit)?;
            Ok(cards.into_iter().map(|(card, _)| card).collect())
        })
    }

    fn pings(&self, since: Timestamp, limit: u32) -> BoxFuture<'_, Result<Vec<Pinged>, Unreadable>> {
        self.read(move |reader| reader.database.pinged(since, limit))
    }

    fn begun(&self, limit: u32) -> BoxFuture<'_, Result<Vec<(Timestamp, Timestamp)>, Unreadable>> {
        self.read(move |reader| reader.database.begun(limit))
    }

    fn search(&self, looked_for: LookedFor) -> BoxFuture<'_, Result<Vec<Found>, Unreadable>> {
        self.read(move |reader| reader.database.search(&looked_for))
    }
}
