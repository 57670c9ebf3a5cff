//! Settings of a fake Discord, including undocumented limits.

use std::time::Duration;

use engine::ports::Clock;
use jiff::Timestamp;

/// Settings of a fake Discord.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The only valid token.
    pub token: String,
    /// The name of the bot's user.
    pub bot: String,
    /// The name of the user who owns the application.
    pub owner: String,
    /// The owner as reported by `/applications/@me`.
    pub ownership: Ownership,
    /// The installation context of the application.
    pub installation: Installation,
    /// The privileged intents that are enabled.
    pub privileged_intents: u64,
    /// The lifetime of a nonce.
    pub nonce_lifetime: Duration,
    pub gateway: GatewaySetup,
    /// The rate limits.
    pub rates: Rates,
}

/// The owner of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The user.
    User,
    /// A team that the user owns.
    Team,
    /// No owner is reported.
    Unknown,
}

/// The installation context of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installation {
    /// For the user alone: at most five follow-ups to one interaction.
    User,
    /// On a server that the user is a member of.
    Guild,
}

/// Settings of the gateway.
#[derive(Clone, Debug)]
pub struct GatewaySetup {
    /// The heartbeat interval.
    pub heartbeat: Duration,
    /// The delay after a missed heartbeat before the connection is closed.
    pub heartbeat_grace: Duration,
    /// The period in which a session without a connection can be resumed.
    pub resume_window: Duration,
    /// The number of events that a session stores for a resume.
    pub replay_limit: usize,
    /// The maximum number of sessions per day.
    pub daily_identifies: usize,
}

/// A rate limit.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// The number of requests.
    pub limit: u32,
    /// The length of the window.
    pub per: Duration,
}

/// Rate limits by kind of request, each per channel.
#[derive(Clone, Debug)]
pub struct Rates {
    pub sends: Rate,
    pub edits: Rate,
    pub deletes: Rate,
    /// Adding and removing reactions.
    pub reactions: Rate,
    pub typing: Rate,
    /// Requests with an interaction's token.
    pub followups: Rate,
    /// Any other request, by route.
    pub others: Rate,
    /// All requests together.
    pub global: Rate,
}

impl Rate {
    /// Creates a limit of `limit` requests per `milliseconds`.
    pub const fn new(limit: u32, milliseconds: u64) -> Self {
        Self { limit, per: Duration::from_millis(milliseconds) }
    }
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            sends: Rate::new(5, 5_000),
            edits: Rate::new(5, 5_000),
            deletes: Rate::new(5, 1_000),
            reactions: Rate::new(1, 250),
            typing: Rate::new(5, 5_000),
            followups: Rate::new(5, 2_000),
            others: Rate::new(10, 10_000),
            global: Rate::new(50, 1_000),
        }
    }
}

impl Default for GatewaySetup {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_millis(41_250),
            heartbeat_grace: Duration::from_secs(20),
            resume_window: Duration::from_secs(180),
            replay_limit: 250,
            daily_identifies: 1_000,
        }
    }
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            token: "played-token".into(),
            bot: "ollim".into(),
            owner: "owner".into(),
            ownership: Ownership::User,
            installation: Installation::User,
            privileged_intents: 0,
            nonce_lifetime: Duration::from_secs(300),
            gateway: GatewaySetup::default(),
            rates: Rates::default(),
        }
    }
}

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Time since the machine started, used for deadlines.
    pub boot: Duration,
    /// Wall time, used in timestamps.
    pub wall: Timestamp,
}

impl Moment {
    /// Returns the current time of `clock`.
    pub fn now(clock: &dyn Clock) -> Self {
        Self { boot: clock.since_boot(), wall: clock.now().timestamp() }
    }
}
