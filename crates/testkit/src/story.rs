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
mod breakable_tools;
mod changes;
mod commands;
mod frozen_clock;
mod inspection;
mod jobs;
mod journal_faults;
mod model;
mod settings;
mod transcript;
mod tree;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use domain::agent::Agent;
use domain::assistant::{Answer, Assistant, Event, FileScan, Request, TurnCommand, UserMessage};
use domain::context::{Names, USER_PLACEHOLDER, instructions};
use domain::conversation::{Conversation, Image};
use domain::record::{MessageId, Record, SurfaceName};
use domain::rng::Rng;
use domain::turn::TurnLimits;
use engine::call_slots::CallSlots;
use engine::driver::{MAX_CONCURRENT_CALLS, Services};
use engine::event_loop::EventLoop;
use engine::handle::AssistantHandle;
use engine::ports::{Clock, Journal as _, ToolRunner};
use futures_util::future::join_all;
use jiff::Zoned;
use journal::disk::RealDisk;
use journal::jobs::JobFileScanner;
use journal::{Journal, OpenParams, OpenedJournal, Paths};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::clock::VirtualClock;
use crate::scripted_model::{ModelOutcome, ScriptedModel};
use crate::wire_models::WireModel;
pub use background::{forked_job, isolated_job};
use breakable_tools::BreakableTools;
pub use breakable_tools::PANIC_MARKER;
pub use changes::{compact_main, fork_main};
pub use frozen_clock::FrozenClockJournal;
pub(crate) use frozen_clock::freeze_clock;
pub use journal_faults::JournalFault;
use journal_faults::{FaultyJournal, JournalFaults};
use model::{StoryModel, model_choices, next_outcome};
use settings::StorySettings;
use transcript::Transcript;

/// A running story.
pub struct Story {
    runtime: Runtime,
    dir: TempDir,
    clock: Arc<VirtualClock>,
    outcomes: Arc<Mutex<VecDeque<ModelOutcome>>>,
    model: StoryModel,
    transcript: Arc<Transcript>,
    settings: StorySettings,
    journal_faults: Arc<JournalFaults>,
    program: Option<LiveProgram>,
    job_book: Option<JobFileScanner>,
}

/// The parts of the program that end in a crash.
struct LiveProgram {
    assistant: AssistantHandle,
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
        let model = ScriptedModel::answering(move |_| next_outcome(&queue));
        Self::with_script(time, StoryModel::Scripted(Arc::new(model)), lines)
    }

    /// Like [`Story::new`], with a real vendor client and a scripted server.
    ///
    /// # Panics
    /// As [`Story::new`].
    pub fn with_wire_model(time: &str, wire_model: WireModel) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let queue = lines.clone();
        Self::with_script(
            time,
            StoryModel::Wire(wire_model.with_outcomes(move || next_outcome(&queue))),
            lines,
        )
    }

    /// Creates a story with `model`.
    ///
    /// # Panics
    /// As [`Story::new`].
    pub fn with_model(time: &str, model: ScriptedModel) -> Self {
        Self::with_script(time, StoryModel::Scripted(Arc::new(model)), Arc::default())
    }

    fn with_script(time: &str, model: StoryModel, outcomes: Arc<Mutex<VecDeque<ModelOutcome>>>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let runtime = runtime.expect("a runtime");
        let start: Zoned = time.parse().expect("a time with a zone");
        let clock = Arc::new(runtime.block_on(async { VirtualClock::new(start) }));
        let dir = fast_directory();
        let transcript = Arc::default();
        let journal_faults = Arc::default();
        let settings = StorySettings::default();
        let mut story = Self {
            runtime,
            dir,
            clock,
            outcomes,
            model,
            transcript,
            settings,
            journal_faults,
            program: None,
            job_book: None,
        };
        story.start();
        story
    }

    /// Appends outcomes of model calls, one per call.
    pub fn script(&mut self, lines: impl IntoIterator<Item = ModelOutcome>) -> &mut Self {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
        self
    }

    /// Injects `fault` at the n-th write from now, starting with one.
    pub fn inject_journal_fault(&mut self, nth: usize, fault: JournalFault) -> &mut Self {
        self.journal_faults.plan(nth, fault);
        self
    }

    /// Sends a message and waits for the answer, unless the program crashes.
    pub fn user(&mut self, text: &str) -> &mut Self {
        if let Some(message) = self.send_text(text) {
            self.while_alive(self.transcript.wait_for_answer(message));
        }
        self
    }

    /// Sends a message and waits until the answer has begun.
    pub fn user_begins(&mut self, text: &str) -> &mut Self {
        if let Some(message) = self.send_text(text) {
            self.runtime.block_on(self.transcript.wait_for_text_of(message));
        }
        self
    }

    /// Sends a message without waiting for the answer.
    pub fn user_sends(&mut self, text: &str) -> &mut Self {
        self.send_text(text);
        self
    }

    /// Sends several messages at once: all are queued before the first is read.
    pub fn user_sends_at_once(&mut self, texts: &[&str]) -> &mut Self {
        let assistant = self.live_program().assistant.clone();
        let ask =
            |text: &&str| assistant.ask(Request::Say(UserMessage::from_text(SurfaceName::Terminal, text)));
        let answers = self.while_alive(join_all(texts.iter().map(ask))).unwrap_or_default();
        for answer in answers {
            self.accept_answer(answer);
        }
        self
    }

    /// Stops the current answer.
    pub fn user_stops(&mut self) -> &mut Self {
        let assistant = self.live_program().assistant.clone();
        let answer = self.runtime.block_on(assistant.ask(Request::Control(TurnCommand::Stop)));
        if let Answer::Refused(reason) = answer {
            self.transcript.push_line(format!("refused> {reason}"));
        }
        self.wait_for_answers()
    }

    /// Renews the model's key.
    pub fn user_renews_the_key(&mut self) -> &mut Self {
        self.model.renew_key();
        self
    }

    /// Waits until the model was called `times` times in total.
    pub fn wait_for_model_calls(&mut self, times: usize) -> &mut Self {
        self.runtime.block_on(async {
            while self.model.contexts().len() < times {
                tokio::task::yield_now().await;
            }
        });
        self
    }

    /// Waits until the model streams text, for example after a restart.
    pub fn wait_for_model_text(&mut self) -> &mut Self {
        self.runtime.block_on(self.transcript.wait_for_any_text());
        self
    }

    /// Waits until every accepted message is answered, or the program crashes.
    pub fn wait_for_answers(&mut self) -> &mut Self {
        self.while_alive(self.transcript.wait_for_all_answers());
        self
    }

    /// Waits until the transcript has a line that contains `text`.
    pub fn wait_for_line(&mut self, text: &str) -> &mut Self {
        self.while_alive(self.transcript.wait_for_line(text));
        self
    }

    /// Waits until the last line of the transcript contains `text`.
    pub fn wait_for_last_line(&mut self, text: &str) -> &mut Self {
        self.while_alive(self.transcript.wait_for_last_line(text));
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
        self.transcript.push_line(format!("-- {}", then.strftime("%H:%M")));
        let by = now.duration_until(&then).unsigned_abs();
        self.runtime.block_on(tokio::time::advance(by));
        self
    }

    /// Crashes the program and starts it again.
    pub fn crash(&mut self) -> &mut Self {
        self.transcript.push_line("-- crash".to_owned());
        self.stop();
        self.start();
        self
    }

    /// Stops the program without a restart.
    pub fn stop(&mut self) -> &mut Self {
        if let Some(mut program) = self.program.take() {
            self.runtime.block_on(program.tasks.shutdown());
        }
        self.job_book = None;
        self.journal_faults.reset();
        self
    }

    /// Changes the tree like a command: stops the program, writes the records of `change`, and
    /// restarts.
    pub fn change(&mut self, change: impl FnOnce(&mut Conversation, Zoned) -> Vec<Record>) -> &mut Self {
        self.stop();
        let OpenedJournal { journal, state: mut memory, .. } = self.open_journal();
        let records = change(&mut memory.conversation, self.clock.now());
        self.block_on(journal.write(records)).expect("room for the records");
        drop(journal);
        self.start();
        self
    }

    /// Returns the paths of the data directory.
    pub fn paths(&self) -> Paths {
        Paths::new(self.dir.path())
    }

    /// Sends a message with an image and waits for the answer.
    pub fn user_sends_image(&mut self, image: Image, text: &str) -> &mut Self {
        let user_message =
            UserMessage { images: vec![image], ..UserMessage::from_text(SurfaceName::Terminal, text) };
        if let Some(message) = self.send_message(user_message) {
            self.while_alive(self.transcript.wait_for_answer(message));
        }
        self
    }

    fn send_text(&mut self, text: &str) -> Option<MessageId> {
        self.send_message(UserMessage::from_text(SurfaceName::Terminal, text))
    }

    fn send_message(&mut self, message: UserMessage) -> Option<MessageId> {
        let assistant = self.live_program().assistant.clone();
        let request = Request::Say(message);
        let answer = self.while_alive(assistant.ask(request))?;
        self.accept_answer(answer)
    }

    fn accept_answer(&self, answer: Answer) -> Option<MessageId> {
        match answer {
            Answer::MessageQueued(message) => {
                self.transcript.expect_answer(message);
                Some(message)
            }
            Answer::Refused(why) => {
                self.transcript.push_line(format!("refused> {why}"));
                None
            }
            answer @ (Answer::TurnStarted(_)
            | Answer::Rulings(_)
            | Answer::Done
            | Answer::Results(_)
            | Answer::Text(_)
            | Answer::Plans(_)
            | Answer::Numbers(_)
            | Answer::Attention(_)
            | Answer::OverBudget(_)
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
                () = self.journal_faults.wait_for_crash() => None,
                result = future => Some(result),
            }
        })
    }

    fn live_program(&self) -> &LiveProgram {
        self.program.as_ref().expect("the program runs")
    }

    fn open_journal(&self) -> OpenedJournal {
        let opened = journal::open(OpenParams {
            paths: self.paths(),
            disk: Arc::new(RealDisk),
            zone: self.clock.now().time_zone().clone(),
            now: self.clock.now().timestamp(),
            pid: std::process::id(),
        });
        opened.expect("a data directory")
    }

    fn start(&mut self) {
        let OpenedJournal { journal, state: memory, notices } = self.open_journal();
        for notice in notices {
            self.transcript.push_line(format!("notice> {notice}"));
        }
        let planned = !memory.plans.known_watermarks.is_empty() || !memory.plans.open.is_empty();
        // Updates lost in the crash are not expected; only unfinished work in memory is.
        let unfinished = memory.turns.unfinished.iter().map(|left| left.answers.id);
        let waiting = memory.messages.waiting.iter().map(|message| message.id);
        // A requested fork starts with a message of the program.
        let fork_start = memory.main.fork_request.as_ref().map(|_| memory.messages.next);
        self.transcript.expect_only_answers(unfinished.chain(waiting).chain(fork_start));
        let journal = Arc::new(journal);
        let tools = Arc::new(BreakableTools::with(&self.settings.extra_tools));
        let (handle, pile) = AssistantHandle::new();
        let names = Names { assistant: "ollim".to_owned(), user: USER_PLACEHOLDER.to_owned() };
        let services = Services {
            model: self.model.model(),
            tools: tools.clone(),
            journal: Arc::new(FaultyJournal {
                journal: FrozenClockJournal(journal.clone()),
                faults: self.journal_faults.clone(),
            }),
            surface: self.transcript.clone(),
            instructions: format!("{}{}", instructions(&names), self.settings.added_instructions).into(),
            retry_limits: self.settings.retry_policy,
            limits: TurnLimits::DEFAULT,
            call_slots: Arc::new(CallSlots::new(MAX_CONCURRENT_CALLS)),
        };
        let budget = self.budget(&journal);
        // The seed depends on the messages so far, so that ids are not repeated after a restart.
        let rng = Rng::new(6 + memory.messages.next.0);
        let assistant = Assistant::new(memory, tools.tools(), self.settings.context_window, rng)
            .with_models(model_choices())
            .with_agents(bundled_agents(&names));
        let assistant = self.settings.reach.apply(assistant).with_budget(budget);
        let event_loop = EventLoop::new(assistant, services, self.clock.clone(), (handle.clone(), pile));
        let mut tasks = JoinSet::new();
        let enter = self.runtime.enter();
        tasks.spawn(event_loop.run(CancellationToken::new()));
        drop(enter);
        self.runtime.block_on(handle.send_event(Event::Started));
        self.program = Some(LiveProgram { assistant: handle, journal, tasks });
        // A first scan without any job files would only wake the program.
        self.scan_job_files(if planned { FileScan::First } else { FileScan::Later });
    }
}

/// Uses a RAM disk if available: stories test order, not disk speed.
fn fast_directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory")
}

/// Returns the bundled agents.
fn bundled_agents(names: &Names) -> Arc<[Agent]> {
    let texts = domain::context::agents::bundled(names);
    let agent = |(name, text): (&str, String)| journal::files::agents::parse(&text, name).expect("an agent");
    texts.into_iter().map(agent).collect()
}
