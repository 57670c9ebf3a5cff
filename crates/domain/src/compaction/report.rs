//! The one-line report of a compaction for the user.

use jiff::SignedDuration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionReport {
    /// The number of user messages that the summary replaces.
    pub turns: usize,
    /// The age of the conversation, if known.
    pub age: Option<SignedDuration>,
    /// The tokens of the conversation, if the model reported them.
    pub tokens: Option<u64>,
}

impl CompactionReport {
    /// CP-4: Returns `12 turns · 3h 12m · 90k tokens compacted`; unknown parts are left out.
    pub fn line(&self) -> String {
        let turns = format!("{} turns", self.turns);
        let tokens = self.tokens.map(|tokens| format!("{} tokens compacted", thousands(tokens)));
        [Some(turns), self.age.map(format_age), tokens].into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

/// Formats a token count in thousands, such as `90k`.
pub fn thousands(tokens: u64) -> String {
    format!("{}k", (tokens + 500) / 1000)
}

fn format_age(age: SignedDuration) -> String {
    let minutes = age.as_mins().max(0);
    match (minutes / 60, minutes % 60) {
        (0, 0) => "< 1m".to_owned(),
        (0, minutes) => format!("{minutes}m"),
        (hours, 0) => format!("{hours}h"),
        (hours, minutes) => format!("{hours}h {minutes}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CP-4: Hours are not converted to days, and unknown parts are left out.
    #[test]
    fn line_shows_turns_age_and_tokens() {
        let check = |minutes: Option<i64>, tokens, expected: &str| {
            let report = CompactionReport { turns: 12, age: minutes.map(SignedDuration::from_mins), tokens };
            assert_eq!(report.line(), expected);
        };
        check(Some(192), Some(90_400), "12 turns · 3h 12m · 90k tokens compacted");
        check(Some(180), Some(499), "12 turns · 3h · 0k tokens compacted");
        check(Some(45), None, "12 turns · 45m");
        check(Some(0), None, "12 turns · < 1m");
        check(Some(60 * 50), Some(500), "12 turns · 50h · 1k tokens compacted");
        check(None, None, "12 turns");
    }
}
