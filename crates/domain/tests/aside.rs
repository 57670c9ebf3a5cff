//! Tests of the assistant without an engine: forks, clearing, and pending updates in any order.
#![expect(clippy::unwrap_used, reason = "a missing value stops the test")]

use std::collections::{BTreeMap, BTreeSet};

use domain::assistant::{
    Answer, Assistant, Effect, Ended, Event, Left, Memory, Progress, Purpose, Request, Reshape, Saying,
    Start, Step, Way,
};
use domain::compaction::Room;
use domain::conversation::{Block, Branch, Conversation, EntryId, Reach, Said, Usage};
use domain::cost::Call;
use domain::dice::Dice;
use domain::record::{Record, ReportChange, SurfaceName};
use domain::report::ReportId;
use domain::turn::{Ending, TurnId};
use domain::wish::Wish;
use jiff::Zoned;

/// An assistant, its active turns, and the recorded state.
struct Life {
    assistant: Assistant,
    running: BTreeMap<TurnId, Start>,
    heads: BTreeMap<Branch, Option<EntryId>>,
    waiting: BTreeSet<ReportId>,
    read: BTreeSet<ReportId>,
    now: Zoned,
}

impl Life {
    fn new(seed: u64) -> Self {
        let conversation = Conversation::new(BTreeMap::new(), EntryId(1));
        let room = Room { limit: 1_000, ..Room::HOUSE };
        Self {
            assistant: Assistant::new(Memory::of(conversation), [].into(), room, Dice::new(seed)),
            running: BTreeMap::new(),
            heads: BTreeMap::new(),
            waiting: BTreeSet::new(),
            read: BTreeSet::new(),
            now: "2026-11-15T08:00[Europe/Madrid]".parse().unwrap(),
        }
    }

    fn ask(&mut self, request: Request) -> Answer {
        let (answer, effects) = self.assistant.asked(request, &self.now);
        self.perform(effects);
        answer
    }

    fn say(&mut self, text: &str) {
        self.ask(Request::Say(Saying::words(SurfaceName::Page, text)));
    }

    fn end(&mut self, turn: TurnId, ending: Ending, held: u64) {
        let start = self.running.remove(&turn).unwrap();
        let said = Said::Assistant(vec![Block::Text("so it is".to_owned())], Reach::Whole);
        let usage = Usage { input: held, ..Usage::default() };
        let spent = vec![Call { model: "m".to_owned(), usage }];
        let ended = Ended { left: Left::Said(vec![said]), ending, usage, spent };
        let effects = self.assistant.on(Event::TurnEnded(start.turn, ended), &self.now);
        self.perform(effects);
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write(records) => self.write(&records),
                Effect::StartTurn(start) => drop(self.running.insert(start.turn, start)),
                Effect::Decide(..)
                | Effect::Answer(..)
                | Effect::Carry(_)
                | Effect::LoadSkills(..)
                | Effect::Interrupt(_)
                | Effect::Hurry(_)
                | Effect::Show(_) => {}
            }
        }
    }

    /// Checks that entries follow each other and that each update is read once, by main or by a
    /// fork that is promoted.
    fn write(&mut self, records: &[Record]) {
        for record in records {
            match record {
                Record::Said(branch, entry) => {
                    assert_eq!(
                        self.heads.get(branch),
                        Some(&entry.parent),
                        "{branch} goes on where it ended"
                    );
                    self.heads.insert(branch.clone(), Some(entry.id));
                }
                Record::Moved(moved) => match &moved.to {
                    Some(to) => drop(self.heads.insert(moved.branch.clone(), to.entry)),
                    None => drop(self.heads.remove(&moved.branch)),
                },
                Record::Report(ReportChange::Left(report)) => assert!(self.waiting.insert(report.id)),
                Record::Report(ReportChange::Read(reading)) => {
                    for id in reading.quoted.iter().chain(&reading.counted) {
                        assert!(self.waiting.remove(id), "{id:?} did not wait");
                        assert!(self.read.insert(*id), "{id:?} is read twice");
                    }
                    let main = self.heads.get(&Branch::Main).copied().flatten();
                    assert!(reading.entry.is_none_or(|entry| Some(entry) == main), "read where main is");
                }
                Record::Report(ReportChange::Unread(_))
                | Record::Message(_)
                | Record::Turn(_)
                | Record::Fork(_)
                | Record::Approval(_)
                | Record::Plan(_)
                | Record::Spent(_)
                | Record::State(_)
                | Record::Inbox(_)
                | Record::Session(_) => {}
            }
        }
    }

    /// Returns the active turn.
    fn turn(&self) -> Option<TurnId> {
        self.running.keys().next().copied()
    }
}

/// PU-4, PU-5, PU-8, IF-22: In any order of main turns, forks and reports each update is read in
/// exactly one turn of main, and the tree stays consistent.
#[test]
fn any_interleaving_hands_every_report_over_once() {
    let mut read = 0;
    for seed in 0..3_000 {
        let mut life = Life::new(seed);
        let mut dice = Dice::new(seed ^ 0x5EED);
        for number in 0..40 {
            match (dice.roll() % 10, life.turn()) {
                (0..3, Some(turn)) => life.end(turn, Ending::Finished, 10),
                (3, Some(turn)) => life.end(turn, Ending::Interrupted, 10),
                (4, Some(turn)) => {
                    let wish = Wish::Report(format!("the model's {number}"));
                    life.ask(Request::Turn(turn, Progress::Wishes(wish)));
                }
                (5, _) => drop(life.ask(Request::Step(Step::Aside(String::new())))),
                (6, _) => drop(life.ask(Request::Step(Step::Back(Way::Report(format!("mine {number}")))))),
                (7, _) => drop(life.ask(Request::Step(Step::Back(Way::Save)))),
                (8, _) => drop(life.ask(Request::Step(Step::Back(Way::Drop)))),
                _ => life.say("well?"),
            }
        }
        // In the end main speaks, and no update is pending.
        for _ in 0..300 {
            match life.turn() {
                Some(turn) => life.end(turn, Ending::Finished, 10),
                None if life.assistant.wakes(life.now.timestamp()).is_some() => {
                    life.ask(Request::Step(Step::Back(Way::Drop)));
                }
                None => break,
            }
        }
        life.say("the last one");
        assert!(life.waiting.is_empty(), "seed {seed}: {:?} still wait", life.waiting);
        read += life.read.len();
    }
    assert!(read > 3_000, "only {read} reports were read");
}

/// MC-21, SE-7: An interrupted answer does not count towards the context after a clear, so the next
/// message is answered.
#[test]
fn after_starting_over_in_a_full_answer_the_next_words_are_heard() {
    let mut life = Life::new(1);
    life.say("a long story");
    let cut = life.turn().unwrap();
    life.ask(Request::Reshape(Reshape::Clear));
    life.end(cut, Ending::Interrupted, 990);
    life.say("hello");
    let start = life.running.values().next().unwrap();
    assert_eq!(start.purpose, Purpose::Answer);
}

/// IF-7, IF-8: A fork that the user requests waits for the whole answer, including tools.
#[test]
fn a_fork_that_the_human_wants_waits_for_the_answer() {
    let mut life = Life::new(1);
    life.say("work on it");
    let turn = life.turn().unwrap();
    life.ask(Request::Step(Step::Aside("tea".to_owned())));
    let (_, effects) = life.assistant.asked(Request::Turn(turn, Progress::Ran(Vec::new())), &life.now);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Interrupt(_))), "{effects:?}");
}
