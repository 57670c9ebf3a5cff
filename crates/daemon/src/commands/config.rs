//! `ollim-bot config`: shows settings. Reads them from the disk, so the daemon need not run.

use std::process::ExitCode;
use std::sync::Arc;

use domain::settings::{Setting, SettingDefaults, SettingValue, Settings as Set};
use journal::disk::Disk;
use serde_json::{Value, json};

use super::print_result;
use crate::cli::Output;
use crate::exit::CommandError;
use crate::settings::Settings;

/// Shows all settings, or the one called `name`.
pub fn show(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    name: Option<&str>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let wanted =
        name.map(Setting::from_name).transpose().map_err(|bad| CommandError::Usage(bad.to_string()))?;
    let (mut set, mut wrong) = journal::settings(&settings.paths, disk);
    let choices = settings.choices("the usual model");
    wrong.extend(choices.replace_invalid(&mut set).iter().map(|bad| format!("state/config.json: {bad}")));
    for wrong in wrong {
        output.voice.note(&wrong);
    }
    let limit = settings.spend.budget.limit;
    let user = choices.user_name.as_str();
    let usual = SettingDefaults { thinking: choices.thinking, limit, user_name: user };
    let told = |setting: Setting| match (setting, &set.models.main) {
        (Setting::ModelMain, None) => format!("{} (default)", settings.model.name()),
        (setting, _) => setting.display_value(&set, &usual),
    };
    let line = |setting: Setting| format!("{:<22}{}", setting.display_name(), told(setting));
    let row = |setting: Setting| row(setting, &set, told(setting));
    match wanted {
        Some(setting) => print_result(output, &row(setting), &line(setting)),
        None => print_result(
            output,
            &json!({ "settings": Setting::ALL.map(row) }),
            &Setting::ALL.map(line).join("\n"),
        ),
    }
    Ok(ExitCode::SUCCESS)
}

fn row(setting: Setting, set: &Set, text: String) -> Value {
    let value = match setting.stored_value(set) {
        SettingValue::Unset => Value::Null,
        SettingValue::Text(text) => text.into(),
        SettingValue::Number(number) => number.into(),
        SettingValue::Flag(flag) => flag.into(),
    };
    json!({ "name": setting.display_name(), "key": setting.key(), "value": value, "text": text })
}
