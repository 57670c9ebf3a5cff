//! `ollim-bot inbox`: the list is read from the disk, so it works without the daemon.

use std::process::ExitCode;

use domain::inbox::{InboxItem, list_text};
use serde_json::json;

use super::{DailyCommands, text_or_stdin};
use crate::cli::InboxAction;
use crate::commands::print_result;
use crate::exit::CommandError;

impl DailyCommands<'_> {
    pub(super) async fn run_inbox_command(&self, action: InboxAction) -> Result<ExitCode, CommandError> {
        match action {
            InboxAction::List => self.inbox_list(),
            InboxAction::Add { text } => {
                let text = text_or_stdin(&text)?;
                if text.trim().is_empty() {
                    return Err(CommandError::Failed("there are no words in that.".to_owned()));
                }
                self.change_and_print(&format!("remember: {}", text.trim())).await
            }
            InboxAction::Take { number, when } => {
                self.move_to(&format!("inbox:{number}"), &when.join(" ")).await
            }
            InboxAction::Clear => self.change_and_print("clear inbox").await,
        }
    }

    fn inbox_list(&self) -> Result<ExitCode, CommandError> {
        let failed = |error: &dyn std::fmt::Display| CommandError::Failed(error.to_string());
        let kept = match journal::open_read_only(&self.settings.paths).map_err(|error| failed(&error))? {
            Some(database) => database.inbox().map_err(|error| failed(&error))?,
            None => Vec::new(),
        };
        let item =
            |kept: &InboxItem| json!({ "id": kept.id.0, "at": kept.at.to_string(), "text": kept.text });
        let value = json!({ "inbox": kept.iter().map(item).collect::<Vec<_>>() });
        let hint = if kept.is_empty() { "" } else { "\n\nwhen? ollim-bot inbox take NUMBER tonight" };
        print_result(self.output, &value, &format!("{}{hint}", list_text(&kept)));
        Ok(ExitCode::SUCCESS)
    }
}
