//! Parses the times of `--since` and `--until`: a duration such as `24h`, or a day or time such as
//! `2026-11-01`.

use jiff::civil::{Date, DateTime};
use jiff::{Span, Timestamp, Zoned};

use crate::exit::CommandError;

/// Parses `words`, relative to `now`.
pub fn parse_time(words: &str, now: &Zoned) -> Result<Timestamp, CommandError> {
    let words = words.trim();
    let found =
        relative_time(words, now).or_else(|| absolute_time(words, now)).or_else(|| words.parse().ok());
    found.ok_or_else(|| {
        let like = "write a length such as 90m, 24h, 7d or 2w, or a day such as 2026-11-01";
        CommandError::Usage(format!("`{words}` is no time that i know: {like}."))
    })
}

fn relative_time(words: &str, now: &Zoned) -> Option<Timestamp> {
    let unit = words.chars().next_back()?;
    let count: i64 = words.strip_suffix(unit)?.trim().parse().ok().filter(|count| *count >= 0)?;
    let span = match unit {
        'm' => Span::new().try_minutes(count),
        'h' => Span::new().try_hours(count),
        'd' => Span::new().try_days(count),
        'w' => Span::new().try_weeks(count),
        _ => return None,
    };
    now.checked_sub(span.ok()?).ok().map(|then| then.timestamp())
}

fn absolute_time(words: &str, now: &Zoned) -> Option<Timestamp> {
    let day = words.parse::<Date>().ok().filter(|_| words.len() == 10).map(|day| day.at(0, 0, 0, 0));
    let time = day.or_else(|| words.parse::<DateTime>().ok().filter(|_| !words.ends_with('Z')))?;
    time.to_zoned(now.time_zone().clone()).ok().map(|then| then.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SA-11: A duration counts back from now; a day begins in the user's zone.
    #[test]
    fn time_is_a_duration_or_a_day() {
        let now: Zoned = "2026-11-16T18:00[Europe/Berlin]".parse().unwrap();
        let check = |words: &str, expected: &str| {
            assert_eq!(parse_time(words, &now).unwrap(), expected.parse().unwrap(), "{words}");
        };
        check("90m", "2026-11-16T15:30:00Z");
        check("24h", "2026-11-15T17:00:00Z");
        check(" 7d ", "2026-11-09T17:00:00Z");
        check("2w", "2026-11-02T17:00:00Z");
        check("2026-11-01", "2026-10-31T23:00:00Z");
        check("2026-11-01T08:00", "2026-11-01T07:00:00Z");
        check("2026-11-01 08:00", "2026-11-01T07:00:00Z");
        check("2026-11-01T08:00:00Z", "2026-11-01T08:00:00Z");
        for wrong in ["", "d", "-3d", "99999999999999h", "yesterday", "7x", "2026-13-01", "ü", "7ü"] {
            let told = parse_time(wrong, &now).unwrap_err();
            assert!(matches!(&told, CommandError::Usage(text) if text.contains("24h")), "{wrong}: {told}");
        }
    }
}
