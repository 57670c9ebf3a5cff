//! `ollim-bot service`: installs and controls the systemd user service.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use journal::Paths;
use journal::disk::{RealDisk, ensure_dir, replace};
use serde_json::{Value, json};

use super::print_result;
use crate::checks::running_daemon::RunningDaemon;
use crate::cli::{Output, ServiceAction};
use crate::exit::CommandError;
use crate::service::ServiceStatus;
use crate::service::manager::{Linger, Manager, ManagerError};
use crate::service::unit::{Installation, Sandboxing, UNIT_NAME, Unit};
use crate::settings::{Environment, ServiceSettings, Settings, log, stored_environment};

/// The exit code of systemd for a process whose namespace could not be set up.
const NAMESPACE_FAILURE: i32 = 226;

/// Runs the command. Only those that start the service need valid settings.
pub async fn run(
    environment: &Environment,
    paths: &Paths,
    settings: Result<&Settings, CommandError>,
    action: ServiceAction,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let unit = unit(&ServiceSettings::read(environment), paths)?;
    match action {
        ServiceAction::Install => {
            let done = install(environment, settings?, &unit).await?;
            print_result(output, &done.value, &done.text);
            Ok(ExitCode::SUCCESS)
        }
        ServiceAction::Start => settings.and_then(|_| control_unit(&unit, "start", output)),
        ServiceAction::Stop => control_unit(&unit, "stop", output),
        ServiceAction::Restart => settings.and_then(|_| control_unit(&unit, "restart", output)),
        ServiceAction::Status => status(&unit, output),
        ServiceAction::Logs { lines, follow } => logs(paths, &unit, lines, follow),
        ServiceAction::Remove => remove(&unit, output),
    }
}

/// Returns the unit for the directory at `paths`.
pub fn unit(service: &ServiceSettings, paths: &Paths) -> Result<Unit, CommandError> {
    Unit::for_directory(service, paths).ok_or_else(|| {
        CommandError::Configuration("HOME is not set, so there is no place for a service. set it.".to_owned())
    })
}

/// The result of a command.
pub struct ServiceResult {
    pub text: String,
    pub value: Value,
}

/// Installs and starts the service. Reports variables of this shell that the service will not have.
pub async fn install(
    environment: &Environment,
    settings: &Settings,
    unit: &Unit,
) -> Result<ServiceResult, CommandError> {
    let manager = Manager;
    let by_hand = |unmanaged: ManagerError| manager_error(&unmanaged, unit);
    check_owner(unit)?;
    // Check the service manager first, so that nothing is left behind if there is none.
    let before = manager.status().map_err(by_hand)?;
    if let (Ok(Some(running)), false) = (RunningDaemon::query(&settings.paths).await, before.is_running()) {
        return Err(CommandError::AlreadyRunning(format!(
            "it runs already (pid {}), but not as a service. end that one, and run this again.",
            running.health["pid"]
        )));
    }
    // The unit's sandboxing needs an existing directory.
    ensure_dir(&RealDisk, unit.data())
        .map_err(|error| CommandError::Configuration(format!("{}: {error}", unit.data().display())))?;
    let walls = match start(unit, Sandboxing::Full).map_err(by_hand)? {
        standing if standing.is_running() => "",
        standing if standing.code == NAMESPACE_FAILURE => {
            match start(unit, Sandboxing::WithoutNamespaces).map_err(by_hand)? {
                standing if standing.is_running() => {
                    "\nsystemd could make no namespaces for it, so it runs without those walls."
                }
                standing => return Err(not_started(&standing)),
            }
        }
        standing => return Err(not_started(&standing)),
    };
    let standing = manager.status().map_err(by_hand)?;
    let linger = enable_linger(manager);
    let goes_on = match linger {
        Linger::On => "it goes on when you log out, and starts with the machine.",
        Linger::Off => {
            "it starts when you log in, and ends when you log out. to let it go on:\n  sudo loginctl enable-linger $USER"
        }
        Linger::Unknown => {
            "nobody here says whether it goes on when you log out. `loginctl enable-linger` is what decides it."
        }
    };
    let only_said = stored_environment::unstored_variables(environment, &settings.paths, &settings.model);
    let hint = unseen_variables_hint(&only_said).map(|hint| format!("\n{hint}")).unwrap_or_default();
    let text = format!(
        "the service is {}.\n{goes_on}{walls}{hint}\nlook: ollim-bot service status",
        standing.description()
    );
    let value = json!({
        "ok": true, "service": standing.as_json(), "linger": linger_json(linger), "unit": unit.place(), "not_seen": only_said,
    });
    Ok(ServiceResult { text, value })
}

/// Fails if the service belongs to another data directory: there is one name for all of them.
pub fn check_owner(unit: &Unit) -> Result<(), CommandError> {
    let Installation::Other(other) = unit.installation() else { return Ok(()) };
    let other = other.display();
    let data = unit.data().display();
    Err(CommandError::Failed(format!(
        "the service is for {other}, and there can be only one. to have it for {data} instead, first take that one away: \
         ollim-bot --data-dir {other} service remove"
    )))
}

/// Returns a hint about variables of this shell that the service does not have, and how to store
/// them.
pub fn unseen_variables_hint(names: &[&str]) -> Option<String> {
    let (which, are, them) = match names {
        [] => return None,
        [one] => ((*one).to_owned(), "is", "it"),
        [first @ .., last] => (format!("{} and {last}", first.join(", ")), "are", "them"),
    };
    Some(format!(
        "{which} {are} set in this shell alone, and the service does not see {them}. to keep {them} for it: \
         ollim-bot setup service --keep"
    ))
}

fn start(unit: &Unit, walls: Sandboxing) -> Result<ServiceStatus, ManagerError> {
    let manager = Manager;
    write(unit.place(), &unit.text(walls))?;
    manager.run(&["daemon-reload"])?;
    manager.run(&["enable", UNIT_NAME])?;
    // The status of the unit afterwards shows how the start ended.
    match manager.run(&["restart", UNIT_NAME]) {
        Ok(()) | Err(ManagerError::Refused(_)) => manager.status(),
        Err(unmanaged) => Err(unmanaged),
    }
}

fn write(place: &Path, text: &str) -> Result<(), ManagerError> {
    let told = |error: std::io::Error| {
        ManagerError::Refused(format!("{} cannot be written: {error}", place.display()))
    };
    if let Some(dir) = place.parent() {
        std::fs::create_dir_all(dir).map_err(told)?;
    }
    replace(&RealDisk, place, text.as_bytes()).map_err(told)
}

/// Enables lingering, so that services continue after logout, and returns whether it is on.
pub fn enable_linger(manager: Manager) -> Linger {
    match manager.linger() {
        Linger::Off if manager.enable_linger() => manager.linger(),
        known @ (Linger::On | Linger::Off | Linger::Unknown) => known,
    }
}

fn linger_json(linger: Linger) -> Value {
    match linger {
        Linger::On => true.into(),
        Linger::Off => false.into(),
        Linger::Unknown => Value::Null,
    }
}

fn not_started(standing: &ServiceStatus) -> CommandError {
    let why = match standing.code {
        75 => "another one runs with the same data directory.".to_owned(),
        78 => "a setting is wrong. `ollim-bot doctor` names it.".to_owned(),
        _ => format!("it is {}.", standing.description()),
    };
    CommandError::Failed(format!("the service did not start: {why} what it said: ollim-bot service logs"))
}

/// Explains what to do without systemd.
fn manager_error(unmanaged: &ManagerError, unit: &Unit) -> CommandError {
    match unmanaged {
        ManagerError::NoSystemd => CommandError::Failed(format!(
            "{unmanaged} let whatever starts programs here (a container, openrc, runit, `@reboot` of cron) run this, and \
             start it again when it ends with anything but 0, 2, 75 or 78:\n  {}",
            unit.command()
        )),
        ManagerError::NoSession | ManagerError::Refused(_) => CommandError::Failed(unmanaged.to_string()),
    }
}

const NOT_INSTALLED: &str = "the service is not installed. run: ollim-bot service install";

/// Explains that the service belongs to another directory, with the command for that one.
fn other_owner_text(unit: &Unit, other: &Path, what: &str) -> String {
    let other = other.display();
    let data = unit.data().display();
    format!(
        "the service is for {other}, not for {data}. if you mean that one: ollim-bot --data-dir {other} service {what}"
    )
}

fn control_unit(unit: &Unit, what: &str, output: &Output) -> Result<ExitCode, CommandError> {
    match unit.installation() {
        Installation::Ours => {}
        Installation::NotInstalled => return Err(CommandError::Failed(NOT_INSTALLED.to_owned())),
        Installation::Other(other) => return Err(CommandError::Failed(other_owner_text(unit, &other, what))),
    }
    let manager = Manager;
    let ordered = manager.run(&[what, UNIT_NAME]);
    let standing = manager.status().map_err(|unmanaged| manager_error(&unmanaged, unit))?;
    match (what, ordered) {
        ("stop", Ok(())) => {}
        (_, Ok(())) if standing.is_running() => {}
        (_, Ok(()) | Err(ManagerError::Refused(_))) => return Err(not_started(&standing)),
        (_, Err(unmanaged)) => return Err(manager_error(&unmanaged, unit)),
    }
    let value = json!({ "ok": true, "service": standing.as_json() });
    print_result(output, &value, &format!("the service is {}.", standing.description()));
    Ok(ExitCode::SUCCESS)
}

fn status(unit: &Unit, output: &Output) -> Result<ExitCode, CommandError> {
    let (text, other) = match unit.installation() {
        Installation::Ours => return status_of_ours(unit, output),
        Installation::NotInstalled => (NOT_INSTALLED.to_owned(), None),
        Installation::Other(other) => (other_owner_text(unit, &other, "status"), Some(other)),
    };
    print_result(output, &json!({ "ok": false, "installed": false, "other": other }), &text);
    Ok(ExitCode::FAILURE)
}

fn status_of_ours(unit: &Unit, output: &Output) -> Result<ExitCode, CommandError> {
    let manager = Manager;
    let standing = manager.status().map_err(|unmanaged| manager_error(&unmanaged, unit))?;
    let linger = manager.linger();
    let goes_on = match linger {
        Linger::On => "yes",
        Linger::Off => "no. sudo loginctl enable-linger $USER changes that",
        Linger::Unknown => "nobody here says",
    };
    let text = format!(
        "the service is {}\n  goes on when you log out  {goes_on}\n  unit                      {}",
        standing.description(),
        unit.place().display()
    );
    let value = json!({
        "ok": standing.is_running(), "installed": true, "service": standing.as_json(), "linger": linger_json(linger), "unit": unit.place(),
    });
    print_result(output, &value, &text);
    Ok(if standing.is_running() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Shows the log of systemd, or our own log file.
fn logs(paths: &Paths, unit: &Unit, lines: u32, follow: bool) -> Result<ExitCode, CommandError> {
    let count = lines.to_string();
    let mut command = if unit.installation() == Installation::Ours && Manager.status().is_ok() {
        let mut command = Command::new("journalctl");
        command.args([
            "--user",
            "--unit",
            UNIT_NAME,
            "--lines",
            &count,
            "--no-pager",
            "--output",
            "short-iso",
        ]);
        command
    } else {
        let file = log::log_path(paths);
        if !file.exists() {
            let text = format!("there is no log yet at {}.", file.display());
            return Err(CommandError::Failed(text));
        }
        let mut command = Command::new("tail");
        command.args(["-n", &count]).arg(file);
        command
    };
    if follow {
        command.arg("-f");
    }
    let ended = command.stdin(Stdio::null()).status();
    let ended = ended.map_err(|error| CommandError::Failed(format!("the log cannot be shown: {error}")))?;
    Ok(if ended.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn remove(unit: &Unit, output: &Output) -> Result<ExitCode, CommandError> {
    match unit.installation() {
        Installation::Ours => {}
        Installation::NotInstalled => {
            print_result(output, &json!({ "ok": true, "removed": false }), "there is no service to remove.");
            return Ok(ExitCode::SUCCESS);
        }
        Installation::Other(other) => {
            return Err(CommandError::Failed(other_owner_text(unit, &other, "remove")));
        }
    }
    let manager = Manager;
    let told = |unmanaged: ManagerError| manager_error(&unmanaged, unit);
    manager.run(&["disable", "--now", UNIT_NAME]).map_err(told)?;
    std::fs::remove_file(unit.place())
        .map_err(|error| CommandError::Failed(format!("{}: {error}", unit.place().display())))?;
    manager.run(&["daemon-reload"]).map_err(told)?;
    print_result(
        output,
        &json!({ "ok": true, "removed": true }),
        "the service is gone. what i keep is still there.",
    );
    Ok(ExitCode::SUCCESS)
}
