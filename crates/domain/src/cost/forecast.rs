//! Forecasts the cost of today and this month.
//!
//! A routine is expected to cost its average per run for each planned run, limited by the daily
//! limit. All other spending is expected to equal the daily average.

use std::collections::BTreeMap;
use std::iter::Sum;

use jiff::ToSpan;

use super::{Micros, Report, Total, short};

/// The number of days that a report must cover for a forecast: the whole month, and thirty days.
pub const LOOKS_BACK: u16 = 31;

/// The number of planned runs per day until the end of the month; today first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times(Vec<u64>);

impl Times {
    /// Adds a run that is planned this many days from today.
    pub fn add(&mut self, ahead: usize) {
        self.0.resize(self.0.len().max(ahead + 1), 0);
        self.0[ahead] += 1;
    }

    fn on(&self, ahead: usize) -> u64 {
        self.0.get(ahead).copied().unwrap_or_default()
    }

    fn all(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Money and tokens, including tokens of calls without a price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub money: Micros,
    pub tokens: u64,
    /// Tokens that were not read from the cache.
    pub fresh: u64,
}

impl Amount {
    fn of(total: &Total) -> Self {
        Self { money: total.cost, tokens: total.usage.held(), fresh: total.usage.fresh() }
    }

    fn each(self, change: impl Fn(u64) -> u64) -> Self {
        Self { money: Micros(change(self.money.0)), tokens: change(self.tokens), fresh: change(self.fresh) }
    }

    fn times(self, count: u64) -> Self {
        self.each(|part| part.saturating_mul(count))
    }

    /// Returns the fraction `part` of `whole`.
    fn share(self, part: u64, whole: u64) -> Self {
        let share = |all: u64| (u128::from(all) * u128::from(part)).checked_div(u128::from(whole));
        self.each(|all| u64::try_from(share(all).unwrap_or_default()).unwrap_or(u64::MAX))
    }

    /// Returns the rest after `spent`.
    fn less(self, spent: Self) -> Self {
        let tokens = self.tokens.saturating_sub(spent.tokens);
        let fresh = self.fresh.saturating_sub(spent.fresh);
        Self { money: self.money.less(spent.money), tokens, fresh }
    }

    /// Returns the part that the limits allow.
    fn within(self, (money, tokens): (Option<Micros>, Option<u64>)) -> Self {
        let paid = match money {
            Some(most) if most < self.money => self.share(most.0, self.money.0),
            Some(_) | None => self,
        };
        match tokens {
            Some(most) if most < paid.fresh => paid.share(most, paid.fresh),
            Some(_) | None => paid,
        }
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), |mut sum, next| {
            sum.money += next.money;
            sum.tokens = sum.tokens.saturating_add(next.tokens);
            sum.fresh = sum.fresh.saturating_add(next.fresh);
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
    pub a_day: Amount,
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

impl Report {
    /// Returns the forecast for the planned runs of each account; `None` before a whole day has
    /// passed.
    pub fn foresee(&self, planned: &BTreeMap<String, Times>) -> Option<Forecast> {
        let first = self.lists.days.keys().next().filter(|day| **day < self.date)?;
        let days = u16::try_from(first.until(self.date).ok()?.get_days()).ok()?.clamp(1, LOOKS_BACK);
        let a_day = self.besides(planned, |day| day < self.date).share(1, u64::from(days));
        let rest = a_day.less(self.besides(planned, |day| day == self.date));
        let known = |name: &str| self.lists.runs_of(name) > 0;
        let wanted = |ahead: usize| -> Amount {
            planned.iter().map(|(name, times)| self.a_run(name).times(times.on(ahead))).sum()
        };
        let ahead = usize::try_from(self.date.last_of_month().day() - self.date.day()).unwrap_or_default();
        let limit = (self.limit.money, self.limit.tokens);
        let today = Amount::of(&self.today);
        let runs_today = wanted(0).within(self.left());
        let runs_later: Amount = (1..=ahead).map(|ahead| wanted(ahead).within(limit)).sum();
        let limited = runs_today != wanted(0) || runs_later != (1..=ahead).map(wanted).sum::<Amount>();
        let totals = || self.lists.days.values();
        Some(Forecast {
            today: [today, rest, runs_today].into_iter().sum(),
            month: [self.this_month(), rest, runs_today, a_day.times(ahead as u64), runs_later]
                .into_iter()
                .sum(),
            a_day,
            runs: planned.iter().filter(|(name, _)| known(name)).map(|(_, times)| times.all()).sum(),
            unrun: planned.iter().filter(|(name, times)| !known(name) && times.all() > 0).count() as u64,
            days,
            calls: (totals().map(|total| total.calls).sum(), totals().map(|total| total.unpriced).sum()),
            limited,
        })
    }

    /// Returns the spending without routines on the `wanted` days.
    fn besides(
        &self,
        planned: &BTreeMap<String, Times>,
        wanted: impl Fn(jiff::civil::Date) -> bool,
    ) -> Amount {
        let is_planned = |name: &str| planned.contains_key(name) || name.starts_with("routine:");
        let rows = self.lists.days_of.iter();
        rows.filter(|((day, name), _)| wanted(*day) && !is_planned(name))
            .map(|(_, total)| Amount::of(total))
            .sum()
    }

    /// Returns the average cost of a run on the account `name`.
    fn a_run(&self, name: &str) -> Amount {
        let all = self.lists.sources.get(name).map(Amount::of).unwrap_or_default();
        all.share(1, self.lists.runs_of(name))
    }

    fn this_month(&self) -> Amount {
        let first = self.date.saturating_sub((i64::from(self.date.day()) - 1).days());
        self.lists.days.range(first..).map(|(_, total)| Amount::of(total)).sum()
    }
}

impl Forecast {
    /// Returns the forecast and its basis as text.
    pub fn tell(&self) -> String {
        let days =
            if self.days == 1 { "yesterday".to_owned() } else { format!("the last {} days", self.days) };
        let runs = if self.runs == 1 { "run" } else { "runs" };
        let runs = format!("{} planned {runs}", self.runs);
        let today = self.about(self.today);
        let month = self.about(self.month);
        let a_day = self.about(self.a_day);
        let sum = format!(
            "forecast: about {today} today, about {month} this month. that is {a_day} a day as in {days}, and {runs} at \
             what one of each cost so far."
        );
        let limited = self.limited.then(|| "work nobody waits for stops at its limit of the day.".to_owned());
        let parts = [Some(sum), limited, self.unpriced(), self.unrun()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Formats an amount; in tokens if no call has a price.
    fn about(&self, amount: Amount) -> String {
        match self.calls {
            (calls, unpriced) if calls == unpriced => format!("{} tokens", short(amount.tokens)),
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
            1 => Some(format!("1 routine has not run in the last {LOOKS_BACK} days, so it is not in it.")),
            unrun => Some(format!(
                "{unrun} routines have not run in the last {LOOKS_BACK} days, so they are not in it."
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, Zoned};

    use super::super::{Account, Attended, Call, Limit, Source, Spent};
    use super::*;
    use crate::conversation::{Branch, Usage};
    use crate::turn::TurnId;

    fn spent(source: Source, branch: &str, cost: Option<u64>) -> Spent {
        let branch = if branch == "main" { Branch::Main } else { Branch::fork(branch).unwrap() };
        let call = Call {
            model: "m".to_owned(),
            usage: Usage { input: 1_000, cache_read: 1_000, ..Usage::default() },
        };
        let account = Account { source, attended: Attended::Unattended };
        Spent { at: Timestamp::UNIX_EPOCH, branch, turn: TurnId(1), account, call, cost: cost.map(Micros) }
    }

    fn mail() -> Source {
        Source::Routine("mail".to_owned())
    }

    /// Returns this many planned runs on each day.
    fn times(days: &[usize]) -> Times {
        let mut times = Times::default();
        for (ahead, count) in days.iter().enumerate() {
            (0..*count).for_each(|_| times.add(ahead));
        }
        times
    }

    fn report(limit: Limit, rows: &[(&str, Source, &str, Option<u64>)]) -> Report {
        let now: Zoned = "2026-11-20T12:00[Europe/Madrid]".parse().unwrap();
        let mut report = Report::new(&now, LOOKS_BACK, limit);
        for (date, source, branch, cost) in rows {
            report.add(&spent(source.clone(), branch, *cost), date.parse().unwrap());
        }
        report
    }

    /// Planned runs cost their average, and other spending the daily average.
    #[test]
    fn the_forecast_follows_from_the_schedule_and_the_average() {
        assert_eq!(report(Limit::default(), &[]).foresee(&BTreeMap::new()), None, "nothing is known yet");
        let gone = Source::Routine("gone".to_owned());
        let report = report(
            Limit::default(),
            &[
                ("2026-11-10", Source::Main, "main", Some(900)),
                ("2026-11-15", Source::Main, "main", Some(100)),
                ("2026-11-15", mail(), "mail-1", Some(30)),
                ("2026-11-15", mail(), "mail-1", Some(30)),
                ("2026-11-16", mail(), "mail-2", Some(40)),
                ("2026-11-17", gone, "gone-1", Some(7)),
                ("2026-11-20", Source::Main, "main", Some(40)),
            ],
        );
        let planned = BTreeMap::from([("routine:mail".to_owned(), times(&[1; 11]))]);
        let seen = report.foresee(&planned).unwrap();
        // Ten days with 100 each; a run of mail costs 50; 40 of 100 are spent today, and one run is
        // to come.
        assert_eq!((seen.days, seen.a_day.money, seen.runs), (10, Micros(100), 11));
        assert_eq!(seen.today.money, Micros(40 + 60 + 50));
        let until_now = 900 + 100 + 60 + 40 + 7 + 40;
        assert_eq!(seen.month.money, Micros(until_now + 60 + 10 * 100 + 11 * 50));
        assert!(
            seen.tell()
                .ends_with("as in the last 10 days, and 11 planned runs at what one of each cost so far."),
            "{}",
            seen.tell()
        );
    }

    /// E4: Routines stop at the limit, so no day is expected to exceed it.
    #[test]
    fn no_day_is_foreseen_to_pass_its_limit() {
        let limit = Limit { money: Some(Micros(100)), tokens: None };
        let report = report(
            limit,
            &[("2026-11-19", mail(), "mail-1", Some(50)), ("2026-11-20", mail(), "mail-2", Some(50))],
        );
        // 50 of 100 are left today; four runs tomorrow need 200 and get 100; one run on the day
        // after gets its 50.
        let planned = BTreeMap::from([("routine:mail".to_owned(), times(&[3, 4, 1]))]);
        let seen = report.foresee(&planned).unwrap();
        assert_eq!((seen.today.money, seen.month.money), (Micros(50 + 50), Micros(100 + 50 + 100 + 50)));
        assert!(
            seen.tell().ends_with("work nobody waits for stops at its limit of the day."),
            "{}",
            seen.tell()
        );

        let tokens = Report { limit: Limit { money: None, tokens: Some(2_000) }, ..report.clone() };
        let seen = tokens.foresee(&planned).unwrap();
        assert_eq!(seen.today.money, Micros(50 + 50), "1,000 of the tokens are left, which is one run");
        let free = Report { limit: Limit::default(), ..report };
        assert_eq!(free.foresee(&planned).unwrap().today.money, Micros(50 + 150));
    }

    /// Spending without a price is shown in tokens or counted, and routines that never ran are
    /// named.
    #[test]
    fn the_forecast_says_what_it_does_not_know() {
        let new = ("routine:new".to_owned(), times(&[0, 1]));
        let paused = ("routine:paused".to_owned(), times(&[]));
        let planned = BTreeMap::from([("routine:mail".to_owned(), times(&[1])), new, paused]);
        let unpriced = ("2026-11-19", mail(), "mail-1", None);
        let none =
            report(Limit::default(), std::slice::from_ref(&unpriced)).foresee(&planned).unwrap().tell();
        assert_eq!(
            none,
            "forecast: about 2.0k tokens today, about 4.0k tokens this month. that is 0 tokens a day as in yesterday, and \
             1 planned run at what one of each cost so far. no call had a price. 1 routine has not run in the last 31 \
             days, so it is not in it."
        );
        let some = [unpriced, ("2026-11-19", Source::Main, "main", Some(10_000))];
        let some = report(Limit::default(), &some).foresee(&planned).unwrap().tell();
        assert!(some.contains("about $0.01 today"), "{some}");
        assert!(
            some.contains("without 1 call that has no price. 1 routine has not run in the last"),
            "{some}"
        );
    }
}
