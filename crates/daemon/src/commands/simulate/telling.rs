//! Formats the events of a simulation as text and JSON.

use domain::occurrence::End;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::facts::{Fact, Happened, Urgent};

/// The time format of a line.
const TIME: &str = "%a %Y-%m-%d %H:%M:%S%:z";

/// Formats an event as a line, with times in `zone`.
pub fn line(fact: &Fact, zone: &TimeZone) -> String {
    let at = fact.at.to_zoned(zone.clone()).strftime(TIME).to_string().to_lowercase();
    let job = fact.job.as_deref().unwrap_or("-");
    let words = words(fact, zone).replace('\n', " ");
    format!("{at}  {:<9}  {job:<18}  {words}", kind(&fact.what)).trim_end().to_owned()
}

/// Formats an event as JSON.
pub fn value(fact: &Fact, zone: &TimeZone) -> Value {
    let iso = |at: Timestamp| at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    let mut value =
        json!({ "kind": kind(&fact.what), "at": iso(fact.at), "job": fact.job, "due": fact.due.map(iso) });
    let more = match &fact.what {
        Happened::Fired(late, tries) => json!({ "late_seconds": late.as_secs(), "try": tries }),
        Happened::Again(why, next) => json!({ "reason": why, "next": iso(*next) }),
        Happened::Ended(End::Missed { last, count, why }) => {
            json!({ "count": count, "last": iso(*last), "reason": why })
        }
        Happened::Ended(end) => json!({ "reason": end.why() }),
        Happened::Pinged(text, urgent) => json!({ "text": text, "critical": *urgent == Urgent::Critical }),
        Happened::Refused(tool, why) => json!({ "tool": tool, "reason": why }),
        Happened::Charged(charge) => json!({ "before": charge.before, "after": charge.after }),
        Happened::HandedOver(reports) => json!({ "reports": reports }),
        Happened::Reported(text) | Happened::Said(text) | Happened::Told(text) => json!({ "text": text }),
        Happened::Queued | Happened::Follows(_) => json!({}),
    };
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
    }
    value
}

fn kind(what: &Happened) -> &'static str {
    match what {
        Happened::Fired(..) => "fire",
        Happened::Queued => "queued",
        Happened::Again(..) => "retry",
        Happened::Ended(end) => end.as_str(),
        Happened::Pinged(..) => "ping",
        Happened::Refused(..) => "refused",
        Happened::Charged(_) => "budget",
        Happened::Reported(_) => "report",
        Happened::HandedOver(_) => "hand-over",
        Happened::Said(_) => "said",
        Happened::Follows(_) => "follow-up",
        Happened::Told(_) => "notice",
    }
}

fn words(fact: &Fact, zone: &TimeZone) -> String {
    let today = fact.at.to_zoned(zone.clone()).date();
    let clock = |at: Timestamp| {
        let at = at.to_zoned(zone.clone());
        at.strftime(if at.date() == today { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" }).to_string()
    };
    let due = fact.due.map(clock).unwrap_or_default();
    match &fact.what {
        Happened::Fired(late, 1) => format!("{}, due {due}", lateness(*late)),
        Happened::Fired(late, tries) => format!("try {tries}, {}, due {due}", lateness(*late)),
        Happened::Queued => format!("waits for the one before it, due {due}"),
        Happened::Again(why, next) if why.is_empty() => format!("tried again {}", clock(*next)),
        Happened::Again(why, next) => format!("tried again {}: {why}", clock(*next)),
        Happened::Ended(End::Missed { last, count, why }) if *count > 1 => {
            format!("{count} times, from {due} to {}: {why}", clock(*last))
        }
        Happened::Ended(end) if end.why().is_empty() => format!("due {due}"),
        Happened::Ended(end) => format!("due {due}: {}", end.why()),
        Happened::Pinged(text, Urgent::No) => text.clone(),
        Happened::Pinged(text, Urgent::Critical) => format!("critical: {text}"),
        Happened::Refused(tool, why) => format!("{tool}: {why}"),
        Happened::Charged(charge) => format!("{:.2} -> {:.2} pings left", charge.before, charge.after),
        Happened::HandedOver(reports) => format!("main reads: {}", reports.join(" | ")),
        Happened::Reported(text) | Happened::Said(text) | Happened::Told(text) => text.clone(),
        Happened::Follows(_) => format!("one more check {due}"),
    }
}

/// Describes a delay.
fn lateness(late: SignedDuration) -> String {
    match late.as_secs() {
        0 => "on time".to_owned(),
        seconds => format!("late by {:#}", SignedDuration::from_secs(seconds)),
    }
}
