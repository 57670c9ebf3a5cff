//! Everyday commands, which send a sentence to the assistant and print its answer.

mod inbox;
mod pings;
mod references;
mod scheduling;
mod today;

use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::sync::Arc;

use journal::disk::Disk;
use serde_json::{Value, json};

use super::{print_result, with_shell_commands};
use crate::cli::{AttentionCommand, DailyCommand, InboxAction, Output};
use crate::connection::Connection;
use crate::exit::CommandError;
use crate::settings::Settings;

pub async fn run(
    verb: DailyCommand,
    settings: &Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let speaker = DailyCommands { settings, disk, output };
    match verb {
        DailyCommand::Now => speaker.now().await,
        DailyCommand::Today { day } if day.is_empty() => speaker.today().await,
        DailyCommand::Today { day } => speaker.day(&day.join(" ")).await,
        DailyCommand::Week => speaker.day("week").await,
        DailyCommand::Add { text } => speaker.add(&text_or_stdin(&text)?).await,
        DailyCommand::Done { which } => {
            let which = speaker.resolve(&which.join(" "), "done")?;
            speaker.change_and_print(&format!("done {which}")).await
        }
        DailyCommand::Move { which, when } => {
            let which = speaker.resolve(&which, "move")?;
            speaker.move_to(&which, &when.join(" ")).await
        }
        DailyCommand::Snooze { words } => speaker.snooze(&words.join(" ")).await,
        DailyCommand::Undo { list: true } => speaker.ask_and_print("undo list").await,
        DailyCommand::Undo { list: false } => speaker.ask_and_print("undo").await,
        DailyCommand::Inbox { action } => {
            speaker.run_inbox_command(action.unwrap_or(InboxAction::List)).await
        }
        DailyCommand::Ease(AttentionCommand::Pause { until }) if until.is_empty() => {
            speaker.ask_and_print("pause").await
        }
        DailyCommand::Ease(AttentionCommand::Pause { until }) => speaker.pause(&until.join(" ")).await,
        DailyCommand::Ease(AttentionCommand::Resume) => speaker.ask_and_print("resume").await,
        DailyCommand::Pings => speaker.pings().await,
        DailyCommand::Ease(AttentionCommand::Quiet { words }) => speaker.execute("/quiet", &words).await,
        DailyCommand::Ease(AttentionCommand::Focus { words }) => speaker.execute("/focus", &words).await,
        DailyCommand::Ease(AttentionCommand::Lighter) => speaker.execute("/lighter", &[]).await,
    }
}

/// Sends sentences to the assistant and prints the answers.
struct DailyCommands<'a> {
    settings: &'a Settings,
    disk: Arc<dyn Disk>,
    output: &'a Output,
}

impl DailyCommands<'_> {
    /// Sends `words` and prints the answer.
    async fn ask_and_print(&self, words: &str) -> Result<ExitCode, CommandError> {
        let value = self.ask(words).await?;
        print_result(self.output, &value, reply_text(&value));
        Ok(ExitCode::SUCCESS)
    }

    /// Sends `words` that change something, prints the answer and how to undo it.
    async fn change_and_print(&self, words: &str) -> Result<ExitCode, CommandError> {
        let value = self.ask(words).await?;
        print_result(self.output, &value, reply_text(&value));
        if !self.output.json && reply_text(&value).starts_with('✓') {
            self.output.voice.note("  undo: ollim-bot undo");
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the assistant's answer to `words`.
    async fn ask(&self, words: &str) -> Result<Value, CommandError> {
        let reached = Connection::new(self.settings, Arc::clone(&self.disk)).await?;
        let answered = reached.change(words).await;
        reached.close().await;
        answered
    }

    async fn execute(&self, command: &str, words: &[String]) -> Result<ExitCode, CommandError> {
        let line = format!("{command} {}", words.join(" "));
        let reached = Connection::new(self.settings, Arc::clone(&self.disk)).await?;
        let answered = reached.client.post("/api/commands", &json!({ "text": line.trim() })).await;
        reached.close().await;
        let value = answered.map_err(|why| CommandError::Failed(with_shell_commands(&why.to_string())))?;
        print_result(self.output, &value, &with_shell_commands(reply_text(&value)));
        Ok(ExitCode::SUCCESS)
    }

    async fn now(&self) -> Result<ExitCode, CommandError> {
        let reached = Connection::new(self.settings, Arc::clone(&self.disk)).await?;
        let answered = reached.ask("what now").await;
        reached.close().await;
        let mut value = answered?;
        let told = reply_text(&value).to_owned();
        let (thing, why) = told.split_once("\nwhy: ").unwrap_or((&told, ""));
        let (why, step) = why.split_once("\nfirst step: ").unwrap_or((why, ""));
        (value["thing"], value["why"], value["first_step"]) = (thing.into(), why.into(), step.into());
        print_result(self.output, &value, &told);
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the text of an answer.
fn reply_text(value: &Value) -> &str {
    value["text"].as_str().unwrap_or_default()
}

/// Returns the arguments, or stdin if there are none.
fn text_or_stdin(words: &[String]) -> Result<String, CommandError> {
    match words {
        [] if std::io::stdin().is_terminal() => {
            let text =
                "add what? write it after `add`, such as: ollim-bot add call the dentist tomorrow at 10";
            return Err(CommandError::Usage(text.to_owned()));
        }
        [] => {}
        [dash] if dash == "-" => {}
        words => return Ok(words.join(" ")),
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| CommandError::Usage("what came in is not text (UTF-8).".to_owned()))
}
