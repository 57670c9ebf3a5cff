//! The ollim-bot program: settings, wiring, signals and command line. The only crate that depends
//! on all others.

mod accepting;
mod appointments;
mod beginning;
mod brain;
mod cage;
mod chat;
mod checkup;
mod chores;
mod claude;
mod cli;
mod clock;
mod commands;
mod exit;
mod google;
mod greeting;
mod heart;
mod hooks;
pub mod house;
mod job_files;
mod known;
mod leash;
pub mod lenders;
mod logbook;
mod model_records;
mod notify;
pub mod own;
mod pairing;
mod planned;
mod reach;
mod seating;
mod service;
pub mod settings;
mod signing_in;
pub mod skills;
mod telemetry;
mod tool_lists;
mod updating;
mod vitals;
mod voice;
pub mod workshop;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use clap_complete::CompleteEnv;
use journal::Paths;
use journal::disk::{Disk, RealDisk};
use tracing_subscriber::fmt::writer::{BoxMakeWriter, MakeWriterExt};

use checkup::loose;
use cli::{Care, Cli, Command, Inner, Installing, Kit, Look};
use exit::Failed;
use logbook::Logbook;
use settings::Settings;
use settings::log::{Form, Log, Wanted};

/// Runs the program as its arguments and its environment say.
pub fn main() -> ExitCode {
    main_on(Arc::new(RealDisk))
}

/// Runs the program on `disk`.
pub fn main_on(disk: Arc<dyn Disk>) -> ExitCode {
    // New files are private to the user.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    // Shell completion is requested through the environment and answered before anything else is
    // read.
    CompleteEnv::with_factory(cli::completing).complete();
    let cli = Cli::parse_from(cli::flags::first(std::env::args_os()));
    let output = cli.output.clone();
    match dispatch(cli, disk) {
        Ok(code) => code,
        Err(failed) => failed.tell(&output),
    }
}

fn dispatch(cli: Cli, disk: Arc<dyn Disk>) -> Result<ExitCode, Failed> {
    if let Some(Command::Look(Look::Completion { shell })) = &cli.command {
        return commands::completion::print(*shell);
    }
    if let Some(Command::Look(Look::Help { words })) = &cli.command {
        return commands::help::show(words, &cli.output);
    }
    if let Some(Command::Kit(Kit::Installing(Installing::Man { out }))) = &cli.command {
        return commands::man::show(out.as_deref(), &cli.output);
    }
    // Internal processes must not read anything before they start their work.
    if let Some(Command::Inner(asked)) = &cli.command {
        return inner(asked);
    }
    let environment = cli.place.environment();
    // `auth` must work with invalid settings, because it may be needed to repair them.
    if let Some(Command::Kit(Kit::Installing(Installing::Auth { words }))) = &cli.command {
        return commands::auth::run(words, &environment.completed().unwrap_or(environment));
    }
    let paths = Paths::new(environment.data_dir()?);
    let mended = tightened(cli.command.as_ref(), &paths);
    let log = environment.completed().and_then(|environment| settings::log::read(&environment));
    let book = Logbook::new(settings::log::file(&paths));
    let how = *log.as_ref().unwrap_or(&Log::USUAL);
    start_log(how, log_writer(&cli, how.wanted, book));
    // Log the repairs even if the start fails later.
    mended.iter().for_each(|mended| tracing::warn!(mended, "Something was found that others could read."));
    let settings = log.and_then(|_| Settings::read(&environment));
    wire::provide();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(commands::run(cli, paths, settings, disk, mended));
    // A blocking read of the terminal cannot be cancelled and must not delay the exit.
    runtime.shutdown_background();
    done
}

/// J2: Makes exposed files private before they are read, because exposed secrets are rejected. Only
/// for commands that start the assistant and for `doctor --fix`. Returns what was repaired;
/// failures are reported by the start.
fn tightened(command: Option<&Command>, paths: &Paths) -> Vec<String> {
    match command {
        None | Some(Command::Run { .. } | Command::Chat { once: false, .. } | Command::Tui) => {
            loose::mend_at_start(paths).mended.into_iter().collect()
        }
        Some(Command::Look(Look::Doctor(Care { fix: true, .. }))) => loose::mend(paths),
        Some(_) => Vec::new(),
    }
}

/// Runs a command that is only used between our own processes.
fn inner(asked: &Inner) -> Result<ExitCode, Failed> {
    match asked {
        Inner::Leash { parent, line } => leash::become_leashed(*parent, line).map(|never| match never {}),
        Inner::Cage(cage) => Ok(cage::run(cage)),
    }
}

/// SU-13: Selects the log's target. The daemon logs to stderr and the log file; a command logs to
/// stderr only if logging was requested.
fn log_writer(cli: &Cli, wanted: Wanted, book: Logbook) -> BoxMakeWriter {
    match (&cli.command, wanted) {
        (None | Some(Command::Run { .. }), _) => BoxMakeWriter::new(std::io::stderr.and(book)),
        (Some(_), Wanted::Asked) => BoxMakeWriter::new(std::io::stderr),
        (Some(_), Wanted::Unasked) => BoxMakeWriter::new(book),
    }
}

fn start_log(Log { level, form, .. }: Log, writer: BoxMakeWriter) {
    // By default the subscriber reports write errors on stderr and panics if that fails too, as on
    // a full disk.
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(writer)
        .with_target(false)
        .log_internal_errors(false);
    let _ = match form {
        Form::Text => log.with_ansi(false).try_init(),
        Form::Json => log.json().flatten_event(true).try_init(),
    };
}
