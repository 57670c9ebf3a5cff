//! Test support: a program in an empty home directory, a growing conversation, and recorded
//! notices.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::context::Context;
use domain::conversation::{Block, Branch, Heard, Reach, Said, Text};
use domain::effort::Effort;
use domain::failure::Failure;
use domain::thinking::Thinking;
use domain::tool::{Class, Outcome, ToolResult, ToolSpec};
use domain::turn::Reply;
use engine::ports::Model;
use models::claude::{Choices, Claude, Company, Environment, Leash, Notice, Notices, Patience, Settings};
use tempfile::TempDir;
use testkit::model_server::{ModelServer, Options};

const NOTE: ToolSpec = ToolSpec {
    name: "note",
    description: Cow::Borrowed("Writes a note."),
    schema: r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
    class: Class::Own,
};

/// The name of our tool as the model writes it.
pub const NOTED: &str = "mcp__ollim__note";

/// The real program, a fake model server, and the recorded notices.
pub struct Rig {
    pub server: ModelServer,
    pub claude: Claude,
    pub notices: Arc<Noticed>,
    pub home: TempDir,
}

#[derive(Default)]
pub struct Noticed(Mutex<Vec<Notice>>);

impl Noticed {
    pub fn all(&self) -> Vec<Notice> {
        self.0.lock().unwrap().clone()
    }

    /// Returns the started processes, oldest first.
    pub fn processes(&self) -> Vec<u32> {
        let process = |notice: &Notice| if let Notice::Started(id) = notice { Some(*id) } else { None };
        self.all().iter().filter_map(process).collect()
    }
}

impl Notices for Noticed {
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
        folder: home.to_owned(),
        environment: known,
        choices: Choices { model: Some("claude-test-1".to_owned()), ..Choices::default() },
        own_tools: Vec::new(),
        patience: Patience { start: Duration::from_secs(180), ..Patience::default() },
        leash: Leash::None,
    }
}

impl Rig {
    pub async fn new() -> Self {
        Self::with(|_| {}, Company::default()).await
    }

    pub async fn with(change: impl FnOnce(&mut Settings), company: Company) -> Self {
        let server = ModelServer::start_with(Options::default()).await.unwrap();
        let home = tempfile::tempdir().unwrap();
        let notices = Arc::new(Noticed::default());
        let mut settings = settings(program(), &home, &server.url());
        change(&mut settings);
        let company = Company { notices: notices.clone(), ..company };
        Self { server, claude: Claude::new(settings, company).unwrap(), notices, home }
    }

    /// Returns the messages of the last request.
    pub fn last_request(&self) -> String {
        self.server.requests().last().unwrap().json["messages"].to_string()
    }
}

/// The stand-in, its home directory, and the recorded notices.
pub struct Play {
    pub claude: Claude,
    pub notices: Arc<Noticed>,
    pub home: TempDir,
}

/// Creates a stand-in that runs `script`.
pub fn play(script: &str) -> Play {
    play_with(script, |_| {})
}

pub fn play_with(script: &str, change: impl FnOnce(&mut Patience)) -> Play {
    let home = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/claude/stand-in.sh");
    let mut settings = settings(program, &home, "");
    settings.environment.set("PLAY", script);
    change(&mut settings.patience);
    let notices = Arc::new(Noticed::default());
    let company = Company { notices: notices.clone(), ..Company::default() };
    Play { claude: Claude::new(settings, company).unwrap(), notices, home }
}

/// A conversation on one branch, as the engine would store it.
#[derive(Clone)]
pub struct Talk(pub Context);

impl Talk {
    pub fn new(branch: Branch) -> Self {
        let tools = Arc::from([NOTE]);
        let instructions = Arc::from("You are a friend.");
        Self(Context {
            branch,
            model: None,
            thinking: Thinking::Off,
            effort: Effort::Low,
            interactive: true,
            tools,
            instructions,
            said: Vec::new(),
            notes: Vec::new(),
            aside: 0,
        })
    }

    pub fn main() -> Self {
        Self::new(Branch::Main)
    }

    /// Returns the same history on another branch.
    pub fn fork(&self, name: &str) -> Self {
        Self(Context { branch: Branch::fork(name).unwrap(), ..self.0.clone() })
    }

    pub fn hear(&mut self, said: Said) {
        self.0.said.push(Arc::new(said));
    }

    pub fn human(&mut self, text: &str) {
        self.hear(Said::Human(Heard { preface: String::new(), text: text.to_owned(), images: Vec::new() }));
    }

    /// Calls the model once like the turn driver, and adds its reply.
    pub async fn reply(&mut self, model: &dyn Model) -> (String, Result<Reply, Failure>) {
        let (heard, reply) = ask(model, &self.0).await;
        if let Ok(reply) = &reply {
            self.hear(Said::Assistant(reply.blocks.clone(), Reach::Whole));
        }
        (heard, reply)
    }

    /// Adds a user message and returns the text of the answer.
    pub async fn say(&mut self, model: &dyn Model, text: &str) -> String {
        self.human(text);
        self.reply(model).await.1.unwrap().blocks.text()
    }

    /// Adds the results of all calls in `reply`.
    pub fn ran(&mut self, reply: &Reply) {
        let result = |block: &Block| match block {
            Block::Call(call) => Some(ToolResult {
                call: call.id.clone(),
                text: format!("noted {}", call.input.0),
                outcome: Outcome::Done,
                label: domain::label::Label::PLAIN,
            }),
            Block::Text(_) | Block::Opaque(_) => None,
        };
        self.hear(Said::Tools(reply.blocks.iter().filter_map(result).collect()));
    }
}

pub async fn ask(model: &dyn Model, context: &Context) -> (String, Result<Reply, Failure>) {
    let heard = Mutex::new(String::new());
    let listener = |words: &str| heard.lock().unwrap().push_str(words);
    let reply = model.reply(context, &listener).await;
    (heard.into_inner().unwrap(), reply)
}

/// Returns whether a process exists and is not a zombie.
pub fn runs(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}
