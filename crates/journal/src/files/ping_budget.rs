//! How many pings are left, as it is kept: `ping_budget.json`. What follows from it is decided elsewhere.

use std::path::Path;
use std::sync::Arc;

use domain::schedule::Moment;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};

use super::state::{Reading, StateFile, json};
use super::{Found, Trouble};
use crate::disk::Disk;

/// What the file says.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptBudget {
    /// The most pings that can be left.
    pub capacity: u32,
    /// The pings that are left.
    pub available: f64,
    /// The minutes it takes for one more.
    pub refill_rate_minutes: u32,
    /// When it was last reckoned.
    pub last_refill: Moment,
    /// The critical pings on `critical_reset_date`.
    pub critical_used: u32,
    /// The day of `critical_used`.
    pub critical_reset_date: Date,
    /// The pings on `daily_used_reset`.
    pub daily_used: u32,
    /// The day of `daily_used`.
    pub daily_used_reset: Date,
    extra: serde_json::Map<String, serde_json::Value>,
}

impl KeptBudget {
    /// A full budget.
    pub fn full(now: &Zoned) -> Self {
        Self {
            capacity: 5,
            available: 5.0,
            refill_rate_minutes: 90,
            last_refill: Moment::of(now),
            critical_used: 0,
            critical_reset_date: now.date(),
            daily_used: 0,
            daily_used_reset: now.date(),
            extra: serde_json::Map::new(),
        }
    }
}

/// The file `ping_budget.json`.
#[derive(Clone)]
pub struct PingBudgetFile {
    file: StateFile,
}

impl PingBudgetFile {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path) -> Self {
        Self { file: StateFile::new(disk, state.join("ping_budget.json")) }
    }

    /// What is kept: nothing, if the file is missing or was damaged.
    pub fn load(&self, now: Timestamp) -> Result<Found<Option<KeptBudget>>, Trouble> {
        self.file.load(now, read)
    }

    /// Keeps `budget`.
    pub fn save(&mut self, budget: &KeptBudget) -> Result<(), Trouble> {
        let text = serde_json::to_vec(&Spelled::of(budget));
        self.file.save(&text.map_err(|error| Trouble::refused(self.file.path(), error))?)
    }
}

#[derive(Serialize, Deserialize)]
struct Spelled {
    capacity: u32,
    available: f64,
    refill_rate_minutes: u32,
    last_refill: String,
    critical_used: u32,
    critical_reset_date: String,
    daily_used: u32,
    daily_used_reset: String,
    #[serde(flatten)]
    extra: serde_json::Map<String, serde_json::Value>,
}

impl Spelled {
    fn of(budget: &KeptBudget) -> Self {
        Self {
            capacity: budget.capacity,
            available: budget.available,
            refill_rate_minutes: budget.refill_rate_minutes,
            last_refill: budget.last_refill.to_micros(),
            critical_used: budget.critical_used,
            critical_reset_date: budget.critical_reset_date.to_string(),
            daily_used: budget.daily_used,
            daily_used_reset: budget.daily_used_reset.to_string(),
            extra: budget.extra.clone(),
        }
    }

    fn checked(self) -> Result<KeptBudget, String> {
        if self.capacity == 0 || self.refill_rate_minutes == 0 {
            return Err("`capacity` and `refill_rate_minutes` must be 1 or more".to_owned());
        }
        if !self.available.is_finite() || self.available < 0.0 {
            return Err(format!("`available` is {}, which cannot be", self.available));
        }
        let day =
            |text: &str| text.parse::<Date>().map_err(|_| format!("{text:?} is not a day like 2026-03-05"));
        Ok(KeptBudget {
            capacity: self.capacity,
            available: self.available,
            refill_rate_minutes: self.refill_rate_minutes,
            last_refill: Moment::parse(&self.last_refill, &TimeZone::UTC).map_err(|wrong| wrong.reason)?,
            critical_used: self.critical_used,
            critical_reset_date: day(&self.critical_reset_date)?,
            daily_used: self.daily_used,
            daily_used_reset: day(&self.daily_used_reset)?,
            extra: self.extra,
        })
    }
}

fn read(text: &str) -> Result<Reading<KeptBudget>, String> {
    json::<Spelled>(text)?.checked().map(Reading::Whole)
}
