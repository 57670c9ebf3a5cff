//! The dates that a [`Day`] can mean, with the alternative where the phrase is ambiguous.

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};

use super::calendar::{following_weekday, month_name, ordinal};
use super::date::{DateSpec, MonthRef};
use super::day::{Day, Period};
use super::length::Length;
use super::note::ParseNote;

/// A date that is at most this many days in the past is treated as a mistake, not as that of next
/// year.
const RECENTLY_PAST_DAYS: i32 = 31;

/// The dates that a day can mean.
pub(super) struct Dates {
    /// In order; the first that is not in the past counts.
    pub candidates: Vec<Date>,
    /// The date of the other common interpretation.
    pub alternative: Option<Date>,
}

impl Dates {
    fn one(date: Option<Date>) -> Option<Self> {
        Some(Self { candidates: vec![date?], alternative: None })
    }

    fn not_before(list: impl Iterator<Item = Date>, today: Date) -> Option<Self> {
        Some(Self { candidates: list.filter(|date| *date >= today).collect(), alternative: None })
    }
}

/// The dates that `day` can mean if said `today`.
pub(super) fn dates(day: Day, today: Date) -> Result<Dates, ParseNote> {
    if let Day::Date(dated) = day {
        return calendar_dates(dated, today);
    }
    let found = match day {
        Day::Ahead(length) => Dates::one(ahead(today, length)),
        Day::Weekday(day) => Dates::one(following_weekday(today, day)),
        Day::NextWeekday(day) => next_weekday(today, day),
        Day::WeekdayIn(day, weeks) => Dates::one(in_week(today, day, weeks)),
        Day::Start(period) => Dates::one(period_end(today, period, 0).and_then(|last| last.tomorrow().ok())),
        Day::End(period, ahead) => {
            Dates::not_before((ahead..ahead + 2).filter_map(|nth| last_day(today, period, nth)), today)
        }
        Day::Weekend => Dates::one(weekend(today)),
        Day::NextWeekend => next_weekend(today),
        Day::OfMonth(day) => Dates::not_before((0..14).filter_map(|nth| of_month(today, nth, day)), today),
        Day::Exactly(_) | Day::Past(_) | Day::Date(_) => {
            Some(Dates { candidates: Vec::new(), alternative: None })
        }
    };
    found.ok_or_else(too_far)
}

/// An error note if `day` is in the past: either the weekday written with it fits the last such
/// day, which is nearer, but not the next; or it is a yearly date that passed recently.
pub(super) fn past_date_note(weekday: Option<Weekday>, day: Day, today: Date) -> Option<ParseNote> {
    let Some(weekday) = weekday else { return recently_past_note(day, today) };
    let last = last_such(day, today).filter(|last| last.weekday() == weekday)?;
    let next = dates(day, today).ok()?.candidates.into_iter().next()?;
    let nearer = today.duration_since(last) < next.duration_since(today);
    (nearer && next.weekday() != weekday)
        .then_some(ParseNote::PastWeekdayDate(last, following_weekday(today, weekday)?))
}

fn recently_past_note(day: Day, today: Date) -> Option<ParseNote> {
    let Day::Date(DateSpec::Yearly { .. }) = day else { return None };
    let next = dates(day, today).ok()?.candidates.into_iter().next().filter(|next| *next > today)?;
    let last = last_such(day, today).filter(|last| (today - *last).get_days() <= RECENTLY_PAST_DAYS)?;
    Some(ParseNote::RecentlyPast(last, next))
}

/// The last such day before `today`, for days that recur.
fn last_such(day: Day, today: Date) -> Option<Date> {
    let over = |date: &Date| *date < today;
    if let Day::Date(DateSpec::Yearly { month, day }) = day {
        let years = [today.year(), today.year().saturating_sub(1)];
        return years.into_iter().filter_map(|year| Date::new(year, month, day).ok()).find(over);
    }
    let Day::OfMonth(day) = day else { return None };
    [0, -1].into_iter().filter_map(|nth| of_month(today, nth, day)).find(over)
}

/// The error for a time beyond the supported range.
pub(super) fn too_far() -> ParseNote {
    ParseNote::Invalid(
        "that is further away than i can plan; say something within the next 100 years".to_owned(),
    )
}

fn calendar_dates(dated: DateSpec, today: Date) -> Result<Dates, ParseNote> {
    let year = today.year();
    let found = match dated {
        DateSpec::Yearly { month, day } => Dates::not_before(yearly(year, month, day), today),
        DateSpec::Once { year, month, day } => match Date::new(year, month, day) {
            Ok(date) => Dates::one(Some(date)),
            Err(_) => {
                return Err(ParseNote::Invalid(format!("there is no {day} {} in {year}", month_name(month))));
            }
        },
        DateSpec::Ambiguous(first, second) => {
            let next = |month, day| yearly(year, month, day).find(|date| *date >= today);
            earlier_of(next(first, second), next(second, first))
        }
        DateSpec::AmbiguousInYear(first, second, year) => {
            let ahead = |date: Option<Date>| date.filter(|date| *date >= today);
            let both = [Date::new(year, first, second).ok(), Date::new(year, second, first).ok()];
            earlier_of(ahead(both[0]), ahead(both[1])).or_else(|| Dates::one(both[0]))
        }
        DateSpec::EndOf(month) => {
            let ends = |year| Some(Date::new(year, month, 1).ok()?.last_of_month());
            Dates::not_before((year..=year + 1).filter_map(ends), today)
        }
        DateSpec::StartOf(month) => {
            let starts = |year| Date::new(year, month, 1).ok();
            Dates::not_before((year..=year + 1).filter_map(starts), today)
        }
        DateSpec::NextMonth(day) => match of_month(today, 1, day) {
            Some(date) => Dates::one(Some(date)),
            None => {
                return Err(ParseNote::Invalid(format!(
                    "next month has no {}; say `end of next month`",
                    ordinal(day)
                )));
            }
        },
        DateSpec::Nth(nth, day, of) => return nth_weekday(today, nth, day, of),
        DateSpec::DaysAfterWeekday(day, days) => {
            Dates::one(following_weekday(today, day).and_then(|day| ahead_days(day, days)))
        }
    };
    found.ok_or_else(too_far)
}

/// Every such day from `year` on; 29 February does not exist every year.
fn yearly(year: i16, month: i8, day: i8) -> impl Iterator<Item = Date> {
    (year..=year.saturating_add(8)).filter_map(move |year| Date::new(year, month, day).ok())
}

/// The earlier of two interpretations, with the later one as the alternative.
fn earlier_of(one: Option<Date>, two: Option<Date>) -> Option<Dates> {
    let (first, other) = match (one, two) {
        (Some(one), Some(two)) => (one.min(two), Some(one.max(two)).filter(|_| one != two)),
        (Some(only), None) | (None, Some(only)) => (only, None),
        (None, None) => return None,
    };
    Some(Dates { candidates: vec![first], alternative: other })
}

fn ahead(today: Date, length: Length) -> Option<Date> {
    today.checked_add(length.span()?).ok()
}

fn ahead_days(date: Date, days: i64) -> Option<Date> {
    date.checked_add(Span::new().try_days(days).ok()?).ok()
}

/// The Monday of the week that contains `today`.
fn monday(today: Date) -> Option<Date> {
    ahead_days(today, -i64::from(today.weekday().to_monday_zero_offset()))
}

fn in_week(today: Date, day: Weekday, weeks: i64) -> Option<Date> {
    ahead_days(monday(today)?, weeks.checked_mul(7)? + i64::from(day.to_monday_zero_offset()))
}

/// The day of next week, or one week later if that is tomorrow.
fn next_weekday(today: Date, day: Weekday) -> Option<Dates> {
    let next = in_week(today, day, 1)?;
    let near = ahead_days(today, 2)? > next;
    let date = if near { ahead_days(next, 7)? } else { next };
    let coming = following_weekday(today, day)?;
    let other = if coming == date { ahead_days(date, 7) } else { Some(coming) };
    Some(Dates { candidates: vec![date], alternative: other })
}

/// The next Saturday; on a Saturday, tomorrow.
fn weekend(today: Date) -> Option<Date> {
    match today.weekday() {
        Weekday::Saturday => today.tomorrow().ok(),
        Weekday::Monday
        | Weekday::Tuesday
        | Weekday::Wednesday
        | Weekday::Thursday
        | Weekday::Friday
        | Weekday::Sunday => following_weekday(today, Weekday::Saturday),
    }
}

fn next_weekend(today: Date) -> Option<Dates> {
    let date = in_week(today, Weekday::Saturday, 1)?;
    let this = following_weekday(today, Weekday::Saturday)?;
    let other = if this == date { ahead_days(date, 7) } else { Some(this) };
    Some(Dates { candidates: vec![date], alternative: other })
}

/// The last day of a period; a week ends with its last working day.
fn last_day(today: Date, period: Period, nth: i64) -> Option<Date> {
    match period {
        Period::Week => in_week(today, Weekday::Friday, nth),
        Period::Month | Period::Year => period_end(today, period, nth),
    }
}

fn period_end(today: Date, period: Period, nth: i64) -> Option<Date> {
    match period {
        Period::Week => in_week(today, Weekday::Sunday, nth),
        Period::Month => Some(today.first_of_month().checked_add(nth.months()).ok()?.last_of_month()),
        Period::Year => Some(today.first_of_year().checked_add(nth.years()).ok()?.last_of_year()),
    }
}

/// The `day` of the month that is `nth` months from now, if it exists.
fn of_month(today: Date, nth: i64, day: i8) -> Option<Date> {
    let month = today.first_of_month().checked_add(nth.months()).ok()?;
    Date::new(month.year(), month.month(), day).ok()
}

/// `first monday of next month`.
fn nth_weekday(today: Date, nth: i8, day: Weekday, of: MonthRef) -> Result<Dates, ParseNote> {
    let start = |months: i64| today.first_of_month().checked_add(months.months()).ok();
    let months: Vec<Date> = match of {
        MonthRef::ThisMonth => start(0).into_iter().collect(),
        MonthRef::NextMonth => start(1).into_iter().collect(),
        MonthRef::Month(month) => (0..=12).filter_map(start).filter(|date| date.month() == month).collect(),
    };
    let list: Vec<Date> =
        months.into_iter().filter_map(|month| month.nth_weekday_of_month(nth, day).ok()).collect();
    if list.is_empty() {
        Err(ParseNote::Invalid("that month has no such day; say the date, like `24 dec`".to_owned()))
    } else {
        Dates::not_before(list.into_iter(), today).ok_or_else(too_far)
    }
}
