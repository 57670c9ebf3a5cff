//! The event hub: distributes all updates to any number of subscribers.
//!
//! Every event has a sequence number. A late subscriber gets a snapshot (the running turns with
//! their text so far) and the sequence number that it includes, so no event is seen twice or
//! missed. A subscriber that lags behind gets a new snapshot; the hub never waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::approval::{Approval, ApprovalId};
use domain::assistant::{ApprovalUpdate, CompactionUpdate, SideUpdate, ToolPhase, Update};
use domain::conversation::{Branch, EntryContent};
use domain::record::MessageId;
use domain::turn::TurnId;
use engine::ports::Surface;
use tokio::sync::{broadcast, watch};

/// Number of events a subscriber may lag behind.
const CHANNEL_CAPACITY: usize = 1024;
/// Maximum length of a running answer in the snapshot, in bytes.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// An update with its sequence number.
#[derive(Clone, Debug)]
pub struct SeqEvent {
    /// The first is 1.
    pub seq: u64,
    pub update: Update,
}

/// The current state of running work.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Sequence number of the last event included.
    pub seq: u64,
    pub running: BTreeMap<TurnId, RunningTurn>,
    /// The running compaction, and the number of tokens to compact.
    pub compacting: Option<(TurnId, Option<u64>)>,
    /// The turns that are blocked because the model refuses the key, with its error.
    pub blocked: BTreeMap<TurnId, String>,
    /// The open approvals.
    pub approvals: BTreeMap<ApprovalId, Approval>,
    /// The open interactive fork and its topic.
    pub fork: Option<(Branch, Option<String>)>,
}

/// A running turn.
#[derive(Clone, Debug)]
pub struct RunningTurn {
    pub branch: Branch,
    /// The message it answers.
    pub answers: MessageId,
    /// The text since the last stored entry.
    pub text: String,
    /// The progress note of the model, until answer text follows.
    pub note: Option<String>,
    /// The tool that runs or waits.
    pub tool: Option<(String, ToolPhase)>,
}

/// A surface with any number of subscribers.
#[derive(Debug)]
pub struct EventHub {
    events: broadcast::Sender<Arc<SeqEvent>>,
    snapshot: watch::Sender<Snapshot>,
}

impl Default for EventHub {
    fn default() -> Self {
        Self {
            events: broadcast::Sender::new(CHANNEL_CAPACITY),
            snapshot: watch::Sender::new(Snapshot::default()),
        }
    }
}

impl EventHub {
    /// Creates a subscription.
    pub fn subscribe(&self) -> Subscription {
        let events = self.events.subscribe();
        let snapshot = self.snapshot.subscribe();
        let seen = 0;
        Subscription { events, snapshot, seen }
    }
}

impl Surface for EventHub {
    fn show(&self, shown: &Update) {
        self.snapshot.send_modify(|scene| {
            scene.apply(shown);
            // An error means no subscribers; the snapshot is updated for later ones.
            let _ = self.events.send(Arc::new(SeqEvent { seq: scene.seq, update: shown.clone() }));
        });
    }
}

impl Snapshot {
    fn apply(&mut self, shown: &Update) {
        self.seq += 1;
        match shown {
            Update::TurnStarted { turn, branch, answers } => {
                let branch = branch.clone();
                let answers = *answers;
                self.blocked.remove(turn);
                let words = String::new();
                self.running
                    .insert(*turn, RunningTurn { branch, answers, text: words, note: None, tool: None });
            }
            Update::Delta { turn, text } => self.with_turn(*turn, |run| run.push_text(text)),
            Update::ProgressNote { turn, note } => self.with_turn(*turn, |run| run.note = Some(note.clone())),
            Update::ToolProgress { turn, tool, phase: doing } => {
                self.with_turn(*turn, |run| run.tool = Some((tool.clone(), *doing)));
            }
            Update::Approval(ApprovalUpdate::Open(approval)) => {
                self.approvals.insert(approval.id, approval.clone());
            }
            Update::Approval(ApprovalUpdate::Closed(_, closed)) => {
                self.approvals.remove(&closed.id);
            }
            Update::EntryAppended { branch, entry } => self.on_entry(branch, &entry.content),
            Update::TurnEnded { turn, .. } => {
                self.running.remove(turn);
                self.blocked.remove(turn);
            }
            Update::TurnBlocked { turn, why, .. } => {
                self.running.remove(turn);
                self.blocked.insert(*turn, why.to_string());
            }
            Update::Compaction(CompactionUpdate::Started { turn, branch, tokens })
                if self.is_user_branch(branch) =>
            {
                self.compacting = Some((*turn, *tokens))
            }
            Update::Compaction(CompactionUpdate::Ended { branch, .. }) if self.is_user_branch(branch) => {
                self.compacting = None
            }
            Update::Side(SideUpdate::ForkStarted { branch, topic }) => {
                self.fork = Some((branch.clone(), topic.clone()))
            }
            Update::Side(SideUpdate::ForkEnded { .. }) => self.fork = None,
            Update::Compaction(_)
            | Update::Side(
                SideUpdate::RunShowed { .. } | SideUpdate::MessagePutAway(_) | SideUpdate::CardChanged(_),
            )
            | Update::MainMoved(_)
            | Update::Notice(_)
            | Update::ModelWait { .. } => {}
        }
    }

    /// Returns true if the user may be on `branch`; background runs are not shown there.
    fn is_user_branch(&self, branch: &Branch) -> bool {
        *branch == Branch::Main || self.fork.as_ref().is_some_and(|(fork, _)| fork == branch)
    }

    fn with_turn(&mut self, turn: TurnId, change: impl FnOnce(&mut RunningTurn)) {
        if let Some(run) = self.running.get_mut(&turn) {
            change(run);
        }
    }

    /// Clears the text and tool that were stored as an entry.
    fn on_entry(&mut self, branch: &Branch, said: &EntryContent) {
        for run in self.running.values_mut().filter(|run| run.branch == *branch) {
            match said {
                EntryContent::Assistant(..) => run.text.clear(),
                EntryContent::Tools(_) => run.tool = None,
                EntryContent::User(_) | EntryContent::Summary(_) | EntryContent::SummaryRecalled(_) => {}
            }
        }
    }
}

impl RunningTurn {
    fn push_text(&mut self, text: &str) {
        self.tool = None;
        self.note = None;
        if self.text.len() + text.len() <= MAX_TEXT_BYTES {
            self.text.push_str(text);
        }
    }
}

/// A message to a subscriber.
#[derive(Clone, Debug)]
pub enum HubMessage {
    /// The next event.
    Event(Arc<SeqEvent>),
    /// Events were missed. Contains the current state; entries in between are in the journal.
    Lagged(Snapshot),
    /// The hub was dropped.
    Closed,
}

/// Receives the events of a hub.
#[derive(Debug)]
pub struct Subscription {
    events: broadcast::Receiver<Arc<SeqEvent>>,
    snapshot: watch::Receiver<Snapshot>,
    seen: u64,
}

impl Subscription {
    /// Returns the current state. Events included in it are skipped.
    pub fn snapshot(&mut self) -> Snapshot {
        let scene = self.snapshot.borrow().clone();
        self.seen = scene.seq;
        scene
    }

    /// Waits for the next message.
    pub async fn next(&mut self) -> HubMessage {
        loop {
            match self.events.recv().await {
                Ok(cue) if cue.seq <= self.seen => {}
                Ok(cue) => return HubMessage::Event(cue),
                Err(broadcast::error::RecvError::Lagged(_)) => return self.resync(),
                Err(broadcast::error::RecvError::Closed) => return HubMessage::Closed,
            }
        }
    }

    /// Returns the next message without waiting.
    pub fn try_next(&mut self) -> Option<HubMessage> {
        loop {
            match self.events.try_recv() {
                Ok(cue) if cue.seq <= self.seen => {}
                Ok(cue) => return Some(HubMessage::Event(cue)),
                Err(broadcast::error::TryRecvError::Lagged(_)) => return Some(self.resync()),
                Err(broadcast::error::TryRecvError::Closed) => return Some(HubMessage::Closed),
                Err(broadcast::error::TryRecvError::Empty) => return None,
            }
        }
    }

    fn resync(&mut self) -> HubMessage {
        self.events = self.events.resubscribe();
        HubMessage::Lagged(self.snapshot())
    }
}

#[cfg(test)]
mod tests {
    use domain::approval::{ApprovalOutcome, ClosedApproval, Waiter};
    use domain::assistant::KeyNotice;
    use domain::conversation::Json;
    use domain::failure::Failure;
    use domain::record::SurfaceName;
    use domain::tool::ToolCall;
    use domain::turn::TurnEnding;
    use jiff::Timestamp;

    use super::*;

    fn delta(text: &str) -> Update {
        Update::Delta { turn: TurnId(1), text: text.to_owned() }
    }

    fn began() -> Update {
        Update::TurnStarted { turn: TurnId(1), branch: Branch::Main, answers: MessageId(1) }
    }

    #[tokio::test]
    async fn a_late_subscriber_gets_the_text_so_far_and_each_later_event_once() {
        let stage = EventHub::default();
        stage.show(&began());
        stage.show(&delta("good "));
        let mut watcher = stage.subscribe();
        stage.show(&delta("morn"));
        let scene = watcher.snapshot();
        stage.show(&delta("ing"));

        assert_eq!(scene.running[&TurnId(1)].text, "good morn");
        let HubMessage::Event(cue) = watcher.next().await else { panic!("a cue was expected") };
        assert_eq!(cue.update, delta("ing"));
    }

    #[test]
    fn a_progress_note_stays_until_the_next_note_or_answer_text() {
        let progress = |note: &str| Update::ProgressNote { turn: TurnId(1), note: note.to_owned() };
        let mut scene = Snapshot::default();
        scene.apply(&began());
        scene.apply(&progress("Checking the calendar."));
        scene.apply(&Update::ToolProgress {
            turn: TurnId(1),
            tool: "Read".to_owned(),
            phase: ToolPhase::Running,
        });
        let note = |scene: &Snapshot| scene.running[&TurnId(1)].note.clone();
        assert_eq!(note(&scene).as_deref(), Some("Checking the calendar."));
        scene.apply(&progress("Now the mail."));
        assert_eq!(note(&scene).as_deref(), Some("Now the mail."));
        scene.apply(&delta("you are free"));
        assert_eq!(note(&scene), None);
        assert_eq!(scene.running[&TurnId(1)].text, "you are free");
    }

    #[test]
    fn a_turn_is_blocked_until_it_starts_again_or_ends() {
        let turn = |number| (TurnId(number), Branch::Main, MessageId(1));
        let held = |number| {
            let (turn, branch, newest) = turn(number);
            let why = Failure::BadKey("no".to_owned());
            Update::TurnBlocked { turn, branch, newest, notice: KeyNotice::NotShown, why }
        };
        let ended = |number| {
            let (turn, branch, answers) = turn(number);
            Update::TurnEnded { turn, branch, answers, ending: TurnEnding::Interrupted }
        };
        let mut scene = Snapshot::default();
        scene.apply(&held(1));
        scene.apply(&ended(2));
        assert_eq!(scene.blocked.keys().collect::<Vec<_>>(), [&TurnId(1)], "another one ended");
        scene.apply(&began());
        assert!(scene.blocked.is_empty(), "it is tried again");
        scene.apply(&held(1));
        scene.apply(&ended(1));
        assert!(scene.blocked.is_empty(), "it was given up");
    }

    #[test]
    fn an_approval_is_in_the_snapshot_until_it_is_closed() {
        let call = ToolCall { id: "a".to_owned(), name: "act".to_owned(), input: Json("{}".to_owned()) };
        let id = ApprovalId(1);
        let turn = TurnId(1);
        let at = Timestamp::UNIX_EPOCH;
        let open = Approval {
            id,
            step: id,
            at,
            turn,
            branch: Branch::Main,
            call: call.clone(),
            label: domain::label::Label::PLAIN,
            waiter: Waiter::Turn,
        };
        let closed = ClosedApproval {
            id,
            turn,
            call,
            outcome: ApprovalOutcome::Denied,
            surface: SurfaceName::Page,
            at,
        };
        let mut scene = Snapshot::default();
        scene.apply(&Update::Approval(ApprovalUpdate::Open(open.clone())));
        scene.apply(&Update::Approval(ApprovalUpdate::Open(Approval {
            waiter: Waiter::Detached,
            ..open.clone()
        })));
        assert_eq!(scene.approvals.values().map(|open| open.waiter).collect::<Vec<_>>(), [Waiter::Detached]);
        scene.apply(&Update::Approval(ApprovalUpdate::Closed(open, closed)));
        assert!(scene.approvals.is_empty());
    }

    #[tokio::test]
    async fn a_lagging_subscriber_gets_a_snapshot() {
        let stage = EventHub::default();
        let mut watcher = stage.subscribe();
        watcher.snapshot();
        stage.show(&began());
        for _ in 0..=CHANNEL_CAPACITY {
            stage.show(&delta("x"));
        }
        let HubMessage::Lagged(scene) = watcher.next().await else { panic!("the watcher missed cues") };
        assert_eq!(scene.running[&TurnId(1)].text.len(), CHANNEL_CAPACITY + 1);
        stage.show(&delta("y"));
        let HubMessage::Event(cue) = watcher.next().await else { panic!("a cue was expected") };
        assert_eq!(cue.update, delta("y"));
    }
}
