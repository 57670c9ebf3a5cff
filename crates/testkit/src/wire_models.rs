//! A real vendor client and its scripted server as the model of a story.
//!
//! Both run in a background thread in real time; in the story no time passes during a call. The
//! server answers every request of one call with the same outcome, because a client may send more
//! than one.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

mod clients;
mod protocol;

use std::sync::{Arc, Mutex, PoisonError};

use domain::context::Context;
use domain::conversation::Usage;
use domain::failure::Failure;
use domain::turn::ModelReply;
use engine::ports::{Model, ResponseHead, StreamSink, StreamSinkRef};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::background_runtime::BackgroundRuntime;
use crate::chat_server::{ChatServer, Style};
use crate::model_server::{Gate, ModelServer};
use crate::scripted_model::ModelOutcome;
use crate::story::freeze_clock;
use protocol::ClientProtocol;

/// Creates the client for a server's URL; called again after a crash.
type ClientFactory = Box<dyn Fn(&str) -> Arc<dyn Model>>;

/// Returns the next outcome.
type OutcomeSource = Arc<dyn Fn() -> ModelOutcome + Send + Sync>;

/// A vendor client and its server.
pub struct WireModel {
    outcomes: OutcomeSource,
    server: Arc<ScriptedServer>,
    client_factory: ClientFactory,
    contexts: Arc<Mutex<Vec<Context>>>,
    runtime: BackgroundRuntime,
}

enum ScriptedServer {
    Messages(ModelServer, ClientProtocol),
    Chat(ChatServer),
}

impl WireModel {
    /// Uses our client of the Messages API.
    pub fn anthropic() -> Self {
        Self::with_messages_api(ClientProtocol::Messages, clients::anthropic)
    }

    /// Uses our client of chat completions.
    pub fn openai() -> Self {
        let runtime = BackgroundRuntime::start();
        let server = runtime.run(async { ChatServer::start(Style::OpenAi).await.expect("a port") });
        Self::new(runtime, ScriptedServer::Chat(server), Box::new(clients::openai))
    }

    /// Uses the Claude Code program at `OLLIM_TEST_CLAUDE`.
    pub fn claude() -> Self {
        Self::with_messages_api(ClientProtocol::Program, clients::claude())
    }

    fn with_messages_api(
        protocol: ClientProtocol,
        client_factory: impl Fn(&str) -> Arc<dyn Model> + 'static,
    ) -> Self {
        let runtime = BackgroundRuntime::start();
        let server = runtime.run(async { ModelServer::start().await.expect("a port") });
        Self::new(runtime, ScriptedServer::Messages(server, protocol), Box::new(client_factory))
    }

    fn new(runtime: BackgroundRuntime, server: ScriptedServer, client_factory: ClientFactory) -> Self {
        let outcomes: OutcomeSource = Arc::new(|| ModelOutcome::text("(nobody told the model what to say)"));
        Self { outcomes, server: Arc::new(server), client_factory, contexts: Arc::default(), runtime }
    }

    /// Sets the source of outcomes.
    pub(crate) fn with_outcomes(
        mut self,
        outcomes: impl Fn() -> ModelOutcome + Send + Sync + 'static,
    ) -> Self {
        self.outcomes = Arc::new(outcomes);
        self
    }

    /// Creates the model for a program that starts.
    pub(crate) fn model(&self) -> Arc<dyn Model> {
        let url = match &*self.server {
            ScriptedServer::Messages(server, _) => server.url(),
            ScriptedServer::Chat(server) => server.url(),
        };
        Arc::new(ClientModel {
            client: (self.client_factory)(&url),
            outcomes: self.outcomes.clone(),
            server: self.server.clone(),
            contexts: self.contexts.clone(),
            runtime: self.runtime.handle().clone(),
        })
    }

    /// Returns every context of the model.
    pub(crate) fn contexts(&self) -> Vec<Context> {
        self.contexts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ScriptedServer {
    /// Answers every request with `outcome` from now on. A fault after some text waits at `gate`.
    fn script_outcome(&self, outcome: &ModelOutcome, gate: &Gate) {
        match self {
            Self::Messages(server, protocol) => {
                let reply = protocol.to_reply(outcome, gate);
                server.answering(move |_| reply.clone());
            }
            Self::Chat(server) => {
                let reply = ClientProtocol::Chat.to_reply(outcome, gate);
                server.answering(move |_| reply.clone());
            }
        }
    }
}

/// Returns how many bytes to collect before forwarding: an incomplete answer is reported with all
/// of its text at once.
fn min_forwarded_bytes(outcome: &ModelOutcome) -> usize {
    match outcome {
        ModelOutcome::Hang(text) | ModelOutcome::Fail(text, _) => text.len(),
        ModelOutcome::Reply(_) | ModelOutcome::Panic(_) => 0,
    }
}

/// The model of a running story.
struct ClientModel {
    client: Arc<dyn Model>,
    outcomes: OutcomeSource,
    server: Arc<ScriptedServer>,
    contexts: Arc<Mutex<Vec<Context>>>,
    runtime: Handle,
}

/// A stream update from the background thread.
enum StreamUpdate {
    Text(String),
    Progress(String),
    Used(Usage),
    ResponseHead(ResponseHead),
}

/// Forwards stream updates to a channel.
struct ChannelSink(mpsc::UnboundedSender<StreamUpdate>);

impl StreamSink for ChannelSink {
    fn text(&self, text: &str) {
        // A failed send means that the call was cancelled.
        let _ = self.0.send(StreamUpdate::Text(text.to_owned()));
    }

    fn progress(&self, text: &str) {
        let _ = self.0.send(StreamUpdate::Progress(text.to_owned()));
    }

    fn usage(&self, usage: Usage) {
        let _ = self.0.send(StreamUpdate::Used(usage));
    }

    fn response_head(&self, head: &ResponseHead) {
        let _ = self.0.send(StreamUpdate::ResponseHead(head.clone()));
    }
}

impl Model for ClientModel {
    fn name(&self) -> &str {
        self.client.name()
    }

    fn reply<'a>(
        &'a self,
        context: &'a Context,
        listener: StreamSinkRef<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, Failure>> {
        async move {
            let freeze = freeze_clock();
            let outcome = (self.outcomes)();
            self.contexts.lock().unwrap_or_else(PoisonError::into_inner).push(context.clone());
            let gate = Gate::new();
            self.server.script_outcome(&outcome, &gate);
            let (words, mut heard) = mpsc::unbounded_channel();
            let client = self.client.clone();
            let context = context.clone();
            // Dropping the set cancels the call with this future.
            let mut call = JoinSet::new();
            call.spawn_on(async move { client.reply(&context, &ChannelSink(words)).await }, &self.runtime);
            let mut pending_text = String::new();
            while let Some(heard) = heard.recv().await {
                match heard {
                    StreamUpdate::Progress(text) => listener.progress(&text),
                    StreamUpdate::Text(words) => pending_text.push_str(&words),
                    StreamUpdate::Used(usage) => listener.usage(usage),
                    StreamUpdate::ResponseHead(head) => listener.response_head(&head),
                }
                if !pending_text.is_empty() && pending_text.len() >= min_forwarded_bytes(&outcome) {
                    listener.text(&std::mem::take(&mut pending_text));
                    gate.release();
                }
            }
            let reply = call.join_next().await.expect("one call").expect("an engine that does not panic");
            drop(freeze);
            reply
        }
        .boxed()
    }

    fn take_notice(&self) -> Option<String> {
        self.client.take_notice()
    }
}
