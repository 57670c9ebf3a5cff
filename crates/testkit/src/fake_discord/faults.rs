//! Faults that a test injects.

use std::time::Duration;

use super::activity_log::LimitScope;

#[derive(Clone, Debug)]
pub enum DiscordFault {
    /// Requests that match the filter get this fault.
    Request(RequestFilter, RequestFault),
    /// A fault of the gateway connection.
    Gateway(GatewayFault),
    /// Discord is unreachable from `after` on, for the duration `lasts`.
    Down {
        /// The start, relative to now.
        after: Duration,
        lasts: Duration,
    },
    /// The bot has no access to any channel (50001) until it opens one again.
    NoAccess,
    /// The token is no longer valid.
    TokenRevoked,
}

/// Selects requests by method and route.
#[derive(Clone, Debug)]
pub struct RequestFilter {
    method: &'static str,
    route: &'static str,
    skip: u32,
    times: u32,
}

/// A fault of a request.
#[derive(Clone, Debug)]
pub enum RequestFault {
    /// The request fails with this status and is not carried out.
    Status(u16),
    /// The request fails with Discord's error code and is not carried out.
    Code(u32),
    /// The request gets a 429, whatever the headers reported as remaining.
    RateLimited {
        /// The scope of the limit.
        scope: LimitScope,
        /// The retry time, which is enforced.
        retry_after: Duration,
    },
    /// The headers of the response report this number of remaining requests.
    ClaimRemaining(u32),
    /// The connection breaks before the request is carried out.
    LostBefore,
    /// The request is carried out, but the connection breaks before the response.
    LostAfter,
    /// The request is carried out, and the response is delayed.
    Slow(Duration),
}

/// A fault of the gateway connection.
#[derive(Clone, Debug)]
pub enum GatewayFault {
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
    RequestHeartbeat,
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

impl RequestFilter {
    /// Selects the next request with `method`, or any method if empty, whose route starts with
    /// `route`; `*` stands for an id.
    pub const fn next(method: &'static str, route: &'static str) -> Self {
        Self { method, route, skip: 0, times: 1 }
    }

    /// Selects the next request.
    pub const fn any() -> Self {
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

    fn matches(&self, method: &str, route: &str) -> bool {
        (self.method.is_empty() || self.method == method) && route.starts_with(self.route)
    }
}

/// The faults still to be applied.
#[derive(Debug, Default)]
pub(super) struct FaultState {
    request_faults: Vec<(RequestFilter, RequestFault)>,
    outages: Vec<(Duration, Duration)>,
    pub revoked: bool,
    /// Refuses access to channels until one is opened again.
    pub no_access: bool,
}

impl FaultState {
    /// Adds a fault for matching requests.
    pub fn add_request_fault(&mut self, filter: RequestFilter, fault: RequestFault) {
        self.request_faults.push((filter, fault));
    }

    /// Adds a period in which Discord is unreachable.
    pub fn add_outage(&mut self, from: Duration, until: Duration) {
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
    pub fn take_request_fault(&mut self, method: &str, route: &str) -> Option<RequestFault> {
        if self.no_access && route.starts_with("/channels/") {
            return Some(RequestFault::Code(50001));
        }
        if (method, route) == ("POST", "/users/@me/channels") {
            self.no_access = false;
        }
        for at in 0..self.request_faults.len() {
            let (filter, fault) = &mut self.request_faults[at];
            if !filter.matches(method, route) {
                continue;
            }
            if filter.skip > 0 {
                filter.skip -= 1;
                continue;
            }
            let result = fault.clone();
            if filter.times != u32::MAX {
                filter.times -= 1;
            }
            if filter.times == 0 {
                self.request_faults.remove(at);
            }
            return Some(result);
        }
        None
    }

    /// Removes all faults.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
