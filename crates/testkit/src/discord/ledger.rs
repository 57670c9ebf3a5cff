//! What the bot has done, as Discord saw it.

use std::time::Duration;

/// How long a refused request counts against a client.
const INVALID_WINDOW: Duration = Duration::from_secs(600);

/// Everything a client did.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Every request, oldest first.
    pub requests: Vec<Request>,
    /// The requests that came before the time a 429 had named was over.
    pub embargo_breaches: Vec<Request>,
    /// When a line was opened.
    pub connects: Vec<Duration>,
    /// When a session was begun, also when it was refused.
    pub identifies: Vec<Duration>,
    /// When a session was taken up again, also when it could not be.
    pub resumes: Vec<Duration>,
    /// The codes with which lines were closed by Discord.
    pub closes: Vec<u16>,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// When, since the machine started.
    pub at: Duration,
    /// `GET`, `POST`, …
    pub method: String,
    /// The path as it was sent.
    pub path: String,
    /// The path with its ids and tokens taken out.
    pub route: String,
    /// What it was answered, if the answer arrived.
    pub status: Option<u16>,
    /// The nonce it carried.
    pub nonce: Option<String>,
    /// The scope of the limit, if it was answered 429.
    pub scope: Option<Scope>,
}

/// Whose limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The bot's, on one route.
    User,
    /// The bot's, over all routes.
    Global,
    /// That of everybody on one resource.
    Shared,
}

impl Scope {
    /// As it stands in the header.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Global => "global",
            Self::Shared => "shared",
        }
    }
}

impl Ledger {
    /// How many requests of the ten minutes before `now` count towards a ban.
    pub fn invalid(&self, now: Duration) -> usize {
        let recent = |request: &&Request| request.at + INVALID_WINDOW > now;
        let invalid = |request: &&Request| {
            matches!(request.status, Some(401 | 403 | 429)) && request.scope != Some(Scope::Shared)
        };
        self.requests.iter().filter(recent).filter(invalid).count()
    }

    /// The requests of one kind, by method and the beginning of the route (`*` stands for an id).
    pub fn of<'a>(&'a self, method: &'a str, route: &'a str) -> impl Iterator<Item = &'a Request> {
        self.requests
            .iter()
            .filter(move |request| request.method == method && request.route.starts_with(route))
    }
}
