//! `ollim-bot status`: shows whether the daemon runs, and its state.

use std::process::ExitCode;
use std::sync::Arc;

use engine::ports::Clock as _;
use journal::Paths;
use journal::disk::{Disk, RealDisk};
use serde_json::{Value, json};
use surfaces::client::Client;

use super::doctor::check_remote_services;
use super::{cost, jobs, print_result, with_shell_commands};
use crate::app::SOCKET;
use crate::checks::running_daemon::RunningDaemon;
use crate::checks::{Finding, State, search};
use crate::cli::Output;
use crate::clock::SystemClock;
use crate::exit::CommandError;
use crate::settings::Settings;

/// The scope of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusScope {
    /// The daemon alone.
    DaemonOnly,
    /// Also the remote services that it uses.
    RemoteServices,
}

/// Shows the state of the running daemon. The exit code is 1 if it does not run or a remote service
/// fails, and 78 if the local settings are invalid.
pub async fn show(
    paths: &Paths,
    settings: Result<&Settings, &CommandError>,
    depth: StatusScope,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let runs = RunningDaemon::query(paths).await?;
    let (mut value, mut text, mut code) = match &runs {
        Some(RunningDaemon { health, .. }) => {
            let today = Client::new(&paths.state(), SOCKET).get_health("/api/today").await?;
            let text = status_text(health, &today["next"]);
            (with_next(health.clone(), today["next"].clone()), text, ExitCode::SUCCESS)
        }
        None => {
            let value = json!({ "running": false, "data_dir": paths.root() });
            (value, "not running. start it: ollim-bot".to_owned(), ExitCode::FAILURE)
        }
    };
    let wrong = match settings {
        Ok(settings) => {
            value["search"] = json!(search::description(settings));
            if runs.is_some() {
                text += &format!("\n  search    {}", search::description(settings));
            }
            text += &paused_line(settings, &mut value);
            text += &limit_line(settings, &mut value);
            if depth == StatusScope::RemoteServices {
                let findings = check_remote_services(settings, runs.as_ref()).await;
                value["elsewhere"] = findings.iter().map(Finding::as_json).collect();
                text = findings.iter().fold(text + "\n", |text, found| text + "  " + &found.to_text());
                if findings.iter().any(|found| found.state == State::Wrong) {
                    code = ExitCode::FAILURE;
                }
            }
            print_result(output, &value, &text);
            return Ok(code);
        }
        Err(wrong) => wrong,
    };
    value["ok"] = false.into();
    value["error"] = wrong.as_json();
    print_result(output, &value, &text);
    output.voice.note(&format!("error: {wrong}"));
    Ok(wrong.code().into())
}

/// Returns a line about a pause of all routines, if there is one.
fn paused_line(settings: &Settings, value: &mut Value) -> String {
    let pause = jobs::global_pause(&settings.paths);
    let zone = &settings.zone.value;
    let now = SystemClock::new(zone.clone()).now().timestamp();
    let paused = jobs::paused_text(pause, now, zone);
    value["paused"] = json!(paused.as_ref().and(pause.file_value()));
    paused
        .map(|paused| format!("\n  paused    all that repeats is {paused}: ollim-bot resume ends that"))
        .unwrap_or_default()
}

/// Returns a line about today's limit, if it is nearly or fully used.
fn limit_line(settings: &Settings, value: &mut Value) -> String {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let standing = cost::read_report(settings, &disk, 1).ok().and_then(|report| report.limit_notice());
    let standing = standing.map(|standing| with_shell_commands(&standing));
    value["limit"] = json!(standing);
    standing.map(|standing| format!("\n  limit     {standing}")).unwrap_or_default()
}

fn with_next(mut health: Value, next: Value) -> Value {
    health["running"] = true.into();
    health["next_fire"] = next;
    health
}

fn status_text(health: &Value, next: &Value) -> String {
    let word = |name: &str| health[name].as_str().unwrap_or("none yet").to_owned();
    let discord = health["discord"].as_str().map(|line| format!("\n  discord   {line}")).unwrap_or_default();
    let hooks = health["surfaces"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let hooks: String = hooks
        .filter_map(|surface| surface.strip_prefix("webhooks "))
        .map(|at| format!("\n  webhooks  {at}ID"))
        .collect();
    let text = format!(
        "running (pid {})\n  brain     {}\n  page      {}{discord}{hooks}\n  data      {}\n  time zone {}\n  session   {}\n  next      {}",
        health["pid"],
        word("brain"),
        word("page"),
        word("data_dir"),
        word("zone"),
        word("session"),
        upcoming(next),
    );
    let notices = health["notices"].as_array().into_iter().flatten();
    let notices = notices.filter_map(Value::as_str).map(|notice| format!("\n  note      {notice}"));
    text + &notices.collect::<String>()
}

/// Describes what comes next, and when.
fn upcoming(next: &Value) -> String {
    match (next["name"].as_str(), next["words"].as_str()) {
        (Some(name), Some(words)) => format!("{words} · {name}"),
        (_, _) => "nothing is planned".to_owned(),
    }
}
