//! The ping budget: limits how often the user may be interrupted.
//!
//! It is a token bucket. It is refilled when it is read, so no timer is needed.

use jiff::civil::Date;
use jiff::{Timestamp, Zoned};

use crate::context_tool::Urgency;

/// A9: The most critical pings per day.
pub const MAX_CRITICAL_PINGS: u32 = 3;

/// The state of the budget at the time of its last update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PingBudget {
    /// The most pings that can be available.
    pub capacity: u32,
    /// The available pings, with the fraction that is being refilled.
    pub available: f64,
    /// The minutes per refilled ping.
    pub refill_minutes: u32,
    pub updated_at: Timestamp,
    /// The ordinary pings of a day.
    pub used: DailyCount,
    /// The critical pings of a day, which are not taken from the budget.
    pub critical: DailyCount,
}

/// A count on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyCount {
    /// The date in the user's zone.
    pub day: Date,
    pub count: u32,
}

impl DailyCount {
    fn on_day(self, today: Date) -> Self {
        if self.day == today { self } else { Self { day: today, count: 0 } }
    }
}

/// A change of the budget's settings; `None` keeps a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PingPace {
    pub capacity: Option<u32>,
    pub refill_minutes: Option<u32>,
}

/// The hint for invalid input.
const USAGE_HINT: &str = "give how many pings there can be and how many minutes one takes to come back, both 1 or more, \
    such as `/ping-budget 5 90`.";

impl PingPace {
    /// SL-12, PB-13: Parses up to two numbers, each 1 or more.
    pub fn parse(words: &str) -> Result<Self, String> {
        let words: Vec<&str> = words.split_whitespace().collect();
        if words.len() > 2 {
            return Err(USAGE_HINT.to_owned());
        }
        let number = |at: usize| {
            let word = words.get(at);
            let read = word.map(|word| word.parse::<u32>().ok().filter(|number| *number > 0).ok_or(word));
            read.transpose().map_err(|word| format!("`{word}` is no number above 0. {USAGE_HINT}"))
        };
        Ok(Self { capacity: number(0)?, refill_minutes: number(1)? })
    }
}

impl PingBudget {
    /// PB-1: Returns a full budget.
    pub fn full(now: &Zoned) -> Self {
        let unused = DailyCount { day: now.date(), count: 0 };
        Self {
            capacity: 5,
            available: 5.0,
            refill_minutes: 90,
            updated_at: now.timestamp(),
            used: unused,
            critical: unused,
        }
    }

    /// PB-2 to PB-5: Returns the budget refilled up to `now`.
    #[must_use]
    pub fn refilled(self, now: &Zoned) -> Self {
        let minutes = now.timestamp().duration_since(self.updated_at).as_secs_f64() / 60.0;
        let gained = minutes.max(0.0) / f64::from(self.refill_minutes);
        Self {
            available: (self.available + gained).min(f64::from(self.capacity)),
            updated_at: now.timestamp(),
            used: self.used.on_day(now.date()),
            critical: self.critical.on_day(now.date()),
            ..self
        }
    }

    /// PB-7: Returns whether a ping is left when `set_aside` are reserved.
    pub fn allows(&self, set_aside: u32) -> bool {
        self.available - f64::from(set_aside) >= 1.0
    }

    /// PB-7, PB-8: Returns the budget after one ping. A critical ping is counted and takes nothing.
    #[must_use]
    pub fn charge(self, urgency: Urgency) -> Self {
        match urgency {
            Urgency::Normal => {
                let used = DailyCount { count: self.used.count + 1, ..self.used };
                Self { available: (self.available - 1.0).max(0.0), used, ..self }
            }
            Urgency::Critical => {
                let critical = DailyCount { count: self.critical.count + 1, ..self.critical };
                Self { critical, ..self }
            }
        }
    }

    /// BF-23: Returns the budget after a charged ping could not be delivered.
    #[must_use]
    pub fn refund(self, urgency: Urgency) -> Self {
        let less = |used: DailyCount| DailyCount { count: used.count.saturating_sub(1), ..used };
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
    pub fn with_pace(self, pace: PingPace) -> Self {
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
    pub fn summary(&self) -> String {
        let refill = self.minutes_to_refill().map(|minutes| format!(" (next refill in {minutes} min)"));
        format!("budget: {}/{}{}", self.available.floor(), self.capacity, refill.unwrap_or_default())
    }

    /// PB-12: Returns the available pings and today's use as text.
    pub fn full_summary(&self) -> String {
        let used = (self.used.count > 0).then(|| format!("used today: {}", self.used.count));
        let critical = (self.critical.count > 0).then(|| {
            let count = self.critical.count;
            format!("critical bypasses: {count} (too urgent to wait, so not taken from the budget)")
        });
        let parts: Vec<String> = [Some(self.summary()), used, critical].into_iter().flatten().collect();
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
    fn budget_refills_with_time() {
        let check = |budget: PingBudget, time: &str, available: f64| {
            let reckoned = budget.refilled(&at(time));
            assert!((reckoned.available - available).abs() < 1e-9, "{time}: {}", reckoned.available);
            assert_eq!(reckoned.updated_at, at(time).timestamp());
        };
        check(with(0.0), "15T08:45", 0.5);
        check(with(1.5), "15T09:30", 2.5);
        check(with(4.5), "15T20:00", 5.0);
        check(with(2.0), "15T07:00", 2.0);
        check(PingBudget { capacity: 3, ..with(5.0) }, "15T08:00", 3.0);
    }

    /// PB-4: A new day in the user's zone resets the counts.
    #[test]
    fn counts_reset_each_day() {
        let used = |day: &str, count| DailyCount { day: day.parse().unwrap(), count };
        let budget = PingBudget { used: used("2026-11-15", 2), critical: used("2026-11-14", 1), ..with(1.0) };
        let tonight = budget.refilled(&at("15T23:59"));
        assert_eq!((tonight.used.count, tonight.critical.count), (2, 0));
        assert_eq!(tonight.refilled(&at("16T00:00")).used, used("2026-11-16", 0));
    }

    /// PB-10, PB-11, PB-12: The summary shows what is left and what was used.
    #[test]
    fn summary_shows_pings_left_and_used() {
        let check = |budget: PingBudget, told: &str, all: &str| {
            assert_eq!((budget.summary().as_str(), budget.full_summary().as_str()), (told, all));
        };
        check(with(5.0), "budget: 5/5", "budget: 5/5");
        check(with(4.0), "budget: 4/5 (next refill in 90 min)", "budget: 4/5 (next refill in 90 min)");
        let used = |count| DailyCount { count, ..with(0.0).used };
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
    fn pace_is_parsed_and_keeps_missing_values() {
        assert_eq!(PingPace::parse(""), Ok(PingPace::default()));
        let pace = PingPace::parse(" 3  60 ").unwrap();
        assert_eq!(pace, PingPace { capacity: Some(3), refill_minutes: Some(60) });
        let slower = with(1.5).with_pace(pace);
        assert_eq!(slower, PingBudget { capacity: 3, refill_minutes: 60, ..with(1.5) });
        for wrong in ["0", "5 0", "-1", "many", "1 2 3", "99999999999"] {
            let told = PingPace::parse(wrong).unwrap_err();
            assert!(told.ends_with("such as `/ping-budget 5 90`."), "{told}");
        }
    }
}
