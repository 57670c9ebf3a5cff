//! Everyday commands, which send a sentence to the assistant and print its answer.

mod inbox;
mod moving;
mod pings;
mod today;
mod which;

use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::sync::Arc;

use journal::disk::Disk;
use serde_json::{Value, json};

use super::{answer, in_the_shell};
use crate::cli::{Ease, InboxAction, Output, Verb};
use crate::exit::Failed;
use crate::reach::Reached;
use crate::settings::Settings;

pub async fn run(
    verb: Verb,
    settings: &Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let speaker = Speaker { settings, disk, output };
    match verb {
        Verb::Now => speaker.now().await,
        Verb::Today { day } if day.is_empty() => speaker.today().await,
        Verb::Today { day } => speaker.day(&day.join(" ")).await,
        Verb::Week => speaker.day("week").await,
        Verb::Add { text } => speaker.add(&words_or_stdin(&text)?).await,
        Verb::Done { which } => {
            let which = speaker.which(&which.join(" "), "done")?;
            speaker.change(&format!("done {which}")).await
        }
        Verb::Move { which, when } => {
            let which = speaker.which(&which, "move")?;
            speaker.move_to(&which, &when.join(" ")).await
        }
        Verb::Snooze { words } => speaker.snooze(&words.join(" ")).await,
        Verb::Undo { list: true } => speaker.say("undo list").await,
        Verb::Undo { list: false } => speaker.say("undo").await,
        Verb::Inbox { action } => speaker.inbox(action.unwrap_or(InboxAction::List)).await,
        Verb::Ease(Ease::Pause { until }) if until.is_empty() => speaker.say("pause").await,
        Verb::Ease(Ease::Pause { until }) => speaker.pause(&until.join(" ")).await,
        Verb::Ease(Ease::Resume) => speaker.say("resume").await,
        Verb::Pings => speaker.pings().await,
        Verb::Ease(Ease::Quiet { words }) => speaker.obey("/quiet", &words).await,
        Verb::Ease(Ease::Focus { words }) => speaker.obey("/focus", &words).await,
        Verb::Ease(Ease::Lighter) => speaker.obey("/lighter", &[]).await,
    }
}

/// Sends sentences to the assistant and prints the answers.
struct Speaker<'a> {
    settings: &'a Settings,
    disk: Arc<dyn Disk>,
    output: &'a Output,
}

impl Speaker<'_> {
    /// Sends `words` and prints the answer.
    async fn say(&self, words: &str) -> Result<ExitCode, Failed> {
        let value = self.asked(words).await?;
        answer(self.output, &value, text(&value));
        Ok(ExitCode::SUCCESS)
    }

    /// Sends `words` that change something, prints the answer and how to undo it.
    async fn change(&self, words: &str) -> Result<ExitCode, Failed> {
        let value = self.asked(words).await?;
        answer(self.output, &value, text(&value));
        if !self.output.json && text(&value).starts_with('✓') {
            self.output.voice.note("  undo: ollim-bot undo");
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the assistant's answer to `words`.
    async fn asked(&self, words: &str) -> Result<Value, Failed> {
        let reached = Reached::new(self.settings, Arc::clone(&self.disk)).await?;
        let answered = reached.capture(words).await;
        reached.leave().await;
        answered
    }

    async fn obey(&self, command: &str, words: &[String]) -> Result<ExitCode, Failed> {
        let line = format!("{command} {}", words.join(" "));
        let reached = Reached::new(self.settings, Arc::clone(&self.disk)).await?;
        let answered = reached.client.post("/api/commands", &json!({ "text": line.trim() })).await;
        reached.leave().await;
        let value = answered.map_err(|why| Failed::NotDone(in_the_shell(&why.to_string())))?;
        answer(self.output, &value, &in_the_shell(text(&value)));
        Ok(ExitCode::SUCCESS)
    }

    async fn now(&self) -> Result<ExitCode, Failed> {
        let reached = Reached::new(self.settings, Arc::clone(&self.disk)).await?;
        let answered = reached.ask("what now").await;
        reached.leave().await;
        let mut value = answered?;
        let told = text(&value).to_owned();
        let (thing, why) = told.split_once("\nwhy: ").unwrap_or((&told, ""));
        let (why, step) = why.split_once("\nfirst step: ").unwrap_or((why, ""));
        (value["thing"], value["why"], value["first_step"]) = (thing.into(), why.into(), step.into());
        answer(self.output, &value, &told);
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the text of an answer.
fn text(value: &Value) -> &str {
    value["text"].as_str().unwrap_or_default()
}

/// Returns the arguments, or stdin if there are none.
fn words_or_stdin(words: &[String]) -> Result<String, Failed> {
    match words {
        [] if std::io::stdin().is_terminal() => {
            let text =
                "add what? write it after `add`, such as: ollim-bot add call the dentist tomorrow at 10";
            return Err(Failed::Usage(text.to_owned()));
        }
        [] => {}
        [dash] if dash == "-" => {}
        words => return Ok(words.join(" ")),
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| Failed::Usage("what came in is not text (UTF-8).".to_owned()))
}
