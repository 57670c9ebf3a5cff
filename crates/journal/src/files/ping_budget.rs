//! Storage of the ping budget: `ping_budget.json`. Contains no rules.

use std::path::Path;
use std::sync::Arc;

use domain::ping_budget::{DailyCount, PingBudget};
use domain::schedule::Moment;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::state_file::{ParsedText, StateFile, parse_json};
use super::{FileContent, FileError};
use crate::disk::Disk;

/// The file `ping_budget.json`, and the zone of its times.
#[derive(Clone)]
pub struct PingBudgetFile {
    file: StateFile,
    zone: TimeZone,
}

impl PingBudgetFile {
    /// The file in the directory `state`.
    pub fn new(disk: Arc<dyn Disk>, state: &Path, zone: TimeZone) -> Self {
        Self { file: StateFile::new(disk, state.join("ping_budget.json")), zone }
    }

    /// Loads the budget. `None` if the file is missing or was damaged.
    pub fn load(&self, now: Timestamp) -> Result<FileContent<Option<PingBudget>>, FileError> {
        self.file.load(now, |text| {
            parse_json::<PingBudgetJson>(text)?.into_budget(&self.zone).map(ParsedText::Complete)
        })
    }

    /// Saves `budget`, preserving foreign keys.
    pub fn save(&mut self, budget: &PingBudget) -> Result<(), FileError> {
        let before = self
            .file
            .load(budget.updated_at, |text| parse_json::<PingBudgetJson>(text).map(ParsedText::Complete))?;
        let extra = before.value.map(|before| before.extra).unwrap_or_default();
        let text = serde_json::to_vec(&PingBudgetJson { extra, ..self.to_json(budget) });
        self.file.save(&text.map_err(|error| FileError::refused(self.file.path(), error))?)
    }

    fn to_json(&self, budget: &PingBudget) -> PingBudgetJson {
        PingBudgetJson {
            capacity: budget.capacity,
            available: budget.available,
            refill_rate_minutes: budget.refill_minutes,
            last_refill: Moment::of(&budget.updated_at.to_zoned(self.zone.clone())).to_micros(),
            critical_used: budget.critical.count,
            critical_reset_date: budget.critical.day.to_string(),
            daily_used: budget.used.count,
            daily_used_reset: budget.used.day.to_string(),
            extra: serde_json::Map::new(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct PingBudgetJson {
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

impl PingBudgetJson {
    fn into_budget(self, zone: &TimeZone) -> Result<PingBudget, String> {
        if self.capacity == 0 || self.refill_rate_minutes == 0 {
            return Err("`capacity` and `refill_rate_minutes` must be 1 or more".to_owned());
        }
        if !self.available.is_finite() || self.available < 0.0 {
            return Err(format!("`available` is {}, which cannot be", self.available));
        }
        let day =
            |text: &str| text.parse::<Date>().map_err(|_| format!("{text:?} is not a day like 2026-03-05"));
        let reckoned = Moment::parse(&self.last_refill, zone).map_err(|wrong| wrong.reason)?;
        Ok(PingBudget {
            capacity: self.capacity,
            available: self.available,
            refill_minutes: self.refill_rate_minutes,
            updated_at: reckoned.at,
            used: DailyCount { day: day(&self.daily_used_reset)?, count: self.daily_used },
            critical: DailyCount { day: day(&self.critical_reset_date)?, count: self.critical_used },
        })
    }
}
