//! What can be chosen about a played Discord. The numbers nobody documents are settings.

use std::time::Duration;

use engine::ports::Clock;
use jiff::Timestamp;

/// How this Discord is.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The only token that is good.
    pub token: String,
    /// The name of the assistant's user.
    pub bot: String,
    /// The name of the human who owns the application.
    pub owner: String,
    /// Who the application belongs to, as `/applications/@me` tells it.
    pub ownership: Ownership,
    /// Where the application was installed.
    pub installed: Installed,
    /// Which privileged intents were switched on for it.
    pub privileged: u64,
    /// How long a nonce is remembered.
    pub nonces: Duration,
    /// How the gateway behaves.
    pub gateway: GatewaySetup,
    /// How many requests may be made.
    pub rates: Rates,
}

/// Who an application belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The human.
    Person,
    /// A team that the human owns.
    Team,
    /// Nobody whom Discord would name.
    Nobody,
}

/// Where an application was installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// For the human alone: at most five follow-ups to one interaction.
    User,
    /// On a server that the human is on.
    Guild,
}

/// How the gateway behaves.
#[derive(Clone, Debug)]
pub struct GatewaySetup {
    /// How often a client has to beat.
    pub heartbeat: Duration,
    /// How late a beat may be before the line is closed.
    pub patience: Duration,
    /// How long a session without a line can be taken up again.
    pub resumable: Duration,
    /// How many events a session keeps for that.
    pub kept_events: usize,
    /// How many sessions may be begun in a day.
    pub identifies: usize,
}

/// So many requests in so much time.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// How many.
    pub limit: u32,
    /// In how long.
    pub per: Duration,
}

/// How many requests may be made, by what they do; each in a channel of its own.
#[derive(Clone, Debug)]
pub struct Rates {
    /// New messages.
    pub sends: Rate,
    /// Changed messages.
    pub edits: Rate,
    /// Deleted messages.
    pub deletes: Rate,
    /// Reactions, put or taken away.
    pub reactions: Rate,
    /// Typing.
    pub typing: Rate,
    /// What follows an interaction, by its token.
    pub followups: Rate,
    /// Everything else, by route.
    pub others: Rate,
    /// All together.
    pub global: Rate,
}

impl Rate {
    /// `limit` requests in `milliseconds`.
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
            patience: Duration::from_secs(20),
            resumable: Duration::from_secs(180),
            kept_events: 250,
            identifies: 1_000,
        }
    }
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            token: "played-token".into(),
            bot: "ollim".into(),
            owner: "owner".into(),
            ownership: Ownership::Person,
            installed: Installed::User,
            privileged: 0,
            nonces: Duration::from_secs(300),
            gateway: GatewaySetup::default(),
            rates: Rates::default(),
        }
    }
}

/// One moment, on both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Since the machine started: what deadlines are reckoned by.
    pub boot: Duration,
    /// On the wall: what is told.
    pub wall: Timestamp,
}

impl Moment {
    /// What `clock` shows.
    pub fn of(clock: &dyn Clock) -> Self {
        Self { boot: clock.boot(), wall: clock.now().timestamp() }
    }
}
