//! A log of the bot's actions, as the server sees them.

use std::time::Duration;

/// The period for which an invalid request counts against a client.
const INVALID_WINDOW: Duration = Duration::from_secs(600);

/// Everything a client did.
#[derive(Clone, Debug, Default)]
pub struct ActivityLog {
    /// Every request, oldest first.
    pub requests: Vec<LoggedRequest>,
    /// The requests sent before the retry time of a 429 was over.
    pub premature_requests: Vec<LoggedRequest>,
    /// The times at which connections were opened.
    pub connects: Vec<Duration>,
    /// The times of identify attempts, including refused ones.
    pub identifies: Vec<Duration>,
    /// The times of resume attempts, including failed ones.
    pub resumes: Vec<Duration>,
    /// The codes of connections that the server closed.
    pub closes: Vec<u16>,
}

/// A logged request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedRequest {
    /// Time since the machine started.
    pub at: Duration,
    /// `GET`, `POST`, …
    pub method: String,
    pub path: String,
    /// The path with ids and tokens removed.
    pub route: String,
    /// The status of the response, if it arrived.
    pub status: Option<u16>,
    pub nonce: Option<String>,
    /// The scope of the limit, if the response was a 429.
    pub scope: Option<LimitScope>,
}

/// The scope of a rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitScope {
    /// The bot's limit on one route.
    User,
    /// The bot's limit over all routes.
    Global,
    /// The limit of all clients together on one resource.
    Shared,
}

impl LimitScope {
    /// Returns the value used in the header.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Global => "global",
            Self::Shared => "shared",
        }
    }
}

impl ActivityLog {
    /// Returns how many requests of the ten minutes before `now` count towards a ban.
    pub fn invalid_request_count(&self, now: Duration) -> usize {
        let recent = |request: &&LoggedRequest| request.at + INVALID_WINDOW > now;
        let invalid = |request: &&LoggedRequest| {
            matches!(request.status, Some(401 | 403 | 429)) && request.scope != Some(LimitScope::Shared)
        };
        self.requests.iter().filter(recent).filter(invalid).count()
    }

    /// Returns the requests with a method and a route prefix (`*` stands for an id).
    pub fn matching<'a>(
        &'a self,
        method: &'a str,
        route: &'a str,
    ) -> impl Iterator<Item = &'a LoggedRequest> {
        self.requests
            .iter()
            .filter(move |request| request.method == method && request.route.starts_with(route))
    }
}
