//! Cost of entering and leaving forks, and of pending updates in main: decided and written, files
//! included, in a long conversation. Uses `/dev/shm` where it exists, so that disk flushes are not
//! measured.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]

use std::cell::RefCell;
use std::path::Path;

use divan::Bencher;
use domain::assistant::{
    Answer, Assistant, Effect, Event, ExitCommand, ForkCommand, HistoryCommand, Request, TurnOutcome,
    TurnOutput, TurnStart, UserMessage,
};
use domain::compaction::ContextWindow;
use domain::conversation::{Block, Completeness, EntryContent, Usage};
use domain::record::SurfaceName;
use domain::rng::Rng;
use domain::turn::TurnEnding;
use engine::ports::Journal as _;
use jiff::{Timestamp, Zoned};
use journal::Journal;
use tempfile::TempDir;
use testkit::long_history;
use tokio::runtime::Runtime;

const NOW: Timestamp = Timestamp::constant(1_794_700_000, 0);

fn main() {
    divan::main();
}

/// A long conversation whose model answers are supplied by the bench.
struct LongConversation {
    _dir: TempDir,
    runtime: Runtime,
    journal: Journal,
    assistant: Assistant,
    now: Zoned,
}

impl LongConversation {
    fn new(entries: u64) -> RefCell<Self> {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        long_history::create(dir.path(), entries).unwrap();
        let opened = long_history::open(dir.path()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let assistant = Assistant::new(opened.state, [].into(), ContextWindow::DEFAULT, Rng::new(7));
        let now = NOW.to_zoned(jiff::tz::TimeZone::UTC);
        RefCell::new(Self { _dir: dir, runtime, journal: opened.journal, assistant, now })
    }

    /// Decides and writes. Returns the turn that starts, if any.
    fn ask(&mut self, request: Request) -> Option<TurnStart> {
        let (answer, effects) = self.assistant.handle(request, &self.now);
        assert!(!matches!(answer, Answer::Refused(_)), "{answer:?}");
        self.perform(effects)
    }

    fn perform(&mut self, effects: Vec<Effect>) -> Option<TurnStart> {
        let mut started = None;
        for effect in effects {
            match effect {
                Effect::Write(records) => self.runtime.block_on(self.journal.write(records)).unwrap(),
                Effect::StartTurn(start) => started = Some(start),
                Effect::Decide(..)
                | Effect::ReturnResult(..)
                | Effect::CarryOut(_)
                | Effect::LoadSkills(..)
                | Effect::Interrupt(_)
                | Effect::Prioritize(_)
                | Effect::Show(_) => {}
            }
        }
        started
    }

    fn answer(&mut self, start: Option<TurnStart>) {
        let said = EntryContent::Assistant(vec![Block::Text("so it is".to_owned())], Completeness::Complete);
        let left = TurnOutput::Contents(vec![said]);
        let usage = Usage::default();
        let ended =
            TurnOutcome { output: left, ending: TurnEnding::Finished, usage, unrecorded_calls: Vec::new() };
        let effects = self.assistant.on_event(Event::TurnEnded(start.unwrap().turn, ended), &self.now);
        self.perform(effects);
    }

    fn enter_fork(&mut self) -> Option<TurnStart> {
        self.ask(Request::Fork(ForkCommand::Enter("tea".to_owned())))
    }

    fn say(&mut self) -> Option<TurnStart> {
        self.ask(Request::Say(UserMessage::from_text(SurfaceName::Page, "what is new?")))
    }

    /// Leaves ten pending updates, each from a fork.
    fn leave_ten_updates(&mut self) {
        for number in 0..10 {
            let start = self.enter_fork();
            self.answer(start);
            self.ask(Request::Fork(ForkCommand::Exit(ExitCommand::Report(format!(
                "the mail has news, number {number}"
            )))));
        }
    }
}

#[divan::bench(args = [100, 100_000], sample_count = 200)]
fn step_aside(bencher: Bencher, entries: u64) {
    let life = LongConversation::new(entries);
    let begun = RefCell::new(None);
    let back = || {
        if let Some(start) = begun.take() {
            let mut life = life.borrow_mut();
            life.answer(start);
            life.ask(Request::Fork(ForkCommand::Exit(ExitCommand::Drop)));
        }
    };
    bencher.with_inputs(back).bench_local_values(|()| begun.replace(Some(life.borrow_mut().enter_fork())));
}

#[divan::bench(args = [100, 100_000], sample_count = 200)]
fn save(bencher: Bencher, entries: u64) {
    let life = LongConversation::new(entries);
    let aside = || {
        let mut life = life.borrow_mut();
        let start = life.enter_fork();
        life.answer(start);
    };
    bencher.with_inputs(aside).bench_local_values(|()| {
        life.borrow_mut().ask(Request::Fork(ForkCommand::Exit(ExitCommand::Save)));
    });
}

#[divan::bench(args = [100, 100_000], sample_count = 200)]
fn undo(bencher: Bencher, entries: u64) {
    let life = LongConversation::new(entries);
    let saved = || {
        let mut life = life.borrow_mut();
        let start = life.enter_fork();
        life.answer(start);
        life.ask(Request::Fork(ForkCommand::Exit(ExitCommand::Save)));
    };
    bencher.with_inputs(saved).bench_local_values(|()| {
        life.borrow_mut().ask(Request::History(HistoryCommand::Undo));
    });
}

#[divan::bench(args = [100_000], sample_count = 200)]
fn say_without_updates(bencher: Bencher, entries: u64) {
    let life = LongConversation::new(entries);
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
    let life = LongConversation::new(entries);
    let begun = RefCell::new(None);
    let news = || {
        let mut life = life.borrow_mut();
        if let Some(start) = begun.take() {
            life.answer(start);
        }
        life.leave_ten_updates();
    };
    bencher.with_inputs(news).bench_local_values(|()| begun.replace(Some(life.borrow_mut().say())));
}
