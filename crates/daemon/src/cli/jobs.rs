//! The `routine` and `reminder` commands.
//!
//! A flag sets the key of the same name in the file. `add` writes the given keys; `edit` changes
//! the given keys and leaves the rest; an empty value removes the key.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;

use super::names;

/// What can be done with routines.
#[derive(Debug, Subcommand)]
pub enum RoutineAction {
    /// Make a new one
    #[command(
        before_help = "examples:\n  ollim-bot routine add --cron \"30 8 * * 1-5\" -m \"Name the one thing to start with.\"\n  \
        ollim-bot routine add --every \"3 days\" --from 2026-11-18T09:00 -m \"Water the plants.\"\n  \
        ollim-bot routine add --cron \"0 9 * * *\" --background --session persistent -m \"Update your notes.\""
    )]
    Add(Box<RoutineKeys>),
    /// All of them, with their next time; and files that cannot be read, with the reason
    List,
    /// One of them: when it recurs, its next times, and its file
    Show(JobReference),
    /// Change one: the flags that are given, or its file in your editor
    #[command(before_help = "examples:\n  ollim-bot routine edit 7f3a9c21 --cron \"0 9 * * *\"\n  \
        ollim-bot routine edit morning --background=false --model \"\"\n  \
        ollim-bot routine edit morning                  in your editor")]
    Edit(Box<EditRoutineArgs>),
    /// Remove one
    Cancel(JobReference),
    /// Let one rest, until it is resumed or until then
    #[command(before_help = "examples:\n  ollim-bot routine pause morning\n  \
        ollim-bot routine pause morning --until \"2026-11-23 08:00\"")]
    Pause(PauseArgs),
    /// Let one go on
    Resume(JobReference),
    /// Its next times
    Next(NextArgs),
    /// Do it now, whatever its clock says, and tell what came of it
    Run(JobReference),
    /// Let one have the tools and skills that its file asks for
    Accept(JobReference),
}

/// What can be done with reminders.
#[derive(Debug, Subcommand)]
pub enum ReminderAction {
    /// Make a new one
    #[command(before_help = "examples:\n  ollim-bot reminder add --delay 20 -m \"Take the bread out.\"\n  \
        ollim-bot reminder add --at \"2026-11-20 09:00\" -m \"Call the dentist.\"")]
    Add(Box<ReminderKeys>),
    /// All that are still to come; and files that cannot be read, with the reason
    List,
    /// One of them: when it comes, and its file
    Show(JobReference),
    /// Change one: the flags that are given, or its file in your editor
    #[command(before_help = "examples:\n  ollim-bot reminder edit dentist --at \"2026-11-20 10:00\"\n  \
        ollim-bot reminder edit dentist                 in your editor")]
    Edit(Box<EditReminderArgs>),
    /// Remove one
    Cancel(JobReference),
    /// Do it now, and tell what came of it
    Run(JobReference),
    /// Let one have the tools and skills that its file asks for
    Accept(JobReference),
}

/// Which one is meant.
#[derive(Debug, Args)]
pub struct JobReference {
    /// Its id, the beginning of that, the name of its file, or words of it that only one has
    #[arg(required = true, value_name = "ID", add = ArgValueCandidates::new(names::jobs))]
    pub id: Vec<String>,
}

/// Which one rests, and how long.
#[derive(Debug, Args)]
pub struct PauseArgs {
    /// Which one
    #[command(flatten)]
    pub which: JobReference,
    /// Until when; without it: until it is resumed
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
}

/// Whose next times, and how many.
#[derive(Debug, Args)]
pub struct NextArgs {
    /// Whose
    #[command(flatten)]
    pub which: JobReference,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub count: u16,
}

/// What of a routine changes.
#[derive(Debug, Args)]
pub struct EditRoutineArgs {
    /// Which one
    #[command(flatten)]
    pub which: JobReference,
    /// What
    #[command(flatten)]
    pub keys: RoutineKeys,
}

/// What of a reminder changes.
#[derive(Debug, Args)]
pub struct EditReminderArgs {
    /// Which one
    #[command(flatten)]
    pub which: JobReference,
    /// What
    #[command(flatten)]
    pub keys: ReminderKeys,
}

/// What can be said of a routine.
#[derive(Debug, Default, Args)]
pub struct RoutineKeys {
    /// When: minute, hour, day, month and weekday
    #[arg(long, value_name = "\"M H D M W\"", conflicts_with = "every")]
    pub cron: Option<String>,
    /// When: every so many days, such as "3 days" or "2 weeks"
    #[arg(long, value_name = "DAYS")]
    pub every: Option<String>,
    /// The first time of --every, such as 2026-11-18T09:00
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// The last day, such as 2026-12-01
    #[arg(long, value_name = "DAY")]
    pub until: Option<String>,
    /// The zone its times are meant in, if not yours
    #[arg(long, value_name = "ZONE")]
    pub timezone: Option<String>,
    /// `persistent`: it remembers its own earlier runs; background only
    #[arg(long, value_name = "KIND")]
    pub session: Option<String>,
    /// What every job can be told.
    #[command(flatten)]
    pub job: JobKeys,
}

/// What can be said of a reminder.
#[derive(Debug, Default, Args)]
pub struct ReminderKeys {
    /// When: so many minutes from now
    #[arg(long, value_name = "MINUTES", conflicts_with = "at")]
    pub delay: Option<u32>,
    /// When: such as "2026-11-20 09:00"
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,
    /// How many checks may follow the first
    #[arg(long, value_name = "N")]
    pub max_chain: Option<u32>,
    /// How many came before it
    #[arg(long, value_name = "N", hide = true)]
    pub chain_depth: Option<u32>,
    /// The id of the first of its chain
    #[arg(long, value_name = "ID", hide = true)]
    pub chain_parent: Option<String>,
    /// What every job can be told.
    #[command(flatten)]
    pub job: JobKeys,
}

/// What can be said of every job.
#[derive(Debug, Default, Args)]
pub struct JobKeys {
    /// What it is told
    #[arg(long, short, value_name = "TEXT")]
    pub message: Option<String>,
    /// One line for lists
    #[arg(long, short, value_name = "TEXT")]
    pub description: Option<String>,
    /// Skills whose instructions come before what it is told
    #[arg(long, num_args = 1.., value_name = "NAME")]
    pub skills: Option<Vec<String>>,
    /// What becomes of a time that was missed: `once`, `skip` or `if-within 2h`
    #[arg(long, value_name = "RULE")]
    pub if_missed: Option<String>,
    /// What becomes of a time that comes while it is still being done: `skip` or `queue`
    #[arg(long, value_name = "RULE")]
    pub overlap: Option<String>,
    /// How it runs.
    #[command(flatten)]
    pub aside: BackgroundKeys,
}

/// What can be said of a job that runs aside.
#[derive(Debug, Default, Args)]
pub struct BackgroundKeys {
    /// It runs aside, and not in the main conversation
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false", hide_possible_values = true)]
    pub background: Option<bool>,
    /// It starts knowing only what it is told
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false", hide_possible_values = true)]
    pub isolated: Option<bool>,
    /// Model of the run: fable, haiku, opus or sonnet
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Whether the model thinks before it answers; `inherit` runs as the main conversation does
    #[arg(long, value_name = "WAY", value_parser = PossibleValuesParser::new(["inherit", "on", "off"]), conflicts_with = "no_thinking")]
    pub thinking: Option<String>,
    /// Think as little as the model allows, like `--thinking off`
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false", hide_possible_values = true)]
    pub no_thinking: Option<bool>,
    /// How much work goes into an answer; "" uses the effort of the settings
    #[arg(long, value_name = "LEVEL", value_parser = PossibleValuesParser::new(["low", "medium", "high", "xhigh", "max", ""]))]
    pub effort: Option<String>,
    /// Whether main hears of it
    #[arg(long, value_name = "MODE", value_parser = PossibleValuesParser::new(["always", "on_ping", "freely", "blocked"]))]
    pub update_main_session: Option<String>,
    /// It may not interrupt
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false", hide_possible_values = true)]
    pub no_ping: Option<bool>,
    /// The tools it may use, and no others, such as "Bash(ollim-bot tasks *)"
    #[arg(long, num_args = 1.., value_name = "PATTERN")]
    pub allowed_tools: Option<Vec<String>>,
    /// The tools it must do without
    #[arg(long, num_args = 1.., value_name = "PATTERN", conflicts_with = "allowed_tools")]
    pub disallowed_tools: Option<Vec<String>>,
}
