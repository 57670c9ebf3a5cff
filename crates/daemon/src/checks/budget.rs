//! Checks how much of today's limit for background work is used.

use domain::cost::CostReport;

use super::{Finding, State};
use crate::commands::with_shell_commands;

/// Returns a warning if little is left.
pub fn check(report: &CostReport) -> Option<Finding> {
    let standing = report.limit_notice()?;
    Some(
        Finding::new("cost", State::Warning, with_shell_commands(&standing))
            .with_fix("ollim-bot config daily_limit changes it, ollim-bot cost tells who spent it"),
    )
}

#[cfg(test)]
mod tests {
    use domain::cost::{BudgetLimit, DaySpending, Micros};

    use super::*;

    /// A warning appears from 80 % of the limit, in money or in tokens.
    #[test]
    fn nearly_used_limit_is_reported() {
        let now: jiff::Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
        let limit = BudgetLimit { money: Some(Micros(1_000_000)), tokens: Some(1_000_000) };
        let told = |cost, tokens| {
            let mut report = CostReport::new(&now, 1, limit);
            report.unattended = DaySpending { cost: Micros(cost), tokens, date: report.date };
            check(&report).map(|found| found.to_text())
        };
        assert_eq!(told(790_000, 100), None);
        let near = told(820_000, 100).unwrap();
        assert!(near.starts_with("! cost     82 % of today's limit"), "{near}");
        assert!(near.contains("($0.82 of $1.00).\n    fix: ollim-bot config daily_limit"), "{near}");
        let used = told(0, 1_000_000).unwrap();
        assert!(used.contains("today's 1.0M tokens are used up"), "{used}");
        assert!(used.contains("`ollim-bot config daily_limit 1.00 2M`"), "{used}");
    }
}
