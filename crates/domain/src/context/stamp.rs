//! The time stamp before every message.

use jiff::Zoned;

/// The zones that are abbreviated as "PT".
const PACIFIC_ZONES: [&str; 2] = ["America/Los_Angeles", "US/Pacific"];

/// Returns a time stamp such as `[2026-03-05 Thu 09:07 AM PT]`.
pub fn stamp(now: &Zoned) -> String {
    let zone = now.time_zone();
    let pacific = zone.iana_name().is_some_and(|name| PACIFIC_ZONES.contains(&name));
    let label = if pacific { "PT".to_owned() } else { now.strftime("%Z").to_string() };
    format!("[{} {label}]", now.strftime("%Y-%m-%d %a %I:%M %p"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MC-12, MC-13: The stamp uses the twelve-hour clock, the English day, and `PT` for Pacific
    /// time.
    #[test]
    fn stamp_uses_the_zone_of_the_time() {
        let check = |time: &str, expected: &str| assert_eq!(stamp(&time.parse().unwrap()), expected);
        check("2026-03-05T09:07[America/Los_Angeles]", "[2026-03-05 Thu 09:07 AM PT]");
        check("2026-07-05T21:07[US/Pacific]", "[2026-07-05 Sun 09:07 PM PT]");
        check("2026-03-05T00:07[Europe/Berlin]", "[2026-03-05 Thu 12:07 AM CET]");
        check("2026-07-05T12:00[Europe/Berlin]", "[2026-07-05 Sun 12:00 PM CEST]");
        check("2026-03-05T12:00[UTC]", "[2026-03-05 Thu 12:00 PM UTC]");
    }
}
