//! The shell tool: commands of the model in a sandbox each, and our own commands, which need none.
//!
//! The meaning of a command is never inspected. Everything that is not exactly one own command,
//! word by word, runs in the sandbox, and its access does not depend on how it is written.

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

/// The maximum and the default run time of a command.
const LONGEST: Duration = Duration::from_secs(110);
const USUAL: Duration = Duration::from_secs(60);
/// The maximum number of bytes of a command; the kernel limits the length of an argument.
const BYTES: usize = 100_000;

/// Runs our own commands, `ollim-bot ...`, in this process.
pub trait OwnCommands: Send + Sync {
    /// Runs the command with these arguments, without the program name. Returns its output with the
    /// labels of the printed entries.
    fn run<'a>(&'a self, words: &'a [String]) -> BoxFuture<'a, Result<Labelled, String>>;

    /// Returns the label of the output. Implementations that read the user's files know more than
    /// the command's name implies.
    fn label(&self, words: &[String]) -> Label {
        own_command::power(words).1
    }
}

/// The configuration for running commands.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The command line that starts our own program as a sandbox. Arguments follow.
    pub cage: Vec<String>,
    /// The data directory.
    pub data: PathBuf,
    /// Top-level names that a command cannot read, in addition to those that are always closed.
    pub shut: Vec<String>,
    /// The folder inside the data directory in which commands run.
    pub work: PathBuf,
    /// The name of the user's time zone.
    pub zone: String,
    pub network: NetworkRule,
}

/// The access of commands to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkRule {
    /// Never, even if the call requests it.
    Never,
    /// When the call requests it, since the approval of the call covered that.
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
        // The permission check has parsed it with the same function, so both agree.
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
