//! The daily limit for work that nobody waits for.
//!
//! It is asked before every call. A call that goes on counts with the most that it can use, so that calls at the same time
//! do not pass the limit together: the day ends at most one call above it.

use jiff::civil::Date;
use rpds::RedBlackTreeMapSync;

use super::{Account, Attended, Micros, Spent};

/// What unattended work may cost in a day; nothing is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// In money.
    pub money: Option<Micros>,
    /// In tokens that were not read from the cache.
    pub tokens: Option<u64>,
}

/// What unattended work used on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    /// The day, where the human lives.
    pub date: Date,
    /// The money.
    pub cost: Micros,
    /// The tokens that were not read from the cache.
    pub tokens: u64,
}

impl Day {
    /// A day on which nothing was used.
    pub fn fresh(date: Date) -> Self {
        Self { date, cost: Micros::default(), tokens: 0 }
    }

    /// Counts `spent`, if nobody waited for it.
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

    /// The day as it is when so much more was used.
    #[must_use]
    pub fn and(self, more: Most) -> Self {
        let Most { cost, tokens } = Most { cost: self.cost, tokens: self.tokens }.and(more);
        Self { cost, tokens, ..self }
    }
}

/// The most that a call can use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Most {
    /// The money; nothing, if nobody knows the price.
    pub cost: Micros,
    /// The tokens that are not read from the cache.
    pub tokens: u64,
}

impl Most {
    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.cost += other.cost;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self
    }

    /// What is left of it without `other`.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self { cost: self.cost.less(other.cost), tokens: self.tokens.saturating_sub(other.tokens) }
    }
}

/// What unattended work used, by the day. A clock that is set does not give a day its limit again: each has its own sum,
/// whichever comes first. Copies share what did not change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Days(RedBlackTreeMapSync<Date, Day>);

impl Days {
    /// The day `date`.
    pub fn on(&self, date: Date) -> Day {
        self.0.get(&date).copied().unwrap_or_else(|| Day::fresh(date))
    }

    /// From now on this is what is known of its date.
    pub fn put(&mut self, day: Day) {
        self.0.insert_mut(day.date, day);
    }
}

/// Before the first word of a day is known, there was no day.
impl Default for Day {
    fn default() -> Self {
        Self::fresh(Date::ZERO)
    }
}

/// Whether `account` may make one more call on this `day`.
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

/// Why not. The human must act, or wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The money of the day is gone.
    #[error(
        "what i may spend in a day while you don't wait is spent ({spent} of {most}). i go on tomorrow; `/config \
         daily_limit` and a higher one lets me go on today."
    )]
    Money {
        /// What was spent.
        spent: Micros,
        /// The limit.
        most: Micros,
    },
    /// The tokens of the day are gone.
    #[error(
        "what i may use in a day while you don't wait is used up ({spent} of {most} tokens). i go on tomorrow; `/config \
         daily_limit` and a higher one lets me go on today."
    )]
    Tokens {
        /// What was used.
        spent: u64,
        /// The limit.
        most: u64,
    },
    /// What is left may go to calls that go on now: when they have ended, one knows.
    #[error("what i may still use today may be used by what i am doing now.")]
    Taken,
}

/// A call of the model that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// Who would answer: the vendor, and its id of the model.
    pub model: String,
    /// The most tokens that it reads.
    pub read: u64,
    /// Whether others go on meanwhile.
    pub pace: Pace,
}

/// Whether calls that nobody waits for go on beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Others may go on.
    Beside,
    /// None does.
    Alone,
    /// It does not matter: somebody waits for it after all.
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

    /// E4: whoever is waited for is never refused; the rest stops at whichever limit is reached first.
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

    /// C4: a clock that goes to and fro finds each day as it left it.
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
