//! Played time: the same house, with a clock that moves only when nothing is left to do.
//!
//! `House::run` waits for timers between two letters. `House::play` asks the assistant for the same time and puts the
//! clock there; whatever happens then goes through the same `open`, `happened`, `perform` and `drive`. So a week takes
//! seconds, no timer is needed, and it goes the same way every time.

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

/// How much time passes at least between two wakings that follow each other.
const MOMENT: Duration = Duration::from_millis(1);

/// A clock that is moved by who plays, and those who wait for it.
#[derive(Debug)]
pub struct PlayedClock {
    zone: TimeZone,
    dial: Mutex<Dial>,
    /// Somebody fell asleep.
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
    /// A clock that shows `start`.
    pub fn new(start: &Zoned) -> Self {
        let dial = Dial { wall: start.timestamp(), passed: Duration::ZERO, sleepers: Vec::new() };
        Self { zone: start.time_zone().clone(), dial: Mutex::new(dial), asleep: Notify::new() }
    }

    /// Waits until so much time was played.
    pub async fn sleep(&self, time: Duration) {
        let (bell, rings) = oneshot::channel();
        let until = self.boot().saturating_add(time);
        self.dial().sleepers.push(Sleeper { until, bell });
        self.asleep.notify_one();
        // The clock is there as long as somebody asks it.
        let _ = rings.await;
    }

    /// Somebody sets the clock on the wall; no time passes.
    pub fn set_forward(&self, by: SignedDuration) {
        let mut dial = self.dial();
        dial.wall = dial.wall.saturating_add(by).unwrap_or(dial.wall);
    }

    /// So much time passes, and who waited for it goes on, in the order of their times.
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
            // Who was woken otherwise needs no bell.
            let _ = sleeper.bell.send(());
        }
    }

    /// How long until somebody is woken.
    fn rings(&self) -> Option<Duration> {
        let dial = self.dial();
        dial.sleepers.iter().map(|sleeper| sleeper.until.saturating_sub(dial.passed)).min()
    }

    /// Until so many are asleep.
    async fn all_asleep(&self, count: usize) {
        // Who was just told something goes on before anybody is counted.
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
    /// Lives through so much time on `clock`, and does all that comes up in it.
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

    /// Does all that can be done before time passes: letters are answered, and what was begun goes on until it has ended or
    /// waits for the clock.
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
