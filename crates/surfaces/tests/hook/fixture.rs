//! Test fixture: configurable webhooks and secrets, a real assistant without a model, and calls.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use domain::assistant::{Assistant, Effect, Query, State};
use domain::compaction::ContextWindow;
use domain::conversation::{Conversation, EntryId};
use domain::delivery::DeliveryChange;
use domain::model::ModelChoices;
use domain::outbox::OutboxChange;
use domain::record::{MessageChange, PlanChange, Record};
use domain::rng::Rng;
use domain::schedule::{InitialContext, ItemId, Prompt, RunOptions, WebhookAuth, WebhookIntake, WebhookSpec};
use engine::handle::{AssistantHandle, Input};
use engine::ports::Clock;
use jiff::{Timestamp, Zoned};
use surfaces::webhook::{self, FailedAttempts, WebhookLimits, WebhookPorts, WebhookReply, Webhooks, sign};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The secret of the published example of Standard Webhooks.
pub const WHSEC: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A clock set by the test.
pub struct FakeClock(pub watch::Sender<i64>);

impl Clock for FakeClock {
    fn now(&self) -> Zoned {
        Timestamp::from_second(*self.0.borrow()).unwrap().to_zoned(jiff::tz::TimeZone::UTC)
    }

    fn since_boot(&self) -> Duration {
        Duration::from_secs(u64::try_from(*self.0.borrow()).unwrap())
    }
}

pub struct FakeWebhooks {
    pub webhooks: watch::Sender<BTreeMap<String, WebhookSpec>>,
    pub secret: watch::Sender<Option<String>>,
}

impl Webhooks for FakeWebhooks {
    fn find(&self, id: &str) -> Option<WebhookSpec> {
        self.webhooks.borrow().get(id).cloned()
    }

    fn secret(&self, _id: &str) -> Option<String> {
        self.secret.borrow().clone()
    }
}

/// The endpoint with its dependencies.
pub struct Fixture {
    pub ports: WebhookPorts,
    pub webhooks: Arc<FakeWebhooks>,
    pub clock: Arc<FakeClock>,
    pub attempts: FailedAttempts,
    pub records: watch::Sender<Vec<Record>>,
    pub stop: CancellationToken,
    pub tasks: JoinSet<()>,
}

/// Creates a webhook with this schema.
pub fn spec(id: &str, proof: WebhookAuth, fields: &str, template: &str) -> WebhookSpec {
    WebhookSpec {
        id: ItemId::parse(id).unwrap(),
        fields: fields.to_owned(),
        intake: WebhookIntake { auth: proof, ..WebhookIntake::default() },
        context: InitialContext::PromptOnly,
        options: RunOptions::default(),
        deliver: None,
        template: Prompt::new(template),
    }
}

impl Fixture {
    pub fn new() -> Self {
        let clock = Arc::new(FakeClock(watch::Sender::new(1_614_265_330)));
        let (desk, rx) = AssistantHandle::new();
        let webhooks = Arc::new(FakeWebhooks {
            webhooks: watch::Sender::new(BTreeMap::new()),
            secret: watch::Sender::new(Some(WHSEC.to_owned())),
        });
        let ports = WebhookPorts {
            assistant: desk,
            webhooks: webhooks.clone(),
            clock: clock.clone(),
            address_header: None,
        };
        let records = watch::Sender::new(Vec::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(run_assistant(rx, clock.clone(), records.clone()));
        let attempts = FailedAttempts::new(clock.clone());
        let rig = Self { ports, webhooks, clock, attempts, records, stop: CancellationToken::new(), tasks };
        let fields =
            r#"{"type": "object", "required": ["test"], "properties": {"test": {"type": "integer"}}}"#;
        for proof in WebhookAuth::ALL {
            rig.add_webhook(spec(proof.as_str(), proof, fields, "Look at {test}."));
        }
        rig
    }

    pub fn add_webhook(&self, spec: WebhookSpec) {
        self.webhooks.webhooks.send_modify(|hooks| drop(hooks.insert(spec.id.to_string(), spec)));
    }

    /// Creates a valid call.
    pub fn valid_call(&self, proof: WebhookAuth, id: &str, body: &str) -> Call {
        let secret = self.webhooks.secret.borrow().clone().unwrap_or_default();
        let at = self.clock.now().timestamp();
        let headers = sign(proof, &secret, id, at, body.as_bytes());
        let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value.into_bytes()));
        Call {
            method: "POST".to_owned(),
            path: format!("/hook/{}", proof.as_str()),
            headers: headers.collect(),
            body: body.as_bytes().to_vec(),
            from: IpAddr::from([127, 0, 0, 1]),
        }
    }

    pub async fn call(&self, call: &Call) -> WebhookReply {
        webhook::handle_call(&self.ports, &self.attempts, call.from, call.request()).await
    }

    /// Returns the number of accepted deliveries.
    pub fn delivery_count(&self) -> usize {
        let came = |record: &&Record| {
            matches!(record, Record::Plan(PlanChange::Delivery(DeliveryChange::Received(..))))
        };
        self.records.borrow().iter().filter(came).count()
    }

    /// Returns the texts posted to the user so far. The query makes sure that earlier inputs were
    /// handled.
    pub async fn posted_texts(&self) -> Vec<String> {
        self.ports.assistant.ask(domain::assistant::Request::Query(Query::Numbers)).await;
        let text = |record: &Record| {
            let Record::Message(MessageChange::Outbox(OutboxChange::Posted(post))) = record else {
                return None;
            };
            Some(post.body.text.clone())
        };
        self.records.borrow().iter().filter_map(text).collect()
    }

    /// Starts the listener and returns its port.
    pub async fn serve(&mut self, limits: WebhookLimits) -> u16 {
        let door = webhook::bind(0).await.unwrap();
        let port = door.address().port();
        self.tasks.spawn(webhook::serve(door, self.ports.clone(), limits, self.stop.clone()));
        port
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    pub from: IpAddr,
}

impl Call {
    fn request(&self) -> Request<Body> {
        let mut request = Request::builder().method(self.method.as_str()).uri(self.path.as_str());
        for (name, value) in &self.headers {
            request = request.header(name.as_str(), value.as_slice());
        }
        request.body(Body::from(self.body.clone())).unwrap()
    }

    /// Sets a header.
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.as_bytes().to_vec()));
        self
    }

    /// Sets the path.
    pub fn at_path(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }
}

async fn run_assistant(
    mut rx: mpsc::Receiver<Input>,
    clock: Arc<FakeClock>,
    records: watch::Sender<Vec<Record>>,
) {
    let memory = State::new(Conversation::new(BTreeMap::new(), EntryId(1)));
    let room = ContextWindow { limit: 100_000, fill_percent: 80 };
    let choices = ModelChoices { default_model: "offline".to_owned(), ..ModelChoices::default() };
    let assistant = Assistant::new(memory, Arc::from([]), room, Rng::new(1));
    let mut assistant = assistant.with_models(choices).with_messages();
    let write = |effects: Vec<Effect>| {
        for effect in effects {
            if let Effect::Write(new) = effect {
                records.send_modify(|all| all.extend(new));
            }
        }
    };
    while let Some(input) = rx.recv().await {
        match input {
            Input::Request(request, asker) => {
                let (answer, effects) = assistant.handle(request, &clock.now());
                write(effects);
                drop(asker.send(answer));
            }
            Input::Event(event) => write(assistant.on_event(event, &clock.now())),
        }
    }
}
