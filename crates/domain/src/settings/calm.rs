//! The settings about being reached, each by its name.

use super::Given;
use super::setting::{flag, positive};
use crate::attention::{Calm, Caps, Digests, Quiet};

/// The name of a setting about being reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CalmSetting {
    /// When nothing rings that can wait.
    Quiet,
    /// When what was held is told.
    Digest,
    /// How much may ring without having been asked for.
    PingCaps,
    /// After how many minutes a reminder that nobody answered is put otherwise.
    FollowUp,
}

impl CalmSetting {
    /// Its name in the file and on the screen.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Digest => "digest",
            Self::PingCaps => "ping_caps",
            Self::FollowUp => "follow_up",
        }
    }

    /// Sets it to what the human typed: nothing, if it cannot be that.
    pub(super) fn set(self, calm: &mut Calm, typed: &str) -> Option<()> {
        match self {
            Self::Quiet => calm.quiet = Quiet::read(typed)?,
            Self::Digest => calm.digests = Digests::read(typed)?,
            Self::PingCaps => calm.caps = Caps::read(typed)?,
            Self::FollowUp => calm.follow_up_minutes = minutes(typed)?,
        }
        Some(())
    }

    /// Sets it to what it is in `other`.
    pub(super) fn copy(self, calm: &mut Calm, other: &Calm) {
        match self {
            Self::Quiet => calm.quiet = other.quiet,
            Self::Digest => calm.digests.clone_from(&other.digests),
            Self::PingCaps => calm.caps = other.caps,
            Self::FollowUp => calm.follow_up_minutes = other.follow_up_minutes,
        }
    }

    /// What it is.
    pub(super) fn given(self, calm: &Calm) -> Given {
        match self {
            Self::Quiet => Given::Text(calm.quiet.to_string()),
            Self::Digest => Given::Text(calm.digests.to_string()),
            Self::PingCaps => Given::Text(calm.caps.to_string()),
            Self::FollowUp => match calm.follow_up_minutes {
                Some(minutes) => Given::Number(minutes),
                None => Given::Text("off".to_owned()),
            },
        }
    }

    /// What it is, in words.
    pub(super) fn tell(self, calm: &Calm) -> String {
        match (self, calm.follow_up_minutes) {
            (Self::FollowUp, Some(minutes)) => format!("{minutes}m"),
            (Self::FollowUp, None) => "off".to_owned(),
            (Self::Quiet, _) => calm.quiet.to_string(),
            (Self::Digest, _) => calm.digests.to_string(),
            (Self::PingCaps, _) => calm.caps.to_string(),
        }
    }

    /// What would be right.
    pub(super) fn right(self) -> &'static str {
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

/// Minutes, or their absence; nothing, if it is neither.
fn minutes(typed: &str) -> Option<Option<u32>> {
    match flag(typed) {
        Some(false) => Some(None),
        Some(true) | None => positive(typed).map(Some),
    }
}
