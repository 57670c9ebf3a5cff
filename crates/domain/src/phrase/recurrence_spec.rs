//! Recurrences as parsed from text: rule, first and last day, and time zone.

use jiff::civil::{Date, DateTime, Time};

pub use crate::schedule::MonthDay;
use crate::schedule::{self, Cron, InvalidField, Recurrence, Zone};

/// A parsed recurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecurrenceSpec {
    /// The frequency and the time of day.
    pub rule: RuleSpec,
    /// The first day; `None` starts immediately.
    pub from: Option<Date>,
    /// The last day; `None` never ends.
    pub until: Option<Date>,
    /// The IANA zone whose clock counts; `None` follows the user's current zone.
    pub zone: Option<String>,
    /// Whether it only fires while the user is at home.
    pub location: LocationCondition,
}

impl RecurrenceSpec {
    /// Converts to a schedule recurrence; the error says why it is not supported.
    pub fn recurrence(&self) -> Result<Recurrence, InvalidField> {
        let beat = match &self.rule {
            RuleSpec::Cron(fields) => schedule::RecurrenceRule::Cron(Cron::parse(fields)?),
            RuleSpec::Days { every, from } => schedule::RecurrenceRule::Days { every: *every, from: *from },
            RuleSpec::Monthly { day, at } => schedule::RecurrenceRule::Monthly { day: *day, at: *at },
        };
        let zone = self.zone.as_deref().map(Zone::named).transpose()?;
        Ok(Recurrence { rule: beat, until: self.until, zone })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleSpec {
    /// A cron expression with five fields.
    Cron(String),
    /// Every n-th day, counted from a first time.
    Days {
        /// The interval in days.
        every: u32,
        /// The first time.
        from: DateTime,
    },
    /// On a day of every month that cron cannot express.
    Monthly { day: MonthDay, at: Time },
}

/// Where a recurrence fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocationCondition {
    /// Wherever the user is.
    #[default]
    Anywhere,
    AtHome,
}
