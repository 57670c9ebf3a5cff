//! Rows of `deliveries` and `delivery_marks`: webhook deliveries until they end, and their
//! deduplication marks for a week.

use std::sync::Arc;

use domain::conversation::Json;
use domain::delivery::{Deliveries, Delivery, DeliveryChange, MARK_RETENTION, Value, ValueKind};
use domain::occurrence::OccurrenceKey;
use domain::schedule::WebhookSpec;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::{Transaction, params};
use serde::{Deserialize, Serialize};

use super::Database;
use super::read::{source_in, time_in};
use super::write::encode_error;
use crate::files::items::Item as _;

/// The newest marks that are retained whatever the clock says, so that a clock set wrong for a
/// while causes no duplicate run.
const MARKS_KEPT: i64 = 1_000;

/// A value as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredValue {
    name: String,
    json: String,
    free: bool,
}

impl Database {
    /// Loads the open deliveries and the known marks.
    pub(super) fn deliveries(&self) -> rusqlite::Result<Deliveries> {
        let mut deliveries = Deliveries::default();
        let mut rows = self.connection.prepare("SELECT source, due, hook, brought FROM deliveries")?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let key = OccurrenceKey { source: source_in(row, 0)?, due: time_in(row, 1)? };
            // An unreadable delivery does not block the others: its occurrence fails and is
            // reported.
            match read_delivery(&row.get::<_, String>(2)?, &row.get::<_, String>(3)?) {
                Ok(delivery) => deliveries.open.insert_mut(key, Arc::new(delivery)),
                Err(why) => tracing::error!(source = %key.source, why, "A delivery cannot be read any more."),
            }
        }
        let mut known = self.connection.prepare("SELECT mark, at FROM delivery_marks")?;
        let mut known = known.query([])?;
        while let Some(row) = known.next()? {
            deliveries.marks.insert_mut(row.get(0)?, time_in(row, 1)?);
        }
        let newest = "SELECT max(due) FROM occurrences WHERE source >= 'webhook:' AND source < 'webhook;'";
        let newest: Option<i64> = self.connection.query_row(newest, [], |row| row.get(0))?;
        deliveries.newest = newest.and_then(|newest| Timestamp::from_microsecond(newest).ok());
        Ok(deliveries)
    }
}

fn read_delivery(hook: &str, brought: &str) -> Result<Delivery, String> {
    let hook = WebhookSpec::read(hook, &TimeZone::UTC).map_err(|bad| bad.to_string())?;
    let brought: Vec<StoredValue> = serde_json::from_str(brought).map_err(|error| error.to_string())?;
    Ok(Delivery { webhook: hook, values: brought.into_iter().map(decode_value).collect(), marks: Vec::new() })
}

fn decode_value(brought: StoredValue) -> Value {
    let StoredValue { name, json, free } = brought;
    Value { name, json: Json(json), kind: if free { ValueKind::Free } else { ValueKind::Fixed } }
}

pub(super) fn write(transaction: &Transaction<'_>, change: &DeliveryChange) -> rusqlite::Result<()> {
    let row = |key: &OccurrenceKey| (key.source.to_string(), key.due.as_microsecond());
    match change {
        DeliveryChange::Received(key, delivery, at) => {
            let brought = |value: &Value| {
                let name = value.name.clone();
                let json = value.json.0.clone();
                StoredValue { name, json, free: value.kind == ValueKind::Free }
            };
            let brought: Vec<StoredValue> = delivery.values.iter().map(brought).collect();
            let brought = serde_json::to_string(&brought).map_err(encode_error)?;
            let (source, due) = row(key);
            let sql = "INSERT INTO deliveries (source, due, hook, brought) VALUES (?, ?, ?, ?)";
            transaction.prepare_cached(sql)?.execute(params![
                source,
                due,
                delivery.webhook.to_text(),
                brought
            ])?;
            remember_marks(transaction, &delivery.marks, *at)
        }
        DeliveryChange::Ended(key) => {
            let sql = "DELETE FROM deliveries WHERE source = ? AND due = ?";
            transaction.prepare_cached(sql)?.execute(row(key)).map(drop)
        }
    }
}

fn remember_marks(transaction: &Transaction<'_>, marks: &[String], at: Timestamp) -> rusqlite::Result<()> {
    let old = at.checked_sub(MARK_RETENTION).unwrap_or(Timestamp::MIN).as_microsecond();
    let ahead = at.checked_add(MARK_RETENTION).unwrap_or(Timestamp::MAX).as_microsecond();
    let sql = "DELETE FROM delivery_marks WHERE (at < ? OR at > ?) AND \
               rowid <= (SELECT max(rowid) FROM delivery_marks) - ?";
    transaction.prepare_cached(sql)?.execute(params![old, ahead, MARKS_KEPT])?;
    for mark in marks {
        let sql = "INSERT OR REPLACE INTO delivery_marks (mark, at) VALUES (?, ?)";
        transaction.prepare_cached(sql)?.execute(params![mark, at.as_microsecond()])?;
    }
    Ok(())
}
