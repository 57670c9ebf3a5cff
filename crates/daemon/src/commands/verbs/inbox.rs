//! `ollim-bot inbox`: the list is read from the disk, so it works without the daemon.

use std::process::ExitCode;

use domain::inbox::{Kept, read_out};
use serde_json::json;

use super::{Speaker, words_or_stdin};
use crate::cli::InboxAction;
use crate::commands::answer;
use crate::exit::Failed;

impl Speaker<'_> {
    pub(super) async fn inbox(&self, action: InboxAction) -> Result<ExitCode, Failed> {
        match action {
            InboxAction::List => self.inbox_list(),
            InboxAction::Add { text } => {
                let text = words_or_stdin(&text)?;
                if text.trim().is_empty() {
                    return Err(Failed::NotDone("there are no words in that.".to_owned()));
                }
                self.change(&format!("remember: {}", text.trim())).await
            }
            InboxAction::Take { number, when } => {
                self.move_to(&format!("inbox:{number}"), &when.join(" ")).await
            }
            InboxAction::Clear => self.change("clear inbox").await,
        }
    }

    fn inbox_list(&self) -> Result<ExitCode, Failed> {
        let failed = |error: &dyn std::fmt::Display| Failed::NotDone(error.to_string());
        let kept = match journal::peek(&self.settings.paths).map_err(|error| failed(&error))? {
            Some(database) => database.inbox().map_err(|error| failed(&error))?,
            None => Vec::new(),
        };
        let item = |kept: &Kept| json!({ "id": kept.id.0, "at": kept.at.to_string(), "text": kept.text });
        let value = json!({ "inbox": kept.iter().map(item).collect::<Vec<_>>() });
        let hint = if kept.is_empty() { "" } else { "\n\nwhen? ollim-bot inbox take NUMBER tonight" };
        answer(self.output, &value, &format!("{}{hint}", read_out(&kept)));
        Ok(ExitCode::SUCCESS)
    }
}
