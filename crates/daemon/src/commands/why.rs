//! `ollim-bot why`: explains an answer, a ping or a silence. Reads from the disk, so the daemon
//! need not run.

use std::collections::BTreeSet;
use std::process::ExitCode;

use domain::explanation::{
    DecidedCall, ExplanationReport, JobExplanation, ShownPing, Subject, TurnExplanation,
};
use domain::label::Realm;
use domain::occurrence::OccurrenceState;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{print_result, with_shell_commands};
use crate::cli::Output;
use crate::exit::CommandError;
use crate::settings::Settings;

/// Explains the subject that `words` name, or the last answer.
pub fn show(settings: &Settings, words: &[String], output: &Output) -> Result<ExitCode, CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::Failed(error.to_string());
    let subject = Subject::parse(words.join(" ").trim()).map_err(CommandError::Usage)?;
    let zone = &settings.zone.value;
    let found = match journal::open_read_only(&settings.paths).map_err(|error| failed(&error))? {
        Some(database) => database.explain(&subject, zone).map_err(|error| failed(&error))?,
        None => None,
    };
    match found {
        Some(found) => print_result(output, &to_json(&found, zone), &found.render(zone)),
        None if subject == Subject::Last => {
            print_result(output, &json!({ "turn": null }), &subject.not_found_text())
        }
        None => return Err(CommandError::Failed(with_shell_commands(&subject.not_found_text()))),
    }
    Ok(ExitCode::SUCCESS)
}

fn to_json(found: &ExplanationReport, zone: &TimeZone) -> Value {
    match found {
        ExplanationReport::Answer(found) => turn_json(found),
        ExplanationReport::Work(found) => run_json(found, zone),
        ExplanationReport::Job(works) => {
            json!({ "times": works.iter().map(|found| run_json(found, zone)).collect::<Vec<_>>() })
        }
    }
}

fn turn_json(found: &TurnExplanation) -> Value {
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
        "opened": found.opened_at.to_string(),
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
        "tools": tool_decisions(found),
        "closed": end.map(|end| end.at.to_string()),
        "ending": end.map(|end| end.outcome.as_str()),
        "reason": end.and_then(|end| end.reason.as_deref()),
    })
}

fn tool_decisions(found: &TurnExplanation) -> Vec<Value> {
    let gate = |call: &DecidedCall| {
        let after: Vec<&str> = call.label.outside.iter().map(Realm::as_str).collect();
        json!({ "tool": call.tool, "rule": call.rule, "after": after })
    };
    found.tools.iter().map(gate).collect()
}

fn run_json(found: &JobExplanation, zone: &TimeZone) -> Value {
    let iso = |at: Timestamp| at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
    let due = found.due.as_ref();
    let end = due.and_then(|(occurrence, _)| match &occurrence.state {
        OccurrenceState::Ended(end) => Some(end),
        OccurrenceState::Running(_)
        | OccurrenceState::SentToMain(_)
        | OccurrenceState::Retrying(_)
        | OccurrenceState::Queued => None,
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
        "tools": found.turns.iter().flat_map(tool_decisions).collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
        "pings": found.pings.iter().map(ping_json).collect::<Vec<_>>(),
        "silence": found.silence_reason(),
        "calls": total.calls,
        "read": total.usage.total_input(),
        "output": total.usage.output,
        "dollars": total.cost.as_dollars(),
        "unpriced_calls": total.unpriced,
        "end": end.map(|end| end.as_str()),
        "reason": end.map(|end| end.note()),
        "since": due.map(|(occurrence, _)| iso(occurrence.since)),
    })
}

fn ping_json(ping: &ShownPing) -> Value {
    json!({
        "number": ping.entry.0,
        "text": ping.text,
        "budget_before": ping.charge.map(|charge| charge.before),
        "budget_after": ping.charge.map(|charge| charge.after),
    })
}
