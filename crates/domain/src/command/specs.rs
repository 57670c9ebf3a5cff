//! The table of all commands with names, arguments, help texts and parsers.

use super::{Command, LOGIN, Look, REPLY};
use crate::approval::{Reply, Verdict};
use crate::assistant::{Choice, Question, Rein, Request, Reshape, Step, Way};
use crate::attention::Ease;
use crate::effort::EffortChoice;
use crate::explanation::Subject;
use crate::ping_budget::Pace;
use crate::record::SurfaceName;
use crate::renewal::Renew;
use crate::settings::Setting;
use crate::signing_in::SignIn;

/// A group of related commands.
pub(super) struct Group {
    pub title: &'static str,
    pub specs: &'static [Spec],
}

/// The definition of a command.
pub(super) struct Spec {
    /// The name with the slash.
    pub name: &'static str,
    pub also: &'static [&'static str],
    /// The arguments as shown in the help text.
    pub takes: &'static str,
    /// The help text.
    pub does: &'static str,
    /// Parses the arguments; the error is a message for the user.
    pub read: fn(&str) -> Result<Command, String>,
}

pub(super) const GROUPS: [Group; 6] = [
    Group { title: "our conversation", specs: &TALK },
    Group { title: "a side conversation", specs: &ASIDE },
    Group { title: "what i may do", specs: &LEAVE },
    Group { title: "what happened", specs: &PAST },
    Group { title: "how much reaches you", specs: &CALM },
    Group { title: "how i am", specs: &CHOICES },
];

const TALK: [Spec; 6] = [
    Spec {
        name: "/stop",
        also: &["/interrupt"],
        takes: "",
        does: "stops the answer",
        read: |_| ask(Request::Rein(Rein::Stop)),
    },
    Spec {
        name: REPLY,
        also: &[],
        takes: "NUMBER WORDS",
        does: "replies to the message with that number",
        read: |_| {
            Err(format!("write `{REPLY}`, the number of a message, and your words: `{REPLY} 17 yes, do`."))
        },
    },
    Spec {
        name: "/retry",
        also: &[],
        takes: "",
        does: "tries again what waits for a key of the model",
        read: |_| ask(Request::Rein(Rein::Retry)),
    },
    Spec {
        name: "/compact",
        also: &[],
        takes: "[what to mind]",
        does: "lets a summary stand for what was said so far",
        read: |words| ask(Request::Reshape(Reshape::Compact(words.to_owned()))),
    },
    Spec {
        name: "/undo",
        also: &[],
        takes: "",
        does: "takes back the last /compact, /save or /clear, for 30 days",
        read: |_| ask(Request::Reshape(Reshape::Undo)),
    },
    Spec {
        name: "/clear",
        also: &[],
        takes: "",
        does: "starts our conversation over",
        read: |_| ask(Request::Reshape(Reshape::Clear)),
    },
];

const ASIDE: [Spec; 4] = [
    Spec {
        name: "/fork",
        also: &[],
        takes: "[topic]",
        does: "steps aside: what is said there stays out of our conversation",
        read: |words| ask(Request::Step(Step::Aside(words.to_owned()))),
    },
    Spec {
        name: "/save",
        also: &[],
        takes: "",
        does: "makes the side conversation the main one",
        read: |_| ask(Request::Step(Step::Back(Way::Save))),
    },
    Spec {
        name: "/report",
        also: &[],
        takes: "[summary]",
        does: "leaves the side conversation with a summary for the main one",
        read: |words| ask(Request::Step(Step::Back(Way::Report(words.to_owned())))),
    },
    Spec {
        name: "/exit",
        also: &[],
        takes: "",
        does: "leaves the side conversation and keeps nothing",
        read: |_| ask(Request::Step(Step::Back(Way::Drop))),
    },
];

const LEAVE: [Spec; 5] = [
    Spec {
        name: "/allow",
        also: &[],
        takes: "[number]",
        does: "lets me do what i asked for, this once",
        read: |words| approve(words, Verdict::Allow),
    },
    Spec {
        name: "/deny",
        also: &[],
        takes: "[number]",
        does: "keeps me from what i asked for",
        read: |words| approve(words, Verdict::Deny),
    },
    Spec {
        name: "/always",
        also: &[],
        takes: "[number]",
        does: "lets me do it, and the same again for 30 days or until /revoke or /clear",
        read: |words| approve(words, Verdict::Always),
    },
    Spec {
        name: "/permissions",
        also: &[],
        takes: "[mode]",
        does: "chooses what i do without asking, or tells what that is and what is always allowed",
        read: |words| ask(Request::Choose(Choice::Permissions(words.to_owned()))),
    },
    Spec {
        name: "/revoke",
        also: &[],
        takes: "[number]",
        does: "takes an /always back, or tells which there are",
        read: |words| ask(Request::Choose(Choice::Revoke(words.to_owned()))),
    },
];

const PAST: [Spec; 4] = [
    Spec {
        name: "/updates",
        also: &[],
        takes: "",
        does: "tells what background runs left for us",
        read: |_| ask(Request::Tell(Question::Reports)),
    },
    Spec {
        name: "/status",
        also: &[],
        takes: "",
        does: "tells what is in the inbox and what waits",
        read: |_| ask(Request::Tell(Question::Status)),
    },
    Spec {
        name: "/cost",
        also: &[],
        takes: "",
        does: "tells what was spent today",
        read: |_| Ok(Command::Look(Look::Cost)),
    },
    Spec {
        name: "/why",
        also: &[],
        takes: "[number or job]",
        does: "tells how the last answer came about, or a ping or an answer by its number, or what became of a job",
        read: why,
    },
];

const CALM: [Spec; 4] = [
    Spec {
        name: "/quiet",
        also: &[],
        takes: "[23-7, off, for 2h]",
        does: "sets the hours in which nothing of mine rings, or a while of quiet, or tells them",
        read: |words| Ease::quiet(words).map(Choice::Ease).map(choose),
    },
    Spec {
        name: "/focus",
        also: &[],
        takes: "[minutes] [on what]",
        does: "keeps everything of mine until the time is up; `off` ends it",
        read: |words| Ease::focus(words).map(Choice::Ease).map(choose),
    },
    Spec {
        name: "/lighter",
        also: &[],
        takes: "",
        does: "moves the rest of today to tomorrow, but for what says `must`, `important` or `urgent`",
        read: |_| Ok(choose(Choice::Ease(Ease::Lighter))),
    },
    Spec {
        name: "/held",
        also: &[],
        takes: "",
        does: "tells now what i kept for the next digest",
        read: |_| Ok(choose(Choice::Ease(Ease::Held))),
    },
];

const CHOICES: [Spec; 10] = [
    Spec {
        name: "/model",
        also: &[],
        takes: "[name]",
        does: "chooses the model of the next answers, or tells which it is",
        read: |words| ask(Request::Choose(Choice::Model(words.to_owned()))),
    },
    Spec {
        name: "/thinking",
        also: &[],
        takes: "[auto, off, adaptive]",
        does: "chooses how much i think until i start again, or tells how much it is",
        read: thinking,
    },
    Spec {
        name: "/effort",
        also: &[],
        takes: "[level]",
        does: "shows how much work goes into an answer, or sets it until i start again",
        read: effort,
    },
    Spec {
        name: "/ping-budget",
        also: &[],
        takes: "[pings] [minutes]",
        does: "tells how many pings are left, or sets the most and how fast one comes back",
        read: |words| Pace::read(words).map(Choice::Pings).map(choose),
    },
    Spec {
        name: "/config",
        also: &[],
        takes: "[setting] [value]",
        does: "tells the settings, tells one, or changes one for good",
        read: config,
    },
    Spec {
        name: "/name",
        also: &[],
        takes: "[name]",
        does: "tells what i call you, or changes it",
        read: |words| ask(Request::Choose(Choice::Setting(Setting::Name, words.to_owned()))),
    },
    Spec {
        name: LOGIN,
        also: &[],
        takes: "[code, again]",
        does: "gives you a link that signs the claude program in, and takes the code you get there",
        read: |words| SignIn::read(words).map(Command::SignIn),
    },
    Spec {
        name: "/update",
        also: &[],
        takes: "",
        does: "makes me the newest version, if there is one and i run from its source",
        read: |_| Ok(Command::Renew(Renew::Update)),
    },
    Spec {
        name: "/restart",
        also: &[],
        takes: "",
        does: "starts me again, when nothing goes on",
        read: |_| Ok(Command::Renew(Renew::Restart)),
    },
    Spec { name: "/help", also: &[], takes: "", does: "tells these commands", read: |_| Ok(Command::Help) },
];

fn ask(request: Request) -> Result<Command, String> {
    Ok(Command::Ask(request))
}

fn choose(choice: Choice) -> Command {
    Command::Ask(Request::Choose(choice))
}

fn thinking(words: &str) -> Result<Command, String> {
    let way = (!words.is_empty()).then(|| words.parse()).transpose();
    way.map(|way| choose(Choice::Thinking(way))).map_err(|bad| format!("{bad}."))
}

fn effort(words: &str) -> Result<Command, String> {
    let choice = EffortChoice::read(words).map_err(|bad| bad.to_string())?;
    Ok(choose(Choice::Effort(choice)))
}

/// SL-13: shows all settings, shows one, or changes one.
fn config(words: &str) -> Result<Command, String> {
    if words.is_empty() {
        return ask(Request::Tell(Question::Settings));
    }
    let (key, value) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let setting = Setting::named(key).map_err(|bad| bad.to_string())?;
    match value.trim() {
        "" => ask(Request::Tell(Question::Setting(setting))),
        value => Ok(choose(Choice::Setting(setting, value.to_owned()))),
    }
}

fn why(words: &str) -> Result<Command, String> {
    Subject::read(words).map(|subject| Command::Look(Look::Why(subject)))
}

/// The surface is a placeholder, which [`parse_on`](super::parse_on) replaces.
fn approve(which: &str, verdict: Verdict) -> Result<Command, String> {
    ask(Request::Approve(Reply { which: which.to_owned(), verdict, by: SurfaceName::Terminal }))
}
