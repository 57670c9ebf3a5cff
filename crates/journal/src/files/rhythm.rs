//! Reads and writes the keys that define when a routine recurs.

use domain::schedule::{Cron, InvalidField, MonthDay, Recurrence, RecurrenceRule, Zone};
use jiff::civil::{Date, DateTime};
use jiff::fmt::temporal::Pieces;

use crate::frontmatter::{FrontmatterBuilder, Value};

/// The unchecked keys.
pub(super) struct RhythmKeys {
    pub cron: Option<String>,
    pub every: Option<String>,
    pub from: Option<String>,
    pub until: Option<String>,
    pub timezone: Option<String>,
}

/// Moves the recurrence keys out of the keys of a routine.
macro_rules! rhythm_of {
    ($keys:ident) => {
        $crate::files::rhythm::RhythmKeys {
            cron: $keys.cron,
            every: $keys.every,
            from: $keys.from,
            until: $keys.until,
            timezone: $keys.timezone,
        }
    };
}
pub(super) use rhythm_of;

impl RhythmKeys {
    /// Validates the keys.
    pub(super) fn checked(self) -> Result<Recurrence, InvalidField> {
        let beat = match (self.cron, self.every) {
            (Some(cron), None) => RecurrenceRule::Cron(Cron::parse(&cron)?),
            (None, Some(every)) => match MonthDay::parse(&every) {
                Some((day, at)) => RecurrenceRule::Monthly { day, at },
                None => RecurrenceRule::Days {
                    every: parse_days(&every)?,
                    from: parse_first(self.from.as_deref())?,
                },
            },
            (None, None) => {
                let reason = "is missing, and so it never recurs; write five fields like `0 9 * * 1-5`, or \
                    `every: 3 days` and `from: 2026-11-18T09:00`";
                return Err(InvalidField::new("cron", reason));
            }
            (Some(_), Some(_)) => {
                return Err(InvalidField::new("every", "cannot stand beside `cron`; keep one of the two"));
            }
        };
        let until = self.until.as_deref().map(parse_last_day).transpose()?;
        Ok(Recurrence { rule: beat, until, zone: self.timezone.as_deref().map(Zone::named).transpose()? })
    }
}

/// Writes the recurrence keys. Defaults are left out.
pub(super) trait WriteRhythmKeys {
    fn rhythm(self, rhythm: &Recurrence) -> Self;
}

impl WriteRhythmKeys for FrontmatterBuilder {
    fn rhythm(self, rhythm: &Recurrence) -> Self {
        let head = match &rhythm.rule {
            RecurrenceRule::Cron(cron) => self.text("cron", cron.as_str(), ""),
            RecurrenceRule::Days { every, from } => {
                let days = if *every == 1 { "day" } else { "days" };
                self.text("every", &format!("{every} {days}"), "").text("from", &from.to_string(), "")
            }
            RecurrenceRule::Monthly { day, at } => self.text("every", &day.format_with_time(*at), ""),
        };
        let until = rhythm.until.map(|until| Value::Text(until.to_string()));
        let zone = rhythm.zone.as_ref().map(|zone| Value::Text(zone.name().to_owned()));
        head.with("until", until).with("timezone", zone)
    }
}

/// Parses `every`.
fn parse_days(text: &str) -> Result<u32, InvalidField> {
    let digits = text.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
    let (number, unit) = text.trim_start().split_at(text.trim_start().len() - digits.len());
    let length = match unit.trim() {
        "day" | "days" | "d" => Some(1),
        "week" | "weeks" | "w" => Some(7),
        _ => None,
    };
    let days =
        number.parse().ok().zip(length).and_then(|(count, length): (u32, u32)| count.checked_mul(length));
    days.filter(|days| *days > 0).ok_or_else(|| {
        let reason = format!(
            "{text:?} is not a number of days; write it like `3 days` or `2 weeks`, or \
             `last friday of the month at 09:00`"
        );
        InvalidField::new("every", reason)
    })
}

/// Parses `from`, a local time.
fn parse_first(text: Option<&str>) -> Result<DateTime, InvalidField> {
    let like = "write the first time like `2026-11-18T09:00`";
    let wrong = |reason: String| InvalidField::new("from", reason);
    let text = text.ok_or_else(|| wrong(format!("is missing, and `every` counts from it; {like}")))?;
    let pieces = Pieces::parse(text.trim()).map_err(|_| wrong(format!("{text:?} is not a time; {like}")))?;
    if pieces.offset().is_some() || pieces.time_zone_annotation().is_some() {
        return Err(wrong(format!("{text:?} has a zone, which belongs into `timezone`; {like}")));
    }
    Ok(pieces.date().to_datetime(pieces.time().unwrap_or_default()))
}

/// Parses `until`.
fn parse_last_day(text: &str) -> Result<Date, InvalidField> {
    Date::strptime("%Y-%m-%d", text.trim()).map_err(|_| {
        InvalidField::new("until", format!("{text:?} is not a day; write the last one like `2026-12-01`"))
    })
}
