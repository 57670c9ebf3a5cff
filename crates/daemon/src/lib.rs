//! The ollim-bot program: settings, wiring, signals and command line. The only crate that depends
//! on all others.

pub mod app;
mod appointments;
mod chat;
mod checks;
mod claude;
mod claude_sign_in;
mod cli;
mod clock;
mod commands;
mod connection;
mod consent;
mod exit;
mod google;
mod greeting;
mod greeting_facts;
mod health;
pub mod in_process_cli;
mod job_files;
mod log_file;
pub mod mcp_servers;
mod model;
mod model_records;
mod notify;
mod pairing;
mod parent_death;
mod periodic;
mod printer;
mod sandbox;
mod service;
pub mod settings;
pub mod skills;
mod startup;
mod telemetry;
mod terminal_session;
pub mod tool_env;
mod tool_lists;
mod upcoming_runs;
mod update;
mod watchdog;
mod webhooks;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use clap_complete::CompleteEnv;
use journal::Paths;
use journal::disk::{Disk, RealDisk};
use tracing_subscriber::fmt::writer::{BoxMakeWriter, MakeWriterExt};

use checks::permissions;
use cli::{Cli, Command, DoctorArgs, ExtensionCommand, InstallCommand, InternalCommand, QueryCommand};
use exit::CommandError;
use log_file::LogFile;
use settings::Settings;
use settings::log::{LogFormat, LogRequest, LogSettings};

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
    CompleteEnv::with_factory(cli::command_with_candidates).complete();
    let cli = Cli::parse_from(cli::flags::global_flags_first(std::env::args_os()));
    let output = cli.output.clone();
    match dispatch(cli, disk) {
        Ok(code) => code,
        Err(failed) => failed.report(&output),
    }
}

fn dispatch(cli: Cli, disk: Arc<dyn Disk>) -> Result<ExitCode, CommandError> {
    if let Some(Command::Look(QueryCommand::Completion { shell })) = &cli.command {
        return commands::completion::print(*shell);
    }
    if let Some(Command::Look(QueryCommand::Help { words })) = &cli.command {
        return commands::help::show(words, &cli.output);
    }
    if let Some(Command::Kit(ExtensionCommand::Installing(InstallCommand::Man { out }))) = &cli.command {
        return commands::man::show(out.as_deref(), &cli.output);
    }
    // Internal processes must not read anything before they start their work.
    if let Some(Command::Inner(asked)) = &cli.command {
        return run_internal(asked);
    }
    let environment = cli.place.environment();
    // `auth` must work with invalid settings, because it may be needed to repair them.
    if let Some(Command::Kit(ExtensionCommand::Installing(InstallCommand::Auth { words }))) = &cli.command {
        return commands::auth::run(words, &environment.with_stored().unwrap_or(environment));
    }
    let paths = Paths::new(environment.data_dir()?);
    let mended = repair_permissions(cli.command.as_ref(), &paths);
    let log = environment.with_stored().and_then(|environment| settings::log::read(&environment));
    let book = LogFile::new(settings::log::log_path(&paths));
    let how = *log.as_ref().unwrap_or(&LogSettings::DEFAULT);
    start_log(how, log_writer(&cli, how.request, book));
    // Log the repairs even if the start fails later.
    mended.iter().for_each(|mended| tracing::warn!(mended, "Something was found that others could read."));
    let settings = log.and_then(|_| Settings::read(&environment));
    wire::install_crypto_provider();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(commands::run(cli, paths, settings, disk, mended));
    // A blocking read of the terminal cannot be cancelled and must not delay the exit.
    runtime.shutdown_background();
    done
}

/// J2: Makes exposed files private before they are read, because exposed secrets are rejected. Only
/// for commands that start the assistant and for `doctor --fix`. Returns what was repaired;
/// failures are reported by the start.
fn repair_permissions(command: Option<&Command>, paths: &Paths) -> Vec<String> {
    match command {
        None | Some(Command::Run { .. } | Command::Chat { once: false, .. } | Command::Tui) => {
            permissions::repair_at_start(paths).repaired.into_iter().collect()
        }
        Some(Command::Look(QueryCommand::Doctor(DoctorArgs { fix: true, .. }))) => permissions::repair(paths),
        Some(_) => Vec::new(),
    }
}

/// Runs a command that is only used between our own processes.
fn run_internal(asked: &InternalCommand) -> Result<ExitCode, CommandError> {
    match asked {
        InternalCommand::Leash { parent, line } => {
            parent_death::exec_with_parent_death(*parent, line).map(|never| match never {})
        }
        InternalCommand::Cage(cage) => Ok(sandbox::run(cage)),
    }
}

/// SU-13: Selects the log's target. The daemon logs to stderr and the log file; a command logs to
/// stderr only if logging was requested.
fn log_writer(cli: &Cli, wanted: LogRequest, book: LogFile) -> BoxMakeWriter {
    match (&cli.command, wanted) {
        (None | Some(Command::Run { .. }), _) => BoxMakeWriter::new(std::io::stderr.and(book)),
        (Some(_), LogRequest::Explicit) => BoxMakeWriter::new(std::io::stderr),
        (Some(_), LogRequest::Unset) => BoxMakeWriter::new(book),
    }
}

fn start_log(LogSettings { level, format: form, .. }: LogSettings, writer: BoxMakeWriter) {
    // By default the subscriber reports write errors on stderr and panics if that fails too, as on
    // a full disk.
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(writer)
        .with_target(false)
        .log_internal_errors(false);
    let _ = match form {
        LogFormat::Text => log.with_ansi(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
}
