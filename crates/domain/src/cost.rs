//! The cost of model calls, and the daily limit of unattended work.
//!
//! Money is counted in millionths of a dollar. For a model without a known price only tokens are
//! counted, and reports say so. The check of the limit is a pure function, so that it can run
//! before every call.

mod alert;
mod forecast;
mod limit;
mod limit_usage;
mod money;
mod price;
mod report;
mod report_text;
mod source;

use std::sync::Arc;

use jiff::Timestamp;

pub use alert::alert;
pub use forecast::{Amount, Forecast, LOOKBACK_DAYS, PlannedTimes};
pub use limit::{
    BudgetLimit, BudgetRefusal, CallConcurrency, CallCost, DaySpending, NextCall, SpendingByDay, check_budget,
};
pub use limit_usage::LimitUsage;
pub use money::Micros;
pub use price::{LongPrompt, Price, Prices, Rates};
pub use report::{CostBreakdown, CostReport, Total};
pub use report_text::short_count;
pub use source::{Account, Attendance, CostSource, UnknownCostSource};

use crate::conversation::{Branch, Usage};
use crate::turn::TurnId;

/// One call of a model, as the client reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelCall {
    /// The vendor and its model id.
    pub model: String,
    /// The reported usage; an estimate (`context::estimate_usage`) if the server reported none.
    pub usage: Usage,
}

/// One call in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    pub at: Timestamp,
    pub branch: Branch,
    pub turn: TurnId,
    pub account: Account,
    pub call: ModelCall,
    /// The cost; `None` if the price is unknown.
    pub cost: Option<Micros>,
}

/// Prices, limits and spending.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    pub prices: Arc<Prices>,
    /// The daily limit of unattended work.
    pub limit: BudgetLimit,
    /// The limit of settings.toml, which applies unless the user set another one.
    pub configured_limit: BudgetLimit,
    /// The spending of unattended work by day.
    pub days: SpendingByDay,
    /// The most tokens of one reply, without thinking.
    pub max_reply_tokens: u64,
}

impl Budget {
    /// Returns the total cost of `calls`, and the tokens that count towards the daily limit.
    pub fn total_cost(&self, calls: &[ModelCall]) -> CallCost {
        let each = calls.iter().map(|call| CallCost {
            cost: self.prices.cost_of(call).unwrap_or_default(),
            tokens: call.usage.uncached(),
        });
        each.fold(CallCost::default(), CallCost::plus)
    }

    /// Returns the most that a call of `model` can use with this many input and output tokens.
    pub fn max_call(&self, model: &str, read: u64, output: u64) -> CallCost {
        let cost = self.prices.max_cost(model, read, output).unwrap_or_default();
        CallCost { cost, tokens: read.saturating_add(output) }
    }
}
