//! `ollim-bot simulate`: shows what would happen between two times, with the current job files.
//!
//! Runs the real assistant, journal, job book and event loop on a temporary copy of the files. Only
//! the clock and the model are simulated.

mod facts;
mod model;
mod span;
mod telling;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use domain::assistant::{Assistant, Event, Look};
use domain::context::instructions;
use domain::dice::Dice;
use domain::patience;
use engine::desk::{Desk, Letter};
use engine::drive::World;
use engine::places::Places;
use engine::played::{AtOnce, PlayedClock};
use engine::ports::{Clock, Hands};
use engine::run::House;
use journal::disk::RealDisk;
use journal::jobs::JobBook;
use journal::{Opened, Paths, Place, Tracked};
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tools::Toolbox;

use facts::{Fact, Watch};
pub use model::HELP;
use model::{Script, Scripted};
use span::Span;

use crate::cli::Output;
use crate::exit::Failed;
use crate::settings::Settings;
use crate::voice::print;

/// What is simulated.
#[derive(Debug, clap::Args)]
pub struct Wanted {
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
const STATE: [&str; 2] = ["config.json", "ping_budget.json"];
const JOBS: [&str; 2] = ["routines", "reminders"];

/// Runs the simulation and prints what happened.
pub async fn show(settings: &Settings, wanted: &Wanted, output: &Output) -> Result<ExitCode, Failed> {
    let zone = &settings.zone.value;
    let span = Span::read(&wanted.from, &wanted.to, zone)?;
    let script = wanted.script.as_deref().map(Script::read).transpose()?.unwrap_or_default();
    let copy = copied(&settings.paths)
        .map_err(|error| Failed::NotDone(format!("the job files cannot be copied: {error}")))?;
    let facts = live(settings, &Paths::new(copy.path()), span, script, wanted.seed).await?;
    if output.json {
        let values: Vec<String> = facts.iter().map(|fact| telling::value(fact, zone).to_string()).collect();
        print(&format!("[{}]", values.join(",\n")));
    } else {
        facts.iter().for_each(|fact| print(&telling::line(fact, zone)))
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs an assistant at `paths` through the simulated time, and returns what happened.
async fn live(
    settings: &Settings,
    paths: &Paths,
    span: Span,
    script: Script,
    seed: u64,
) -> Result<Vec<Fact>, Failed> {
    let clock = Arc::new(PlayedClock::new(&span.from));
    let zone = settings.zone.value.clone();
    let now = span.from.timestamp();
    let place = Place {
        paths: paths.clone(),
        disk: Arc::new(RealDisk),
        zone: zone.clone(),
        now,
        pid: std::process::id(),
    };
    let Opened { journal, memory, .. } = journal::open_with(place, Tracked::Nowhere)?;
    let watch = Arc::new(Watch::new(clock.clone()));
    let hands = Arc::new(Toolbox::default());
    let world = World {
        model: Arc::new(Scripted::new(script, clock.clone())),
        hands: hands.clone(),
        journal: Arc::new(AtOnce { journal: Arc::new(journal), watching: watch.clone() }),
        surface: watch.clone(),
        instructions: instructions(&settings.names.value),
        patience: patience::Limits::NONE,
        limits: settings.spend.turn,
        // Unlimited: calls must not wait for each other, because simulated calls wait only for the
        // clock.
        calls: Arc::new(Places::new(Semaphore::MAX_PERMITS)),
    };
    let assistant = Assistant::new(memory, hands.tools(), settings.manners.room, Dice::new(seed));
    let mut house = House::new(assistant, world, clock.clone(), Desk::new());
    let news = JobBook::open(Arc::new(RealDisk), paths, zone).look(clock.now().timestamp());
    for event in [Event::Started, Event::Files(news, Look::First)] {
        house.open(Letter::Happened(event)).await;
    }
    house.play(&clock, span.length.unsigned_abs()).await;
    house.leave().await;
    Ok(watch.facts())
}

/// Copies the files into a temporary directory, in memory if possible.
fn copied(paths: &Paths) -> io::Result<TempDir> {
    let copy = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
    let state = copy.path().join("state");
    fs::create_dir(&state)?;
    for name in STATE {
        copy_file(&paths.state().join(name), &state.join(name))?;
    }
    for folder in JOBS {
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
