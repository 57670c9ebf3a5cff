//! Cost of jobs in the last 30 days, for their lists.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::cost::{Total, short_count};
use journal::disk::Disk;
use serde_json::{Value, json};

use super::JobRow;
use crate::commands::cost;
use crate::settings::Settings;

const DAYS: u16 = 30;

/// Totals by cost account.
pub struct Costs(BTreeMap<String, Total>);

impl Costs {
    /// Reads the totals. If the ledger cannot be read, lists are shown without costs.
    pub fn read(settings: &Settings, disk: &Arc<dyn Disk>) -> Self {
        Self(
            cost::read_report(settings, disk, DAYS)
                .map(|report| report.breakdown.sources)
                .unwrap_or_default(),
        )
    }

    /// Returns the cost suffix of a job's line; empty if it cost nothing.
    pub fn suffix(&self, word: &str, row: &JobRow) -> String {
        let Some(total) = self.total_of(word, row) else { return String::new() };
        let cost = match total.unpriced {
            0 => total.cost.to_string(),
            unpriced if unpriced == total.calls => {
                format!("{} tokens without a price", short_count(total.usage.total()))
            }
            unpriced => format!("{} and {unpriced} calls without a price", total.cost),
        };
        format!("  {cost} in {DAYS} days")
    }

    /// Adds the cost to the JSON value of a job.
    pub fn add_to_json(&self, word: &str, row: &JobRow, mut value: Value) -> Value {
        if let Some(total) = self.total_of(word, row) {
            value["spent_in_30_days"] = json!({
                "dollars": total.cost.as_dollars(),
                "tokens": total.usage.total(),
                "calls": total.calls,
                "unpriced_calls": total.unpriced,
            });
        }
        value
    }

    fn total_of(&self, word: &str, row: &JobRow) -> Option<&Total> {
        self.0.get(&format!("{word}:{}", row.id.as_deref()?))
    }
}
