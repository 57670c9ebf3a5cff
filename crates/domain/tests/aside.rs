//! Tests of the assistant without an engine: forks, clearing, and pending updates in any order.
#![expect(clippy::unwrap_used, reason = "a missing value stops the test")]

use std::collections::{BTreeMap, BTreeSet};

use domain::assistant::{
    Answer, Assistant, Effect, Event, ExitCommand, ForkCommand, HistoryCommand, Request, State, TurnKind,
    TurnOutcome, TurnOutput, TurnRequest, TurnStart, UserMessage,
};
use domain::compaction::ContextWindow;
use domain::context_tool::ContextTool;
use domain::conversation::{Block, Branch, Completeness, Conversation, EntryContent, EntryId, Usage};
use domain::cost::ModelCall;
use domain::pending_update::UpdateId;
use domain::record::{Record, SurfaceName, UpdateChange};
use domain::rng::Rng;
use domain::turn::{TurnEnding, TurnId};
use jiff::Zoned;

/// An assistant, its active turns, and the recorded state.
struct Harness {
    assistant: Assistant,
    running: BTreeMap<TurnId, TurnStart>,
    heads: BTreeMap<Branch, Option<EntryId>>,
    pending: BTreeSet<UpdateId>,
    read: BTreeSet<UpdateId>,
    now: Zoned,
}

impl Harness {
    fn new(seed: u64) -> Self {
        let conversation = Conversation::new(BTreeMap::new(), EntryId(1));
        let room = ContextWindow { limit: 1_000, ..ContextWindow::DEFAULT };
        Self {
            assistant: Assistant::new(State::new(conversation), [].into(), room, Rng::new(seed)),
            running: BTreeMap::new(),
            heads: BTreeMap::new(),
            pending: BTreeSet::new(),
            read: BTreeSet::new(),
            now: "2026-11-15T08:00[Europe/Madrid]".parse().unwrap(),
        }
    }

    fn ask(&mut self, request: Request) -> Answer {
        let (answer, effects) = self.assistant.handle(request, &self.now);
        self.perform(effects);
        answer
    }

    fn say(&mut self, text: &str) {
        self.ask(Request::Say(UserMessage::from_text(SurfaceName::Page, text)));
    }

    fn end_turn(&mut self, turn: TurnId, ending: TurnEnding, held: u64) {
        let start = self.running.remove(&turn).unwrap();
        let said = EntryContent::Assistant(vec![Block::Text("so it is".to_owned())], Completeness::Complete);
        let usage = Usage { input: held, ..Usage::default() };
        let spent = vec![ModelCall { model: "m".to_owned(), usage }];
        let ended =
            TurnOutcome { output: TurnOutput::Contents(vec![said]), ending, usage, unrecorded_calls: spent };
        let effects = self.assistant.on_event(Event::TurnEnded(start.turn, ended), &self.now);
        self.perform(effects);
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write(records) => self.write(&records),
                Effect::StartTurn(start) => drop(self.running.insert(start.turn, start)),
                Effect::Decide(..)
                | Effect::ReturnResult(..)
                | Effect::CarryOut(_)
                | Effect::LoadSkills(..)
                | Effect::Interrupt(_)
                | Effect::Prioritize(_)
                | Effect::Show(_) => {}
            }
        }
    }

    /// Checks that entries follow each other and that each update is read once, by main or by a
    /// fork that is promoted.
    fn write(&mut self, records: &[Record]) {
        for record in records {
            match record {
                Record::EntryAppended(branch, entry) => {
                    assert_eq!(
                        self.heads.get(branch),
                        Some(&entry.parent),
                        "{branch} goes on where it ended"
                    );
                    self.heads.insert(branch.clone(), Some(entry.id));
                }
                Record::BranchMoved(moved) => match &moved.to {
                    Some(to) => drop(self.heads.insert(moved.branch.clone(), to.entry)),
                    None => drop(self.heads.remove(&moved.branch)),
                },
                Record::Update(UpdateChange::Left(report)) => assert!(self.pending.insert(report.id)),
                Record::Update(UpdateChange::Read(reading)) => {
                    for id in reading.quoted.iter().chain(&reading.counted) {
                        assert!(self.pending.remove(id), "{id:?} did not wait");
                        assert!(self.read.insert(*id), "{id:?} is read twice");
                    }
                    let main = self.heads.get(&Branch::Main).copied().flatten();
                    assert!(reading.entry.is_none_or(|entry| Some(entry) == main), "read where main is");
                }
                Record::Update(UpdateChange::Unread(_))
                | Record::Message(_)
                | Record::Turn(_)
                | Record::Fork(_)
                | Record::Approval(_)
                | Record::Plan(_)
                | Record::CallSpent(_)
                | Record::State(_)
                | Record::Inbox(_)
                | Record::Session(_) => {}
            }
        }
    }

    /// Returns the active turn.
    fn active_turn(&self) -> Option<TurnId> {
        self.running.keys().next().copied()
    }
}

/// PU-4, PU-5, PU-8, IF-22: In any order of main turns, forks and reports each update is read in
/// exactly one turn of main, and the tree stays consistent.
#[test]
fn any_interleaving_reads_every_update_once() {
    let mut read = 0;
    for seed in 0..3_000 {
        let mut life = Harness::new(seed);
        let mut dice = Rng::new(seed ^ 0x5EED);
        for number in 0..40 {
            match (dice.next_u64() % 10, life.active_turn()) {
                (0..3, Some(turn)) => life.end_turn(turn, TurnEnding::Finished, 10),
                (3, Some(turn)) => life.end_turn(turn, TurnEnding::Interrupted, 10),
                (4, Some(turn)) => {
                    let wish = ContextTool::Report(format!("the model's {number}"));
                    life.ask(Request::Turn(turn, TurnRequest::UseContextTool(wish)));
                }
                (5, _) => drop(life.ask(Request::Fork(ForkCommand::Enter(String::new())))),
                (6, _) => drop(
                    life.ask(Request::Fork(ForkCommand::Exit(ExitCommand::Report(format!("mine {number}"))))),
                ),
                (7, _) => drop(life.ask(Request::Fork(ForkCommand::Exit(ExitCommand::Save)))),
                (8, _) => drop(life.ask(Request::Fork(ForkCommand::Exit(ExitCommand::Drop)))),
                _ => life.say("well?"),
            }
        }
        // In the end main speaks, and no update is pending.
        for _ in 0..300 {
            match life.active_turn() {
                Some(turn) => life.end_turn(turn, TurnEnding::Finished, 10),
                None if life.assistant.next_wake(life.now.timestamp()).is_some() => {
                    life.ask(Request::Fork(ForkCommand::Exit(ExitCommand::Drop)));
                }
                None => break,
            }
        }
        life.say("the last one");
        assert!(life.pending.is_empty(), "seed {seed}: {:?} still wait", life.pending);
        read += life.read.len();
    }
    assert!(read > 3_000, "only {read} reports were read");
}

/// MC-21, SE-7: An interrupted answer does not count towards the context after a clear, so the next
/// message is answered.
#[test]
fn message_after_clear_in_a_full_answer_is_answered() {
    let mut life = Harness::new(1);
    life.say("a long story");
    let cut = life.active_turn().unwrap();
    life.ask(Request::History(HistoryCommand::Clear));
    life.end_turn(cut, TurnEnding::Interrupted, 990);
    life.say("hello");
    let start = life.running.values().next().unwrap();
    assert_eq!(start.kind, TurnKind::Answer);
}

/// IF-7, IF-8: A fork that the user requests waits for the whole answer, including tools.
#[test]
fn requested_fork_waits_for_the_answer() {
    let mut life = Harness::new(1);
    life.say("work on it");
    let turn = life.active_turn().unwrap();
    life.ask(Request::Fork(ForkCommand::Enter("tea".to_owned())));
    let (_, effects) =
        life.assistant.handle(Request::Turn(turn, TurnRequest::CallsDone(Vec::new())), &life.now);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Interrupt(_))), "{effects:?}");
}
