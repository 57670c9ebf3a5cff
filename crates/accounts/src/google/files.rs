//! The stored files of the Google account: client, token and revocation.

use std::io;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp, ToSpan};
use serde_json::{Value, json};

use super::{Google, Service, sentence};
use crate::{Secret, Trouble};

/// Tokens are refreshed this long before they expire, since a request takes time.
const AHEAD: i64 = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// The OAuth client that the user created.
    Credentials,
    Token,
    /// Exists from a revocation until the user is notified.
    Revoked,
    /// Details of a revocation, until the user connects again or disconnects.
    Withdrawn,
}

impl File {
    /// The file name in `state/`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Credentials => "credentials.json",
            Self::Token => "token.json",
            Self::Revoked => "google_auth_revoked",
            Self::Withdrawn => "google_withdrawn",
        }
    }
}

/// Stores the files, readable only for the user and replaced atomically.
pub trait Keep: Send + Sync {
    fn read(&self, file: File) -> io::Result<Option<Vec<u8>>>;
    fn replace(&self, file: File, bytes: &[u8]) -> io::Result<()>;
    fn remove(&self, file: File) -> io::Result<()>;
    /// The path for messages.
    fn place(&self, file: File) -> PathBuf;
}

/// The connection state according to the stored files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    NoClient,
    /// There is a client but no usable token.
    Apart,
    /// There is a token that is valid or can be refreshed.
    Connected,
}

#[derive(Clone, Debug)]
pub(super) struct Credentials {
    pub id: String,
    pub secret: Secret,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub access: Secret,
    pub refresh: Option<Secret>,
    pub scopes: Vec<String>,
    pub expires: Option<Timestamp>,
    /// When the user connected the account; unknown for files of older versions and of other programs.
    pub connected: Option<Timestamp>,
}

/// A grant that ends within this time after connecting probably belongs to a project in status
/// Testing. Google ends those after 7 days; one more day allows for a late refresh.
const TESTING: SignedDuration = SignedDuration::from_hours(8 * 24);

/// The end of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withdrawal {
    /// When it was noticed.
    pub at: Timestamp,
    /// It ended so soon after connecting that the project is probably in status Testing.
    pub in_testing: bool,
    /// The services that were granted.
    pub services: Vec<Service>,
}

impl Withdrawal {
    pub(super) fn of(token: &Token, now: Timestamp) -> Self {
        let age = token.connected.map(|connected| now.duration_since(connected));
        Self {
            at: now,
            in_testing: age.is_some_and(|age| age <= TESTING),
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
    fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let at = lines.next().and_then(|time| time.parse().ok()).unwrap_or(Timestamp::UNIX_EPOCH);
        let in_testing = lines.next() == Some("testing");
        let services = lines.next().unwrap_or_default().split_whitespace().filter_map(Service::named);
        Self { at, in_testing, services: services.collect() }
    }

    /// Explains to the user why access ended and which step restores it.
    pub fn explained(&self) -> String {
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

impl Token {
    pub(super) fn is_fresh(&self, now: Timestamp) -> bool {
        let soon = now.saturating_add(AHEAD.seconds()).unwrap_or(now);
        !self.access.reveal().is_empty() && self.expires.is_none_or(|expires| soon < expires)
    }

    fn read(value: &Value) -> Option<Self> {
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
    pub fn connection(&self) -> Result<Connection, Trouble> {
        let now = self.clock.now().timestamp();
        match self.token()? {
            Some(token) if token.refresh.is_some() || token.is_fresh(now) => Ok(Connection::Connected),
            Some(_) | None => Ok(match self.read(File::Credentials)? {
                Some(_) => Connection::Apart,
                None => Connection::NoClient,
            }),
        }
    }

    /// The error that explains how to connect.
    pub fn not_connected(&self) -> Trouble {
        let place = self.keep.place(File::Credentials);
        Trouble::Unconnected(match self.connection() {
            Ok(Connection::NoClient) => set_up(&place.display().to_string()),
            Ok(Connection::Apart | Connection::Connected) => {
                "Google is not connected. Run `ollim-bot google connect` in a terminal, or /google-auth in Discord."
                    .to_owned()
            }
            Err(trouble) => return trouble,
        })
    }

    /// Returns whether the user must still be notified of a revocation.
    pub fn is_taken_back(&self) -> bool {
        self.keep.read(File::Revoked).is_ok_and(|mark| mark.is_some())
    }

    /// Marks the user as notified.
    pub fn told_so(&self) -> Result<(), Trouble> {
        self.remove(File::Revoked)
    }

    /// Returns the last revocation unless the account was connected again. Notifying the user does
    /// not clear it.
    pub fn withdrawn(&self) -> Option<Withdrawal> {
        let mark = self.keep.read(File::Withdrawn).ok()??;
        Some(Withdrawal::read(&String::from_utf8_lossy(&mark)))
    }

    /// The services that the user has granted; none, if the account is not connected.
    pub fn granted(&self) -> Result<Vec<Service>, Trouble> {
        match (self.connection()?, self.token()?) {
            (Connection::Connected, Some(token)) => Ok(Service::covered_by(&token.scopes)),
            (Connection::Connected | Connection::Apart | Connection::NoClient, _) => Ok(Vec::new()),
        }
    }

    /// Returns the services to request when the user names none: those of a grant that ended, else `usual`.
    pub fn services_to_request(&self, usual: &[Service]) -> Vec<Service> {
        let before = self.withdrawn().map(|withdrawal| withdrawal.services).unwrap_or_default();
        if before.is_empty() { usual.to_vec() } else { before }
    }

    /// Describes the connection: the granted services, and how to add one that is missing.
    pub fn description(&self) -> Result<String, Trouble> {
        let granted = self.granted()?;
        if granted.is_empty() {
            return Ok(self.not_connected().to_string());
        }
        let mut text = format!("Google is connected for {}.", sentence(&granted));
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

    /// Returns the token for revoking it. A file that is not JSON has none: disconnecting is how the user gets rid of it.
    pub(super) fn token_to_revoke(&self) -> Result<Option<Token>, Trouble> {
        let bytes = self.read(File::Token)?.unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).ok().as_ref().and_then(Token::read))
    }

    /// Removes both marks of a revocation.
    pub(super) fn forget_withdrawn(&self) -> Result<(), Trouble> {
        self.remove(File::Revoked)?;
        self.remove(File::Withdrawn)
    }

    pub(super) fn credentials(&self) -> Result<Credentials, Trouble> {
        let Some(value) = self.json(File::Credentials)? else { return Err(self.not_connected()) };
        let client = value.get("installed").or_else(|| value.get("web")).unwrap_or(&Value::Null);
        let text = |name: &str| client.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        match (text("client_id"), text("client_secret")) {
            (Some(id), Some(secret)) => Ok(Credentials { id: id.to_owned(), secret: Secret::new(secret) }),
            _ => Err(Trouble::Unconnected(format!(
                "{}: there is no client_id and client_secret under `installed`. Download the file once more: \
                 Google Cloud console, Google Auth Platform, Clients, the client of type Desktop app, Download JSON.",
                self.keep.place(File::Credentials).display()
            ))),
        }
    }

    pub(super) fn token(&self) -> Result<Option<Token>, Trouble> {
        Ok(self.json(File::Token)?.as_ref().and_then(Token::read))
    }

    pub(super) fn keep_token(&self, token: &Token, client: &Credentials) -> Result<(), Trouble> {
        let value = json!({
            "token": token.access.reveal(),
            "refresh_token": token.refresh.as_ref().map(Secret::reveal),
            "token_uri": self.addresses.token.as_str(),
            "client_id": client.id,
            "client_secret": client.secret.reveal(),
            "scopes": token.scopes,
            "expiry": token.expires.map(|expires| expires.to_string()),
            "connected_at": token.connected.map(|connected| connected.to_string()),
        });
        self.replace(File::Token, value.to_string().as_bytes())?;
        self.forget_withdrawn()
    }

    fn json(&self, file: File) -> Result<Option<Value>, Trouble> {
        let Some(bytes) = self.read(file)? else { return Ok(None) };
        let value = serde_json::from_slice(&bytes);
        // The message of serde is not used: it quotes the file, which contains secrets.
        let wrong = |error: serde_json::Error| {
            let place = self.keep.place(file);
            let remedy = match file {
                File::Credentials => {
                    "Download it once more from the Google Cloud console, then run `ollim-bot setup google \
                     --client-file FILE`"
                }
                File::Token | File::Revoked | File::Withdrawn => {
                    "Run `ollim-bot google disconnect`, then `ollim-bot google connect`"
                }
            };
            let line = error.line();
            Trouble::Unconnected(format!("{}: line {line} is not JSON. {remedy}.", place.display()))
        };
        value.map(Some).map_err(wrong)
    }

    fn read(&self, file: File) -> Result<Option<Vec<u8>>, Trouble> {
        self.keep.read(file).map_err(|error| self.unusable(file, &error))
    }

    pub(super) fn replace(&self, file: File, bytes: &[u8]) -> Result<(), Trouble> {
        self.keep.replace(file, bytes).map_err(|error| self.unusable(file, &error))
    }

    pub(super) fn remove(&self, file: File) -> Result<(), Trouble> {
        self.keep.remove(file).map_err(|error| self.unusable(file, &error))
    }

    fn unusable(&self, file: File, error: &io::Error) -> Trouble {
        Trouble::Unconnected(format!("{}: {error}", self.keep.place(file).display()))
    }
}

fn set_up(place: &str) -> String {
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
