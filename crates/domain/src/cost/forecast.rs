//! Forecasts the cost of today and this month.
//!
//! A routine is expected to cost its average per run for each planned run, limited by the daily
//! limit. All other spending is expected to equal the daily average.

use std::collections::BTreeMap;
use std::iter::Sum;

use jiff::ToSpan;

use super::{CostReport, Micros, Total, short_count};

/// The number of days that a report must cover for a forecast: the whole month, and thirty days.
pub const LOOKBACK_DAYS: u16 = 31;

/// The number of planned runs per day until the end of the month; today first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedTimes(Vec<u64>);

impl PlannedTimes {
    /// Adds a run that is planned this many days from today.
    pub fn add(&mut self, ahead: usize) {
        self.0.resize(self.0.len().max(ahead + 1), 0);
        self.0[ahead] += 1;
    }

    fn on_day(&self, ahead: usize) -> u64 {
        self.0.get(ahead).copied().unwrap_or_default()
    }

    fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Money and tokens, including tokens of calls without a price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub money: Micros,
    pub tokens: u64,
    /// Tokens that were not read from the cache.
    pub uncached: u64,
}

impl Amount {
    fn from_total(total: &Total) -> Self {
        Self { money: total.cost, tokens: total.usage.total(), uncached: total.usage.uncached() }
    }

    fn map(self, change: impl Fn(u64) -> u64) -> Self {
        Self {
            money: Micros(change(self.money.0)),
            tokens: change(self.tokens),
            uncached: change(self.uncached),
        }
    }

    fn multiply(self, count: u64) -> Self {
        self.map(|part| part.saturating_mul(count))
    }

    /// Returns the fraction `part` of `whole`.
    fn fraction(self, part: u64, whole: u64) -> Self {
        let share = |all: u64| (u128::from(all) * u128::from(part)).checked_div(u128::from(whole));
        self.map(|all| u64::try_from(share(all).unwrap_or_default()).unwrap_or(u64::MAX))
    }

    /// Returns the rest after `spent`.
    fn minus(self, spent: Self) -> Self {
        let tokens = self.tokens.saturating_sub(spent.tokens);
        let fresh = self.uncached.saturating_sub(spent.uncached);
        Self { money: self.money.minus(spent.money), tokens, uncached: fresh }
    }

    /// Returns the part that the limits allow.
    fn limited_to(self, (money, tokens): (Option<Micros>, Option<u64>)) -> Self {
        let paid = match money {
            Some(most) if most < self.money => self.fraction(most.0, self.money.0),
            Some(_) | None => self,
        };
        match tokens {
            Some(most) if most < paid.uncached => paid.fraction(most, paid.uncached),
            Some(_) | None => paid,
        }
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), |mut sum, next| {
            sum.money += next.money;
            sum.tokens = sum.tokens.saturating_add(next.tokens);
            sum.uncached = sum.uncached.saturating_add(next.uncached);
            sum
        })
    }
}

/// The expected spending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// At the end of today.
    pub today: Amount,
    /// At the end of the month.
    pub month: Amount,
    /// The average per day without routines.
    pub per_day: Amount,
    /// The number of planned runs until the end of the month, of routines that ran before.
    pub runs: u64,
    /// The number of planned routines that never ran; their cost is unknown.
    pub unrun: u64,
    /// The number of days before today that the average covers.
    pub days: u16,
    /// The number of calls, and of calls without a price.
    pub calls: (u64, u64),
    /// True if the daily limit allows less than is planned.
    pub limited: bool,
}

impl CostReport {
    /// Returns the forecast for the planned runs of each account; `None` before a whole day has
    /// passed.
    pub fn compute_forecast(&self, planned: &BTreeMap<String, PlannedTimes>) -> Option<Forecast> {
        let first = self.breakdown.days.keys().next().filter(|day| **day < self.date)?;
        let days = u16::try_from(first.until(self.date).ok()?.get_days()).ok()?.clamp(1, LOOKBACK_DAYS);
        let per_day =
            self.spent_besides_routines(planned, |day| day < self.date).fraction(1, u64::from(days));
        let rest = per_day.minus(self.spent_besides_routines(planned, |day| day == self.date));
        let known = |name: &str| self.breakdown.runs_of(name) > 0;
        let wanted = |ahead: usize| -> Amount {
            planned.iter().map(|(name, times)| self.cost_per_run(name).multiply(times.on_day(ahead))).sum()
        };
        let ahead = usize::try_from(self.date.last_of_month().day() - self.date.day()).unwrap_or_default();
        let limit = (self.limit.money, self.limit.tokens);
        let today = Amount::from_total(&self.today);
        let runs_today = wanted(0).limited_to(self.remaining());
        let runs_later: Amount = (1..=ahead).map(|ahead| wanted(ahead).limited_to(limit)).sum();
        let limited = runs_today != wanted(0) || runs_later != (1..=ahead).map(wanted).sum::<Amount>();
        let totals = || self.breakdown.days.values();
        Some(Forecast {
            today: [today, rest, runs_today].into_iter().sum(),
            month: [self.this_month(), rest, runs_today, per_day.multiply(ahead as u64), runs_later]
                .into_iter()
                .sum(),
            per_day,
            runs: planned.iter().filter(|(name, _)| known(name)).map(|(_, times)| times.total()).sum(),
            unrun: planned.iter().filter(|(name, times)| !known(name) && times.total() > 0).count() as u64,
            days,
            calls: (totals().map(|total| total.calls).sum(), totals().map(|total| total.unpriced).sum()),
            limited,
        })
    }

    /// Returns the spending without routines on the `wanted` days.
    fn spent_besides_routines(
        &self,
        planned: &BTreeMap<String, PlannedTimes>,
        wanted: impl Fn(jiff::civil::Date) -> bool,
    ) -> Amount {
        let is_planned = |name: &str| planned.contains_key(name) || name.starts_with("routine:");
        let rows = self.breakdown.days_by_source.iter();
        rows.filter(|((day, name), _)| wanted(*day) && !is_planned(name))
            .map(|(_, total)| Amount::from_total(total))
            .sum()
    }

    /// Returns the average cost of a run on the account `name`.
    fn cost_per_run(&self, name: &str) -> Amount {
        let all = self.breakdown.sources.get(name).map(Amount::from_total).unwrap_or_default();
        all.fraction(1, self.breakdown.runs_of(name))
    }

    fn this_month(&self) -> Amount {
        let first = self.date.saturating_sub((i64::from(self.date.day()) - 1).days());
        self.breakdown.days.range(first..).map(|(_, total)| Amount::from_total(total)).sum()
    }
}

impl Forecast {
    /// Returns the forecast and its basis as text.
    pub fn summary(&self) -> String {
        let days =
            if self.days == 1 { "yesterday".to_owned() } else { format!("the last {} days", self.days) };
        let runs = if self.runs == 1 { "run" } else { "runs" };
        let runs = format!("{} planned {runs}", self.runs);
        let today = self.amount_text(self.today);
        let month = self.amount_text(self.month);
        let a_day = self.amount_text(self.per_day);
        let sum = format!(
            "forecast: about {today} today, about {month} this month. that is {a_day} a day as in {days}, and {runs} at \
             what one of each cost so far."
        );
        let limited = self.limited.then(|| "work nobody waits for stops at its limit of the day.".to_owned());
        let parts = [Some(sum), limited, self.unpriced(), self.unrun()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Formats an amount; in tokens if no call has a price.
    fn amount_text(&self, amount: Amount) -> String {
        match self.calls {
            (calls, unpriced) if calls == unpriced => format!("{} tokens", short_count(amount.tokens)),
            _ => amount.money.to_string(),
        }
    }

    fn unpriced(&self) -> Option<String> {
        match self.calls {
            (_, 0) => None,
            (calls, unpriced) if calls == unpriced => Some("no call had a price.".to_owned()),
            (_, 1) => Some("that is without 1 call that has no price.".to_owned()),
            (_, unpriced) => Some(format!("that is without {unpriced} calls that have no price.")),
        }
    }

    fn unrun(&self) -> Option<String> {
        match self.unrun {
            0 => None,
            1 => Some(format!("1 routine has not run in the last {LOOKBACK_DAYS} days, so it is not in it.")),
            unrun => Some(format!(
                "{unrun} routines have not run in the last {LOOKBACK_DAYS} days, so they are not in it."
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, Zoned};

    use super::super::{Account, Attendance, BudgetLimit, CostSource, LedgerEntry, ModelCall};
    use super::*;
    use crate::conversation::{Branch, Usage};
    use crate::turn::TurnId;

    fn spent(source: CostSource, branch: &str, cost: Option<u64>) -> LedgerEntry {
        let branch = if branch == "main" { Branch::Main } else { Branch::fork(branch).unwrap() };
        let call = ModelCall {
            model: "m".to_owned(),
            usage: Usage { input: 1_000, cache_read: 1_000, ..Usage::default() },
        };
        let account = Account { source, attended: Attendance::Unattended };
        LedgerEntry {
            at: Timestamp::UNIX_EPOCH,
            branch,
            turn: TurnId(1),
            account,
            call,
            cost: cost.map(Micros),
        }
    }

    fn mail() -> CostSource {
        CostSource::Routine("mail".to_owned())
    }

    /// Returns this many planned runs on each day.
    fn times(days: &[usize]) -> PlannedTimes {
        let mut times = PlannedTimes::default();
        for (ahead, count) in days.iter().enumerate() {
            (0..*count).for_each(|_| times.add(ahead));
        }
        times
    }

    fn report(limit: BudgetLimit, rows: &[(&str, CostSource, &str, Option<u64>)]) -> CostReport {
        let now: Zoned = "2026-11-20T12:00[Europe/Madrid]".parse().unwrap();
        let mut report = CostReport::new(&now, LOOKBACK_DAYS, limit);
        for (date, source, branch, cost) in rows {
            report.add(&spent(source.clone(), branch, *cost), date.parse().unwrap());
        }
        report
    }

    /// Planned runs cost their average, and other spending the daily average.
    #[test]
    fn forecast_uses_schedule_and_average() {
        assert_eq!(
            report(BudgetLimit::default(), &[]).compute_forecast(&BTreeMap::new()),
            None,
            "nothing is known yet"
        );
        let gone = CostSource::Routine("gone".to_owned());
        let report = report(
            BudgetLimit::default(),
            &[
                ("2026-11-10", CostSource::Main, "main", Some(900)),
                ("2026-11-15", CostSource::Main, "main", Some(100)),
                ("2026-11-15", mail(), "mail-1", Some(30)),
                ("2026-11-15", mail(), "mail-1", Some(30)),
                ("2026-11-16", mail(), "mail-2", Some(40)),
                ("2026-11-17", gone, "gone-1", Some(7)),
                ("2026-11-20", CostSource::Main, "main", Some(40)),
            ],
        );
        let planned = BTreeMap::from([("routine:mail".to_owned(), times(&[1; 11]))]);
        let seen = report.compute_forecast(&planned).unwrap();
        // Ten days with 100 each; a run of mail costs 50; 40 of 100 are spent today, and one run is
        // to come.
        assert_eq!((seen.days, seen.per_day.money, seen.runs), (10, Micros(100), 11));
        assert_eq!(seen.today.money, Micros(40 + 60 + 50));
        let until_now = 900 + 100 + 60 + 40 + 7 + 40;
        assert_eq!(seen.month.money, Micros(until_now + 60 + 10 * 100 + 11 * 50));
        assert!(
            seen.summary()
                .ends_with("as in the last 10 days, and 11 planned runs at what one of each cost so far."),
            "{}",
            seen.summary()
        );
    }

    /// E4: Routines stop at the limit, so no day is expected to exceed it.
    #[test]
    fn no_forecast_day_exceeds_the_limit() {
        let limit = BudgetLimit { money: Some(Micros(100)), tokens: None };
        let report = report(
            limit,
            &[("2026-11-19", mail(), "mail-1", Some(50)), ("2026-11-20", mail(), "mail-2", Some(50))],
        );
        // 50 of 100 are left today; four runs tomorrow need 200 and get 100; one run on the day
        // after gets its 50.
        let planned = BTreeMap::from([("routine:mail".to_owned(), times(&[3, 4, 1]))]);
        let seen = report.compute_forecast(&planned).unwrap();
        assert_eq!((seen.today.money, seen.month.money), (Micros(50 + 50), Micros(100 + 50 + 100 + 50)));
        assert!(
            seen.summary().ends_with("work nobody waits for stops at its limit of the day."),
            "{}",
            seen.summary()
        );

        let tokens = CostReport { limit: BudgetLimit { money: None, tokens: Some(2_000) }, ..report.clone() };
        let seen = tokens.compute_forecast(&planned).unwrap();
        assert_eq!(seen.today.money, Micros(50 + 50), "1,000 of the tokens are left, which is one run");
        let free = CostReport { limit: BudgetLimit::default(), ..report };
        assert_eq!(free.compute_forecast(&planned).unwrap().today.money, Micros(50 + 150));
    }

    /// Spending without a price is shown in tokens or counted, and routines that never ran are
    /// named.
    #[test]
    fn forecast_names_unknown_costs() {
        let new = ("routine:new".to_owned(), times(&[0, 1]));
        let paused = ("routine:paused".to_owned(), times(&[]));
        let planned = BTreeMap::from([("routine:mail".to_owned(), times(&[1])), new, paused]);
        let unpriced = ("2026-11-19", mail(), "mail-1", None);
        let none = report(BudgetLimit::default(), std::slice::from_ref(&unpriced))
            .compute_forecast(&planned)
            .unwrap()
            .summary();
        assert_eq!(
            none,
            "forecast: about 2.0k tokens today, about 4.0k tokens this month. that is 0 tokens a day as in yesterday, and \
             1 planned run at what one of each cost so far. no call had a price. 1 routine has not run in the last 31 \
             days, so it is not in it."
        );
        let some = [unpriced, ("2026-11-19", CostSource::Main, "main", Some(10_000))];
        let some = report(BudgetLimit::default(), &some).compute_forecast(&planned).unwrap().summary();
        assert!(some.contains("about $0.01 today"), "{some}");
        assert!(
            some.contains("without 1 call that has no price. 1 routine has not run in the last"),
            "{some}"
        );
    }
}
