//! The carrier: takes the posts from the outbox, in order, and shows how the answer that goes on gets along.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Event, Shown};
use domain::conversation::{Branch, EntryId};
use domain::post::PostKey;
use domain::record::MessageId;
use domain::turn::TurnId;
use engine::ports::{Outgoing as Waiting, Settled};
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::Shared;
use super::eyes::{self, Eyes};
use super::live::{self, Live};
use super::sending::{Doubt, Tried, carry};
use super::unfinished;
use crate::stage::{Scene, Sight, Watcher};

/// How often the outbox is looked at, whatever anybody says.
const LOOK: Duration = Duration::from_secs(5);
/// How often what was sent long ago is forgotten.
const DAY: Duration = Duration::from_secs(24 * 3_600);
/// How many posts are read at once.
const POSTS: u32 = 20;
/// How long to wait after trouble, at first and at most.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// For how long a post is kept while Discord gives no access to the DM.
const PERSEVERANCE: Duration = Duration::from_secs(600);

/// Who carries.
pub(super) struct Carrier {
    shared: Arc<Shared>,
    live: BTreeMap<TurnId, Live>,
    eyes: Eyes,
    /// The newest entry of each branch, as far as it was shown.
    newest: BTreeMap<Branch, EntryId>,
    /// When this life began: what is older may have been sent by an earlier one.
    began: Timestamp,
    /// Posts of which nobody knows whether they arrived.
    unsure: BTreeSet<u64>,
    /// The newest message whose turn has come.
    begun: Option<MessageId>,
    /// Nothing is sent before that, and how long to wait after the next trouble.
    patience: (Instant, Duration),
    /// What the human knows of Discord's moods.
    told: Told,
    /// Since when Discord gives no access to the DM.
    denied_since: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    Away,
    Refused,
}

impl Carrier {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let (live, eyes, patience) = (BTreeMap::new(), Eyes::default(), (Instant::now(), WAITS.0));
        let (began, unsure) = (shared.ports.clock.now().timestamp(), BTreeSet::new());
        Self {
            shared,
            live,
            eyes,
            newest: BTreeMap::new(),
            began,
            unsure,
            begun: None,
            patience,
            told: Told::Nothing,
            denied_since: None,
        }
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

    /// Waits for something to do, and does it. Ends with the stage.
    async fn step(&mut self, watcher: &mut Watcher) -> bool {
        self.drain().await;
        let next = self.next();
        let shared = Arc::clone(&self.shared);
        let sight = tokio::select! {
            sight = watcher.next() => Some(sight),
            () = shared.poke.notified() => None,
            () = tokio::time::sleep_until(next) => None,
        };
        // All that has come is known before anything is shown: half an answer never takes the place of a whole one.
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
        live.chain(waits).map(|at| at.max(self.patience.0)).chain([look]).min().unwrap_or(look)
    }

    /// Whether the human asked it here.
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
                    // Words that were written down are not shown unfinished any more.
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

    /// The keys of what may be said next where the human is.
    async fn heads(&self) -> Vec<PostKey> {
        let mut keys = Vec::new();
        for branch in self.live.values().map(|live| &live.branch).chain([&Branch::Main]) {
            keys.extend(self.head(branch).await.map(PostKey::after));
        }
        keys
    }

    /// The newest entry on `branch`, of a turn that a restart goes on with.
    async fn head(&self, branch: &Branch) -> Option<EntryId> {
        let newest = self.shared.ports.journal.recent(branch.clone(), None, 1).await.ok()?;
        newest.last().map(|entry| entry.id)
    }

    /// How things stand, for who missed how they came about. What follows what is not known then, so nothing
    /// unfinished is shown.
    async fn know(&mut self, scene: &Scene) {
        let over: Vec<TurnId> =
            self.live.keys().filter(|turn| !scene.running.contains_key(turn)).copied().collect();
        for mut live in over.iter().filter_map(|turn| self.live.remove(turn)).collect::<Vec<_>>() {
            live.rests(&self.shared).await;
        }
        self.newest.clear();
        for (turn, running) in &scene.running {
            let (branch, answers) = (running.branch.clone(), running.answers);
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

    /// What goes on is shown as far as it is due.
    async fn tend(&mut self) {
        for (id, message) in self.shared.newly_heard() {
            if self.begun < Some(id) {
                self.eyes.heard(id, message);
            }
        }
        if Instant::now() < self.patience.0 {
            return;
        }
        self.eyes.tend(&self.shared).await;
        for live in self.live.values_mut().filter(|live| self.shared.was_asked(live.answers)) {
            if let Err(trouble) = live.tend(&self.shared).await {
                tracing::debug!(%trouble, "An answer is shown when it is finished.");
            }
        }
    }

    /// Sends what waits, oldest first. What cannot be sent now keeps the rest waiting, so that the order stays.
    async fn drain(&mut self) {
        while Instant::now() >= self.patience.0 {
            let waiting = match self.shared.ports.outbox.waiting(POSTS).await {
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
        let doubt = match self.unsure.contains(&waiting.id) || waiting.post.at < self.began {
            true => Doubt::Unsure,
            false => Doubt::None,
        };
        match carry(&self.shared, waiting, doubt).await {
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
                if self.told == Told::Nothing {
                    self.shared.tell_elsewhere(text);
                    self.told = Told::Away;
                }
                self.patience = (Instant::now() + WAITS.1, WAITS.1);
                false
            }
        }
    }

    /// Opens the DM anew and keeps the post for the next try. Gives it up when it is older than [`PERSEVERANCE`] and there
    /// was no access for that long.
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
            self.tell_refused(why);
        }
        match self.shared.ports.outbox.settle(waiting.id, settled).await {
            Ok(charged) => {
                if let Some(charge) = charged {
                    self.shared.ports.desk.tell(Event::Undelivered(charge)).await;
                }
                if sent {
                    (self.patience.1, self.told) = (WAITS.0, Told::Nothing);
                    self.denied_since = None;
                }
                true
            }
            Err(error) => {
                self.wait(&error.to_string());
                false
            }
        }
    }

    /// What Discord does not take is told once, until it takes something again.
    fn tell_refused(&mut self, why: &str) {
        if self.told != Told::Refused {
            self.told = Told::Refused;
            self.shared.tell_elsewhere(&format!("discord did not take a message of mine: {why}"));
        }
    }

    fn wait(&mut self, why: &str) {
        self.wait_saying(why, "discord cannot be reached. what i send there waits; you can read it here.");
    }

    /// Waits before the next try, each time longer. `notice` is shown elsewhere, once, if that goes on.
    fn wait_saying(&mut self, why: &str, notice: &str) {
        let (_, wait) = self.patience;
        tracing::warn!(why, "What is to be sent to Discord waits.");
        if wait >= WAITS.1 && self.told == Told::Nothing {
            self.told = Told::Away;
            self.shared.tell_elsewhere(notice);
        }
        self.patience = (Instant::now() + wait, (wait * 2).min(WAITS.1));
    }
}
