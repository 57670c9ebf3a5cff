//! Sends the posts of the outbox in order and shows the progress of the current answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::Shown;
use domain::conversation::{Branch, EntryId};
use domain::post::PostKey;
use domain::record::MessageId;
use domain::turn::TurnId;
use engine::ports::Queue;
use tokio::time::Instant;

use super::Shared;
use super::eyes::{self, Eyes};
use super::live::{self, Live};
use super::outgoing::{LOOK, Sender};
use super::unfinished;
use crate::stage::{Scene, Sight, Watcher};

/// Interval at which records of old messages are pruned.
const DAY: Duration = Duration::from_secs(24 * 3_600);

pub(super) struct Carrier {
    shared: Arc<Shared>,
    live: BTreeMap<TurnId, Live>,
    eyes: Eyes,
    /// The newest entry of each branch, as far as it was shown.
    newest: BTreeMap<Branch, EntryId>,
    /// The newest message whose turn has started.
    begun: Option<MessageId>,
    /// Sends all posts except reminders, which have a task of their own.
    sender: Sender,
}

impl Carrier {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let live = BTreeMap::new();
        let eyes = Eyes::default();
        let newest = BTreeMap::new();
        let sender = Sender::new(Arc::clone(&shared), Queue::Others);
        Self { shared, live, eyes, newest, begun: None, sender }
    }

    pub(super) async fn run(mut self) {
        let mut watcher = self.shared.ports.stage.subscribe();
        self.know(&watcher.scene()).await;
        eyes::sweep(&self.shared).await;
        live::sweep(&self.shared).await;
        unfinished::recover(&self.shared).await;
        live::sweep_halves(&self.shared, &self.heads().await).await;
        let mut forgets = Instant::now();
        while self.step(&mut watcher).await {
            if Instant::now() >= forgets {
                forgets = Instant::now() + DAY;
                self.forget().await;
            }
        }
    }

    async fn forget(&self) {
        let now = self.shared.ports.clock.now().timestamp();
        if let Err(error) = self.shared.ports.outbox.forget(now).await {
            tracing::warn!(%error, "What was sent long ago is still kept.");
        }
    }

    /// Waits for the next event or deadline and handles it. Returns false when the event hub is
    /// closed.
    async fn step(&mut self, watcher: &mut Watcher) -> bool {
        self.sender.drain().await;
        let next = self.next();
        let shared = Arc::clone(&self.shared);
        let sight = tokio::select! {
            sight = watcher.next() => Some(sight),
            () = shared.poke.notified() => None,
            () = tokio::time::sleep_until(next) => None,
        };
        // All received events are handled before anything is shown, so a partial answer never
        // replaces a complete one.
        let mut next = sight.or_else(|| watcher.try_next());
        while let Some(sight) = next {
            match sight {
                Sight::Cue(cue) => self.see(&cue.shown).await,
                Sight::Missed(scene) => self.know(&scene).await,
                Sight::Over => return false,
            }
            next = watcher.try_next();
        }
        self.tend().await;
        true
    }

    fn next(&self) -> Instant {
        let look = Instant::now() + LOOK;
        let live = self.live.values().filter(|live| self.is_ours(live)).map(Live::next);
        let waits = self.eyes.next();
        live.chain(waits).map(|at| at.max(self.sender.rests_until())).chain([look]).min().unwrap_or(look)
    }

    /// Returns true if the turn answers a message from Discord.
    fn is_ours(&self, live: &Live) -> bool {
        self.shared.was_asked(live.answers)
    }

    async fn see(&mut self, shown: &Shown) {
        match shown {
            Shown::Began { turn, branch, answers } => self.began(*turn, branch, *answers).await,
            Shown::Delta { turn, text } => {
                if let Some(live) = self.live.get_mut(turn) {
                    live.hear(text);
                    live.rests(&self.shared).await;
                }
            }
            Shown::Progress { turn, note } => {
                if let Some(live) = self.live.get_mut(turn) {
                    live.note(note);
                }
            }
            Shown::Working { turn, tool, doing } => {
                if let Some(live) = self.live.get_mut(turn) {
                    live.works(tool, *doing);
                }
            }
            Shown::Said { branch, entry } => {
                self.newest.insert(branch.clone(), entry.id);
                for live in self.live.values_mut().filter(|live| live.branch == *branch) {
                    live.written(entry.id);
                }
            }
            Shown::Held { turn, .. } => {
                if let Some(mut live) = self.live.remove(turn) {
                    live.unsay(&self.shared).await;
                    live.rests(&self.shared).await;
                }
            }
            Shown::Ended { turn, answers, .. } => {
                if let Some(mut live) = self.live.remove(turn) {
                    // The text is stored as an entry, so the partial messages are removed.
                    live.unsay(&self.shared).await;
                    live.rests(&self.shared).await;
                }
                self.eyes.over(*answers, &self.shared).await;
                self.shared.answered(*answers);
            }
            Shown::Waiting { .. }
            | Shown::Compaction(_)
            | Shown::Approval(_)
            | Shown::Aside(_)
            | Shown::Moved(_)
            | Shown::Notice(_) => {}
        }
    }

    async fn began(&mut self, turn: TurnId, branch: &Branch, answers: MessageId) {
        let after = match self.newest.get(branch) {
            Some(entry) => Some(*entry),
            None => self.head(branch).await,
        };
        self.live.insert(turn, Live::new((turn, answers), (branch.clone(), after)));
        self.begun = self.begun.max(Some(answers));
        self.eyes.over(answers, &self.shared).await;
    }

    /// Returns the keys of posts that may follow on the branches in use.
    async fn heads(&self) -> Vec<PostKey> {
        let mut keys = Vec::new();
        for branch in self.live.values().map(|live| &live.branch).chain([&Branch::Main]) {
            keys.extend(self.head(branch).await.map(PostKey::after));
        }
        keys
    }

    /// Returns the newest entry on `branch`. Needed for a turn that continues after a restart.
    async fn head(&self, branch: &Branch) -> Option<EntryId> {
        let newest = self.shared.ports.journal.recent(branch.clone(), None, 1).await.ok()?;
        newest.last().map(|entry| entry.id)
    }

    /// Applies a snapshot after missed events. The entry that the current text follows is unknown
    /// then, so no partial text is shown.
    async fn know(&mut self, scene: &Scene) {
        let over: Vec<TurnId> =
            self.live.keys().filter(|turn| !scene.running.contains_key(turn)).copied().collect();
        for mut live in over.iter().filter_map(|turn| self.live.remove(turn)).collect::<Vec<_>>() {
            live.rests(&self.shared).await;
        }
        self.newest.clear();
        for (turn, running) in &scene.running {
            let branch = running.branch.clone();
            let answers = running.answers;
            let live = self.live.entry(*turn).or_insert_with(|| Live::new((*turn, answers), (branch, None)));
            live.lost_track();
            live.heard(&running.words);
            if let Some(note) = &running.note {
                live.note(note);
            }
            self.begun = self.begun.max(Some(answers));
        }
        let running: BTreeSet<MessageId> = scene.running.values().map(|running| running.answers).collect();
        for message in self.shared.over(self.begun, &running) {
            self.eyes.over(message, &self.shared).await;
        }
    }

    /// Updates marks and partial answers that are due.
    async fn tend(&mut self) {
        for (id, message) in self.shared.newly_heard() {
            if self.begun < Some(id) {
                self.eyes.heard(id, message);
            }
        }
        if Instant::now() < self.sender.rests_until() {
            return;
        }
        self.eyes.tend(&self.shared).await;
        for live in self.live.values_mut().filter(|live| self.shared.was_asked(live.answers)) {
            if let Err(trouble) = live.tend(&self.shared).await {
                tracing::debug!(%trouble, "An answer is shown when it is finished.");
            }
        }
    }
}
