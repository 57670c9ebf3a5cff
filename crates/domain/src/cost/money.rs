//! Money in millionths of a dollar, precise enough for single calls and large enough for years.

use std::fmt;
use std::iter::Sum;
use std::ops::AddAssign;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub u64);

/// Millionths in a dollar, and in a cent.
const DOLLAR: u64 = 1_000_000;
const CENT: u64 = DOLLAR / 100;

impl Micros {
    /// Returns the amount of `dollars`; `None` if it is negative, too large or not a number.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let micros = dollars * DOLLAR as f64;
        (micros.is_finite() && (0.0..9e15).contains(&micros)).then(|| Self(micros.round() as u64))
    }

    /// Returns the amount in dollars, for programs.
    pub fn as_dollars(self) -> f64 {
        self.0 as f64 / DOLLAR as f64
    }

    /// Returns the amount rounded up to cents.
    #[must_use]
    pub fn in_whole_cents(self) -> Self {
        Self(self.0.div_ceil(CENT).saturating_mul(CENT))
    }

    /// Returns the rest after `spent`.
    #[must_use]
    pub fn minus(self, spent: Self) -> Self {
        Self(self.0.saturating_sub(spent.0))
    }
}

impl AddAssign for Micros {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl Sum for Micros {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), |mut sum, next| {
            sum += next;
            sum
        })
    }
}

/// Dollars and cents. Amounts below a cent are not shown as zero.
impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cents = (self.0 + CENT / 2) / CENT;
        match self.0 {
            1..CENT => write!(f, "<$0.01"),
            _ => write!(f, "${}.{:02}", cents / 100, cents % 100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_reads_as_dollars_and_cents() {
        let check = |micros: u64, read: &str| assert_eq!(Micros(micros).to_string(), read);
        check(0, "$0.00");
        check(1, "<$0.01");
        check(9_999, "<$0.01");
        check(10_000, "$0.01");
        check(14_999, "$0.01");
        check(15_000, "$0.02");
        check(12_345_678, "$12.35");
    }

    #[test]
    fn invalid_amounts_are_none() {
        assert_eq!(Micros::from_dollars(2.5), Some(Micros(2_500_000)));
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e18] {
            assert_eq!(Micros::from_dollars(wrong), None, "{wrong}");
        }
    }
}
