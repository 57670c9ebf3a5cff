//! How a job handles missed times, overlapping runs, and pauses.

use jiff::{SignedDuration, Timestamp};

use super::{InvalidField, Moment};

/// When a job fires despite missed times, overlap and pauses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FiringPolicy {
    /// The handling of missed times; `None` uses the default.
    pub if_missed: Option<MissedPolicy>,
    /// The handling of a time that comes while the job is still running.
    pub overlap: OverlapPolicy,
    pub pause: PauseState,
}

/// The handling of times that passed while the job could not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MissedPolicy {
    /// Run once, however late.
    Once,
    Skip,
    /// Run once if at most this late.
    Within(SignedDuration),
}

/// The handling of a time that comes while the job is still running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OverlapPolicy {
    #[default]
    Skip,
    /// Wait until the run ends; a second waiting time is skipped.
    Queue,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PauseState {
    #[default]
    Active,
    Until(Moment),
    /// Until the user ends it.
    Indefinite,
}

impl PauseState {
    /// Returns whether the pause covers `time`.
    pub fn covers(self, time: Timestamp) -> bool {
        match self {
            Self::Active => false,
            Self::Until(moment) => time < moment.at,
            Self::Indefinite => true,
        }
    }

    /// The value in a file; `None` if not paused.
    pub fn file_value(self) -> Option<String> {
        match self {
            Self::Active => None,
            Self::Until(moment) => Some(moment.to_string()),
            Self::Indefinite => Some("true".to_owned()),
        }
    }
}

impl MissedPolicy {
    /// The default of reminders.
    pub const REMINDER_DEFAULT: Self = Self::Within(SignedDuration::from_hours(7 * 24));
    /// The maximum delay in the default of routines.
    const MAX_ROUTINE_DELAY: SignedDuration = SignedDuration::from_hours(6);

    /// The default of a routine with this `period`.
    pub fn routine_default(period: SignedDuration) -> Self {
        Self::Within((period / 2).min(Self::MAX_ROUTINE_DELAY))
    }

    /// Returns whether the job still runs when it is `late` by this much.
    pub fn allows(self, late: SignedDuration) -> bool {
        match self {
            Self::Once => true,
            Self::Skip => false,
            Self::Within(most) => late <= most,
        }
    }

    /// Parses the value in a file: `once`, `skip`, `if-within 2h`.
    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        let text = text.trim();
        let within = || {
            let span = text.strip_prefix("if-within")?.trim();
            let most: SignedDuration = span.parse().ok()?;
            most.is_positive().then_some(Self::Within(most))
        };
        match text {
            "once" => Ok(Self::Once),
            "skip" => Ok(Self::Skip),
            _ => within().ok_or_else(|| {
                let reason = format!(
                    "{text:?} does not say what becomes of a missed time; write `once`, `skip` or `if-within 2h`"
                );
                InvalidField::new("if-missed", reason)
            }),
        }
    }
}

impl std::fmt::Display for MissedPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Once => f.write_str("once"),
            Self::Skip => f.write_str("skip"),
            Self::Within(most) => write!(f, "if-within {most:#}"),
        }
    }
}

impl OverlapPolicy {
    /// Parses the value in a file.
    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        match text.trim() {
            "skip" => Ok(Self::Skip),
            "queue" => Ok(Self::Queue),
            other => {
                let reason = format!(
                    "{other:?} is not a way to deal with a run that goes on; write `skip` or `queue`"
                );
                Err(InvalidField::new("overlap", reason))
            }
        }
    }

    /// The value in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Queue => "queue",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SC-13, SC-18: a missed job runs late within the limit of its file.
    #[test]
    fn missed_policies_parse_and_limit_the_delay() {
        let hours = SignedDuration::from_hours;
        for (text, meant) in [
            ("once", MissedPolicy::Once),
            (" skip ", MissedPolicy::Skip),
            ("if-within 2h", MissedPolicy::Within(hours(2))),
            ("if-within 90 minutes", MissedPolicy::Within(SignedDuration::from_mins(90))),
        ] {
            let read = MissedPolicy::parse(text).unwrap();
            assert_eq!(read, meant);
            assert_eq!(MissedPolicy::parse(&read.to_string()), Ok(meant));
        }
        for wrong in
            ["", "always", "if-within", "if-within -2h", "if-within 0s", "within 2h", "if-within soon"]
        {
            let told = MissedPolicy::parse(wrong).unwrap_err().to_string();
            assert!(told.contains("if-missed") && told.contains("if-within 2h"), "{told}");
        }
        assert_eq!(
            MissedPolicy::routine_default(hours(1)),
            MissedPolicy::Within(SignedDuration::from_mins(30))
        );
        assert_eq!(MissedPolicy::routine_default(hours(24)), MissedPolicy::Within(hours(6)));
        assert!(
            MissedPolicy::REMINDER_DEFAULT.allows(hours(7 * 24))
                && !MissedPolicy::REMINDER_DEFAULT.allows(hours(7 * 24 + 1))
        );
        assert!(MissedPolicy::Once.allows(hours(9_000)) && !MissedPolicy::Skip.allows(hours(0)));
    }

    #[test]
    fn a_pause_covers_times_before_its_end() {
        let at = |text: &str| Moment::parse(text, &jiff::tz::TimeZone::UTC).unwrap();
        let thursday = at("2026-11-19T00:00:00Z");
        assert!(PauseState::Until(thursday).covers(at("2026-11-18T23:59:59Z").at));
        assert!(!PauseState::Until(thursday).covers(thursday.at));
        assert!(PauseState::Indefinite.covers(thursday.at) && !PauseState::Active.covers(thursday.at));
    }

    #[test]
    fn overlap_policies_round_trip() {
        for overlap in [OverlapPolicy::Skip, OverlapPolicy::Queue] {
            assert_eq!(OverlapPolicy::parse(overlap.as_str()), Ok(overlap));
        }
        assert!(OverlapPolicy::parse("both").unwrap_err().to_string().contains("`queue`"));
    }
}
