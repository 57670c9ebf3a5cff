//! The event hub: distributes all updates to any number of subscribers.
//!
//! Every event has a sequence number. A late subscriber gets a snapshot (the running turns with
//! their text so far) and the sequence number that it includes, so no event is seen twice or
//! missed. A subscriber that lags behind gets a new snapshot; the hub never waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::approval::{Approval, ApprovalId};
use domain::assistant::{Aside, Asking, Compaction, Doing, Shown};
use domain::conversation::{Branch, Said};
use domain::record::MessageId;
use domain::turn::TurnId;
use engine::ports::Surface;
use tokio::sync::{broadcast, watch};

/// Number of events a subscriber may lag behind.
const CUES: usize = 1024;
/// Maximum length of a running answer in the snapshot, in bytes.
const WORDS_KEPT: usize = 256 * 1024;

/// An update with its sequence number.
#[derive(Clone, Debug)]
pub struct Cue {
    /// The first is 1.
    pub number: u64,
    pub shown: Shown,
}

/// The current state of running work.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// Sequence number of the last event included.
    pub number: u64,
    pub running: BTreeMap<TurnId, Running>,
    /// The running compaction, and the number of tokens to compact.
    pub compacting: Option<(TurnId, Option<u64>)>,
    /// The turns that are blocked because the model refuses the key, with its error.
    pub held: BTreeMap<TurnId, String>,
    /// The open approvals.
    pub approvals: BTreeMap<ApprovalId, Approval>,
    /// The open interactive fork and its topic.
    pub fork: Option<(Branch, Option<String>)>,
}

/// A running turn.
#[derive(Clone, Debug)]
pub struct Running {
    pub branch: Branch,
    /// The message it answers.
    pub answers: MessageId,
    /// The text since the last stored entry.
    pub words: String,
    /// The progress note of the model, until answer text follows.
    pub note: Option<String>,
    /// The tool that runs or waits.
    pub tool: Option<(String, Doing)>,
}

/// A surface with any number of subscribers.
#[derive(Debug)]
pub struct Stage {
    cues: broadcast::Sender<Arc<Cue>>,
    scene: watch::Sender<Scene>,
}

impl Default for Stage {
    fn default() -> Self {
        Self { cues: broadcast::Sender::new(CUES), scene: watch::Sender::new(Scene::default()) }
    }
}

impl Stage {
    /// Creates a subscription.
    pub fn subscribe(&self) -> Watcher {
        let cues = self.cues.subscribe();
        let scene = self.scene.subscribe();
        let seen = 0;
        Watcher { cues, scene, seen }
    }
}

impl Surface for Stage {
    fn show(&self, shown: &Shown) {
        self.scene.send_modify(|scene| {
            scene.take(shown);
            // An error means no subscribers; the snapshot is updated for later ones.
            let _ = self.cues.send(Arc::new(Cue { number: scene.number, shown: shown.clone() }));
        });
    }
}

impl Scene {
    fn take(&mut self, shown: &Shown) {
        self.number += 1;
        match shown {
            Shown::Began { turn, branch, answers } => {
                let branch = branch.clone();
                let answers = *answers;
                self.held.remove(turn);
                let words = String::new();
                self.running.insert(*turn, Running { branch, answers, words, note: None, tool: None });
            }
            Shown::Delta { turn, text } => self.change(*turn, |run| run.hear(text)),
            Shown::Progress { turn, note } => self.change(*turn, |run| run.note = Some(note.clone())),
            Shown::Working { turn, tool, doing } => {
                self.change(*turn, |run| run.tool = Some((tool.clone(), *doing)));
            }
            Shown::Approval(Asking::Open(approval)) => {
                self.approvals.insert(approval.id, approval.clone());
            }
            Shown::Approval(Asking::Closed(_, closed)) => {
                self.approvals.remove(&closed.id);
            }
            Shown::Said { branch, entry } => self.wrote(branch, &entry.said),
            Shown::Ended { turn, .. } => {
                self.running.remove(turn);
                self.held.remove(turn);
            }
            Shown::Held { turn, why, .. } => {
                self.running.remove(turn);
                self.held.insert(*turn, why.to_string());
            }
            Shown::Compaction(Compaction::Began { turn, branch, tokens }) if self.is_here(branch) => {
                self.compacting = Some((*turn, *tokens))
            }
            Shown::Compaction(Compaction::Ended { branch, .. }) if self.is_here(branch) => {
                self.compacting = None
            }
            Shown::Aside(Aside::Began { branch, topic }) => self.fork = Some((branch.clone(), topic.clone())),
            Shown::Aside(Aside::Ended { .. }) => self.fork = None,
            Shown::Compaction(_)
            | Shown::Aside(Aside::Sent { .. } | Aside::PutAway(_) | Aside::Card(_))
            | Shown::Moved(_)
            | Shown::Notice(_)
            | Shown::Waiting { .. } => {}
        }
    }

    /// Returns true if the user may be on `branch`; background runs are not shown there.
    fn is_here(&self, branch: &Branch) -> bool {
        *branch == Branch::Main || self.fork.as_ref().is_some_and(|(fork, _)| fork == branch)
    }

    fn change(&mut self, turn: TurnId, change: impl FnOnce(&mut Running)) {
        if let Some(run) = self.running.get_mut(&turn) {
            change(run);
        }
    }

    /// Clears the text and tool that were stored as an entry.
    fn wrote(&mut self, branch: &Branch, said: &Said) {
        for run in self.running.values_mut().filter(|run| run.branch == *branch) {
            match said {
                Said::Assistant(..) => run.words.clear(),
                Said::Tools(_) => run.tool = None,
                Said::Human(_) | Said::Summary(_) | Said::Recalled(_) => {}
            }
        }
    }
}

impl Running {
    fn hear(&mut self, text: &str) {
        self.tool = None;
        self.note = None;
        if self.words.len() + text.len() <= WORDS_KEPT {
            self.words.push_str(text);
        }
    }
}

/// What a subscriber receives.
#[derive(Clone, Debug)]
pub enum Sight {
    /// The next event.
    Cue(Arc<Cue>),
    /// Events were missed. Contains the current state; entries in between are in the journal.
    Missed(Scene),
    /// The hub was dropped.
    Over,
}

/// Receives the events of a hub.
#[derive(Debug)]
pub struct Watcher {
    cues: broadcast::Receiver<Arc<Cue>>,
    scene: watch::Receiver<Scene>,
    seen: u64,
}

impl Watcher {
    /// Returns the current state. Events included in it are skipped.
    pub fn scene(&mut self) -> Scene {
        let scene = self.scene.borrow().clone();
        self.seen = scene.number;
        scene
    }

    /// Waits for the next message.
    pub async fn next(&mut self) -> Sight {
        loop {
            match self.cues.recv().await {
                Ok(cue) if cue.number <= self.seen => {}
                Ok(cue) => return Sight::Cue(cue),
                Err(broadcast::error::RecvError::Lagged(_)) => return self.missed(),
                Err(broadcast::error::RecvError::Closed) => return Sight::Over,
            }
        }
    }

    /// Returns the next message without waiting.
    pub fn try_next(&mut self) -> Option<Sight> {
        loop {
            match self.cues.try_recv() {
                Ok(cue) if cue.number <= self.seen => {}
                Ok(cue) => return Some(Sight::Cue(cue)),
                Err(broadcast::error::TryRecvError::Lagged(_)) => return Some(self.missed()),
                Err(broadcast::error::TryRecvError::Closed) => return Some(Sight::Over),
                Err(broadcast::error::TryRecvError::Empty) => return None,
            }
        }
    }

    fn missed(&mut self) -> Sight {
        self.cues = self.cues.resubscribe();
        Sight::Missed(self.scene())
    }
}

#[cfg(test)]
mod tests {
    use domain::approval::{Closed, How, Waits};
    use domain::assistant::Known;
    use domain::conversation::Json;
    use domain::failure::Failure;
    use domain::record::SurfaceName;
    use domain::tool::ToolCall;
    use domain::turn::Ending;
    use jiff::Timestamp;

    use super::*;

    fn delta(text: &str) -> Shown {
        Shown::Delta { turn: TurnId(1), text: text.to_owned() }
    }

    fn began() -> Shown {
        Shown::Began { turn: TurnId(1), branch: Branch::Main, answers: MessageId(1) }
    }

    #[tokio::test]
    async fn a_latecomer_hears_the_words_so_far_and_each_later_word_once() {
        let stage = Stage::default();
        stage.show(&began());
        stage.show(&delta("good "));
        let mut watcher = stage.subscribe();
        stage.show(&delta("morn"));
        let scene = watcher.scene();
        stage.show(&delta("ing"));

        assert_eq!(scene.running[&TurnId(1)].words, "good morn");
        let Sight::Cue(cue) = watcher.next().await else { panic!("a cue was expected") };
        assert_eq!(cue.shown, delta("ing"));
    }

    #[test]
    fn a_progress_note_stays_until_the_next_note_or_words_of_the_answer() {
        let progress = |note: &str| Shown::Progress { turn: TurnId(1), note: note.to_owned() };
        let mut scene = Scene::default();
        scene.take(&began());
        scene.take(&progress("Checking the calendar."));
        scene.take(&Shown::Working { turn: TurnId(1), tool: "Read".to_owned(), doing: Doing::Runs });
        let note = |scene: &Scene| scene.running[&TurnId(1)].note.clone();
        assert_eq!(note(&scene).as_deref(), Some("Checking the calendar."));
        scene.take(&progress("Now the mail."));
        assert_eq!(note(&scene).as_deref(), Some("Now the mail."));
        scene.take(&delta("you are free"));
        assert_eq!(note(&scene), None);
        assert_eq!(scene.running[&TurnId(1)].words, "you are free");
    }

    #[test]
    fn a_turn_waits_for_a_key_until_it_begins_again_or_ends() {
        let turn = |number| (TurnId(number), Branch::Main, MessageId(1));
        let held = |number| {
            let (turn, branch, newest) = turn(number);
            let why = Failure::BadKey("no".to_owned());
            Shown::Held { turn, branch, newest, known: Known::Unknown, why }
        };
        let ended = |number| {
            let (turn, branch, answers) = turn(number);
            Shown::Ended { turn, branch, answers, ending: Ending::Interrupted }
        };
        let mut scene = Scene::default();
        scene.take(&held(1));
        scene.take(&ended(2));
        assert_eq!(scene.held.keys().collect::<Vec<_>>(), [&TurnId(1)], "another one ended");
        scene.take(&began());
        assert!(scene.held.is_empty(), "it is tried again");
        scene.take(&held(1));
        scene.take(&ended(1));
        assert!(scene.held.is_empty(), "it was given up");
    }

    #[test]
    fn an_approval_stands_in_the_scene_until_it_is_closed() {
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
            knows: domain::label::Label::PLAIN,
            waits: Waits::Turn,
        };
        let closed = Closed { id, turn, call, how: How::Denied, by: SurfaceName::Page, at };
        let mut scene = Scene::default();
        scene.take(&Shown::Approval(Asking::Open(open.clone())));
        scene.take(&Shown::Approval(Asking::Open(Approval { waits: Waits::Nobody, ..open.clone() })));
        assert_eq!(scene.approvals.values().map(|open| open.waits).collect::<Vec<_>>(), [Waits::Nobody]);
        scene.take(&Shown::Approval(Asking::Closed(open, closed)));
        assert!(scene.approvals.is_empty());
    }

    #[tokio::test]
    async fn who_is_too_slow_is_told_how_things_stand_instead() {
        let stage = Stage::default();
        let mut watcher = stage.subscribe();
        watcher.scene();
        stage.show(&began());
        for _ in 0..=CUES {
            stage.show(&delta("x"));
        }
        let Sight::Missed(scene) = watcher.next().await else { panic!("the watcher missed cues") };
        assert_eq!(scene.running[&TurnId(1)].words.len(), CUES + 1);
        stage.show(&delta("y"));
        let Sight::Cue(cue) = watcher.next().await else { panic!("a cue was expected") };
        assert_eq!(cue.shown, delta("y"));
    }
}
