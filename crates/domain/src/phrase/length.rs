//! Lengths of time: `20 min`, `an hour and a half`, `1h30`, `2 weeks`.

use jiff::{SignedDuration, Span, Zoned};

use super::number::{decimal, digits, leading, thousandths, whole};
use super::words::{Match, Words};

/// A duration. Days and months are calendar units, seconds are elapsed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Length {
    pub months: i64,
    pub days: i64,
    pub seconds: i64,
}

impl Length {
    /// Returns whether it consists of whole days and months.
    pub fn is_days(self) -> bool {
        self.seconds == 0
    }

    pub fn is_zero(self) -> bool {
        self == Self::default()
    }

    /// Converts to a calendar span; `None` if it is out of range.
    pub fn span(self) -> Option<Span> {
        let span = Span::new().try_months(self.months).ok()?;
        span.try_days(self.days).ok()?.try_seconds(self.seconds).ok()
    }

    /// Converts to elapsed time, with 24 hours per day; `None` if it contains months.
    pub fn duration(self) -> Option<SignedDuration> {
        let days = self.days.checked_mul(86_400)?;
        (self.months == 0).then_some(())?;
        Some(SignedDuration::from_secs(days.checked_add(self.seconds)?))
    }

    /// Adds the duration to `clock`.
    pub fn after(self, clock: &Zoned) -> Option<Zoned> {
        clock.checked_add(self.span()?).ok()
    }

    /// Subtracts the duration from `clock`.
    pub fn before(self, clock: &Zoned) -> Option<Zoned> {
        clock.checked_sub(self.span()?).ok()
    }

    fn of(thousandths: i64, unit: &str) -> Option<Self> {
        let whole = |scale: i64| {
            let all = thousandths.checked_mul(scale)?;
            (all % 1000 == 0).then_some(all / 1000)
        };
        let days = |scale: i64| {
            let seconds = whole(scale * 86_400)?;
            Some(Self { days: seconds / 86_400, seconds: seconds % 86_400, months: 0 })
        };
        match unit {
            "s" | "sec" | "secs" | "second" | "seconds" => {
                Some(Self { seconds: whole(1)?, ..Self::default() })
            }
            "m" | "min" | "mins" | "minute" | "minutes" => {
                Some(Self { seconds: whole(60)?, ..Self::default() })
            }
            "h" | "hr" | "hrs" | "hour" | "hours" => Some(Self { seconds: whole(3600)?, ..Self::default() }),
            "d" | "day" | "days" => days(1),
            "w" | "wk" | "wks" | "week" | "weeks" => days(7),
            "fortnight" | "fortnights" => days(14),
            "mo" | "month" | "months" => Some(Self { months: whole(1)?, ..Self::default() }),
            "y" | "yr" | "yrs" | "year" | "years" => Some(Self { months: whole(12)?, ..Self::default() }),
            _ => None,
        }
    }

    fn plus(self, more: Self) -> Option<Self> {
        Some(Self {
            months: self.months.checked_add(more.months)?,
            days: self.days.checked_add(more.days)?,
            seconds: self.seconds.checked_add(more.seconds)?,
        })
    }
}

/// Parses a duration with all its parts.
pub(super) fn length(words: &Words, at: usize) -> Match<Length> {
    let (mut sum, mut end) = part(words, at)?;
    if let Some(next) = words.after_sequence(end, &["and", "a", "half"]) {
        let unit = words.at(end - 1);
        return Some((sum.plus(Length::of(500, unit)?)?, next));
    }
    while let Some((more, next)) = part(words, words.skip(words.skip(end, &[","]), &["and"])) {
        (sum, end) = (sum.plus(more)?, next);
    }
    // `2 h 30`, unless a unit follows.
    let minutes = digits(words.at(end)).filter(|minutes| *minutes < 60 && words.ends_clause(end + 1));
    match minutes.filter(|_| words.is_any(end - 1, &["h", "hr", "hour", "hours"])) {
        Some(minutes) => Some((sum.plus(Length { seconds: minutes * 60, ..Length::default() })?, end + 1)),
        None => Some((sum, end)),
    }
}

/// Like [`length`], with minutes as the default unit.
pub(super) fn length_or_minutes(words: &Words, at: usize) -> Match<Length> {
    length(words, at).or_else(|| {
        let (minutes, next) = whole(words, at)?;
        words.ends_clause(next).then_some(())?;
        Some((Length::of(minutes.checked_mul(1000)?, "min")?, next))
    })
}

fn part(words: &Words, at: usize) -> Match<Length> {
    fraction(words, at).or_else(|| spelled(words, at)).or_else(|| compact(words, at))
}

/// `half an hour`, `a quarter of an hour`, `three quarters of an hour`.
fn fraction(words: &Words, at: usize) -> Match<Length> {
    let (share, next) = match words.after_sequence(at, &["three", "quarters"]) {
        Some(next) => (750, next),
        None => {
            let start = words.skip(at, &["a"]);
            match words.at(start) {
                "half" => (500, start + 1),
                "quarter" => (250, start + 1),
                _ => return None,
            }
        }
    };
    let unit = words.skip(words.skip(next, &["of"]), &["a", "an"]);
    Some((Length::of(share, words.at(unit))?, unit + 1))
}

fn spelled(words: &Words, at: usize) -> Match<Length> {
    let (number, next) = thousandths(words, at)?;
    Some((Length::of(number, words.at(next))?, next + 1))
}

/// `20min`, `1.5h`, `1h30m`, `1h30`.
fn compact(words: &Words, at: usize) -> Match<Length> {
    let text = words.at(at);
    let many = text.bytes().take_while(|byte| byte.is_ascii_digit() || b".,".contains(byte)).count();
    let (number, rest) = text.split_at(many);
    let number = decimal(number).or_else(|| digits(number)?.checked_mul(1000))?;
    let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (unit, rest) = rest.split_at(letters);
    let first = Length::of(number, unit)?;
    let Some((minutes, _, tail)) = leading(rest) else { return rest.is_empty().then_some((first, at + 1)) };
    let second = Length::of(minutes.checked_mul(1000)?, if tail.is_empty() { "min" } else { tail })?;
    let hours = unit.starts_with('h') || !tail.is_empty();
    hours.then_some((first.plus(second)?, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_in_all_notations() {
        let check = |text: &str, (months, days, seconds): (i64, i64, i64)| {
            let read = length(&Words::of(text), 0).map(|(length, _)| length).unwrap_or_default();
            assert_eq!(read, Length { months, days, seconds }, "{text}");
        };
        check("half an hour", (0, 0, 1800));
        check("a quarter of an hour", (0, 0, 900));
        check("three quarters of an hour", (0, 0, 2700));
        check("an hour and a half", (0, 0, 5400));
        check("two and a half hours", (0, 0, 9000));
        check("1h30", (0, 0, 5400));
        check("1h30m", (0, 0, 5400));
        check("1 h 30 min", (0, 0, 5400));
        check("1 h 30", (0, 0, 5400));
        check("1 h 30 x", (0, 0, 3600));
        check("1 hour and 5 minutes", (0, 0, 3900));
        check("1.5 days", (0, 1, 43_200));
        check("2w", (0, 14, 0));
        check("half a year", (6, 0, 0));
        check("a couple of days", (0, 2, 0));
        check("30m20", (0, 0, 0));
        check("1.5 months", (0, 0, 0));
        check("99999999999999999999 years", (12_000_000_000, 0, 0));
        check("20", (0, 0, 0));
    }
}
