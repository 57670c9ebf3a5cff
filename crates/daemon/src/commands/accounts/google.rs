//! The account at Google: how it stands, and giving back what we were given. Connecting it takes a human.

use accounts::Trouble;
use accounts::google::{Connection, Google, Service};
use serde_json::json;

use super::Told;
use crate::cli::GoogleAction;

/// Does what was asked for. Who wants to connect is told how.
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

/// `words`, and how it stands for programs.
pub(super) fn told(account: &Google, words: &str) -> Result<Told, Trouble> {
    let state = match account.connection()? {
        Connection::Connected => "connected",
        Connection::Apart => "not connected",
        Connection::NoClient => "not set up",
    };
    let services: Vec<&str> = account.granted()?.into_iter().map(Service::name).collect();
    Ok(Told::new(words.to_owned(), json!({ "google": state, "services": services })))
}
