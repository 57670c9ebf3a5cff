//! Stories: tests of the real event loop, in which only the user, the model and the clock are
//! simulated.
//!
//! A story records a transcript that is compared as a whole. Time advances when the story says so,
//! or when every task waits for a timer.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

mod background;
mod cast;
mod changes;
mod commands;
mod fragile;
mod held;
mod looking;
mod manner;
mod planning;
mod teller;
mod tree;
mod trouble;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use domain::agent::Agent;
use domain::assistant::{Answer, Assistant, Event, Look, Rein, Request, Saying};
use domain::context::{HUMAN, Names, instructions};
use domain::conversation::{Conversation, Image};
use domain::dice::Dice;
use domain::record::{MessageId, Record, SurfaceName};
use domain::turn::Limits;
use engine::desk::Desk;
use engine::drive::{CALLS, World};
use engine::places::Places;
use engine::ports::{Clock, Hands, Journal as _};
use engine::run::House;
use futures_util::future::join_all;
use jiff::Zoned;
use journal::disk::RealDisk;
use journal::jobs::JobBook;
use journal::{Journal, Opened, Paths, Place};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::clock::VirtualClock;
use crate::puppet::{Line, Puppet};
use crate::troupe::Troupe;
pub use background::{forked, isolated};
use cast::{Cast, choices, next};
pub use changes::{compact, fork};
pub use fragile::BREAK;
use fragile::Fragile;
pub use held::HeldJournal;
pub(crate) use held::hold;
use manner::Manner;
use teller::Teller;
pub use trouble::Trouble;
use trouble::{Troubled, Troubles};

/// A running story.
pub struct Story {
    runtime: Runtime,
    dir: TempDir,
    clock: Arc<VirtualClock>,
    lines: Arc<Mutex<VecDeque<Line>>>,
    cast: Cast,
    teller: Arc<Teller>,
    manner: Manner,
    troubles: Arc<Troubles>,
    house: Option<Living>,
    book: Option<JobBook>,
}

/// The parts of the program that end in a crash.
struct Living {
    desk: Desk,
    journal: Arc<Journal>,
    tasks: JoinSet<()>,
}

impl Story {
    /// Creates a story that starts at `time`, such as `2026-11-15T08:00[Europe/Madrid]`.
    ///
    /// # Panics
    /// If `time` is invalid, or the environment cannot be created.
    pub fn new(time: &str) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let queue = lines.clone();
        let puppet = Puppet::answering(move |_| next(&queue));
        Self::told_with(time, Cast::Puppet(Arc::new(puppet)), lines)
    }

    /// Like [`Story::new`], with a real vendor client and a scripted server.
    ///
    /// # Panics
    /// As [`Story::new`].
    pub fn told_by(time: &str, troupe: Troupe) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let queue = lines.clone();
        Self::told_with(time, Cast::Troupe(troupe.saying(move || next(&queue))), lines)
    }

    /// Creates a story with `model`.
    ///
    /// # Panics
    /// As [`Story::new`].
    pub fn played_by(time: &str, puppet: Puppet) -> Self {
        Self::told_with(time, Cast::Puppet(Arc::new(puppet)), Arc::default())
    }

    fn told_with(time: &str, cast: Cast, lines: Arc<Mutex<VecDeque<Line>>>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let runtime = runtime.expect("a runtime");
        let start: Zoned = time.parse().expect("a time with a zone");
        let clock = Arc::new(runtime.block_on(async { VirtualClock::new(start) }));
        let dir = quick_directory();
        let teller = Arc::default();
        let troubles = Arc::default();
        let manner = Manner::default();
        let mut story =
            Self { runtime, dir, clock, lines, cast, teller, manner, troubles, house: None, book: None };
        story.wake();
        story
    }

    /// Appends outcomes of model calls, one per call.
    pub fn model(&mut self, lines: impl IntoIterator<Item = Line>) -> &mut Self {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
        self
    }

    /// Injects `fault` at the n-th write from now, starting with one.
    pub fn trouble(&mut self, nth: usize, trouble: Trouble) -> &mut Self {
        self.troubles.plan(nth, trouble);
        self
    }

    /// Sends a message and waits for the answer, unless the program crashes.
    pub fn human(&mut self, text: &str) -> &mut Self {
        if let Some(message) = self.say(text) {
            self.while_alive(self.teller.heard_the_end_of(message));
        }
        self
    }

    /// Sends a message and waits until the answer has begun.
    pub fn human_begins(&mut self, text: &str) -> &mut Self {
        if let Some(message) = self.say(text) {
            self.runtime.block_on(self.teller.heard_a_word_of(message));
        }
        self
    }

    /// Sends a message without waiting for the answer.
    pub fn human_adds(&mut self, text: &str) -> &mut Self {
        self.say(text);
        self
    }

    /// Sends several messages at once: all are queued before the first is read.
    pub fn human_adds_at_once(&mut self, texts: &[&str]) -> &mut Self {
        let desk = self.living().desk.clone();
        let ask = |text: &&str| desk.ask(Request::Say(Saying::words(SurfaceName::Terminal, text)));
        let answers = self.while_alive(join_all(texts.iter().map(ask))).unwrap_or_default();
        for answer in answers {
            self.heard(answer);
        }
        self
    }

    /// Stops the current answer.
    pub fn human_stops(&mut self) -> &mut Self {
        let desk = self.living().desk.clone();
        let answer = self.runtime.block_on(desk.ask(Request::Rein(Rein::Stop)));
        if let Answer::Refused(why) = answer {
            self.teller.tell(format!("refused> {why}"));
        }
        self.settle()
    }

    /// Renews the model's key.
    pub fn human_renews_the_key(&mut self) -> &mut Self {
        self.cast.renew();
        self
    }

    /// Waits until the model was called `times` times in total.
    pub fn asked(&mut self, times: usize) -> &mut Self {
        self.runtime.block_on(async {
            while self.cast.seen().len() < times {
                tokio::task::yield_now().await;
            }
        });
        self
    }

    /// Waits until the model streams text, for example after a restart.
    pub fn speaks_again(&mut self) -> &mut Self {
        self.runtime.block_on(self.teller.heard_a_word());
        self
    }

    /// Waits until every accepted message is answered, or the program crashes.
    pub fn settle(&mut self) -> &mut Self {
        self.while_alive(self.teller.heard_everything());
        self
    }

    /// Waits until the transcript has a line that contains `text`.
    pub fn hears(&mut self, words: &str) -> &mut Self {
        self.while_alive(self.teller.heard(words));
        self
    }

    /// Waits until the last line of the transcript contains `text`.
    pub fn hears_last(&mut self, words: &str) -> &mut Self {
        self.while_alive(self.teller.heard_last(words));
        self
    }

    /// Advances the clock to `time` today, such as `08:30`, or tomorrow if that is past.
    pub fn clock(&mut self, time: &str) -> &mut Self {
        let now = self.clock.now();
        let time: jiff::civil::Time = time.parse().expect("a time");
        let mut then = now.with().time(time).build().expect("a time of this day");
        if then < now {
            then = then.tomorrow().expect("a tomorrow");
        }
        self.teller.tell(format!("-- {}", then.strftime("%H:%M")));
        let by = now.duration_until(&then).unsigned_abs();
        self.runtime.block_on(tokio::time::advance(by));
        self
    }

    /// Crashes the program and starts it again.
    pub fn crash(&mut self) -> &mut Self {
        self.teller.tell("-- crash".to_owned());
        self.die();
        self.wake();
        self
    }

    /// Stops the program without a restart.
    pub fn die(&mut self) -> &mut Self {
        if let Some(mut living) = self.house.take() {
            self.runtime.block_on(living.tasks.shutdown());
        }
        self.book = None;
        self.troubles.end();
        self
    }

    /// Changes the tree like a command: stops the program, writes the records of `change`, and
    /// restarts.
    pub fn change(&mut self, change: impl FnOnce(&mut Conversation, Zoned) -> Vec<Record>) -> &mut Self {
        self.die();
        let Opened { journal, mut memory, .. } = self.open();
        let records = change(&mut memory.conversation, self.clock.now());
        self.at_once(journal.write(records)).expect("room for the records");
        drop(journal);
        self.wake();
        self
    }

    /// Returns the paths of the data directory.
    pub fn paths(&self) -> Paths {
        Paths::new(self.dir.path())
    }

    /// Sends a message with an image and waits for the answer.
    pub fn human_shows(&mut self, image: Image, text: &str) -> &mut Self {
        let saying = Saying { images: vec![image], ..Saying::words(SurfaceName::Terminal, text) };
        if let Some(message) = self.put(saying) {
            self.while_alive(self.teller.heard_the_end_of(message));
        }
        self
    }

    fn say(&mut self, text: &str) -> Option<MessageId> {
        self.put(Saying::words(SurfaceName::Terminal, text))
    }

    fn put(&mut self, saying: Saying) -> Option<MessageId> {
        let desk = self.living().desk.clone();
        let request = Request::Say(saying);
        let answer = self.while_alive(desk.ask(request))?;
        self.heard(answer)
    }

    fn heard(&self, answer: Answer) -> Option<MessageId> {
        match answer {
            Answer::Heard(message) => {
                self.teller.expect(message);
                Some(message)
            }
            Answer::Refused(why) => {
                self.teller.tell(format!("refused> {why}"));
                None
            }
            answer @ (Answer::Begun(_)
            | Answer::Decided(_)
            | Answer::Noted
            | Answer::Results(_)
            | Answer::Told(_)
            | Answer::Plans(_)
            | Answer::Numbers(_)
            | Answer::Attention(_)
            | Answer::Overspent(_)
            | Answer::Shown(_)) => {
                panic!("a message was answered with {answer:?}")
            }
        }
    }

    /// Runs `future`; returns `None` if the program crashes first.
    fn while_alive<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = self.troubles.died() => None,
                given = future => Some(given),
            }
        })
    }

    fn living(&self) -> &Living {
        self.house.as_ref().expect("the program runs")
    }

    fn open(&self) -> Opened {
        let opened = journal::open(Place {
            paths: self.paths(),
            disk: Arc::new(RealDisk),
            zone: self.clock.now().time_zone().clone(),
            now: self.clock.now().timestamp(),
            pid: std::process::id(),
        });
        opened.expect("a data directory")
    }

    fn wake(&mut self) {
        let Opened { journal, memory, notices } = self.open();
        for notice in notices {
            self.teller.tell(format!("notice> {notice}"));
        }
        let planned = !memory.plans.known.is_empty() || !memory.plans.open.is_empty();
        // Updates lost in the crash are not expected; only unfinished work in memory is.
        let unfinished = memory.turns.unfinished.iter().map(|left| left.answers.id);
        let waiting = memory.messages.waiting.iter().map(|message| message.id);
        // A requested fork starts with a message of the program.
        let begins = memory.main.entering.as_ref().map(|_| memory.messages.next);
        self.teller.expect_only(unfinished.chain(waiting).chain(begins));
        let journal = Arc::new(journal);
        let hands = Arc::new(Fragile::with(&self.manner.lent));
        let (desk, pile) = Desk::new();
        let names = Names { assistant: "ollim".to_owned(), human: HUMAN.to_owned() };
        let world = World {
            model: self.cast.model(),
            hands: hands.clone(),
            journal: Arc::new(Troubled {
                journal: HeldJournal(journal.clone()),
                troubles: self.troubles.clone(),
            }),
            surface: self.teller.clone(),
            instructions: format!("{}{}", instructions(&names), self.manner.added_instructions).into(),
            patience: self.manner.patience,
            limits: Limits::HOUSE,
            calls: Arc::new(Places::new(CALLS)),
        };
        let purse = self.purse(&journal);
        // The seed depends on the messages so far, so that ids are not repeated after a restart.
        let dice = Dice::new(6 + memory.messages.next.0);
        let assistant = Assistant::new(memory, hands.tools(), self.manner.room, dice)
            .choosing_from(choices())
            .asking(agents(&names));
        let assistant = self.manner.reach.of(assistant).minding(purse);
        let house = House::new(assistant, world, self.clock.clone(), (desk.clone(), pile));
        let mut tasks = JoinSet::new();
        let enter = self.runtime.enter();
        tasks.spawn(house.run(CancellationToken::new()));
        drop(enter);
        self.runtime.block_on(desk.tell(Event::Started));
        self.house = Some(Living { desk, journal, tasks });
        // A first scan without any job files would only wake the program.
        self.looks(if planned { Look::First } else { Look::Again });
    }
}

/// Uses a RAM disk if available: stories test order, not disk speed.
fn quick_directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory")
}

/// Returns the bundled agents.
fn agents(names: &Names) -> Arc<[Agent]> {
    let texts = domain::context::agents::bundled(names);
    let agent = |(name, text): (&str, String)| journal::files::agents::parse(&text, name).expect("an agent");
    texts.into_iter().map(agent).collect()
}
