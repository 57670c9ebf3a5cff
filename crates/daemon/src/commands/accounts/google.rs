//! The `google` commands that work without a terminal: status and disconnect.

use accounts::AccountError;
use accounts::google::{ConnectionState, Google, Service};
use serde_json::json;

use super::CommandOutput;
use crate::cli::GoogleAction;

/// Runs the command. `connect` only explains how, because it needs a terminal.
pub(super) async fn run(action: GoogleAction, account: &Google) -> Result<CommandOutput, AccountError> {
    match action {
        GoogleAction::Connect { .. } => match account.connection_state()? {
            ConnectionState::Connected => {
                let words = format!(
                    "{} Nothing to do; `ollim-bot google disconnect` ends it.",
                    account.description()?
                );
                with_connection(account, &words)
            }
            ConnectionState::Disconnected | ConnectionState::NoClient => Err(account.not_connected()),
        },
        GoogleAction::Status => with_connection(account, &account.description()?),
        GoogleAction::Disconnect => {
            account.disconnect().await?;
            with_connection(account, "Google is no longer connected.")
        }
    }
}

/// Returns `words` with the connection state as JSON.
pub(super) fn with_connection(account: &Google, words: &str) -> Result<CommandOutput, AccountError> {
    let state = match account.connection_state()? {
        ConnectionState::Connected => "connected",
        ConnectionState::Disconnected => "not connected",
        ConnectionState::NoClient => "not set up",
    };
    let services: Vec<&str> = account.granted_services()?.into_iter().map(Service::name).collect();
    Ok(CommandOutput::new(words.to_owned(), json!({ "google": state, "services": services })))
}
