//! A log of the bot's actions, as the server sees them.

use std::time::Duration;

/// The period for which an invalid request counts against a client.
const INVALID_WINDOW: Duration = Duration::from_secs(600);

/// Everything a client did.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Every request, oldest first.
    pub requests: Vec<Request>,
    /// The requests sent before the retry time of a 429 was over.
    pub embargo_breaches: Vec<Request>,
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
pub struct Request {
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
    pub scope: Option<Scope>,
}

/// The scope of a rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The bot's limit on one route.
    User,
    /// The bot's limit over all routes.
    Global,
    /// The limit of all clients together on one resource.
    Shared,
}

impl Scope {
    /// Returns the value used in the header.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Global => "global",
            Self::Shared => "shared",
        }
    }
}

impl Ledger {
    /// Returns how many requests of the ten minutes before `now` count towards a ban.
    pub fn invalid(&self, now: Duration) -> usize {
        let recent = |request: &&Request| request.at + INVALID_WINDOW > now;
        let invalid = |request: &&Request| {
            matches!(request.status, Some(401 | 403 | 429)) && request.scope != Some(Scope::Shared)
        };
        self.requests.iter().filter(recent).filter(invalid).count()
    }

    /// Returns the requests with a method and a route prefix (`*` stands for an id).
    pub fn of<'a>(&'a self, method: &'a str, route: &'a str) -> impl Iterator<Item = &'a Request> {
        self.requests
            .iter()
            .filter(move |request| request.method == method && request.route.starts_with(route))
    }
}
