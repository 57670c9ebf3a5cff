//! When a routine recurs, as five fields.
//!
//! Here the fields are only checked; the days they fall on are reckoned elsewhere.

use super::Invalid;

/// Five fields that name minutes, hours, days, months and weekdays, exactly as the human wrote them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cron(String);

impl Cron {
    /// Reads `text` as five fields.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let Ok(fields) = <[&str; 5]>::try_from(fields) else {
            let reason = format!(
                "{text:?} does not have five fields ({} found); write them as: minute, hour, day, month, weekday, like `0 9 * * 1-5`",
                text.split_whitespace().count()
            );
            return Err(Invalid::new("cron", reason));
        };
        for (field, unit) in fields.into_iter().zip(&UNITS) {
            unit.check(field)?;
        }
        Ok(Self(text.trim().to_owned()))
    }

    /// The fields as the human wrote them.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

struct Unit {
    name: &'static str,
    least: u32,
    most: u32,
    names: &'static [&'static str],
    /// Whether a range may run over the end, as from Saturday to Monday.
    turns: Turns,
}

enum Turns {
    Round,
    Never,
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const UNITS: [Unit; 5] = [
    Unit { name: "minute", least: 0, most: 59, names: &[], turns: Turns::Never },
    Unit { name: "hour", least: 0, most: 23, names: &[], turns: Turns::Never },
    Unit { name: "day of the month", least: 1, most: 31, names: &[], turns: Turns::Never },
    Unit { name: "month", least: 1, most: 12, names: &MONTHS, turns: Turns::Never },
    Unit { name: "weekday", least: 0, most: 7, names: &WEEKDAYS, turns: Turns::Round },
];

impl Unit {
    fn check(&self, field: &str) -> Result<(), Invalid> {
        match field.split(',').all(|part| self.plausible(part)) {
            true => Ok(()),
            false => Err(Invalid::new("cron", self.wrong(field))),
        }
    }

    fn plausible(&self, part: &str) -> bool {
        let (span, step) = match part.split_once('/') {
            Some((span, step)) => (span, number(step)),
            None => (part, Some(1)),
        };
        if step.is_none_or(|step| step == 0) {
            return false;
        }
        match (span, span.split_once('-')) {
            ("*", _) => true,
            (_, Some((from, to))) => self.range(from, to),
            (single, None) => self.value(single).is_some(),
        }
    }

    fn range(&self, from: &str, to: &str) -> bool {
        match (self.value(from), self.value(to), &self.turns) {
            (Some(from), Some(to), Turns::Never) => from <= to,
            (Some(_), Some(_), Turns::Round) => true,
            (None, _, _) | (_, None, _) => false,
        }
    }

    fn value(&self, text: &str) -> Option<u32> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let value = match named {
            Some(place) => Some(self.least + u32::try_from(place).ok()?),
            None => number(text),
        };
        value.filter(|value| (self.least..=self.most).contains(value))
    }

    fn wrong(&self, field: &str) -> String {
        let Self { name, least, most, .. } = self;
        format!("{field:?} does not fit the {name}; use {least} to {most}, `*`, `a-b`, `a,b` or `*/n`")
    }
}

/// Reads digits alone; a sign is not a number here.
fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DD-39, SC-8, SC-9: five fields with values that exist.
    #[test]
    fn a_routine_recurs_by_five_fields() {
        for right in [
            "0 9 * * 1-5",
            "*/30 * * * *",
            "0,15,30-40/2 0-23 1,31 jan-DEC sun",
            "0 0 * * 5-7",
            "0 0 * * fri-mon",
            "  0\t9 * * 1  ",
            "5/10 * * * *",
        ] {
            assert_eq!(Cron::parse(right).unwrap().as_str(), right.trim());
        }
    }

    /// DD-39: what cannot be a cron is refused with the part that is wrong.
    #[test]
    fn a_wrong_cron_is_named_in_words_its_author_can_act_on() {
        let cases = [
            ("", "(0 found)"),
            ("0 9 * *", "(4 found)"),
            ("0 9 * * * *", "(6 found)"),
            ("60 9 * * *", "\"60\" does not fit the minute"),
            ("0 24 * * *", "\"24\" does not fit the hour"),
            ("0 9 0 * *", "day of the month"),
            ("0 9 * foo *", "\"foo\" does not fit the month"),
            ("0 9 * * 8", "weekday"),
            ("*/0 * * * *", "minute"),
            ("5-1 * * * *", "minute"),
            ("1,,2 * * * *", "minute"),
            ("+1 * * * *", "minute"),
            ("@daily", "(1 found)"),
            ("99999999999 * * * *", "minute"),
        ];
        for (wrong, said) in cases {
            let reason = Cron::parse(wrong).unwrap_err().to_string();
            assert!(reason.contains(said), "{wrong:?}: {reason}");
        }
    }
}
