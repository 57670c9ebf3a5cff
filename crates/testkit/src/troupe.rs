//! A real vendor client and its scripted server as the model of a story.
//!
//! Both run in a background thread in real time; in the story no time passes during a call. The
//! server answers every request of one call with the same outcome, because a client may send more
//! than one.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

mod acting;
mod engines;

use std::sync::{Arc, Mutex, PoisonError};

use domain::context::Context;
use domain::conversation::Usage;
use domain::failure::Failure;
use domain::turn::Reply;
use engine::ports::{Head, Hearing, Listener, Model};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::chat_server::{ChatServer, Style};
use crate::elsewhere::Elsewhere;
use crate::model_server::{Gate, ModelServer};
use crate::puppet::Line;
use crate::story::hold;
use acting::Wire;

/// Creates the client for a server's URL; called again after a crash.
type Casting = Box<dyn Fn(&str) -> Arc<dyn Model>>;

/// Returns the next outcome.
type Lines = Arc<dyn Fn() -> Line + Send + Sync>;

/// A vendor client and its server.
pub struct Troupe {
    lines: Lines,
    server: Arc<Server>,
    cast: Casting,
    seen: Arc<Mutex<Vec<Context>>>,
    elsewhere: Elsewhere,
}

enum Server {
    Messages(ModelServer, Wire),
    Chat(ChatServer),
}

impl Troupe {
    /// Uses our client of the Messages API.
    pub fn anthropic() -> Self {
        Self::on_messages(Wire::Messages, engines::anthropic)
    }

    /// Uses our client of chat completions.
    pub fn openai() -> Self {
        let elsewhere = Elsewhere::open();
        let server = elsewhere.run(async { ChatServer::start(Style::OpenAi).await.expect("a port") });
        Self::new(elsewhere, Server::Chat(server), Box::new(engines::openai))
    }

    /// Uses the Claude Code program at `OLLIM_TEST_CLAUDE`.
    pub fn claude() -> Self {
        Self::on_messages(Wire::Program, engines::claude())
    }

    fn on_messages(wire: Wire, cast: impl Fn(&str) -> Arc<dyn Model> + 'static) -> Self {
        let elsewhere = Elsewhere::open();
        let server = elsewhere.run(async { ModelServer::start().await.expect("a port") });
        Self::new(elsewhere, Server::Messages(server, wire), Box::new(cast))
    }

    fn new(elsewhere: Elsewhere, server: Server, cast: Casting) -> Self {
        let lines: Lines = Arc::new(|| Line::says("(nobody told the model what to say)"));
        Self { lines, server: Arc::new(server), cast, seen: Arc::default(), elsewhere }
    }

    /// Sets the source of outcomes.
    pub(crate) fn saying(mut self, lines: impl Fn() -> Line + Send + Sync + 'static) -> Self {
        self.lines = Arc::new(lines);
        self
    }

    /// Creates the model for a program that starts.
    pub(crate) fn model(&self) -> Arc<dyn Model> {
        let url = match &*self.server {
            Server::Messages(server, _) => server.url(),
            Server::Chat(server) => server.url(),
        };
        Arc::new(Actor {
            engine: (self.cast)(&url),
            lines: self.lines.clone(),
            server: self.server.clone(),
            seen: self.seen.clone(),
            elsewhere: self.elsewhere.handle().clone(),
        })
    }

    /// Returns every context of the model.
    pub(crate) fn seen(&self) -> Vec<Context> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Server {
    /// Answers every request with `outcome` from now on. A fault after some text waits at `gate`.
    fn says(&self, line: &Line, gate: &Gate) {
        match self {
            Self::Messages(server, wire) => {
                let act = wire.act(line, gate);
                server.answering(move |_| act.clone());
            }
            Self::Chat(server) => {
                let act = Wire::Chat.act(line, gate);
                server.answering(move |_| act.clone());
            }
        }
    }
}

/// Returns how many bytes to collect before forwarding: an incomplete answer is reported with all
/// of its text at once.
fn held(line: &Line) -> usize {
    match line {
        Line::Holds(words) | Line::Fails(words, _) => words.len(),
        Line::Reply(_) | Line::Panics(_) => 0,
    }
}

/// The model of a running story.
struct Actor {
    engine: Arc<dyn Model>,
    lines: Lines,
    server: Arc<Server>,
    seen: Arc<Mutex<Vec<Context>>>,
    elsewhere: Handle,
}

/// A stream update from the background thread.
enum Heard {
    Words(String),
    Progress(String),
    Used(Usage),
    Answered(Head),
}

/// Forwards stream updates to a channel.
struct Ear(mpsc::UnboundedSender<Heard>);

impl Hearing for Ear {
    fn words(&self, text: &str) {
        // A failed send means that the call was cancelled.
        let _ = self.0.send(Heard::Words(text.to_owned()));
    }

    fn progress(&self, text: &str) {
        let _ = self.0.send(Heard::Progress(text.to_owned()));
    }

    fn used(&self, usage: Usage) {
        let _ = self.0.send(Heard::Used(usage));
    }

    fn answered(&self, head: &Head) {
        let _ = self.0.send(Heard::Answered(head.clone()));
    }
}

impl Model for Actor {
    fn name(&self) -> &str {
        self.engine.name()
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: Listener<'a>,
    ) -> BoxFuture<'a, Result<Reply, Failure>> {
        async move {
            let hold = hold();
            let line = (self.lines)();
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(context.clone());
            let gate = Gate::new();
            self.server.says(&line, &gate);
            let (words, mut heard) = mpsc::unbounded_channel();
            let engine = self.engine.clone();
            let context = context.clone();
            // Dropping the set cancels the call with this future.
            let mut call = JoinSet::new();
            call.spawn_on(async move { engine.reply(&context, &Ear(words)).await }, &self.elsewhere);
            let mut half = String::new();
            while let Some(heard) = heard.recv().await {
                match heard {
                    Heard::Progress(text) => listener.progress(&text),
                    Heard::Words(words) => half.push_str(&words),
                    Heard::Used(usage) => listener.used(usage),
                    Heard::Answered(head) => listener.answered(&head),
                }
                if !half.is_empty() && half.len() >= held(&line) {
                    listener.words(&std::mem::take(&mut half));
                    gate.release();
                }
            }
            let reply = call.join_next().await.expect("one call").expect("an engine that does not panic");
            drop(hold);
            reply
        }
        .boxed()
    }

    fn notice(&self) -> Option<String> {
        self.engine.notice()
    }
}
