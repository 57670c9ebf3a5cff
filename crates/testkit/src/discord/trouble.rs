//! Faults that a test injects.

use std::time::Duration;

use super::ledger::Scope;

#[derive(Clone, Debug)]
pub enum Trouble {
    /// Requests that match the filter get this fault.
    Call(On, Mishap),
    /// A fault of the gateway connection.
    Gateway(Upset),
    /// Discord is unreachable from `after` on, for the duration `lasts`.
    Down {
        /// The start, relative to now.
        after: Duration,
        lasts: Duration,
    },
    /// The bot has no access to any channel (50001) until it opens one again.
    NoAccess,
    /// The token is no longer valid.
    Revoked,
}

/// Selects requests by method and route.
#[derive(Clone, Debug)]
pub struct On {
    method: &'static str,
    route: &'static str,
    skip: u32,
    times: u32,
}

/// A fault of a request.
#[derive(Clone, Debug)]
pub enum Mishap {
    /// The request fails with this status and is not carried out.
    Status(u16),
    /// The request fails with Discord's error code and is not carried out.
    Code(u32),
    /// The request gets a 429, whatever the headers reported as remaining.
    TooMany {
        /// The scope of the limit.
        scope: Scope,
        /// The retry time, which is enforced.
        retry_after: Duration,
    },
    /// The headers of the response report this number of remaining requests.
    Claims(u32),
    /// The connection breaks before the request is carried out.
    LostBefore,
    /// The request is carried out, but the connection breaks before the response.
    LostAfter,
    /// The request is carried out, and the response is delayed.
    Slow(Duration),
}

/// A fault of the gateway connection.
#[derive(Clone, Debug)]
pub enum Upset {
    /// Closes it with this code.
    Close(u16),
    /// Breaks it without a close frame.
    Drop,
    /// Op 7: asks the client to reconnect.
    Reconnect,
    /// Op 9: the session is invalid, resumable or not.
    InvalidSession(Resumable),
    /// Nothing is sent on it any more, and it is not closed. Without an open connection, affects
    /// the next one.
    Zombie,
    /// Op 1: requests a heartbeat.
    AsksForBeat,
    /// Sends the next event twice.
    Duplicate,
    /// Swaps the next two events.
    Swap,
    /// Sends this text unchanged.
    Raw(String),
}

/// Indicates if an invalid session can be resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumable {
    Yes,
    No,
}

impl On {
    /// Selects the next request with `method`, or any method if empty, whose route starts with
    /// `route`; `*` stands for an id.
    pub const fn next(method: &'static str, route: &'static str) -> Self {
        Self { method, route, skip: 0, times: 1 }
    }

    /// Selects the next request.
    pub const fn anything() -> Self {
        Self::next("", "")
    }

    /// Selects the next new message.
    pub const fn send() -> Self {
        Self::next("POST", "/channels/*/messages")
    }

    /// Selects the next edit of a message.
    pub const fn edit() -> Self {
        Self::next("PATCH", "/channels/*/messages")
    }

    /// Applies to this many consecutive requests.
    pub const fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// Applies to all requests from now on.
    pub const fn always(self) -> Self {
        self.times(u32::MAX)
    }

    /// Skips the first `skip` matching requests.
    pub const fn after(mut self, skip: u32) -> Self {
        self.skip = skip;
        self
    }

    fn fits(&self, method: &str, route: &str) -> bool {
        (self.method.is_empty() || self.method == method) && route.starts_with(self.route)
    }
}

/// The faults still to be applied.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    calls: Vec<(On, Mishap)>,
    outages: Vec<(Duration, Duration)>,
    pub revoked: bool,
    /// Refuses access to channels until one is opened again.
    pub no_access: bool,
}

impl Troubles {
    /// Adds a fault for matching requests.
    pub fn expect(&mut self, on: On, mishap: Mishap) {
        self.calls.push((on, mishap));
    }

    /// Adds a period in which Discord is unreachable.
    pub fn outage(&mut self, from: Duration, until: Duration) {
        self.outages.push((from, until));
    }

    /// Returns true during an outage.
    pub fn is_down(&self, now: Duration) -> bool {
        self.outages.iter().any(|(from, until)| (*from..*until).contains(&now))
    }

    /// Returns the start of the next outage.
    pub fn next_outage(&self, now: Duration) -> Option<Duration> {
        self.outages.iter().map(|(from, _)| *from).filter(|from| *from > now).min()
    }

    /// Returns the fault for this request. The first matching fault that is due is used up once;
    /// the skip counts of matching faults before it are reduced.
    pub fn meet(&mut self, method: &str, route: &str) -> Option<Mishap> {
        if self.no_access && route.starts_with("/channels/") {
            return Some(Mishap::Code(50001));
        }
        if (method, route) == ("POST", "/users/@me/channels") {
            self.no_access = false;
        }
        for at in 0..self.calls.len() {
            let (on, mishap) = &mut self.calls[at];
            if !on.fits(method, route) {
                continue;
            }
            if on.skip > 0 {
                on.skip -= 1;
                continue;
            }
            let met = mishap.clone();
            if on.times != u32::MAX {
                on.times -= 1;
            }
            if on.times == 0 {
                self.calls.remove(at);
            }
            return Some(met);
        }
        None
    }

    /// Removes all faults.
    pub fn calm(&mut self) {
        *self = Self::default();
    }
}
