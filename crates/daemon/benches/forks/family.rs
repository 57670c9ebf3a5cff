//! A long conversation, and forks of it that are driven to their end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{TurnKind, TurnStart, Update};
use domain::context::{Names, RequestLimit, instructions};
use domain::conversation::{Branch, Conversation, EntryContent, UserInput};
use domain::cost::Account;
use domain::effort::Effort;
use domain::record::Record;
use domain::retry_policy;
use domain::rng::Rng;
use domain::thinking::Thinking;
use domain::turn::{TurnEnding, TurnId, TurnLimits};
use engine::call_slots::CallSlots;
use engine::driver::{Services, drive};
use engine::handle::{AssistantHandle, Input};
use engine::ports::Surface;
use engine::turn_control::TurnHandle;
use jiff::Timestamp;
use models::anthropic::{Anthropic, ApiKey, Settings};
use tempfile::TempDir;
use testkit::long_history;
use tokio::sync::mpsc;
use tools::Toolbox;

const NOW: Timestamp = Timestamp::constant(1_794_700_000, 0);

/// A conversation, and the services its forks use.
pub struct ForkSession {
    services: Services,
    conversation: Conversation,
    rng: Rng,
    forks: u64,
    assistant: AssistantHandle,
    // Forks that call no tool send no inputs; the receiver only has to stay alive.
    _inputs: mpsc::Receiver<Input>,
    _dir: TempDir,
}

impl ForkSession {
    /// Creates a conversation with `entries` entries whose forks call the model at `url`, at most
    /// `calls` at a time.
    pub fn new(entries: u64, url: &str, calls: usize) -> Self {
        let dir = memory_dir();
        long_history::create(dir.path(), entries).unwrap();
        let opened = long_history::open(dir.path()).unwrap();
        let names = Names { assistant: "ollim".to_owned(), user: "julius".to_owned() };
        let services = Services {
            model: Arc::new(model(url)),
            tools: Arc::new(Toolbox::default()),
            journal: Arc::new(opened.journal),
            surface: Arc::new(NullSurface),
            instructions: instructions(&names),
            limits: TurnLimits::DEFAULT,
            retry_limits: retry_policy::RetryLimits::DEFAULT,
            call_slots: Arc::new(CallSlots::new(calls)),
        };
        let (assistant, inputs) = AssistantHandle::new();
        let conversation = opened.state.conversation;
        let rng = Rng::new(7);
        Self { services, conversation, rng, forks: 0, assistant, _inputs: inputs, _dir: dir }
    }

    /// Writes a fork and its first message, and returns the turn that answers it.
    pub async fn fork(&mut self) -> impl Future<Output = ()> + Send + 'static {
        self.forks += 1;
        let branch = Branch::fork(&format!("run-{}", self.forks)).unwrap();
        let words = UserInput {
            preface: "[background] be short.".to_owned(),
            text: "is there mail?".to_owned(),
            images: vec![],
        };
        let forked =
            self.conversation.fork(&Branch::Main, branch.clone(), self.rng.session_id(), NOW).unwrap();
        let entry = self.conversation.append(&branch, EntryContent::User(words), NOW).unwrap();
        let start = TurnStart {
            turn: TurnId(self.forks),
            branch: branch.clone(),
            kind: TurnKind::Answer,
            model: None,
            thinking: Thinking::Off,
            effort: Effort::Low,
            window: RequestLimit(200_000),
            user: "julius".to_owned(),
            account: Account::answer_on(&branch),
            from: entry.id,
            seed: 7,
        };
        self.services
            .journal
            .write(vec![Record::BranchMoved(forked), Record::EntryAppended(branch, entry)])
            .await
            .unwrap();
        let turn = drive(start, self.services.clone(), self.assistant.clone(), TurnHandle::new().1);
        async {
            let ended = turn.await;
            assert_eq!(ended.ending, TurnEnding::Finished);
        }
    }
}

fn model(url: &str) -> Anthropic {
    let settings = Settings {
        base_url: url.to_owned(),
        key: ApiKey::new("none"),
        model: "m".to_owned(),
        max_tokens: 1024,
        connect: Duration::from_secs(60),
        stall: Duration::from_secs(60),
        total: Duration::from_secs(600),
        store: None,
    };
    Anthropic::new(settings).unwrap()
}

struct NullSurface;

impl Surface for NullSurface {
    fn show(&self, _: &Update) {}
}

fn memory_dir() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}
