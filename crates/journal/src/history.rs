//! Implements the read-only port `History`.

use domain::card::Card;
use domain::inbox::InboxItem;
use engine::ports::{History, PingRecord, ReadError, SearchHit, SearchQuery};
use futures_util::future::BoxFuture;
use jiff::Timestamp;

use super::Journal;

impl History for Journal {
    fn inbox(&self) -> BoxFuture<'_, Result<Vec<InboxItem>, ReadError>> {
        self.read(|reader| reader.database.inbox())
    }

    fn cards(&self, limit: u32) -> BoxFuture<'_, Result<Vec<Card>, ReadError>> {
        self.read(move |reader| {
            let cards = reader.database.newest_cards(limit)?;
            Ok(cards.into_iter().map(|(card, _)| card).collect())
        })
    }

    fn pings(&self, since: Timestamp, limit: u32) -> BoxFuture<'_, Result<Vec<PingRecord>, ReadError>> {
        self.read(move |reader| reader.database.ping_history(since, limit))
    }

    fn start_times(&self, limit: u32) -> BoxFuture<'_, Result<Vec<(Timestamp, Timestamp)>, ReadError>> {
        self.read(move |reader| reader.database.recent_starts(limit))
    }

    fn search(&self, looked_for: SearchQuery) -> BoxFuture<'_, Result<Vec<SearchHit>, ReadError>> {
        self.read(move |reader| reader.database.search(&looked_for))
    }
}
