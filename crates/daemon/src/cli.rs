//! The command line: all commands, and the help that begins with examples.

mod accounts;
mod daily;
mod extensions;
pub mod flags;
mod history;
mod install;
mod jobs;
mod mail;
mod maintenance;
mod names;
mod webhook;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::{ArgValueCandidates, Shell};

use surfaces::web::cost::{DEFAULT_DAYS, MAX_DAYS};
use surfaces::web::sessions::DEFAULT_MOVES;

use crate::commands::simulate;
use crate::printer::Printer;
use crate::settings::Environment;

pub use accounts::{AccountCommand, CalAction, TaskAction};
pub use daily::{AttentionCommand, DailyCommand, InboxAction};
pub use extensions::{ExtensionCommand, ServersAction, SkillsAction};
pub use history::{HistoryAction, HistoryFilter};
pub use install::{
    CaldavSetup, DiscordSetup, DoctorArgs, GoogleSetup, InstallCommand, MailSetup, ModelSetup, Section,
    ServiceAction, ServiceSetup, SetupArgs, YouSetup,
};
pub use jobs::{
    EditReminderArgs, EditRoutineArgs, JobKeys, JobReference, NextArgs, PauseArgs, ReminderAction,
    ReminderKeys, RoutineAction, RoutineKeys,
};
pub use mail::{GoogleAction, MailAction, ResultLimit};
pub use maintenance::MaintenanceCommand;
pub use names::command_with_candidates;
pub use webhook::{NewWebhookArgs, TestWebhookArgs, WebhookAction};

const EXAMPLES: &str = "\
examples:
  ollim-bot                              start, and talk here
  ollim-bot add \"call the dentist tomorrow at 10\"
  ollim-bot now                          the one thing to do, and why
  ollim-bot today                        what is left of the day (today friday: that day)
  ollim-bot done dentist                 (move dentist thu 11 · undo)
  ollim-bot inbox                        what has no time yet
  ollim-bot chat --once \"hello\"          say one thing, print the answer
  echo \"buy milk\" | ollim-bot add -
  ollim-bot tui                          talk on the full screen, beside the day
  ollim-bot open                         a fresh link to the page
  ollim-bot pause until thursday         all that repeats rests (resume)
  ollim-bot routine list                 what recurs, and when it comes next
  ollim-bot reminder add --delay 20 -m \"take the bread out\"
  ollim-bot tasks add \"renew the passport\" --due 2026-12-01
  ollim-bot cal upcoming                 what stands in the calendar
  ollim-bot mail unread                  what came and was not read
  ollim-bot cost --days 7                what the model cost, and who spent it
  ollim-bot sessions tree                how the conversation went, drawn
  ollim-bot why                          how the last answer came about
  ollim-bot history search dentist       where something was said
  ollim-bot simulate --from 2026-03-27 --to 2026-04-03
  ollim-bot config model.main opus       change a setting (without words: tell all of them)
  ollim-bot compact \"keep the recipes\"   sum up a long conversation (--undo takes it back)
  ollim-bot export backup.tar.gz         everything in one archive (import puts it elsewhere)
  ollim-bot setup                        connect a model, discord, your calendar and mail
  ollim-bot service install              let it run by itself (status, logs, remove)
  ollim-bot doctor                       what is wrong, and what to do about it (--fix)";

const EXIT_CODES: &str = "\
exit codes: 0 ok · 1 failed · 2 usage · 3 ambiguous · 75 already running · 78 configuration";

/// A proactive assistant for one person.
#[derive(Debug, Parser)]
#[command(name = "ollim-bot", version, disable_help_subcommand = true, before_help = EXAMPLES, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// What to do; without it: run, and chat if this is a terminal.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Where.
    #[command(flatten)]
    pub place: Place,
    /// How to answer.
    #[command(flatten)]
    pub output: Output,
}

/// Where everything is kept.
#[derive(Debug, Args)]
pub struct Place {
    /// The data directory [default: ~/.ollim-bot, or OLLIM_DATA_DIR]
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
}

/// How to answer.
#[derive(Clone, Debug, Default, Args)]
pub struct Output {
    /// Answer with one JSON document on stdout
    #[arg(long, global = true)]
    pub json: bool,
    /// Who hears it.
    #[arg(skip)]
    pub voice: Printer,
}

/// What can be asked for.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the assistant, and chat if this is a terminal
    Run {
        /// Only run: the form for a service
        #[arg(long)]
        no_chat: bool,
    },
    /// Talk to it here
    Chat {
        /// Say one thing (the words that follow, or stdin), print the answer, and leave
        #[arg(long)]
        once: bool,
        /// Show a picture with it (jpeg, png, gif or webp)
        #[arg(long, requires = "once", value_name = "FILE")]
        image: Vec<PathBuf>,
        /// What to say
        #[arg(requires = "once")]
        text: Vec<String>,
    },
    /// Talk to it on the full screen, beside the day, what goes on aside, and the pings
    Tui,
    /// Print a fresh link that opens the page in your browser
    Open,
    #[command(flatten)]
    Verb(DailyCommand),
    /// What recurs: add, list, show, edit, pause, resume, cancel, next, run
    #[command(before_help = "examples:\n  ollim-bot routine list\n  \
        ollim-bot routine add --cron \"30 8 * * 1-5\" -m \"Name the one thing to start with.\"\n  \
        ollim-bot routine pause morning --until \"2026-11-23 08:00\"")]
    Routine {
        /// What to do with it
        #[command(subcommand)]
        action: Option<RoutineAction>,
    },
    /// What comes once: add, list, show, edit, cancel, run
    #[command(before_help = "examples:\n  ollim-bot reminder list\n  \
        ollim-bot reminder add --delay 20 -m \"Take the bread out.\"\n  \
        ollim-bot reminder cancel dentist")]
    Reminder {
        /// What to do with it
        #[command(subcommand)]
        action: Option<ReminderAction>,
    },
    #[command(flatten)]
    Account(AccountCommand),
    #[command(flatten)]
    Look(QueryCommand),
    #[command(flatten)]
    Order(ControlCommand),
    #[command(flatten)]
    Kit(ExtensionCommand),
    #[command(flatten)]
    Inner(InternalCommand),
}

/// What only processes of ours ask of each other.
#[derive(Debug, Subcommand)]
pub enum InternalCommand {
    /// Become a program that ends when the process called PARENT does
    #[command(hide = true)]
    Leash {
        /// Who started this
        parent: i32,
        /// The program and its words
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        line: Vec<OsString>,
    },
    /// Run a command that reaches nothing but what is named here
    #[command(hide = true)]
    Cage(SandboxArgs),
}

/// A command, and what it may reach.
#[derive(Debug, Args)]
pub struct SandboxArgs {
    /// Who started this
    pub parent: i32,
    /// What may be read
    #[arg(long = "data")]
    pub data: PathBuf,
    /// What of its top may not
    #[arg(long)]
    pub shut: Vec<String>,
    /// What may be written
    #[arg(long)]
    pub work: PathBuf,
    /// How long a process may compute
    #[arg(long)]
    pub seconds: u64,
    /// Let it reach other machines
    #[arg(long)]
    pub network: bool,
    /// The command
    #[arg(last = true)]
    pub command: String,
}

/// What can be looked at, whether or not the assistant runs.
#[derive(Debug, Subcommand)]
pub enum QueryCommand {
    /// How the conversation went
    Sessions {
        /// How to show it; without it: a list
        #[command(subcommand)]
        shape: Option<SessionsShape>,
        /// How many moves are told of, newest first
        #[arg(long, global = true, value_name = "N", default_value_t = DEFAULT_MOVES, value_parser = value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// What was said: conversations, prompts, answers, and words in them
    #[command(
        before_help = "examples:\n  ollim-bot history search dentist\n  ollim-bot history sessions --since 24h\n  \
        ollim-bot history export main > conversation.md"
    )]
    History {
        /// What to look for
        #[command(subcommand)]
        action: HistoryAction,
    },
    /// What the model was asked to do, and what that cost
    Cost {
        /// How many days the list looks back, today included
        #[arg(long, value_name = "N", default_value_t = DEFAULT_DAYS, value_parser = value_parser!(u16).range(1..=i64::from(MAX_DAYS)))]
        days: u16,
        /// How the list is added up
        #[arg(long, value_enum, default_value_t = CostBy::Source)]
        by: CostBy,
        /// Tell only what today and this month will have cost, and what that follows from
        #[arg(long)]
        forecast: bool,
    },
    /// Show the updates that background runs and side conversations left for the main conversation
    #[command(
        after_help = "examples:\n  ollim-bot updates          those that wait\n  ollim-bot updates --all    \
        those that were read, too\n  ollim-bot updates --json"
    )]
    Updates {
        /// Show the updates that the main conversation has read as well
        #[arg(long)]
        all: bool,
    },
    /// How an answer, a ping or a silence came about: what began it, what was let through, what it used, how it ended
    #[command(after_help = "examples:\n  ollim-bot why                                the last answer\n  \
        ollim-bot why 17                             the ping with that number, or else the answer (answer:17)\n  \
        ollim-bot why held:3                         what waits for the digest (`ollim-bot pings` lists it)\n  \
        ollim-bot why routine:mail                   the last times of a job, and why each was silent\n  \
        ollim-bot why routine:mail@2026-03-29T02:30  one of them")]
    Why {
        /// A number, a job, or one of its times; without it: the last answer
        #[arg(value_name = "ID")]
        id: Vec<String>,
    },
    /// How something is done: the commands, one of them, a topic, or where words stand in the documentation
    #[command(
        before_help = "examples:\n  ollim-bot help\n  ollim-bot help routine add\n  ollim-bot help permissions\n  \
        ollim-bot help search quiet hours"
    )]
    Help {
        /// A command, a topic, or `search` and words
        words: Vec<String>,
    },
    /// What would happen between two times, with the routines and reminders as they are
    #[command(after_help = simulate::HELP)]
    Simulate(simulate::SimulateArgs),
    /// Whether it runs, and how it is
    Status {
        /// Also ask everybody elsewhere: the model, Discord, the calendar, tasks and the mailbox
        #[arg(long)]
        deep: bool,
    },
    /// What is wrong, and what to do about it
    Doctor(DoctorArgs),
    /// Print a script that completes commands in your shell
    Completion {
        /// bash, zsh, fish, elvish or powershell
        shell: Shell,
    },
}

/// What can be wanted of the assistant, besides talking.
#[derive(Debug, Subcommand)]
pub enum ControlCommand {
    /// Let a summary stand for what was said so far
    Compact {
        /// What the summary should mind in particular
        #[arg(conflicts_with = "undo")]
        instructions: Vec<String>,
        /// Take the last compaction back
        #[arg(long)]
        undo: bool,
    },
    /// Choose the model of the next answers, or tell which it is
    Model {
        /// fable, haiku, opus, sonnet or default; with a server of your own, any name it has for a model
        #[arg(add = ArgValueCandidates::new(names::models))]
        name: Option<String>,
    },
    /// Tell all settings, or one, or change one for good
    #[command(after_help = "examples:\n  ollim-bot config                          all of them\n  \
        ollim-bot config thinking.main            one\n  \
        ollim-bot config thinking.main adaptive   change it\n\n\
        They are kept in state/config.json, which is read when the assistant starts.")]
    Config {
        /// Such as model.main or fork_idle_timeout
        #[arg(add = ArgValueCandidates::new(names::settings))]
        setting: Option<String>,
        /// What it should be
        value: Vec<String>,
    },
    /// Try again what waits because the model refused the key
    Retry,
    #[command(flatten)]
    Upkeep(MaintenanceCommand),
}

/// How spending is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CostBy {
    /// By who spent it: the conversation, a routine, ...
    Source,
    /// By model
    Model,
    /// By day
    Day,
}

/// How to show the sessions.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum SessionsShape {
    /// One line for each thing that happened
    List,
    /// Drawn: the trunk, forks beside it and how they ended, compactions
    Tree,
}

impl Place {
    /// The environment, with what the arguments say about it.
    #[expect(clippy::disallowed_methods, reason = "the only place that reads environment variables")]
    pub fn environment(&self) -> Environment {
        let mut environment = Environment::new(|name| std::env::var(name).ok());
        if let Some(dir) = &self.data_dir {
            environment.set_data_dir(dir.clone());
        }
        environment
    }
}
