//! Table of all slash commands and their registration payload.

use domain::effort::Effort;
use domain::model::SHORT_NAMES;
use domain::permission::Mode;
use domain::settings::Setting;
use serde_json::{Map, Value, json};

/// Name of the context-menu command for messages.
pub(super) const REMIND_ABOUT: &str = "Remind me about this";

/// Name of the command that connects an account.
pub(super) const CONNECT_ACCOUNT: &str = "google-auth";

/// Option of `CONNECT_ACCOUNT` that names a service.
pub(super) const SERVICE_OPTION: &str = "service";

/// Discord's limit for the choices of an option.
pub(super) const MAX_CHOICES: usize = 25;

/// A slash command.
pub(super) struct CommandSpec {
    /// Without the slash.
    pub(super) name: &'static str,
    description: &'static str,
    /// Options in order.
    pub(super) options: &'static [OptionSpec],
    /// Reply mode without options.
    without_options: ReplyMode,
    /// Reply mode with options.
    with_options: ReplyMode,
    contexts: Contexts,
}

/// An option of a command.
pub(super) struct OptionSpec {
    pub(super) name: &'static str,
    description: &'static str,
    kind: OptionKind,
    requirement: Requirement,
}

/// Type of an option.
#[derive(Clone, Copy)]
enum OptionKind {
    Text,
    /// Text with autocompletion.
    Autocomplete,
    /// A number above 0.
    Number,
    /// One of these pairs of label and value.
    Choices(fn() -> Vec<(String, String)>),
}

/// Whether an option is required.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Requirement {
    Required,
    Optional,
}

/// When a command is answered, and who sees the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyMode {
    /// At once, visible to the user only.
    Ephemeral,
    /// Deferred, visible to the user only.
    DeferredEphemeral,
    /// At once, visible in the channel.
    Visible,
    /// Deferred, visible in the channel. Acknowledged before it is executed, so that a repeated
    /// interaction has no second effect.
    DeferredVisible,
    /// Like `DeferredVisible`, but the result is shown by other messages; only the user sees what
    /// remains.
    DeferredSilent,
}

/// Where a command can be run.
#[derive(Clone, Copy)]
enum Contexts {
    DirectMessages,
    /// Also on servers, where replies are visible to the user only.
    Anywhere,
}

const fn optional(name: &'static str, does: &'static str, takes: OptionKind) -> OptionSpec {
    OptionSpec { name, description: does, kind: takes, requirement: Requirement::Optional }
}

const fn required(name: &'static str, does: &'static str, takes: OptionKind) -> OptionSpec {
    OptionSpec { name, description: does, kind: takes, requirement: Requirement::Required }
}

const fn simple(name: &'static str, does: &'static str, manner: ReplyMode) -> CommandSpec {
    with_options(name, does, &[], manner, manner)
}

const fn with_options(
    name: &'static str,
    does: &'static str,
    options: &'static [OptionSpec],
    bare: ReplyMode,
    told: ReplyMode,
) -> CommandSpec {
    CommandSpec {
        name,
        description: does,
        options,
        without_options: bare,
        with_options: told,
        contexts: Contexts::DirectMessages,
    }
}

use ReplyMode::{DeferredEphemeral, DeferredSilent, DeferredVisible, Ephemeral, Visible};

/// All commands. Approvals are answered with buttons, and replies with Discord's own feature.
pub(super) const COMMANDS: &[CommandSpec] = &[
    simple("now", "the one thing that comes next", Visible),
    with_options(
        "today",
        "what comes today, or on another day",
        &[optional("day", "which day", OptionKind::Autocomplete)],
        Visible,
        Visible,
    ),
    CommandSpec {
        contexts: Contexts::Anywhere,
        ..with_options(
            "remind",
            "plans something, in your own words",
            &[required("text", "what, and when: call the dentist tomorrow at 10", OptionKind::Autocomplete)],
            DeferredVisible,
            DeferredVisible,
        )
    },
    with_options(
        "reminders",
        "what i will remind you of",
        &[optional("find", "a word of it", OptionKind::Autocomplete)],
        Visible,
        Visible,
    ),
    with_options(
        "routines",
        "what i do again and again",
        &[optional("name", "one of them", OptionKind::Autocomplete)],
        Visible,
        DeferredVisible,
    ),
    with_options(
        "schedule",
        "the day or the week as a picture and a list",
        &[optional("span", "how much of it", OptionKind::Choices(spans))],
        Visible,
        Visible,
    ),
    with_options(
        "pause",
        "lets all that repeats rest",
        &[optional("until", "until when", OptionKind::Autocomplete)],
        DeferredVisible,
        DeferredVisible,
    ),
    simple("resume", "lets all that repeats go on", DeferredVisible),
    with_options(
        "quiet",
        "when nothing of mine rings: tells it, or sets it",
        &[optional("hours", "23-7, off, or for 2h", OptionKind::Text)],
        Ephemeral,
        DeferredVisible,
    ),
    with_options(
        "focus",
        "keeps everything of mine until the time is up",
        &[
            optional("minutes", "how long", OptionKind::Number),
            optional("on", "on what; `off` ends it", OptionKind::Text),
        ],
        DeferredVisible,
        DeferredVisible,
    ),
    simple("lighter", "moves the rest of today to tomorrow, but for what must be done", DeferredVisible),
    simple("held", "what i kept for the next digest", DeferredVisible),
    simple("updates", "what background runs left for us", Visible),
    simple("status", "what is in the inbox and what waits", Ephemeral),
    with_options(
        "why",
        "how the last answer came about, or a ping, or what became of a job",
        &[optional("what", "a number, or a job", OptionKind::Autocomplete)],
        DeferredEphemeral,
        DeferredEphemeral,
    ),
    simple("cost", "what was spent today", DeferredEphemeral),
    with_options(
        "fork",
        "steps aside: what is said there stays out of our conversation",
        &[optional("topic", "what about", OptionKind::Text)],
        DeferredSilent,
        DeferredSilent,
    ),
    simple("save", "makes the side conversation the main one", DeferredSilent),
    with_options(
        "report",
        "leaves the side conversation with a summary",
        &[optional("summary", "in your own words", OptionKind::Text)],
        DeferredSilent,
        DeferredSilent,
    ),
    simple("exit", "leaves the side conversation and keeps nothing", DeferredSilent),
    simple("stop", "stops the answer", DeferredSilent),
    simple("interrupt", "stops the answer", DeferredSilent),
    simple("retry", "tries again what waits for a key of the model", DeferredSilent),
    with_options(
        "compact",
        "lets a summary stand for what was said so far",
        &[optional("instructions", "what to mind", OptionKind::Text)],
        DeferredVisible,
        DeferredVisible,
    ),
    simple("undo", "takes back the last /compact, /save or /clear", DeferredVisible),
    simple("clear", "starts our conversation over, after you said so once more", Visible),
    with_options(
        "model",
        "tells or chooses who answers",
        &[optional("name", "who", OptionKind::Choices(models))],
        Ephemeral,
        DeferredVisible,
    ),
    with_options(
        "thinking",
        "tells or chooses how much i think",
        &[optional("mode", "how much", OptionKind::Choices(thinking_modes))],
        Ephemeral,
        DeferredVisible,
    ),
    with_options(
        "effort",
        "shows or sets how much work goes into an answer",
        &[optional("level", "how much", OptionKind::Choices(efforts))],
        Ephemeral,
        DeferredVisible,
    ),
    with_options(
        "permissions",
        "tells or chooses what i do without asking",
        &[optional("mode", "which", OptionKind::Choices(modes))],
        Ephemeral,
        DeferredVisible,
    ),
    with_options(
        "revoke",
        "tells what is always allowed, or takes one of it back",
        &[optional("number", "which", OptionKind::Number)],
        Ephemeral,
        DeferredVisible,
    ),
    with_options(
        "ping-budget",
        "how many pings are left, or how many there can be and how fast one comes back",
        &[
            optional("capacity", "the most pings", OptionKind::Number),
            optional("refill_rate", "the minutes until there is one more", OptionKind::Number),
        ],
        Ephemeral,
        DeferredVisible,
    ),
    with_options(
        "config",
        "tells the settings, tells one, or changes one for good",
        &[
            optional("key", "which setting", OptionKind::Choices(settings)),
            optional("value", "what it should be", OptionKind::Autocomplete),
        ],
        Ephemeral,
        DeferredVisible,
    ),
    with_options(
        "name",
        "tells what i call you, or changes it",
        &[optional("name", "what you are called", OptionKind::Text)],
        Ephemeral,
        DeferredVisible,
    ),
    with_options(
        CONNECT_ACCOUNT,
        "Connect Google for tasks, calendar and mail, or for one of them",
        &[optional(SERVICE_OPTION, "connect this one alone", OptionKind::Choices(google_services))],
        DeferredEphemeral,
        DeferredEphemeral,
    ),
    with_options(
        "login",
        "signs the claude program in: a link, and the code you get there",
        &[optional("code", "what you got there; `again` signs in anew", OptionKind::Text)],
        DeferredEphemeral,
        DeferredEphemeral,
    ),
    simple("update", "makes me the newest version, if there is one", DeferredVisible),
    simple("restart", "starts me again, when nothing goes on", DeferredVisible),
    simple("help", "what i can do here", Ephemeral),
];

impl CommandSpec {
    /// Finds a command by name.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.name == name)
    }

    /// Returns the reply mode for the number of given options.
    pub(super) fn reply_mode(&self, given: usize) -> ReplyMode {
        match (self.name, given) {
            (_, 0) => self.without_options,
            // A key alone only shows the setting.
            ("config", 1) => Ephemeral,
            (_, _) => self.with_options,
        }
    }

    fn to_json(&self) -> Value {
        let options: Value = self.options.iter().map(OptionSpec::to_json).collect();
        let mut value =
            json!({ "type": 1, "name": self.name, "description": self.description, "options": options });
        set_contexts(&mut value, self.contexts);
        value
    }
}

impl OptionSpec {
    fn to_json(&self) -> Value {
        let mut value = Map::new();
        let mut put = |name: &str, what: Value| value.insert(name.to_owned(), what);
        put("name", self.name.into());
        put("description", self.description.into());
        put("required", (self.requirement == Requirement::Required).into());
        put("type", if matches!(self.kind, OptionKind::Number) { 4.into() } else { 3.into() });
        match self.kind {
            OptionKind::Text => {}
            OptionKind::Autocomplete => drop(put("autocomplete", true.into())),
            OptionKind::Number => drop(put("min_value", 1.into())),
            OptionKind::Choices(choices) => {
                let one = |(name, value): &(String, String)| json!({ "name": name, "value": value });
                put("choices", choices().iter().map(one).collect());
            }
        }
        Value::Object(value)
    }
}

/// SL-1: installs for the user's account, not for servers.
fn set_contexts(value: &mut Value, places: Contexts) {
    value["integration_types"] = json!([1]);
    value["contexts"] = match places {
        Contexts::DirectMessages => json!([1, 2]),
        Contexts::Anywhere => json!([0, 1, 2]),
    };
}

/// Returns the payload that registers all commands.
pub(super) fn registration_payload() -> Value {
    let mut about = json!({ "type": 3, "name": REMIND_ABOUT });
    set_contexts(&mut about, Contexts::Anywhere);
    COMMANDS.iter().map(CommandSpec::to_json).chain([about]).collect()
}

fn same_label(word: &str) -> (String, String) {
    (word.to_owned(), word.to_owned())
}

fn google_services() -> Vec<(String, String)> {
    ["tasks", "calendar", "mail"].map(same_label).to_vec()
}

fn spans() -> Vec<(String, String)> {
    ["day", "week"].map(same_label).to_vec()
}

/// SL-8: choices for the model.
fn models() -> Vec<(String, String)> {
    SHORT_NAMES.iter().rev().chain(&["default"]).map(|name| same_label(name)).collect()
}

/// SL-9: choices for thinking.
fn thinking_modes() -> Vec<(String, String)> {
    let budget = |thousand: u32| (format!("{thousand}k budget"), (thousand * 1_000).to_string());
    vec![same_label("auto"), same_label("off"), same_label("adaptive"), budget(8), budget(32), budget(64)]
}

fn efforts() -> Vec<(String, String)> {
    Effort::ALL.map(Effort::as_str).into_iter().chain(["default"]).map(same_label).collect()
}

/// SL-11: choices for the permission mode.
fn modes() -> Vec<(String, String)> {
    Mode::ALL.map(|mode| same_label(mode.as_str())).to_vec()
}

/// SL-13: the settings that can be shown or changed.
fn settings() -> Vec<(String, String)> {
    Setting::ALL.map(|setting| same_label(setting.display_name())).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SL-1, SL-4..SL-13: every command of the other surfaces exists, except those that Discord has
    /// its own way for.
    #[test]
    fn every_command_of_the_other_surfaces_exists() {
        let own_way = ["reply", "allow", "deny", "always"];
        let list = domain::command::help_text();
        let elsewhere = list.lines().filter_map(|line| line.strip_prefix("  /")?.split(' ').next());
        for name in elsewhere.filter(|name| !own_way.contains(name)) {
            assert!(CommandSpec::find(name).is_some(), "/{name} is missing");
        }
        assert!(CommandSpec::find("interrupt").is_some());
    }

    /// SL-1: commands are installed for the user's account and run in direct messages; capturing
    /// works anywhere.
    #[test]
    fn commands_are_installed_for_the_users_account() {
        let table = registration_payload();
        for command in table.as_array().unwrap() {
            assert_eq!(command["integration_types"], json!([1]));
            let anywhere = command["name"] == "remind" || command["name"] == REMIND_ABOUT;
            let expected = if anywhere { json!([0, 1, 2]) } else { json!([1, 2]) };
            assert_eq!(command["contexts"], expected, "{}", command["name"]);
        }
    }

    /// SL-13: showing a setting is ephemeral, changing one is visible.
    #[test]
    fn showing_a_setting_is_ephemeral_and_changing_it_is_visible() {
        let manner = |name: &str, given| CommandSpec::find(name).unwrap().reply_mode(given);
        assert_eq!(
            [manner("config", 0), manner("config", 1), manner("config", 2)],
            [Ephemeral, Ephemeral, DeferredVisible]
        );
        assert_eq!([manner("model", 0), manner("model", 1)], [Ephemeral, DeferredVisible]);
    }
}
