//! The notification settings by name.

use super::SettingValue;
use super::setting::{flag, positive};
use crate::attention::{DigestTimes, NotificationSettings, PushCaps, QuietHours};

/// The name of a notification setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotificationSetting {
    /// The quiet hours.
    Quiet,
    /// The times of digests.
    Digest,
    /// The limits of unrequested pings.
    PingCaps,
    /// The minutes after which an unanswered reminder is followed up.
    FollowUp,
}

impl NotificationSetting {
    /// Returns the name in the file and on the screen.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Digest => "digest",
            Self::PingCaps => "ping_caps",
            Self::FollowUp => "follow_up",
        }
    }

    /// Sets the value that the user typed; `None` if it is invalid.
    pub(super) fn set(self, calm: &mut NotificationSettings, typed: &str) -> Option<()> {
        match self {
            Self::Quiet => calm.quiet_hours = QuietHours::parse(typed)?,
            Self::Digest => calm.digests = DigestTimes::parse(typed)?,
            Self::PingCaps => calm.caps = PushCaps::parse(typed)?,
            Self::FollowUp => calm.follow_up_minutes = minutes(typed)?,
        }
        Some(())
    }

    /// Copies the value from `other`.
    pub(super) fn copy(self, calm: &mut NotificationSettings, other: &NotificationSettings) {
        match self {
            Self::Quiet => calm.quiet_hours = other.quiet_hours,
            Self::Digest => calm.digests.clone_from(&other.digests),
            Self::PingCaps => calm.caps = other.caps,
            Self::FollowUp => calm.follow_up_minutes = other.follow_up_minutes,
        }
    }

    /// Returns the stored value.
    pub(super) fn stored_value(self, calm: &NotificationSettings) -> SettingValue {
        match self {
            Self::Quiet => SettingValue::Text(calm.quiet_hours.to_string()),
            Self::Digest => SettingValue::Text(calm.digests.to_string()),
            Self::PingCaps => SettingValue::Text(calm.caps.to_string()),
            Self::FollowUp => match calm.follow_up_minutes {
                Some(minutes) => SettingValue::Number(minutes),
                None => SettingValue::Text("off".to_owned()),
            },
        }
    }

    /// Returns the value as text.
    pub(super) fn display_value(self, calm: &NotificationSettings) -> String {
        match (self, calm.follow_up_minutes) {
            (Self::FollowUp, Some(minutes)) => format!("{minutes}m"),
            (Self::FollowUp, None) => "off".to_owned(),
            (Self::Quiet, _) => calm.quiet_hours.to_string(),
            (Self::Digest, _) => calm.digests.to_string(),
            (Self::PingCaps, _) => calm.caps.to_string(),
        }
    }

    /// Describes the valid values.
    pub(super) fn valid_values(self) -> &'static str {
        match self {
            Self::Quiet => "two times such as `22-8` or `22:30-07:00`, or `off`",
            Self::Digest => "one or two times such as `8:30 17:30`, or `off`",
            Self::PingCaps => {
                "how many pings a day and how many minutes from one to the next, such as `6 45`, or `off`"
            }
            Self::FollowUp => "a number of minutes above 0, or `off`",
        }
    }
}

/// Parses minutes or `off`; `None` if it is neither.
fn minutes(typed: &str) -> Option<Option<u32>> {
    match flag(typed) {
        Some(false) => Some(None),
        Some(true) | None => positive(typed).map(Some),
    }
}
