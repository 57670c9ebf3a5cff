//! Simulated time: the real event loop, with a clock that moves only when there is nothing left to
//! do.
//!
//! `EventLoop::run` waits for timers between two inputs. `EventLoop::simulate` asks the assistant
//! for the same times and sets the clock to them; everything else takes the same code path. So a
//! simulated week takes seconds, needs no timer and is deterministic.

mod blocking_journal;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::assistant::Event;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use tokio::sync::{Notify, oneshot};

pub use blocking_journal::{BlockingJournal, JournalObserver};

use crate::event_loop::{EventLoop, RETRY_DELAY};
use crate::ports::Clock;

/// The minimum time between two consecutive wake-ups.
const MIN_STEP: Duration = Duration::from_millis(1);

/// A clock that is advanced explicitly, with the tasks that sleep on it.
#[derive(Debug)]
pub struct SimClock {
    zone: TimeZone,
    lock: Mutex<ClockState>,
    /// Notified when a task starts to sleep.
    sleeper_added: Notify,
}

#[derive(Debug)]
struct ClockState {
    wall: Timestamp,
    elapsed: Duration,
    sleepers: Vec<Sleeper>,
}

#[derive(Debug)]
struct Sleeper {
    until: Duration,
    wake: oneshot::Sender<()>,
}

impl SimClock {
    /// Creates a clock that shows `start`.
    pub fn new(start: &Zoned) -> Self {
        let dial = ClockState { wall: start.timestamp(), elapsed: Duration::ZERO, sleepers: Vec::new() };
        Self { zone: start.time_zone().clone(), lock: Mutex::new(dial), sleeper_added: Notify::new() }
    }

    /// Waits until `time` has passed on this clock.
    pub async fn sleep(&self, time: Duration) {
        let (wake, woken) = oneshot::channel();
        let until = self.since_boot().saturating_add(time);
        self.lock().sleepers.push(Sleeper { until, wake });
        self.sleeper_added.notify_one();
        // The sender is dropped only together with the clock.
        let _ = woken.await;
    }

    /// Sets the wall clock forward; no monotonic time passes.
    pub fn set_forward(&self, by: SignedDuration) {
        let mut dial = self.lock();
        dial.wall = dial.wall.saturating_add(by).unwrap_or(dial.wall);
    }

    /// Advances the clock and wakes the sleepers that are due, in the order of their times.
    fn advance(&self, time: Duration) {
        let mut dial = self.lock();
        dial.elapsed = dial.elapsed.saturating_add(time);
        dial.wall = dial.wall.saturating_add(time).unwrap_or(dial.wall);
        let now = dial.elapsed;
        let (mut due, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut dial.sleepers).into_iter().partition(|sleeper| sleeper.until <= now);
        dial.sleepers = left;
        due.sort_by_key(|sleeper| sleeper.until);
        for sleeper in due {
            // A cancelled sleeper has dropped its receiver.
            let _ = sleeper.wake.send(());
        }
    }

    /// Returns the time until the next sleeper is due.
    fn until_next_sleeper(&self) -> Option<Duration> {
        let dial = self.lock();
        dial.sleepers.iter().map(|sleeper| sleeper.until.saturating_sub(dial.elapsed)).min()
    }

    /// Waits until `count` tasks sleep.
    async fn wait_for_sleepers(&self, count: usize) {
        // Tasks that have just been notified run before the sleepers are counted.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        while self.count_sleepers() < count {
            self.sleeper_added.notified().await;
        }
    }

    fn count_sleepers(&self) -> usize {
        let mut dial = self.lock();
        dial.sleepers.retain(|sleeper| !sleeper.wake.is_closed());
        dial.sleepers.len()
    }

    fn lock(&self) -> MutexGuard<'_, ClockState> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for SimClock {
    fn now(&self) -> Zoned {
        self.lock().wall.to_zoned(self.zone.clone())
    }

    fn since_boot(&self) -> Duration {
        self.lock().elapsed
    }
}

impl EventLoop {
    /// Simulates `time` on `clock`, including everything that becomes due in it.
    pub async fn simulate(&mut self, clock: &SimClock, time: Duration) {
        let end = clock.since_boot().saturating_add(time);
        let mut woken_at = None;
        loop {
            self.run_until_idle(clock).await;
            let nap = self
                .until_next_wake()
                .map(|nap| if woken_at == Some(clock.since_boot()) { nap.max(MIN_STEP) } else { nap });
            let again = self.has_retries().then_some(RETRY_DELAY);
            let left = end.saturating_sub(clock.since_boot());
            let next = [nap, again, clock.until_next_sleeper()].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= left) else { return clock.advance(left) };
            clock.advance(next);
            if Some(next) == again {
                self.retry().await;
            } else if Some(next) == nap {
                woken_at = Some(clock.since_boot());
                self.handle_event(Event::Woke).await;
            }
        }
    }

    /// Runs until only time can cause progress: inputs are handled, and each running task has ended
    /// or sleeps on the clock.
    pub async fn run_until_idle(&mut self, clock: &SimClock) {
        loop {
            let goes_on = self.running_tasks();
            tokio::select! {
                biased;
                input = self.next_input() => self.handle_any(input).await,
                () = clock.wait_for_sleepers(goes_on) => return,
            }
        }
    }
}
