//! Classifies text for the planner, from the `schedule` tool or `ollim-bot add`. It is read in the
//! same way as when the call runs, because the text decides whether it plans a reminder, adds a
//! routine or clears the inbox.

use std::sync::Arc;

use jiff::Zoned;

use super::own_command;
use super::tool_action::{Capability, Destination, ToolAction, tool_action};
use crate::attention::QuietCommand;
use crate::intent::{self, ChangeRequest, Intent, ItemRef};
use crate::label::{Label, Realm};
use crate::phrase::{Habits, ParsedPhrase, Timing};
use crate::schedule::PlannedJob;
use crate::tool::{ToolCall, ToolClass};

/// The tool and the command that take planner text.
const SCHEDULE_TOOL: &str = "schedule";
const ADD_COMMAND: &str = "add";

/// The time and the user's habits for reading planner text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannerClock {
    pub now: Zoned,
    /// The hours of words such as `morning`.
    pub habits: Habits,
    /// The routines that a text such as `cancel stretch` can mean.
    pub routines: Vec<Arc<PlannedJob>>,
    /// The routines that the last change in natural language planned, changed or cancelled; `undo`
    /// reverts that change.
    pub undone: Vec<Arc<PlannedJob>>,
}

/// Returns the action of `call` at the time of `clock`. Unlike [`tool_action`], it reads planner
/// text; without a clock such text counts as its worst meaning.
pub fn tool_action_at(call: &ToolCall, class: ToolClass, clock: Option<&PlannerClock>) -> ToolAction {
    let plans = matches!(class, ToolClass::Plans | ToolClass::Shell);
    match plans.then(|| planner_text(call)).flatten().zip(clock) {
        Some((words, clock)) => {
            let reads = Label::private(Realm::Tasks);
            ToolAction {
                capability: capability(&clock.read(&words), &call.name, clock),
                destination: Destination::Local,
                read_label: reads,
            }
        }
        None => tool_action(call, class),
    }
}

impl PlannerClock {
    fn read(&self, words: &str) -> Intent {
        intent::parse(words, &self.now, &self.habits)
    }
}

/// Returns the planner text of `call`; `None` if there is none or it is ambiguous.
pub(super) fn planner_text(call: &ToolCall) -> Option<String> {
    match call.name.as_str() {
        SCHEDULE_TOOL => call.input.text("words"),
        "Bash" => {
            let words = own_command::parse(&call.input.text("command")?)?;
            let (first, words) = words.split_first()?;
            // A flag could be read as a word or as an option.
            let is_plain = first == ADD_COMMAND && !words.iter().any(|word| word.starts_with('-'));
            is_plain.then(|| words.join(" "))
        }
        _ => None,
    }
}

/// Returns the capability of a change of these routines. A routine without tools only needs a
/// request of the user.
fn capability_over<'a>(mut routines: impl Iterator<Item = &'a Arc<PlannedJob>>) -> Capability {
    let mut any = false;
    let brings_tools = routines.any(|routine| {
        any = true;
        routine.brings_tools()
    });
    match (any, brings_tools) {
        (_, true) => Capability::Authority,
        (true, false) => Capability::Routine,
        (false, false) => Capability::Reversible,
    }
}

/// Returns the capability of a text with this meaning when it is passed to `tool`.
fn capability(meant: &Intent, tool: &str, clock: &PlannerClock) -> Capability {
    match meant {
        Intent::Plan(ParsedPhrase { when: Some(Timing::Recurring(_)), .. }) => Capability::Routine,
        // Like a routine without tools, quiet hours and focus need no approval only if the user
        // asked for them and no outside text can be the cause.
        Intent::Quiet(
            QuietCommand::Hours(_)
            | QuietCommand::QuietFor(_)
            | QuietCommand::Focus(..)
            | QuietCommand::Unfocus,
        ) => Capability::Routine,
        // If a reminder has the same name, the planner asks which one is meant. The reminder may
        // also have fired, and is then meant first.
        Intent::Change(ChangeRequest::Cancel(ItemRef::Named(words))) => {
            capability_over(clock.routines.iter().filter(|routine| routine.is_called(words)))
        }
        // `never mind` undoes the last change.
        Intent::Change(ChangeRequest::Undo | ChangeRequest::Cancel(ItemRef::Current)) => {
            capability_over(clock.undone.iter())
        }
        // The planner refuses a name; what is captured sets it.
        Intent::Change(ChangeRequest::SetUserName(_)) if tool != SCHEDULE_TOOL => Capability::Authority,
        Intent::Change(ChangeRequest::ClearInbox) => Capability::Destructive,
        Intent::Plan(_) | Intent::Quiet(_) | Intent::Change(_) => Capability::Reversible,
        Intent::SmallTalk(_)
        | Intent::Status
        | Intent::List(_)
        | Intent::Keep(_)
        | Intent::Untimed
        | Intent::Unclear(_) => Capability::Reversible,
    }
}

/// Returns the program's commands that are equivalent to `call` if it contains planner text.
/// Without a clock it could be any of them.
pub(crate) fn equivalent_commands(call: &ToolCall, clock: Option<&PlannerClock>) -> Vec<&'static str> {
    let gives_words = call.name == SCHEDULE_TOOL || planner_text(call).is_some();
    if !gives_words {
        return Vec::new();
    }
    let mut commands = vec!["ollim-bot reminder add x", "ollim-bot add x"];
    match (planner_text(call), clock) {
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
fn commands_for(meant: &Intent) -> &'static [&'static str] {
    match meant {
        Intent::Plan(ParsedPhrase { when: Some(Timing::Recurring(_)), .. }) => ROUTINE,
        Intent::Change(change) => match change {
            ChangeRequest::ClearInbox => CLEAR,
            ChangeRequest::Done(_) => DONE,
            ChangeRequest::Cancel(_) => CANCEL,
            ChangeRequest::Move { .. } => MOVE,
            ChangeRequest::Undo => UNDO,
            ChangeRequest::Pause(_) => PAUSE,
            ChangeRequest::Resume => RESUME,
            ChangeRequest::SetUserName(_) => NAME,
            ChangeRequest::LeaveUntimed => &[],
        },
        Intent::Quiet(ease) => match ease {
            QuietCommand::Hours(_) | QuietCommand::QuietFor(_) => QUIET,
            QuietCommand::Focus(..) | QuietCommand::Unfocus => FOCUS,
            QuietCommand::Lighter => LIGHTER,
            QuietCommand::Show | QuietCommand::Held => &[],
        },
        Intent::Plan(_)
        | Intent::SmallTalk(_)
        | Intent::Status
        | Intent::List(_)
        | Intent::Keep(_)
        | Intent::Untimed
        | Intent::Unclear(_) => &[],
    }
}
