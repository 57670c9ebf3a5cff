//! Pending updates: texts that forks and background runs leave for main, which reads each once.

use jiff::Timestamp;

use crate::label::Label;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UpdateId(pub u64);

/// An update that main has not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingUpdate {
    pub id: UpdateId,
    pub at: Timestamp,
    /// Its source, such as `fork/1f2e3d4c` or `routine:mail`.
    pub source: String,
    pub text: String,
    pub label: Label,
}

/// Returns the time since `then`, such as `just now`, `31m ago`, `5h ago` or `2d ago`.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    match now.duration_since(then).as_secs().max(0) {
        0..60 => "just now".to_owned(),
        seconds @ 60..3_600 => format!("{}m ago", seconds / 60),
        seconds @ 3_600..86_400 => format!("{}h ago", seconds / 3_600),
        seconds => format!("{}d ago", seconds / 86_400),
    }
}

/// Returns the pending updates as a list for the user, oldest first.
pub fn list_text(reports: &[PendingUpdate], now: Timestamp) -> String {
    let line =
        |report: &PendingUpdate| format!("({}, {}) {}", ago(report.at, now), report.source, report.text);
    match reports {
        [] => "nothing waits to be told.".to_owned(),
        _ => reports.iter().map(line).collect::<Vec<_>>().join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PU-11: The time is shown in whole minutes, hours or days.
    #[test]
    fn elapsed_time_uses_the_largest_unit() {
        let check = |seconds: i64, expected: &str| {
            let then = Timestamp::constant(1_794_700_000, 0);
            let now = then + jiff::SignedDuration::from_secs(seconds);
            assert_eq!(ago(then, now), expected);
        };
        check(-5, "just now");
        check(59, "just now");
        check(60, "1m ago");
        check(3_599, "59m ago");
        check(3_600, "1h ago");
        check(86_399, "23h ago");
        check(86_400, "1d ago");
        check(900_000, "10d ago");
    }
}
