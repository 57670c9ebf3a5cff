//! Describes recurrences in words; uncommon cron expressions are shown as they are.

use std::ops::RangeInclusive;

use jiff::civil::{DateTime, Weekday};

use super::{Recurrence, RecurrenceRule, Zone};
use crate::schedule::Cron;
use crate::schedule::cron::{DayLimits, Fields};

/// All twelve months.
const ALL_MONTHS: u64 = 0b1_1111_1111_1110;
/// Monday to Friday; bit 0 is Sunday.
const WORKDAYS: u64 = 0b011_1110;
const ALL_WEEKDAYS: u64 = 0b111_1111;
/// The maximum number of times or days that are listed individually.
const MAX_LISTED: usize = 4;

impl Recurrence {
    /// Describes when it fires: `weekdays 15:00`, `every 30 min`, `every month on the 1st, 09:00`.
    pub fn describe(&self) -> String {
        let until = self.until.map(|until| format!(", until {until}"));
        let zone = self.zone.as_ref().map(|zone| format!(", {} time", Zone::name(zone)));
        format!("{}{}{}", self.rule.describe(), until.unwrap_or_default(), zone.unwrap_or_default())
    }
}

impl RecurrenceRule {
    fn describe(&self) -> String {
        match self {
            Self::Cron(cron) => describe_cron(cron).unwrap_or_else(|| format!("cron '{}'", cron.as_str())),
            Self::Days { every, from } => describe_days((*every).max(1), *from),
            Self::Monthly { day, at } => format!("every month on the {day}, {}", at.strftime("%H:%M")),
        }
    }
}

fn describe_days(every: u32, from: DateTime) -> String {
    let time = from.strftime("%H:%M");
    let weekday = weekday_name(from.weekday());
    match (every, every % 7, every / 7) {
        (1, _, _) => format!("every day {time}"),
        (_, 0, 1) => format!("{weekday}s {time}"),
        (_, 0, weeks) => format!("every {weeks} weeks on {weekday}, {time}"),
        (days, _, _) => format!("every {days} days {time}"),
    }
}

fn describe_cron(cron: &Cron) -> Option<String> {
    let fields = cron.fields();
    Some(match (days(fields)?, times(fields)?) {
        (DayText::All, TimeText::At(times)) => format!("every day {times}"),
        (DayText::All, TimeText::Every(times)) => times,
        (DayText::Listed(days), TimeText::At(times) | TimeText::Every(times)) => format!("{days} {times}"),
    })
}

/// The description of the days.
enum DayText {
    All,
    Listed(String),
}

fn days(fields: &Fields) -> Option<DayText> {
    if fields.months != ALL_MONTHS {
        return days_of_year(fields).map(DayText::Listed);
    }
    match fields.day_limits {
        DayLimits::Neither => Some(DayText::All),
        DayLimits::OfWeek if fields.weekdays == ALL_WEEKDAYS => Some(DayText::All),
        DayLimits::OfWeek => Some(DayText::Listed(weekdays(fields.weekdays))),
        DayLimits::OfMonth => {
            let days = values(fields.days);
            (days.len() <= MAX_LISTED).then(|| {
                let days: Vec<String> = days.into_iter().map(ordinal).collect();
                DayText::Listed(format!("every month on the {},", join_with_and(&days)))
            })
        }
        DayLimits::Either => None,
    }
}

/// `every year on 24 dec,`, `on the 15th of feb, may, aug and nov,`.
fn days_of_year(fields: &Fields) -> Option<String> {
    let days = values(fields.days);
    let months = values(fields.months);
    let names: Option<Vec<String>> = months.into_iter().map(month_name).collect();
    match (fields.day_limits, &days[..], &names?[..]) {
        (DayLimits::OfMonth, [day], [month]) => Some(format!("every year on {day} {month},")),
        (DayLimits::OfMonth, [day], months) => {
            Some(format!("on the {} of {},", ordinal(*day), join_with_and(months)))
        }
        (DayLimits::OfMonth | DayLimits::Neither | DayLimits::OfWeek | DayLimits::Either, _, _) => None,
    }
}

fn month_name(month: u32) -> Option<String> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let place = usize::try_from(month).ok()?.checked_sub(1)?;
    MONTHS.get(place).map(|name| (*name).to_owned())
}

fn weekdays(bits: u64) -> String {
    if bits == WORKDAYS {
        return "weekdays".to_owned();
    }
    let on = |day: &Weekday| bits >> day.to_sunday_zero_offset() & 1 == 1;
    let week = Weekday::Monday.cycle_forward().take(7).filter(on);
    let names: Vec<String> = week.map(|day| format!("{}s", weekday_name(day))).collect();
    join_with_and(&names)
}

/// The description of the times of day.
enum TimeText {
    /// Individual times.
    At(String),
    /// A regular sequence of times.
    Every(String),
}

fn times(fields: &Fields) -> Option<TimeText> {
    let minutes = values(fields.minutes);
    let hours = values(fields.hours);
    let every = |text: String| Some(TimeText::Every(text));
    match (even_step(&minutes, 60), even_step(&hours, 24), minutes.as_slice()) {
        (Some(1), Some(1), _) => every("every minute".to_owned()),
        (Some(step), Some(1), _) => every(format!("every {step} min")),
        (Some(step), _, _) => {
            let hours = consecutive_range(&hours)?;
            every(format!("every {step} min {:02}:00-{:02}:00", hours.start(), hours.end() + 1))
        }
        (_, Some(1), [0]) => every("every hour".to_owned()),
        (_, Some(step), [0]) if hours.len() > 2 => every(format!("every {step} hours")),
        (_, _, [minute]) => match consecutive_range(&hours) {
            Some(run) if *minute == 0 => {
                every(format!("every hour {:02}:00-{:02}:00", run.start(), run.end()))
            }
            Some(_) | None if hours.len() <= MAX_LISTED => {
                let times: Vec<String> = hours.iter().map(|hour| format!("{hour:02}:{minute:02}")).collect();
                Some(TimeText::At(join_with_and(&times)))
            }
            Some(_) | None => {
                let step = stride(&hours).filter(|_| hours.len() < 24)?;
                let last = hours.last()?;
                let often = if step == 1 { "every hour".to_owned() } else { format!("every {step} hours") };
                every(format!("{often} {:02}:{minute:02}-{last:02}:{minute:02}", hours.first()?))
            }
        },
        (_, _, _) => None,
    }
}

/// The step of `values`, if they are evenly spaced from 0 through the whole range.
fn even_step(values: &[u32], around: u32) -> Option<u32> {
    let step = around / u32::try_from(values.len()).ok()?;
    let evenly = (0..around).step_by(usize::try_from(step).ok()?).eq(values.iter().copied());
    (values.len() > 1 && evenly).then_some(step)
}

/// The step of `values`, if they are evenly spaced.
fn stride(values: &[u32]) -> Option<u32> {
    let first = *values.first()?;
    let last = *values.last()?;
    let step = values.get(1)? - first;
    let evenly = (first..=last).step_by(usize::try_from(step).ok()?).eq(values.iter().copied());
    evenly.then_some(step)
}

/// The range of `values`, if they are at least three consecutive numbers.
fn consecutive_range(values: &[u32]) -> Option<RangeInclusive<u32>> {
    let first = *values.first()?;
    let last = *values.last()?;
    let in_a_row = values.len() >= 3 && (first..=last).eq(values.iter().copied());
    in_a_row.then_some(first..=last)
}

fn values(bits: u64) -> Vec<u32> {
    (0..u64::BITS).filter(|value| bits >> value & 1 == 1).collect()
}

/// `a`, `a and b`, `a, b and c`.
fn join_with_and(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

fn ordinal(day: u32) -> String {
    let ending = match (day % 100, day % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        (_, _) => "th",
    };
    format!("{day}{ending}")
}

fn weekday_name(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "monday",
        Weekday::Tuesday => "tuesday",
        Weekday::Wednesday => "wednesday",
        Weekday::Thursday => "thursday",
        Weekday::Friday => "friday",
        Weekday::Saturday => "saturday",
        Weekday::Sunday => "sunday",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SC-8, SC-9: common expressions are described in words, others shown as written.
    #[test]
    fn common_recurrences_are_described_in_words() {
        for (cron, words) in [
            ("0 15 * * 1-5", "weekdays 15:00"),
            ("30 8 * * *", "every day 08:30"),
            ("30 8 * * sun-sat", "every day 08:30"),
            ("0 7 * * 1,3,5", "mondays, wednesdays and fridays 07:00"),
            ("0 7 * * 0", "sundays 07:00"),
            ("0 10 * * 6,7", "saturdays and sundays 10:00"),
            ("0 9 1 * *", "every month on the 1st, 09:00"),
            ("0 9 2,3,11,22 * *", "every month on the 2nd, 3rd, 11th and 22nd, 09:00"),
            ("*/30 * * * *", "every 30 min"),
            ("* * * * *", "every minute"),
            ("0 * * * *", "every hour"),
            ("0 */6 * * *", "every 6 hours"),
            ("0 0,12 * * *", "every day 00:00 and 12:00"),
            ("0 10-16 * * *", "every hour 10:00-16:00"),
            ("0 10-16 * * 1-5", "weekdays every hour 10:00-16:00"),
            ("5 8,12,18 * * *", "every day 08:05, 12:05 and 18:05"),
            ("*/30 8-21 * * *", "every 30 min 08:00-22:00"),
            ("*/15 9-16 * * 1-5", "weekdays every 15 min 09:00-17:00"),
            ("0 9-17/2 * * *", "every 2 hours 09:00-17:00"),
            ("30 9-16 * * *", "every hour 09:30-16:30"),
            ("0 8-21/8 * * *", "every day 08:00 and 16:00"),
            ("0 9 24 12 *", "every year on 24 dec, 09:00"),
            ("0 9 15 2,5,8,11 *", "on the 15th of feb, may, aug and nov, 09:00"),
            ("*/30 8,12 * * *", "cron '*/30 8,12 * * *'"),
            ("0 1,2,3,5,9,11 * * *", "cron '0 1,2,3,5,9,11 * * *'"),
            ("*/7 * * * *", "cron '*/7 * * * *'"),
            ("0 9 * 6 *", "cron '0 9 * 6 *'"),
            ("0 9 13 * 5", "cron '0 9 13 * 5'"),
            ("15 * * * *", "cron '15 * * * *'"),
        ] {
            assert_eq!(Recurrence::new(Cron::parse(cron).unwrap()).describe(), words, "{cron}");
        }
    }

    #[test]
    fn the_description_contains_interval_end_and_zone() {
        let days = |every| RecurrenceRule::Days { every, from: "2026-11-16T09:00".parse().unwrap() };
        let told = |beat| Recurrence { rule: beat, until: None, zone: None }.describe();
        assert_eq!(told(days(1)), "every day 09:00");
        assert_eq!(told(days(3)), "every 3 days 09:00");
        assert_eq!(told(days(7)), "mondays 09:00");
        assert_eq!(told(days(14)), "every 2 weeks on monday, 09:00");
        let zone = Some(Zone::named("asia/tokyo").unwrap());
        let ending = Recurrence { rule: days(3), until: "2026-12-24".parse().ok(), zone };
        assert_eq!(ending.describe(), "every 3 days 09:00, until 2026-12-24, Asia/Tokyo time");
    }
}
