//! The decision core: turns events and requests into effects. It does no I/O.
//!
//! [`Assistant`] holds names, counters and pending work in [`State`]; the texts of the conversation
//! stay in the journal. Each decision returns its effects in the order in which they must be
//! carried out, with the write first.

mod addresses;
mod approving;
mod asking;
mod at_once;
mod background;
mod beginning;
mod capturing;
mod carding;
mod chaining;
mod changing;
mod choosing;
mod chores;
mod clearing;
mod compacting;
mod cueing;
mod delegating;
mod delivering;
mod digesting;
mod effect;
mod finding;
mod firing;
mod following_up;
mod forking;
mod gathering;
mod holding;
mod hurrying;
mod item_origins;
mod leaving;
mod lightening;
mod limiting;
mod listing;
mod loading;
mod memory;
mod minutes;
mod missing;
mod origins;
mod persisting;
mod pinging;
mod planning;
mod plans;
mod posting;
mod progressing;
mod quieting;
mod rehearsing;
mod renewing;
mod replying;
mod reporting;
mod request;
mod resting;
mod retrying;
mod reverting;
mod revoking;
mod running;
mod spending;
mod standing_in;
mod state_files;
mod suggesting;
mod telling;
mod tending;
mod undoing;
mod wishing;
mod wording;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::{Timestamp, Zoned};

pub use background::RUNS;
pub use effect::{Aside, Asking, Compaction, Doing, Effect, Ended, Event, Left, Look, Purpose, Shown, Start};
pub use holding::Known;
pub use item_origins::{ItemOrigin, OwnItem};
pub use leaving::Way;
pub use memory::{Chosen, MARKS, Main, Memory, Messages, Reports, Spot, Turns, Unfinished};
pub use origins::PlanOrigin;
pub use plans::{Broken, Flaw, Plans};
pub use request::{
    Answer, Choice, Numbers, Planning, Press, Progress, Question, Rein, Request, Reshape, Saying, Shelf, Step,
};
pub use reverting::Changed as Replanned;
pub use state_files::StateEdit;
pub use undoing::{Change, Changed, UNDO_DAYS};

use crate::agent::Agent;
use crate::compaction::Room;
use crate::conversation::{Branch, Entry, Said};
use crate::cost::Purse;
use crate::dice::Dice;
use crate::failure::Failure;
use crate::label::Label;
use crate::model::Choices;
use crate::record::{MessageId, Record, SessionChange};
use crate::tool::ToolSpec;
use crate::turn::{Ending, TurnId};
use compacting::Wanted;
use item_origins::Sources;
use minutes::Minutes;
use origins::Written;
use posting::Posting;
use retrying::Retry;
use running::{Errand, Owed, Running, Sending, Turned};

/// Longest accepted message, in characters.
pub const MESSAGE_CHARS: usize = 100_000;
/// Most pictures in one message.
pub const IMAGES: usize = 20;
/// Most messages that wait at a time.
pub const MESSAGES_WAITING: usize = 250;
/// How often a turn is started when the program dies during it.
pub const ATTEMPTS: u32 = 3;

/// State that is not journaled: pending requests, deadlines and retry times since the start.
#[derive(Clone, Debug, Default)]
struct Wants {
    /// Compactions that were requested while a turn was active.
    compactions: VecDeque<Wanted>,
    /// Context size of a branch when its last compaction failed.
    refused: BTreeMap<Branch, u64>,
    /// When the turn on a branch has to end.
    deadlines: BTreeMap<Branch, Timestamp>,
    /// Turns that were interrupted because their deadline passed.
    overdue: BTreeSet<TurnId>,
    /// Notice already shown about a rejected API key.
    refusal: Known,
    /// Next attempt while the model is unreachable.
    away: Option<Retry>,
    /// Next attempt after the key was rejected.
    key_refused: Option<Retry>,
    tried: Tried,
    tends: Tends,
    /// First message id since the start.
    since: MessageId,
    /// When the next digest is due.
    digest: Option<Timestamp>,
    /// True once the job files were read since the start.
    knows_files: bool,
    /// Recent calls that planned something on a branch that held outside text.
    written: Vec<Written>,
    /// What was read from outside on each branch since the start.
    sources: BTreeMap<Branch, Sources>,
}

/// Facts about active turns that matter when the model becomes unreachable.
#[derive(Clone, Debug, Default)]
struct Tried {
    /// Turns that have called tools.
    worked: BTreeSet<TurnId>,
    /// Retried turns that are interrupted for a message which needs no model.
    recalled: BTreeSet<TurnId>,
}

/// The state and the rules of the assistant.
#[derive(Clone, Debug)]
pub struct Assistant {
    memory: Memory,
    running: BTreeMap<Branch, Running>,
    /// Turns that were dropped but have not ended yet: their output is ignored, their cost is
    /// recorded.
    abandoned: BTreeMap<TurnId, (Branch, Running)>,
    wants: Wants,
    tools: Arc<[ToolSpec]>,
    room: Room,
    purse: Purse,
    choices: Arc<Choices>,
    dice: Dice,
    posting: Posting,
}

/// How much the assistant does without being asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tends {
    /// Everything that is due, waiting or to be resumed.
    #[default]
    Everything,
    /// Nothing: a short-lived process that only answers a question and leaves the rest to the
    /// daemon.
    Nothing,
}

impl Assistant {
    /// Starts with `state`, for a model with the context window `window`.
    pub fn new(memory: Memory, tools: Arc<[ToolSpec]>, room: Room, dice: Dice) -> Self {
        let wants = Wants { since: memory.messages.next, ..Wants::default() };
        let running = BTreeMap::new();
        let abandoned = BTreeMap::new();
        let purse = Purse::default();
        let choices = Arc::default();
        let posting = Posting::default();
        let new = Self { memory, running, abandoned, wants, tools, room, purse, choices, dice, posting };
        new.minding(Purse::default())
    }

    /// Disables all autonomous work: due and waiting items are left to the daemon.
    #[must_use]
    pub fn only_asked(mut self) -> Self {
        self.wants.tends = Tends::Nothing;
        self
    }

    /// Handles an event and returns its effects.
    pub fn on(&mut self, event: Event, now: &Zoned) -> Vec<Effect> {
        let effects = self.decide(event, now);
        self.reckon_digest(now);
        self.with_posts(effects, now)
    }

    /// Handles a request and returns the reply and the effects.
    pub fn asked(&mut self, request: Request, now: &Zoned) -> (Answer, Vec<Effect>) {
        self.posting.note(&request, now);
        let (answer, effects) = self.answer(request, now);
        self.reckon_digest(now);
        (answer, self.with_posts(effects, now))
    }

    /// Sets the agents that can be delegated to.
    #[must_use]
    pub fn asking(mut self, agents: Arc<[Agent]>) -> Self {
        self.memory.chosen.agents = agents;
        self
    }

    /// Returns the state; everything persistent in it can be rebuilt from the journal.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns the earliest time at which [`Event::Woke`] is needed.
    pub fn wakes(&self, now: Timestamp) -> Option<Timestamp> {
        if self.wants.tends == Tends::Nothing {
            return None;
        }
        let own = [
            self.memory.approvals.wakes(),
            self.plans_wake(),
            self.phrasing_wakes(now),
            self.tries_model(),
            self.deadline(),
            self.attention_wakes(),
        ];
        self.fork_wakes(now).into_iter().chain(own.into_iter().flatten()).min()
    }

    fn started(&mut self, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        // An open fork survives a restart.
        let fork = self.memory.fork.as_ref();
        let forked = fork.map(|fork| {
            Shown::Aside(Aside::Began { branch: fork.branch.clone(), topic: fork.topic.clone() })
        });
        minutes.shown.extend(forked);
        self.ask_again(&mut minutes);
        let mut unfinished = std::mem::take(&mut self.memory.turns.unfinished);
        // Main first, so that a notice of an abandoned run does not land inside its answer.
        unfinished.sort_by_key(|left| left.branch != Branch::Main);
        self.resume_runs(&unfinished, &mut minutes);
        for left in unfinished {
            let knows = self.label_of(&left.branch);
            let from = self.read_from(&left.branch, knows);
            for call in &left.unanswered {
                self.note_writing(call, knows, &from, &minutes);
                self.mark_call(call, knows, &from, &mut minutes);
            }
            self.resume(left, &mut minutes);
        }
        self.turn_around(&mut minutes);
        self.hear_waiting(&mut minutes);
        minutes.effects()
    }

    fn turn_ended(&mut self, turn: TurnId, ended: Ended, now: &Zoned) -> Vec<Effect> {
        let mut minutes = Minutes::at(now);
        let Some((branch, running)) = self.run_of(turn) else {
            if let Some((branch, running)) = self.abandoned.remove(&turn) {
                // Its usage must not change the recorded context size of the branch.
                let filled = self.memory.turns.filled.clone();
                self.spend(&branch, &running, ended.spent, &mut minutes);
                self.memory.turns.filled = filled;
            }
            return minutes.effects();
        };
        self.running.remove(&branch);
        if branch == Branch::Main {
            self.wants.deadlines.remove(&branch);
        }
        let ending = self.in_time(turn, &branch, ended.ending);
        let ended = Ended { ending, ..ended };
        self.note_activity(&branch, &mut minutes);
        self.stop_asking(turn, &ended.ending, &mut minutes);
        self.spend(&branch, &running, ended.spent.clone(), &mut minutes);
        match running.errand.clone() {
            Errand::Answer(message, sending) => {
                let turned = Turned { turn, branch, message, sending };
                match &ended.ending {
                    // A partial answer is discarded: the turn is repeated later.
                    Ending::Failed(why @ Failure::BadKey(_))
                        if !self.goes_out_as_written(&turned) && !self.is_asked_for(&turned.branch) =>
                    {
                        self.hold(turned, why, &mut minutes);
                    }
                    Ending::Failed(why)
                        if why.is_away()
                            && self.can_wait(&turned, &ended)
                            && !self.is_asked_for(&turned.branch) =>
                    {
                        self.model_away(turned, &ended, why, &mut minutes);
                    }
                    Ending::Interrupted if self.wants.tried.recalled.contains(&turn) => {
                        self.hold_again(turned, &mut minutes);
                    }
                    Ending::Finished | Ending::Interrupted | Ending::Failed(_) => {
                        self.write_the_rest(&turned.branch, &running, &ended, &mut minutes);
                        self.answered(turned, ended, &mut minutes);
                    }
                }
            }
            Errand::Compact(compacting) => self.compaction_ended(turn, compacting, ended, &mut minutes),
        }
        self.wants.tried.recalled.remove(&turn);
        if !self.running.values().any(|running| running.turn == turn) {
            self.wants.tried.worked.remove(&turn);
        }
        self.turn_around(&mut minutes);
        self.tend_plans(&mut minutes);
        self.hear_waiting(&mut minutes);
        minutes.effects()
    }

    fn write_the_rest(&mut self, branch: &Branch, running: &Running, ended: &Ended, minutes: &mut Minutes) {
        let Left::Said(said) = &ended.left else { return };
        if !matches!(said.first(), Some(Said::Tools(_))) {
            self.tell_unknown(running.turn, branch, &running.unanswered, minutes);
        }
        for said in said {
            self.say_on(branch, said.clone(), minutes);
        }
    }

    /// Finishes an answer turn, or starts a compaction first if the context was full.
    fn answered(&mut self, turned: Turned, ended: Ended, minutes: &mut Minutes) {
        let full = matches!(ended.ending, Ending::Failed(Failure::Full(_)));
        if full && turned.sending == Sending::First {
            return self.make_room(turned, ended, minutes);
        }
        let ended = Ended { ending: self.as_meant(&turned.branch, ended.ending), ..ended };
        if self.is_kept_going(&turned, &ended, minutes) {
            return;
        }
        if let Some(run) = self.memory.turns.runs.get(&turned.branch).cloned() {
            self.tell_asker(&run, &ended, minutes);
            self.note_verdict(&turned.branch, &ended);
        }
        self.dismiss(turned.turn, minutes);
        let Turned { turn, branch, message, .. } = turned;
        let ending = self.asked_settled(message.id, ended.ending, minutes);
        minutes.close(turn, ending.clone(), ended.usage);
        self.run_ended(&branch, &ending, minutes);
        minutes.shown.push(Shown::Ended { turn, branch, answers: message.id, ending });
    }

    /// Creates main and its session with the first entry.
    fn ensure_main(&mut self, minutes: &mut Minutes) {
        if self.memory.conversation.head(&Branch::Main).is_some() {
            return;
        }
        let session = self.dice.session();
        let moved = self.memory.conversation.create(Branch::Main, session.clone(), minutes.at);
        minutes.records.push(Record::Moved(moved));
        minutes.records.push(Record::Session(SessionChange::Saved(session, minutes.at)));
        self.memory.main.created = Some(minutes.at);
    }

    fn say_on(&mut self, branch: &Branch, said: Said, minutes: &mut Minutes) -> Option<Entry> {
        self.say_knowing(branch, said, Label::PLAIN, minutes)
    }

    /// Appends an entry whose label is raised by `more`.
    fn say_knowing(
        &mut self,
        branch: &Branch,
        said: Said,
        more: Label,
        minutes: &mut Minutes,
    ) -> Option<Entry> {
        let entry = self.memory.conversation.say_knowing(branch, said, more, minutes.at)?;
        minutes.records.push(Record::Said(branch.clone(), entry.clone()));
        minutes.shown.push(Shown::Said { branch: branch.clone(), entry: entry.clone() });
        self.track(branch, &entry, minutes);
        self.charge(branch, &entry, minutes);
        Some(entry)
    }

    /// Returns the label of everything on `branch`.
    fn label_of(&self, branch: &Branch) -> Label {
        self.memory.conversation.head(branch).map_or(Label::PLAIN, |head| head.label)
    }

    fn run_of(&self, turn: TurnId) -> Option<(Branch, Running)> {
        let found = self.running.iter().find(|(_, running)| running.turn == turn);
        found.map(|(branch, running)| (branch.clone(), running.clone()))
    }
}
