//! How a background job may report to main and ping the user.

use super::InvalidField;

/// How a background job may report to main and ping the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReportPolicy {
    pub reporting: ReportMode,
    pub pings: PingPermission,
}

/// Whether a run reports to main.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReportMode {
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

impl ReportMode {
    pub const ALL: [Self; 4] = [Self::Always, Self::OnPing, Self::Freely, Self::Blocked];

    /// Parses the value in a file.
    pub fn parse(text: &str) -> Result<Self, InvalidField> {
        let named = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        named.ok_or_else(|| {
            let reason =
                format!("{text:?} is not a way to report; write `always`, `on_ping`, `freely` or `blocked`");
            InvalidField::new("update-main-session", reason)
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
pub enum PingPermission {
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
    fn the_four_report_modes_round_trip() {
        for mode in ReportMode::ALL {
            assert_eq!(ReportMode::parse(mode.as_str()), Ok(mode));
        }
        let wrong = ReportMode::parse("sometimes").unwrap_err().to_string();
        assert!(wrong.contains("sometimes") && wrong.contains("on_ping"), "{wrong}");
        assert!(ReportMode::parse("Always").is_err());
    }
}
