//! Alerts the user once when the daily limit is near, and once when it is reached.
//!
//! An alert is computed from the spending before and after a call. The spending is in the ledger,
//! so no alert is repeated after a restart.

use super::{BudgetLimit, DaySpending, short_count};

/// The share of the limit at which the user is warned, in percent.
pub(super) const WARN_PERCENT: u64 = 80;

/// Returns the alert for a day that changes from `before` to `after`; `None` if no threshold was
/// passed.
pub fn alert(before: &DaySpending, after: &DaySpending, limit: &BudgetLimit) -> Option<String> {
    let passes = |before: u64, after: u64, most: u64, percent: u64| {
        let bound = (u128::from(most) * u128::from(percent)).div_ceil(100);
        most > 0 && u128::from(before) < bound && u128::from(after) >= bound
    };
    let money = limit.money.map(|most| (before.cost.0, after.cost.0, most.0));
    let tokens = limit.tokens.map(|most| (before.tokens, after.tokens, most));
    let passed = |percent: u64| {
        let of = |numbers: Option<(u64, u64, u64)>| {
            numbers.is_some_and(|(before, after, most)| passes(before, after, most, percent))
        };
        (of(money), of(tokens))
    };
    let used = |(by_money, _): (bool, bool)| match (by_money, limit.money, limit.tokens) {
        (true, Some(most), _) => format!("{} of {most}", after.cost),
        (_, _, most) => {
            format!("{} of {} tokens", short_count(after.tokens), short_count(most.unwrap_or_default()))
        }
    };
    match (passed(100), passed(WARN_PERCENT)) {
        ((false, false), (false, false)) => None,
        ((false, false), near) => Some(format!(
            "work nobody waits for has used {} of what it may today. at the limit routines are left out and what \
             webhooks bring waits until tomorrow; `ollim-bot cost` tells who spent it.",
            used(near)
        )),
        (full, _) => Some(format!(
            "work nobody waits for has used all that it may today ({}). until tomorrow routines are left out, what \
             webhooks bring waits, and reminders come as they were written; you and i go on as always. `/config \
             daily_limit` and a higher one lets it go on today.",
            used(full)
        )),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::super::Micros;
    use super::*;

    #[test]
    fn each_threshold_is_reported_once() {
        let day = |cost: u64, tokens: u64| DaySpending {
            cost: Micros(cost),
            tokens,
            ..DaySpending::empty(date(2026, 11, 15))
        };
        let limit = BudgetLimit { money: Some(Micros(5_000_000)), tokens: Some(1_000) };
        let check = |before: DaySpending, after: DaySpending, says: Option<&str>| {
            let said = alert(&before, &after, &limit);
            match (&said, says) {
                (Some(said), Some(says)) => assert!(said.contains(says), "{said}"),
                (said, says) => assert_eq!(said.is_some(), says.is_some(), "{said:?}"),
            }
        };
        check(day(0, 0), day(3_999_999, 0), None);
        check(day(3_999_999, 0), day(4_000_000, 0), Some("has used $4.00 of $5.00 of what"));
        check(day(4_000_000, 0), day(4_999_999, 799), None);
        check(
            day(4_999_999, 799),
            day(5_000_000, 799),
            Some("has used all that it may today ($5.00 of $5.00)"),
        );
        check(day(0, 799), day(0, 800), Some("800 of 1.0k tokens of what"));
        check(day(0, 0), day(9_000_000, 0), Some("has used all"));
        check(day(5_000_000, 1_000), day(6_000_000, 2_000), None);
        let none = BudgetLimit::default();
        assert_eq!(alert(&day(0, 0), &day(u64::MAX, u64::MAX), &none), None);
        let nothing = BudgetLimit { money: Some(Micros(0)), tokens: None };
        assert_eq!(alert(&day(0, 0), &day(1, 1), &nothing), None, "who set it to nothing knows it");
    }
}
