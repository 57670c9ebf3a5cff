//! How a job handles missed times, overlapping runs, and pauses.

use jiff::{SignedDuration, Timestamp};

use super::{Invalid, Moment};

/// When a job fires despite missed times, overlap and pauses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Manner {
    /// The handling of missed times; `None` uses the default.
    pub if_missed: Option<IfMissed>,
    /// The handling of a time that comes while the job is still running.
    pub overlap: Overlap,
    pub rest: Rest,
}

/// The handling of times that passed while the job could not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IfMissed {
    /// Run once, however late.
    Once,
    Skip,
    /// Run once if at most this late.
    Within(SignedDuration),
}

/// The handling of a time that comes while the job is still running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overlap {
    #[default]
    Skip,
    /// Wait until the run ends; a second waiting time is skipped.
    Queue,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rest {
    #[default]
    Never,
    Until(Moment),
    /// Until the user ends it.
    ForNow,
}

impl Rest {
    /// Returns whether the pause covers `time`.
    pub fn holds(self, time: Timestamp) -> bool {
        match self {
            Self::Never => false,
            Self::Until(moment) => time < moment.at,
            Self::ForNow => true,
        }
    }

    /// The value in a file; `None` if not paused.
    pub fn value(self) -> Option<String> {
        match self {
            Self::Never => None,
            Self::Until(moment) => Some(moment.to_string()),
            Self::ForNow => Some("true".to_owned()),
        }
    }
}

impl IfMissed {
    /// The default of reminders.
    pub const REMINDER: Self = Self::Within(SignedDuration::from_hours(7 * 24));
    /// The maximum delay in the default of routines.
    const ROUTINE: SignedDuration = SignedDuration::from_hours(6);

    /// The default of a routine with this `period`.
    pub fn routine(period: SignedDuration) -> Self {
        Self::Within((period / 2).min(Self::ROUTINE))
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
    pub fn parse(text: &str) -> Result<Self, Invalid> {
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
                Invalid::new("if-missed", reason)
            }),
        }
    }
}

impl std::fmt::Display for IfMissed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Once => f.write_str("once"),
            Self::Skip => f.write_str("skip"),
            Self::Within(most) => write!(f, "if-within {most:#}"),
        }
    }
}

impl Overlap {
    /// Parses the value in a file.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        match text.trim() {
            "skip" => Ok(Self::Skip),
            "queue" => Ok(Self::Queue),
            other => {
                let reason = format!(
                    "{other:?} is not a way to deal with a run that goes on; write `skip` or `queue`"
                );
                Err(Invalid::new("overlap", reason))
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
    fn a_file_says_how_late_its_job_may_be() {
        let hours = SignedDuration::from_hours;
        for (text, meant) in [
            ("once", IfMissed::Once),
            (" skip ", IfMissed::Skip),
            ("if-within 2h", IfMissed::Within(hours(2))),
            ("if-within 90 minutes", IfMissed::Within(SignedDuration::from_mins(90))),
        ] {
            let read = IfMissed::parse(text).unwrap();
            assert_eq!(read, meant);
            assert_eq!(IfMissed::parse(&read.to_string()), Ok(meant));
        }
        for wrong in
            ["", "always", "if-within", "if-within -2h", "if-within 0s", "within 2h", "if-within soon"]
        {
            let told = IfMissed::parse(wrong).unwrap_err().to_string();
            assert!(told.contains("if-missed") && told.contains("if-within 2h"), "{told}");
        }
        assert_eq!(IfMissed::routine(hours(1)), IfMissed::Within(SignedDuration::from_mins(30)));
        assert_eq!(IfMissed::routine(hours(24)), IfMissed::Within(hours(6)));
        assert!(IfMissed::REMINDER.allows(hours(7 * 24)) && !IfMissed::REMINDER.allows(hours(7 * 24 + 1)));
        assert!(IfMissed::Once.allows(hours(9_000)) && !IfMissed::Skip.allows(hours(0)));
    }

    #[test]
    fn a_job_rests_until_it_is_told_otherwise() {
        let at = |text: &str| Moment::parse(text, &jiff::tz::TimeZone::UTC).unwrap();
        let thursday = at("2026-11-19T00:00:00Z");
        assert!(Rest::Until(thursday).holds(at("2026-11-18T23:59:59Z").at));
        assert!(!Rest::Until(thursday).holds(thursday.at));
        assert!(Rest::ForNow.holds(thursday.at) && !Rest::Never.holds(thursday.at));
    }

    #[test]
    fn a_file_says_what_happens_while_its_job_is_still_being_done() {
        for overlap in [Overlap::Skip, Overlap::Queue] {
            assert_eq!(Overlap::parse(overlap.as_str()), Ok(overlap));
        }
        assert!(Overlap::parse("both").unwrap_err().to_string().contains("`queue`"));
    }
}
