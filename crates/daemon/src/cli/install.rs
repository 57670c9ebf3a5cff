//! Commands for installation: setup, service, sign-in, manual pages; and the doctor's arguments.

use std::path::PathBuf;

use clap::{Args, Subcommand, value_parser};

use super::mail::GoogleService;

/// What makes it run.
#[derive(Debug, Subcommand)]
pub enum InstallCommand {
    /// Connect a model, Discord, your calendar and mail, and let it run by itself; what works already is left alone
    #[command(before_help = "examples:\n  ollim-bot setup                          a menu of all of it\n  \
        ollim-bot setup discord\n  ollim-bot setup model --key-file ~/key.txt --model anthropic:sonnet\n  \
        pass show key | ollim-bot setup model --key-stdin --no-input")]
    Setup(SetupArgs),
    /// Let it run by itself (systemd): install, start, stop, restart, status, logs, remove
    #[command(before_help = "examples:\n  ollim-bot service install\n  ollim-bot service logs -f\n  \
        ollim-bot service status --json")]
    Service {
        /// What to do with it; without it: how it is
        #[command(subcommand)]
        action: Option<ServiceAction>,
    },
    /// Sign the claude program in or out: login, status, logout
    #[command(disable_help_flag = true)]
    Auth {
        /// What to do; it is passed on
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Print the manual page, or write all of them into a directory
    #[command(
        before_help = "examples:\n  ollim-bot man | man -l -\n  ollim-bot man --out ~/.local/share/man/man1"
    )]
    Man {
        /// Write a page for every command into this directory
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

/// What is set up, and how.
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// What to set up; without it: a list of everything
    #[command(subcommand)]
    pub section: Option<Section>,
    /// Never ask; whatever is missing is an error
    #[arg(long, global = true)]
    pub no_input: bool,
}

/// What can be set up, each by itself and as often as one likes.
#[derive(Clone, Debug, Subcommand)]
pub enum Section {
    /// Who answers: Anthropic, a server that speaks chat completions, the claude program, or nobody
    Model(ModelSetup),
    /// Your direct messages in Discord
    Discord(DiscordSetup),
    /// A calendar and tasks on a CalDAV server
    Caldav(CaldavSetup),
    /// A mailbox that speaks IMAP, which is only read
    Mail(MailSetup),
    /// Tasks, calendar and mail at Google
    Google(GoogleSetup),
    /// The service that runs it by itself
    Service(ServiceSetup),
    /// Your name, its name, and your time zone
    You(YouSetup),
}

/// Who answers.
#[derive(Clone, Debug, Default, Args)]
pub struct ModelSetup {
    /// Such as anthropic:sonnet, openai:qwen3, claude or offline
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Where the server is, if it is not the vendor's own
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Read the key from this file
    #[arg(long, value_name = "FILE", conflicts_with = "key_stdin")]
    pub key_file: Option<PathBuf>,
    /// Read the key from stdin
    #[arg(long)]
    pub key_stdin: bool,
}

/// Our account in Discord.
#[derive(Clone, Debug, Default, Args)]
pub struct DiscordSetup {
    /// Read the token from this file
    #[arg(long, value_name = "FILE", conflicts_with = "token_stdin")]
    pub token_file: Option<PathBuf>,
    /// Read the token from stdin
    #[arg(long)]
    pub token_stdin: bool,
}

/// A CalDAV server.
#[derive(Clone, Debug, Default, Args)]
pub struct CaldavSetup {
    /// Where it is, such as https://cloud.example.org
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Your name there
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// What the calendar is called there, if there is more than one
    #[arg(long, value_name = "NAME")]
    pub calendar: Option<String>,
    /// What the task list is called there, if there is more than one
    #[arg(long, value_name = "NAME")]
    pub tasks: Option<String>,
    /// Where the password comes from
    #[command(flatten)]
    pub password: PasswordArgs,
}

/// A mailbox.
#[derive(Clone, Debug, Default, Args)]
pub struct MailSetup {
    /// Where it is, such as imaps://mail.example.org
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Your name there
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Where the password comes from
    #[command(flatten)]
    pub password: PasswordArgs,
}

/// Where a password comes from.
#[derive(Clone, Debug, Default, Args)]
pub struct PasswordArgs {
    /// Read the password from this file
    #[arg(long, value_name = "FILE", conflicts_with = "password_stdin")]
    pub password_file: Option<PathBuf>,
    /// Read the password from stdin
    #[arg(long)]
    pub password_stdin: bool,
}

/// The account at Google.
#[derive(Clone, Debug, Default, Args)]
pub struct GoogleSetup {
    /// The file of the client that you made (credentials.json)
    #[arg(long, value_name = "FILE")]
    pub client_file: Option<PathBuf>,
    /// The services to connect: tasks, calendar, mail. Without it: all that are not kept elsewhere
    #[arg(long, value_name = "SERVICE", value_delimiter = ',')]
    pub services: Vec<GoogleService>,
}

/// The service.
#[derive(Clone, Debug, Default, Args)]
pub struct ServiceSetup {
    /// Keep what only this shell says, such as keys and names, so that the service knows it too
    #[arg(long)]
    pub keep: bool,
}

/// Who the two are, and when.
#[derive(Clone, Debug, Default, Args)]
pub struct YouSetup {
    /// What you are called
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// What the assistant is called
    #[arg(long, value_name = "NAME")]
    pub bot_name: Option<String>,
    /// Your time zone, such as Europe/Berlin
    #[arg(long, value_name = "ZONE")]
    pub timezone: Option<String>,
}

/// What can be done with the service.
#[derive(Clone, Debug, Subcommand)]
pub enum ServiceAction {
    /// Make it, start it, and start it again with the machine
    Install,
    /// Start it
    Start,
    /// Stop it until it is started, or the machine is
    Stop,
    /// Stop it and start it, so that it reads its settings again
    Restart,
    /// Whether it runs, since when, and whether it goes on when you log out
    Status,
    /// What it wrote into its log
    Logs {
        /// How many lines
        #[arg(short = 'n', long, value_name = "N", default_value_t = 100, value_parser = value_parser!(u32).range(1..=100_000))]
        lines: u32,
        /// Go on with what it writes from now on
        #[arg(short, long)]
        follow: bool,
    },
    /// Stop it and take it away; what it keeps stays
    #[command(visible_alias = "uninstall")]
    Remove,
}

/// How the doctor looks.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct DoctorArgs {
    /// Mend what can be mended without asking: files that others could read, leftovers of a crash
    #[arg(long)]
    pub fix: bool,
    /// Which part.
    #[command(flatten)]
    pub lint: LintFlag,
}

/// Which part the doctor looks at.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct LintFlag {
    /// Only look at the files that you write (routines, reminders, tool lists), and fail if any is wrong
    #[arg(long)]
    pub lint: bool,
}
