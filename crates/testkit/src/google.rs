//! A scripted Google server on loopback: consent, tokens, mail, tasks and a calendar, in Google's
//! documented format.
//!
//! It shares no code with our client, so that each can catch mistakes of the other. The account can
//! be changed at any time; queued faults are applied before normal responses.

mod calendar;
mod gmail;
mod http;
mod tasks;
mod tokens;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::background_runtime::BackgroundRuntime;
use crate::scripted_replies::http_server::HttpServer;
pub use gmail::mail;
pub(crate) use http::parse_form;
pub use tokens::AuthorizationCode;
pub(crate) use tokens::base64_url;

/// The client id.
pub const CLIENT: &str = "ollim-test.apps.googleusercontent.com";
/// The client secret.
pub const CLIENT_SECRET: &str = "GOCSPX-canary-client";

/// An account and its queued faults.
#[derive(Debug, Default)]
pub struct GoogleAccount {
    /// The valid access tokens.
    pub access_tokens: Vec<String>,
    /// The valid refresh tokens.
    pub refresh_tokens: Vec<String>,
    /// Scopes that the user deselects on the consent page.
    pub denied_scopes: Vec<&'static str>,
    /// The authorization codes that were issued and not used yet.
    pub codes: Vec<AuthorizationCode>,
    /// The messages, newest first, in the full format of `messages.get`.
    pub messages: Vec<Value>,
    /// The tasks in Google's JSON format.
    pub tasks: Vec<Value>,
    /// The events in Google's JSON format, with recurring events expanded.
    pub events: Vec<Value>,
    /// The maximum number of items on one page.
    pub page_size: Option<usize>,
    /// The queued faults.
    pub faults: VecDeque<GoogleFault>,
    /// Every request, oldest first.
    pub requests: Vec<GoogleRequest>,
}

/// A fault for one request.
#[derive(Clone, Debug)]
pub struct GoogleFault {
    /// Applies to the first request whose path contains this.
    pub path: &'static str,
    pub status: u16,
    /// The `retry-after` header, if any.
    pub retry_after: Option<u32>,
    pub body: String,
}

/// A received request.
#[derive(Clone, Debug)]
pub struct GoogleRequest {
    pub method: String,
    pub path: String,
    /// The decoded query.
    pub query: Vec<(String, String)>,
    pub body: String,
}

impl GoogleRequest {
    /// Returns a value of the query.
    pub fn query_value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A running server. Dropping it closes the port.
pub struct GoogleServer {
    http: HttpServer,
    account: Arc<Mutex<GoogleAccount>>,
}

impl GoogleServer {
    /// Starts a server on a free port, with an empty account.
    pub async fn start() -> std::io::Result<Self> {
        let account = Arc::new(Mutex::new(GoogleAccount::default()));
        let routes = http::routes(Arc::clone(&account));
        Ok(Self { http: HttpServer::start(0, routes, CancellationToken::new()).await?, account })
    }

    /// Returns the base URL.
    pub fn url(&self) -> String {
        self.http.url()
    }

    /// Returns the account.
    pub fn account(&self) -> MutexGuard<'_, GoogleAccount> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running server in a thread of its own, for tests that wait for real processes.
pub struct BackgroundGoogleServer {
    server: GoogleServer,
    _runtime: BackgroundRuntime,
}

impl BackgroundGoogleServer {
    /// Starts the server.
    ///
    /// # Panics
    /// If no port is available.
    #[expect(
        clippy::expect_used,
        reason = "a fixture that cannot be made stops the test at once, with its reason"
    )]
    pub fn start() -> Self {
        let runtime = BackgroundRuntime::start();
        let server = runtime.run(async { GoogleServer::start().await.expect("a port") });
        Self { server, _runtime: runtime }
    }

    /// Returns the server.
    pub fn server(&self) -> &GoogleServer {
        &self.server
    }
}
