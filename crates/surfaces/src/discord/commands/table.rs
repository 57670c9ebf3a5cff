//! Table of all slash commands and their registration payload.

use domain::effort::Effort;
use domain::model::SHORT_NAMES;
use domain::permission::Mode;
use domain::settings::Setting;
use serde_json::{Map, Value, json};

/// Name of the context-menu command for messages.
pub(super) const ABOUT: &str = "Remind me about this";

/// Name of the command that connects an account.
pub(super) const CONNECT: &str = "google-auth";

/// Option of `CONNECT_ACCOUNT` that names a service.
pub(super) const SERVICE: &str = "service";

/// Discord's limit for the choices of an option.
pub(super) const CHOICES: usize = 25;

/// A slash command.
pub(super) struct Command {
    /// Without the slash.
    pub(super) name: &'static str,
    does: &'static str,
    /// Options in order.
    pub(super) options: &'static [Opt],
    /// Reply mode without options.
    bare: Manner,
    /// Reply mode with options.
    told: Manner,
    places: Places,
}

/// An option of a command.
pub(super) struct Opt {
    pub(super) name: &'static str,
    does: &'static str,
    takes: Takes,
    need: Need,
}

/// Type of an option.
#[derive(Clone, Copy)]
enum Takes {
    Words,
    /// Text with autocompletion.
    Typed,
    /// A number above 0.
    Number,
    /// One of these pairs of label and value.
    OneOf(fn() -> Vec<(String, String)>),
}

/// Whether an option is required.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Must,
    May,
}

/// When a command is answered, and who sees the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// At once, visible to the user only.
    Glance,
    /// Deferred, visible to the user only.
    LookUp,
    /// At once, visible in the channel.
    List,
    /// Deferred, visible in the channel. Acknowledged before it is executed, so that a repeated
    /// interaction has no second effect.
    Work,
    /// Like `DeferredVisible`, but the result is shown by other messages; only the user sees what
    /// remains.
    Quiet,
}

/// Where a command can be run.
#[derive(Clone, Copy)]
enum Places {
    Direct,
    /// Also on servers, where replies are visible to the user only.
    Anywhere,
}

const fn may(name: &'static str, does: &'static str, takes: Takes) -> Opt {
    Opt { name, does, takes, need: Need::May }
}

const fn must(name: &'static str, does: &'static str, takes: Takes) -> Opt {
    Opt { name, does, takes, need: Need::Must }
}

const fn alone(name: &'static str, does: &'static str, manner: Manner) -> Command {
    given(name, does, &[], manner, manner)
}

const fn given(
    name: &'static str,
    does: &'static str,
    options: &'static [Opt],
    bare: Manner,
    told: Manner,
) -> Command {
    Command { name, does, options, bare, told, places: Places::Direct }
}

use Manner::{Glance, List, LookUp, Quiet, Work};

/// All commands. Approvals are answered with buttons, and replies with Discord's own feature.
pub(super) const COMMANDS: &[Command] = &[
    alone("now", "the one thing that comes next", List),
    given(
        "today",
        "what comes today, or on another day",
        &[may("day", "which day", Takes::Typed)],
        List,
        List,
    ),
    Command {
        places: Places::Anywhere,
        ..given(
            "remind",
            "plans something, in your own words",
            &[must("text", "what, and when: call the dentist tomorrow at 10", Takes::Typed)],
            Work,
            Work,
        )
    },
    given("reminders", "what i will remind you of", &[may("find", "a word of it", Takes::Typed)], List, List),
    given("routines", "what i do again and again", &[may("name", "one of them", Takes::Typed)], List, Work),
    given(
        "schedule",
        "the day or the week as a picture and a list",
        &[may("span", "how much of it", Takes::OneOf(spans))],
        List,
        List,
    ),
    given("pause", "lets all that repeats rest", &[may("until", "until when", Takes::Typed)], Work, Work),
    alone("resume", "lets all that repeats go on", Work),
    given(
        "quiet",
        "when nothing of mine rings: tells it, or sets it",
        &[may("hours", "23-7, off, or for 2h", Takes::Words)],
        Glance,
        Work,
    ),
    given(
        "focus",
        "keeps everything of mine until the time is up",
        &[may("minutes", "how long", Takes::Number), may("on", "on what; `off` ends it", Takes::Words)],
        Work,
        Work,
    ),
    alone("lighter", "moves the rest of today to tomorrow, but for what must be done", Work),
    alone("held", "what i kept for the next digest", Work),
    alone("updates", "what background runs left for us", List),
    alone("status", "what is in the inbox and what waits", Glance),
    given(
        "why",
        "how the last answer came about, or a ping, or what became of a job",
        &[may("what", "a number, or a job", Takes::Typed)],
        LookUp,
        LookUp,
    ),
    alone("cost", "what was spent today", LookUp),
    given(
        "fork",
        "steps aside: what is said there stays out of our conversation",
        &[may("topic", "what about", Takes::Words)],
        Quiet,
        Quiet,
    ),
    alone("save", "makes the side conversation the main one", Quiet),
    given(
        "report",
        "leaves the side conversation with a summary",
        &[may("summary", "in your own words", Takes::Words)],
        Quiet,
        Quiet,
    ),
    alone("exit", "leaves the side conversation and keeps nothing", Quiet),
    alone("stop", "stops the answer", Quiet),
    alone("interrupt", "stops the answer", Quiet),
    alone("retry", "tries again what waits for a key of the model", Quiet),
    given(
        "compact",
        "lets a summary stand for what was said so far",
        &[may("instructions", "what to mind", Takes::Words)],
        Work,
        Work,
    ),
    alone("undo", "takes back the last /compact, /save or /clear", Work),
    alone("clear", "starts our conversation over, after you said so once more", List),
    given("model", "tells or chooses who answers", &[may("name", "who", Takes::OneOf(models))], Glance, Work),
    given(
        "thinking",
        "tells or chooses how much i think",
        &[may("mode", "how much", Takes::OneOf(ways_to_think))],
        Glance,
        Work,
    ),
    given(
        "effort",
        "shows or sets how much work goes into an answer",
        &[may("level", "how much", Takes::OneOf(efforts))],
        Glance,
        Work,
    ),
    given(
        "permissions",
        "tells or chooses what i do without asking",
        &[may("mode", "which", Takes::OneOf(modes))],
        Glance,
        Work,
    ),
    given(
        "revoke",
        "tells what is always allowed, or takes one of it back",
        &[may("number", "which", Takes::Number)],
        Glance,
        Work,
    ),
    given(
        "ping-budget",
        "how many pings are left, or how many there can be and how fast one comes back",
        &[
            may("capacity", "the most pings", Takes::Number),
            may("refill_rate", "the minutes until there is one more", Takes::Number),
        ],
        Glance,
        Work,
    ),
    given(
        "config",
        "tells the settings, tells one, or changes one for good",
        &[
            may("key", "which setting", Takes::OneOf(settings)),
            may("value", "what it should be", Takes::Typed),
        ],
        Glance,
        Work,
    ),
    given(
        "name",
        "tells what i call you, or changes it",
        &[may("name", "what you are called", Takes::Words)],
        Glance,
        Work,
    ),
    given(
        CONNECT,
        "Connect Google for tasks, calendar and mail, or for one of them",
        &[may(SERVICE, "connect this one alone", Takes::OneOf(google_services))],
        LookUp,
        LookUp,
    ),
    given(
        "login",
        "signs the claude program in: a link, and the code you get there",
        &[may("code", "what you got there; `again` signs in anew", Takes::Words)],
        LookUp,
        LookUp,
    ),
    alone("update", "makes me the newest version, if there is one", Work),
    alone("restart", "starts me again, when nothing goes on", Work),
    alone("help", "what i can do here", Glance),
];

impl Command {
    /// Finds a command by name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.name == name)
    }

    /// Returns the reply mode for the number of given options.
    pub(super) fn manner(&self, given: usize) -> Manner {
        match (self.name, given) {
            (_, 0) => self.bare,
            // A key alone only shows the setting.
            ("config", 1) => Glance,
            (_, _) => self.told,
        }
    }

    fn value(&self) -> Value {
        let options: Value = self.options.iter().map(Opt::value).collect();
        let mut value = json!({ "type": 1, "name": self.name, "description": self.does, "options": options });
        place(&mut value, self.places);
        value
    }
}

impl Opt {
    fn value(&self) -> Value {
        let mut value = Map::new();
        let mut put = |name: &str, what: Value| value.insert(name.to_owned(), what);
        put("name", self.name.into());
        put("description", self.does.into());
        put("required", (self.need == Need::Must).into());
        put("type", if matches!(self.takes, Takes::Number) { 4.into() } else { 3.into() });
        match self.takes {
            Takes::Words => {}
            Takes::Typed => drop(put("autocomplete", true.into())),
            Takes::Number => drop(put("min_value", 1.into())),
            Takes::OneOf(choices) => {
                let one = |(name, value): &(String, String)| json!({ "name": name, "value": value });
                put("choices", choices().iter().map(one).collect());
            }
        }
        Value::Object(value)
    }
}

/// SL-1: installs for the user's account, not for servers.
fn place(value: &mut Value, places: Places) {
    value["integration_types"] = json!([1]);
    value["contexts"] = match places {
        Places::Direct => json!([1, 2]),
        Places::Anywhere => json!([0, 1, 2]),
    };
}

/// Returns the payload that registers all commands.
pub(super) fn table() -> Value {
    let mut about = json!({ "type": 3, "name": ABOUT });
    place(&mut about, Places::Anywhere);
    COMMANDS.iter().map(Command::value).chain([about]).collect()
}

fn same(word: &str) -> (String, String) {
    (word.to_owned(), word.to_owned())
}

fn google_services() -> Vec<(String, String)> {
    ["tasks", "calendar", "mail"].map(same).to_vec()
}

fn spans() -> Vec<(String, String)> {
    ["day", "week"].map(same).to_vec()
}

/// SL-8: choices for the model.
fn models() -> Vec<(String, String)> {
    SHORT_NAMES.iter().rev().chain(&["default"]).map(|name| same(name)).collect()
}

/// SL-9: choices for thinking.
fn ways_to_think() -> Vec<(String, String)> {
    let budget = |thousand: u32| (format!("{thousand}k budget"), (thousand * 1_000).to_string());
    vec![same("auto"), same("off"), same("adaptive"), budget(8), budget(32), budget(64)]
}

fn efforts() -> Vec<(String, String)> {
    Effort::ALL.map(Effort::as_str).into_iter().chain(["default"]).map(same).collect()
}

/// SL-11: choices for the permission mode.
fn modes() -> Vec<(String, String)> {
    Mode::ALL.map(|mode| same(mode.as_str())).to_vec()
}

/// SL-13: the settings that can be shown or changed.
fn settings() -> Vec<(String, String)> {
    Setting::ALL.map(|setting| same(setting.shown())).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SL-1, SL-4..SL-13: every command of the other surfaces exists, except those that Discord has
    /// its own way for.
    #[test]
    fn every_command_of_the_other_surfaces_is_here() {
        let own_way = ["reply", "allow", "deny", "always"];
        let list = domain::command::list();
        let elsewhere = list.lines().filter_map(|line| line.strip_prefix("  /")?.split(' ').next());
        for name in elsewhere.filter(|name| !own_way.contains(name)) {
            assert!(Command::named(name).is_some(), "/{name} is missing");
        }
        assert!(Command::named("interrupt").is_some());
    }

    /// SL-1: commands are installed for the user's account and run in direct messages; capturing
    /// works anywhere.
    #[test]
    fn commands_are_for_the_humans_account() {
        let table = table();
        for command in table.as_array().unwrap() {
            assert_eq!(command["integration_types"], json!([1]));
            let anywhere = command["name"] == "remind" || command["name"] == ABOUT;
            let expected = if anywhere { json!([0, 1, 2]) } else { json!([1, 2]) };
            assert_eq!(command["contexts"], expected, "{}", command["name"]);
        }
    }

    /// SL-13: showing a setting is ephemeral, changing one is visible.
    #[test]
    fn what_only_tells_is_a_glance_and_what_changes_stays() {
        let manner = |name: &str, given| Command::named(name).unwrap().manner(given);
        assert_eq!([manner("config", 0), manner("config", 1), manner("config", 2)], [Glance, Glance, Work]);
        assert_eq!([manner("model", 0), manner("model", 1)], [Glance, Work]);
    }
}
