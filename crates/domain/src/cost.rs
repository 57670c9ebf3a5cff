//! What calls of the model cost, and how much may be spent while nobody waits.
//!
//! Money is counted in millionths of a dollar. A price that is not known is no price: the tokens are counted
//! then, and the reader is told. The rule for unattended work is a function of three values, so that it can be
//! asked before every single call.

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

/// One call of a model, as the one who made it saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Who answered: the vendor, and its id of the model.
    pub model: String,
    /// What it used, as far as that was told; a guess (`context::guessed`), if it answered and told nothing.
    pub usage: Usage,
}

/// One call, as it is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// When.
    pub at: Timestamp,
    /// Where.
    pub branch: Branch,
    /// In which turn.
    pub turn: TurnId,
    /// On whose account.
    pub account: Account,
    /// The call.
    pub call: Call,
    /// What it cost; nothing, if nobody knows the price.
    pub cost: Option<Micros>,
}

/// What the assistant needs to know of money.
#[derive(Clone, Debug, Default)]
pub struct Purse {
    /// What models cost.
    pub prices: Arc<Prices>,
    /// What unattended work may cost in a day.
    pub limit: Limit,
    /// The same as it is written in settings.toml, which holds where the human said nothing else.
    pub written: Limit,
    /// What it has used, today and on the days around.
    pub days: Days,
    /// The most tokens of one reply, thoughts not counted.
    pub reply: u64,
}

impl Purse {
    /// Returns what `calls` cost together, and how many of their tokens count towards the daily limit.
    pub fn sum(&self, calls: &[Call]) -> Most {
        let each = calls
            .iter()
            .map(|call| Most { cost: self.prices.of(call).unwrap_or_default(), tokens: call.usage.fresh() });
        each.fold(Most::default(), Most::and)
    }

    /// The most that a call of `model` can use which reads so many tokens and gives so many.
    pub fn most(&self, model: &str, read: u64, gives: u64) -> Most {
        let cost = self.prices.most(model, read, gives).unwrap_or_default();
        Most { cost, tokens: read.saturating_add(gives) }
    }
}
