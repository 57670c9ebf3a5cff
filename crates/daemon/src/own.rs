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
use tools::Labelled;

use crate::cli::{
    Account, Cli, Command, Ease, HistoryAction, InboxAction, Kit, Look, Order, ReminderAction, RoutineAction,
    ServersAction, SkillsAction, Verb, WebhookAction,
};
use crate::commands;
use crate::settings::Settings;
use crate::voice::Voice;

const LONGEST: Duration = Duration::from_secs(60);

/// The name of the history program before ollim-bot.
const OLD_HISTORY: &str = "claude-history";

/// Runs commands on one data directory.
#[derive(Clone)]
pub struct OwnCommands {
    settings: Settings,
    disk: Arc<dyn Disk>,
}

impl OwnCommands {
    /// Creates a runner for the data directory of `settings`.
    pub fn new(settings: &Settings, disk: Arc<dyn Disk>) -> Self {
        Self { settings: settings.clone(), disk }
    }

    /// Runs one command, given as arguments with or without the name of the program.
    pub fn run<'a>(&'a self, words: &'a [String]) -> BoxFuture<'a, Result<Labelled, String>> {
        Box::pin(async move {
            match read(words) {
                // The output before the failure may contain text from outside; the error message is
                // our own.
                Ok(cli) => self.told(cli).await.map_err(|half| {
                    let label = own_command::power(words).1.join(half.told.label);
                    if label.is_tainted() { half.why } else { half.whole() }
                }),
                Err(Unread::Help(text)) => Ok(Labelled { text, label: Label::PLAIN }),
                Err(Unread::Wrong(text)) => Err(text),
            }
        })
    }

    /// Runs a parsed command without the permission check, and returns its output.
    pub(crate) async fn told(&self, mut cli: Cli) -> Result<Labelled, Half> {
        let voice = Voice::listener();
        cli.output.voice = voice.clone();
        let here = self.clone();
        let handle = Handle::current();
        // Runs on the blocking pool, because commands use blocking disk calls.
        let work = tokio::task::spawn_blocking(move || handle.block_on(here.obey(cli)));
        match work.await {
            Ok(Ok(())) => Ok(voice.heard()),
            Ok(Err(why)) => Err(Half { told: voice.heard(), why }),
            Err(_) => {
                let why = "the command broke off; nothing more is known.".to_owned();
                Err(Half { told: Labelled { text: String::new(), label: Label::PLAIN }, why })
            }
        }
    }

    async fn obey(self, cli: Cli) -> Result<(), String> {
        let paths = self.settings.paths.clone();
        let done = commands::run(cli, paths, Ok(self.settings), self.disk, Vec::new());
        match tokio::time::timeout(LONGEST, done).await {
            Ok(done) => done.map(drop).map_err(|failed| failed.to_string()),
            Err(_) => Err(format!("the command took longer than {} s and was left.", LONGEST.as_secs())),
        }
    }
}

/// The result of a failed command.
pub(crate) struct Half {
    /// The output before the failure.
    told: Labelled,
    why: String,
}

impl Half {
    /// Returns the output followed by the error.
    pub(crate) fn whole(self) -> String {
        [self.told.text, self.why].join("\n").trim().to_owned()
    }
}

/// The reason why arguments are not run as a command.
enum Unread {
    /// They ask for this help text.
    Help(String),
    /// They are invalid or not permitted.
    Wrong(String),
}

/// Parses a command and checks that the model may run it.
fn read(words: &[String]) -> Result<Cli, Unread> {
    let words: Vec<&str> = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["ollim-bot", rest @ ..] => rest.to_vec(),
        [OLD_HISTORY, rest @ ..] => [&["history"], rest].concat(),
        words => words.to_vec(),
    };
    let cli = Cli::try_parse_from(["ollim-bot"].into_iter().chain(words)).map_err(|error| {
        let text = error.to_string().trim_end().to_owned();
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            Unread::Help(text)
        } else {
            Unread::Wrong(text)
        }
    })?;
    match refusal(&cli) {
        Some(why) => Err(Unread::Wrong(why.to_owned())),
        None => Ok(cli),
    }
}

const FOR_THE_HUMAN: &str = "that command is for your human alone. ask them to run it.";
const NO_STDIN: &str = "nothing comes in here. write the words into the command.";
const NO_RUN: &str = "a job is not run from here. it runs when its time comes, or when your human says so.";
const ONE_LINE: &str = "a setting is one line. write it without a line break.";
const NO_PLACE: &str = "`--data-dir` is not for you: it is always the directory that i live in.";

/// Returns why the model may not run `cli`; `None` if it may.
fn refusal(cli: &Cli) -> Option<&'static str> {
    if cli.place.data_dir.is_some() {
        return Some(NO_PLACE);
    }
    let Some(command) = &cli.command else { return Some(FOR_THE_HUMAN) };
    match command {
        Command::Verb(verb) => verb_refusal(verb),
        Command::Account(Account::Google { .. }) => Some(FOR_THE_HUMAN),
        Command::Account(_) | Command::Kit(Kit::McpServers { action: None | Some(ServersAction::List) }) => {
            None
        }
        Command::Routine { action } => match action {
            Some(RoutineAction::Run(_)) => Some(NO_RUN),
            Some(RoutineAction::Accept(_)) => Some(FOR_THE_HUMAN),
            Some(_) | None => None,
        },
        Command::Reminder { action } => match action {
            Some(ReminderAction::Run(_)) => Some(NO_RUN),
            Some(ReminderAction::Accept(_)) => Some(FOR_THE_HUMAN),
            Some(_) | None => None,
        },
        Command::Look(look) => look_refusal(look),
        Command::Order(Order::Config { value, .. }) if value.iter().any(|word| word.contains('\n')) => {
            Some(ONE_LINE)
        }
        // The user was asked about a change, see `own_command::power`.
        Command::Order(Order::Config { setting, value })
            if value.is_empty() || !is_mode(setting.as_deref()) =>
        {
            None
        }
        Command::Kit(Kit::Skills { action: None | Some(SkillsAction::List | SkillsAction::Show { .. }) }) => {
            None
        }
        Command::Kit(Kit::Webhook { action: Some(WebhookAction::Test(wanted)) }) => match wanted {
            wanted if wanted.send => Some(FOR_THE_HUMAN),
            wanted if wanted.data.as_deref() == Some("-") => Some(NO_STDIN),
            _ => None,
        },
        Command::Kit(Kit::Webhook { action: Some(WebhookAction::Accept { .. }) }) => Some(FOR_THE_HUMAN),
        Command::Kit(Kit::Webhook { .. }) => None,
        Command::Kit(_)
        | Command::Order(_)
        | Command::Run { .. }
        | Command::Chat { .. }
        | Command::Tui
        | Command::Open
        | Command::Inner(_) => Some(FOR_THE_HUMAN),
    }
}

fn verb_refusal(verb: &Verb) -> Option<&'static str> {
    match verb {
        Verb::Now | Verb::Today { .. } | Verb::Week | Verb::Pings | Verb::Undo { list: true } => None,
        Verb::Inbox { action: Some(InboxAction::Add { text }) } if is_stdin(text) => Some(NO_STDIN),
        Verb::Inbox { .. } => None,
        Verb::Add { .. }
        | Verb::Done { .. }
        | Verb::Move { .. }
        | Verb::Snooze { .. }
        | Verb::Undo { list: false }
        | Verb::Ease(Ease::Pause { .. } | Ease::Resume) => Some(FOR_THE_HUMAN),
        Verb::Ease(Ease::Quiet { .. } | Ease::Focus { .. } | Ease::Lighter) => None,
    }
}

fn look_refusal(look: &Look) -> Option<&'static str> {
    match look {
        Look::History { action: HistoryAction::Export { .. } } => {
            Some("a whole conversation is too much to read here. `history transcript` tells it page by page.")
        }
        Look::Sessions { .. }
        | Look::History { .. }
        | Look::Help { .. }
        | Look::Cost { .. }
        | Look::Updates { .. }
        | Look::Why { .. }
        | Look::Status { .. } => None,
        Look::Simulate(_) | Look::Doctor(_) | Look::Completion { .. } => Some(FOR_THE_HUMAN),
    }
}

/// Whether this is the setting that says what is asked for. It can be read, but only the user changes it.
fn is_mode(setting: Option<&str>) -> bool {
    setting.and_then(|name| Setting::named(name).ok()) == Some(Setting::PermissionMode)
}

fn is_stdin(text: &[String]) -> bool {
    text.is_empty() || text == ["-"]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match read(&words) {
            Ok(_) => "run".to_owned(),
            Err(Unread::Help(text)) => format!("help: {text}"),
            Err(Unread::Wrong(text)) => text,
        }
    }

    /// TP-13: Commands for the model run under the program's name and its legacy names.
    #[test]
    fn what_only_looks_or_plans_is_run() {
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
            assert_eq!(told(line), "run", "{line}");
        }
        assert_eq!(told("ollim-bot help search quiet"), "run");
        assert_eq!(told("skills"), "run");
        assert!(told("routine --help").starts_with("help: "));
    }

    /// Commands that start or stop the assistant or change its permissions are refused with an
    /// explanation.
    #[test]
    fn what_is_for_the_human_alone_is_refused() {
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
            assert_eq!(told(line), FOR_THE_HUMAN, "{line}");
        }
        assert_eq!(told(""), FOR_THE_HUMAN);
        for line in ["skills accept x", "routine accept x", "reminder accept x", "webhook accept x"] {
            assert_eq!(told(line), FOR_THE_HUMAN, "{line}");
        }
        assert_eq!(told("inbox add"), NO_STDIN);
        assert_eq!(told("inbox add -"), NO_STDIN);
        assert_eq!(told("routine run a1b2"), NO_RUN);
        assert_eq!(told("reminder run a1b2"), NO_RUN);
        assert_eq!(told("--data-dir /tmp today"), NO_PLACE);
        assert!(told("history export main").contains("transcript"));
        assert!(told("rm -rf").starts_with("error: "), "{}", told("rm -rf"));
    }
}
