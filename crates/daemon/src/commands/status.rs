//! `ollim-bot status`: whether it runs, and how it is.

use std::process::ExitCode;

use surfaces::client::{Client, Unanswered};

use super::answer;
use crate::cli::Output;
use crate::exit::Failed;
use crate::house::SOCKET;
use crate::settings::Settings;

/// Asks the running assistant how it is; 1 if nothing runs.
pub async fn show(settings: &Settings, output: Output) -> Result<ExitCode, Failed> {
    let client = Client::new(&settings.paths.state(), SOCKET);
    let mut health = match client.get("/api/health").await {
        Ok(health) => health,
        Err(Unanswered::NotRunning) => {
            let value = serde_json::json!({ "running": false, "data_dir": settings.paths.root() });
            answer(output, &value, "not running. start it: ollim-bot");
            return Ok(ExitCode::FAILURE);
        }
        Err(error) => return Err(error.into()),
    };
    let word = |name: &str| health[name].as_str().unwrap_or("none yet").to_owned();
    let text = format!(
        "running (pid {})\n  brain     {}\n  page      {}\n  data      {}\n  time zone {}\n  session   {}\n  next fire nothing is scheduled",
        health["pid"],
        word("brain"),
        word("page"),
        word("data_dir"),
        word("zone"),
        word("session"),
    );
    let notices = health["notices"].as_array().cloned().unwrap_or_default();
    let notices: String =
        notices.iter().filter_map(|n| n.as_str()).map(|n| format!("\n  note      {n}")).collect();
    health["running"] = true.into();
    health["next_fire"] = serde_json::Value::Null;
    health["surfaces"] = serde_json::json!(["terminal", "page"]);
    answer(output, &health, &(text + &notices));
    Ok(ExitCode::SUCCESS)
}
