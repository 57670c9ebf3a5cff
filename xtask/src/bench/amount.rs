//! Amounts with units, and targets for them.

use std::fmt;

/// The unit of an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Time, in nanoseconds.
    Time,
    /// Size, in bytes.
    Size,
    /// A number of items.
    Count,
    /// A share of the whole, in percent.
    Percent,
}

/// A measured or promised value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// The value, in nanoseconds, bytes, items or percent.
    pub value: f64,
    pub unit: Unit,
}

/// Creates an amount in milliseconds.
pub const fn ms(value: f64) -> Amount {
    Amount { value: value * 1e6, unit: Unit::Time }
}

/// Creates an amount in microseconds.
pub const fn us(value: f64) -> Amount {
    Amount { value: value * 1e3, unit: Unit::Time }
}

/// Creates an amount in megabytes.
pub const fn mb(value: f64) -> Amount {
    Amount { value: value * 1e6, unit: Unit::Size }
}

/// Creates an amount in kilobytes.
pub const fn kb(value: f64) -> Amount {
    Amount { value: value * 1e3, unit: Unit::Size }
}

/// Creates a number of items.
pub const fn count(value: f64) -> Amount {
    Amount { value, unit: Unit::Count }
}

/// Creates a percentage.
pub const fn percent(value: f64) -> Amount {
    Amount { value, unit: Unit::Percent }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: &[(f64, &str)] = match self.unit {
            Unit::Time => &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")],
            Unit::Size => &[(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")],
            Unit::Count => &[(1.0, "")],
            Unit::Percent => &[(1.0, "%")],
        };
        let last = steps[steps.len() - 1];
        let (step, name) = steps.iter().copied().find(|(step, _)| self.value >= *step).unwrap_or(last);
        let value = format!("{:.2}", self.value / step);
        let value = value.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{}", format!("{value} {name}").trim_end())
    }
}

/// The target of an amount.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    AtMost(Amount),
    AtLeast(Amount),
}

impl Target {
    /// Returns whether `measured` meets the target. An amount with another unit never does.
    pub fn is_met_by(&self, measured: Amount) -> bool {
        match self {
            Self::AtMost(most) => measured.unit == most.unit && measured.value <= most.value,
            Self::AtLeast(least) => measured.unit == least.unit && measured.value >= least.value,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "at most {most}"),
            Self::AtLeast(least) => write!(f, "at least {least}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amount_is_formatted_in_a_suitable_unit() {
        for (amount, text) in [
            (ms(100.0), "100 ms"),
            (us(0.25), "250 ns"),
            (ms(1500.0), "1.5 s"),
            (mb(15.934), "15.93 MB"),
            (kb(100.0), "100 KB"),
            (count(5000.0), "5000"),
            (percent(98.0), "98 %"),
            (us(0.0), "0 ns"),
        ] {
            assert_eq!(amount.to_string(), text);
        }
    }

    #[test]
    fn target_includes_its_limit_and_checks_the_unit() {
        assert!(Target::AtMost(ms(5.0)).is_met_by(us(5000.0)));
        assert!(!Target::AtMost(ms(5.0)).is_met_by(ms(5.1)));
        assert!(!Target::AtMost(ms(5.0)).is_met_by(count(1.0)));
        assert!(Target::AtLeast(percent(98.0)).is_met_by(percent(99.5)));
        assert!(!Target::AtLeast(percent(98.0)).is_met_by(percent(97.9)));
    }
}
