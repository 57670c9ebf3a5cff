//! The account at Google: the client that the human made, and their consent in a browser.

use std::sync::Arc;

use accounts::google::{Connection, File};
use serde_json::Value;

use super::asking::Ended;
use super::model::here_and;
use super::{Done, Here};
use crate::checkup::accounts::connection;
use crate::cli::GoogleSetup;
use crate::commands::accounts::connecting;
use crate::exit::Failed;
use crate::google::account;

/// Connects the account, unless it is connected and no client was given.
pub async fn set_up(here: &mut Here, given: GoogleSetup) -> Result<Done, Ended> {
    let failed = |trouble: accounts::Trouble| Failed::NotDone(trouble.to_string());
    if let Some(file) = &given.client_file {
        let bytes =
            std::fs::read(file).map_err(|error| Failed::Usage(format!("{}: {error}", file.display())))?;
        check_client(&bytes).map_err(|why| Failed::Usage(format!("{}: {why}", file.display())))?;
        here.keeping.keep_file(File::Credentials.name(), &bytes)?;
    }
    if connection(&here.settings, &here.looker).map_err(failed)? == Connection::Connected {
        return Ok(Done::works("google", "connected. nothing to do"));
    }
    let google =
        account(&here.settings, Arc::clone(&here.looker.disk), &here.looker.clock).map_err(failed)?;
    match (here.asker.can_ask(), google.connection().map_err(failed)?) {
        (_, Connection::Connected) => {}
        (true, Connection::Apart) => connecting::ready(&google).await.map_err(failed)?,
        (_, Connection::NoClient) | (false, Connection::Apart) => {
            return Err(failed(google.not_connected()).into());
        }
    }
    Ok(Done::changed("google", here_and(here, "connected".to_owned(), Vec::new()).await))
}

/// Whether `bytes` are a client of the kind that a program on one's own machine has.
fn check_client(bytes: &[u8]) -> Result<(), &'static str> {
    let value: Value = serde_json::from_slice(bytes).map_err(|_| "that is not the JSON file of a client.")?;
    match value["installed"]["client_id"].is_string() && value["installed"]["client_secret"].is_string() {
        true => Ok(()),
        false if value["web"].is_object() => {
            Err("that client is for a web page. make one of the kind `Desktop app`.")
        }
        false => Err(
            "that is not the file of a client. download it from the Credentials page, kind `Desktop app`.",
        ),
    }
}
