//! Setup of the Google account: the user's own OAuth client, and consent in a browser.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use accounts::google::{Connection, File, Service, sentence};
use serde_json::Value;

use super::asking::{Ended, Given, Tries};
use super::model::here_and;
use super::{Done, Here};
use crate::checkup::accounts::connection;
use crate::cli::GoogleSetup;
use crate::commands::accounts::connecting;
use crate::exit::Failed;
use crate::google::account;

const NO_CLIENT: &str = "give the file of the client with --client-file FILE";
const OTHER_CLIENT: &str = "google is connected with another client, and what it gave is for that one alone. disconnect \
                            first: ollim-bot google disconnect. nothing was changed.";

/// Connects the account, unless it is connected and no client was given.
pub async fn set_up(here: &mut Here, given: GoogleSetup) -> Result<Done, Ended> {
    let failed = |trouble: accounts::Trouble| Failed::NotDone(trouble.to_string());
    let connection = connection(&here.settings, &here.looker).map_err(failed)?;
    if let Some(file) = &given.client_file {
        let client = Client::read(file).map_err(Failed::Usage)?;
        if connection == Connection::Connected && client.is_another(here) {
            return Err(Failed::NotDone(OTHER_CLIENT.to_owned()).into());
        }
        client.keep(here).map_err(Failed::Usage)?;
    }
    let google =
        account(&here.settings, Arc::clone(&here.looker.disk), &here.looker.clock).map_err(failed)?;
    let named: Vec<Service> = given.services.iter().copied().map(Service::from).collect();
    let granted = google.granted().map_err(failed)?;
    if connection == Connection::Connected && named.iter().all(|service| granted.contains(service)) {
        let standing = format!("connected for {}. nothing to do", sentence(&granted));
        return Ok(Done::works("google", standing));
    }
    if here.asker.can_ask() && google.connection().map_err(failed)? == Connection::NoClient {
        ask_for_client(here, &google.not_connected().to_string())?;
    }
    if !here.asker.can_ask() && google.connection().map_err(failed)? != Connection::Connected {
        return Err(failed(google.not_connected()).into());
    }
    let usual = &here.settings.places.accounts.at_google;
    let services = connecting::requested(&google, &named, usual).map_err(failed)?;
    connecting::ready(&google, &services).await.map_err(failed)?;
    let connected = format!("connected for {}", sentence(&google.granted().map_err(failed)?));
    Ok(Done::changed("google", here_and(here, connected, Vec::new()).await))
}

/// Explains how to create a client, and asks for its file.
fn ask_for_client(here: &Here, steps: &str) -> Result<(), Ended> {
    // The remaining steps describe how to pass the file, which happens here.
    let steps: Vec<&str> = steps.lines().take_while(|line| !line.trim_start().starts_with("5.")).collect();
    here.asker.say(&steps.join("\n"));
    let mut tries = Tries::default();
    loop {
        let answer = here.asker.text(None, "where is that file? (its path, or q): ", NO_CLIENT)?;
        let home = here.settings.home.as_deref().unwrap_or_default();
        let path = answer
            .strip_prefix("~/")
            .map_or_else(|| PathBuf::from(&answer), |rest| Path::new(home).join(rest));
        match Client::read(&path).and_then(|client| client.keep(here)) {
            Ok(()) => return Ok(()),
            Err(why) => tries.again(&here.asker, Given::Nothing, &why)?,
        }
    }
}

/// The file of the user's OAuth client.
struct Client(Vec<u8>);

impl Client {
    /// Reads and checks the file at `path`.
    fn read(path: &Path) -> Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        check_client(&bytes).map_err(|why| format!("{}: {why}", path.display()))?;
        Ok(Self(bytes))
    }

    /// Returns whether another client is stored.
    fn is_another(&self, here: &Here) -> bool {
        let place = here.settings.paths.state().join(File::Credentials.name());
        let known = |bytes: &[u8]| {
            let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
            ["client_id", "client_secret"].map(|name| value["installed"][name].clone())
        };
        here.looker.disk.read(&place).is_ok_and(|kept| known(&kept) != known(&self.0))
    }

    fn keep(&self, here: &Here) -> Result<(), String> {
        let kept = here.keeping.keep_file(File::Credentials.name(), &self.0);
        kept.map(drop).map_err(|failed| failed.to_string())
    }
}

/// Checks that `bytes` are a client of the type `Desktop app`.
fn check_client(bytes: &[u8]) -> Result<(), &'static str> {
    let value: Value = serde_json::from_slice(bytes).map_err(|_| "that is not the JSON file of a client.")?;
    match value["installed"]["client_id"].is_string() && value["installed"]["client_secret"].is_string() {
        true => Ok(()),
        false if value["web"].is_object() => {
            Err("that client is for a web page. make one of the kind `Desktop app`.")
        }
        false => Err(
            "that is not the file of a client. download it from Google Auth Platform, Clients, type `Desktop app`.",
        ),
    }
}
