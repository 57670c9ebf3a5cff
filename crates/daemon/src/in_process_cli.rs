//! Runs ollim-bot commands of the model in this process, without a shell.
//!
//! The arguments are parsed like those of the command line, and the output is returned as text.
//! Commands that need a terminal, start or stop the assistant, or change its permissions are
//! reserved for the user.

use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use clap::error::ErrorKind;
use domain::label::Label;
use domain::permission::own_command;
use domain::settings::Setting;
use futures_util::future::BoxFuture;
use journal::disk::Disk;
use tokio::runtime::Handle;
use tools::LabelledText;

use crate::cli::{
    AccountCommand, AttentionCommand, Cli, Command, ControlCommand, DailyCommand, ExtensionCommand,
    HistoryAction, InboxAction, QueryCommand, ReminderAction, RoutineAction, ServersAction, SkillsAction,
    WebhookAction,
};
use crate::commands;
use crate::printer::Printer;
use crate::settings::Settings;

const TIMEOUT: Duration = Duration::from_secs(60);

/// The name of the history program before ollim-bot.
const LEGACY_HISTORY: &str = "claude-history";

/// Runs commands on one data directory.
#[derive(Clone)]
pub struct InProcessCli {
    settings: Settings,
    disk: Arc<dyn Disk>,
}

impl InProcessCli {
    /// Creates a runner for the data directory of `settings`.
    pub fn new(settings: &Settings, disk: Arc<dyn Disk>) -> Self {
        Self { settings: settings.clone(), disk }
    }

    /// Runs one command, given as arguments with or without the name of the program.
    pub fn run<'a>(&'a self, words: &'a [String]) -> BoxFuture<'a, Result<LabelledText, String>> {
        Box::pin(async move {
            match parse(words) {
                // The output before the failure may contain text from outside; the error message is
                // our own.
                Ok(cli) => self.run_parsed(cli).await.map_err(|half| {
                    let label = own_command::capability(words).1.join(half.output.label);
                    if label.is_tainted() { half.reason } else { half.into_text() }
                }),
                Err(NotRunnable::Help(text)) => Ok(LabelledText { text, label: Label::PLAIN }),
                Err(NotRunnable::Invalid(text)) => Err(text),
            }
        })
    }

    /// Runs a parsed command without the permission check, and returns its output.
    pub(crate) async fn run_parsed(&self, mut cli: Cli) -> Result<LabelledText, FailedCommand> {
        let voice = Printer::capture();
        cli.output.voice = voice.clone();
        let here = self.clone();
        let handle = Handle::current();
        // Runs on the blocking pool, because commands use blocking disk calls.
        let work = tokio::task::spawn_blocking(move || handle.block_on(here.execute(cli)));
        match work.await {
            Ok(Ok(())) => Ok(voice.captured()),
            Ok(Err(why)) => Err(FailedCommand { output: voice.captured(), reason: why }),
            Err(_) => {
                let why = "the command broke off; nothing more is known.".to_owned();
                Err(FailedCommand {
                    output: LabelledText { text: String::new(), label: Label::PLAIN },
                    reason: why,
                })
            }
        }
    }

    async fn execute(self, cli: Cli) -> Result<(), String> {
        let paths = self.settings.paths.clone();
        let done = commands::run(cli, paths, Ok(self.settings), self.disk, Vec::new());
        match tokio::time::timeout(TIMEOUT, done).await {
            Ok(done) => done.map(drop).map_err(|failed| failed.to_string()),
            Err(_) => Err(format!("the command took longer than {} s and was left.", TIMEOUT.as_secs())),
        }
    }
}

/// The result of a failed command.
pub(crate) struct FailedCommand {
    /// The output before the failure.
    output: LabelledText,
    reason: String,
}

impl FailedCommand {
    /// Returns the output followed by the error.
    pub(crate) fn into_text(self) -> String {
        [self.output.text, self.reason].join("\n").trim().to_owned()
    }
}

/// The reason why arguments are not run as a command.
enum NotRunnable {
    /// They ask for this help text.
    Help(String),
    /// They are invalid or not permitted.
    Invalid(String),
}

/// Parses a command and checks that the model may run it.
fn parse(words: &[String]) -> Result<Cli, NotRunnable> {
    let words: Vec<&str> = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["ollim-bot", rest @ ..] => rest.to_vec(),
        [LEGACY_HISTORY, rest @ ..] => [&["history"], rest].concat(),
        words => words.to_vec(),
    };
    let cli = Cli::try_parse_from(["ollim-bot"].into_iter().chain(words)).map_err(|error| {
        let text = error.to_string().trim_end().to_owned();
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            NotRunnable::Help(text)
        } else {
            NotRunnable::Invalid(text)
        }
    })?;
    match refusal(&cli) {
        Some(why) => Err(NotRunnable::Invalid(why.to_owned())),
        None => Ok(cli),
    }
}

const USER_ONLY: &str = "that command is for your human alone. ask them to run it.";
const NO_STDIN: &str = "nothing comes in here. write the words into the command.";
const NO_RUN: &str = "a job is not run from here. it runs when its time comes, or when your human says so.";
const ONE_LINE: &str = "a setting is one line. write it without a line break.";
const NO_DATA_DIR: &str = "`--data-dir` is not for you: it is always the directory that i live in.";

/// Returns why the model may not run `cli`; `None` if it may.
fn refusal(cli: &Cli) -> Option<&'static str> {
    if cli.place.data_dir.is_some() {
        return Some(NO_DATA_DIR);
    }
    let Some(command) = &cli.command else { return Some(USER_ONLY) };
    match command {
        Command::Verb(verb) => daily_refusal(verb),
        Command::Account(AccountCommand::Google { .. }) => Some(USER_ONLY),
        Command::Account(_)
        | Command::Kit(ExtensionCommand::McpServers { action: None | Some(ServersAction::List) }) => None,
        Command::Routine { action } => match action {
            Some(RoutineAction::Run(_)) => Some(NO_RUN),
            Some(RoutineAction::Accept(_)) => Some(USER_ONLY),
            Some(_) | None => None,
        },
        Command::Reminder { action } => match action {
            Some(ReminderAction::Run(_)) => Some(NO_RUN),
            Some(ReminderAction::Accept(_)) => Some(USER_ONLY),
            Some(_) | None => None,
        },
        Command::Look(look) => query_refusal(look),
        Command::Order(ControlCommand::Config { value, .. })
            if value.iter().any(|word| word.contains('\n')) =>
        {
            Some(ONE_LINE)
        }
        // A change was already approved by the user, see `own_command::power`.
        Command::Order(ControlCommand::Config { setting, value })
            if value.is_empty() || !is_mode(setting.as_deref()) =>
        {
            None
        }
        Command::Kit(ExtensionCommand::Skills {
            action: None | Some(SkillsAction::List | SkillsAction::Show { .. }),
        }) => None,
        Command::Kit(ExtensionCommand::Webhook { action: Some(WebhookAction::Test(wanted)) }) => match wanted
        {
            wanted if wanted.send => Some(USER_ONLY),
            wanted if wanted.data.as_deref() == Some("-") => Some(NO_STDIN),
            _ => None,
        },
        Command::Kit(ExtensionCommand::Webhook { action: Some(WebhookAction::Accept { .. }) }) => {
            Some(USER_ONLY)
        }
        Command::Kit(ExtensionCommand::Webhook { .. }) => None,
        Command::Kit(_)
        | Command::Order(_)
        | Command::Run { .. }
        | Command::Chat { .. }
        | Command::Tui
        | Command::Open
        | Command::Inner(_) => Some(USER_ONLY),
    }
}

fn daily_refusal(verb: &DailyCommand) -> Option<&'static str> {
    match verb {
        DailyCommand::Now
        | DailyCommand::Today { .. }
        | DailyCommand::Week
        | DailyCommand::Pings
        | DailyCommand::Undo { list: true } => None,
        DailyCommand::Inbox { action: Some(InboxAction::Add { text }) } if is_stdin(text) => Some(NO_STDIN),
        DailyCommand::Inbox { .. } => None,
        DailyCommand::Add { .. }
        | DailyCommand::Done { .. }
        | DailyCommand::Move { .. }
        | DailyCommand::Snooze { .. }
        | DailyCommand::Undo { list: false }
        | DailyCommand::Ease(AttentionCommand::Pause { .. } | AttentionCommand::Resume) => Some(USER_ONLY),
        DailyCommand::Ease(
            AttentionCommand::Quiet { .. } | AttentionCommand::Focus { .. } | AttentionCommand::Lighter,
        ) => None,
    }
}

fn query_refusal(look: &QueryCommand) -> Option<&'static str> {
    match look {
        QueryCommand::History { action: HistoryAction::Export { .. } } => {
            Some("a whole conversation is too much to read here. `history transcript` tells it page by page.")
        }
        QueryCommand::Sessions { .. }
        | QueryCommand::History { .. }
        | QueryCommand::Help { .. }
        | QueryCommand::Cost { .. }
        | QueryCommand::Updates { .. }
        | QueryCommand::Why { .. }
        | QueryCommand::Status { .. } => None,
        QueryCommand::Simulate(_) | QueryCommand::Doctor(_) | QueryCommand::Completion { .. } => {
            Some(USER_ONLY)
        }
    }
}

/// Returns true for the permission mode. The model can read it, but only the user changes it.
fn is_mode(setting: Option<&str>) -> bool {
    setting.and_then(|name| Setting::from_name(name).ok()) == Some(Setting::PermissionMode)
}

fn is_stdin(text: &[String]) -> bool {
    text.is_empty() || text == ["-"]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(line: &str) -> String {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match parse(&words) {
            Ok(_) => "run".to_owned(),
            Err(NotRunnable::Help(text)) => format!("help: {text}"),
            Err(NotRunnable::Invalid(text)) => text,
        }
    }

    /// TP-13: Commands for the model run under the program's name and its legacy names.
    #[test]
    fn queries_and_planning_commands_run() {
        for line in [
            "ollim-bot history search dentist",
            "claude-history sessions --since 24h",
            "history prompts -t page",
            "ollim-bot routine list",
            "reminder cancel a1b2",
            "routine edit a1b2 --background",
            "today",
            "now",
            "inbox",
            "inbox add milk",
            "cost --days 3",
            "why 17",
            "sessions tree --json",
            "status",
            "updates",
            "config",
            "config model.main opus",
            "config permission_mode",
            "quiet 23-7",
            "quiet off",
            "focus 25 taxes",
            "lighter",
        ] {
            assert_eq!(outcome(line), "run", "{line}");
        }
        assert_eq!(outcome("ollim-bot help search quiet"), "run");
        assert_eq!(outcome("skills"), "run");
        assert!(outcome("routine --help").starts_with("help: "));
    }

    /// Commands that start or stop the assistant or change its permissions are refused with an
    /// explanation.
    #[test]
    fn user_only_commands_are_refused() {
        let human = [
            "run",
            "chat",
            "chat --once hi",
            "tui",
            "open",
            "config permission_mode bypassPermissions",
            "model opus",
            "compact",
            "retry",
            "leash 1 true",
            "completion bash",
            "simulate --from 2026-01-01 --to 2026-01-02",
            "doctor",
            "doctor --fix",
            "setup model --key-stdin",
            "service remove",
            "man --out /tmp",
            "auth logout",
            "export x.tar.gz",
            "import x.tar.gz",
            "migrate",
            "update",
            "restart",
            "self-check",
            "undo",
            "pause",
            "done x",
            "add milk",
        ];
        for line in human {
            assert_eq!(outcome(line), USER_ONLY, "{line}");
        }
        assert_eq!(outcome(""), USER_ONLY);
        for line in ["skills accept x", "routine accept x", "reminder accept x", "webhook accept x"] {
            assert_eq!(outcome(line), USER_ONLY, "{line}");
        }
        assert_eq!(outcome("inbox add"), NO_STDIN);
        assert_eq!(outcome("inbox add -"), NO_STDIN);
        assert_eq!(outcome("routine run a1b2"), NO_RUN);
        assert_eq!(outcome("reminder run a1b2"), NO_RUN);
        assert_eq!(outcome("--data-dir /tmp today"), NO_DATA_DIR);
        assert!(outcome("history export main").contains("transcript"));
        assert!(outcome("rm -rf").starts_with("error: "), "{}", outcome("rm -rf"));
    }
}
