//! Runs commands of skills: our own in this process, others in the sandbox.

use domain::context::skills::EACH;
use domain::label::{Label, Realm};
use domain::permission::own_command;
use futures_util::future::BoxFuture;
use tools::Part;
use tools::shell::{OwnCommands as _, Shell};
use tools::skill::{Commands, Ended};

use crate::workshop::Ours;

/// Runs commands of accepted skills.
pub struct InTheCage {
    /// Runs our own commands.
    pub own: Ours,
    /// The sandboxed shell, or why there is none.
    pub shell: Part<Shell>,
}

impl Commands for InTheCage {
    fn run<'a>(&'a self, words: &'a [String]) -> BoxFuture<'a, Ended> {
        Box::pin(async move {
            match (own_command::ours(words), &self.shell) {
                (Some(words), _) => match self.own.run(&words).await {
                    Ok(told) => Ended::Told(told),
                    Err(why) => Ended::Code(1, String::new(), why),
                },
                (None, _) if words.is_empty() => Ended::NotFound,
                (None, Part::On(shell)) => shell.program(words, EACH).await,
                (None, Part::Off(why)) => Ended::Unstarted(format!("commands are off here: {why}")),
            }
        })
    }

    fn label(&self, words: &[String]) -> Label {
        match own_command::ours(words) {
            Some(words) => self.own.label(&words),
            None => Label::private(Realm::Files),
        }
    }
}
