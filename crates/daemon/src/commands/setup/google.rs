//! Setup of the Google account: the user's own OAuth client, and consent in a browser.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use accounts::google::{ConnectionState, GoogleFile, Service, join_names};
use serde_json::Value;

use super::model::with_notes;
use super::prompt::{Attempts, SecretSource, SectionError};
use super::{SectionResult, SetupContext};
use crate::checks::accounts::connection;
use crate::cli::GoogleSetup;
use crate::commands::accounts::google_sign_in;
use crate::exit::CommandError;
use crate::google::account;

const NO_CLIENT: &str = "give the file of the client with --client-file FILE";
const OTHER_CLIENT: &str = "google is connected with another client, and what it gave is for that one alone. disconnect \
                            first: ollim-bot google disconnect. nothing was changed.";

/// Connects the account, unless it is connected and no client was given.
pub async fn set_up(here: &mut SetupContext, given: GoogleSetup) -> Result<SectionResult, SectionError> {
    let failed = |trouble: accounts::AccountError| CommandError::Failed(trouble.to_string());
    let connection = connection(&here.settings, &here.checks).map_err(failed)?;
    if let Some(file) = &given.client_file {
        let client = ClientFile::read(file).map_err(CommandError::Usage)?;
        if connection == ConnectionState::Connected && client.differs_from_stored(here) {
            return Err(CommandError::Failed(OTHER_CLIENT.to_owned()).into());
        }
        client.store(here).map_err(CommandError::Usage)?;
    }
    let google =
        account(&here.settings, Arc::clone(&here.checks.disk), &here.checks.clock).map_err(failed)?;
    let named: Vec<Service> = given.services.iter().copied().map(Service::from).collect();
    let granted = google.granted_services().map_err(failed)?;
    if connection == ConnectionState::Connected && named.iter().all(|service| granted.contains(service)) {
        let standing = format!("connected for {}. nothing to do", join_names(&granted));
        return Ok(SectionResult::unchanged("google", standing));
    }
    if here.prompter.can_ask() && google.connection_state().map_err(failed)? == ConnectionState::NoClient {
        ask_for_client(here, &google.not_connected().to_string())?;
    }
    if !here.prompter.can_ask() && google.connection_state().map_err(failed)? != ConnectionState::Connected {
        return Err(failed(google.not_connected()).into());
    }
    let usual = &here.settings.integrations.accounts.google_services;
    let services = google_sign_in::services_to_request(&google, &named, usual).map_err(failed)?;
    google_sign_in::ensure_granted(&google, &services).await.map_err(failed)?;
    let connected = format!("connected for {}", join_names(&google.granted_services().map_err(failed)?));
    Ok(SectionResult::changed("google", with_notes(here, connected, Vec::new()).await))
}

/// Explains how to create a client, and asks for its file.
fn ask_for_client(here: &SetupContext, steps: &str) -> Result<(), SectionError> {
    // The remaining steps describe how to pass the file, which happens here.
    let steps: Vec<&str> = steps.lines().take_while(|line| !line.trim_start().starts_with("5.")).collect();
    here.prompter.print(&steps.join("\n"));
    let mut tries = Attempts::default();
    loop {
        let answer = here.prompter.text(None, "where is that file? (its path, or q): ", NO_CLIENT)?;
        let home = here.settings.home.as_deref().unwrap_or_default();
        let path = answer
            .strip_prefix("~/")
            .map_or_else(|| PathBuf::from(&answer), |rest| Path::new(home).join(rest));
        match ClientFile::read(&path).and_then(|client| client.store(here)) {
            Ok(()) => return Ok(()),
            Err(why) => tries.retry(&here.prompter, SecretSource::Prompt, &why)?,
        }
    }
}

/// The file of the user's OAuth client.
struct ClientFile(Vec<u8>);

impl ClientFile {
    /// Reads and checks the file at `path`.
    fn read(path: &Path) -> Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        check_client(&bytes).map_err(|why| format!("{}: {why}", path.display()))?;
        Ok(Self(bytes))
    }

    /// Returns whether another client is stored.
    fn differs_from_stored(&self, here: &SetupContext) -> bool {
        let place = here.settings.paths.state().join(GoogleFile::Credentials.name());
        let known = |bytes: &[u8]| {
            let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
            ["client_id", "client_secret"].map(|name| value["installed"][name].clone())
        };
        here.checks.disk.read(&place).is_ok_and(|kept| known(&kept) != known(&self.0))
    }

    fn store(&self, here: &SetupContext) -> Result<(), String> {
        let kept = here.store.save_file(GoogleFile::Credentials.name(), &self.0);
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
