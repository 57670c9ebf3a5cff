//! Controls the systemd user manager through `systemctl` and `loginctl`.

use std::fmt;
use std::io::ErrorKind;
use std::process::{Command, Output, Stdio};

use super::ServiceStatus;
use super::unit::UNIT_NAME;

/// The systemd user manager.
#[derive(Clone, Copy, Debug)]
pub struct Manager;

/// An error of the service manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManagerError {
    /// This machine does not run systemd.
    NoSystemd,
    /// There is no user manager in this session.
    NoSession,
    Refused(String),
}

impl fmt::Display for ManagerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSystemd => f.write_str("this machine is not run by systemd."),
            Self::NoSession => f.write_str(
                "systemd does not manage this session of yours: log in as yourself (not with su or sudo), and try \
                 again. on a server, `sudo loginctl enable-linger $USER` makes it manage you always.",
            ),
            Self::Refused(why) => write!(f, "systemd says: {why}"),
        }
    }
}

/// systemd's lingering: the user's services continue after logout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linger {
    On,
    Off,
    Unknown,
}

impl Manager {
    /// Runs a `systemctl` command for the unit, such as `start`.
    pub fn run(self, words: &[&str]) -> Result<(), ManagerError> {
        let output = systemctl(words)?;
        if output.status.success() { Ok(()) } else { Err(rejection(&output)) }
    }

    pub fn status(self) -> Result<ServiceStatus, ManagerError> {
        const ASKED: &str = "--property=ActiveState,MainPID,NRestarts,ActiveEnterTimestamp,StateChangeTimestamp,Result,ExecMainStatus";
        let output = systemctl(&["show", ASKED, UNIT_NAME])?;
        if !output.status.success() {
            return Err(rejection(&output));
        }
        Ok(parse_status(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Returns whether the user's services continue after logout.
    pub fn linger(self) -> Linger {
        let uid = rustix::process::getuid().as_raw().to_string();
        let asked = Command::new("loginctl")
            .args(["show-user", &uid, "--property=Linger"])
            .stdin(Stdio::null())
            .output();
        let told = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        match told.as_deref() {
            Ok("Linger=yes") => Linger::On,
            Ok("Linger=no") => Linger::Off,
            Ok(_) | Err(_) => Linger::Unknown,
        }
    }

    /// Lets the user's services continue after logout, if permitted. Returns whether it succeeded.
    pub fn enable_linger(self) -> bool {
        let told = Command::new("loginctl")
            .args(["--no-ask-password", "enable-linger"])
            .stdin(Stdio::null())
            .output();
        told.is_ok_and(|output| output.status.success())
    }
}

fn systemctl(words: &[&str]) -> Result<Output, ManagerError> {
    let output = Command::new("systemctl").arg("--user").args(words).stdin(Stdio::null()).output();
    let output = output.map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            ManagerError::NoSystemd
        } else {
            ManagerError::Refused(error.to_string())
        }
    })?;
    let told = String::from_utf8_lossy(&output.stderr);
    if told.contains("has not been booted with systemd") {
        return Err(ManagerError::NoSystemd);
    }
    if told.contains("connect to") && told.contains("bus") {
        return Err(if is_booted() { ManagerError::NoSession } else { ManagerError::NoSystemd });
    }
    Ok(output)
}

/// Returns whether systemd is the init system: a container may have its programs without running
/// it.
fn is_booted() -> bool {
    let asked = Command::new("systemctl").arg("is-system-running").stdin(Stdio::null()).output();
    asked.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() != "offline")
}

fn rejection(output: &Output) -> ManagerError {
    let told = String::from_utf8_lossy(&output.stderr);
    let first = told.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing, and it failed");
    ManagerError::Refused(first.trim().chars().take(300).collect())
}

fn parse_status(text: &str) -> ServiceStatus {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_default().trim().to_owned()
    };
    let since = Some(value("ActiveEnterTimestamp")).filter(|since| !since.is_empty());
    ServiceStatus {
        state: value("ActiveState"),
        pid: value("MainPID").parse().ok().filter(|pid| *pid != 0),
        restarts: value("NRestarts").parse().unwrap_or_default(),
        since: since.unwrap_or_else(|| value("StateChangeTimestamp")),
        result: value("Result"),
        code: value("ExecMainStatus").parse().unwrap_or_default(),
    }
}
