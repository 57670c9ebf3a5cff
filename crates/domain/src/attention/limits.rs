//! Limits on the pings of background runs: decides whether a ping is delivered, and describes the
//! outcome to a run in advance.

use jiff::{SignedDuration, Timestamp, Zoned};

use super::{Calm, Caps, HeldFor, Quiet};
use crate::ping_budget::{CRITICAL, PingBudget};

/// The limits that apply to pings at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct PingLimits {
    /// The remaining pings, calculated for that time.
    pub budget: PingBudget,
    /// The ordinary and critical pings reserved by other runs.
    pub set_aside: (u32, u32),
    /// The user's settings.
    pub calm: Calm,
    /// The end of the quiet time, if it is quiet now.
    pub quiet_until: Option<Timestamp>,
    /// The end of the user's focus time, if there is one now.
    pub focus_until: Option<Timestamp>,
    /// The number of pings that have rung today.
    pub rung_today: u32,
    /// The time of the last ping that rang today.
    pub last: Option<Timestamp>,
}

impl PingLimits {
    /// Returns whether the budget is too low for one more ordinary ping.
    pub fn is_exhausted(&self) -> bool {
        !self.budget.allows(self.set_aside.0)
    }

    /// Returns the number of critical pings that are left today.
    pub fn critical_left(&self) -> u32 {
        CRITICAL.saturating_sub(self.budget.critical.count + self.set_aside.1)
    }

    /// Returns the reason to defer an ordinary ping now; `None` if it would ring.
    pub fn holds(&self, now: Timestamp) -> Option<HeldFor> {
        if self.quiet_until.is_some() {
            return Some(HeldFor::Quiet);
        }
        if self.focus_until.is_some() {
            return Some(HeldFor::Focus);
        }
        let Caps::Rare { a_day, .. } = self.calm.caps else { return None };
        if self.rung_today + self.set_aside.0 >= a_day {
            return Some(HeldFor::Enough);
        }
        self.gap_ends(now).map(|_| HeldFor::Soon)
    }

    /// Returns the end of the minimum gap between two pings; `None` if it has passed.
    fn gap_ends(&self, now: Timestamp) -> Option<Timestamp> {
        let Caps::Rare { apart, .. } = self.calm.caps else { return None };
        let apart = SignedDuration::from_mins(i64::from(apart));
        let since = |last: &Timestamp| (SignedDuration::ZERO..apart).contains(&now.duration_since(*last));
        let after_last = self.last.filter(since);
        let about_to = (self.set_aside.0 > 0 && apart > SignedDuration::ZERO).then_some(now);
        about_to.or(after_last).map(|last| last.checked_add(apart).unwrap_or(last))
    }

    /// Describes to a run the outcome of an ordinary ping now; `talking` if the user is in a
    /// conversation.
    pub fn tell_ordinary(&self, talking: bool, now: &Zoned) -> String {
        let clock = |at: Timestamp| at.to_zoned(now.time_zone().clone()).strftime("%-I:%M %p").to_string();
        let until =
            |end: Option<Timestamp>| end.map(|end| format!(" until {}", clock(end))).unwrap_or_default();
        if talking {
            return "An ordinary ping now would be refused: the human is mid-conversation.".to_owned();
        }
        if self.is_exhausted() {
            return "An ordinary ping now would be refused: the ping budget is used up.".to_owned();
        }
        let gap = self.gap_ends(now.timestamp());
        let why = match self.holds(now.timestamp()) {
            None => return "An ordinary ping now would ring.".to_owned(),
            Some(HeldFor::Quiet) => format!("it is quiet{}", until(self.quiet_until)),
            Some(HeldFor::Focus) => format!("the human has focus time{}", until(self.focus_until)),
            Some(HeldFor::Enough) => "enough pings have rung today".to_owned(),
            Some(_) => format!(
                "another ping has just rung, and the next may ring at {}",
                gap.map(clock).unwrap_or_default()
            ),
        };
        let digest = match self.calm.digests.next(now) {
            Some(digest) => format!("be kept for the digest at {}", clock(digest)),
            None => "be kept until the human asks for them".to_owned(),
        };
        format!("An ordinary ping now would not ring: {why}. Its words would {digest}.")
    }

    /// Describes to a run the outcome of a critical ping now; `outside` if its context contains
    /// untrusted text.
    pub fn tell_critical(&self, outside: bool) -> String {
        if outside {
            return "A critical ping would be refused: text from outside is in this run.".to_owned();
        }
        match self.critical_left() {
            0 => format!("A critical ping now would be refused: all {CRITICAL} of today are used."),
            left => format!("A critical ping now would ring: {left} of {CRITICAL} are left today."),
        }
    }

    /// Describes the underlying rules, one per line.
    pub fn tell_rules(&self) -> Vec<String> {
        let quiet = match self.calm.quiet {
            Quiet::Never => None,
            Quiet::Between(from, to) => {
                Some(format!("Quiet hours: {} to {}.", from.strftime("%-I:%M %p"), to.strftime("%-I:%M %p")))
            }
        };
        let caps = match self.calm.caps {
            Caps::None => None,
            Caps::Rare { a_day, apart } => Some(format!(
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
    use crate::ping_budget::Used;

    fn at(time: &str) -> Zoned {
        format!("2026-11-16T{time}[Europe/Madrid]").parse().unwrap()
    }

    fn limits(now: &Zoned) -> PingLimits {
        PingLimits {
            budget: PingBudget::full(now),
            set_aside: (0, 0),
            calm: Calm::default(),
            quiet_until: None,
            focus_until: None,
            rung_today: 0,
            last: None,
        }
    }

    #[test]
    fn a_run_is_told_what_holds_a_ping_back_and_until_when() {
        let now = at("13:00");
        let free = limits(&now);
        let end = |time: &str| Some(at(time).timestamp());
        let empty = PingBudget { available: 0.5, ..free.budget };
        let table = [
            (free.clone(), None, "would ring."),
            (
                PingLimits { quiet_until: end("15:30"), ..free.clone() },
                Some(HeldFor::Quiet),
                "quiet until 3:30 PM",
            ),
            (
                PingLimits { focus_until: end("14:00"), ..free.clone() },
                Some(HeldFor::Focus),
                "focus time until 2:00 PM",
            ),
            (PingLimits { last: end("12:40"), ..free.clone() }, Some(HeldFor::Soon), "may ring at 1:25 PM"),
            (PingLimits { last: end("12:15"), ..free.clone() }, None, "would ring."),
            (PingLimits { set_aside: (1, 0), ..free.clone() }, Some(HeldFor::Soon), "may ring at 1:45 PM"),
            (
                PingLimits { rung_today: 6, ..free.clone() },
                Some(HeldFor::Enough),
                "enough pings have rung today",
            ),
            (PingLimits { budget: empty, ..free.clone() }, None, "the ping budget is used up"),
        ];
        for (limits, held, words) in table {
            assert_eq!(limits.holds(now.timestamp()), held, "{limits:?}");
            let told = limits.tell_ordinary(false, &now);
            assert!(told.contains(words), "{told}");
            assert_eq!(told.contains("digest at 5:30 PM"), held.is_some(), "{told}");
        }
        assert!(free.tell_ordinary(true, &now).contains("mid-conversation"));
    }

    #[test]
    fn a_run_is_told_how_many_critical_pings_are_left() {
        let now = at("13:00");
        let used = |count| {
            let free = limits(&now);
            let critical = Used { count, ..free.budget.critical };
            PingLimits { budget: PingBudget { critical, ..free.budget }, ..free }
        };
        assert_eq!(used(0).tell_critical(false), "A critical ping now would ring: 3 of 3 are left today.");
        assert_eq!(used(2).tell_critical(false), "A critical ping now would ring: 1 of 3 are left today.");
        assert_eq!(
            used(3).tell_critical(false),
            "A critical ping now would be refused: all 3 of today are used."
        );
        assert_eq!(
            used(0).tell_critical(true),
            "A critical ping would be refused: text from outside is in this run."
        );
        let one_more = PingLimits { set_aside: (0, 1), ..used(2) };
        assert_eq!(one_more.critical_left(), 0);
    }
}
