//! Limits the number of concurrent model calls, and decides which of them may spend.
//!
//! A call of the user's own turn begins at once. A background call waits until the vendor admits it
//! (`pool`), and then until the daily limit allows it beside the others, both in the order in which
//! the calls came. If the vendor no longer admits it by then, it waits for the vendor again and
//! does not block calls of other models. Background calls leave one slot free for the user.

mod pool;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::conversation::Usage;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until};

use self::pool::{Admission, Pool};
use crate::ports::ResponseHead;

/// The most pools that are stored while none of their calls is in flight: a job file can name any
/// model.
const IDLE_POOLS: usize = 64;

/// The slots of model calls.
pub struct CallSlots {
    calls: Semaphore,
    /// Background calls take one of these permits too. There is one less of them than of `calls`,
    /// so that a waiting user always finds a slot.
    background: Semaphore,
    /// The number of permits of background calls.
    background_cap: u32,
    /// Locked while a background call asks whether it may spend, and until it may.
    spending_check: tokio::sync::Mutex<()>,
    /// The number of background calls that spend.
    spending: AtomicUsize,
    pools: Mutex<Pools>,
    /// Notified when a waiting call may have become admissible, or may spend.
    changed: Notify,
}

/// The pools by model name, and the number of the next waiting call.
#[derive(Default)]
struct Pools {
    by_model: BTreeMap<String, Pool>,
    next: u64,
}

/// A permit of a call. No semaphore here is ever closed; without a permit the call would only be
/// early, not wrong.
type Permit<'a> = Option<SemaphorePermit<'a>>;

impl CallSlots {
    /// Creates slots for `calls` concurrent calls.
    pub fn new(calls: usize) -> Self {
        let all = u32::try_from(calls).unwrap_or(u32::MAX).saturating_sub(1).max(1);
        Self {
            calls: Semaphore::new(calls),
            background: Semaphore::new(all as usize),
            background_cap: all,
            spending_check: tokio::sync::Mutex::default(),
            spending: AtomicUsize::new(0),
            pools: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Waits for a slot.
    pub(crate) async fn acquire(&self) -> Permit<'_> {
        self.calls.acquire().await.ok()
    }

    /// Waits for a background permit and a slot.
    pub(crate) async fn acquire_background(&self) -> (Permit<'_>, Permit<'_>) {
        let background = self.background.acquire().await.ok();
        (background, self.acquire().await)
    }

    /// Waits for the turn of a background call to ask whether it may spend, in the order of the
    /// calls.
    pub(crate) async fn spending_check(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.spending_check.lock().await
    }

    /// Counts a background call as spending until the guard is dropped.
    pub(crate) fn start_spending(&self) -> SpendingGuard<'_> {
        self.spending.fetch_add(1, Ordering::Relaxed);
        SpendingGuard(self)
    }

    /// Returns whether a background call is spending.
    pub(crate) fn is_spending(&self) -> bool {
        self.spending.load(Ordering::Relaxed) > 0
    }

    /// Completes after the next change, counted from this call, such as the end of a call that
    /// spent.
    pub(crate) fn changed(&self) -> Pin<Box<Notified<'_>>> {
        let mut changed = Box::pin(self.changed.notified());
        changed.as_mut().enable();
        changed
    }

    /// Begins a call of `model` that the user waits for, without waiting for the pool. If the
    /// vendor refuses it, the turn reports so.
    pub(crate) fn begin(&self, model: &str) -> CallInFlight<'_> {
        self.pools().of(model, self.background_cap).begin();
        CallInFlight::new(self, model)
    }

    /// Puts a background call of `model` into the queue of those that wait for the vendor.
    pub(crate) fn enqueue<'a>(&'a self, model: &'a str) -> Ticket<'a> {
        Ticket::new(self, model)
    }

    fn pools(&self) -> MutexGuard<'_, Pools> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the pool of `model`, and lets the waiting calls check again.
    fn change(&self, model: &str, change: impl FnOnce(&mut Pool)) {
        change(self.pools().of(model, self.background_cap));
        self.changed.notify_waiters();
    }
}

impl Pools {
    fn of(&mut self, model: &str, cap: u32) -> &mut Pool {
        if self.by_model.len() >= IDLE_POOLS && !self.by_model.contains_key(model) {
            self.by_model.retain(|_, pool| !pool.is_idle());
        }
        self.by_model.entry(model.to_owned()).or_insert_with(|| Pool::new(cap as usize))
    }
}

/// Counts a background call as spending until dropped.
pub(crate) struct SpendingGuard<'a>(&'a CallSlots);

impl Drop for SpendingGuard<'_> {
    fn drop(&mut self) {
        self.0.spending.fetch_sub(1, Ordering::Relaxed);
        self.0.changed.notify_waiters();
    }
}

/// A background call that waits to begin. Dropping it removes it from the queue.
pub(crate) struct Ticket<'a> {
    slots: &'a CallSlots,
    model: &'a str,
    number: u64,
}

impl<'a> Ticket<'a> {
    fn new(places: &'a CallSlots, model: &'a str) -> Self {
        let mut pools = places.pools();
        let number = pools.next;
        pools.next += 1;
        pools.of(model, places.background_cap).waiting.push_back(number);
        Self { slots: places, model, number }
    }

    /// Waits until the call is the first in the queue and the vendor admits it.
    pub(crate) async fn admitted(&self) {
        self.wait(|pool| pool.admission(Instant::now())).await;
    }

    /// Returns whether the call is the first in the queue and the vendor admits it now.
    pub(crate) fn is_admitted(&self) -> bool {
        self.check(|pool| pool.admission(Instant::now())) == Admission::Now
    }

    /// Begins the call as soon as the vendor admits it.
    pub(crate) async fn begin(self) -> CallInFlight<'a> {
        self.wait(|pool| {
            let admission = pool.admission(Instant::now());
            if admission == Admission::Now {
                pool.begin();
            }
            admission
        })
        .await;
        CallInFlight::new(self.slots, self.model)
    }

    /// Waits until `look` admits the call.
    async fn wait(&self, look: impl Fn(&mut Pool) -> Admission) {
        loop {
            let changed = self.slots.changed();
            match self.check(&look) {
                Admission::Now => return,
                Admission::At(time) => tokio::select! {
                    () = changed => {}
                    () = sleep_until(time) => {}
                },
                Admission::AfterOthers => changed.await,
            }
        }
    }

    /// Evaluates `look` on the pool if the call is the first in the queue.
    fn check(&self, look: impl Fn(&mut Pool) -> Admission) -> Admission {
        let mut pools = self.slots.pools();
        let pool = pools.of(self.model, self.slots.background_cap);
        if pool.waiting.front() == Some(&self.number) { look(pool) } else { Admission::AfterOthers }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.slots.change(self.model, |pool| pool.waiting.retain(|number| *number != self.number));
    }
}

/// A call in flight. Dropping it ends it.
pub(crate) struct CallInFlight<'a> {
    slots: &'a CallSlots,
    model: String,
    began: Instant,
    answered: AtomicBool,
}

impl<'a> CallInFlight<'a> {
    fn new(places: &'a CallSlots, model: &str) -> Self {
        Self {
            slots: places,
            model: model.to_owned(),
            began: Instant::now(),
            answered: AtomicBool::new(false),
        }
    }

    /// Records the head of a response. A request that is sent again with a correction has several.
    pub(crate) fn answered(&self, head: &ResponseHead) {
        let is_first = !self.answered.swap(true, Ordering::Relaxed);
        self.slots.change(&self.model, |pool| {
            if is_first {
                pool.answered();
            }
            pool.record_head(head, Instant::now());
        });
    }

    /// Records that the vendor refused the call for now.
    pub(crate) fn refused(&self, retry_after: Option<u64>) {
        self.slots.change(&self.model, |pool| pool.refused(self.began, retry_after, Instant::now()));
    }

    /// Records that the call timed out without a response.
    pub(crate) fn given_up(&self) {
        self.slots.change(&self.model, |pool| pool.given_up(self.began, Instant::now()));
    }

    /// Records the usage of a complete reply.
    pub(crate) fn used(&self, usage: Usage) {
        self.slots.change(&self.model, |pool| pool.used(usage));
    }
}

impl Drop for CallInFlight<'_> {
    fn drop(&mut self) {
        self.slots.change(&self.model, |pool| {
            if !self.answered.load(Ordering::Relaxed) {
                pool.answered();
            }
            pool.end();
        });
    }
}
