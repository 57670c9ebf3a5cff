//! The settings of the program, and the commands that run it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use domain::context::Context;
use serde_json::{Value, json};
use tokio::process::Command;

use super::start_plan::SessionStart;
use super::tool_server::{SERVER_NAME, TOOL_PREFIX};

/// The settings of the program.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its path, or its name on the PATH below.
    pub program: PathBuf,
    /// The working directory.
    pub working_dir: PathBuf,
    /// The program's whole environment: a PATH, a HOME, a key.
    pub environment: Environment,
    /// The settings that can change while it runs.
    pub runtime: RuntimeSettings,
    /// The built-in tools that it may use, such as `Read`; each use needs a permission.
    pub own_tools: Vec<String>,
    /// The timeouts.
    pub timeouts: ProgramTimeouts,
    /// The mechanism that ends the program when our process is killed.
    pub parent_death: ParentDeathGuard,
}

/// The mechanism that ends the program when our process is killed. Closing its input is not enough:
/// it would finish the current answer, which costs money.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ParentDeathGuard {
    /// Not at all.
    #[default]
    None,
    /// It is started by this wrapper command, with our process id and the program's command
    /// appended.
    Wrapper(Vec<String>),
}

/// Environment variables, with values hidden from debug output.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(Vec<(String, String)>);

impl Environment {
    /// Adds a variable.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.push((name.to_owned(), value.into()));
    }

    /// Returns the directories of the PATH.
    fn path(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let paths = self.0.iter().filter(|(name, _)| name == "PATH");
        paths.flat_map(|(_, value)| std::env::split_paths(value))
    }

    /// Returns the variables whose names mark them as secrets.
    fn secrets(&self) -> impl Iterator<Item = &(String, String)> {
        let secret = |name: &str| name.ends_with("KEY") || name.ends_with("TOKEN");
        self.0.iter().filter(move |(name, value)| secret(name) && !value.is_empty())
    }

    /// Returns the name of the first secret variable, if there is one.
    pub fn secret_name(&self) -> Option<&str> {
        self.secrets().next().map(|(name, _)| name.as_str())
    }

    /// Returns `text` without the values of secret variables.
    pub fn redact(&self, text: &str) -> String {
        self.secrets().fold(text.to_owned(), |text, (_, value)| text.replace(value, "[key]"))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Settings that can change while the program runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeSettings {
    /// The model, or an alias of the program; none for the program's default.
    pub model: Option<String>,
    /// The permission mode.
    pub mode: PermissionMode,
}

/// Which uses of its built-in tools the program asks about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PermissionMode {
    /// All uses that are not allowed in advance.
    #[default]
    Default,
    /// All such uses but edits.
    AcceptEdits,
    /// No changes are made, only planned.
    Plan,
    /// None; all uses that are not allowed in advance are denied.
    DontAsk,
}

impl PermissionMode {
    /// Returns the name in the protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::DontAsk => "dontAsk",
        }
    }
}

/// Environment variables that change the program's defaults: fail early enough for the user to
/// notice, never repeat text (we continue an interrupted reply), wait for our tools, and connect to
/// the model only. By default it would also pay for a title of each session.
const ENVIRONMENT_OVERRIDES: [(&str, &str); 10] = [
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

/// The timeouts of the program.
#[derive(Clone, Copy, Debug)]
pub struct ProgramTimeouts {
    /// Until it is ready.
    pub start: Duration,
    /// The delay before each restart of a program that was not ready in time.
    pub restart_delays: [Duration; 2],
    /// Between two frames of an answer.
    pub stall: Duration,
    /// For a whole reply, without the time spent waiting for permissions.
    pub total: Duration,
    /// Idle time before the program is ended.
    pub idle: Duration,
    /// For its exit, after each of three attempts to end it.
    pub end: Duration,
}

impl Default for ProgramTimeouts {
    fn default() -> Self {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        let again = [5, 15].map(Duration::from_secs);
        let end = Duration::from_secs(5);
        Self {
            start: minutes(1),
            restart_delays: again,
            stall: minutes(5),
            total: minutes(30),
            idle: minutes(10),
            end,
        }
    }
}

/// Invalid settings, which the user must correct.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramSettingsError {
    /// No file exists at the given path.
    #[error(
        "there is no claude program at `{0}`. install it with `npm install -g @anthropic-ai/claude-code`, or set \
         OLLIM_CLAUDE to its path."
    )]
    MissingProgram(String),
    /// The bare name is not on the PATH.
    #[error(
        "there is no program called `{0}` on the PATH. install it with `npm install -g \
         @anthropic-ai/claude-code`, or set OLLIM_CLAUDE to its path."
    )]
    NotOnPath(String),
    /// The working directory does not exist.
    #[error("`{0}` is not a folder, so the claude program cannot run there")]
    MissingFolder(String),
}

impl Settings {
    /// Validates all settings.
    pub fn check(&self) -> Result<(), ProgramSettingsError> {
        self.check_program()?;
        if !self.working_dir.is_dir() {
            return Err(ProgramSettingsError::MissingFolder(self.working_dir.display().to_string()));
        }
        Ok(())
    }

    /// Validates only the program's path. The working directory may be created later.
    pub fn check_program(&self) -> Result<(), ProgramSettingsError> {
        let name = self.program.display().to_string();
        if self.program.components().count() > 1 {
            if !self.program.is_file() {
                return Err(ProgramSettingsError::MissingProgram(name));
            }
        } else if !self.environment.path().any(|folder| folder.join(&self.program).is_file()) {
            return Err(ProgramSettingsError::NotOnPath(name));
        }
        Ok(())
    }

    /// Returns the first request, which subscribes to hooks. The tool hook covers only built-in
    /// tools.
    pub fn initialize(&self) -> Value {
        let hook = |matcher: Value, id: &str| json!([{"matcher": matcher, "hookCallbackIds": [id]}]);
        let mut hooks = json!({"Stop": hook(Value::Null, STOP_HOOK)});
        if !self.own_tools.is_empty() {
            hooks["PostToolUse"] = hook(self.own_tools.join("|").into(), TOOL_HOOK);
        }
        json!({"subtype": "initialize", "hooks": hooks})
    }

    /// Returns a command for the program with only the environment of these settings.
    pub fn program(&self) -> Command {
        let mut command = match &self.parent_death {
            ParentDeathGuard::Wrapper(words) if !words.is_empty() => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]).arg(std::process::id().to_string()).arg(&self.program);
                command
            }
            ParentDeathGuard::Wrapper(_) | ParentDeathGuard::None => Command::new(&self.program),
        };
        command.env_clear().current_dir(&self.working_dir).envs(ENVIRONMENT_OVERRIDES);
        command.envs(self.environment.0.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Returns the command that starts the program with `runtime` and `start`, to answer `context`.
    ///
    /// A session keeps its initial instructions (its snapshot), so that its signed thinking stays
    /// valid. `snapshot` is off if our instructions have changed since.
    pub fn command(
        &self,
        runtime: &RuntimeSettings,
        start: &SessionStart,
        context: &Context,
        snapshot: bool,
    ) -> Command {
        let mut command = self.program();
        let servers = json!({"mcpServers": {SERVER_NAME: {"type": "sdk", "name": SERVER_NAME}}}).to_string();
        let ours = TOOL_PREFIX.trim_end_matches('_');
        command
            .args(["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"])
            .args(["--include-partial-messages", "--strict-mcp-config", "--setting-sources="])
            .args(["--system-prompt", &context.instructions])
            .args(["--system-prompt-snapshot", if snapshot { "on" } else { "off" }])
            // The program ignores every flag about thinking with current models.
            .args(["--effort", context.effort.as_str()])
            .args(["--tools", &self.own_tools.join(","), "--mcp-config", &servers])
            .args(["--allowedTools", ours, "--permission-prompt-tool", "stdio"])
            .args(["--permission-mode", runtime.mode.as_str()]);
        if let Some(model) = &runtime.model {
            command.args(["--model", model]);
        }
        match start {
            SessionStart::Fresh => &mut command,
            SessionStart::Resume(session) => command.arg(format!("--resume={session}")),
            SessionStart::Fork(session) => command.arg(format!("--resume={session}")).arg("--fork-session"),
        };
        command
    }
}

/// Id of the hook that runs before the model stops.
pub const STOP_HOOK: &str = "stopping";

/// Id of the hook that runs after a tool use.
pub const TOOL_HOOK: &str = "used";
