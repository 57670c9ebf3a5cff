//! Cost of entering and leaving forks, and of pending updates in main: decided and written, files
//! included, in a long conversation. Uses `/dev/shm` where it exists, so that disk flushes are not
//! measured.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]

use std::cell::RefCell;
use std::path::Path;

use divan::Bencher;
use domain::assistant::{
    Answer, Assistant, Effect, Ended, Event, Left, Request, Reshape, Saying, Start, Step, Way,
};
use domain::compaction::Room;
use domain::conversation::{Block, Reach, Said, Usage};
use domain::dice::Dice;
use domain::record::SurfaceName;
use domain::turn::Ending;
use engine::ports::Journal as _;
use jiff::{Timestamp, Zoned};
use journal::Journal;
use tempfile::TempDir;
use testkit::long_life;
use tokio::runtime::Runtime;

const NOW: Timestamp = Timestamp::constant(1_794_700_000, 0);

fn main() {
    divan::main();
}

/// A long conversation whose model answers are supplied by the bench.
struct Life {
    _dir: TempDir,
    runtime: Runtime,
    journal: Journal,
    assistant: Assistant,
    now: Zoned,
}

impl Life {
    fn new(entries: u64) -> RefCell<Self> {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        long_life::lay_out(dir.path(), entries).unwrap();
        let opened = long_life::open(dir.path()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let assistant = Assistant::new(opened.memory, [].into(), Room::HOUSE, Dice::new(7));
        let now = NOW.to_zoned(jiff::tz::TimeZone::UTC);
        RefCell::new(Self { _dir: dir, runtime, journal: opened.journal, assistant, now })
    }

    /// Decides and writes. Returns the turn that starts, if any.
    fn ask(&mut self, request: Request) -> Option<Start> {
        let (answer, effects) = self.assistant.asked(request, &self.now);
        assert!(!matches!(answer, Answer::Refused(_)), "{answer:?}");
        self.perform(effects)
    }

    fn perform(&mut self, effects: Vec<Effect>) -> Option<Start> {
        let mut started = None;
        for effect in effects {
            match effect {
                Effect::Write(records) => self.runtime.block_on(self.journal.write(records)).unwrap(),
                Effect::StartTurn(start) => started = Some(start),
                Effect::Decide(..)
                | Effect::Answer(..)
                | Effect::Carry(_)
                | Effect::LoadSkills(..)
                | Effect::Interrupt(_)
                | Effect::Hurry(_)
                | Effect::Show(_) => {}
            }
        }
        started
    }

    fn answer(&mut self, start: Option<Start>) {
        let said = Said::Assistant(vec![Block::Text("so it is".to_owned())], Reach::Whole);
        let left = Left::Said(vec![said]);
        let usage = Usage::default();
        let ended = Ended { left, ending: Ending::Finished, usage, spent: Vec::new() };
        let effects = self.assistant.on(Event::TurnEnded(start.unwrap().turn, ended), &self.now);
        self.perform(effects);
    }

    fn step_aside(&mut self) -> Option<Start> {
        self.ask(Request::Step(Step::Aside("tea".to_owned())))
    }

    fn say(&mut self) -> Option<Start> {
        self.ask(Request::Say(Saying::words(SurfaceName::Page, "what is new?")))
    }

    /// Leaves ten pending updates, each from a fork.
    fn hear_of_ten(&mut self) {
        for number in 0..10 {
            let start = self.step_aside();
            self.answer(start);
            self.ask(Request::Step(Step::Back(Way::Report(format!("the mail has news, number {number}")))));
        }
    }
}

#[divan::bench(args = [100, 100_000], sample_count = 200)]
fn step_aside(bencher: Bencher, entries: u64) {
    let life = Life::new(entries);
    let begun = RefCell::new(None);
    let back = || {
        if let Some(start) = begun.take() {
            let mut life = life.borrow_mut();
            life.answer(start);
            life.ask(Request::Step(Step::Back(Way::Drop)));
        }
    };
    bencher.with_inputs(back).bench_local_values(|()| begun.replace(Some(life.borrow_mut().step_aside())));
}

#[divan::bench(args = [100, 100_000], sample_count = 200)]
fn save(bencher: Bencher, entries: u64) {
    let life = Life::new(entries);
    let aside = || {
        let mut life = life.borrow_mut();
        let start = life.step_aside();
        life.answer(start);
    };
    bencher.with_inputs(aside).bench_local_values(|()| {
        life.borrow_mut().ask(Request::Step(Step::Back(Way::Save)));
    });
}

#[divan::bench(args = [100, 100_000], sample_count = 200)]
fn undo(bencher: Bencher, entries: u64) {
    let life = Life::new(entries);
    let saved = || {
        let mut life = life.borrow_mut();
        let start = life.step_aside();
        life.answer(start);
        life.ask(Request::Step(Step::Back(Way::Save)));
    };
    bencher.with_inputs(saved).bench_local_values(|()| {
        life.borrow_mut().ask(Request::Reshape(Reshape::Undo));
    });
}

#[divan::bench(args = [100_000], sample_count = 200)]
fn say_without_updates(bencher: Bencher, entries: u64) {
    let life = Life::new(entries);
    let begun = RefCell::new(None);
    let quiet = || {
        if let Some(start) = begun.take() {
            life.borrow_mut().answer(start);
        }
    };
    bencher.with_inputs(quiet).bench_local_values(|()| begun.replace(Some(life.borrow_mut().say())));
}

#[divan::bench(args = [100_000], sample_count = 100)]
fn say_with_ten_updates(bencher: Bencher, entries: u64) {
    let life = Life::new(entries);
    let begun = RefCell::new(None);
    let news = || {
        let mut life = life.borrow_mut();
        if let Some(start) = begun.take() {
            life.answer(start);
        }
        life.hear_of_ten();
    };
    bencher.with_inputs(news).bench_local_values(|()| begun.replace(Some(life.borrow_mut().say())));
}
