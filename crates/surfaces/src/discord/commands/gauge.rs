//! The gauge of the ping budget: pings left and the time of the next refill.

use domain::ping_budget::PingBudget;
use jiff::{SignedDuration, Timestamp};

/// Maximum number of dots that are drawn.
const MAX_DOTS: u32 = 12;

/// Renders, for example, `pings ● ● ○  2 of 3 left · next +1 in 40 minutes`.
pub(super) fn ping_gauge(pings: &PingBudget, now: Timestamp) -> String {
    let left = (0..=pings.capacity).rev().find(|left| f64::from(*left) <= pings.available).unwrap_or(0);
    let dot = |at: u32| if at < left { "●" } else { "○" };
    let dots = match pings.capacity {
        1..=MAX_DOTS => format!("{}  ", (0..pings.capacity).map(dot).collect::<Vec<_>>().join(" ")),
        _ => String::new(),
    };
    let next = pings.minutes_to_refill().map(|minutes| {
        let at = now + SignedDuration::from_mins(i64::from(minutes));
        format!(" · next +1 <t:{}:R>", at.as_second())
    });
    let counted = |count: u32, what: &str| (count > 0).then(|| format!(" · {what} {count}"));
    let today = counted(pings.used.count, "today");
    let critical = counted(pings.critical.count, "too urgent to wait");
    let more: String = [next, today, critical].into_iter().flatten().collect();
    format!("pings {dots}{left} of {} left{more}", pings.capacity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::context_tool::Urgency;

    /// SL-12: the gauge shows the pings left and the next refill.
    #[test]
    fn gauge_shows_pings_left_and_next_refill() {
        let now: jiff::Zoned = "2026-11-16T10:00[Europe/Madrid]".parse().unwrap();
        let full = PingBudget { capacity: 3, available: 3.0, ..PingBudget::full(&now) };
        assert_eq!(ping_gauge(&full, now.timestamp()), "pings ● ● ●  3 of 3 left");
        let used = full.charge(Urgency::Normal);
        let at = now.timestamp().as_second() + 90 * 60;
        let expected = format!("pings ● ● ○  2 of 3 left · next +1 <t:{at}:R> · today 1");
        assert_eq!(ping_gauge(&used, now.timestamp()), expected);
        let many = PingBudget { capacity: 40, available: 7.5, ..full };
        assert!(ping_gauge(&many, now.timestamp()).starts_with("pings 7 of 40 left · next +1 "));
    }
}
