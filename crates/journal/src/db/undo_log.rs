//! JSON format of the undo log of plan and inbox changes.

use domain::assistant::Replanned;
use domain::card::CardId;
use domain::inbox::{InboxItem, InboxItemId};
use domain::schedule::{ItemId, JobSpec, Reminder, Routine};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::files::items::Item as _;

/// Encodes the changes, newest last.
pub fn encode(changes: &[Replanned]) -> String {
    changes.iter().map(encode_change).collect::<serde_json::Value>().to_string()
}

fn encode_change(changed: &Replanned) -> serde_json::Value {
    let before = changed.previous_plans.iter().map(|what| match what {
        JobSpec::Routine(routine) => ("routine", routine.to_text()),
        JobSpec::Reminder(reminder) => ("reminder", reminder.to_text()),
    });
    let since: Vec<String> = changed.new_plans.iter().map(ToString::to_string).collect();
    let taken: Vec<_> =
        changed.removed_items.iter().map(|kept| (kept.id.0, kept.at.as_microsecond(), &kept.text)).collect();
    let kept: Vec<u64> = changed.added_items.iter().map(|id| id.0).collect();
    let settled: Vec<&str> = changed.settled_cards.iter().map(|card| card.0.as_str()).collect();
    let before = before.collect::<Vec<_>>();
    let at = changed.at.map(|at| at.as_microsecond());
    serde_json::json!({
        "before": before, "since": since, "taken": taken, "kept": kept, "settled": settled, "at": at,
        "beyond": changed.irreversible, "origin": changed.origin,
    })
}

/// Decodes the changes. An unreadable change cannot be undone, nor can older ones.
pub fn decode(text: &str) -> Option<Vec<Replanned>> {
    let spelled: serde_json::Value = serde_json::from_str(text).ok()?;
    // Older versions stored a single change.
    let Some(changes) = spelled.as_array() else { return Some(vec![decode_change(&spelled)?]) };
    let mut newest: Vec<Replanned> = changes.iter().rev().map_while(decode_change).collect();
    newest.reverse();
    Some(newest)
}

fn decode_change(spelled: &serde_json::Value) -> Option<Replanned> {
    let zone = TimeZone::UTC;
    let what = |spelled: &serde_json::Value| match (spelled[0].as_str()?, spelled[1].as_str()?) {
        ("routine", text) => Routine::read(text, &zone).ok().map(JobSpec::Routine),
        (_, text) => Reminder::read(text, &zone).ok().map(JobSpec::Reminder),
    };
    let before = spelled["before"].as_array()?.iter().map(what).collect::<Option<_>>()?;
    let since = spelled["since"]
        .as_array()?
        .iter()
        .map(|source| source.as_str()?.parse().ok())
        .collect::<Option<_>>()?;
    // Older versions did not store the inbox fields.
    let list = |key: &str| spelled[key].as_array().cloned().unwrap_or_default();
    let taken = list("taken").iter().map(decode_inbox_item).collect::<Option<_>>()?;
    let kept = list("kept").iter().map(|id| id.as_u64().map(InboxItemId)).collect::<Option<_>>()?;
    let card = |id: &serde_json::Value| ItemId::parse(id.as_str()?).ok().map(CardId);
    let settled = list("settled").iter().map(card).collect::<Option<_>>()?;
    let at = spelled["at"].as_i64().and_then(|at| Timestamp::from_microsecond(at).ok());
    let beyond = spelled["beyond"].as_str().map(str::to_owned);
    let origin = spelled["origin"].as_str().map(str::to_owned);
    Some(Replanned {
        previous_plans: before,
        new_plans: since,
        removed_items: taken,
        added_items: kept,
        settled_cards: settled,
        irreversible: beyond,
        at,
        origin,
    })
}

fn decode_inbox_item(spelled: &serde_json::Value) -> Option<InboxItem> {
    let at = Timestamp::from_microsecond(spelled[1].as_i64()?).ok()?;
    Some(InboxItem { id: InboxItemId(spelled[0].as_u64()?), at, text: spelled[2].as_str()?.to_owned() })
}
