//! The systemd user service, which starts the assistant with the machine and restarts it after a
//! crash.

pub mod manager;
pub mod unit;

use journal::Paths;
use serde_json::{Value, json};

use crate::checks::{Finding, State};
use crate::settings::ServiceSettings;
use manager::{Linger, Manager, ManagerError};
use unit::{Installation, Unit};

/// The status of the unit.
#[derive(Clone, Debug, Default)]
pub struct ServiceStatus {
    /// systemd's `ActiveState`: `active`, `failed`, `inactive`, ...
    pub state: String,
    pub pid: Option<u32>,
    /// The number of restarts.
    pub restarts: u32,
    /// The time of the last state change.
    pub since: String,
    /// systemd's `Result`: `success`, `watchdog`, `exit-code`, ...
    pub result: String,
    /// The exit code of the process.
    pub code: i32,
}

impl ServiceStatus {
    pub fn is_running(&self) -> bool {
        matches!(self.state.as_str(), "active" | "reloading")
    }

    pub fn as_json(&self) -> Value {
        json!({
            "state": self.state, "pid": self.pid, "restarts": self.restarts, "since": self.since,
            "result": self.result, "code": self.code,
        })
    }

    /// Describes the status.
    pub fn description(&self) -> String {
        let again = match self.restarts {
            0 => String::new(),
            1 => ", started again once".to_owned(),
            n => format!(", started again {n} times"),
        };
        match (self.is_running(), self.pid) {
            (true, Some(pid)) => format!("running (pid {pid}) since {}{again}", self.since),
            (true, None) => format!("starting{again}"),
            (false, _) if self.result == "success" || self.result.is_empty() => {
                format!("{}{again}", self.state)
            }
            (false, _) => format!("{} ({}, code {}){again}", self.state, self.result, self.code),
        }
    }
}

/// Checks whether the service is installed, runs, and continues after logout.
pub fn check(service: &ServiceSettings, paths: &Paths) -> Finding {
    let Some(unit) = Unit::for_directory(service, paths) else {
        return Finding::absent("service", "HOME is not set, so there is no place for one");
    };
    match unit.installation() {
        Installation::Ours => {}
        Installation::NotInstalled => {
            return Finding::absent("service", "not installed: i run only while you let me")
                .with_fix("ollim-bot setup service");
        }
        Installation::Other(other) => {
            let text = format!("there is one, but for {}: here i run only while you let me", other.display());
            return Finding::new("service", State::Warning, text);
        }
    }
    let manager = Manager;
    let standing = match manager.status() {
        Ok(standing) => standing,
        Err(unmanaged) => return manager_finding(&unmanaged),
    };
    let told = standing.description();
    let linger = manager.linger();
    match (standing.is_running(), linger) {
        (true, Linger::On) => Finding::fine("service", format!("{told}; it goes on when you log out")),
        (true, Linger::Off) => {
            Finding::new("service", State::Warning, format!("{told}; it ends when you log out"))
                .with_fix("sudo loginctl enable-linger $USER")
        }
        (true, Linger::Unknown) => Finding::fine("service", told),
        (false, _) => {
            Finding::wrong("service", told).with_fix("ollim-bot service logs, then: ollim-bot service start")
        }
    }
}

fn manager_finding(unmanaged: &ManagerError) -> Finding {
    Finding::new("service", State::Warning, unmanaged.to_string())
}
