//! Runs commands of skills: our own in this process, others in the sandbox.

use domain::context::skills::COMMAND_TIMEOUT;
use domain::label::{Label, Realm};
use domain::permission::own_command;
use futures_util::future::BoxFuture;
use tools::Availability;
use tools::shell::{OwnCommands as _, Shell};
use tools::skill::{CommandRunner, SkillCommandOutcome};

use crate::tool_env::LabelledCommands;

/// Runs commands of accepted skills.
pub struct SandboxedCommands {
    /// Runs our own commands.
    pub in_process: LabelledCommands,
    /// The sandboxed shell, or why there is none.
    pub shell: Availability<Shell>,
}

impl CommandRunner for SandboxedCommands {
    fn run<'a>(&'a self, words: &'a [String]) -> BoxFuture<'a, SkillCommandOutcome> {
        Box::pin(async move {
            match (own_command::strip_program(words), &self.shell) {
                (Some(words), _) => match self.in_process.run(&words).await {
                    Ok(told) => SkillCommandOutcome::OwnCommand(told),
                    Err(why) => SkillCommandOutcome::Exited(1, String::new(), why),
                },
                (None, _) if words.is_empty() => SkillCommandOutcome::NotFound,
                (None, Availability::Available(shell)) => shell.run_program(words, COMMAND_TIMEOUT).await,
                (None, Availability::Unavailable(why)) => {
                    SkillCommandOutcome::StartFailed(format!("commands are off here: {why}"))
                }
            }
        })
    }

    fn label(&self, words: &[String]) -> Label {
        match own_command::strip_program(words) {
            Some(words) => self.in_process.label(&words),
            None => Label::private(Realm::Files),
        }
    }
}
