//! What goes wrong, because a test wants it to.

use std::time::Duration;

use super::ledger::Scope;

/// Something that goes wrong.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// Requests of this kind meet this mishap.
    Call(On, Mishap),
    /// The line is upset.
    Gateway(Upset),
    /// Nobody can reach Discord, beginning in `after`, for as long as it `lasts`.
    Down {
        /// From when on, counted from now.
        after: Duration,
        /// For how long.
        lasts: Duration,
    },
    /// The bot has no access to any channel (50001) until it opens one anew.
    NoAccess,
    /// The token is good no longer.
    Revoked,
}

/// Which requests.
#[derive(Clone, Debug)]
pub struct On {
    method: &'static str,
    route: &'static str,
    skip: u32,
    times: u32,
}

/// What happens to a request.
#[derive(Clone, Debug)]
pub enum Mishap {
    /// It is answered with this status and not carried out.
    Status(u16),
    /// It is answered with Discord's refusal of this code and not carried out.
    Code(u32),
    /// It is answered 429, whatever was said to remain.
    TooMany {
        /// Whose limit it is.
        scope: Scope,
        /// How long the embargo lasts.
        retry_after: Duration,
    },
    /// The headers of its answer claim that so many requests remain.
    Claims(u32),
    /// The connection breaks before it is carried out.
    LostBefore,
    /// It is carried out, and the connection breaks before the answer comes.
    LostAfter,
    /// It is carried out, and the answer takes this long.
    Slow(Duration),
}

/// What happens to the line.
#[derive(Clone, Debug)]
pub enum Upset {
    /// It is closed with this code.
    Close(u16),
    /// It breaks without a word.
    Drop,
    /// Op 7: come again.
    Reconnect,
    /// Op 9: the session is not valid, and whether it can be taken up again.
    InvalidSession(Resumable),
    /// Nothing is said on it any more, and nobody closes it. The next line, if there is none now.
    Zombie,
    /// Op 1: Discord asks for a beat.
    AsksForBeat,
    /// The next event comes twice.
    Duplicate,
    /// The next two events change places.
    Swap,
    /// This text is sent as it is.
    Raw(String),
}

/// Whether a session can be taken up again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumable {
    /// It can.
    Yes,
    /// It cannot: it is gone.
    No,
}

impl On {
    /// The next request with `method`, or any if it is empty, whose route begins with `route`; `*` stands for an id.
    pub const fn next(method: &'static str, route: &'static str) -> Self {
        Self { method, route, skip: 0, times: 1 }
    }

    /// The next request whatever it is.
    pub const fn anything() -> Self {
        Self::next("", "")
    }

    /// The next new message.
    pub const fn send() -> Self {
        Self::next("POST", "/channels/*/messages")
    }

    /// The next change of a message.
    pub const fn edit() -> Self {
        Self::next("PATCH", "/channels/*/messages")
    }

    /// So many of them, one after the other.
    pub const fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// All of them from now on.
    pub const fn always(self) -> Self {
        self.times(u32::MAX)
    }

    /// Only after so many went well.
    pub const fn after(mut self, skip: u32) -> Self {
        self.skip = skip;
        self
    }

    fn fits(&self, method: &str, route: &str) -> bool {
        (self.method.is_empty() || self.method == method) && route.starts_with(self.route)
    }
}

/// What is still to go wrong.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    calls: Vec<(On, Mishap)>,
    outages: Vec<(Duration, Duration)>,
    pub revoked: bool,
    /// Whether channels are shut until one is opened anew.
    pub no_access: bool,
}

impl Troubles {
    /// Requests of this kind will meet this mishap.
    pub fn expect(&mut self, on: On, mishap: Mishap) {
        self.calls.push((on, mishap));
    }

    /// Nobody gets through between these times.
    pub fn outage(&mut self, from: Duration, until: Duration) {
        self.outages.push((from, until));
    }

    /// Whether nobody gets through now.
    pub fn is_down(&self, now: Duration) -> bool {
        self.outages.iter().any(|(from, until)| (*from..*until).contains(&now))
    }

    /// When the next outage begins.
    pub fn next_outage(&self, now: Duration) -> Option<Duration> {
        self.outages.iter().map(|(from, _)| *from).filter(|from| *from > now).min()
    }

    /// What this request meets. The first that fits and is due counts it; those before it count down.
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

    /// Everything goes well again.
    pub fn calm(&mut self) {
        *self = Self::default();
    }
}
