//! The cost of model calls, and the daily limit of unattended work.
//!
//! Money is counted in millionths of a dollar. For a model without a known price only tokens are
//! counted, and reports say so. The check of the limit is a pure function, so that it can run
//! before every call.

mod alert;
mod forecast;
mod limit;
mod money;
mod price;
mod report;
mod source;
mod standing;
mod telling;

use std::sync::Arc;

use jiff::Timestamp;

pub use alert::alert;
pub use forecast::{Amount, Forecast, LOOKS_BACK, Times};
pub use limit::{Day, Days, Limit, Most, Next, Pace, Refusal, may_spend};
pub use money::Micros;
pub use price::{LongPrompt, Price, Prices, Rates};
pub use report::{Lists, Report, Total};
pub use source::{Account, Attended, Source, UnknownSource};
pub use standing::Bound;
pub use telling::short;

use crate::conversation::{Branch, Usage};
use crate::turn::TurnId;

/// One call of a model, as the client reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The vendor and its model id.
    pub model: String,
    /// The reported usage; an estimate (`context::estimate_usage`) if the server reported none.
    pub usage: Usage,
}

/// One call in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    pub at: Timestamp,
    pub branch: Branch,
    pub turn: TurnId,
    pub account: Account,
    pub call: Call,
    /// The cost; `None` if the price is unknown.
    pub cost: Option<Micros>,
}

/// Prices, limits and spending.
#[derive(Clone, Debug, Default)]
pub struct Purse {
    pub prices: Arc<Prices>,
    /// The daily limit of unattended work.
    pub limit: Limit,
    /// The limit of settings.toml, which applies unless the user set another one.
    pub written: Limit,
    /// The spending of unattended work by day.
    pub days: Days,
    /// The most tokens of one reply, without thinking.
    pub reply: u64,
}

impl Purse {
    /// Returns the total cost of `calls`, and the tokens that count towards the daily limit.
    pub fn sum(&self, calls: &[Call]) -> Most {
        let each = calls
            .iter()
            .map(|call| Most { cost: self.prices.of(call).unwrap_or_default(), tokens: call.usage.fresh() });
        each.fold(Most::default(), Most::and)
    }

    /// Returns the most that a call of `model` can use with this many input and output tokens.
    pub fn most(&self, model: &str, read: u64, gives: u64) -> Most {
        let cost = self.prices.most(model, read, gives).unwrap_or_default();
        Most { cost, tokens: read.saturating_add(gives) }
    }
}
