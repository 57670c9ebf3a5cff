//! How a background job may report to main and ping the user.

use super::Invalid;

/// How a background job may report to main and ping the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Voice {
    pub reporting: Reporting,
    pub pings: Pings,
}

/// Whether a run reports to main.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reporting {
    /// Must report.
    Always,
    /// Must report if it pinged.
    #[default]
    OnPing,
    /// May report.
    Freely,
    /// Cannot report.
    Blocked,
}

impl Reporting {
    pub const ALL: [Self; 4] = [Self::Always, Self::OnPing, Self::Freely, Self::Blocked];

    /// Parses the value in a file.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let named = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        named.ok_or_else(|| {
            let reason =
                format!("{text:?} is not a way to report; write `always`, `on_ping`, `freely` or `blocked`");
            Invalid::new("update-main-session", reason)
        })
    }

    /// The value in a file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::OnPing => "on_ping",
            Self::Freely => "freely",
            Self::Blocked => "blocked",
        }
    }
}

/// Whether a job may ping the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pings {
    /// Within the ping budget.
    #[default]
    Allowed,
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DD-40: exactly four values are valid.
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
