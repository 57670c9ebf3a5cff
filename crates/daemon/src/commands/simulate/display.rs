//! Formats the events of a simulation as text and JSON.

use domain::occurrence::OccurrenceEnd;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::events::{SimEvent, SimEventKind, Urgency};

/// The time format of a line.
const TIME_FORMAT: &str = "%a %Y-%m-%d %H:%M:%S%:z";

/// Formats an event as a line, with times in `zone`.
pub fn line(fact: &SimEvent, zone: &TimeZone) -> String {
    let at = fact.at.to_zoned(zone.clone()).strftime(TIME_FORMAT).to_string().to_lowercase();
    let job = fact.job.as_deref().unwrap_or("-");
    let words = description(fact, zone).replace('\n', " ");
    format!("{at}  {:<9}  {job:<18}  {words}", kind_name(&fact.kind)).trim_end().to_owned()
}

/// Formats an event as JSON.
pub fn to_json(fact: &SimEvent, zone: &TimeZone) -> Value {
    let iso = |at: Timestamp| at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    let mut value = json!({ "kind": kind_name(&fact.kind), "at": iso(fact.at), "job": fact.job, "due": fact.due.map(iso) });
    let more = match &fact.kind {
        SimEventKind::Fired(late, tries) => json!({ "late_seconds": late.as_secs(), "try": tries }),
        SimEventKind::Retry(why, next) => json!({ "reason": why, "next": iso(*next) }),
        SimEventKind::Ended(OccurrenceEnd::Missed { last, count, reason: why }) => {
            json!({ "count": count, "last": iso(*last), "reason": why })
        }
        SimEventKind::Ended(end) => json!({ "reason": end.note() }),
        SimEventKind::Ping(text, urgent) => json!({ "text": text, "critical": *urgent == Urgency::Critical }),
        SimEventKind::CallRefused(tool, why) => json!({ "tool": tool, "reason": why }),
        SimEventKind::PingsCharged(charge) => json!({ "before": charge.before, "after": charge.after }),
        SimEventKind::UpdatesRead(reports) => json!({ "reports": reports }),
        SimEventKind::UpdateLeft(text) | SimEventKind::Message(text) | SimEventKind::Notice(text) => {
            json!({ "text": text })
        }
        SimEventKind::Queued | SimEventKind::FollowUp(_) => json!({}),
    };
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}

fn kind_name(what: &SimEventKind) -> &'static str {
    match what {
        SimEventKind::Fired(..) => "fire",
        SimEventKind::Queued => "queued",
        SimEventKind::Retry(..) => "retry",
        SimEventKind::Ended(end) => end.as_str(),
        SimEventKind::Ping(..) => "ping",
        SimEventKind::CallRefused(..) => "refused",
        SimEventKind::PingsCharged(_) => "budget",
        SimEventKind::UpdateLeft(_) => "report",
        SimEventKind::UpdatesRead(_) => "hand-over",
        SimEventKind::Message(_) => "said",
        SimEventKind::FollowUp(_) => "follow-up",
        SimEventKind::Notice(_) => "notice",
    }
}

fn description(fact: &SimEvent, zone: &TimeZone) -> String {
    let today = fact.at.to_zoned(zone.clone()).date();
    let clock = |at: Timestamp| {
        let at = at.to_zoned(zone.clone());
        at.strftime(if at.date() == today { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" }).to_string()
    };
    let due = fact.due.map(clock).unwrap_or_default();
    match &fact.kind {
        SimEventKind::Fired(late, 1) => format!("{}, due {due}", lateness(*late)),
        SimEventKind::Fired(late, tries) => format!("try {tries}, {}, due {due}", lateness(*late)),
        SimEventKind::Queued => format!("waits for the one before it, due {due}"),
        SimEventKind::Retry(why, next) if why.is_empty() => format!("tried again {}", clock(*next)),
        SimEventKind::Retry(why, next) => format!("tried again {}: {why}", clock(*next)),
        SimEventKind::Ended(OccurrenceEnd::Missed { last, count, reason: why }) if *count > 1 => {
            format!("{count} times, from {due} to {}: {why}", clock(*last))
        }
        SimEventKind::Ended(end) if end.note().is_empty() => format!("due {due}"),
        SimEventKind::Ended(end) => format!("due {due}: {}", end.note()),
        SimEventKind::Ping(text, Urgency::Normal) => text.clone(),
        SimEventKind::Ping(text, Urgency::Critical) => format!("critical: {text}"),
        SimEventKind::CallRefused(tool, why) => format!("{tool}: {why}"),
        SimEventKind::PingsCharged(charge) => {
            format!("{:.2} -> {:.2} pings left", charge.before, charge.after)
        }
        SimEventKind::UpdatesRead(reports) => format!("main reads: {}", reports.join(" | ")),
        SimEventKind::UpdateLeft(text) | SimEventKind::Message(text) | SimEventKind::Notice(text) => {
            text.clone()
        }
        SimEventKind::FollowUp(_) => format!("one more check {due}"),
    }
}

/// Describes a delay.
fn lateness(late: SignedDuration) -> String {
    match late.as_secs() {
        0 => "on time".to_owned(),
        seconds => format!("late by {:#}", SignedDuration::from_secs(seconds)),
    }
}
