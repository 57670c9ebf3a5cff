//! The shell tool: commands of the model in a sandbox each, and our own commands, which need none.
//!
//! The meaning of a command is never inspected. Everything that is not exactly one own command,
//! word by word, runs in the sandbox, and its access does not depend on how it is written.

mod output;
mod program;
mod run;
pub(crate) mod usage;

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use domain::label::Label;
use domain::permission::own_command;
use domain::tool::{ToolClass, ToolSpec};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Number, Value};

use crate::sandbox::Network;
use crate::{Caller, LabelledText, LabelledToolFuture, Tool, ToolEnv, ToolHandler, parse_input};

pub(crate) const BASH: Tool = Tool {
    spec: ToolSpec {
        name: "Bash",
        description: Cow::Borrowed(
            "Runs a command in a sandbox: it starts in an empty folder, can write only there, and all of that is gone \
            afterwards. It reads the data directory (`$DATA`) but `state/`, and has no network unless `network` is set and allowed. `timeout` is in \
            milliseconds, 60000 if left out, 110000 at most. One `ollim-bot ...` command alone runs outside of it.",
        ),
        schema: r#"{"type":"object","required":["command"],"properties":{"command":{"type":"string","minLength":1},"timeout":{"type":"integer"},"network":{"type":"boolean"}}}"#,
        class: ToolClass::Shell,
    },
    handler: ToolHandler::RunForCaller(bash),
};

/// The maximum and the default run time of a command.
const MAX_TIMEOUT: Duration = Duration::from_secs(110);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum number of bytes of a command; the kernel limits the length of an argument.
const MAX_COMMAND_BYTES: usize = 100_000;

/// Runs our own commands, `ollim-bot ...`, in this process.
pub trait OwnCommands: Send + Sync {
    /// Runs the command with these arguments, without the program name. Returns its output with the
    /// labels of the printed entries.
    fn run<'a>(&'a self, words: &'a [String]) -> BoxFuture<'a, Result<LabelledText, String>>;

    /// Returns the label of the output. Implementations that read the user's files know more than
    /// the command's name implies.
    fn label(&self, words: &[String]) -> Label {
        own_command::capability(words).1
    }
}

/// The configuration for running commands.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The command line that starts our own program as a sandbox. Arguments follow.
    pub sandbox_command: Vec<String>,
    /// The data directory.
    pub data: PathBuf,
    /// Top-level names that a command cannot read, in addition to those that are always closed.
    pub closed: Vec<String>,
    /// The folder inside the data directory in which commands run.
    pub work_dir: PathBuf,
    /// The name of the user's time zone.
    pub time_zone: String,
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
struct BashInput {
    command: String,
    timeout: Option<Number>,
    #[serde(default)]
    network: bool,
}

fn bash<'a>(workshop: &'a ToolEnv, input: Value, _: Caller<'a>) -> LabelledToolFuture<'a> {
    Box::pin(async move {
        let BashInput { command, timeout, network } = parse_input(input)?;
        // The permission check has parsed it with the same function, so both agree.
        if let Some(words) = own_command::parse(&command) {
            return workshop.own_commands.get("ollim-bot")?.run(&words).await;
        }
        let shell = workshop.shell.get(BASH.spec.name)?;
        if command.len() > MAX_COMMAND_BYTES || command.contains('\0') {
            return Err(format!(
                "that command is too long or has a NUL in it: {MAX_COMMAND_BYTES} bytes at most. write a script into `work/` with \
                 `Write`, and run that."
            ));
        }
        let asked = if network { Network::On } else { Network::Off };
        let text = shell.run(&command, timeout_from(timeout), shell.permitted_network(asked)?).await?;
        Ok(LabelledText { text, label: Label::PLAIN })
    })
}

fn timeout_from(milliseconds: Option<Number>) -> Duration {
    let asked = milliseconds.and_then(|number| number.as_f64()).filter(|number| *number >= 1.0);
    asked.map_or(DEFAULT_TIMEOUT, |number| Duration::from_millis(number as u64)).min(MAX_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_defaults_to_a_minute_and_is_limited() {
        let check = |asked: Option<f64>, expected: u64| {
            assert_eq!(
                timeout_from(asked.and_then(Number::from_f64)),
                Duration::from_millis(expected),
                "{asked:?}"
            );
        };
        check(None, 60_000);
        check(Some(1_500.0), 1_500);
        check(Some(1e12), 110_000);
        check(Some(0.0), 60_000);
        check(Some(-5.0), 60_000);
    }
}
