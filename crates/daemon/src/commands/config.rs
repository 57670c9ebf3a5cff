//! `ollim-bot config`: shows settings. Reads them from the disk, so the daemon need not run.

use std::process::ExitCode;
use std::sync::Arc;

use domain::settings::{Given, Setting, Settings as Set, Usual};
use journal::disk::Disk;
use serde_json::{Value, json};

use super::answer;
use crate::cli::Output;
use crate::exit::Failed;
use crate::settings::Settings;

/// Shows all settings, or the one called `name`.
pub fn show(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    name: Option<&str>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let wanted = name.map(Setting::named).transpose().map_err(|bad| Failed::Usage(bad.to_string()))?;
    let (mut set, mut wrong) = journal::settings(&settings.paths, disk);
    let choices = settings.choices("the usual model");
    wrong.extend(choices.admit(&mut set).iter().map(|bad| format!("state/config.json: {bad}")));
    for wrong in wrong {
        output.voice.note(&wrong);
    }
    let limit = settings.spend.purse.limit;
    let human = choices.human.as_str();
    let usual = Usual { thinking: choices.thinking, limit, human };
    let told = |setting: Setting| match (setting, &set.models.main) {
        (Setting::ModelMain, None) => format!("{} (default)", settings.brain.name()),
        (setting, _) => setting.value(&set, &usual),
    };
    let line = |setting: Setting| format!("{:<22}{}", setting.shown(), told(setting));
    let row = |setting: Setting| row(setting, &set, told(setting));
    match wanted {
        Some(setting) => answer(output, &row(setting), &line(setting)),
        None => {
            answer(output, &json!({ "settings": Setting::ALL.map(row) }), &Setting::ALL.map(line).join("\n"))
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn row(setting: Setting, set: &Set, text: String) -> Value {
    let value = match setting.given(set) {
        Given::Nothing => Value::Null,
        Given::Text(text) => text.into(),
        Given::Number(number) => number.into(),
        Given::Flag(flag) => flag.into(),
    };
    json!({ "name": setting.shown(), "key": setting.key(), "value": value, "text": text })
}
