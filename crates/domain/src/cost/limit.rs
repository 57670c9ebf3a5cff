//! The daily limit of unattended work.
//!
//! It is checked before every call. A running call counts with the most that it can use, so that
//! concurrent calls do not exceed the limit together: a day ends at most one call above it.

use jiff::civil::Date;
use rpds::RedBlackTreeMapSync;

use super::{Account, Attended, Micros, Spent};

/// The limit of unattended work per day; `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    pub money: Option<Micros>,
    /// In tokens that are not read from the cache.
    pub tokens: Option<u64>,
}

/// The spending of unattended work on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    /// The date in the user's zone.
    pub date: Date,
    pub cost: Micros,
    /// The tokens that were not read from the cache.
    pub tokens: u64,
}

impl Day {
    pub fn fresh(date: Date) -> Self {
        Self { date, cost: Micros::default(), tokens: 0 }
    }

    /// Adds `spent` if it is unattended.
    pub fn count(&mut self, spent: &Spent) {
        match spent.account.attended {
            Attended::Waited => {}
            Attended::Unattended => {
                let cost = spent.cost.unwrap_or_default();
                let tokens = spent.call.usage.fresh();
                *self = self.and(Most { cost, tokens });
            }
        }
    }

    /// Returns the day with `more` added.
    #[must_use]
    pub fn and(self, more: Most) -> Self {
        let Most { cost, tokens } = Most { cost: self.cost, tokens: self.tokens }.and(more);
        Self { cost, tokens, ..self }
    }
}

/// The cost of calls, or an upper bound of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Most {
    /// The money; zero if the price is unknown.
    pub cost: Micros,
    /// The tokens that are not read from the cache.
    pub tokens: u64,
}

impl Most {
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.cost += other.cost;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self
    }

    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self { cost: self.cost.less(other.cost), tokens: self.tokens.saturating_sub(other.tokens) }
    }
}

/// The spending of unattended work by date. Each date has its own sum, so a changed clock does not
/// reset a limit. Copies share unchanged parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Days(RedBlackTreeMapSync<Date, Day>);

impl Days {
    pub fn on(&self, date: Date) -> Day {
        self.0.get(&date).copied().unwrap_or_else(|| Day::fresh(date))
    }

    pub fn put(&mut self, day: Day) {
        self.0.insert_mut(day.date, day);
    }
}

/// A placeholder before the first day is known.
impl Default for Day {
    fn default() -> Self {
        Self::fresh(Date::ZERO)
    }
}

/// Checks whether `account` may make another call on this `day`.
pub fn may_spend(account: &Account, day: &Day, limit: &Limit) -> Result<(), Refusal> {
    match account.attended {
        Attended::Waited => return Ok(()),
        Attended::Unattended => {}
    }
    if let Some(most) = limit.money.filter(|most| day.cost >= *most) {
        return Err(Refusal::Money { spent: day.cost, most });
    }
    if let Some(most) = limit.tokens.filter(|most| day.tokens >= *most) {
        return Err(Refusal::Tokens { spent: day.tokens, most });
    }
    Ok(())
}

/// The reason of a refused call. The user must act, or wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
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
    Taken,
}

/// A call that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The vendor and its model id.
    pub model: String,
    /// The most tokens of its prompt.
    pub read: u64,
    pub pace: Pace,
}

/// Whether unattended calls run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Other calls may run.
    Beside,
    /// No other call runs.
    Alone,
    /// The limit does not apply, because the user waits after all.
    Hurried,
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::super::Source;
    use super::*;

    fn account(attended: Attended) -> Account {
        Account { source: Source::Routine("mail".to_owned()), attended }
    }

    /// E4: Attended work is never refused; unattended work stops at the first limit that is
    /// reached.
    #[test]
    fn unattended_work_stops_at_its_limit_and_a_waiting_human_never_meets_it() {
        let day =
            |cost: u64, tokens: u64| Day { cost: Micros(cost), tokens, ..Day::fresh(date(2026, 11, 15)) };
        let both = Limit { money: Some(Micros(100)), tokens: Some(1_000) };
        let check = |attended, day: Day, limit: Limit, answer: Result<(), Refusal>| {
            assert_eq!(may_spend(&account(attended), &day, &limit), answer);
        };
        let money = Refusal::Money { spent: Micros(100), most: Micros(100) };
        let tokens = Refusal::Tokens { spent: 1_001, most: 1_000 };
        check(Attended::Unattended, day(99, 999), both, Ok(()));
        check(Attended::Unattended, day(100, 0), both, Err(money));
        check(Attended::Unattended, day(0, 1_001), both, Err(tokens));
        check(Attended::Unattended, day(u64::MAX, u64::MAX), Limit::default(), Ok(()));
        check(Attended::Waited, day(u64::MAX, u64::MAX), both, Ok(()));
    }

    /// C4: A clock that moves back and forth keeps the sum of each date.
    #[test]
    fn a_new_day_begins_with_nothing_spent_and_an_old_one_as_it_was() {
        let spent = Day { cost: Micros(5), tokens: 7, ..Day::fresh(date(2026, 11, 15)) };
        let mut days = Days::default();
        days.put(spent);
        assert_eq!(days.on(date(2026, 11, 16)), Day::fresh(date(2026, 11, 16)));
        days.put(days.on(date(2026, 11, 16)).and(Most { cost: Micros(1), tokens: 1 }));
        assert_eq!(days.on(date(2026, 11, 15)), spent);
    }
}
