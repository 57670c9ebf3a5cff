//! The daily limit of unattended work.
//!
//! It is checked before every call. A running call counts with the most that it can use, so that
//! concurrent calls do not exceed the limit together: a day ends at most one call above it.

use jiff::civil::Date;
use rpds::RedBlackTreeMapSync;

use super::{Account, Attendance, LedgerEntry, Micros};

/// The limit of unattended work per day; `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetLimit {
    pub money: Option<Micros>,
    /// In tokens that are not read from the cache.
    pub tokens: Option<u64>,
}

/// The spending of unattended work on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DaySpending {
    /// The date in the user's zone.
    pub date: Date,
    pub cost: Micros,
    /// The tokens that were not read from the cache.
    pub tokens: u64,
}

impl DaySpending {
    pub fn empty(date: Date) -> Self {
        Self { date, cost: Micros::default(), tokens: 0 }
    }

    /// Adds `spent` if it is unattended.
    pub fn add(&mut self, spent: &LedgerEntry) {
        match spent.account.attended {
            Attendance::Attended => {}
            Attendance::Unattended => {
                let cost = spent.cost.unwrap_or_default();
                let tokens = spent.call.usage.uncached();
                *self = self.plus(CallCost { cost, tokens });
            }
        }
    }

    /// Returns the day with `more` added.
    #[must_use]
    pub fn plus(self, more: CallCost) -> Self {
        let CallCost { cost, tokens } = CallCost { cost: self.cost, tokens: self.tokens }.plus(more);
        Self { cost, tokens, ..self }
    }
}

/// The cost of calls, or an upper bound of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCost {
    /// The money; zero if the price is unknown.
    pub cost: Micros,
    /// The tokens that are not read from the cache.
    pub tokens: u64,
}

impl CallCost {
    #[must_use]
    pub fn plus(mut self, other: Self) -> Self {
        self.cost += other.cost;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self
    }

    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self { cost: self.cost.minus(other.cost), tokens: self.tokens.saturating_sub(other.tokens) }
    }
}

/// The spending of unattended work by date. Each date has its own sum, so a changed clock does not
/// reset a limit. Copies share unchanged parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpendingByDay(RedBlackTreeMapSync<Date, DaySpending>);

impl SpendingByDay {
    pub fn get(&self, date: Date) -> DaySpending {
        self.0.get(&date).copied().unwrap_or_else(|| DaySpending::empty(date))
    }

    pub fn set(&mut self, day: DaySpending) {
        self.0.insert_mut(day.date, day);
    }
}

/// A placeholder before the first day is known.
impl Default for DaySpending {
    fn default() -> Self {
        Self::empty(Date::ZERO)
    }
}

/// Checks whether `account` may make another call on this `day`.
pub fn check_budget(account: &Account, day: &DaySpending, limit: &BudgetLimit) -> Result<(), BudgetRefusal> {
    match account.attended {
        Attendance::Attended => return Ok(()),
        Attendance::Unattended => {}
    }
    if let Some(most) = limit.money.filter(|most| day.cost >= *most) {
        return Err(BudgetRefusal::Money { spent: day.cost, most });
    }
    if let Some(most) = limit.tokens.filter(|most| day.tokens >= *most) {
        return Err(BudgetRefusal::Tokens { spent: day.tokens, most });
    }
    Ok(())
}

/// The reason of a refused call. The user must act, or wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetRefusal {
    #[error(
        "what i may spend in a day while you don't wait is spent ({spent} of {most}). i go on tomorrow; `/config \
         daily_limit` and a higher one lets me go on today."
    )]
    Money { spent: Micros, most: Micros },
    #[error(
        "what i may use in a day while you don't wait is used up ({spent} of {most} tokens). i go on tomorrow; `/config \
         daily_limit` and a higher one lets me go on today."
    )]
    Tokens { spent: u64, most: u64 },
    /// The rest is reserved for running calls. It is known when they have ended.
    #[error("what i may still use today may be used by what i am doing now.")]
    Reserved,
}

/// A call that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextCall {
    /// The vendor and its model id.
    pub model: String,
    /// The most tokens of its prompt.
    pub max_input: u64,
    pub concurrency: CallConcurrency,
}

/// Whether unattended calls run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallConcurrency {
    /// Other calls may run.
    Concurrent,
    /// No other call runs.
    Exclusive,
    /// The limit does not apply, because the user waits after all.
    Attended,
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::super::CostSource;
    use super::*;

    fn account(attended: Attendance) -> Account {
        Account { source: CostSource::Routine("mail".to_owned()), attended }
    }

    /// E4: Attended work is never refused; unattended work stops at the first limit that is
    /// reached.
    #[test]
    fn unattended_work_stops_at_its_limit_and_attended_work_does_not() {
        let day = |cost: u64, tokens: u64| DaySpending {
            cost: Micros(cost),
            tokens,
            ..DaySpending::empty(date(2026, 11, 15))
        };
        let both = BudgetLimit { money: Some(Micros(100)), tokens: Some(1_000) };
        let check = |attended, day: DaySpending, limit: BudgetLimit, answer: Result<(), BudgetRefusal>| {
            assert_eq!(check_budget(&account(attended), &day, &limit), answer);
        };
        let money = BudgetRefusal::Money { spent: Micros(100), most: Micros(100) };
        let tokens = BudgetRefusal::Tokens { spent: 1_001, most: 1_000 };
        check(Attendance::Unattended, day(99, 999), both, Ok(()));
        check(Attendance::Unattended, day(100, 0), both, Err(money));
        check(Attendance::Unattended, day(0, 1_001), both, Err(tokens));
        check(Attendance::Unattended, day(u64::MAX, u64::MAX), BudgetLimit::default(), Ok(()));
        check(Attendance::Attended, day(u64::MAX, u64::MAX), both, Ok(()));
    }

    /// C4: A clock that moves back and forth keeps the sum of each date.
    #[test]
    fn each_date_keeps_its_own_spending() {
        let spent = DaySpending { cost: Micros(5), tokens: 7, ..DaySpending::empty(date(2026, 11, 15)) };
        let mut days = SpendingByDay::default();
        days.set(spent);
        assert_eq!(days.get(date(2026, 11, 16)), DaySpending::empty(date(2026, 11, 16)));
        days.set(days.get(date(2026, 11, 16)).plus(CallCost { cost: Micros(1), tokens: 1 }));
        assert_eq!(days.get(date(2026, 11, 15)), spent);
    }
}
