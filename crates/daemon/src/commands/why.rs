//! `ollim-bot why`: explains an answer, a ping or a silence. Reads from the disk, so the daemon
//! need not run.

use std::collections::BTreeSet;
use std::process::ExitCode;

use domain::explanation::{DecidedCall, Explained, Explanation, Ping, Subject, Work};
use domain::label::Realm;
use domain::occurrence::Stage;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{answer, in_the_shell};
use crate::cli::Output;
use crate::exit::Failed;
use crate::settings::Settings;

/// Explains the subject that `words` name, or the last answer.
pub fn show(settings: &Settings, words: &[String], output: &Output) -> Result<ExitCode, Failed> {
    let failed = |error: &dyn std::fmt::Display| Failed::NotDone(error.to_string());
    let subject = Subject::read(words.join(" ").trim()).map_err(Failed::Usage)?;
    let zone = &settings.zone.value;
    let found = match journal::peek(&settings.paths).map_err(|error| failed(&error))? {
        Some(database) => database.explain(&subject, zone).map_err(|error| failed(&error))?,
        None => None,
    };
    match found {
        Some(found) => answer(output, &value(&found, zone), &found.tell(zone)),
        None if subject == Subject::Last => answer(output, &json!({ "turn": null }), &subject.unknown()),
        None => return Err(Failed::NotDone(in_the_shell(&subject.unknown()))),
    }
    Ok(ExitCode::SUCCESS)
}

fn value(found: &Explained, zone: &TimeZone) -> Value {
    match found {
        Explained::Answer(found) => turn(found),
        Explained::Work(found) => work(found, zone),
        Explained::Job(works) => {
            json!({ "times": works.iter().map(|found| work(found, zone)).collect::<Vec<_>>() })
        }
    }
}

fn turn(found: &Explanation) -> Value {
    let total = found.total();
    let end = found.end.as_ref();
    let models = found.calls.iter().map(|spent| spent.call.model.as_str());
    json!({
        "turn": found.turn.0,
        "branch": found.branch.to_string(),
        "message": {
            "id": found.message.id.0,
            "at": found.message.at.to_string(),
            "surface": found.message.surface.as_str(),
            "text": found.message.text,
        },
        "opened": found.opened.to_string(),
        "attempts": found.attempts,
        "models": models.collect::<BTreeSet<_>>(),
        "calls": total.calls,
        "input": total.usage.input,
        "cache_read": total.usage.cache_read,
        "cache_write": total.usage.cache_write,
        "output": total.usage.output,
        "cached_percent": total.cached_percent(),
        "dollars": total.cost.as_dollars(),
        "unpriced_calls": total.unpriced,
        "outside": found.outside.iter().map(|(realm, at)| json!({ "from": realm.as_str(), "since": at.to_string() })).collect::<Vec<_>>(),
        "tools": gates(found),
        "closed": end.map(|end| end.at.to_string()),
        "ending": end.map(|end| end.how.as_str()),
        "reason": end.and_then(|end| end.why.as_deref()),
    })
}

fn gates(found: &Explanation) -> Vec<Value> {
    let gate = |call: &DecidedCall| {
        let after: Vec<&str> = call.label.outside.iter().map(Realm::as_str).collect();
        json!({ "tool": call.tool, "rule": call.rule, "after": after })
    };
    found.tools.iter().map(gate).collect()
}

fn work(found: &Work, zone: &TimeZone) -> Value {
    let iso = |at: Timestamp| at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    let due = found.due.as_ref();
    let end = due.and_then(|(occurrence, _)| match &occurrence.stage {
        Stage::Ended(end) => Some(end),
        Stage::Running(_) | Stage::Asked(_) | Stage::Again(_) | Stage::Queued => None,
    });
    let refused = found.refused.iter().map(|(tool, why)| json!({ "tool": tool, "reason": why }));
    let total = found.total();
    json!({
        "job": found.source.to_string(),
        "name": due.map(|(occurrence, _)| occurrence.name.as_str()),
        "due": due.map(|(occurrence, _)| iso(occurrence.key.due)),
        "began": due.map(|(_, began)| iso(*began)),
        "late_seconds": due.map(|(occurrence, began)| began.duration_since(occurrence.key.due).as_secs()),
        "tries": due.map(|(occurrence, _)| occurrence.tries),
        "branch": found.turns.last().map(|turn| turn.branch.to_string()),
        "tools": found.turns.iter().flat_map(gates).collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
        "pings": found.pings.iter().map(ping).collect::<Vec<_>>(),
        "silence": found.silence(),
        "calls": total.calls,
        "read": total.usage.read(),
        "output": total.usage.output,
        "dollars": total.cost.as_dollars(),
        "unpriced_calls": total.unpriced,
        "end": end.map(|end| end.as_str()),
        "reason": end.map(|end| end.why()),
        "since": due.map(|(occurrence, _)| iso(occurrence.since)),
    })
}

fn ping(ping: &Ping) -> Value {
    json!({
        "number": ping.entry.0,
        "text": ping.text,
        "budget_before": ping.charge.map(|charge| charge.before),
        "budget_after": ping.charge.map(|charge| charge.after),
    })
}
