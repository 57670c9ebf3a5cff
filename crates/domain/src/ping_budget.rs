//! The ping budget: limits how often the user may be interrupted.
//!
//! It is a token bucket. It is refilled when it is read, so no timer is needed.

use jiff::civil::Date;
use jiff::{Timestamp, Zoned};

use crate::wish::Urgency;

/// A9: The most critical pings per day.
pub const CRITICAL: u32 = 3;

/// The state of the budget at the time of its last update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PingBudget {
    /// The most pings that can be available.
    pub capacity: u32,
    /// The available pings, with the fraction that is being refilled.
    pub available: f64,
    /// The minutes per refilled ping.
    pub refill_minutes: u32,
    pub reckoned: Timestamp,
    /// The ordinary pings of a day.
    pub used: Used,
    /// The critical pings of a day, which are not taken from the budget.
    pub critical: Used,
}

/// A count on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// The date in the user's zone.
    pub day: Date,
    pub count: u32,
}

impl Used {
    fn on(self, today: Date) -> Self {
        if self.day == today { self } else { Self { day: today, count: 0 } }
    }
}

/// A change of the budget's settings; `None` keeps a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    pub capacity: Option<u32>,
    pub refill_minutes: Option<u32>,
}

/// The hint for invalid input.
const RIGHT: &str = "give how many pings there can be and how many minutes one takes to come back, both 1 or more, \
    such as `/ping-budget 5 90`.";

impl Pace {
    /// SL-12, PB-13: Parses up to two numbers, each 1 or more.
    pub fn read(words: &str) -> Result<Self, String> {
        let words: Vec<&str> = words.split_whitespace().collect();
        if words.len() > 2 {
            return Err(RIGHT.to_owned());
        }
        let number = |at: usize| {
            let word = words.get(at);
            let read = word.map(|word| word.parse::<u32>().ok().filter(|number| *number > 0).ok_or(word));
            read.transpose().map_err(|word| format!("`{word}` is no number above 0. {RIGHT}"))
        };
        Ok(Self { capacity: number(0)?, refill_minutes: number(1)? })
    }
}

impl PingBudget {
    /// PB-1: Returns a full budget.
    pub fn full(now: &Zoned) -> Self {
        let unused = Used { day: now.date(), count: 0 };
        Self {
            capacity: 5,
            available: 5.0,
            refill_minutes: 90,
            reckoned: now.timestamp(),
            used: unused,
            critical: unused,
        }
    }

    /// PB-2 to PB-5: Returns the budget refilled up to `now`.
    #[must_use]
    pub fn at(self, now: &Zoned) -> Self {
        let minutes = now.timestamp().duration_since(self.reckoned).as_secs_f64() / 60.0;
        let gained = minutes.max(0.0) / f64::from(self.refill_minutes);
        Self {
            available: (self.available + gained).min(f64::from(self.capacity)),
            reckoned: now.timestamp(),
            used: self.used.on(now.date()),
            critical: self.critical.on(now.date()),
            ..self
        }
    }

    /// PB-7: Returns whether a ping is left when `set_aside` are reserved.
    pub fn allows(&self, set_aside: u32) -> bool {
        self.available - f64::from(set_aside) >= 1.0
    }

    /// PB-7, PB-8: Returns the budget after one ping. A critical ping is counted and takes nothing.
    #[must_use]
    pub fn charged(self, urgency: Urgency) -> Self {
        match urgency {
            Urgency::Normal => {
                let used = Used { count: self.used.count + 1, ..self.used };
                Self { available: (self.available - 1.0).max(0.0), used, ..self }
            }
            Urgency::Critical => {
                let critical = Used { count: self.critical.count + 1, ..self.critical };
                Self { critical, ..self }
            }
        }
    }

    /// BF-23: Returns the budget after a charged ping could not be delivered.
    #[must_use]
    pub fn refunded(self, urgency: Urgency) -> Self {
        let less = |used: Used| Used { count: used.count.saturating_sub(1), ..used };
        match urgency {
            Urgency::Normal => Self {
                available: (self.available + 1.0).min(f64::from(self.capacity)),
                used: less(self.used),
                ..self
            },
            Urgency::Critical => Self { critical: less(self.critical), ..self },
        }
    }

    /// PB-13: Returns the budget with other settings.
    #[must_use]
    pub fn paced(self, pace: Pace) -> Self {
        let capacity = pace.capacity.unwrap_or(self.capacity);
        Self { capacity, refill_minutes: pace.refill_minutes.unwrap_or(self.refill_minutes), ..self }
    }

    /// PB-10: Returns the minutes until the next refill; `None` if the budget is full.
    pub fn minutes_to_refill(&self) -> Option<u32> {
        let missing = 1.0 - self.available.fract();
        (self.available < f64::from(self.capacity))
            .then(|| (missing * f64::from(self.refill_minutes)).ceil() as u32)
    }

    /// PB-11: Returns the available pings as text.
    pub fn tell(&self) -> String {
        let refill = self.minutes_to_refill().map(|minutes| format!(" (next refill in {minutes} min)"));
        format!("budget: {}/{}{}", self.available.floor(), self.capacity, refill.unwrap_or_default())
    }

    /// PB-12: Returns the available pings and today's use as text.
    pub fn tell_all(&self) -> String {
        let used = (self.used.count > 0).then(|| format!("used today: {}", self.used.count));
        let critical = (self.critical.count > 0).then(|| {
            let count = self.critical.count;
            format!("critical bypasses: {count} (too urgent to wait, so not taken from the budget)")
        });
        let parts: Vec<String> = [Some(self.tell()), used, critical].into_iter().flatten().collect();
        match parts.len() {
            1 => parts.concat(),
            _ => parts.join(". ") + ".",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Zoned {
        format!("2026-11-{time}[Europe/Madrid]").parse().unwrap()
    }

    fn with(available: f64) -> PingBudget {
        PingBudget { available, ..PingBudget::full(&at("15T08:00")) }
    }

    /// PB-1, PB-2, PB-3, PB-5: The budget grows with time, up to its capacity and never backwards.
    #[test]
    fn a_budget_refills_with_time() {
        let check = |budget: PingBudget, time: &str, available: f64| {
            let reckoned = budget.at(&at(time));
            assert!((reckoned.available - available).abs() < 1e-9, "{time}: {}", reckoned.available);
            assert_eq!(reckoned.reckoned, at(time).timestamp());
        };
        check(with(0.0), "15T08:45", 0.5);
        check(with(1.5), "15T09:30", 2.5);
        check(with(4.5), "15T20:00", 5.0);
        check(with(2.0), "15T07:00", 2.0);
        check(PingBudget { capacity: 3, ..with(5.0) }, "15T08:00", 3.0);
    }

    /// PB-4: A new day in the user's zone resets the counts.
    #[test]
    fn a_day_is_counted_by_itself() {
        let used = |day: &str, count| Used { day: day.parse().unwrap(), count };
        let budget = PingBudget { used: used("2026-11-15", 2), critical: used("2026-11-14", 1), ..with(1.0) };
        let tonight = budget.at(&at("15T23:59"));
        assert_eq!((tonight.used.count, tonight.critical.count), (2, 0));
        assert_eq!(tonight.at(&at("16T00:00")).used, used("2026-11-16", 0));
    }

    /// PB-10, PB-11, PB-12: The summary shows what is left and what was used.
    #[test]
    fn a_budget_reads_as_what_is_left() {
        let check = |budget: PingBudget, told: &str, all: &str| {
            assert_eq!((budget.tell().as_str(), budget.tell_all().as_str()), (told, all));
        };
        check(with(5.0), "budget: 5/5", "budget: 5/5");
        check(with(4.0), "budget: 4/5 (next refill in 90 min)", "budget: 4/5 (next refill in 90 min)");
        let used = |count| Used { count, ..with(0.0).used };
        let half = PingBudget { used: used(3), critical: used(1), ..with(1.99) };
        check(
            half,
            "budget: 1/5 (next refill in 1 min)",
            "budget: 1/5 (next refill in 1 min). used today: 3. critical bypasses: 1 (too urgent to wait, so not \
             taken from the budget).",
        );
    }

    /// SL-12, PB-13: The settings are up to two numbers; missing ones stay.
    #[test]
    fn a_pace_is_read_and_keeps_the_rest() {
        assert_eq!(Pace::read(""), Ok(Pace::default()));
        let pace = Pace::read(" 3  60 ").unwrap();
        assert_eq!(pace, Pace { capacity: Some(3), refill_minutes: Some(60) });
        let slower = with(1.5).paced(pace);
        assert_eq!(slower, PingBudget { capacity: 3, refill_minutes: 60, ..with(1.5) });
        for wrong in ["0", "5 0", "-1", "many", "1 2 3", "99999999999"] {
            let told = Pace::read(wrong).unwrap_err();
            assert!(told.ends_with("such as `/ping-budget 5 90`."), "{told}");
        }
    }
}
