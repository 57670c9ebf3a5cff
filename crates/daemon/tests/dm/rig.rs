//! The application with a fake Discord and a simulated clock. Dropping [`RunningDaemon`] simulates
//! a kill.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::assistant::{Assistant, Event, FileScan};
use domain::compaction::ContextWindow;
use domain::context::{Context, Names, instructions};
use domain::conversation::{Block, Branch, EntryContent, Json, Text as _, Usage};
use domain::failure::Failure;
use domain::retry_policy;
use domain::rng::Rng;
use domain::tool::ToolCall;
use domain::turn::{ModelReply, StopReason, TurnLimits};
use engine::call_slots::CallSlots;
use engine::driver::{MAX_CONCURRENT_CALLS, Services};
use engine::event_loop::EventLoop;
use engine::handle::AssistantHandle;
use engine::ports::{Clock, Journal as _, Model, StreamSinkRef};
use futures_util::future::BoxFuture;
use journal::disk::RealDisk;
use journal::jobs::JobFileScanner;
use journal::{Journal, OpenParams, OpenedJournal, Paths};
use surfaces::discord::{Token, dm};
use surfaces::event_hub::EventHub;
use tempfile::TempDir;
use testkit::clock::VirtualClock;
use testkit::fake_discord::{DiscordFault, FakeDiscord, FakeUser, MessageId, MessageView, Setup};
use testkit::story::FrozenClockJournal;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tools::Toolbox;

use crate::bridge::FakeTransport;
use crate::google::FakeGoogleAccount;

/// A scripted reply of the model: text pieces with a delay before each, then tool calls.
#[derive(Clone, Debug, Default)]
pub struct ScriptedReply {
    /// Progress notes before the text, in pieces as a model sends them.
    pub notes: Vec<&'static str>,
    pub words: Vec<(Duration, String)>,
    pub calls: Vec<(&'static str, String)>,
    /// The failure after the text, if any.
    pub failure: Option<Failure>,
}

impl ScriptedReply {
    /// Replies with `text` at once.
    pub fn text(text: &str) -> Self {
        Self { words: vec![(Duration::ZERO, text.to_owned())], ..Self::default() }
    }

    /// Replies with `text` in pieces of `piece` characters, one per `pace`.
    pub fn streamed(text: &str, (piece, pace): (usize, Duration)) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let words = chars.chunks(piece).map(|chunk| (pace, chunk.iter().collect())).collect();
        Self { words, ..Self::default() }
    }

    /// Calls one tool.
    pub fn calls(name: &'static str, input: &str) -> Self {
        Self { calls: vec![(name, input.to_owned())], ..Self::default() }
    }
}

type ReplyFn = Box<dyn FnMut(&str) -> ScriptedReply + Send>;

/// A model that computes its reply from the newest message.
pub struct FunctionModel(Mutex<(ReplyFn, usize)>);

impl Model for FunctionModel {
    fn name(&self) -> &str {
        "speaker"
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: StreamSinkRef<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, Failure>> {
        Box::pin(async move {
            let (speech, number) = {
                let mut state = self.0.lock().expect("nobody broke here");
                state.1 += 1;
                (state.0(&newest_message(context)), state.1)
            };
            speech.notes.iter().for_each(|note| listener.progress(note));
            let mut text = String::new();
            for (pause, words) in &speech.words {
                tokio::time::sleep(*pause).await;
                if !words.is_empty() {
                    listener.text(words);
                    text.push_str(words);
                }
            }
            if let Some(failure) = speech.failure {
                return Err(failure);
            }
            let call = |(nth, (name, input)): (usize, &(&str, String))| {
                let id = format!("call-{number}-{nth}");
                Block::Call(ToolCall { id, name: (*name).to_owned(), input: Json(input.clone()) })
            };
            let calls = speech.calls.iter().enumerate().map(call);
            let words = (!text.is_empty()).then_some(Block::Text(text));
            let blocks: Vec<Block> = words.into_iter().chain(calls).collect();
            let stop = if speech.calls.is_empty() { StopReason::Finished } else { StopReason::Tools };
            Ok(ModelReply {
                blocks,
                stop_reason: stop,
                usage: Usage { input: 10, output: 5, ..Usage::default() },
            })
        })
    }
}

/// Returns the newest message in the context, with its preface.
fn newest_message(context: &Context) -> String {
    match context.entries.last().map(AsRef::as_ref) {
        Some(EntryContent::User(heard)) => format!("{}{}", heard.preface, heard.text),
        Some(entry) => entry.text(),
        None => String::new(),
    }
}

/// A data directory, a fake Discord, and the daemon between them.
pub struct Rig {
    pub dir: TempDir,
    pub clock: Arc<VirtualClock>,
    pub discord: FakeDiscord,
    pub bridge: FakeTransport,
    pub google: Arc<FakeGoogleAccount>,
    model: Arc<FunctionModel>,
    pub daemon: Option<RunningDaemon>,
    starts: u64,
}

/// Everything that a crash destroys.
pub struct RunningDaemon {
    pub assistant: AssistantHandle,
    pub journal: Arc<Journal>,
    pub hub: Arc<EventHub>,
    book: JobFileScanner,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl RunningDaemon {
    /// Returns the user's messages on main, oldest first.
    pub async fn user_messages(&self) -> Vec<String> {
        let entries = self.journal.recent_entries(Branch::Main, None, 10_000).await.unwrap();
        let messages = entries.into_iter().filter_map(|entry| match entry.content {
            EntryContent::User(messages) => Some(messages.text).filter(|text| !text.is_empty()),
            EntryContent::Assistant(..)
            | EntryContent::Tools(_)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_) => None,
        });
        messages.collect()
    }
}

impl RunningDaemon {
    /// Returns the preface of the user's last message on main.
    pub async fn last_preface(&self) -> String {
        let entries = self.journal.recent_entries(Branch::Main, None, 10_000).await.unwrap();
        let mut prefaces = entries.into_iter().rev().filter_map(|entry| match entry.content {
            EntryContent::User(prefaces) => Some(prefaces.preface),
            EntryContent::Assistant(..)
            | EntryContent::Tools(_)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_) => None,
        });
        prefaces.next().unwrap_or_default()
    }

    /// Returns the media types of the images in the user's messages on main.
    pub async fn image_types(&self) -> Vec<String> {
        let entries = self.journal.recent_entries(Branch::Main, None, 10_000).await.unwrap();
        let images = entries.into_iter().filter_map(|entry| match entry.content {
            EntryContent::User(images) => Some(images.images),
            EntryContent::Assistant(..)
            | EntryContent::Tools(_)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_) => None,
        });
        images.flatten().map(|image| image.media_type).collect()
    }
}

impl Rig {
    /// Starts the daemon in the morning, with a model that replies with `model`.
    pub async fn new(setup: Setup, model: impl FnMut(&str) -> ScriptedReply + Send + 'static) -> Self {
        let mut rig = Self::not_started(setup, model);
        rig.start().await;
        rig.advance(2).await;
        rig
    }

    /// Like `new`, with a fault of Discord from the start.
    pub async fn with_fault(
        setup: Setup,
        model: impl FnMut(&str) -> ScriptedReply + Send + 'static,
        fault: DiscordFault,
    ) -> Self {
        let mut rig = Self::not_started(setup, model);
        rig.discord.inject_fault(fault);
        rig.start().await;
        rig.advance(2).await;
        rig
    }

    /// Like `new`, but without starting the daemon.
    pub fn not_started(setup: Setup, model: impl FnMut(&str) -> ScriptedReply + Send + 'static) -> Self {
        let clock = Arc::new(VirtualClock::new("2026-11-16T09:00[Europe/Madrid]".parse().unwrap()));
        let discord = FakeDiscord::new(setup, clock.clone());
        let bridge = FakeTransport::new(&discord);
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let model = Arc::new(FunctionModel(Mutex::new((Box::new(model), 0))));
        Self { dir, clock, discord, bridge, google: Arc::default(), model, daemon: None, starts: 0 }
    }

    /// Starts the daemon on the same directory.
    pub async fn start(&mut self) {
        self.starts += 1;
        let paths = Paths::new(self.dir.path());
        let OpenedJournal { journal, state: memory, .. } = journal::open(OpenParams {
            paths: paths.clone(),
            disk: Arc::new(RealDisk),
            zone: self.clock.now().time_zone().clone(),
            now: self.clock.now().timestamp(),
            pid: std::process::id(),
        })
        .unwrap();
        let journal = Arc::new(journal);
        let hub = Arc::new(EventHub::default());
        let shared_journal = Arc::new(FrozenClockJournal(journal.clone()));
        let (handle, inputs) = AssistantHandle::new();
        let names = Names { assistant: "ollim".to_owned(), user: "julius".to_owned() };
        let services = Services {
            model: self.model.clone(),
            tools: Arc::new(Toolbox::default()),
            journal: shared_journal.clone(),
            surface: hub.clone(),
            instructions: instructions(&names),
            retry_limits: retry_policy::RetryLimits::DEFAULT,
            limits: TurnLimits::DEFAULT,
            call_slots: Arc::new(CallSlots::new(MAX_CONCURRENT_CALLS)),
        };
        let tools = services.tools.tools();
        let assistant =
            Assistant::new(memory, tools, ContextWindow::DEFAULT, Rng::new(self.starts)).with_messages();
        let event_loop = EventLoop::new(assistant, services, self.clock.clone(), (handle.clone(), inputs));
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(event_loop.run(stop.clone()));
        handle.send_event(Event::Started).await;
        let mut book = JobFileScanner::open(Arc::new(RealDisk), &paths, self.clock.now().time_zone().clone());
        handle
            .send_event(Event::FilesChanged(book.scan(self.clock.now().timestamp()), FileScan::First))
            .await;
        let ports = dm::DiscordPorts {
            assistant: handle.clone(),
            journal: shared_journal.clone(),
            archive: shared_journal.clone(),
            outbox: shared_journal,
            event_hub: hub.clone(),
            clock: self.clock.clone(),
            google: self.google.clone(),
            status: dm::connection_status::StatusSender::default(),
        };
        let token = Token::parse(&self.discord.token()).unwrap();
        tasks.spawn(dm::serve(Arc::new(self.bridge.clone()), token, ports, self.starts, stop.clone()));
        self.daemon = Some(RunningDaemon { assistant: handle, journal, hub, book, stop, tasks });
    }

    /// Simulates kill -9.
    pub async fn kill(&mut self) {
        let Some(mut daemon) = self.daemon.take() else { return };
        daemon.tasks.shutdown().await;
        // The journal's threads end when the last reference is dropped.
        let journal = Arc::clone(&daemon.journal);
        drop(daemon);
        while Arc::strong_count(&journal) > 1 {
            tokio::task::yield_now().await;
        }
    }

    /// Stops the daemon gracefully.
    pub async fn stop(&mut self) {
        let Some(mut daemon) = self.daemon.take() else { return };
        daemon.stop.cancel();
        while daemon.tasks.join_next().await.is_some() {}
    }

    /// Writes a job file, and lets the daemon read it.
    pub async fn write_job_file(&mut self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, text).unwrap();
        let now = self.clock.now().timestamp();
        let daemon = self.daemon.as_mut().unwrap();
        let files = daemon.book.scan(now);
        daemon.assistant.send_event(Event::FilesChanged(files, FileScan::Later)).await;
    }

    /// Advances the simulated time.
    pub async fn advance(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub fn user(&self) -> FakeUser {
        self.discord.owner()
    }

    /// Waits at most ten minutes for a message of ours that contains `words`.
    pub async fn wait_for_message(&self, words: &str) -> MessageView {
        let found = self.discord.wait_for(Duration::from_secs(600), |discord| {
            discord
                .visible()
                .into_iter()
                .rev()
                .find(|seen| seen.author != self.user_name() && message_contains(seen, words))
        });
        match found.await {
            Some(seen) => seen,
            None => panic!("nobody said `{words}`:\n{}", self.discord.transcript()),
        }
    }

    /// Returns our visible messages that contain `words`.
    pub fn messages_with(&self, words: &str) -> Vec<MessageView> {
        let matches = |seen: &MessageView| seen.author != self.user_name() && message_contains(seen, words);
        self.discord.visible().into_iter().filter(matches).collect()
    }

    fn user_name(&self) -> String {
        Setup::default().owner
    }

    /// Sends a message as the user, and waits for an answer that contains `words`.
    pub async fn exchange(&self, text: &str, words: &str) -> (MessageId, MessageView) {
        let typed = self.user().send_text(text);
        (typed, self.wait_for_message(words).await)
    }
}

fn message_contains(seen: &MessageView, words: &str) -> bool {
    let embeds = seen.embeds.iter().map(ToString::to_string).collect::<String>();
    seen.content.contains(words) || embeds.contains(words)
}

/// A model that repeats the message.
pub fn echo(words: &str) -> ScriptedReply {
    let words = words.rsplit(']').next().unwrap_or(words);
    ScriptedReply::text(&format!("you said: {words}"))
}
