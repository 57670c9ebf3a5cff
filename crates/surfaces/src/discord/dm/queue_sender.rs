//! Sends the posts of one outbox queue in order. Reminders have a task of their own, so a full
//! queue or a rate limit does not delay them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Event, SideUpdate, Update};
use engine::ports::{PendingPost as Waiting, PostOutcome, Queue};
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::delivery::{DeliveryOutcome, SentBefore, deliver};
use super::{SendFailure, Shared};
use crate::discord::rest::Rest;
use crate::event_hub::{HubMessage, Subscription};

/// Interval at which the outbox is polled even without a notification.
pub(super) const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Number of posts read at once.
const BATCH_SIZE: u32 = 20;
/// First and longest delay after a failure.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How long a post is retried while Discord gives no access to the DM.
const NO_ACCESS_LIMIT: Duration = Duration::from_secs(600);

/// Sends the posts of one queue.
pub(super) struct QueueSender {
    shared: Arc<Shared>,
    queue: Queue,
    rest: Rest,
    /// Start of this process. Older posts may have been sent by an earlier one.
    started_at: Timestamp,
    /// Posts that may have been sent, because the result of a request is unknown.
    maybe_sent: BTreeSet<u64>,
    /// Earliest time of the next attempt, and the delay after the next failure.
    backoff: (Instant, Duration),
    /// Since when Discord gives no access to the DM.
    denied_since: Option<Instant>,
}

impl QueueSender {
    pub(super) fn new(shared: Arc<Shared>, queue: Queue) -> Self {
        let rest = match queue {
            Queue::Reminders => shared.rest.with_priority(),
            Queue::Others => shared.rest.clone(),
        };
        let began = shared.ports.clock.now().timestamp();
        let patience = (Instant::now(), RETRY_DELAYS.0);
        Self {
            shared,
            queue,
            rest,
            started_at: began,
            maybe_sent: BTreeSet::new(),
            backoff: patience,
            denied_since: None,
        }
    }

    /// Sends the posts of the queue as they are written. Ends when the event hub is closed.
    pub(super) async fn run(mut self) {
        let mut subscription = self.shared.ports.event_hub.subscribe();
        loop {
            self.drain().await;
            if !self.wait_for_work(&mut subscription).await {
                return;
            }
        }
    }

    /// Waits until a reminder is shown, or the next poll or attempt is due. Returns false when the
    /// event hub is closed.
    async fn wait_for_work(&mut self, subscription: &mut Subscription) -> bool {
        let now = Instant::now();
        let next = if self.paused_until() > now { self.paused_until() } else { now + POLL_INTERVAL };
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(next) => return true,
                message = subscription.next() => match message {
                    HubMessage::Closed => return false,
                    HubMessage::Lagged(_) => return true,
                    HubMessage::Event(cue) if matches!(cue.update, Update::Side(SideUpdate::CardChanged(_))) => return true,
                    HubMessage::Event(_) => {}
                },
            }
        }
    }

    /// Nothing is sent before this time, because of failures.
    pub(super) fn paused_until(&self) -> Instant {
        self.backoff.0
    }

    /// Sends the waiting posts, oldest first. A post that cannot be sent holds back the later ones,
    /// to keep the order.
    pub(super) async fn drain(&mut self) {
        while Instant::now() >= self.backoff.0 {
            let waiting = match self.shared.ports.outbox.pending(self.queue, BATCH_SIZE).await {
                Ok(waiting) => waiting,
                Err(error) => return self.back_off(&error.to_string()),
            };
            if waiting.is_empty() {
                return;
            }
            for waiting in waiting {
                if !self.send(&waiting).await {
                    return;
                }
            }
        }
    }

    async fn send(&mut self, waiting: &Waiting) -> bool {
        let doubt = if self.maybe_sent.contains(&waiting.id) || waiting.post.at < self.started_at {
            SentBefore::Maybe
        } else {
            SentBefore::No
        };
        match deliver(&self.shared, &self.rest, waiting, doubt).await {
            DeliveryOutcome::Settled(settled) => self.settle(waiting, settled).await,
            DeliveryOutcome::Retry(why, doubt) => {
                if doubt == SentBefore::Maybe {
                    self.maybe_sent.insert(waiting.id);
                }
                self.back_off(&why);
                false
            }
            DeliveryOutcome::NoAccess(why) => self.on_no_access(waiting, why).await,
            DeliveryOutcome::InvalidToken => {
                let text = "discord: the token is void. put a new one into DISCORD_TOKEN and start again; \
                            nothing is lost meanwhile.";
                self.shared.report_failure(SendFailure::Unreachable, text);
                self.backoff = (Instant::now() + RETRY_DELAYS.1, RETRY_DELAYS.1);
                false
            }
        }
    }

    /// Reopens the DM and retries the post later. Gives up when the post is older than
    /// [`NO_ACCESS_LIMIT`] and there was no access for that long.
    async fn on_no_access(&mut self, waiting: &Waiting, why: String) -> bool {
        let since = *self.denied_since.get_or_insert_with(Instant::now);
        let age = self.shared.ports.clock.now().timestamp().duration_since(waiting.post.at);
        let is_old = age >= SignedDuration::try_from(NO_ACCESS_LIMIT).unwrap_or(SignedDuration::MAX);
        if since.elapsed() >= NO_ACCESS_LIMIT && is_old {
            return self.settle(waiting, PostOutcome::Failed(why)).await;
        }
        self.shared.reopen_dm().await;
        self.back_off_with_notice(
            &why,
            "I have no access to our DM in Discord. I keep trying; you can read everything here.",
        );
        false
    }

    async fn settle(&mut self, waiting: &Waiting, settled: PostOutcome) -> bool {
        let sent = settled == PostOutcome::Sent;
        self.maybe_sent.remove(&waiting.id);
        if let PostOutcome::Failed(why) = &settled {
            let text = format!("discord did not take a message of mine: {why}");
            self.shared.report_failure(SendFailure::Refused, &text);
        }
        match self.shared.ports.outbox.settle(waiting.id, settled).await {
            Ok(charged) => {
                if let Some(charge) = charged {
                    self.shared.ports.assistant.send_event(Event::PingNotDelivered(charge)).await;
                }
                if sent {
                    self.backoff.1 = RETRY_DELAYS.0;
                    self.shared.clear_failure();
                    self.denied_since = None;
                }
                if self.queue == Queue::Reminders {
                    // Edits of a reminder are in the other queue.
                    self.shared.outbox_changed.notify_one();
                }
                true
            }
            Err(error) => {
                self.back_off(&error.to_string());
                false
            }
        }
    }

    fn back_off(&mut self, why: &str) {
        self.back_off_with_notice(
            why,
            "discord cannot be reached. what i send there waits; you can read it here.",
        );
    }

    /// Backs off exponentially. At the longest delay, `notice` is shown once on the other surfaces.
    fn back_off_with_notice(&mut self, why: &str, notice: &str) {
        let (_, wait) = self.backoff;
        tracing::warn!(why, "What is to be sent to Discord waits.");
        if wait >= RETRY_DELAYS.1 {
            self.shared.report_failure(SendFailure::Unreachable, notice);
        }
        self.backoff = (Instant::now() + wait, (wait * 2).min(RETRY_DELAYS.1));
    }
}
