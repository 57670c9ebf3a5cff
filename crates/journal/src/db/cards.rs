//! Rows of `cards`: reminders that rang.

use domain::card::{Card, CardId, CardState, CardStore, FollowUpState};
use domain::outbox::OutboxKey;
use domain::schedule::ItemId;
use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row, Transaction, params};

use super::Database;
use super::read::{invalid_column, source_in, time_in};

/// The most cards that can still be pressed.
const OPEN_LIMIT: u32 = 1_000;

pub(super) fn write(transaction: &Transaction<'_>, card: &Card, post: &OutboxKey) -> rusqlite::Result<()> {
    let (state, since, again) = match &card.state {
        CardState::Open => ("open", None, None),
        CardState::Done(at) => ("done", Some(at.as_microsecond()), None),
        CardState::Moved(to, source) => ("moved", Some(to.as_microsecond()), Some(source.to_string())),
        CardState::Planned(source) => ("planned", None, Some(source.to_string())),
        CardState::Dropped => ("dropped", None, None),
    };
    let chase = match card.follow_up {
        FollowUpState::AskedOnce => Some(0),
        FollowUpState::AskedTwice(at) => Some(at.as_microsecond()),
        FollowUpState::Finished => None,
    };
    let sql = "INSERT OR REPLACE INTO cards (id, words, said, rang, post, state, since, again, snoozes, chase, followed) \
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let id = card.id.to_string();
    let rang = card.rang_at.as_microsecond();
    let followed = card.follow_up_post.as_ref().map(|key| &key.0);
    let row =
        params![id, card.task, card.text, rang, post.0, state, since, again, card.snoozes, chase, followed];
    transaction.prepare_cached(sql)?.execute(row).map(drop)
}

impl Database {
    /// Loads the cards that can still be pressed.
    pub(super) fn cards(&self) -> rusqlite::Result<CardStore> {
        self.newest_cards(OPEN_LIMIT).map(CardStore::new)
    }

    /// The card of the reminder with this id, if it rang.
    pub(super) fn card_by_id(&self, id: &str) -> rusqlite::Result<Option<Card>> {
        let sql = "SELECT id, words, said, rang, post, state, since, again, snoozes, chase, followed FROM cards \
                   WHERE id = ?";
        Ok(self.connection.query_row(sql, [id], read_card).optional()?.map(|(card, _)| card))
    }

    /// The newest `limit` cards, newest first, each with its post key.
    pub fn newest_cards(&self, limit: u32) -> rusqlite::Result<Vec<(Card, OutboxKey)>> {
        let sql = "SELECT id, words, said, rang, post, state, since, again, snoozes, chase, followed FROM cards \
                   ORDER BY rang DESC LIMIT ?";
        self.connection.prepare(sql)?.query_map([limit], read_card)?.collect()
    }
}

fn read_card(row: &Row<'_>) -> rusqlite::Result<(Card, OutboxKey)> {
    let id = ItemId::parse(&row.get::<_, String>(0)?).map_err(|error| invalid_column(0, error))?;
    let since = || time_in(row, 6);
    let state = match row.get::<_, String>(5)?.as_str() {
        "done" => CardState::Done(since()?),
        "moved" => CardState::Moved(since()?, source_in(row, 7)?),
        "planned" => CardState::Planned(source_in(row, 7)?),
        "dropped" => CardState::Dropped,
        _ => CardState::Open,
    };
    let rang: Timestamp = time_in(row, 3)?;
    let chase = match row.get::<_, Option<i64>>(9)? {
        None => FollowUpState::Finished,
        Some(0) => FollowUpState::AskedOnce,
        Some(_) => FollowUpState::AskedTwice(time_in(row, 9)?),
    };
    let words = row.get(1)?;
    let said = row.get(2)?;
    let snoozes = row.get(8)?;
    let followed = row.get::<_, Option<String>>(10)?.map(OutboxKey);
    let card = Card {
        id: CardId(id),
        task: words,
        text: said,
        rang_at: rang,
        state,
        snoozes,
        follow_up: chase,
        follow_up_post: followed,
    };
    Ok((card, OutboxKey(row.get(4)?)))
}
