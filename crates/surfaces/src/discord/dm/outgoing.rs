//! Sends the posts of one outbox queue in order. Reminders have a task of their own, so a full
//! queue or a rate limit does not delay them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Aside, Event, Shown};
use engine::ports::{Outgoing as Waiting, Queue, Settled};
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::sending::{Doubt, Tried, carry};
use super::{Reported, Shared};
use crate::discord::rest::Rest;
use crate::stage::{Sight, Watcher};

/// Interval at which the outbox is polled even without a notification.
pub(super) const LOOK: Duration = Duration::from_secs(5);
/// Number of posts read at once.
const POSTS: u32 = 20;
/// First and longest delay after a failure.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How long a post is retried while Discord gives no access to the DM.
const PERSEVERANCE: Duration = Duration::from_secs(600);

/// Sends the posts of one queue.
pub(super) struct Sender {
    shared: Arc<Shared>,
    queue: Queue,
    rest: Rest,
    /// Start of this process. Older posts may have been sent by an earlier one.
    began: Timestamp,
    /// Posts that may have been sent, because the result of a request is unknown.
    unsure: BTreeSet<u64>,
    /// Earliest time of the next attempt, and the delay after the next failure.
    patience: (Instant, Duration),
    /// Since when Discord gives no access to the DM.
    denied_since: Option<Instant>,
}

impl Sender {
    pub(super) fn new(shared: Arc<Shared>, queue: Queue) -> Self {
        let rest = match queue {
            Queue::Reminders => shared.rest.overtaking(),
            Queue::Others => shared.rest.clone(),
        };
        let began = shared.ports.clock.now().timestamp();
        let patience = (Instant::now(), WAITS.0);
        Self { shared, queue, rest, began, unsure: BTreeSet::new(), patience, denied_since: None }
    }

    /// Sends the posts of the queue as they are written. Ends when the event hub is closed.
    pub(super) async fn run(mut self) {
        let mut watcher = self.shared.ports.stage.subscribe();
        loop {
            self.drain().await;
            if !self.waits(&mut watcher).await {
                return;
            }
        }
    }

    /// Waits until a reminder is shown, or the next poll or attempt is due. Returns false when the
    /// event hub is closed.
    async fn waits(&mut self, watcher: &mut Watcher) -> bool {
        let now = Instant::now();
        let next = if self.rests_until() > now { self.rests_until() } else { now + LOOK };
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(next) => return true,
                sight = watcher.next() => match sight {
                    Sight::Over => return false,
                    Sight::Missed(_) => return true,
                    Sight::Cue(cue) if matches!(cue.shown, Shown::Aside(Aside::Card(_))) => return true,
                    Sight::Cue(_) => {}
                },
            }
        }
    }

    /// Nothing is sent before this time, because of failures.
    pub(super) fn rests_until(&self) -> Instant {
        self.patience.0
    }

    /// Sends the waiting posts, oldest first. A post that cannot be sent holds back the later ones,
    /// to keep the order.
    pub(super) async fn drain(&mut self) {
        while Instant::now() >= self.patience.0 {
            let waiting = match self.shared.ports.outbox.waiting(self.queue, POSTS).await {
                Ok(waiting) => waiting,
                Err(error) => return self.wait(&error.to_string()),
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
        let doubt = if self.unsure.contains(&waiting.id) || waiting.post.at < self.began {
            Doubt::Unsure
        } else {
            Doubt::None
        };
        match carry(&self.shared, &self.rest, waiting, doubt).await {
            Tried::Settled(settled) => self.settle(waiting, settled).await,
            Tried::Later(why, doubt) => {
                if doubt == Doubt::Unsure {
                    self.unsure.insert(waiting.id);
                }
                self.wait(&why);
                false
            }
            Tried::NoAccess(why) => self.denied(waiting, why).await,
            Tried::Over => {
                let text = "discord: the token is void. put a new one into DISCORD_TOKEN and start again; \
                            nothing is lost meanwhile.";
                self.shared.report(Reported::Away, text);
                self.patience = (Instant::now() + WAITS.1, WAITS.1);
                false
            }
        }
    }

    /// Reopens the DM and retries the post later. Gives up when the post is older than
    /// [`NO_ACCESS_LIMIT`] and there was no access for that long.
    async fn denied(&mut self, waiting: &Waiting, why: String) -> bool {
        let since = *self.denied_since.get_or_insert_with(Instant::now);
        let age = self.shared.ports.clock.now().timestamp().duration_since(waiting.post.at);
        let is_old = age >= SignedDuration::try_from(PERSEVERANCE).unwrap_or(SignedDuration::MAX);
        if since.elapsed() >= PERSEVERANCE && is_old {
            return self.settle(waiting, Settled::Failed(why)).await;
        }
        self.shared.reopen_dm().await;
        self.wait_saying(
            &why,
            "I have no access to our DM in Discord. I keep trying; you can read everything here.",
        );
        false
    }

    async fn settle(&mut self, waiting: &Waiting, settled: Settled) -> bool {
        let sent = settled == Settled::Sent;
        self.unsure.remove(&waiting.id);
        if let Settled::Failed(why) = &settled {
            let text = format!("discord did not take a message of mine: {why}");
            self.shared.report(Reported::Refused, &text);
        }
        match self.shared.ports.outbox.settle(waiting.id, settled).await {
            Ok(charged) => {
                if let Some(charge) = charged {
                    self.shared.ports.desk.tell(Event::Undelivered(charge)).await;
                }
                if sent {
                    self.patience.1 = WAITS.0;
                    self.shared.trouble_is_over();
                    self.denied_since = None;
                }
                if self.queue == Queue::Reminders {
                    // Edits of a reminder are in the other queue.
                    self.shared.poke.notify_one();
                }
                true
            }
            Err(error) => {
                self.wait(&error.to_string());
                false
            }
        }
    }

    fn wait(&mut self, why: &str) {
        self.wait_saying(why, "discord cannot be reached. what i send there waits; you can read it here.");
    }

    /// Backs off exponentially. At the longest delay, `notice` is shown once on the other surfaces.
    fn wait_saying(&mut self, why: &str, notice: &str) {
        let (_, wait) = self.patience;
        tracing::warn!(why, "What is to be sent to Discord waits.");
        if wait >= WAITS.1 {
            self.shared.report(Reported::Away, notice);
        }
        self.patience = (Instant::now() + wait, (wait * 2).min(WAITS.1));
    }
}
