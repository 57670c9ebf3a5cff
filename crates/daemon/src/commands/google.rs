//! `ollim-bot google`: connects the account, tells how it stands, gives back what we were given.

use std::process::ExitCode;

use accounts::google::{Connection, Google};
use serde_json::json;

use super::answer;
use crate::cli::{GoogleAction, Output};
use crate::exit::Failed;
use crate::google;

/// Does what was asked for.
pub async fn run(action: GoogleAction, account: &Google, output: Output) -> Result<ExitCode, Failed> {
    let before = account.connection()?;
    match (action, before) {
        (GoogleAction::Connect, Connection::Connected) => {
            tell(account, output, "google is connected already. `ollim-bot google disconnect` ends that.")
        }
        (GoogleAction::Connect, Connection::Apart | Connection::NoClient) => {
            google::connect(account).await?;
            tell(account, output, "google is connected.")
        }
        (GoogleAction::Status, Connection::Connected) => tell(account, output, "google is connected."),
        (GoogleAction::Status, Connection::Apart | Connection::NoClient) => {
            tell(account, output, &account.not_connected().to_string())
        }
        (GoogleAction::Disconnect, _) => {
            account.disconnect().await?;
            tell(account, output, "google is not connected any more.")
        }
    }
}

fn tell(account: &Google, output: Output, words: &str) -> Result<ExitCode, Failed> {
    let state = match account.connection()? {
        Connection::Connected => "connected",
        Connection::Apart => "not connected",
        Connection::NoClient => "not set up",
    };
    answer(output, &json!({ "google": state }), words);
    Ok(ExitCode::SUCCESS)
}
