//! `ollim-bot doctor`: what is wrong, and what to do about it. It only looks.

mod holdings;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ::journal::Paths;
use ::journal::disk::{Disk, RealDisk};
use ::journal::files::items::Items;
use domain::failure::Failure;
use domain::schedule::{Reminder, Routine};
use models::anthropic::{self, Anthropic, BadSettings};
use models::claude::{self, Claude};
use models::openai::{self, OpenAi};
use serde_json::json;
use surfaces::client::{Client, Unanswered};

use super::answer;
use super::jobs::{Job, Row, rows};
use crate::cli::Output;
use crate::exit::Failed;
use crate::hooks;
use crate::house::SOCKET;
use crate::settings::{Brain, Settings, Webhooks};
use crate::tool_lists::Check;

/// The least room that is fine, and the least that still works.
const ROOM_FINE: u64 = 500 * 1024 * 1024;
const ROOM_WORKS: u64 = 50 * 1024 * 1024;

/// How long the doctor waits for a model.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the doctor waits for a program of 200 MB to start.
const PROGRAM_PATIENCE: Duration = Duration::from_secs(20);

/// How one thing is.
struct Finding {
    what: &'static str,
    state: State,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Fine,
    Warning,
    Wrong,
}

impl State {
    fn mark(self) -> &'static str {
        match self {
            Self::Fine => "✓",
            Self::Warning => "!",
            Self::Wrong => "✗",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Warning => "warning",
            Self::Wrong => "wrong",
        }
    }
}

/// Looks at everything, as far as the settings can be read; 1 if something is wrong.
pub async fn examine(
    paths: &Paths,
    settings: Result<&Settings, &Failed>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let mut findings =
        vec![data(paths), found(paths), journal(paths), disk(paths), clock(), running(paths).await];
    match settings {
        Ok(settings) => {
            findings.extend([zone(settings), model(settings).await]);
            findings.extend(thinking(settings));
            findings.extend(tool_lists(settings));
            findings.extend(job_files::<Routine>(settings));
            findings.extend(job_files::<Reminder>(settings));
            findings.extend(webhooks(settings));
        }
        Err(wrong) => findings.push(finding("settings", State::Wrong, wrong.to_string())),
    }
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let (wrong, warnings) = (count(State::Wrong), count(State::Warning));
    let lines: String = findings
        .iter()
        .map(|finding| format!("{} {:<8} {}\n", finding.state.mark(), finding.what, finding.text))
        .collect();
    let value: Vec<_> = findings
        .iter()
        .map(|finding| json!({ "what": finding.what, "state": finding.state.word(), "text": finding.text }))
        .collect();
    let value = json!({ "ok": wrong == 0, "findings": value });
    answer(output, &value, &format!("{lines}{wrong} wrong, {warnings} to look at"));
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn finding(what: &'static str, state: State, text: impl Into<String>) -> Finding {
    Finding { what, state, text: text.into() }
}

fn data(paths: &Paths) -> Finding {
    let root = paths.root();
    match root.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            finding("data", State::Fine, format!("{} will be made at the first start", root.display()))
        }
        Err(error) => finding(
            "data",
            State::Wrong,
            format!("{}: {error}. choose another with --data-dir", root.display()),
        ),
        Ok(found) if !found.is_dir() => finding(
            "data",
            State::Wrong,
            format!("{} is not a directory. choose another with --data-dir", root.display()),
        ),
        Ok(_) if rustix::fs::access(root, rustix::fs::Access::WRITE_OK).is_err() => finding(
            "data",
            State::Wrong,
            format!("{} cannot be written to. make it writable", root.display()),
        ),
        Ok(_) => finding("data", State::Fine, root.display().to_string()),
    }
}

fn found(paths: &Paths) -> Finding {
    finding("found", State::Fine, holdings::holdings(paths, &RealDisk))
}

fn journal(paths: &Paths) -> Finding {
    match ::journal::peek(paths) {
        Ok(None) => finding("journal", State::Fine, "nothing was said yet"),
        Ok(Some(database)) if database.is_sound() => {
            let size = paths.database().metadata().map(|found| found.len()).unwrap_or_default();
            finding("journal", State::Fine, format!("sound, {} KB", size / 1024))
        }
        Ok(Some(_)) => finding(
            "journal",
            State::Wrong,
            "damaged. the next start keeps it aside and goes on from the newest backup",
        ),
        Err(error) => finding("journal", State::Wrong, error.to_string()),
    }
}

fn disk(paths: &Paths) -> Finding {
    let place = paths.root().ancestors().find(|path| path.exists());
    let Some(found) = place.and_then(|path| rustix::fs::statvfs(path).ok()) else {
        return finding("disk", State::Warning, "its free space cannot be read");
    };
    let free = found.f_bavail * found.f_frsize;
    let text = format!("{} MB free", free / 1024 / 1024);
    match free {
        free if free >= ROOM_FINE => finding("disk", State::Fine, text),
        free if free >= ROOM_WORKS => {
            finding("disk", State::Warning, format!("only {text}. make some room soon"))
        }
        _ => finding(
            "disk",
            State::Wrong,
            format!("only {text}. make some room: i can't write things down without"),
        ),
    }
}

fn zone(settings: &Settings) -> Finding {
    let name = settings.zone.value.iana_name().unwrap_or("UTC");
    let text = format!("{name} (from {})", settings.zone.from);
    match settings.zone.from {
        "a guess" => finding("zone", State::Warning, format!("{text}. set OLLIM_TIMEZONE to yours")),
        _ => finding("zone", State::Fine, text),
    }
}

/// A clock before the day this was written is certainly wrong.
#[expect(clippy::disallowed_methods, reason = "the doctor looks at the machine's own clock")]
fn clock() -> Finding {
    let now = jiff::Timestamp::now();
    match now.as_second() > 1_793_000_000 {
        true => finding("clock", State::Fine, format!("{}", now.strftime("%Y-%m-%d %H:%M UTC"))),
        false => finding("clock", State::Wrong, format!("it says {now}, which is long past. set the clock")),
    }
}

async fn model(settings: &Settings) -> Finding {
    // The doctor does not wait as long as a conversation would.
    let (connect, stall) = (PATIENCE, PATIENCE);
    let (place, examined) = match &settings.brain {
        Brain::Offline => {
            let text = "none connected. set ANTHROPIC_API_KEY to talk for real";
            return finding("model", State::Warning, text);
        }
        Brain::Anthropic(brain) => {
            let place = format!("{} at {}", brain.model, brain.base_url);
            match Anthropic::new(anthropic::Settings { connect, stall, ..brain.clone() }) {
                Ok(model) => (place, Ok(model.examine().await)),
                Err(bad) => (place, Err(bad)),
            }
        }
        Brain::OpenAi(brain) => {
            let place = format!("{} at {}", brain.model, brain.base_url);
            match OpenAi::new(openai::Settings { connect, stall, ..brain.clone() }) {
                Ok(model) => (place, Ok(model.examine().await)),
                Err(bad) => (place, Err(bad)),
            }
        }
        Brain::Claude(brain) => return program(brain).await,
    };
    examination(&place, examined)
}

async fn program(brain: &claude::Settings) -> Finding {
    let patience = claude::Patience { start: PROGRAM_PATIENCE, ..brain.patience };
    // The data directory may still be made, and where it looks from makes no difference.
    let settings = claude::Settings { patience, folder: "/".into(), ..brain.clone() };
    let claude = match Claude::new(settings, claude::Company::default()) {
        Ok(claude) => claude,
        Err(bad) => return finding("model", State::Wrong, bad.to_string()),
    };
    match claude.examine().await {
        Ok(claude::Examined { version, login: Some(login) }) => finding(
            "model",
            State::Fine,
            format!("{}: {version}, logged in ({login})", brain.program.display()),
        ),
        Ok(claude::Examined { version, login: None }) => finding(
            "model",
            State::Warning,
            format!("{version} does not say whether it is logged in. `claude` in a terminal tells"),
        ),
        Err(failure) => finding("model", State::Wrong, failure.to_string()),
    }
}

fn examination(place: &str, examined: Result<Result<(), Failure>, BadSettings>) -> Finding {
    match examined {
        Err(bad) => finding("model", State::Wrong, bad.to_string()),
        Ok(Ok(())) => finding("model", State::Fine, format!("{place} answers")),
        Ok(Err(Failure::Unreachable(why))) => {
            finding("model", State::Wrong, format!("{place} cannot be reached: {why}. check the address"))
        }
        Ok(Err(failure)) => finding("model", State::Wrong, format!("{place}: {failure}")),
    }
}

/// What was said about thinking and nobody heeds.
fn thinking(settings: &Settings) -> Option<Finding> {
    settings.thinking?;
    let who = match &settings.brain {
        Brain::Anthropic(_) | Brain::Claude(_) => return None,
        Brain::OpenAi(settings) => settings.model.as_str(),
        Brain::Offline => "the offline brain",
    };
    let text = format!("OLLIM_THINKING is not told to {who}: only the models of Anthropic take it");
    Some(finding("thinking", State::Warning, text))
}

/// What is wrong with the tool lists of files. The assistant goes on without those lines.
fn tool_lists(settings: &Settings) -> impl Iterator<Item = Finding> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let complaints = Check::new(settings).look(settings, &disk);
    complaints.into_iter().map(|complaint| finding("tools", State::Warning, complaint))
}

/// The job files that cannot be read. All others go on.
fn job_files<K: Job>(settings: &Settings) -> Vec<Finding> {
    let items = Items::<K>::new(Arc::new(RealDisk), settings.paths.root(), settings.zone.value.clone());
    let told = |row: Row| {
        let bad = row.job.err()?;
        Some(finding("jobs", State::Warning, format!("{}: {bad}", row.file)))
    };
    match rows(&items) {
        Ok(rows) => rows.into_iter().filter_map(told).collect(),
        Err(trouble) => vec![finding("jobs", State::Wrong, trouble.to_string())],
    }
}

/// Whether other programs can call, and the webhooks that they cannot.
fn webhooks(settings: &Settings) -> Vec<Finding> {
    let what = "hooks";
    let door = match &settings.places.webhooks {
        Webhooks::Off => None,
        Webhooks::On(port, _) => {
            Some(finding(what, State::Fine, format!("POST http://127.0.0.1:{port}/hook/ID")))
        }
        Webhooks::Wrong(why) => Some(finding(what, State::Wrong, why.clone())),
    };
    let complaints = hooks::complaints(settings, Arc::new(RealDisk));
    let complaints = complaints.into_iter().map(|complaint| finding(what, State::Warning, complaint));
    door.into_iter().chain(complaints).collect()
}

async fn running(paths: &Paths) -> Finding {
    let client = Client::new(&paths.state(), SOCKET);
    match client.get("/api/health").await {
        Ok(health) => {
            finding("running", State::Fine, format!("pid {}, page {}", health["pid"], health["page"]))
        }
        Err(Unanswered::NotRunning) => finding("running", State::Fine, "no. start it: ollim-bot"),
        Err(error) => finding("running", State::Wrong, error.to_string()),
    }
}
