//! Reports: what forks and background runs leave for main, which reads each of them once.

use jiff::Timestamp;

use crate::label::Label;

/// The number of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReportId(pub u64);

/// One report that main has not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its number.
    pub id: ReportId,
    /// When it was left.
    pub at: Timestamp,
    /// Who left it: `fork/1f2e3d4c`, `routine:mail`.
    pub from: String,
    /// What it says.
    pub text: String,
    /// What is known of that.
    pub label: Label,
}

/// How long ago `then` was: `just now`, `31m ago`, `5h ago`, `2d ago`.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    match now.duration_since(then).as_secs().max(0) {
        0..60 => "just now".to_owned(),
        seconds @ 60..3_600 => format!("{}m ago", seconds / 60),
        seconds @ 3_600..86_400 => format!("{}h ago", seconds / 3_600),
        seconds => format!("{}d ago", seconds / 86_400),
    }
}

/// The reports that wait, read out for the human, oldest first.
pub fn read_out(reports: &[Report], now: Timestamp) -> String {
    let line = |report: &Report| format!("({}, {}) {}", ago(report.at, now), report.from, report.text);
    match reports {
        [] => "nothing waits to be told.".to_owned(),
        _ => reports.iter().map(line).collect::<Vec<_>>().join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PU-11: whole minutes, hours and days.
    #[test]
    fn time_that_passed_is_told_in_its_largest_unit() {
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
