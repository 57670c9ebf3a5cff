//! The use of today's limits. It is shown on request, because an alert appears only once and may be
//! missed.

use std::fmt;

use super::alert::NEAR;
use super::{Day, Limit, Micros, Report, short};
use crate::settings::DailyLimit;

/// One daily limit and its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Money {
        used: Micros,
        most: Micros,
    },
    /// In tokens that were not read from the cache.
    Tokens {
        used: u64,
        most: u64,
    },
}

impl Bound {
    /// Returns the used share in percent; 100 for a limit of zero.
    pub fn percent(&self) -> u64 {
        match *self {
            Self::Money { used, most } => percent(used.0, most.0),
            Self::Tokens { used, most } => percent(used, most),
        }
    }

    /// Returns whether the limit is zero. The user set it, so no notice is needed.
    fn is_nothing(&self) -> bool {
        matches!(self, Self::Money { most: Micros(0), .. } | Self::Tokens { most: 0, .. })
    }
}

fn percent(used: u64, most: u64) -> u64 {
    let percent = (u128::from(used) * 100).checked_div(u128::from(most));
    percent.map_or(100, |percent| u64::try_from(percent).unwrap_or(u64::MAX))
}

/// Formats it such as `$0.82 of $1.00`.
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Money { used, most } => write!(f, "{used} of {most}"),
            Self::Tokens { used, most } => write!(f, "{} of {} tokens", short(*used), short(*most)),
        }
    }
}

impl Report {
    /// Returns today's limits: money, then tokens.
    pub fn bounds(&self) -> impl Iterator<Item = Bound> {
        let Limit { money, tokens } = self.limit;
        let Day { cost, tokens: used, .. } = self.unattended;
        let money = money.map(|most| Bound::Money { used: cost, most });
        money.into_iter().chain(tokens.map(|most| Bound::Tokens { used, most }))
    }

    /// Returns the limit with the largest used share.
    pub fn nearest(&self) -> Option<Bound> {
        self.bounds().max_by_key(Bound::percent)
    }

    /// Returns the notice about a limit that is nearly or fully used.
    pub fn standing(&self) -> Option<String> {
        let nearest = self.pressing()?;
        let more = self.raised()?;
        let left_out = format!(
            "routines are left out until tomorrow, reminders go on. to let routines go on: `/config daily_limit {more}`"
        );
        Some(match (nearest.percent(), nearest) {
            (..100, nearest) => format!(
                "{} % of today's limit for work nobody waits for is used ({nearest}).",
                nearest.percent()
            ),
            (_, Bound::Money { most, .. }) => format!("today's {most} is used up. {left_out}"),
            (_, Bound::Tokens { most, .. }) => {
                format!("today's {} tokens are used up. {left_out}", short(most))
            }
        })
    }

    /// Returns a limit that would allow more, if today's limit is nearly or fully used. Both parts
    /// are named, because setting one part replaces the other.
    pub fn raised(&self) -> Option<DailyLimit> {
        let least = if self.pressing()?.percent() < 100 { NEAR } else { 100 };
        let raise = |used: u64, most: u64| {
            if percent(used, most) >= least {
                most.saturating_mul(used.checked_div(most).unwrap_or_default().saturating_add(1).max(2))
            } else {
                most
            }
        };
        let Limit { money, tokens } = self.limit;
        let Day { cost, tokens: used, .. } = self.unattended;
        let money = money.map(|most| Micros(raise(cost.0, most.0)));
        Some(DailyLimit::Set(Limit { money, tokens: tokens.map(|most| raise(used, most)) }))
    }

    /// Returns the limit with the largest used share, if it is nearly or fully used.
    fn pressing(&self) -> Option<Bound> {
        let nearest = self.bounds().filter(|bound| !bound.is_nothing()).max_by_key(Bound::percent);
        nearest.filter(|bound| bound.percent() >= NEAR)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Zoned;

    use super::*;

    fn report(limit: Limit, cost: u64, tokens: u64) -> Report {
        let now: Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
        let mut report = Report::new(&now, 1, limit);
        report.unattended = Day { cost: Micros(cost), tokens, ..report.unattended };
        report
    }

    /// The notice names the limit with the largest used share, whether money or tokens.
    #[test]
    fn whoever_looks_is_told_of_the_limit_that_ends_first() {
        let both = Limit { money: Some(Micros(1_000_000)), tokens: Some(5_000_000) };
        let check = |limit: Limit, (cost, tokens): (u64, u64), nearest: Option<&str>, says: Option<&str>| {
            let report = report(limit, cost, tokens);
            assert_eq!(report.nearest().map(|bound| bound.to_string()).as_deref(), nearest);
            assert_eq!(report.standing().as_deref(), says);
        };
        check(Limit::default(), (9_000_000, 9_000_000), None, None);
        check(both, (0, 0), Some("0 of 5.0M tokens"), None);
        check(both, (799_999, 0), Some("$0.80 of $1.00"), None);
        check(
            both,
            (820_000, 100),
            Some("$0.82 of $1.00"),
            Some("82 % of today's limit for work nobody waits for is used ($0.82 of $1.00)."),
        );
        check(
            both,
            (0, 4_000_000),
            Some("4.0M of 5.0M tokens"),
            Some("80 % of today's limit for work nobody waits for is used (4.0M of 5.0M tokens)."),
        );
        check(
            both,
            (0, 5_000_001),
            Some("5.0M of 5.0M tokens"),
            Some(
                "today's 5.0M tokens are used up. routines are left out until tomorrow, reminders go on. to let routines go \
                 on: `/config daily_limit $1.00 10M`",
            ),
        );
        check(
            both,
            (1_000_000, 4_500_000),
            Some("$1.00 of $1.00"),
            Some(
                "today's $1.00 is used up. routines are left out until tomorrow, reminders go on. to let routines go on: \
                 `/config daily_limit $2.00 5M`",
            ),
        );
        let both_used = report(both, 1_000_000, 5_000_000).standing().unwrap();
        assert!(both_used.ends_with("`/config daily_limit $2.00 10M`"), "{both_used}");
        let nothing = Limit { money: Some(Micros(0)), tokens: None };
        check(nothing, (0, 0), Some("$0.00 of $0.00"), None);
        assert_eq!(
            report(Limit { money: None, tokens: Some(1) }, 0, u64::MAX).nearest().map(|it| it.percent()),
            Some(u64::MAX)
        );
    }

    /// Near the limit the nearly used parts are raised, at the limit the used ones, and always
    /// above what was used.
    #[test]
    fn a_raised_limit_lets_more_through() {
        let both = Limit { money: Some(Micros(1_000_000)), tokens: Some(5_000_000) };
        let check = |(cost, tokens): (u64, u64), raised: Option<&str>| {
            assert_eq!(report(both, cost, tokens).raised().map(|it| it.to_string()).as_deref(), raised);
        };
        check((700_000, 0), None);
        check((800_000, 0), Some("$2.00 5M"));
        check((800_000, 4_000_000), Some("$2.00 10M"));
        check((1_000_000, 4_500_000), Some("$2.00 5M"));
        check((3_200_000, 0), Some("$4.00 5M"));
        assert_eq!(report(Limit { money: Some(Micros(0)), tokens: None }, 9, 9).raised(), None);
    }
}
