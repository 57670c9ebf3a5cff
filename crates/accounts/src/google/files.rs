//! The stored files of the Google account: client, token and revocation.

use std::io;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp, ToSpan};
use serde_json::{Value, json};

use super::{Google, Service, join_names};
use crate::{AccountError, Secret};

/// Tokens are refreshed this long before they expire, since a request takes time.
const REFRESH_MARGIN_SECONDS: i64 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoogleFile {
    /// The OAuth client that the user created.
    Credentials,
    Token,
    /// Exists from a revocation until the user is notified.
    RevocationNotice,
    /// Details of a revocation, until the user connects again or disconnects.
    Revocation,
}

impl GoogleFile {
    /// The file name in `state/`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Credentials => "credentials.json",
            Self::Token => "token.json",
            Self::RevocationNotice => "google_auth_revoked",
            Self::Revocation => "google_withdrawn",
        }
    }
}

/// Stores the files, readable only for the user and replaced atomically.
pub trait GoogleFileStore: Send + Sync {
    fn read(&self, file: GoogleFile) -> io::Result<Option<Vec<u8>>>;
    fn replace(&self, file: GoogleFile, bytes: &[u8]) -> io::Result<()>;
    fn remove(&self, file: GoogleFile) -> io::Result<()>;
    /// The path for messages.
    fn display_path(&self, file: GoogleFile) -> PathBuf;
}

/// The connection state according to the stored files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    NoClient,
    /// There is a client but no usable token.
    Disconnected,
    /// There is a token that is valid or can be refreshed.
    Connected,
}

#[derive(Clone, Debug)]
pub(super) struct ClientCredentials {
    pub id: String,
    pub secret: Secret,
}

#[derive(Clone, Debug)]
pub(super) struct StoredToken {
    pub access: Secret,
    pub refresh: Option<Secret>,
    pub scopes: Vec<String>,
    pub expires: Option<Timestamp>,
    /// When the user connected the account; unknown for files of older versions and of other programs.
    pub connected: Option<Timestamp>,
}

/// A grant that ends within this time after connecting probably belongs to a project in status
/// Testing. Google ends those after 7 days; one more day allows for a late refresh.
const TESTING_GRANT_LIFETIME: SignedDuration = SignedDuration::from_hours(8 * 24);

/// The end of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocation {
    /// When it was noticed.
    pub at: Timestamp,
    /// It ended so soon after connecting that the project is probably in status Testing.
    pub in_testing: bool,
    /// The services that were granted.
    pub services: Vec<Service>,
}

impl Revocation {
    pub(super) fn new(token: &StoredToken, now: Timestamp) -> Self {
        let age = token.connected.map(|connected| now.duration_since(connected));
        Self {
            at: now,
            in_testing: age.is_some_and(|age| age <= TESTING_GRANT_LIFETIME),
            services: Service::covered_by(&token.scopes),
        }
    }

    /// Serializes to lines for the time, the cause and the services.
    pub(super) fn to_text(&self) -> String {
        let cause = if self.in_testing { "testing" } else { "ended" };
        let services: Vec<&str> = self.services.iter().map(|service| service.name()).collect();
        format!("{}\n{cause}\n{}\n", self.at, services.join(" "))
    }

    /// Parses the serialized form. Files of older versions contain only the time.
    fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let at = lines.next().and_then(|time| time.parse().ok()).unwrap_or(Timestamp::UNIX_EPOCH);
        let in_testing = lines.next() == Some("testing");
        let services = lines.next().unwrap_or_default().split_whitespace().filter_map(Service::from_name);
        Self { at, in_testing, services: services.collect() }
    }

    /// Explains to the user why access ended and which step restores it.
    pub fn explanation(&self) -> String {
        let connect = "`ollim-bot google connect` in a terminal, or /google-auth in Discord";
        if self.in_testing {
            format!(
                "Google ended the access within 8 days after you connected it. Your Google project is probably in \
                 status Testing, where access ends after 7 days. Publish it: open \
                 https://console.cloud.google.com/auth/audience (Google Auth Platform, Audience) and press Publish \
                 app. Verification is not needed for your own use. Then run {connect}."
            )
        } else {
            format!(
                "Google access has ended: it was removed in your Google account, the password changed, or it was not \
                 used for 6 months. Run {connect}. If it ends again after a week, publish the app of your Google \
                 project first: https://console.cloud.google.com/auth/audience, Publish app."
            )
        }
    }
}

impl StoredToken {
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        let soon = now.saturating_add(REFRESH_MARGIN_SECONDS.seconds()).unwrap_or(now);
        !self.access.reveal().is_empty() && self.expires.is_none_or(|expires| soon < expires)
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name)?.as_str().filter(|text| !text.is_empty());
        let scopes = value.get("scopes").and_then(Value::as_array);
        let scope = |scope: &Value| scope.as_str().map(str::to_owned);
        Some(Self {
            access: Secret::new(text("token").unwrap_or_default()),
            refresh: text("refresh_token").map(Secret::new),
            scopes: scopes.into_iter().flatten().filter_map(scope).collect(),
            // An unreadable time counts as expired, which leads to a refresh.
            expires: text("expiry").map(|time| time.parse().unwrap_or(Timestamp::UNIX_EPOCH)),
            connected: text("connected_at").and_then(|time| time.parse().ok()),
        })
        .filter(|token| token.refresh.is_some() || !token.access.reveal().is_empty())
    }
}

impl Google {
    /// Returns the connection state without a request.
    pub fn connection_state(&self) -> Result<ConnectionState, AccountError> {
        let now = self.clock.now().timestamp();
        match self.token()? {
            Some(token) if token.refresh.is_some() || token.is_fresh(now) => Ok(ConnectionState::Connected),
            Some(_) | None => Ok(match self.read(GoogleFile::Credentials)? {
                Some(_) => ConnectionState::Disconnected,
                None => ConnectionState::NoClient,
            }),
        }
    }

    /// The error that explains how to connect.
    pub fn not_connected(&self) -> AccountError {
        let place = self.store.display_path(GoogleFile::Credentials);
        AccountError::NotConnected(match self.connection_state() {
            Ok(ConnectionState::NoClient) => setup_instructions(&place.display().to_string()),
            Ok(ConnectionState::Disconnected | ConnectionState::Connected) => {
                "Google is not connected. Run `ollim-bot google connect` in a terminal, or /google-auth in Discord."
                    .to_owned()
            }
            Err(trouble) => return trouble,
        })
    }

    /// Returns whether the user must still be notified of a revocation.
    pub fn has_revocation_notice(&self) -> bool {
        self.store.read(GoogleFile::RevocationNotice).is_ok_and(|mark| mark.is_some())
    }

    /// Marks the user as notified.
    pub fn dismiss_revocation_notice(&self) -> Result<(), AccountError> {
        self.remove(GoogleFile::RevocationNotice)
    }

    /// Returns the last revocation unless the account was connected again. Notifying the user does
    /// not clear it.
    pub fn last_revocation(&self) -> Option<Revocation> {
        let mark = self.store.read(GoogleFile::Revocation).ok()??;
        Some(Revocation::parse(&String::from_utf8_lossy(&mark)))
    }

    /// The services that the user has granted; none, if the account is not connected.
    pub fn granted_services(&self) -> Result<Vec<Service>, AccountError> {
        match (self.connection_state()?, self.token()?) {
            (ConnectionState::Connected, Some(token)) => Ok(Service::covered_by(&token.scopes)),
            (ConnectionState::Connected | ConnectionState::Disconnected | ConnectionState::NoClient, _) => {
                Ok(Vec::new())
            }
        }
    }

    /// Returns the services to request when the user names none: those of a grant that ended, else `usual`.
    pub fn services_to_request(&self, usual: &[Service]) -> Vec<Service> {
        let before = self.last_revocation().map(|withdrawal| withdrawal.services).unwrap_or_default();
        if before.is_empty() { usual.to_vec() } else { before }
    }

    /// Describes the connection: the granted services, and how to add one that is missing.
    pub fn description(&self) -> Result<String, AccountError> {
        let granted = self.granted_services()?;
        if granted.is_empty() {
            return Ok(self.not_connected().to_string());
        }
        let mut text = format!("Google is connected for {}.", join_names(&granted));
        let missing: Vec<&str> = Service::ALL
            .into_iter()
            .filter(|service| !granted.contains(service))
            .map(Service::name)
            .collect();
        if let Some(first) = missing.first() {
            text.push_str(&format!(
                " Not granted: {}. `ollim-bot google connect {first}` adds {first}.",
                missing.join(", ")
            ));
        }
        Ok(text)
    }

    /// Returns the token, to revoke it. A file that is not JSON has none, and disconnecting removes
    /// that file.
    pub(super) fn token_to_revoke(&self) -> Result<Option<StoredToken>, AccountError> {
        let bytes = self.read(GoogleFile::Token)?.unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).ok().as_ref().and_then(StoredToken::from_json))
    }

    /// Removes both marks of a revocation.
    pub(super) fn clear_revocation(&self) -> Result<(), AccountError> {
        self.remove(GoogleFile::RevocationNotice)?;
        self.remove(GoogleFile::Revocation)
    }

    pub(super) fn credentials(&self) -> Result<ClientCredentials, AccountError> {
        let Some(value) = self.read_json(GoogleFile::Credentials)? else { return Err(self.not_connected()) };
        let client = value.get("installed").or_else(|| value.get("web")).unwrap_or(&Value::Null);
        let text = |name: &str| client.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        match (text("client_id"), text("client_secret")) {
            (Some(id), Some(secret)) => {
                Ok(ClientCredentials { id: id.to_owned(), secret: Secret::new(secret) })
            }
            _ => Err(AccountError::NotConnected(format!(
                "{}: there is no client_id and client_secret under `installed`. Download the file once more: \
                 Google Cloud console, Google Auth Platform, Clients, the client of type Desktop app, Download JSON.",
                self.store.display_path(GoogleFile::Credentials).display()
            ))),
        }
    }

    pub(super) fn token(&self) -> Result<Option<StoredToken>, AccountError> {
        Ok(self.read_json(GoogleFile::Token)?.as_ref().and_then(StoredToken::from_json))
    }

    pub(super) fn store_token(
        &self,
        token: &StoredToken,
        client: &ClientCredentials,
    ) -> Result<(), AccountError> {
        let value = json!({
            "token": token.access.reveal(),
            "refresh_token": token.refresh.as_ref().map(Secret::reveal),
            "token_uri": self.endpoints.token.as_str(),
            "client_id": client.id,
            "client_secret": client.secret.reveal(),
            "scopes": token.scopes,
            "expiry": token.expires.map(|expires| expires.to_string()),
            "connected_at": token.connected.map(|connected| connected.to_string()),
        });
        self.replace(GoogleFile::Token, value.to_string().as_bytes())?;
        self.clear_revocation()
    }

    fn read_json(&self, file: GoogleFile) -> Result<Option<Value>, AccountError> {
        let Some(bytes) = self.read(file)? else { return Ok(None) };
        let value = serde_json::from_slice(&bytes);
        // The message of serde is not used: it quotes the file, which contains secrets.
        let invalid = |error: serde_json::Error| {
            let place = self.store.display_path(file);
            let remedy = match file {
                GoogleFile::Credentials => {
                    "Download it once more from the Google Cloud console, then run `ollim-bot setup google \
                     --client-file FILE`"
                }
                GoogleFile::Token | GoogleFile::RevocationNotice | GoogleFile::Revocation => {
                    "Run `ollim-bot google disconnect`, then `ollim-bot google connect`"
                }
            };
            let line = error.line();
            AccountError::NotConnected(format!("{}: line {line} is not JSON. {remedy}.", place.display()))
        };
        value.map(Some).map_err(invalid)
    }

    fn read(&self, file: GoogleFile) -> Result<Option<Vec<u8>>, AccountError> {
        self.store.read(file).map_err(|error| self.file_error(file, &error))
    }

    pub(super) fn replace(&self, file: GoogleFile, bytes: &[u8]) -> Result<(), AccountError> {
        self.store.replace(file, bytes).map_err(|error| self.file_error(file, &error))
    }

    pub(super) fn remove(&self, file: GoogleFile) -> Result<(), AccountError> {
        self.store.remove(file).map_err(|error| self.file_error(file, &error))
    }

    fn file_error(&self, file: GoogleFile, error: &io::Error) -> AccountError {
        AccountError::NotConnected(format!("{}: {error}", self.store.display_path(file).display()))
    }
}

fn setup_instructions(place: &str) -> String {
    format!(
        "Google is not set up. To set it up:\n  \
         1. Open https://console.cloud.google.com and create a project.\n  \
         2. Enable the APIs that you want to use: Google Tasks API, Google Calendar API, Gmail API.\n  \
         3. Open Google Auth Platform, enter an app name and choose the audience External. Then open Audience and press \
         Publish app. Verification is not needed for your own use; while the app is in status Testing, access ends \
         after 7 days.\n  \
         4. Open Clients, create a client of type Desktop app, and download its JSON.\n  \
         5. Run `ollim-bot setup google --client-file FILE` with that file. It is kept at {place}.\n  \
         6. The rest is asked there. Later, `ollim-bot google connect` asks again."
    )
}
