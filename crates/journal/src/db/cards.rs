//! Rows of `cards`: reminders that rang.

use domain::card::{Card, CardId, Cards, Chase, State};
use domain::post::PostKey;
use domain::schedule::ItemId;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::Database;
use super::read::{source_in, time_in, unread};

/// The most cards that can still be pressed.
const PRESSED: u32 = 1_000;

pub(super) fn write(transaction: &Transaction<'_>, card: &Card, post: &PostKey) -> rusqlite::Result<()> {
    let (state, since, again) = match &card.state {
        State::Open => ("open", None, None),
        State::Done(at) => ("done", Some(at.as_microsecond()), None),
        State::Moved(to, source) => ("moved", Some(to.as_microsecond()), Some(source.to_string())),
        State::Planned(source) => ("planned", None, Some(source.to_string())),
        State::Dropped => ("dropped", None, None),
    };
    let chase = match card.chase {
        Chase::Once => Some(0),
        Chase::Twice(at) => Some(at.as_microsecond()),
        Chase::Left => None,
    };
    let sql = "INSERT OR REPLACE INTO cards (id, words, said, rang, post, state, since, again, snoozes, chase, followed) \
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let id = card.id.to_string();
    let rang = card.rang.as_microsecond();
    let followed = card.followed.as_ref().map(|key| &key.0);
    let row =
        params![id, card.words, card.said, rang, post.0, state, since, again, card.snoozes, chase, followed];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

impl Database {
    /// Loads the cards that can still be pressed.
    pub(super) fn cards(&self) -> rusqlite::Result<Cards> {
        self.newest_cards(PRESSED).map(Cards::new)
    }

    /// The card of the reminder with this id, if it rang.
    pub(super) fn card_called(&self, id: &str) -> rusqlite::Result<Option<Card>> {
        let sql = "SELECT id, words, said, rang, post, state, since, again, snoozes, chase, followed FROM cards \
                   WHERE id = ?";
        Ok(self.connection.query_row(sql, [id], card).optional()?.map(|(card, _)| card))
    }

    /// The newest `limit` cards, newest first, each with its post key.
    pub fn newest_cards(&self, limit: u32) -> rusqlite::Result<Vec<(Card, PostKey)>> {
        let sql = "SELECT id, words, said, rang, post, state, since, again, snoozes, chase, followed FROM cards \
                   ORDER BY rang DESC LIMIT ?";
        self.connection.prepare(sql)?.query_map([limit], card)?.collect()
    }
}

fn card(row: &Row<'_>) -> rusqlite::Result<(Card, PostKey)> {
    let id = ItemId::parse(&row.get::<_, String>(0)?).map_err(|error| unread(0, error))?;
    let since = || time_in(row, 6);
    let state = match row.get::<_, String>(5)?.as_str() {
        "done" => State::Done(since()?),
        "moved" => State::Moved(since()?, source_in(row, 7)?),
        "planned" => State::Planned(source_in(row, 7)?),
        "dropped" => State::Dropped,
        _ => State::Open,
    };
    let rang: Timestamp = time_in(row, 3)?;
    let chase = match row.get::<_, Option<i64>>(9)? {
        None => Chase::Left,
        Some(0) => Chase::Once,
        Some(_) => Chase::Twice(time_in(row, 9)?),
    };
    let words = row.get(1)?;
    let said = row.get(2)?;
    let snoozes = row.get(8)?;
    let followed = row.get::<_, Option<String>>(10)?.map(PostKey);
    let card = Card { id: CardId(id), words, said, rang, state, snoozes, chase, followed };
    Ok((card, PostKey(row.get(4)?)))
}
