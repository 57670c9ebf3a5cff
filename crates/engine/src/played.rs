//! Simulated time: the real event loop, with a clock that moves only when there is nothing left to
//! do.
//!
//! `EventLoop::run` waits for timers between two inputs. `EventLoop::simulate` asks the assistant
//! for the same times and sets the clock to them; everything else takes the same code path. So a
//! simulated week takes seconds, needs no timer and is deterministic.

mod at_once;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::assistant::Event;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use tokio::sync::{Notify, oneshot};

pub use at_once::{AtOnce, Watching};

use crate::ports::Clock;
use crate::run::{House, TRY_AGAIN};

/// The minimum time between two consecutive wake-ups.
const MOMENT: Duration = Duration::from_millis(1);

/// A clock that is advanced explicitly, with the tasks that sleep on it.
#[derive(Debug)]
pub struct PlayedClock {
    zone: TimeZone,
    dial: Mutex<Dial>,
    /// Notified when a task starts to sleep.
    asleep: Notify,
}

#[derive(Debug)]
struct Dial {
    wall: Timestamp,
    passed: Duration,
    sleepers: Vec<Sleeper>,
}

#[derive(Debug)]
struct Sleeper {
    until: Duration,
    bell: oneshot::Sender<()>,
}

impl PlayedClock {
    /// Creates a clock that shows `start`.
    pub fn new(start: &Zoned) -> Self {
        let dial = Dial { wall: start.timestamp(), passed: Duration::ZERO, sleepers: Vec::new() };
        Self { zone: start.time_zone().clone(), dial: Mutex::new(dial), asleep: Notify::new() }
    }

    /// Waits until `time` has passed on this clock.
    pub async fn sleep(&self, time: Duration) {
        let (bell, rings) = oneshot::channel();
        let until = self.boot().saturating_add(time);
        self.dial().sleepers.push(Sleeper { until, bell });
        self.asleep.notify_one();
        // The sender is dropped only together with the clock.
        let _ = rings.await;
    }

    /// Sets the wall clock forward; no monotonic time passes.
    pub fn set_forward(&self, by: SignedDuration) {
        let mut dial = self.dial();
        dial.wall = dial.wall.saturating_add(by).unwrap_or(dial.wall);
    }

    /// Advances the clock and wakes the sleepers that are due, in the order of their times.
    fn pass(&self, time: Duration) {
        let mut dial = self.dial();
        dial.passed = dial.passed.saturating_add(time);
        dial.wall = dial.wall.saturating_add(time).unwrap_or(dial.wall);
        let now = dial.passed;
        let (mut due, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut dial.sleepers).into_iter().partition(|sleeper| sleeper.until <= now);
        dial.sleepers = left;
        due.sort_by_key(|sleeper| sleeper.until);
        for sleeper in due {
            // A cancelled sleeper has dropped its receiver.
            let _ = sleeper.bell.send(());
        }
    }

    /// Returns the time until the next sleeper is due.
    fn rings(&self) -> Option<Duration> {
        let dial = self.dial();
        dial.sleepers.iter().map(|sleeper| sleeper.until.saturating_sub(dial.passed)).min()
    }

    /// Waits until `count` tasks sleep.
    async fn all_asleep(&self, count: usize) {
        // Tasks that have just been notified run before the sleepers are counted.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        while self.sleeping() < count {
            self.asleep.notified().await;
        }
    }

    fn sleeping(&self) -> usize {
        let mut dial = self.dial();
        dial.sleepers.retain(|sleeper| !sleeper.bell.is_closed());
        dial.sleepers.len()
    }

    fn dial(&self) -> MutexGuard<'_, Dial> {
        self.dial.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for PlayedClock {
    fn now(&self) -> Zoned {
        self.dial().wall.to_zoned(self.zone.clone())
    }

    fn boot(&self) -> Duration {
        self.dial().passed
    }
}

impl House {
    /// Simulates `time` on `clock`, including everything that becomes due in it.
    pub async fn play(&mut self, clock: &PlayedClock, time: Duration) {
        let end = clock.boot().saturating_add(time);
        let mut woken_at = None;
        loop {
            self.rest(clock).await;
            let nap = self
                .until_woken()
                .map(|nap| if woken_at == Some(clock.boot()) { nap.max(MOMENT) } else { nap });
            let again = self.owes().then_some(TRY_AGAIN);
            let left = end.saturating_sub(clock.boot());
            let next = [nap, again, clock.rings()].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= left) else { return clock.pass(left) };
            clock.pass(next);
            if Some(next) == again {
                self.try_again().await;
            } else if Some(next) == nap {
                woken_at = Some(clock.boot());
                self.happened(Event::Woke).await;
            }
        }
    }

    /// Runs until only time can cause progress: inputs are handled, and each running task has ended
    /// or sleeps on the clock.
    pub async fn rest(&mut self, clock: &PlayedClock) {
        loop {
            let goes_on = self.goes_on();
            tokio::select! {
                biased;
                letter = self.next_letter() => self.open_any(letter).await,
                () = clock.all_asleep(goes_on) => return,
            }
        }
    }
}
