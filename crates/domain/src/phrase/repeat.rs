//! What repeats: how often, from when and until when, and by whose clock.

use jiff::civil::{Date, DateTime, Time};

pub use crate::schedule::MonthDay;
use crate::schedule::{self, Cron, Invalid, Rhythm, Zone};

/// Something that comes again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// How often, and at what time of day.
    pub beat: Beat,
    /// The first day it may come; nothing, if it begins at once.
    pub from: Option<Date>,
    /// The last day it may come; nothing, if it never ends.
    pub until: Option<Date>,
    /// The zone whose clock counts; nothing, for that of wherever the human is.
    pub zone: Option<String>,
    /// Whether it rests while the human is away.
    pub home: Home,
}

impl Repeat {
    /// The rhythm it is; or why the schedule cannot keep it.
    pub fn rhythm(&self) -> Result<Rhythm, Invalid> {
        let beat = match &self.beat {
            Beat::Cron(fields) => schedule::Beat::Cron(Cron::parse(fields)?),
            Beat::Days { every, from } => schedule::Beat::Days { every: *every, from: *from },
            Beat::Monthly { day, at } => schedule::Beat::Monthly { day: *day, at: *at },
        };
        let zone = self.zone.as_deref().map(Zone::named).transpose()?;
        Ok(Rhythm { beat, until: self.until, zone })
    }
}

/// How often something comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beat {
    /// By five fields.
    Cron(String),
    /// Every so many days, counted from a first time.
    Days {
        /// How many.
        every: u32,
        /// The first time.
        from: DateTime,
    },
    /// On a day of every month that five fields cannot name.
    Monthly {
        /// Which.
        day: MonthDay,
        /// At what time.
        at: Time,
    },
}

/// Where something that repeats may come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Home {
    /// Wherever the human is.
    #[default]
    Anywhere,
    /// Only at home.
    Only,
}
