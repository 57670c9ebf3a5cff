//! Who keeps the tasks and the calendar: files of the data directory, unless something else is set.

use journal::Paths;

use super::Environment;

/// What the human keeps, and where.
#[derive(Clone, Debug)]
pub struct Accounts {
    /// The tasks.
    pub tasks: Keeper,
    /// The calendar.
    pub calendar: Keeper,
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
    Accounts { tasks: keeper("OLLIM_TASKS"), calendar: keeper("OLLIM_CALENDAR") }
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
