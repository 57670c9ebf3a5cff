//! The shell: commands of the model, each in a cage of its own, and our own commands, which need none.
//!
//! Nothing here looks at what a command means. What is not exactly one command of ours, word by word, runs in the cage,
//! whatever it says; what it may reach there does not depend on how it is written.

pub(crate) mod heap;
mod output;
mod program;
mod run;

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use domain::label::Label;
use domain::permission::own_command;
use domain::tool::{Class, ToolSpec};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Number, Value};

use crate::cage::Network;
use crate::{Caller, DoneLabelled, Labelled, Tool, Work, Workshop, parsed};

/// Runs a command.
pub(crate) const BASH: Tool = Tool {
    spec: ToolSpec {
        name: "Bash",
        description: Cow::Borrowed(
            "Runs a command in a sandbox: it starts in an empty folder, can write only there, and all of that is gone \
            afterwards. It reads the data directory (`$DATA`) but `state/`, and has no network unless `network` is set and allowed. `timeout` is in \
            milliseconds, 60000 if left out, 110000 at most. One `ollim-bot ...` command alone runs outside of it.",
        ),
        schema: r#"{"type":"object","required":["command"],"properties":{"command":{"type":"string","minLength":1},"timeout":{"type":"integer"},"network":{"type":"boolean"}}}"#,
        class: Class::Shell,
    },
    work: Work::DoesFor(bash),
};

/// How long a command may take, and how long if nothing is said.
const LONGEST: Duration = Duration::from_secs(110);
const USUAL: Duration = Duration::from_secs(60);
/// The most bytes of a command: the system takes no more in one word.
const BYTES: usize = 100_000;

/// Our own commands, `ollim-bot ...`, run in this process.
pub trait OwnCommands: Send + Sync {
    /// Runs the command of these words, without the name of the program, and returns what it would print, with the
    /// labels of the entries that it printed.
    fn run<'a>(&'a self, words: &'a [String]) -> BoxFuture<'a, Result<Labelled, String>>;

    /// What is known of what it prints. Who keeps something in files of the human's own knows better than the name.
    fn label(&self, words: &[String]) -> Label {
        own_command::power(words).1
    }
}

/// How commands are run.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The words that start our own program, so that it makes a cage. Arguments follow.
    pub cage: Vec<String>,
    /// The data directory.
    pub data: PathBuf,
    /// What of its top a command cannot read, besides what is always closed.
    pub shut: Vec<String>,
    /// The folder in which commands work, in the data directory.
    pub work: PathBuf,
    /// The name of the human's zone.
    pub zone: String,
    /// Whether a command can ever reach other machines.
    pub network: NetworkRule,
}

/// Whether commands can reach other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkRule {
    /// Never, whatever they ask for.
    Never,
    /// When the call asks for it: whoever let the call through has seen that.
    WhenAsked,
}

#[derive(Deserialize)]
struct Wanted {
    command: String,
    timeout: Option<Number>,
    #[serde(default)]
    network: bool,
}

fn bash<'a>(workshop: &'a Workshop, input: Value, _: Caller<'a>) -> DoneLabelled<'a> {
    Box::pin(async move {
        let Wanted { command, timeout, network } = parsed(input)?;
        // The door has read it with the same eyes, so nothing is ours here that was not ours there.
        if let Some(words) = own_command::words(&command) {
            return workshop.own.get("ollim-bot")?.run(&words).await;
        }
        let shell = workshop.shell.get(BASH.spec.name)?;
        if command.len() > BYTES || command.contains('\0') {
            return Err(format!(
                "that command is too long or has a NUL in it: {BYTES} bytes at most. write a script into `work/` with \
                 `Write`, and run that."
            ));
        }
        let asked = if network { Network::On } else { Network::Off };
        let text = shell.run(&command, time(timeout), shell.network(asked)?).await?;
        Ok(Labelled { text, label: Label::PLAIN })
    })
}

fn time(milliseconds: Option<Number>) -> Duration {
    let asked = milliseconds.and_then(|number| number.as_f64()).filter(|number| *number >= 1.0);
    asked.map_or(USUAL, |number| Duration::from_millis(number as u64)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_a_minute_unless_it_asks_for_another_time() {
        let check = |asked: Option<f64>, expected: u64| {
            assert_eq!(time(asked.and_then(Number::from_f64)), Duration::from_millis(expected), "{asked:?}");
        };
        check(None, 60_000);
        check(Some(1_500.0), 1_500);
        check(Some(1e12), 110_000);
        check(Some(0.0), 60_000);
        check(Some(-5.0), 60_000);
    }
}
