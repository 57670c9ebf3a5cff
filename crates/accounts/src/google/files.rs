//! What we keep of Google: who we are to it, what it gave us, and that it took that back.

use std::io;
use std::path::PathBuf;

use jiff::{Timestamp, ToSpan};
use serde_json::{Value, json};

use super::{Google, SCOPES};
use crate::{Secret, Trouble};

/// A token is renewed so long before it ends, because a request takes a while.
const AHEAD: i64 = 60;

/// A file of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// Who we are: the client that the human made.
    Credentials,
    /// What the human gave us.
    Token,
    /// That the human took it back, until they were told.
    Revoked,
    /// When they did, until they connect again or let it be.
    Withdrawn,
}

impl File {
    /// Its name in `state/`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Credentials => "credentials.json",
            Self::Token => "token.json",
            Self::Revoked => "google_auth_revoked",
            Self::Withdrawn => "google_withdrawn",
        }
    }
}

/// Who keeps the files: readable by the human alone, and replaced whole.
pub trait Keep: Send + Sync {
    /// What is in a file, if it is there.
    fn read(&self, file: File) -> io::Result<Option<Vec<u8>>>;
    /// Puts `bytes` in its place.
    fn replace(&self, file: File, bytes: &[u8]) -> io::Result<()>;
    /// Takes it away, if it is there.
    fn remove(&self, file: File) -> io::Result<()>;
    /// Where it is, for people.
    fn place(&self, file: File) -> PathBuf;
}

/// How it stands between us and Google, as far as our files tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// There is no client yet.
    NoClient,
    /// There is a client, and no token that could be used.
    Apart,
    /// There is a token that is good, or can be renewed.
    Connected,
}

/// Who we are to Google.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    pub id: String,
    pub secret: Secret,
}

/// What Google gave us.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub access: Secret,
    pub refresh: Option<Secret>,
    pub scopes: Vec<String>,
    pub expires: Option<Timestamp>,
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
            // A time that cannot be read has passed: the token is renewed, and all is well again.
            expires: text("expiry").map(|time| time.parse().unwrap_or(Timestamp::UNIX_EPOCH)),
        })
        .filter(|token| token.refresh.is_some() || !token.access.reveal().is_empty())
    }
}

impl Google {
    /// How it stands. Nobody is called.
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

    /// How to become connected, for whoever cannot do it now.
    pub fn not_connected(&self) -> Trouble {
        let place = self.keep.place(File::Credentials);
        Trouble::Unconnected(match self.connection() {
            Ok(Connection::NoClient) => set_up(&place.display().to_string()),
            Ok(Connection::Apart | Connection::Connected) => {
                "google is not connected. run `ollim-bot google connect` in a terminal, or /google-auth in discord."
                    .to_owned()
            }
            Err(trouble) => return trouble,
        })
    }

    /// Whether the grant was taken back, and nobody has told the human yet.
    pub fn is_taken_back(&self) -> bool {
        self.keep.read(File::Revoked).is_ok_and(|mark| mark.is_some())
    }

    /// The human knows.
    pub fn told_so(&self) -> Result<(), Trouble> {
        self.remove(File::Revoked)
    }

    /// When the grant was taken back, if nothing took its place since. Being told does not change that.
    pub fn withdrawn(&self) -> Option<Timestamp> {
        let mark = self.keep.read(File::Withdrawn).ok()??;
        Some(str::from_utf8(&mark).ok().and_then(|time| time.parse().ok()).unwrap_or(Timestamp::UNIX_EPOCH))
    }

    /// Takes away all that tells of a grant that ended.
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
                "{}: there is no client_id and client_secret under `installed`. download the file once more: \
                 Google Cloud console, Credentials, the client of type Desktop app, Download JSON.",
                self.keep.place(File::Credentials).display()
            ))),
        }
    }

    pub(super) fn token(&self) -> Result<Option<Token>, Trouble> {
        Ok(self.json(File::Token)?.as_ref().and_then(Token::read))
    }

    pub(super) fn keep_token(&self, token: &Token, client: &Credentials) -> Result<(), Trouble> {
        let scopes =
            if token.scopes.is_empty() { SCOPES.map(str::to_owned).to_vec() } else { token.scopes.clone() };
        let value = json!({
            "token": token.access.reveal(),
            "refresh_token": token.refresh.as_ref().map(Secret::reveal),
            "token_uri": self.addresses.token.as_str(),
            "client_id": client.id,
            "client_secret": client.secret.reveal(),
            "scopes": scopes,
            "expiry": token.expires.map(|expires| expires.to_string()),
        });
        self.replace(File::Token, value.to_string().as_bytes())?;
        self.forget_withdrawn()
    }

    fn json(&self, file: File) -> Result<Option<Value>, Trouble> {
        let Some(bytes) = self.read(file)? else { return Ok(None) };
        let value = serde_json::from_slice(&bytes);
        // What serde says quotes the file, and there are secrets in it.
        let wrong = |error: serde_json::Error| {
            let place = self.keep.place(file);
            let remedy = match file {
                File::Credentials => "download it once more from the Google Cloud console",
                File::Token | File::Revoked | File::Withdrawn => {
                    "run `ollim-bot google connect` to make it anew"
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
        "google is not set up. to do it:\n  \
         1. open https://console.cloud.google.com and make a project.\n  \
         2. enable the Google Tasks API, the Google Calendar API and the Gmail API.\n  \
         3. under Credentials create an OAuth client ID of type Desktop app, and download its JSON.\n  \
         4. run `ollim-bot setup google --client-file FILE` with that file. it is kept at {place}.\n  \
         5. what is left is asked there; later `ollim-bot google connect` asks it again."
    )
}
