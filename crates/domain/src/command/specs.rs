//! The table of all commands with names, arguments, help texts and parsers.

use super::{Command, JournalQuery, LOGIN_COMMAND, REPLY_COMMAND};
use crate::approval::{ApprovalAnswer, ApprovalReply};
use crate::assistant::{
    ExitCommand, ForkCommand, HistoryCommand, Query, Request, SettingCommand, TurnCommand,
};
use crate::attention::QuietCommand;
use crate::effort::EffortChoice;
use crate::explanation::Subject;
use crate::maintenance::MaintenanceRequest;
use crate::ping_budget::PingPace;
use crate::record::SurfaceName;
use crate::settings::Setting;
use crate::sign_in::SignIn;

/// A group of related commands.
pub(super) struct CommandGroup {
    pub title: &'static str,
    pub specs: &'static [CommandSpec],
}

/// The definition of a command.
pub(super) struct CommandSpec {
    /// The name with the slash.
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// The arguments as shown in the help text.
    pub arguments: &'static str,
    /// The help text.
    pub help: &'static str,
    /// Parses the arguments; the error is a message for the user.
    pub parse: fn(&str) -> Result<Command, String>,
}

pub(super) const GROUPS: [CommandGroup; 6] = [
    CommandGroup { title: "our conversation", specs: &CONVERSATION_COMMANDS },
    CommandGroup { title: "a side conversation", specs: &FORK_COMMANDS },
    CommandGroup { title: "what i may do", specs: &PERMISSION_COMMANDS },
    CommandGroup { title: "what happened", specs: &HISTORY_COMMANDS },
    CommandGroup { title: "how much reaches you", specs: &NOTIFICATION_COMMANDS },
    CommandGroup { title: "how i am", specs: &SETTING_COMMANDS },
];

const CONVERSATION_COMMANDS: [CommandSpec; 6] = [
    CommandSpec {
        name: "/stop",
        aliases: &["/interrupt"],
        arguments: "",
        help: "stops the answer",
        parse: |_| ask(Request::Control(TurnCommand::Stop)),
    },
    CommandSpec {
        name: REPLY_COMMAND,
        aliases: &[],
        arguments: "NUMBER WORDS",
        help: "replies to the message with that number",
        parse: |_| {
            Err(format!(
                "write `{REPLY_COMMAND}`, the number of a message, and your words: `{REPLY_COMMAND} 17 yes, do`."
            ))
        },
    },
    CommandSpec {
        name: "/retry",
        aliases: &[],
        arguments: "",
        help: "tries again what waits for a key of the model",
        parse: |_| ask(Request::Control(TurnCommand::Retry)),
    },
    CommandSpec {
        name: "/compact",
        aliases: &[],
        arguments: "[what to mind]",
        help: "lets a summary stand for what was said so far",
        parse: |words| ask(Request::History(HistoryCommand::Compact(words.to_owned()))),
    },
    CommandSpec {
        name: "/undo",
        aliases: &[],
        arguments: "",
        help: "takes back the last /compact, /save or /clear, for 30 days",
        parse: |_| ask(Request::History(HistoryCommand::Undo)),
    },
    CommandSpec {
        name: "/clear",
        aliases: &[],
        arguments: "",
        help: "starts our conversation over",
        parse: |_| ask(Request::History(HistoryCommand::Clear)),
    },
];

const FORK_COMMANDS: [CommandSpec; 4] = [
    CommandSpec {
        name: "/fork",
        aliases: &[],
        arguments: "[topic]",
        help: "steps aside: what is said there stays out of our conversation",
        parse: |words| ask(Request::Fork(ForkCommand::Enter(words.to_owned()))),
    },
    CommandSpec {
        name: "/save",
        aliases: &[],
        arguments: "",
        help: "makes the side conversation the main one",
        parse: |_| ask(Request::Fork(ForkCommand::Exit(ExitCommand::Save))),
    },
    CommandSpec {
        name: "/report",
        aliases: &[],
        arguments: "[summary]",
        help: "leaves the side conversation with a summary for the main one",
        parse: |words| ask(Request::Fork(ForkCommand::Exit(ExitCommand::Report(words.to_owned())))),
    },
    CommandSpec {
        name: "/exit",
        aliases: &[],
        arguments: "",
        help: "leaves the side conversation and keeps nothing",
        parse: |_| ask(Request::Fork(ForkCommand::Exit(ExitCommand::Drop))),
    },
];

const PERMISSION_COMMANDS: [CommandSpec; 5] = [
    CommandSpec {
        name: "/allow",
        aliases: &[],
        arguments: "[number]",
        help: "lets me do what i asked for, this once",
        parse: |words| approve(words, ApprovalAnswer::Allow),
    },
    CommandSpec {
        name: "/deny",
        aliases: &[],
        arguments: "[number]",
        help: "keeps me from what i asked for",
        parse: |words| approve(words, ApprovalAnswer::Deny),
    },
    CommandSpec {
        name: "/always",
        aliases: &[],
        arguments: "[number]",
        help: "lets me do it, and the same again for 30 days or until /revoke or /clear",
        parse: |words| approve(words, ApprovalAnswer::Always),
    },
    CommandSpec {
        name: "/permissions",
        aliases: &[],
        arguments: "[mode]",
        help: "chooses what i do without asking, or tells what that is and what is always allowed",
        parse: |words| ask(Request::Configure(SettingCommand::PermissionMode(words.to_owned()))),
    },
    CommandSpec {
        name: "/revoke",
        aliases: &[],
        arguments: "[number]",
        help: "takes an /always back, or tells which there are",
        parse: |words| ask(Request::Configure(SettingCommand::Revoke(words.to_owned()))),
    },
];

const HISTORY_COMMANDS: [CommandSpec; 4] = [
    CommandSpec {
        name: "/updates",
        aliases: &[],
        arguments: "",
        help: "tells what background runs left for us",
        parse: |_| ask(Request::Query(Query::Updates)),
    },
    CommandSpec {
        name: "/status",
        aliases: &[],
        arguments: "",
        help: "tells what is in the inbox and what waits",
        parse: |_| ask(Request::Query(Query::Status)),
    },
    CommandSpec {
        name: "/cost",
        aliases: &[],
        arguments: "",
        help: "tells what was spent today",
        parse: |_| Ok(Command::Query(JournalQuery::Cost)),
    },
    CommandSpec {
        name: "/why",
        aliases: &[],
        arguments: "[number or job]",
        help: "tells how the last answer came about, or a ping or an answer by its number, or what became of a job",
        parse: why,
    },
];

const NOTIFICATION_COMMANDS: [CommandSpec; 4] = [
    CommandSpec {
        name: "/quiet",
        aliases: &[],
        arguments: "[23-7, off, for 2h]",
        help: "sets the hours in which nothing of mine rings, or a while of quiet, or tells them",
        parse: |words| QuietCommand::parse_quiet(words).map(SettingCommand::Quiet).map(choose),
    },
    CommandSpec {
        name: "/focus",
        aliases: &[],
        arguments: "[minutes] [on what]",
        help: "keeps everything of mine until the time is up; `off` ends it",
        parse: |words| QuietCommand::parse_focus(words).map(SettingCommand::Quiet).map(choose),
    },
    CommandSpec {
        name: "/lighter",
        aliases: &[],
        arguments: "",
        help: "moves the rest of today to tomorrow, but for what says `must`, `important` or `urgent`",
        parse: |_| Ok(choose(SettingCommand::Quiet(QuietCommand::Lighter))),
    },
    CommandSpec {
        name: "/held",
        aliases: &[],
        arguments: "",
        help: "tells now what i kept for the next digest",
        parse: |_| Ok(choose(SettingCommand::Quiet(QuietCommand::Held))),
    },
];

const SETTING_COMMANDS: [CommandSpec; 10] = [
    CommandSpec {
        name: "/model",
        aliases: &[],
        arguments: "[name]",
        help: "chooses the model of the next answers, or tells which it is",
        parse: |words| ask(Request::Configure(SettingCommand::Model(words.to_owned()))),
    },
    CommandSpec {
        name: "/thinking",
        aliases: &[],
        arguments: "[auto, off, adaptive]",
        help: "chooses how much i think until i start again, or tells how much it is",
        parse: thinking,
    },
    CommandSpec {
        name: "/effort",
        aliases: &[],
        arguments: "[level]",
        help: "shows how much work goes into an answer, or sets it until i start again",
        parse: effort,
    },
    CommandSpec {
        name: "/ping-budget",
        aliases: &[],
        arguments: "[pings] [minutes]",
        help: "tells how many pings are left, or sets the most and how fast one comes back",
        parse: |words| PingPace::parse(words).map(SettingCommand::PingPace).map(choose),
    },
    CommandSpec {
        name: "/config",
        aliases: &[],
        arguments: "[setting] [value]",
        help: "tells the settings, tells one, or changes one for good",
        parse: config,
    },
    CommandSpec {
        name: "/name",
        aliases: &[],
        arguments: "[name]",
        help: "tells what i call you, or changes it",
        parse: |words| ask(Request::Configure(SettingCommand::Setting(Setting::Name, words.to_owned()))),
    },
    CommandSpec {
        name: LOGIN_COMMAND,
        aliases: &[],
        arguments: "[code, again]",
        help: "gives you a link that signs the claude program in, and takes the code you get there",
        parse: |words| SignIn::parse(words).map(Command::SignIn),
    },
    CommandSpec {
        name: "/update",
        aliases: &[],
        arguments: "",
        help: "makes me the newest version, if there is one and i run from its source",
        parse: |_| Ok(Command::Renew(MaintenanceRequest::Update)),
    },
    CommandSpec {
        name: "/restart",
        aliases: &[],
        arguments: "",
        help: "starts me again, when nothing goes on",
        parse: |_| Ok(Command::Renew(MaintenanceRequest::Restart)),
    },
    CommandSpec {
        name: "/help",
        aliases: &[],
        arguments: "",
        help: "tells these commands",
        parse: |_| Ok(Command::Help),
    },
];

fn ask(request: Request) -> Result<Command, String> {
    Ok(Command::Request(request))
}

fn choose(choice: SettingCommand) -> Command {
    Command::Request(Request::Configure(choice))
}

fn thinking(words: &str) -> Result<Command, String> {
    let way = (!words.is_empty()).then(|| words.parse()).transpose();
    way.map(|way| choose(SettingCommand::Thinking(way))).map_err(|bad| format!("{bad}."))
}

fn effort(words: &str) -> Result<Command, String> {
    let choice = EffortChoice::parse(words).map_err(|bad| bad.to_string())?;
    Ok(choose(SettingCommand::Effort(choice)))
}

/// SL-13: shows all settings, shows one, or changes one.
fn config(words: &str) -> Result<Command, String> {
    if words.is_empty() {
        return ask(Request::Query(Query::Settings));
    }
    let (key, value) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let setting = Setting::from_name(key).map_err(|bad| bad.to_string())?;
    match value.trim() {
        "" => ask(Request::Query(Query::Setting(setting))),
        value => Ok(choose(SettingCommand::Setting(setting, value.to_owned()))),
    }
}

fn why(words: &str) -> Result<Command, String> {
    Subject::parse(words).map(|subject| Command::Query(JournalQuery::Why(subject)))
}

/// The surface is a placeholder, which [`parse_on`](super::parse_on) replaces.
fn approve(which: &str, verdict: ApprovalAnswer) -> Result<Command, String> {
    ask(Request::Approve(ApprovalReply {
        selector: which.to_owned(),
        answer: verdict,
        surface: SurfaceName::Terminal,
    }))
}
