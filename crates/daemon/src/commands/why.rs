//! `ollim-bot why`: how an answer came about. Read from the disk, so it works whether or not it runs.

use std::process::ExitCode;

use domain::explanation::{Explanation, unknown};
use domain::turn::TurnId;
use serde_json::{Value, json};

use super::answer;
use crate::cli::Output;
use crate::exit::Failed;
use crate::settings::Settings;

/// Shows the one with the number `turn`, or the last one.
pub fn show(settings: &Settings, turn: Option<u64>, output: Output) -> Result<ExitCode, Failed> {
    let failed = |error: &dyn std::fmt::Display| Failed::NotDone(error.to_string());
    let turn = turn.map(TurnId);
    let found = match journal::peek(&settings.paths).map_err(|error| failed(&error))? {
        Some(database) => database.explain(turn).map_err(|error| failed(&error))?,
        None => None,
    };
    match (found, turn) {
        (Some(found), _) => answer(output, &value(&found), &found.tell(&settings.zone.value)),
        (None, Some(_)) => return Err(Failed::NotDone(unknown(turn))),
        (None, None) => answer(output, &json!({ "turn": null }), &unknown(turn)),
    }
    Ok(ExitCode::SUCCESS)
}

fn value(found: &Explanation) -> Value {
    let (total, end) = (found.total(), found.end.as_ref());
    let tools = found.tools.iter().map(|(tool, rule)| json!({ "tool": tool, "rule": rule }));
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
        "models": models.collect::<std::collections::BTreeSet<_>>(),
        "calls": total.calls,
        "input": total.usage.input,
        "cache_read": total.usage.cache_read,
        "cache_write": total.usage.cache_write,
        "output": total.usage.output,
        "cached_percent": total.cached_percent(),
        "dollars": total.cost.as_dollars(),
        "unpriced_calls": total.unpriced,
        "tools": tools.collect::<Vec<_>>(),
        "closed": end.map(|end| end.at.to_string()),
        "ending": end.map(|end| end.how.as_str()),
        "reason": end.and_then(|end| end.why.as_deref()),
    })
}
