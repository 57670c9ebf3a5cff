//! `ollim-bot simulate`: shows what would happen between two times, with the current job files.
//!
//! Runs the real assistant, journal, job book and event loop on a temporary copy of the files. Only
//! the clock and the model are simulated.

mod display;
mod events;
mod model;
mod span;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use domain::assistant::{Assistant, Event, FileScan};
use domain::context::instructions;
use domain::retry_policy;
use domain::rng::Rng;
use engine::call_slots::CallSlots;
use engine::driver::Services;
use engine::event_loop::EventLoop;
use engine::handle::{AssistantHandle, Input};
use engine::ports::{Clock, ToolRunner};
use engine::simulation::{BlockingJournal, SimClock};
use journal::disk::RealDisk;
use journal::jobs::JobFileScanner;
use journal::{HistoryMode, OpenParams, OpenedJournal, Paths};
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tools::Toolbox;

use events::{EventRecorder, SimEvent};
pub use model::HELP;
use model::{Script, ScriptedModel};
use span::Span;

use crate::cli::Output;
use crate::exit::CommandError;
use crate::printer::print;
use crate::settings::Settings;

/// What is simulated.
#[derive(Debug, clap::Args)]
pub struct SimulateArgs {
    /// When it begins: a date, or a time such as 2026-03-27T08:00
    #[arg(long, value_name = "TIME")]
    from: String,
    /// When it ends
    #[arg(long, value_name = "TIME")]
    to: String,
    /// What the model does, instead of nothing
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Other dice: the same number gives the same life
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// The files that are copied.
const STATE_FILES: [&str; 2] = ["config.json", "ping_budget.json"];
const JOB_DIRECTORIES: [&str; 2] = ["routines", "reminders"];

/// Runs the simulation and prints what happened.
pub async fn show(
    settings: &Settings,
    args: &SimulateArgs,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let zone = &settings.zone.value;
    let span = Span::read(&args.from, &args.to, zone)?;
    let script = args.script.as_deref().map(Script::read).transpose()?.unwrap_or_default();
    let copy = copy_data(&settings.paths)
        .map_err(|error| CommandError::Failed(format!("the job files cannot be copied: {error}")))?;
    let facts = simulate(settings, &Paths::new(copy.path()), span, script, args.seed).await?;
    if output.json {
        let values: Vec<String> = facts.iter().map(|fact| display::to_json(fact, zone).to_string()).collect();
        print(&format!("[{}]", values.join(",\n")));
    } else {
        facts.iter().for_each(|fact| print(&display::line(fact, zone)))
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs an assistant at `paths` through the simulated time, and returns what happened.
async fn simulate(
    settings: &Settings,
    paths: &Paths,
    span: Span,
    script: Script,
    seed: u64,
) -> Result<Vec<SimEvent>, CommandError> {
    let clock = Arc::new(SimClock::new(&span.from));
    let zone = settings.zone.value.clone();
    let now = span.from.timestamp();
    let place = OpenParams {
        paths: paths.clone(),
        disk: Arc::new(RealDisk),
        zone: zone.clone(),
        now,
        pid: std::process::id(),
    };
    let OpenedJournal { journal, state: memory, .. } =
        journal::open_with_history(place, HistoryMode::Disabled)?;
    let watch = Arc::new(EventRecorder::new(clock.clone()));
    let hands = Arc::new(Toolbox::default());
    let world = Services {
        model: Arc::new(ScriptedModel::new(script, clock.clone())),
        tools: hands.clone(),
        journal: Arc::new(BlockingJournal { journal: Arc::new(journal), observer: watch.clone() }),
        surface: watch.clone(),
        instructions: instructions(&settings.names.value),
        retry_limits: retry_policy::RetryLimits::NONE,
        limits: settings.spend.turn,
        // Unlimited: calls must not wait for each other, because simulated calls wait only for the
        // clock.
        call_slots: Arc::new(CallSlots::new(Semaphore::MAX_PERMITS)),
    };
    let assistant =
        Assistant::new(memory, hands.tools(), settings.model_policy.context_window, Rng::new(seed));
    let mut house = EventLoop::new(assistant, world, clock.clone(), AssistantHandle::new());
    let news = JobFileScanner::open(Arc::new(RealDisk), paths, zone).scan(clock.now().timestamp());
    for event in [Event::Started, Event::FilesChanged(news, FileScan::First)] {
        house.handle(Input::Event(event)).await;
    }
    house.simulate(&clock, span.length.unsigned_abs()).await;
    house.shut_down().await;
    Ok(watch.events())
}

/// Copies the files into a temporary directory, in memory if possible.
fn copy_data(paths: &Paths) -> io::Result<TempDir> {
    let copy = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let state = copy.path().join("state");
    fs::create_dir(&state)?;
    for name in STATE_FILES {
        copy_file(&paths.state().join(name), &state.join(name))?;
    }
    for folder in JOB_DIRECTORIES {
        let listed = match fs::read_dir(paths.root().join(folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            listed => listed?,
        };
        fs::create_dir(copy.path().join(folder))?;
        for entry in listed {
            let entry = entry?;
            if entry.path().extension().is_some_and(|extension| extension == "md") && entry.path().is_file() {
                copy_file(&entry.path(), &copy.path().join(folder).join(entry.file_name()))?;
            }
        }
    }
    Ok(copy)
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    match fs::copy(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        copied => copied.map(drop),
    }
}
