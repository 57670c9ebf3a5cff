//! The account at Google: how it stands, and giving back what we were given. Connecting it takes a human.

use accounts::Trouble;
use accounts::google::{Connection, Google};
use serde_json::json;

use super::Told;
use crate::cli::GoogleAction;

/// Does what was asked for. Who wants to connect is told how.
pub(super) async fn tell(action: GoogleAction, account: &Google) -> Result<Told, Trouble> {
    match (action, account.connection()?) {
        (GoogleAction::Connect, Connection::Connected) => {
            told(account, "google is connected already. `ollim-bot google disconnect` ends that.")
        }
        (GoogleAction::Connect, Connection::Apart | Connection::NoClient) => Err(account.not_connected()),
        (GoogleAction::Status, Connection::Connected) => told(account, "google is connected."),
        (GoogleAction::Status, Connection::Apart | Connection::NoClient) => {
            told(account, &account.not_connected().to_string())
        }
        (GoogleAction::Disconnect, _) => {
            account.disconnect().await?;
            told(account, "google is not connected any more.")
        }
    }
}

/// `words`, and how it stands for programs.
pub(super) fn told(account: &Google, words: &str) -> Result<Told, Trouble> {
    let state = match account.connection()? {
        Connection::Connected => "connected",
        Connection::Apart => "not connected",
        Connection::NoClient => "not set up",
    };
    Ok(Told::new(words.to_owned(), json!({ "google": state })))
}
