//! Sends the posts of the outbox in order and shows the progress of the current answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::Update;
use domain::conversation::{Branch, EntryId};
use domain::outbox::OutboxKey;
use domain::record::MessageId;
use domain::turn::TurnId;
use engine::ports::Queue;
use tokio::time::Instant;

use super::Shared;
use super::live_answer::{self, LiveAnswer};
use super::pending_message;
use super::queue_sender::{POLL_INTERVAL, QueueSender};
use super::seen_marks::{self, SeenMarks};
use crate::event_hub::{HubMessage, Snapshot, Subscription};

/// Interval at which records of old messages are pruned.
const PRUNE_INTERVAL: Duration = Duration::from_secs(24 * 3_600);

pub(super) struct OutboxSender {
    shared: Arc<Shared>,
    live: BTreeMap<TurnId, LiveAnswer>,
    seen_marks: SeenMarks,
    /// The newest entry of each branch, as far as it was shown.
    newest: BTreeMap<Branch, EntryId>,
    /// The newest message whose turn has started.
    newest_started: Option<MessageId>,
    /// Sends all posts except reminders, which have a task of their own.
    sender: QueueSender,
}

impl OutboxSender {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let live = BTreeMap::new();
        let eyes = SeenMarks::default();
        let newest = BTreeMap::new();
        let sender = QueueSender::new(Arc::clone(&shared), Queue::Others);
        Self { shared, live, seen_marks: eyes, newest, newest_started: None, sender }
    }

    pub(super) async fn run(mut self) {
        let mut subscription = self.shared.ports.event_hub.subscribe();
        self.apply_snapshot(&subscription.snapshot()).await;
        seen_marks::sweep(&self.shared).await;
        live_answer::sweep_status_lines(&self.shared).await;
        pending_message::recover(&self.shared).await;
        live_answer::sweep_partial_answers(&self.shared, &self.next_keys().await).await;
        let mut next_prune = Instant::now();
        while self.step(&mut subscription).await {
            if Instant::now() >= next_prune {
                next_prune = Instant::now() + PRUNE_INTERVAL;
                self.prune().await;
            }
        }
    }

    async fn prune(&self) {
        let now = self.shared.ports.clock.now().timestamp();
        if let Err(error) = self.shared.ports.outbox.prune(now).await {
            tracing::warn!(%error, "What was sent long ago is still kept.");
        }
    }

    /// Waits for the next event or deadline and handles it. Returns false when the event hub is
    /// closed.
    async fn step(&mut self, subscription: &mut Subscription) -> bool {
        self.sender.drain().await;
        let next = self.next_wake();
        let shared = Arc::clone(&self.shared);
        let message = tokio::select! {
            message = subscription.next() => Some(message),
            () = shared.outbox_changed.notified() => None,
            () = tokio::time::sleep_until(next) => None,
        };
        // All received events are handled before anything is shown, so a partial answer never
        // replaces a complete one.
        let mut next = message.or_else(|| subscription.try_next());
        while let Some(message) = next {
            match message {
                HubMessage::Event(cue) => self.on_update(&cue.update).await,
                HubMessage::Lagged(scene) => self.apply_snapshot(&scene).await,
                HubMessage::Closed => return false,
            }
            next = subscription.try_next();
        }
        self.update().await;
        true
    }

    fn next_wake(&self) -> Instant {
        let look = Instant::now() + POLL_INTERVAL;
        let live = self.live.values().filter(|live| self.is_asked_here(live)).map(LiveAnswer::next_due);
        let waits = self.seen_marks.next_due();
        live.chain(waits).map(|at| at.max(self.sender.paused_until())).chain([look]).min().unwrap_or(look)
    }

    /// Returns true if the turn answers a message from Discord.
    fn is_asked_here(&self, live: &LiveAnswer) -> bool {
        self.shared.is_unanswered(live.answers)
    }

    async fn on_update(&mut self, shown: &Update) {
        match shown {
            Update::TurnStarted { turn, branch, answers } => {
                self.on_turn_started(*turn, branch, *answers).await
            }
            Update::Delta { turn, text } => {
                if let Some(live) = self.live.get_mut(turn) {
                    live.push_text(text);
                    live.remove_status_line(&self.shared).await;
                }
            }
            Update::ProgressNote { turn, note } => {
                if let Some(live) = self.live.get_mut(turn) {
                    live.set_note(note);
                }
            }
            Update::ToolProgress { turn, tool, phase: doing } => {
                if let Some(live) = self.live.get_mut(turn) {
                    live.tool_started(tool, *doing);
                }
            }
            Update::EntryAppended { branch, entry } => {
                self.newest.insert(branch.clone(), entry.id);
                for live in self.live.values_mut().filter(|live| live.branch == *branch) {
                    live.on_entry(entry.id);
                }
            }
            Update::TurnBlocked { turn, .. } => {
                if let Some(mut live) = self.live.remove(turn) {
                    live.remove_partial(&self.shared).await;
                    live.remove_status_line(&self.shared).await;
                }
            }
            Update::TurnEnded { turn, answers, .. } => {
                if let Some(mut live) = self.live.remove(turn) {
                    // The text is stored as an entry, so the partial messages are removed.
                    live.remove_partial(&self.shared).await;
                    live.remove_status_line(&self.shared).await;
                }
                self.seen_marks.remove(*answers, &self.shared).await;
                self.shared.mark_answered(*answers);
            }
            Update::ModelWait { .. }
            | Update::Compaction(_)
            | Update::Approval(_)
            | Update::Side(_)
            | Update::MainMoved(_)
            | Update::Notice(_) => {}
        }
    }

    async fn on_turn_started(&mut self, turn: TurnId, branch: &Branch, answers: MessageId) {
        let after = match self.newest.get(branch) {
            Some(entry) => Some(*entry),
            None => self.newest_entry(branch).await,
        };
        self.live.insert(turn, LiveAnswer::new((turn, answers), (branch.clone(), after)));
        self.newest_started = self.newest_started.max(Some(answers));
        self.seen_marks.remove(answers, &self.shared).await;
    }

    /// Returns the keys of posts that may follow on the branches in use.
    async fn next_keys(&self) -> Vec<OutboxKey> {
        let mut keys = Vec::new();
        for branch in self.live.values().map(|live| &live.branch).chain([&Branch::Main]) {
            keys.extend(self.newest_entry(branch).await.map(OutboxKey::after));
        }
        keys
    }

    /// Returns the newest entry on `branch`. Needed for a turn that continues after a restart.
    async fn newest_entry(&self, branch: &Branch) -> Option<EntryId> {
        let newest = self.shared.ports.journal.recent_entries(branch.clone(), None, 1).await.ok()?;
        newest.last().map(|entry| entry.id)
    }

    /// Applies a snapshot after missed events. The entry that the current text follows is unknown
    /// then, so no partial text is shown.
    async fn apply_snapshot(&mut self, snapshot: &Snapshot) {
        let over: Vec<TurnId> =
            self.live.keys().filter(|turn| !snapshot.running.contains_key(turn)).copied().collect();
        for mut live in over.iter().filter_map(|turn| self.live.remove(turn)).collect::<Vec<_>>() {
            live.remove_status_line(&self.shared).await;
        }
        self.newest.clear();
        for (turn, running) in &snapshot.running {
            let branch = running.branch.clone();
            let answers = running.answers;
            let live =
                self.live.entry(*turn).or_insert_with(|| LiveAnswer::new((*turn, answers), (branch, None)));
            live.forget_position();
            live.set_text(&running.text);
            if let Some(note) = &running.note {
                live.set_note(note);
            }
            self.newest_started = self.newest_started.max(Some(answers));
        }
        let running: BTreeSet<MessageId> = snapshot.running.values().map(|running| running.answers).collect();
        for message in self.shared.take_finished(self.newest_started, &running) {
            self.seen_marks.remove(message, &self.shared).await;
        }
    }

    /// Updates marks and partial answers that are due.
    async fn update(&mut self) {
        for (id, message) in self.shared.take_new() {
            if self.newest_started < Some(id) {
                self.seen_marks.add(id, message);
            }
        }
        if Instant::now() < self.sender.paused_until() {
            return;
        }
        self.seen_marks.update(&self.shared).await;
        for live in self.live.values_mut().filter(|live| self.shared.is_unanswered(live.answers)) {
            if let Err(trouble) = live.update(&self.shared).await {
                tracing::debug!(%trouble, "An answer is shown when it is finished.");
            }
        }
    }
}
