//! The voice of a job that runs aside: how it may reach the human.

use super::Invalid;

/// How a background job may reach the human.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Voice {
    /// What it leaves for main.
    pub reporting: Reporting,
    /// Whether it may interrupt.
    pub pings: Pings,
}

/// Whether main hears of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reporting {
    /// It has to report.
    Always,
    /// It has to report if it pinged.
    #[default]
    OnPing,
    /// It may report.
    Freely,
    /// It cannot report.
    Blocked,
}

impl Reporting {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Always, Self::OnPing, Self::Freely, Self::Blocked];

    /// Reads a mode as a file spells it.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let named = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        named.ok_or_else(|| {
            let reason =
                format!("{text:?} is not a way to report; write `always`, `on_ping`, `freely` or `blocked`");
            Invalid::new("update-main-session", reason)
        })
    }

    /// The mode as a file spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::OnPing => "on_ping",
            Self::Freely => "freely",
            Self::Blocked => "blocked",
        }
    }
}

/// Whether a job may interrupt the human.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pings {
    /// Out of the budget.
    #[default]
    Allowed,
    /// Not at all.
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DD-40: only the four modes are known.
    #[test]
    fn a_job_reports_in_one_of_four_ways() {
        for mode in Reporting::ALL {
            assert_eq!(Reporting::parse(mode.as_str()), Ok(mode));
        }
        let wrong = Reporting::parse("sometimes").unwrap_err().to_string();
        assert!(wrong.contains("sometimes") && wrong.contains("on_ping"), "{wrong}");
        assert!(Reporting::parse("Always").is_err());
    }
}
