//! Test support: a program in an empty home directory, a growing conversation, and recorded
//! notices.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::context::Context;
use domain::conversation::{Block, Branch, Completeness, EntryContent, Text, UserInput};
use domain::effort::Effort;
use domain::failure::Failure;
use domain::thinking::Thinking;
use domain::tool::{Outcome, ToolClass, ToolResult, ToolSpec};
use domain::turn::ModelReply;
use engine::ports::Model;
use models::claude::{
    Callbacks, Claude, Environment, Notice, NoticeSink, ParentDeathGuard, ProgramTimeouts, RuntimeSettings,
    Settings,
};
use tempfile::TempDir;
use testkit::model_server::{ModelServer, Options};

const NOTE_TOOL: ToolSpec = ToolSpec {
    name: "note",
    description: Cow::Borrowed("Writes a note."),
    schema: r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
    class: ToolClass::Own,
};

/// The name of our tool as the model writes it.
pub const NOTE_TOOL_NAME: &str = "mcp__ollim__note";

/// The real program, a fake model server, and the recorded notices.
pub struct Rig {
    pub server: ModelServer,
    pub claude: Claude,
    pub notices: Arc<RecordedNotices>,
    pub home: TempDir,
}

#[derive(Default)]
pub struct RecordedNotices(Mutex<Vec<Notice>>);

impl RecordedNotices {
    pub fn all(&self) -> Vec<Notice> {
        self.0.lock().unwrap().clone()
    }

    /// Returns the started processes, oldest first.
    pub fn processes(&self) -> Vec<u32> {
        let process = |notice: &Notice| if let Notice::Started(id) = notice { Some(*id) } else { None };
        self.all().iter().filter_map(process).collect()
    }
}

impl NoticeSink for RecordedNotices {
    fn notice(&self, _: &Branch, notice: Notice) {
        self.0.lock().unwrap().push(notice);
    }
}

/// Returns the path of the real program, which the test command installed.
#[expect(clippy::disallowed_methods, reason = "only the environment contains its path")]
pub fn program() -> PathBuf {
    match std::env::var_os("OLLIM_TEST_CLAUDE") {
        Some(path) => path.into(),
        None => panic!("set OLLIM_TEST_CLAUDE to the claude program, or run `cargo xtask test`"),
    }
}

/// Settings for `program` in the home directory `home`, with an isolated environment.
#[expect(clippy::disallowed_methods, reason = "a program finds others by the PATH")]
pub fn settings(program: PathBuf, home: &TempDir, url: &str) -> Settings {
    let home = home.path();
    let path = std::env::var("PATH").unwrap();
    let mut environment = vec![("PATH", path), ("HOME", home.display().to_string())];
    environment.extend([("ANTHROPIC_BASE_URL", url.to_owned()), ("ANTHROPIC_API_KEY", "sk-test".to_owned())]);
    environment.push(("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()));
    let mut known = Environment::default();
    environment.into_iter().for_each(|(name, value)| known.set(name, value));
    Settings {
        program,
        working_dir: home.to_owned(),
        environment: known,
        runtime: RuntimeSettings { model: Some("claude-test-1".to_owned()), ..RuntimeSettings::default() },
        own_tools: Vec::new(),
        timeouts: ProgramTimeouts { start: Duration::from_secs(180), ..ProgramTimeouts::default() },
        parent_death: ParentDeathGuard::None,
    }
}

impl Rig {
    pub async fn new() -> Self {
        Self::with(|_| {}, Callbacks::default()).await
    }

    pub async fn with(change: impl FnOnce(&mut Settings), callbacks: Callbacks) -> Self {
        let server = ModelServer::start_with(Options::default()).await.unwrap();
        let home = tempfile::tempdir().unwrap();
        let notices = Arc::new(RecordedNotices::default());
        let mut settings = settings(program(), &home, &server.url());
        change(&mut settings);
        let callbacks = Callbacks { notices: notices.clone(), ..callbacks };
        Self { server, claude: Claude::new(settings, callbacks).unwrap(), notices, home }
    }

    /// Returns the messages of the last request.
    pub fn last_request(&self) -> String {
        self.server.requests().last().unwrap().json["messages"].to_string()
    }
}

/// The stand-in, its home directory, and the recorded notices.
pub struct StandIn {
    pub claude: Claude,
    pub notices: Arc<RecordedNotices>,
    pub home: TempDir,
}

/// Creates a stand-in that runs `script`.
pub fn stand_in(script: &str) -> StandIn {
    stand_in_with(script, |_| {})
}

pub fn stand_in_with(script: &str, change: impl FnOnce(&mut ProgramTimeouts)) -> StandIn {
    let home = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/claude/stand-in.sh");
    let mut settings = settings(program, &home, "");
    settings.environment.set("PLAY", script);
    change(&mut settings.timeouts);
    let notices = Arc::new(RecordedNotices::default());
    let callbacks = Callbacks { notices: notices.clone(), ..Callbacks::default() };
    StandIn { claude: Claude::new(settings, callbacks).unwrap(), notices, home }
}

/// A conversation on one branch, as the engine would store it.
#[derive(Clone)]
pub struct Conversation(pub Context);

impl Conversation {
    pub fn new(branch: Branch) -> Self {
        let tools = Arc::from([NOTE_TOOL]);
        let instructions = Arc::from("You are a friend.");
        Self(Context {
            branch,
            model: None,
            thinking: Thinking::Off,
            effort: Effort::Low,
            interactive: true,
            tools,
            instructions,
            entries: Vec::new(),
            notes: Vec::new(),
            transient_count: 0,
        })
    }

    pub fn main() -> Self {
        Self::new(Branch::Main)
    }

    /// Returns the same history on another branch.
    pub fn fork(&self, name: &str) -> Self {
        Self(Context { branch: Branch::fork(name).unwrap(), ..self.0.clone() })
    }

    pub fn add(&mut self, said: EntryContent) {
        self.0.entries.push(Arc::new(said));
    }

    pub fn add_user(&mut self, text: &str) {
        self.add(EntryContent::User(UserInput {
            preface: String::new(),
            text: text.to_owned(),
            images: Vec::new(),
        }));
    }

    /// Calls the model once like the turn driver, and adds its reply.
    pub async fn reply(&mut self, model: &dyn Model) -> (String, Result<ModelReply, Failure>) {
        let (heard, reply) = call_model(model, &self.0).await;
        if let Ok(reply) = &reply {
            self.add(EntryContent::Assistant(reply.blocks.clone(), Completeness::Complete));
        }
        (heard, reply)
    }

    /// Adds a user message and returns the text of the answer.
    pub async fn say(&mut self, model: &dyn Model, text: &str) -> String {
        self.add_user(text);
        self.reply(model).await.1.unwrap().blocks.text()
    }

    /// Adds the results of all calls in `reply`.
    pub fn add_results(&mut self, reply: &ModelReply) {
        let result = |block: &Block| match block {
            Block::Call(call) => Some(ToolResult {
                call: call.id.clone(),
                text: format!("noted {}", call.input.0),
                outcome: Outcome::Done,
                label: domain::label::Label::PLAIN,
            }),
            Block::Text(_) | Block::Opaque(_) => None,
        };
        self.add(EntryContent::Tools(reply.blocks.iter().filter_map(result).collect()));
    }
}

pub async fn call_model(model: &dyn Model, context: &Context) -> (String, Result<ModelReply, Failure>) {
    let streamed = Mutex::new(String::new());
    let sink = |text: &str| streamed.lock().unwrap().push_str(text);
    let reply = model.reply(context, &sink).await;
    (streamed.into_inner().unwrap(), reply)
}

/// Returns whether a process exists and is not a zombie.
pub fn is_running(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}
