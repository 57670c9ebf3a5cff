//! Admission of connections on a port: how many may be open, and which one is dropped for the next
//! one.
//!
//! Connections that have proved who they are (the cookie of a paired browser, the secret of a
//! webhook) and those that have not are counted separately, so the latter cannot use up the
//! capacity of the former. If the capacity for unproven connections is used up, the oldest one that
//! has not sent a whole request is dropped for the next one. A connection that was made a moment
//! ago is not: its request may be on its way, so the next one waits in the system's queue instead.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Time added to `Capacity::grace` for an unproven connection whose request is being answered.
const ANSWER_GRACE: Duration = Duration::from_secs(2);
/// Limits in time and bytes for reading from a refused caller, so that it sees the response.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: u64 = 64 * 1024;
/// Number of refused callers that are read from at a time.
const MAX_LINGERING: usize = 64;

/// Limits for the open connections of one port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    /// Connections that have not proved who they are.
    pub unproven: usize,
    /// Connections that have.
    pub proven: usize,
    /// How long an unproven connection may be silent before it can be dropped for another one.
    pub grace: Duration,
}

/// The connections of one port.
#[derive(Debug)]
pub(crate) struct Admission {
    capacity: Capacity,
    open: Mutex<OpenConnections>,
    changed: Notify,
    lingering: Semaphore,
}

#[derive(Debug, Default)]
struct OpenConnections {
    next: u64,
    /// Ordered by arrival.
    unproven: BTreeMap<u64, Unproven>,
    proven: BTreeSet<u64>,
}

#[derive(Debug)]
struct Unproven {
    /// The earliest time at which it may be dropped.
    droppable_at: Instant,
    progress: Progress,
    dropped: CancellationToken,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The request is not complete.
    Silent,
    /// The request is being answered.
    Answering,
    /// Has proved who it is and waits for capacity among the proven connections.
    Waiting,
}

impl OpenConnections {
    /// Drops a connection in favour of a new one; otherwise returns when one can be dropped.
    fn drop_oldest(&mut self, now: Instant) -> Result<(), Option<Instant>> {
        let candidates = || self.unproven.iter().filter(|(_, one)| one.progress != Progress::Waiting);
        let silent =
            candidates().find(|(_, one)| one.progress == Progress::Silent && one.droppable_at <= now);
        let oldest = silent.or_else(|| candidates().find(|(_, one)| one.droppable_at <= now));
        let Some(id) = oldest.map(|(id, _)| *id) else {
            return Err(candidates().map(|(_, one)| one.droppable_at).min());
        };
        if let Some(one) = self.unproven.remove(&id) {
            one.dropped.cancel();
        }
        Ok(())
    }
}

impl Admission {
    pub fn new(capacity: Capacity) -> Arc<Self> {
        let open = Mutex::new(OpenConnections::default());
        Arc::new(Self { capacity, open, changed: Notify::new(), lingering: Semaphore::new(MAX_LINGERING) })
    }

    /// Admits a connection that has proved nothing yet, as soon as there is capacity for it.
    pub async fn admit(self: &Arc<Self>) -> Admitted {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let wait = match self.try_admit(Instant::now()) {
                Ok(admitted) => return admitted,
                Err(wait) => wait,
            };
            match wait {
                Some(wait) => {
                    let _ = tokio::time::timeout_at(wait, changed).await;
                }
                None => changed.await,
            }
        }
    }

    fn try_admit(self: &Arc<Self>, now: Instant) -> Result<Admitted, Option<Instant>> {
        let mut open = self.open();
        if open.unproven.len() >= self.capacity.unproven {
            open.drop_oldest(now)?;
        }
        let id = open.next;
        open.next += 1;
        let dropped = CancellationToken::new();
        let from = now + self.capacity.grace;
        open.unproven.insert(
            id,
            Unproven { droppable_at: from, progress: Progress::Silent, dropped: dropped.clone() },
        );
        Ok(Admitted { id, admission: Arc::clone(self), dropped })
    }

    /// Sends `response` and closes the connection once the caller has had time to read it. Closing it with unread bytes of
    /// the caller would reset it, and the response would be lost.
    pub async fn refuse(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin, response: &str) {
        let send = async {
            stream.write_all(response.as_bytes()).await?;
            stream.shutdown().await?;
            if let Ok(_permit) = self.lingering.try_acquire() {
                tokio::io::copy(&mut (&mut stream).take(LINGER_BYTES), &mut tokio::io::sink()).await?;
            }
            std::io::Result::Ok(())
        };
        // A caller that is gone needs no answer.
        let _ = tokio::time::timeout(LINGER, send).await;
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One open connection. Dropping it frees its slot.
#[derive(Debug)]
pub(crate) struct Admitted {
    id: u64,
    admission: Arc<Admission>,
    dropped: CancellationToken,
}

impl Admitted {
    /// Records that the whole request was received.
    pub fn mark_answering(&self) {
        if let Some(one) = self.admission.open().unproven.get_mut(&self.id) {
            one.progress = Progress::Answering;
            one.droppable_at = Instant::now() + self.admission.capacity.grace + ANSWER_GRACE;
        }
    }

    /// Counts the connection among the proven ones. Returns false if their capacity is used up.
    pub fn try_prove(&self) -> bool {
        let mut open = self.admission.open();
        if open.proven.contains(&self.id) {
            return true;
        }
        if open.proven.len() >= self.admission.capacity.proven || open.unproven.remove(&self.id).is_none() {
            return false;
        }
        open.proven.insert(self.id);
        drop(open);
        self.admission.changed.notify_waiters();
        true
    }

    /// Like `try_prove`, but waits for capacity. The connection is not dropped while it waits.
    pub async fn prove(&self) {
        loop {
            let mut changed = pin!(self.admission.changed.notified());
            changed.as_mut().enable();
            if self.try_prove() {
                return;
            }
            if let Some(one) = self.admission.open().unproven.get_mut(&self.id) {
                one.progress = Progress::Waiting;
            }
            changed.await;
        }
    }

    /// Completes when the connection is dropped in favour of another one.
    pub async fn dropped(&self) {
        self.dropped.cancelled().await;
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut open = self.admission.open();
        open.unproven.remove(&self.id);
        open.proven.remove(&self.id);
        drop(open);
        self.admission.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(1);

    fn admission(unproven: usize, proven: usize) -> Arc<Admission> {
        Admission::new(Capacity { unproven, proven, grace: GRACE })
    }

    async fn two(admission: &Arc<Admission>) -> [Admitted; 2] {
        [admission.admit().await, admission.admit().await]
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_silent_connection_is_dropped_after_its_grace() {
        let admission = admission(2, 1);
        let [first, second] = two(&admission).await;
        let start = Instant::now();
        let _third = admission.admit().await;
        assert_eq!(start.elapsed(), GRACE);
        assert!(first.dropped.is_cancelled() && !second.dropped.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_is_answered_outlasts_a_younger_silent_one() {
        let admission = admission(2, 1);
        let [first, second] = two(&admission).await;
        first.mark_answering();
        let third = admission.admit().await;
        assert!(second.dropped.is_cancelled() && !first.dropped.is_cancelled());
        // A connection that never reads its answer does not stay open for ever.
        third.mark_answering();
        let start = Instant::now();
        let _fourth = admission.admit().await;
        assert!(first.dropped.is_cancelled() && start.elapsed() <= GRACE + ANSWER_GRACE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_proves_itself_frees_its_slot_at_once() {
        let admission = admission(1, 2);
        let first = admission.admit().await;
        let start = Instant::now();
        let next = admission.admit();
        let (second, ()) = tokio::join!(next, async { assert!(first.try_prove()) });
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert!(second.try_prove() && second.try_prove());
        let third = admission.admit().await;
        assert!(!third.try_prove(), "the room of the proven ones is full");
        drop(first);
        assert!(third.try_prove());
    }

    #[tokio::test(start_paused = true)]
    async fn a_proven_connection_that_waits_for_capacity_is_not_dropped() {
        let admission = admission(1, 1);
        let first = admission.admit().await;
        assert!(first.try_prove());
        let second = admission.admit().await;
        let start = Instant::now();
        let (third, (), ()) = tokio::join!(admission.admit(), second.prove(), async {
            tokio::time::sleep(GRACE * 60).await;
            drop(first);
        });
        assert_eq!(start.elapsed(), GRACE * 60);
        assert!(!second.dropped.is_cancelled() && !third.dropped.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_connection_frees_its_slot() {
        let admission = admission(1, 1);
        let first = admission.admit().await;
        let start = Instant::now();
        let (_second, ()) = tokio::join!(admission.admit(), async { drop(first) });
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
