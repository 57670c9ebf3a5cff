//! The budget of pings: how often the human may be interrupted.
//!
//! It is a bucket that refills with time. It is refilled when it is asked, so nobody has to wake up to refill it.

use jiff::civil::Date;
use jiff::{Timestamp, Zoned};

use crate::wish::Urgency;

/// A9: the most pings of a day that cannot wait.
pub const CRITICAL: u32 = 3;

/// How many pings are left, as of the time it was last reckoned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PingBudget {
    /// The most pings that can be left.
    pub capacity: u32,
    /// The pings that are left; a part of one is on its way.
    pub available: f64,
    /// The minutes it takes for one more.
    pub refill_minutes: u32,
    /// When it was last reckoned.
    pub reckoned: Timestamp,
    /// The pings of a day.
    pub used: Used,
    /// The pings of a day that were too urgent to be counted against it.
    pub critical: Used,
}

/// How many on which day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// The day, where the human lives.
    pub day: Date,
    /// How many.
    pub count: u32,
}

impl Used {
    fn on(self, today: Date) -> Self {
        if self.day == today { self } else { Self { day: today, count: 0 } }
    }
}

/// What the human wants the budget to be; nothing leaves it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// The most pings that can be left.
    pub capacity: Option<u32>,
    /// The minutes it takes for one more.
    pub refill_minutes: Option<u32>,
}

/// What would be right, when a pace cannot be read.
const RIGHT: &str = "give how many pings there can be and how many minutes one takes to come back, both 1 or more, \
    such as `/ping-budget 5 90`.";

impl Pace {
    /// SL-12, PB-13: reads up to two numbers, each 1 or more.
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
    /// PB-1: a budget of which nothing was used.
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

    /// PB-2 to PB-5: the same at the time `now`.
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

    /// PB-7: whether there is one more, when so many are set aside already.
    pub fn allows(&self, set_aside: u32) -> bool {
        self.available - f64::from(set_aside) >= 1.0
    }

    /// PB-7, PB-8: the same after one more ping. One that could not wait is counted, and takes nothing.
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

    /// BF-23: the same after a ping that was charged turned out never to have been delivered.
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

    /// PB-13: the same at another pace.
    #[must_use]
    pub fn paced(self, pace: Pace) -> Self {
        let capacity = pace.capacity.unwrap_or(self.capacity);
        Self { capacity, refill_minutes: pace.refill_minutes.unwrap_or(self.refill_minutes), ..self }
    }

    /// PB-10: the minutes until there is one more; nothing, if there are as many as can be.
    pub fn minutes_to_refill(&self) -> Option<u32> {
        let missing = 1.0 - self.available.fract();
        (self.available < f64::from(self.capacity))
            .then(|| (missing * f64::from(self.refill_minutes)).ceil() as u32)
    }

    /// PB-11: how many are left.
    pub fn tell(&self) -> String {
        let refill = self.minutes_to_refill().map(|minutes| format!(" (next refill in {minutes} min)"));
        format!("budget: {}/{}{}", self.available.floor(), self.capacity, refill.unwrap_or_default())
    }

    /// PB-12: the same, and what was used today.
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

    /// PB-1, PB-2, PB-3, PB-5: it grows with time, never beyond what it holds and never backwards.
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

    /// PB-4: a new day where the human lives starts the counts over.
    #[test]
    fn a_day_is_counted_by_itself() {
        let used = |day: &str, count| Used { day: day.parse().unwrap(), count };
        let budget = PingBudget { used: used("2026-11-15", 2), critical: used("2026-11-14", 1), ..with(1.0) };
        let tonight = budget.at(&at("15T23:59"));
        assert_eq!((tonight.used.count, tonight.critical.count), (2, 0));
        assert_eq!(tonight.at(&at("16T00:00")).used, used("2026-11-16", 0));
    }

    /// PB-10, PB-11, PB-12: what is left, and what was used.
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

    /// SL-12, PB-13: a pace is up to two numbers, and what is not given stays.
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
