//! What it takes to run the program, and the command that does.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use domain::context::Context;
use serde_json::{Value, json};
use tokio::process::Command;

use super::plan::Start;
use super::tools::{PREFIX, SERVER};

/// What it takes to run the program.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its path, or its name on the PATH below.
    pub program: PathBuf,
    /// Where it runs.
    pub folder: PathBuf,
    /// All it knows of the environment: a PATH, a HOME, a key.
    pub environment: Environment,
    /// What it may choose from while it runs.
    pub choices: Choices,
    /// The tools of its own that it may have, such as `Read`; each use is asked for.
    pub own_tools: Vec<String>,
    /// How long things may take.
    pub patience: Patience,
    /// What ends it when we are killed.
    pub leash: Leash,
}

/// What ends the program when the one who started it is killed. The end of its input does not: in the middle of
/// an answer it goes on speaking, and somebody pays for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Leash {
    /// Nothing.
    #[default]
    None,
    /// It is started by these words, which are followed by our process number and the command.
    By(Vec<String>),
}

/// Variables and their values, which do not show themselves.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(Vec<(String, String)>);

impl Environment {
    /// Adds a variable.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.push((name.to_owned(), value.into()));
    }

    /// The folders of the PATH.
    fn path(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let paths = self.0.iter().filter(|(name, _)| name == "PATH");
        paths.flat_map(|(_, value)| std::env::split_paths(value))
    }

    /// The values that are secret by their name, and the names.
    fn secrets(&self) -> impl Iterator<Item = &(String, String)> {
        let secret = |name: &str| name.ends_with("KEY") || name.ends_with("TOKEN");
        self.0.iter().filter(move |(name, value)| secret(name) && !value.is_empty())
    }

    /// The name of a key that stands here, if one does.
    pub fn key(&self) -> Option<&str> {
        self.secrets().next().map(|(name, _)| name.as_str())
    }

    /// `text` without the values that are secret by their name.
    pub fn hide(&self, text: &str) -> String {
        self.secrets().fold(text.to_owned(), |text, (_, value)| text.replace(value, "[key]"))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// What can be changed while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The model, or an alias of the program; its own choice, if there is none.
    pub model: Option<String>,
    /// What it asks about.
    pub mode: Mode,
}

/// What the program asks about before it uses its own tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Everything that is not allowed beforehand.
    #[default]
    Default,
    /// Everything but edits.
    AcceptEdits,
    /// Nothing is done, only planned.
    Plan,
    /// Nothing is asked; what is not allowed beforehand is denied.
    DontAsk,
}

impl Mode {
    /// The word for it on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::DontAsk => "dontAsk",
        }
    }
}

/// What the program does only if it is told to: give up soon enough for the human to hear of it, say nothing twice
/// (a reply that broke off is ours to continue), wait for our tools instead of going on without them, and talk to
/// nobody but the model. Left to itself it also pays for a title of each session.
const MANNERS: [(&str, &str); 10] = [
    ("CLAUDE_CODE_ENTRYPOINT", "ollim-bot"),
    ("CLAUDE_CODE_MAX_RETRIES", "2"),
    ("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "1"),
    ("CLAUDE_CODE_DISABLE_REFUSAL_RETRY", "1"),
    ("CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK", "1"),
    ("CLAUDE_CODE_DISABLE_MCP_TASK_BACKGROUND", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
];

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until it is ready.
    pub start: Duration,
    /// Before it is started again, each time that it was not ready in time.
    pub again: [Duration; 2],
    /// Between any two things it says while it answers.
    pub stall: Duration,
    /// For the whole of a reply, without the time in which the user is asked for a permission.
    pub total: Duration,
    /// With nothing to do, before it is ended.
    pub idle: Duration,
    /// To end, after each of three hints that it should.
    pub end: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        let again = [5, 15].map(Duration::from_secs);
        let end = Duration::from_secs(5);
        Self { start: minutes(1), again, stall: minutes(5), total: minutes(30), idle: minutes(10), end }
    }
}

/// Settings that cannot work. The human must act.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    /// A path was given, and nothing is there.
    #[error(
        "there is no claude program at `{0}`. install it with `npm install -g @anthropic-ai/claude-code`, or set \
         OLLIM_CLAUDE to its path."
    )]
    Program(String),
    /// A bare name is looked for on the PATH, and is not there.
    #[error(
        "there is no program called `{0}` on the PATH. install it with `npm install -g \
         @anthropic-ai/claude-code`, or set OLLIM_CLAUDE to its path."
    )]
    Unfound(String),
    /// The program cannot run nowhere.
    #[error("`{0}` is not a folder, so the claude program cannot run there")]
    Folder(String),
}

impl Settings {
    /// Says what is wrong with them.
    pub fn check(&self) -> Result<(), BadSettings> {
        self.check_program()?;
        if !self.folder.is_dir() {
            return Err(BadSettings::Folder(self.folder.display().to_string()));
        }
        Ok(())
    }

    /// Says whether the program is missing. The folder may still be made.
    pub fn check_program(&self) -> Result<(), BadSettings> {
        let name = self.program.display().to_string();
        if self.program.components().count() > 1 {
            if !self.program.is_file() {
                return Err(BadSettings::Program(name));
            }
        } else if !self.environment.path().any(|folder| folder.join(&self.program).is_file()) {
            return Err(BadSettings::Unfound(name));
        }
        Ok(())
    }

    /// The first request: which moments of a turn we want to hear of. Our own tools are no news to us.
    pub fn initialize(&self) -> Value {
        let hook = |matcher: Value, id: &str| json!([{"matcher": matcher, "hookCallbackIds": [id]}]);
        let mut hooks = json!({"Stop": hook(Value::Null, STOPPING)});
        if !self.own_tools.is_empty() {
            hooks["PostToolUse"] = hook(self.own_tools.join("|").into(), USED);
        }
        json!({"subtype": "initialize", "hooks": hooks})
    }

    /// The program, and nothing it knows but what these settings say.
    pub fn program(&self) -> Command {
        let mut command = match &self.leash {
            Leash::By(words) if !words.is_empty() => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]).arg(std::process::id().to_string()).arg(&self.program);
                command
            }
            Leash::By(_) | Leash::None => Command::new(&self.program),
        };
        command.env_clear().current_dir(&self.folder).envs(MANNERS);
        command.envs(self.environment.0.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The command that starts it as `choices` and `start` want, to answer `context`.
    ///
    /// A session keeps the instructions it began with (its snapshot), so that its signed thinking stays valid. `snapshot`
    /// is off if our instructions are others by now.
    pub fn command(&self, choices: &Choices, start: &Start, context: &Context, snapshot: bool) -> Command {
        let mut command = self.program();
        let servers = json!({"mcpServers": {SERVER: {"type": "sdk", "name": SERVER}}}).to_string();
        let ours = PREFIX.trim_end_matches('_');
        command
            .args(["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"])
            .args(["--include-partial-messages", "--strict-mcp-config", "--setting-sources="])
            .args(["--system-prompt", &context.instructions])
            .args(["--system-prompt-snapshot", if snapshot { "on" } else { "off" }])
            // The program ignores every flag about thinking with current models.
            .args(["--effort", context.effort.as_str()])
            .args(["--tools", &self.own_tools.join(","), "--mcp-config", &servers])
            .args(["--allowedTools", ours, "--permission-prompt-tool", "stdio"])
            .args(["--permission-mode", choices.mode.as_str()]);
        if let Some(model) = &choices.model {
            command.args(["--model", model]);
        }
        match start {
            Start::Fresh => &mut command,
            Start::Resume(session) => command.arg(format!("--resume={session}")),
            Start::Fork(session) => command.arg(format!("--resume={session}")).arg("--fork-session"),
        };
        command
    }
}

/// The hook before the model stops.
pub const STOPPING: &str = "stopping";

/// The hook after a tool was used.
pub const USED: &str = "used";
