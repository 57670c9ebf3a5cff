//! The application with a fake Discord and a simulated clock. Dropping [`RunningDaemon`] simulates
//! a kill.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::assistant::{Assistant, Event, Look};
use domain::compaction::Room;
use domain::context::{Context, Names, instructions};
use domain::conversation::{Block, Branch, Json, Said, Text as _, Usage};
use domain::dice::Dice;
use domain::failure::Failure;
use domain::patience;
use domain::tool::ToolCall;
use domain::turn::{Limits, Reply, Stop};
use engine::desk::Desk;
use engine::drive::{CALLS, World};
use engine::places::Places;
use engine::ports::{Clock, Journal as _, Listener, Model};
use engine::run::House;
use futures_util::future::BoxFuture;
use journal::disk::RealDisk;
use journal::jobs::JobBook;
use journal::{Journal, Opened, Paths, Place};
use surfaces::discord::{Token, dm};
use surfaces::stage::Stage;
use tempfile::TempDir;
use testkit::clock::VirtualClock;
use testkit::discord::{Discord, MessageId, Person, Seen, Setup, Trouble};
use testkit::story::HeldJournal;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tools::Toolbox;

use crate::bridge::Bridge;
use crate::google::Account;

/// A scripted reply of the model: text pieces with a delay before each, then tool calls.
#[derive(Clone, Debug, Default)]
pub struct Speech {
    /// Progress notes before the text, in pieces as a model sends them.
    pub notes: Vec<&'static str>,
    pub words: Vec<(Duration, String)>,
    pub calls: Vec<(&'static str, String)>,
    /// The failure after the text, if any.
    pub fails: Option<Failure>,
}

impl Speech {
    /// Replies with `text` at once.
    pub fn of(text: &str) -> Self {
        Self { words: vec![(Duration::ZERO, text.to_owned())], ..Self::default() }
    }

    /// Replies with `text` in pieces of `piece` characters, one per `pace`.
    pub fn slowly(text: &str, (piece, pace): (usize, Duration)) -> Self {
        let letters: Vec<char> = text.chars().collect();
        let words = letters.chunks(piece).map(|chunk| (pace, chunk.iter().collect())).collect();
        Self { words, ..Self::default() }
    }

    /// Calls one tool.
    pub fn calls(tool: &'static str, input: &str) -> Self {
        Self { calls: vec![(tool, input.to_owned())], ..Self::default() }
    }
}

type Speaks = Box<dyn FnMut(&str) -> Speech + Send>;

/// A model that computes its reply from the newest message.
pub struct Speaker(Mutex<(Speaks, usize)>);

impl Model for Speaker {
    fn name(&self) -> &str {
        "speaker"
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: Listener<'a>,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        Box::pin(async move {
            let (speech, number) = {
                let mut speaks = self.0.lock().expect("nobody broke here");
                speaks.1 += 1;
                (speaks.0(&newest(context)), speaks.1)
            };
            speech.notes.iter().for_each(|note| listener.progress(note));
            let mut text = String::new();
            for (pause, words) in &speech.words {
                tokio::time::sleep(*pause).await;
                if !words.is_empty() {
                    listener.words(words);
                    text.push_str(words);
                }
            }
            if let Some(failure) = speech.fails {
                return Err(failure);
            }
            let call = |(nth, (name, input)): (usize, &(&str, String))| {
                let id = format!("call-{number}-{nth}");
                Block::Call(ToolCall { id, name: (*name).to_owned(), input: Json(input.clone()) })
            };
            let calls = speech.calls.iter().enumerate().map(call);
            let words = (!text.is_empty()).then_some(Block::Text(text));
            let blocks: Vec<Block> = words.into_iter().chain(calls).collect();
            let stop = if speech.calls.is_empty() { Stop::Said } else { Stop::Tools };
            Ok(Reply { blocks, stop, usage: Usage { input: 10, output: 5, ..Usage::default() } })
        })
    }
}

/// Returns the newest message in the context, with its preface.
fn newest(context: &Context) -> String {
    match context.said.last().map(AsRef::as_ref) {
        Some(Said::Human(heard)) => format!("{}{}", heard.preface, heard.text),
        Some(said) => said.text(),
        None => String::new(),
    }
}

/// A data directory, a fake Discord, and the daemon between them.
pub struct Rig {
    pub dir: TempDir,
    pub clock: Arc<VirtualClock>,
    pub discord: Discord,
    pub bridge: Bridge,
    pub google: Arc<Account>,
    model: Arc<Speaker>,
    pub life: Option<Life>,
    lives: u64,
}

/// Everything that a crash destroys.
pub struct Life {
    pub desk: Desk,
    pub journal: Arc<Journal>,
    pub stage: Arc<Stage>,
    book: JobBook,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Life {
    /// Returns the user's messages on main, oldest first.
    pub async fn heard(&self) -> Vec<String> {
        let entries = self.journal.recent(Branch::Main, None, 10_000).await.unwrap();
        let heard = entries.into_iter().filter_map(|entry| match entry.said {
            Said::Human(heard) => Some(heard.text).filter(|text| !text.is_empty()),
            Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => None,
        });
        heard.collect()
    }
}

impl Life {
    /// Returns the preface of the user's last message on main.
    pub async fn preface(&self) -> String {
        let entries = self.journal.recent(Branch::Main, None, 10_000).await.unwrap();
        let mut heard = entries.into_iter().rev().filter_map(|entry| match entry.said {
            Said::Human(heard) => Some(heard.preface),
            Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => None,
        });
        heard.next().unwrap_or_default()
    }

    /// Returns the media types of the images in the user's messages on main.
    pub async fn pictures(&self) -> Vec<String> {
        let entries = self.journal.recent(Branch::Main, None, 10_000).await.unwrap();
        let heard = entries.into_iter().filter_map(|entry| match entry.said {
            Said::Human(heard) => Some(heard.images),
            Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => None,
        });
        heard.flatten().map(|image| image.media_type).collect()
    }
}

impl Rig {
    /// Starts the daemon in the morning, with the model `speaks`.
    pub async fn new(setup: Setup, speaks: impl FnMut(&str) -> Speech + Send + 'static) -> Self {
        let mut rig = Self::before(setup, speaks);
        rig.start().await;
        rig.passes(2).await;
        rig
    }

    /// Like `new`, with a fault of Discord from the start.
    pub async fn troubled(
        setup: Setup,
        speaks: impl FnMut(&str) -> Speech + Send + 'static,
        trouble: Trouble,
    ) -> Self {
        let mut rig = Self::before(setup, speaks);
        rig.discord.trouble(trouble);
        rig.start().await;
        rig.passes(2).await;
        rig
    }

    /// Like `new`, but without starting the daemon.
    pub fn before(setup: Setup, speaks: impl FnMut(&str) -> Speech + Send + 'static) -> Self {
        let clock = Arc::new(VirtualClock::new("2026-11-16T09:00[Europe/Madrid]".parse().unwrap()));
        let discord = Discord::new(setup, clock.clone());
        let bridge = Bridge::new(&discord);
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let model = Arc::new(Speaker(Mutex::new((Box::new(speaks), 0))));
        Self { dir, clock, discord, bridge, google: Arc::default(), model, life: None, lives: 0 }
    }

    /// Starts the daemon on the same directory.
    pub async fn start(&mut self) {
        self.lives += 1;
        let paths = Paths::new(self.dir.path());
        let Opened { journal, memory, .. } = journal::open(Place {
            paths: paths.clone(),
            disk: Arc::new(RealDisk),
            zone: self.clock.now().time_zone().clone(),
            now: self.clock.now().timestamp(),
            pid: std::process::id(),
        })
        .unwrap();
        let journal = Arc::new(journal);
        let stage = Arc::new(Stage::default());
        let held = Arc::new(HeldJournal(journal.clone()));
        let (desk, pile) = Desk::new();
        let names = Names { assistant: "ollim".to_owned(), human: "julius".to_owned() };
        let world = World {
            model: self.model.clone(),
            hands: Arc::new(Toolbox::default()),
            journal: held.clone(),
            surface: stage.clone(),
            instructions: instructions(&names),
            patience: patience::Limits::HOUSE,
            limits: Limits::HOUSE,
            calls: Arc::new(Places::new(CALLS)),
        };
        let tools = world.hands.tools();
        let assistant = Assistant::new(memory, tools, Room::HOUSE, Dice::new(self.lives)).reaching();
        let house = House::new(assistant, world, self.clock.clone(), (desk.clone(), pile));
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(house.run(stop.clone()));
        desk.tell(Event::Started).await;
        let mut book = JobBook::open(Arc::new(RealDisk), &paths, self.clock.now().time_zone().clone());
        desk.tell(Event::Files(book.look(self.clock.now().timestamp()), Look::First)).await;
        let ports = dm::Ports {
            desk: desk.clone(),
            journal: held.clone(),
            archive: held.clone(),
            outbox: held,
            stage: stage.clone(),
            clock: self.clock.clone(),
            google: self.google.clone(),
            line: dm::line::Told::default(),
        };
        let token = Token::read(&self.discord.token()).unwrap();
        tasks.spawn(dm::live(Arc::new(self.bridge.clone()), token, ports, self.lives, stop.clone()));
        self.life = Some(Life { desk, journal, stage, book, stop, tasks });
    }

    /// Simulates kill -9.
    pub async fn killed(&mut self) {
        let Some(mut life) = self.life.take() else { return };
        life.tasks.shutdown().await;
        // The journal's threads end when the last reference is dropped.
        let journal = Arc::clone(&life.journal);
        drop(life);
        while Arc::strong_count(&journal) > 1 {
            tokio::task::yield_now().await;
        }
    }

    /// Stops the daemon gracefully.
    pub async fn stopped(&mut self) {
        let Some(mut life) = self.life.take() else { return };
        life.stop.cancel();
        while life.tasks.join_next().await.is_some() {}
    }

    /// Writes a job file, and lets the daemon read it.
    pub async fn file(&mut self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        std::fs::write(path, text).unwrap();
        let now = self.clock.now().timestamp();
        let life = self.life.as_mut().unwrap();
        let news = life.book.look(now);
        life.desk.tell(Event::Files(news, Look::Again)).await;
    }

    /// Advances the simulated time.
    pub async fn passes(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub fn human(&self) -> Person {
        self.discord.owner()
    }

    /// Waits at most ten minutes for a message of ours that contains `words`.
    pub async fn sees(&self, words: &str) -> Seen {
        let found = self.discord.wait_for(Duration::from_secs(600), |discord| {
            discord
                .visible()
                .into_iter()
                .rev()
                .find(|seen| seen.author != self.human_name() && says(seen, words))
        });
        match found.await {
            Some(seen) => seen,
            None => panic!("nobody said `{words}`:\n{}", self.discord.transcript()),
        }
    }

    /// Returns our visible messages that contain `words`.
    pub fn all(&self, words: &str) -> Vec<Seen> {
        let ours = |seen: &Seen| seen.author != self.human_name() && says(seen, words);
        self.discord.visible().into_iter().filter(ours).collect()
    }

    fn human_name(&self) -> String {
        Setup::default().owner
    }

    /// Sends a message as the user, and waits for an answer that contains `words`.
    pub async fn talk(&self, text: &str, words: &str) -> (MessageId, Seen) {
        let typed = self.human().types(text);
        (typed, self.sees(words).await)
    }
}

fn says(seen: &Seen, words: &str) -> bool {
    let embeds = seen.embeds.iter().map(ToString::to_string).collect::<String>();
    seen.content.contains(words) || embeds.contains(words)
}

/// A model that repeats the message.
pub fn echo(words: &str) -> Speech {
    let words = words.rsplit(']').next().unwrap_or(words);
    Speech::of(&format!("you said: {words}"))
}
