//! Who keeps the tasks, the calendar and mail: files of the data directory, unless something else is set.

use journal::Paths;

use super::Environment;
use super::mailbox::{self, Mail};

/// What the human keeps, and where.
#[derive(Clone, Debug)]
pub struct Accounts {
    /// The tasks.
    pub tasks: Keeper,
    /// The calendar.
    pub calendar: Keeper,
    /// The mail.
    pub mail: Mail,
    /// Where a server that plays Google is, if one does.
    pub played_google: Option<String>,
}

/// Who keeps something.
#[derive(Clone, Debug)]
pub enum Keeper {
    /// A file of the data directory.
    Local,
    /// Google.
    Google,
    /// What was said about it cannot work. Everything else goes on.
    Wrong(String),
}

/// Reads who keeps what.
pub fn read(environment: &Environment, paths: &Paths) -> Accounts {
    let keeper = |variable: &str| keeper(environment, paths, variable);
    Accounts {
        tasks: keeper("OLLIM_TASKS"),
        calendar: keeper("OLLIM_CALENDAR"),
        mail: mailbox::read(environment, paths),
        played_google: environment.get("OLLIM_GOOGLE_BASE").map(str::to_owned),
    }
}

fn keeper(environment: &Environment, paths: &Paths, variable: &str) -> Keeper {
    match environment.get(variable) {
        Some("local") => Keeper::Local,
        Some("google") => Keeper::Google,
        Some(other) => {
            Keeper::Wrong(format!("{variable}: `{other}` is nobody i know. use local, caldav or google."))
        }
        None if paths.state().join("token.json").exists() => Keeper::Google,
        None => Keeper::Local,
    }
}
