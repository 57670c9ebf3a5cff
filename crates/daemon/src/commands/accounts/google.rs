//! The `google` commands that work without a terminal: status and disconnect.

use accounts::Trouble;
use accounts::google::{Connection, Google, Service};
use serde_json::json;

use super::Told;
use crate::cli::GoogleAction;

/// Runs the command. `connect` only explains how, because it needs a terminal.
pub(super) async fn tell(action: GoogleAction, account: &Google) -> Result<Told, Trouble> {
    match action {
        GoogleAction::Connect { .. } => match account.connection()? {
            Connection::Connected => {
                let words = format!(
                    "{} Nothing to do; `ollim-bot google disconnect` ends it.",
                    account.description()?
                );
                told(account, &words)
            }
            Connection::Apart | Connection::NoClient => Err(account.not_connected()),
        },
        GoogleAction::Status => told(account, &account.description()?),
        GoogleAction::Disconnect => {
            account.disconnect().await?;
            told(account, "Google is no longer connected.")
        }
    }
}

/// Returns `words` with the connection state as JSON.
pub(super) fn told(account: &Google, words: &str) -> Result<Told, Trouble> {
    let state = match account.connection()? {
        Connection::Connected => "connected",
        Connection::Apart => "not connected",
        Connection::NoClient => "not set up",
    };
    let services: Vec<&str> = account.granted()?.into_iter().map(Service::name).collect();
    Ok(Told::new(words.to_owned(), json!({ "google": state, "services": services })))
}
