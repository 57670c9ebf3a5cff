//! How long we wait before we connect again.

use std::time::Duration;

/// The longest wait after connections that never worked.
const LONGEST: Duration = Duration::from_secs(60);
/// The longest wait after connections that worked, but not for long.
const LONGEST_AFTER_LIFE: Duration = Duration::from_secs(8);
/// How long a connection must have worked for the next one to be made at once.
const STEADY: Duration = Duration::from_secs(30);

/// How often we failed since a connection last worked, how many lived only shortly, and the dice.
#[derive(Debug)]
pub struct Patience {
    failures: u32,
    short_lives: u32,
    dice: u64,
}

impl Patience {
    /// Nothing has failed yet.
    pub fn new(seed: u64) -> Self {
        Self { failures: 0, short_lives: 0, dice: seed }
    }

    /// How often we failed in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// A connection worked.
    pub fn worked(&mut self) {
        self.failures = 0;
    }

    /// How long to wait after a connection that never worked: longer each time.
    pub fn after_failure(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        self.doubled(self.failures, LONGEST)
    }

    /// How long to wait after a connection that had worked for `long`. Who is always thrown out again soon waits too.
    pub fn after_life(&mut self, long: Duration) -> Duration {
        if long >= STEADY {
            self.short_lives = 0;
            return Duration::ZERO;
        }
        self.short_lives = self.short_lives.saturating_add(1);
        self.doubled(self.short_lives, LONGEST_AFTER_LIFE)
    }

    /// One second, twice as much each time, up to `longest`; and of that at least half.
    fn doubled(&mut self, time: u32, longest: Duration) -> Duration {
        let whole = Duration::from_secs(1 << time.saturating_sub(1).min(6)).min(longest);
        whole.mul_f64(0.5 + self.roll() / 2.0)
    }

    /// How long to wait before a new session, when the old one was taken from us: one to five seconds.
    pub fn after_invalid(&mut self) -> Duration {
        Duration::from_secs(1) + Duration::from_secs(4).mul_f64(self.roll())
    }

    /// A number from 0 to below 1 (splitmix64).
    pub fn roll(&mut self) -> f64 {
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.dice;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let share = u32::try_from(mixed >> 32).unwrap_or_default();
        f64::from(share) / (f64::from(u32::MAX) + 1.0)
    }
}
