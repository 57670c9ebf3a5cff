//! The cost report: the spending of today, the last days, and by account.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::{ToSpan, Zoned};

use super::{BudgetLimit, DaySpending, Forecast, LedgerEntry, Micros};
use crate::conversation::{Branch, Usage};
use crate::turn::TurnId;

/// The total of some calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    pub calls: u64,
    /// The number of calls without a price.
    pub unpriced: u64,
    pub usage: Usage,
    /// The cost of the calls with a price.
    pub cost: Micros,
}

impl Total {
    /// Returns the share of prompt tokens that came from the cache, in percent; `None` without
    /// prompt tokens.
    pub fn cached_percent(&self) -> Option<u64> {
        let Usage { input, cache_read, cache_write, .. } = self.usage;
        let read = input + cache_read + cache_write;
        (read > 0).then(|| cache_read * 100 / read)
    }

    pub fn add(&mut self, spent: &LedgerEntry) {
        self.calls += 1;
        self.usage += spent.call.usage;
        match spent.cost {
            Some(cost) => self.cost += cost,
            None => self.unpriced += 1,
        }
    }
}

/// The spending up to a day.
#[derive(Clone, Debug, PartialEq)]
pub struct CostReport {
    /// The day of the report.
    pub date: Date,
    /// The number of days in the breakdown, today included.
    pub days: u16,
    pub today: Total,
    pub week: Total,
    pub month: Total,
    pub breakdown: CostBreakdown,
    /// The spending of unattended work today.
    pub unattended: DaySpending,
    /// Its limit.
    pub limit: BudgetLimit,
    pub forecast: Option<Forecast>,
}

/// The totals of the reported days by different keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CostBreakdown {
    pub sources: BTreeMap<String, Total>,
    pub models: BTreeMap<String, Total>,
    pub days: BTreeMap<Date, Total>,
    pub days_by_source: BTreeMap<(Date, String), Total>,
    /// The runs of each account: a branch for a background run, a turn on main.
    runs: BTreeMap<String, BTreeSet<(Branch, Option<TurnId>)>>,
}

/// The spans that are always reported.
const WEEK: u16 = 7;
const MONTH: u16 = 30;

impl CostReport {
    /// Creates an empty report as of `now` with a breakdown of the last `days`.
    pub fn new(now: &Zoned, days: u16, limit: BudgetLimit) -> Self {
        let date = now.date();
        let (today, week, month) = Default::default();
        Self {
            date,
            days: days.max(1),
            today,
            week,
            month,
            breakdown: CostBreakdown::default(),
            unattended: DaySpending::empty(date),
            limit,
            forecast: None,
        }
    }

    /// Returns the first day that is needed.
    pub fn first_day(&self) -> Date {
        self.first_of_last(self.days.max(MONTH))
    }

    /// Adds `spent`, which was on `date` in the user's zone.
    pub fn add(&mut self, spent: &LedgerEntry, date: Date) {
        if date == self.date {
            self.today.add(spent);
            self.unattended.add(spent);
        }
        if date >= self.first_of_last(WEEK) {
            self.week.add(spent);
        }
        if date >= self.first_of_last(MONTH) {
            self.month.add(spent);
        }
        if date >= self.first_of_last(self.days) {
            self.breakdown.add(spent, date);
        }
    }

    /// Returns the money and the tokens that unattended work may still use today.
    pub fn remaining(&self) -> (Option<Micros>, Option<u64>) {
        let DaySpending { cost, tokens, .. } = self.unattended;
        let money = self.limit.money.map(|most| most.minus(cost));
        (money, self.limit.tokens.map(|most| most.saturating_sub(tokens)))
    }

    /// Returns the first of the last `days`.
    fn first_of_last(&self, days: u16) -> Date {
        self.date.saturating_sub((i64::from(days) - 1).days())
    }
}

impl CostBreakdown {
    /// Returns the number of runs on the account `name`, or of answers for a conversation.
    pub fn runs_of(&self, name: &str) -> u64 {
        self.runs.get(name).map_or(0, |runs| runs.len() as u64)
    }

    fn add(&mut self, spent: &LedgerEntry, date: Date) {
        self.sources.entry(spent.account.source.to_string()).or_default().add(spent);
        self.models.entry(spent.call.model.clone()).or_default().add(spent);
        self.days.entry(date).or_default().add(spent);
        let source = spent.account.source.to_string();
        let turn = match spent.branch {
            Branch::Main => Some(spent.turn),
            Branch::Fork(_) => None,
        };
        self.runs.entry(source.clone()).or_default().insert((spent.branch.clone(), turn));
        self.days_by_source.entry((date, source)).or_default().add(spent);
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::{Account, Attendance, CostSource, ModelCall};
    use super::*;

    fn spent(model: &str, account: Account, cost: Option<u64>) -> LedgerEntry {
        let usage = Usage { input: 10, cache_read: 30, cache_write: 0, cache_write_1h: 0, output: 5 };
        LedgerEntry {
            at: Timestamp::UNIX_EPOCH,
            branch: Branch::Main,
            turn: TurnId(1),
            account,
            call: ModelCall { model: model.to_owned(), usage },
            cost: cost.map(Micros),
        }
    }

    fn main() -> Account {
        Account::answer_on(&Branch::Main)
    }

    fn routine() -> Account {
        Account { source: CostSource::Routine("mail".to_owned()), attended: Attendance::Unattended }
    }

    fn report(days: u16) -> CostReport {
        let now: Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
        let limit = BudgetLimit { money: Some(Micros(100)), tokens: None };
        let mut report = CostReport::new(&now, days, limit);
        for (date, spent) in [
            ("2026-11-15", spent("a:x", main(), Some(7))),
            ("2026-11-15", spent("b:y", routine(), Some(30))),
            ("2026-11-09", spent("a:x", main(), None)),
            ("2026-11-08", spent("a:x", main(), Some(1))),
            ("2026-10-17", spent("a:x", main(), Some(1))),
            ("2026-10-16", spent("a:x", main(), Some(1))),
        ] {
            report.add(&spent, date.parse().unwrap());
        }
        report
    }

    #[test]
    fn totals_count_whole_days_and_calls_without_price() {
        let report = report(1);
        let seen = |total: Total| (total.calls, total.unpriced, total.cost.0);
        assert_eq!(seen(report.today), (2, 0, 37));
        assert_eq!(seen(report.week), (3, 1, 37));
        assert_eq!(seen(report.month), (5, 1, 39));
        assert_eq!(report.today.cached_percent(), Some(75));
        assert_eq!(Total::default().cached_percent(), None);
        assert_eq!(report.first_day(), "2026-10-17".parse().unwrap());
    }

    #[test]
    fn breakdown_covers_the_requested_days() {
        let names =
            |days| report(days).breakdown.sources.into_iter().map(|(name, total)| (name, total.calls));
        assert_eq!(names(1).collect::<Vec<_>>(), [("main".to_owned(), 1), ("routine:mail".to_owned(), 1)]);
        assert_eq!(names(31).collect::<Vec<_>>(), [("main".to_owned(), 5), ("routine:mail".to_owned(), 1)]);
        assert_eq!(report(2).breakdown.days.len(), 1);
        assert_eq!(report(31).breakdown.models.len(), 2);
        let of = report(1).breakdown.days_by_source;
        let of: Vec<_> = of.iter().map(|((_, name), total)| (name.as_str(), total.cost.0)).collect();
        assert_eq!(of, [("main", 7), ("routine:mail", 30)], "a day is told apart by account");
    }

    /// A background run counts once however many calls it makes; on main each answer counts.
    #[test]
    fn runs_are_counted_apart_from_calls() {
        let mut report = report(1);
        let date = report.date;
        for (turn, branch) in [(1, None), (2, None), (2, None), (3, Some("mail-1")), (4, Some("mail-1"))] {
            let (branch, account) = match branch {
                Some(name) => (Branch::fork(name).unwrap(), routine()),
                None => (Branch::Main, main()),
            };
            report.add(&LedgerEntry { branch, turn: TurnId(turn), ..spent("a:x", account, None) }, date);
        }
        let runs = |name| {
            (report.breakdown.sources.get(name).map(|total| total.calls), report.breakdown.runs_of(name))
        };
        assert_eq!(runs("main"), (Some(4), 2));
        assert_eq!(runs("routine:mail"), (Some(3), 2), "one of them ran on main");
        assert_eq!(runs("nobody"), (None, 0));
    }

    #[test]
    fn remaining_budget_counts_only_unattended_work() {
        assert_eq!(report(1).remaining(), (Some(Micros(70)), None));
    }
}
