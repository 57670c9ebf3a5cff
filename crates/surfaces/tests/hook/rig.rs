//! Test fixture: configurable webhooks and secrets, a real assistant without a model, and calls.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use domain::assistant::{Assistant, Effect, Memory, Question};
use domain::compaction::Room;
use domain::conversation::{Conversation, EntryId};
use domain::delivery::DeliveryChange;
use domain::dice::Dice;
use domain::model::Choices;
use domain::post::PostChange;
use domain::record::{MessageChange, PlanChange, Record};
use domain::schedule::{Entrance, ItemId, Knowing, Prompt, Proof, Terms, WebhookSpec};
use engine::desk::{Desk, Letter};
use engine::ports::Clock;
use jiff::{Timestamp, Zoned};
use surfaces::hook::{self, Attempts, Hooks, Limits, Ports, Reply, sign};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The secret of the published example of Standard Webhooks.
pub const WHSEC: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A clock set by the test.
pub struct Hands(pub watch::Sender<i64>);

impl Clock for Hands {
    fn now(&self) -> Zoned {
        Timestamp::from_second(*self.0.borrow()).unwrap().to_zoned(jiff::tz::TimeZone::UTC)
    }

    fn boot(&self) -> Duration {
        Duration::from_secs(u64::try_from(*self.0.borrow()).unwrap())
    }
}

pub struct Shelf {
    pub hooks: watch::Sender<BTreeMap<String, WebhookSpec>>,
    pub secret: watch::Sender<Option<String>>,
}

impl Hooks for Shelf {
    fn find(&self, id: &str) -> Option<WebhookSpec> {
        self.hooks.borrow().get(id).cloned()
    }

    fn secret(&self, _id: &str) -> Option<String> {
        self.secret.borrow().clone()
    }
}

/// The endpoint with its dependencies.
pub struct Rig {
    pub ports: Ports,
    pub shelf: Arc<Shelf>,
    pub clock: Arc<Hands>,
    pub attempts: Attempts,
    pub records: watch::Sender<Vec<Record>>,
    pub stop: CancellationToken,
    pub tasks: JoinSet<()>,
}

/// Creates a webhook with this schema.
pub fn spec(id: &str, proof: Proof, fields: &str, template: &str) -> WebhookSpec {
    WebhookSpec {
        id: ItemId::parse(id).unwrap(),
        fields: fields.to_owned(),
        entrance: Entrance { proof, ..Entrance::default() },
        knowing: Knowing::Itself,
        terms: Terms::default(),
        deliver: None,
        template: Prompt::new(template),
    }
}

impl Rig {
    pub fn new() -> Self {
        let clock = Arc::new(Hands(watch::Sender::new(1_614_265_330)));
        let (desk, pile) = Desk::new();
        let shelf = Arc::new(Shelf {
            hooks: watch::Sender::new(BTreeMap::new()),
            secret: watch::Sender::new(Some(WHSEC.to_owned())),
        });
        let ports = Ports { desk, hooks: shelf.clone(), clock: clock.clone(), address_header: None };
        let records = watch::Sender::new(Vec::new());
        let mut tasks = JoinSet::new();
        tasks.spawn(play(pile, clock.clone(), records.clone()));
        let attempts = Attempts::new(clock.clone());
        let rig = Self { ports, shelf, clock, attempts, records, stop: CancellationToken::new(), tasks };
        let fields =
            r#"{"type": "object", "required": ["test"], "properties": {"test": {"type": "integer"}}}"#;
        for proof in Proof::ALL {
            rig.place(spec(proof.as_str(), proof, fields, "Look at {test}."));
        }
        rig
    }

    pub fn place(&self, spec: WebhookSpec) {
        self.shelf.hooks.send_modify(|hooks| drop(hooks.insert(spec.id.to_string(), spec)));
    }

    /// Creates a valid call.
    pub fn right(&self, proof: Proof, id: &str, body: &str) -> Call {
        let secret = self.shelf.secret.borrow().clone().unwrap_or_default();
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

    pub async fn call(&self, call: &Call) -> Reply {
        hook::answer(&self.ports, &self.attempts, call.from, call.request()).await
    }

    /// Returns the number of accepted deliveries.
    pub fn taken(&self) -> usize {
        let came =
            |record: &&Record| matches!(record, Record::Plan(PlanChange::Delivery(DeliveryChange::Came(..))));
        self.records.borrow().iter().filter(came).count()
    }

    /// Returns the texts posted to the user so far. The query makes sure that earlier inputs were
    /// handled.
    pub async fn posted(&self) -> Vec<String> {
        self.ports.desk.ask(domain::assistant::Request::Tell(Question::Numbers)).await;
        let text = |record: &Record| {
            let Record::Message(MessageChange::Post(PostChange::Posted(post))) = record else { return None };
            Some(post.sheet.words.clone())
        };
        self.records.borrow().iter().filter_map(text).collect()
    }

    /// Starts the listener and returns its port.
    pub async fn open(&mut self, limits: Limits) -> u16 {
        let door = hook::bind(0).await.unwrap();
        let port = door.address().port();
        self.tasks.spawn(hook::serve(door, self.ports.clone(), limits, self.stop.clone()));
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
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.as_bytes().to_vec()));
        self
    }

    /// Sets the path.
    pub fn to(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }
}

async fn play(mut pile: mpsc::Receiver<Letter>, clock: Arc<Hands>, records: watch::Sender<Vec<Record>>) {
    let memory = Memory::of(Conversation::new(BTreeMap::new(), EntryId(1)));
    let room = Room { limit: 100_000, percent: 80 };
    let choices = Choices { usual: "offline".to_owned(), ..Choices::default() };
    let assistant = Assistant::new(memory, Arc::from([]), room, Dice::new(1));
    let mut assistant = assistant.choosing_from(choices).reaching();
    let write = |effects: Vec<Effect>| {
        for effect in effects {
            if let Effect::Write(new) = effect {
                records.send_modify(|all| all.extend(new));
            }
        }
    };
    while let Some(letter) = pile.recv().await {
        match letter {
            Letter::Asked(request, asker) => {
                let (answer, effects) = assistant.asked(request, &clock.now());
                write(effects);
                drop(asker.send(answer));
            }
            Letter::Happened(event) => write(assistant.on(event, &clock.now())),
        }
    }
}
