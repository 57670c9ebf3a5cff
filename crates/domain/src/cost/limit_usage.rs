//! The use of today's limits. It is shown on request, because an alert appears only once and may be
//! missed.

use std::fmt;

use super::alert::WARN_PERCENT;
use super::{BudgetLimit, CostReport, DaySpending, Micros, short_count};
use crate::settings::DailyLimit;

/// One daily limit and its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUsage {
    Money {
        used: Micros,
        limit: Micros,
    },
    /// In tokens that were not read from the cache.
    Tokens {
        used: u64,
        limit: u64,
    },
}

impl LimitUsage {
    /// Returns the used share in percent; 100 for a limit of zero.
    pub fn percent(&self) -> u64 {
        match *self {
            Self::Money { used, limit: most } => percent(used.0, most.0),
            Self::Tokens { used, limit: most } => percent(used, most),
        }
    }

    /// Returns whether the limit is zero. The user set it, so no notice is needed.
    fn is_zero(&self) -> bool {
        matches!(self, Self::Money { limit: Micros(0), .. } | Self::Tokens { limit: 0, .. })
    }
}

fn percent(used: u64, most: u64) -> u64 {
    let percent = (u128::from(used) * 100).checked_div(u128::from(most));
    percent.map_or(100, |percent| u64::try_from(percent).unwrap_or(u64::MAX))
}

/// Formats it such as `$0.82 of $1.00`.
impl fmt::Display for LimitUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Money { used, limit: most } => write!(f, "{used} of {most}"),
            Self::Tokens { used, limit: most } => {
                write!(f, "{} of {} tokens", short_count(*used), short_count(*most))
            }
        }
    }
}

impl CostReport {
    /// Returns today's limits: money, then tokens.
    pub fn limit_usages(&self) -> impl Iterator<Item = LimitUsage> {
        let BudgetLimit { money, tokens } = self.limit;
        let DaySpending { cost, tokens: used, .. } = self.unattended;
        let money = money.map(|most| LimitUsage::Money { used: cost, limit: most });
        money.into_iter().chain(tokens.map(|most| LimitUsage::Tokens { used, limit: most }))
    }

    /// Returns the limit with the largest used share.
    pub fn tightest_limit(&self) -> Option<LimitUsage> {
        self.limit_usages().max_by_key(LimitUsage::percent)
    }

    /// Returns the notice about a limit that is nearly or fully used.
    pub fn limit_notice(&self) -> Option<String> {
        let nearest = self.nearly_used_limit()?;
        let more = self.raised_limit()?;
        let left_out = format!(
            "routines are left out until tomorrow, reminders go on. to let routines go on: `/config daily_limit {more}`"
        );
        Some(match (nearest.percent(), nearest) {
            (..100, nearest) => format!(
                "{} % of today's limit for work nobody waits for is used ({nearest}).",
                nearest.percent()
            ),
            (_, LimitUsage::Money { limit: most, .. }) => format!("today's {most} is used up. {left_out}"),
            (_, LimitUsage::Tokens { limit: most, .. }) => {
                format!("today's {} tokens are used up. {left_out}", short_count(most))
            }
        })
    }

    /// Returns a limit that would allow more, if today's limit is nearly or fully used. Both parts
    /// are named, because setting one part replaces the other.
    pub fn raised_limit(&self) -> Option<DailyLimit> {
        let least = if self.nearly_used_limit()?.percent() < 100 { WARN_PERCENT } else { 100 };
        let raise = |used: u64, most: u64| {
            if percent(used, most) >= least {
                most.saturating_mul(used.checked_div(most).unwrap_or_default().saturating_add(1).max(2))
            } else {
                most
            }
        };
        let BudgetLimit { money, tokens } = self.limit;
        let DaySpending { cost, tokens: used, .. } = self.unattended;
        let money = money.map(|most| Micros(raise(cost.0, most.0)));
        Some(DailyLimit::Set(BudgetLimit { money, tokens: tokens.map(|most| raise(used, most)) }))
    }

    /// Returns the limit with the largest used share, if it is nearly or fully used.
    fn nearly_used_limit(&self) -> Option<LimitUsage> {
        let nearest = self.limit_usages().filter(|bound| !bound.is_zero()).max_by_key(LimitUsage::percent);
        nearest.filter(|bound| bound.percent() >= WARN_PERCENT)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Zoned;

    use super::*;

    fn report(limit: BudgetLimit, cost: u64, tokens: u64) -> CostReport {
        let now: Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
        let mut report = CostReport::new(&now, 1, limit);
        report.unattended = DaySpending { cost: Micros(cost), tokens, ..report.unattended };
        report
    }

    /// The notice names the limit with the largest used share, whether money or tokens.
    #[test]
    fn notice_names_the_tightest_limit() {
        let both = BudgetLimit { money: Some(Micros(1_000_000)), tokens: Some(5_000_000) };
        let check =
            |limit: BudgetLimit, (cost, tokens): (u64, u64), nearest: Option<&str>, says: Option<&str>| {
                let report = report(limit, cost, tokens);
                assert_eq!(report.tightest_limit().map(|bound| bound.to_string()).as_deref(), nearest);
                assert_eq!(report.limit_notice().as_deref(), says);
            };
        check(BudgetLimit::default(), (9_000_000, 9_000_000), None, None);
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
        let both_used = report(both, 1_000_000, 5_000_000).limit_notice().unwrap();
        assert!(both_used.ends_with("`/config daily_limit $2.00 10M`"), "{both_used}");
        let nothing = BudgetLimit { money: Some(Micros(0)), tokens: None };
        check(nothing, (0, 0), Some("$0.00 of $0.00"), None);
        assert_eq!(
            report(BudgetLimit { money: None, tokens: Some(1) }, 0, u64::MAX)
                .tightest_limit()
                .map(|it| it.percent()),
            Some(u64::MAX)
        );
    }

    /// Near the limit the nearly used parts are raised, at the limit the used ones, and always
    /// above what was used.
    #[test]
    fn raised_limit_allows_more() {
        let both = BudgetLimit { money: Some(Micros(1_000_000)), tokens: Some(5_000_000) };
        let check = |(cost, tokens): (u64, u64), raised: Option<&str>| {
            assert_eq!(report(both, cost, tokens).raised_limit().map(|it| it.to_string()).as_deref(), raised);
        };
        check((700_000, 0), None);
        check((800_000, 0), Some("$2.00 5M"));
        check((800_000, 4_000_000), Some("$2.00 10M"));
        check((1_000_000, 4_500_000), Some("$2.00 5M"));
        check((3_200_000, 0), Some("$4.00 5M"));
        assert_eq!(report(BudgetLimit { money: Some(Micros(0)), tokens: None }, 9, 9).raised_limit(), None);
    }
}
