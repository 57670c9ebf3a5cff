//! The forecast: what today and this month will have cost, if everything goes on as it did.
//!
//! A routine costs what one of its runs cost until now, as often as it is still planned. All else costs what it cost on
//! an average day. That is all; the reader is told it.

use std::collections::BTreeMap;

use jiff::ToSpan;

use super::{Micros, Report};

/// How many days a report has to look back for a forecast: all of the month, and thirty.
pub const LOOKS_BACK: u16 = 31;

/// How often something is still planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Until the end of the day.
    pub today: u64,
    /// Until the end of the month, today included.
    pub month: u64,
}

/// What will have been spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// When today is over.
    pub today: Micros,
    /// When the month is over.
    pub month: Micros,
    /// What an average day costs besides routines.
    pub a_day: Micros,
    /// How many runs are planned until the end of the month.
    pub runs: u64,
    /// How many days before today it follows from.
    pub days: u16,
}

impl Report {
    /// What follows, if each account is still planned so often; nothing, before a whole day has passed.
    pub fn foresee(&self, planned: &BTreeMap<String, Times>) -> Option<Forecast> {
        let first = self.lists.days.keys().next().filter(|day| **day < self.date)?;
        let days = u16::try_from(first.until(self.date).ok()?.get_days()).ok()?.clamp(1, LOOKS_BACK);
        let is_planned = |name: &str| planned.contains_key(name) || name.starts_with("routine:");
        let of = |today: bool| -> Micros {
            let rows = self
                .lists
                .days_of
                .iter()
                .filter(|((day, name), _)| (*day == self.date) == today && !is_planned(name));
            rows.map(|(_, total)| total.cost).sum()
        };
        let a_day = Micros(of(false).0 / u64::from(days));
        let rest = a_day.less(of(true));
        let runs = |times: fn(&Times) -> u64| -> Micros {
            planned.iter().map(|(name, it)| Micros(self.a_run(name).0.saturating_mul(times(it)))).sum()
        };
        let ahead = self.date.last_of_month().day() - self.date.day();
        let month: Micros = self.this_month();
        let sum = |parts: [Micros; 4]| parts.into_iter().sum();
        let later = Micros(a_day.0.saturating_mul(u64::try_from(ahead).unwrap_or_default()));
        Some(Forecast {
            today: sum([self.today.cost, rest, runs(|times| times.today), Micros(0)]),
            month: sum([month, rest, later, runs(|times| times.month)]),
            a_day,
            runs: planned.values().map(|times| times.month).sum(),
            days,
        })
    }

    /// What one run on the account `name` cost until now.
    fn a_run(&self, name: &str) -> Micros {
        let runs = self.lists.runs.get(name).map_or(0, |runs| runs.len() as u64);
        let cost = self.lists.sources.get(name).map(|total| total.cost).unwrap_or_default();
        Micros(cost.0.checked_div(runs).unwrap_or_default())
    }

    fn this_month(&self) -> Micros {
        let first = self.date.saturating_sub((i64::from(self.date.day()) - 1).days());
        self.lists.days.range(first..).map(|(_, total)| total.cost).sum()
    }
}

impl Forecast {
    /// It, and what it follows from.
    pub fn tell(&self) -> String {
        let days =
            if self.days == 1 { "yesterday".to_owned() } else { format!("the last {} days", self.days) };
        format!(
            "forecast: about {} today, about {} this month. that is {} a day as in {days}, and {} planned runs at what \
             one of each cost so far.",
            self.today, self.month, self.a_day, self.runs
        )
    }
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, Zoned};

    use super::super::{Account, Attended, Call, Limit, Source, Spent};
    use super::*;
    use crate::conversation::{Branch, Usage};
    use crate::turn::TurnId;

    fn spent(source: Source, branch: &str, cost: u64) -> Spent {
        let branch = if branch == "main" { Branch::Main } else { Branch::fork(branch).unwrap() };
        let call = Call { model: "m".to_owned(), usage: Usage::default() };
        let account = Account { source, attended: Attended::Waited };
        Spent { at: Timestamp::UNIX_EPOCH, branch, turn: TurnId(1), account, call, cost: Some(Micros(cost)) }
    }

    /// What is planned costs what a run of it cost, and the rest what an average day cost.
    #[test]
    fn the_forecast_follows_from_the_schedule_and_the_average() {
        let now: Zoned = "2026-11-20T12:00[Europe/Madrid]".parse().unwrap();
        let mut report = Report::new(&now, LOOKS_BACK, Limit::default());
        let mail = || Source::Routine("mail".to_owned());
        assert_eq!(report.foresee(&BTreeMap::new()), None, "nothing is known yet");
        for (date, spent) in [
            ("2026-11-10", spent(Source::Main, "main", 900)),
            ("2026-11-15", spent(Source::Main, "main", 100)),
            ("2026-11-15", spent(mail(), "mail-1", 30)),
            ("2026-11-15", spent(mail(), "mail-1", 30)),
            ("2026-11-16", spent(mail(), "mail-2", 40)),
            ("2026-11-17", spent(Source::Routine("gone".to_owned()), "gone-1", 7)),
            ("2026-11-20", spent(Source::Main, "main", 40)),
        ] {
            report.add(&spent, date.parse().unwrap());
        }
        let planned = BTreeMap::from([("routine:mail".to_owned(), Times { today: 1, month: 11 })]);
        let seen = report.foresee(&planned).unwrap();
        // Ten days, 100 a day; a run of mail costs 50; today 40 of 100 are spent, and one run is to come.
        assert_eq!((seen.days, seen.a_day, seen.runs), (10, Micros(100), 11));
        assert_eq!(seen.today, Micros(40 + 60 + 50));
        let until_now = 900 + 100 + 60 + 40 + 7 + 40;
        assert_eq!(seen.month, Micros(until_now + 60 + 10 * 100 + 11 * 50));
        assert!(seen.tell().contains("as in the last 10 days, and 11 planned runs"), "{}", seen.tell());
    }
}
