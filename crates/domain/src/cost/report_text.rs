//! Formats the cost report as text.

use super::{CostReport, Total};

impl CostReport {
    /// SL-6: Returns today's cost by account, the cost of the week, and the use of the limit. The
    /// breakdown must cover one day.
    pub fn today_summary(&self) -> String {
        let rows =
            self.breakdown.sources.iter().map(|(name, total)| format!("  {name}: {}", total_text(total)));
        let week = (self.week.calls > 0).then(|| format!("7 days: {}.", total_text(&self.week)));
        let lines = [self.today()].into_iter().chain(rows).chain(week);
        lines.chain([self.limit_line()]).chain(self.limit_notice()).collect::<Vec<_>>().join("\n")
    }

    fn today(&self) -> String {
        if self.today.calls == 0 {
            return "no model was called today, so nothing was spent.".to_owned();
        }
        let cached =
            self.today.cached_percent().map(|percent| format!(", {percent} % of what was read was cached"));
        format!("today: {}{}.", total_text(&self.today), cached.unwrap_or_default())
    }

    /// Returns the use of today's limits.
    pub fn limit_line(&self) -> String {
        let said: Vec<String> = self.limit_usages().map(|bound| bound.to_string()).collect();
        if said.is_empty() {
            "work nobody waits for has no daily limit (`/config daily_limit` sets one).".to_owned()
        } else {
            format!("work nobody waits for, today: {}.", said.join(", "))
        }
    }
}

fn total_text(total: &Total) -> String {
    let calls = |count: u64| if count == 1 { "1 call".to_owned() } else { format!("{count} calls") };
    let money = match total.unpriced {
        0 => total.cost.to_string(),
        unpriced if unpriced == total.calls => "no known price".to_owned(),
        unpriced => format!("{} and {} without a known price", total.cost, calls(unpriced)),
    };
    format!("{money}, {}, {} tokens", calls(total.calls), short_count(total.usage.total()))
}

/// Formats a token count with about three digits.
pub fn short_count(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{:.1}k", tokens as f64 / 1e3),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Zoned;

    use super::super::{Account, BudgetLimit, LedgerEntry, Micros, ModelCall};
    use super::*;
    use crate::conversation::{Branch, Usage};
    use crate::turn::TurnId;

    /// SL-6: The summary has a few lines with the limit, and names calls without a price.
    #[test]
    fn today_is_listed_by_account() {
        let now: Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
        let limit = BudgetLimit { money: Some(Micros(5_000_000)), tokens: None };
        let mut report = CostReport::new(&now, 1, limit);
        assert_eq!(
            report.today_summary(),
            "no model was called today, so nothing was spent.\nwork nobody waits for, today: $0.00 of $5.00."
        );
        let usage = Usage { input: 1_000, cache_read: 9_000, cache_write: 0, cache_write_1h: 0, output: 500 };
        let spent = |branch: Branch, cost: Option<u64>| LedgerEntry {
            at: now.timestamp(),
            account: Account::answer_on(&branch),
            branch,
            turn: TurnId(1),
            call: ModelCall { model: "m".to_owned(), usage },
            cost: cost.map(Micros),
        };
        report.add(&spent(Branch::Main, Some(120_000)), now.date());
        report.add(&spent(Branch::fork("a").unwrap(), None), now.date());
        report.add(&spent(Branch::Main, Some(1_000_000)), now.date().yesterday().unwrap());
        report.unattended.cost = Micros(5_000_000);
        assert_eq!(
            report.today_summary(),
            "today: $0.12 and 1 call without a known price, 2 calls, 21.0k tokens, 90 % of what was read was cached.
  fork: no known price, 1 call, 10.5k tokens
  main: $0.12, 1 call, 10.5k tokens
7 days: $1.12 and 1 call without a known price, 3 calls, 31.5k tokens.
work nobody waits for, today: $5.00 of $5.00.
today's $5.00 is used up. routines are left out until tomorrow, reminders go on. to let routines go on: `/config daily_limit $10.00`"
        );
    }
}
