//! Expands a recurrence rule to the local times within a window.

use jiff::civil::{Date, DateTime, Weekday};
use jiff::{Span, ToSpan};

use super::budget::{Budget, BudgetExceeded};
use super::moment::Moment;
use super::rule::{Frequency, RecurrenceRule, RuleEnd};

/// Returns the sorted times of `rule` between `from` and `until`, including `start`.
pub(crate) fn occurrences(
    rule: &RecurrenceRule,
    start: &Moment,
    (from, until): (DateTime, DateTime),
    budget: &mut Budget,
) -> Result<Vec<DateTime>, BudgetExceeded> {
    let first = start.civil();
    let mut times: Vec<_> =
        Some(first).filter(|first| *first >= from && *first <= until).into_iter().collect();
    let skipped_count = skipped_periods(rule, first, from);
    // Skipped periods still count for COUNT. They are skipped only where each of them has exactly
    // one time.
    let mut count = skipped_count.max(1);
    let mut period = i64::from(skipped_count);
    while let Some(anchor) = period_start(rule, first.date(), period).filter(|anchor| *anchor <= until.date())
    {
        let dates = period_dates(rule, anchor, first.date());
        budget.spend(dates.len() + 1)?;
        for date in dates {
            let time = date.to_datetime(first.time());
            if time <= first {
                continue;
            }
            let is_over = match &rule.end {
                RuleEnd::Never => false,
                RuleEnd::Count(most) => count >= *most,
                RuleEnd::Until(last) => is_after_end(time, last, start),
            };
            if is_over || time > until {
                return Ok(times);
            }
            count = count.saturating_add(1);
            if time >= from {
                times.push(time);
            }
        }
        period += 1;
    }
    Ok(times)
}

fn is_after_end(time: DateTime, last: &Moment, start: &Moment) -> bool {
    match (last, start) {
        (Moment::Day(last), _) => time.date() > *last,
        (Moment::Floating(last), _) => time > *last,
        (Moment::InZone(last, _), Moment::Day(_) | Moment::Floating(_)) => time > *last,
        (Moment::InZone(last, utc), Moment::InZone(_, zone)) => {
            let late = |(time, last)| time > last;
            let time = zone.to_ambiguous_timestamp(time).compatible();
            let last = utc.to_ambiguous_timestamp(*last).compatible();
            time.ok().zip(last.ok()).is_some_and(late)
        }
    }
}

/// Returns how many periods can be skipped because all their times are before `from`.
fn skipped_periods(rule: &RecurrenceRule, first: DateTime, from: DateTime) -> u32 {
    let plain = rule.months.is_empty() && rule.month_days.is_empty() && rule.week_days.is_empty();
    let one_per_period = plain
        && rule.set_positions.is_empty()
        && matches!(rule.frequency, Frequency::Daily | Frequency::Weekly);
    if matches!(rule.end, RuleEnd::Count(_)) && !one_per_period {
        return 0;
    }
    let a = first.date();
    let b = from.date();
    let days = i64::from(a.until(b).map_or(0, |span| span.get_days()));
    let months =
        (i64::from(b.year()) - i64::from(a.year())) * 12 + i64::from(b.month()) - i64::from(a.month());
    let passed = match rule.frequency {
        Frequency::Daily => days,
        Frequency::Weekly => days / 7,
        Frequency::Monthly => months,
        Frequency::Yearly => months / 12,
    };
    u32::try_from(passed / i64::from(rule.interval) - 1).unwrap_or(0)
}

/// Returns the start of the n-th period, or `None` beyond the calendar's range.
fn period_start(rule: &RecurrenceRule, first: Date, n: i64) -> Option<Date> {
    let n = n.checked_mul(i64::from(rule.interval))?;
    match rule.frequency {
        Frequency::Daily => first.checked_add(Span::new().try_days(n).ok()?).ok(),
        Frequency::Weekly => week_start(first, rule.week_start)?
            .checked_add(Span::new().try_days(n.checked_mul(7)?).ok()?)
            .ok(),
        Frequency::Monthly => first.first_of_month().checked_add(Span::new().try_months(n).ok()?).ok(),
        Frequency::Yearly => first.first_of_year().checked_add(Span::new().try_years(n).ok()?).ok(),
    }
}

/// Returns the first day of the week that contains `date`.
fn week_start(date: Date, start: Weekday) -> Option<Date> {
    let past = (date.weekday().to_monday_zero_offset() - start.to_monday_zero_offset()).rem_euclid(7);
    date.checked_sub(i64::from(past).days()).ok()
}

/// Returns the sorted dates of one period.
fn period_dates(rule: &RecurrenceRule, anchor: Date, first: Date) -> Vec<Date> {
    let mut dates = match rule.frequency {
        Frequency::Daily => vec![anchor],
        Frequency::Weekly => (0..7).filter_map(|n| anchor.checked_add(i64::from(n).days()).ok()).collect(),
        Frequency::Monthly => dates_in_month(rule, anchor, first),
        Frequency::Yearly => dates_in_year(rule, anchor, first),
    };
    if rule.frequency == Frequency::Weekly && rule.week_days.is_empty() {
        dates.retain(|date| date.weekday() == first.weekday());
    }
    if matches!(rule.frequency, Frequency::Daily | Frequency::Weekly) {
        dates.retain(|date| rule.month_days.is_empty() || matches_month_day(rule, *date));
        dates.retain(|date| {
            rule.week_days.is_empty() || rule.week_days.iter().any(|(_, day)| *day == date.weekday())
        });
    }
    dates.retain(|date| rule.months.is_empty() || rule.months.contains(&date.month()));
    dates.sort_unstable();
    dates.dedup();
    apply_positions(rule, dates)
}

fn apply_positions(rule: &RecurrenceRule, dates: Vec<Date>) -> Vec<Date> {
    if rule.set_positions.is_empty() {
        return dates;
    }
    let nth = |position: &i16| {
        let position = isize::from(*position);
        let at = if position > 0 { position - 1 } else { dates.len().cast_signed() + position };
        usize::try_from(at).ok().and_then(|at| dates.get(at)).copied()
    };
    let mut picked: Vec<_> = rule.set_positions.iter().filter_map(nth).collect();
    picked.sort_unstable();
    picked.dedup();
    picked
}

fn dates_in_month(rule: &RecurrenceRule, month: Date, first: Date) -> Vec<Date> {
    let month = Month::new(month);
    let weekly = |day: &i8| rule.week_days.is_empty() || month.is_week_day(rule, *day);
    let daily = |day: &i8| match (rule.month_days.is_empty(), rule.week_days.is_empty()) {
        (false, _) => {
            rule.month_days.iter().any(|wanted| *wanted == *day || *wanted == *day - month.days - 1)
        }
        (true, false) => true,
        (true, true) => *day == first.day(),
    };
    let days = (1..=month.days).filter(daily).filter(weekly);
    days.filter_map(|day| month.first.with().day(day).build().ok()).collect()
}

/// A month in plain numbers, because rules visit very many days.
struct Month {
    days: i8,
    first: Date,
    /// The weekday of the first day, from Monday.
    first_weekday: i8,
}

impl Month {
    fn new(month: Date) -> Self {
        let first = month.first_of_month();
        Self { days: month.days_in_month(), first, first_weekday: first.weekday().to_monday_zero_offset() }
    }

    /// Returns whether the rule contains the weekday of this day: any of them, or the n-th from
    /// either end.
    fn is_week_day(&self, rule: &RecurrenceRule, day: i8) -> bool {
        let weekday = (self.first_weekday + day - 1) % 7;
        let from_start = (day - 1) / 7 + 1;
        let from_end = (day - self.days) / 7 - 1;
        rule.week_days.iter().any(|(nth, wanted)| {
            wanted.to_monday_zero_offset() == weekday
                && nth.is_none_or(|nth| nth == from_start || nth == from_end)
        })
    }
}

fn dates_in_year(rule: &RecurrenceRule, year: Date, first: Date) -> Vec<Date> {
    if rule.months.is_empty() && rule.month_days.is_empty() {
        return if rule.week_days.is_empty() {
            year.with().month(first.month()).day(first.day()).build().into_iter().collect()
        } else {
            rule.week_days.iter().flat_map(|(nth, day)| weekdays_of_year(year, *nth, *day)).collect()
        };
    }
    let months = (1..=12).filter(|month| rule.months.is_empty() || rule.months.contains(month));
    let firsts = months.filter_map(|month| year.with().month(month).day(1).build().ok());
    firsts.flat_map(|month| dates_in_month(rule, month, first)).collect()
}

/// Returns the days of a year with this weekday: all, or the n-th.
fn weekdays_of_year(year: Date, nth: Option<i8>, day: Weekday) -> Vec<Date> {
    let to = (day.to_monday_zero_offset() - year.weekday().to_monday_zero_offset()).rem_euclid(7);
    let all = (0..53).filter_map(|week| year.checked_add((i64::from(to) + 7 * week).days()).ok());
    let mut all: Vec<_> = all.filter(|date| date.year() == year.year()).collect();
    match nth {
        None => all,
        Some(nth) if nth > 0 => all.drain(..).nth(usize::from(nth.unsigned_abs()) - 1).into_iter().collect(),
        Some(nth) => all.drain(..).rev().nth(usize::from(nth.unsigned_abs()) - 1).into_iter().collect(),
    }
}

fn matches_month_day(rule: &RecurrenceRule, date: Date) -> bool {
    let from_end = date.day() - date.days_in_month() - 1;
    rule.month_days.iter().any(|day| *day == date.day() || *day == from_end)
}
