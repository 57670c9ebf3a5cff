//! Limits on the pings of background runs: decides whether a ping is delivered, and describes the
//! outcome to a run in advance.

use jiff::{SignedDuration, Timestamp, Zoned};

use super::{DeferReason, NotificationSettings, PushCaps, QuietHours};
use crate::ping_budget::{MAX_CRITICAL_PINGS, PingBudget};

/// The limits that apply to pings at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct PingLimits {
    /// The remaining pings, calculated for that time.
    pub budget: PingBudget,
    /// The ordinary and critical pings reserved by other runs.
    pub reserved: (u32, u32),
    /// The user's settings.
    pub settings: NotificationSettings,
    /// The end of the quiet time, if it is quiet now.
    pub quiet_until: Option<Timestamp>,
    /// The end of the user's focus time, if there is one now.
    pub focus_until: Option<Timestamp>,
    /// The number of pings that have rung today.
    pub rung_today: u32,
    /// The time of the last ping that rang today.
    pub last_rung: Option<Timestamp>,
}

impl PingLimits {
    /// Returns whether the budget is too low for one more ordinary ping.
    pub fn is_exhausted(&self) -> bool {
        !self.budget.allows(self.reserved.0)
    }

    /// Returns the number of critical pings that are left today.
    pub fn critical_left(&self) -> u32 {
        MAX_CRITICAL_PINGS.saturating_sub(self.budget.critical.count + self.reserved.1)
    }

    /// Returns the reason to defer an ordinary ping now; `None` if it would ring.
    pub fn defer_reason(&self, now: Timestamp) -> Option<DeferReason> {
        if self.quiet_until.is_some() {
            return Some(DeferReason::Quiet);
        }
        if self.focus_until.is_some() {
            return Some(DeferReason::Focus);
        }
        let PushCaps::Limited { per_day: a_day, .. } = self.settings.caps else { return None };
        if self.rung_today + self.reserved.0 >= a_day {
            return Some(DeferReason::DailyCap);
        }
        self.gap_end(now).map(|_| DeferReason::MinimumGap)
    }

    /// Returns the end of the minimum gap between two pings; `None` if it has passed.
    fn gap_end(&self, now: Timestamp) -> Option<Timestamp> {
        let PushCaps::Limited { min_gap_minutes: apart, .. } = self.settings.caps else { return None };
        let apart = SignedDuration::from_mins(i64::from(apart));
        let since = |last: &Timestamp| (SignedDuration::ZERO..apart).contains(&now.duration_since(*last));
        let after_last = self.last_rung.filter(since);
        let about_to = (self.reserved.0 > 0 && apart > SignedDuration::ZERO).then_some(now);
        about_to.or(after_last).map(|last| last.checked_add(apart).unwrap_or(last))
    }

    /// Describes to a run the outcome of an ordinary ping now; `talking` if the user is in a
    /// conversation.
    pub fn describe_ordinary(&self, talking: bool, now: &Zoned) -> String {
        let clock = |at: Timestamp| at.to_zoned(now.time_zone().clone()).strftime("%-I:%M %p").to_string();
        let until =
            |end: Option<Timestamp>| end.map(|end| format!(" until {}", clock(end))).unwrap_or_default();
        if talking {
            return "An ordinary ping now would be refused: the human is mid-conversation.".to_owned();
        }
        if self.is_exhausted() {
            return "An ordinary ping now would be refused: the ping budget is used up.".to_owned();
        }
        let gap = self.gap_end(now.timestamp());
        let why = match self.defer_reason(now.timestamp()) {
            None => return "An ordinary ping now would ring.".to_owned(),
            Some(DeferReason::Quiet) => format!("it is quiet{}", until(self.quiet_until)),
            Some(DeferReason::Focus) => format!("the human has focus time{}", until(self.focus_until)),
            Some(DeferReason::DailyCap) => "enough pings have rung today".to_owned(),
            Some(_) => format!(
                "another ping has just rung, and the next may ring at {}",
                gap.map(clock).unwrap_or_default()
            ),
        };
        let digest = match self.settings.digests.next(now) {
            Some(digest) => format!("be kept for the digest at {}", clock(digest)),
            None => "be kept until the human asks for them".to_owned(),
        };
        format!("An ordinary ping now would not ring: {why}. Its words would {digest}.")
    }

    /// Describes to a run the outcome of a critical ping now; `outside` if its context contains
    /// untrusted text.
    pub fn describe_critical(&self, outside: bool) -> String {
        if outside {
            return "A critical ping would be refused: text from outside is in this run.".to_owned();
        }
        match self.critical_left() {
            0 => format!("A critical ping now would be refused: all {MAX_CRITICAL_PINGS} of today are used."),
            left => format!("A critical ping now would ring: {left} of {MAX_CRITICAL_PINGS} are left today."),
        }
    }

    /// Describes the underlying rules, one per line.
    pub fn describe_rules(&self) -> Vec<String> {
        let quiet = match self.settings.quiet_hours {
            QuietHours::Never => None,
            QuietHours::Between(from, to) => {
                Some(format!("Quiet hours: {} to {}.", from.strftime("%-I:%M %p"), to.strftime("%-I:%M %p")))
            }
        };
        let caps = match self.settings.caps {
            PushCaps::Unlimited => None,
            PushCaps::Limited { per_day: a_day, min_gap_minutes: apart } => Some(format!(
                "At least {apart} minutes lie between two ordinary pings, and at most {a_day} ring in a day: {} so far.",
                self.rung_today
            )),
        };
        [caps, quiet].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ping_budget::DailyCount;

    fn at(time: &str) -> Zoned {
        format!("2026-11-16T{time}[Europe/Madrid]").parse().unwrap()
    }

    fn limits(now: &Zoned) -> PingLimits {
        PingLimits {
            budget: PingBudget::full(now),
            reserved: (0, 0),
            settings: NotificationSettings::default(),
            quiet_until: None,
            focus_until: None,
            rung_today: 0,
            last_rung: None,
        }
    }

    #[test]
    fn ordinary_pings_are_described_with_reason_and_end() {
        let now = at("13:00");
        let free = limits(&now);
        let end = |time: &str| Some(at(time).timestamp());
        let empty = PingBudget { available: 0.5, ..free.budget };
        let table = [
            (free.clone(), None, "would ring."),
            (
                PingLimits { quiet_until: end("15:30"), ..free.clone() },
                Some(DeferReason::Quiet),
                "quiet until 3:30 PM",
            ),
            (
                PingLimits { focus_until: end("14:00"), ..free.clone() },
                Some(DeferReason::Focus),
                "focus time until 2:00 PM",
            ),
            (
                PingLimits { last_rung: end("12:40"), ..free.clone() },
                Some(DeferReason::MinimumGap),
                "may ring at 1:25 PM",
            ),
            (PingLimits { last_rung: end("12:15"), ..free.clone() }, None, "would ring."),
            (
                PingLimits { reserved: (1, 0), ..free.clone() },
                Some(DeferReason::MinimumGap),
                "may ring at 1:45 PM",
            ),
            (
                PingLimits { rung_today: 6, ..free.clone() },
                Some(DeferReason::DailyCap),
                "enough pings have rung today",
            ),
            (PingLimits { budget: empty, ..free.clone() }, None, "the ping budget is used up"),
        ];
        for (limits, held, words) in table {
            assert_eq!(limits.defer_reason(now.timestamp()), held, "{limits:?}");
            let told = limits.describe_ordinary(false, &now);
            assert!(told.contains(words), "{told}");
            assert_eq!(told.contains("digest at 5:30 PM"), held.is_some(), "{told}");
        }
        assert!(free.describe_ordinary(true, &now).contains("mid-conversation"));
    }

    #[test]
    fn critical_pings_are_described_with_the_number_left() {
        let now = at("13:00");
        let used = |count| {
            let free = limits(&now);
            let critical = DailyCount { count, ..free.budget.critical };
            PingLimits { budget: PingBudget { critical, ..free.budget }, ..free }
        };
        assert_eq!(
            used(0).describe_critical(false),
            "A critical ping now would ring: 3 of 3 are left today."
        );
        assert_eq!(
            used(2).describe_critical(false),
            "A critical ping now would ring: 1 of 3 are left today."
        );
        assert_eq!(
            used(3).describe_critical(false),
            "A critical ping now would be refused: all 3 of today are used."
        );
        assert_eq!(
            used(0).describe_critical(true),
            "A critical ping would be refused: text from outside is in this run."
        );
        let one_more = PingLimits { reserved: (0, 1), ..used(2) };
        assert_eq!(one_more.critical_left(), 0);
    }
}
