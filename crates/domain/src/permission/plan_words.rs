//! Classifies text for the planner, from the `schedule` tool or `ollim-bot add`. It is read in the
//! same way as when the call runs, because the text decides whether it plans a reminder, adds a
//! routine or clears the inbox.

use std::sync::Arc;

use jiff::Zoned;

use super::deed::{Deed, Power, To, deed};
use super::own_command;
use crate::attention::Ease;
use crate::brain::{self, Change, Meant, Which};
use crate::label::{Label, Realm};
use crate::phrase::{Habits, Reading, When};
use crate::schedule::Planned;
use crate::tool::{Class, ToolCall};

/// The tool and the command that take planner text.
const SCHEDULE: &str = "schedule";
const ADD: &str = "add";

/// The time and the user's habits for reading planner text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    pub now: Zoned,
    /// The hours of words such as `morning`.
    pub habits: Habits,
    /// The routines that words such as `cancel stretch` can mean.
    pub routines: Vec<Arc<Planned>>,
    /// The routines that the last change in plain words planned, changed or cancelled. `undo` is about them.
    pub undone: Vec<Arc<Planned>>,
}

/// Returns the action of `call` at the time of `clock`. Unlike [`tool_action`], it reads planner
/// text; without a clock such text counts as its worst meaning.
pub fn deed_at(call: &ToolCall, class: Class, clock: Option<&Clock>) -> Deed {
    let plans = matches!(class, Class::Plans | Class::Shell);
    match plans.then(|| said(call)).flatten().zip(clock) {
        Some((words, clock)) => {
            let reads = Label::private(Realm::Tasks);
            Deed { power: power(&clock.read(&words), &call.name, clock), to: To::Nobody, reads }
        }
        None => deed(call, class),
    }
}

impl Clock {
    fn read(&self, words: &str) -> Meant {
        brain::read(words, &self.now, &self.habits)
    }
}

/// Returns the planner text of `call`; `None` if there is none or it is ambiguous.
pub(super) fn said(call: &ToolCall) -> Option<String> {
    match call.name.as_str() {
        SCHEDULE => call.input.text("words"),
        "Bash" => {
            let words = own_command::words(&call.input.text("command")?)?;
            let (first, words) = words.split_first()?;
            // A flag could be read as a word or as an option.
            let is_plain = first == ADD && !words.iter().any(|word| word.starts_with('-'));
            is_plain.then(|| words.join(" "))
        }
        _ => None,
    }
}

/// Returns the power of a change of these routines: a routine without tools is the user's own to begin and to end in words.
fn power_over<'a>(mut routines: impl Iterator<Item = &'a Arc<Planned>>) -> Power {
    let mut any = false;
    let brings_tools = routines.any(|routine| {
        any = true;
        routine.brings_tools()
    });
    match (any, brings_tools) {
        (_, true) => Power::Authority,
        (true, false) => Power::Routine,
        (false, false) => Power::Reversible,
    }
}

/// Returns the power that words with this meaning have when they are given to `tool`.
fn power(meant: &Meant, tool: &str, clock: &Clock) -> Power {
    match meant {
        Meant::Plan(Reading { when: Some(When::Repeats(_)), .. }) => Power::Routine,
        // Like a routine without tools, quiet hours and focus are free only where the user asked for something and nothing
        // from outside can be behind it.
        Meant::Ease(Ease::Hours(_) | Ease::QuietFor(_) | Ease::Focus(..) | Ease::Unfocus) => Power::Routine,
        // If a reminder is called so too, the planner asks which one is meant. It may also have rung and come first.
        Meant::Change(Change::Cancel(Which::Called(words))) => {
            power_over(clock.routines.iter().filter(|routine| routine.is_called(words)))
        }
        // `never mind` takes the last change back.
        Meant::Change(Change::Undo | Change::Cancel(Which::This)) => power_over(clock.undone.iter()),
        // The planner refuses a name; what is captured sets it.
        Meant::Change(Change::Name(_)) if tool != SCHEDULE => Power::Authority,
        Meant::Change(Change::ClearInbox) => Power::Destructive,
        Meant::Plan(_) | Meant::Ease(_) | Meant::Change(_) => Power::Reversible,
        Meant::Talk(_)
        | Meant::Status
        | Meant::List(_)
        | Meant::Keep(_)
        | Meant::Untimed
        | Meant::Unclear(_) => Power::Reversible,
    }
}

/// Returns the program's commands that are equivalent to `call` if it contains planner text.
/// Without a clock it could be any of them.
pub(crate) fn same_commands(call: &ToolCall, clock: Option<&Clock>) -> Vec<&'static str> {
    let gives_words = call.name == SCHEDULE || said(call).is_some();
    if !gives_words {
        return Vec::new();
    }
    let mut commands = vec!["ollim-bot reminder add x", "ollim-bot add x"];
    match (said(call), clock) {
        (Some(words), Some(clock)) => commands.extend(commands_for(&clock.read(&words))),
        (Some(_), None) => commands.extend(ALL.iter().flat_map(|commands| commands.iter())),
        // Without text only the tool of the call is known.
        (None, _) => {}
    }
    commands
}

const ROUTINE: &[&str] = &["ollim-bot routine add x"];
const CLEAR: &[&str] = &["ollim-bot inbox clear", "ollim-bot inbox remove x"];
const DONE: &[&str] = &["ollim-bot done x", "ollim-bot inbox remove x"];
const CANCEL: &[&str] =
    &["ollim-bot reminder cancel x", "ollim-bot routine cancel x", "ollim-bot inbox remove x"];
const MOVE: &[&str] = &["ollim-bot move x", "ollim-bot snooze x"];
const UNDO: &[&str] = &["ollim-bot undo"];
const PAUSE: &[&str] = &["ollim-bot pause", "ollim-bot pause x", "ollim-bot routine pause x"];
const RESUME: &[&str] = &["ollim-bot resume", "ollim-bot routine resume x"];
const QUIET: &[&str] = &["ollim-bot quiet x", "ollim-bot config quiet x"];
const FOCUS: &[&str] = &["ollim-bot focus", "ollim-bot focus x"];
const LIGHTER: &[&str] = &["ollim-bot lighter"];
const NAME: &[&str] = &["ollim-bot config name x"];
const ALL: [&[&str]; 12] =
    [ROUTINE, CLEAR, DONE, CANCEL, MOVE, UNDO, PAUSE, RESUME, QUIET, FOCUS, LIGHTER, NAME];

/// Returns the changing commands that are equivalent to the meaning of a text.
fn commands_for(meant: &Meant) -> &'static [&'static str] {
    match meant {
        Meant::Plan(Reading { when: Some(When::Repeats(_)), .. }) => ROUTINE,
        Meant::Change(change) => match change {
            Change::ClearInbox => CLEAR,
            Change::Done(_) => DONE,
            Change::Cancel(_) => CANCEL,
            Change::Move { .. } => MOVE,
            Change::Undo => UNDO,
            Change::Pause(_) => PAUSE,
            Change::Resume => RESUME,
            Change::Name(_) => NAME,
            Change::Leave => &[],
        },
        Meant::Ease(ease) => match ease {
            Ease::Hours(_) | Ease::QuietFor(_) => QUIET,
            Ease::Focus(..) | Ease::Unfocus => FOCUS,
            Ease::Lighter => LIGHTER,
            Ease::Tell | Ease::Held => &[],
        },
        Meant::Plan(_)
        | Meant::Talk(_)
        | Meant::Status
        | Meant::List(_)
        | Meant::Keep(_)
        | Meant::Untimed
        | Meant::Unclear(_) => &[],
    }
}
