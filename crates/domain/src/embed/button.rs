//! The buttons of an embed and their actions.

use super::cut;
use crate::approval::{ApprovalId, Verdict};
use crate::card::{Act, CardId};
use crate::post::PostKey;
use crate::schedule::ItemId;
use crate::sent::InquiryId;

/// The most characters on a button.
pub const LABEL_CHARS: usize = 80;
/// The most characters of a button id that a surface sends back.
pub const PRESS_CHARS: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    pub label: String,
    pub style: Style,
    pub action: Action,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// A positive action.
    Success,
    /// A destructive action.
    Danger,
    /// The recommended action.
    Primary,
    /// One of several actions.
    #[default]
    Secondary,
}

/// The action of a button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Completes the task with this id.
    TaskDone(String),
    /// Deletes the task with this id.
    TaskDelete(String),
    /// Deletes the calendar event with this id.
    EventDelete(String),
    /// Asks the assistant this, before it is stored under an id.
    Ask(String),
    /// Asks the assistant the prompt that is stored under this id.
    Inquire(InquiryId),
    /// Hides the message.
    Dismiss,
    /// Ends the fork in this way.
    Leave(Exiting),
    /// Acts on the card of a reminder.
    Card(CardId, Act),
    /// Acts on the card that was posted under this key. No button has this action.
    Posted(PostKey, Act),
    /// Marks the message as not useful. No button has this action.
    Dislike,
    /// Answers an approval.
    Answer(ApprovalId, Verdict),
    /// Answers all approvals of the step that begins with this one.
    AnswerStep(ApprovalId, Verdict),
    /// An unknown action, as it was written.
    Unknown(String),
}

/// The three exits of a fork, as buttons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exiting {
    /// The fork becomes the main conversation.
    Save,
    /// A report is left for main.
    Report,
    Drop,
}

/// Returns the button id of an action.
fn pressing(action: &str) -> String {
    let data = if action.contains(':') { "" } else { ":_" };
    cut(&format!("act:{action}{data}"), PRESS_CHARS).to_owned()
}

/// I5: Returns a text of the model that cannot be read as an action of the program's own buttons,
/// such as an approval.
fn unknown(text: &str) -> String {
    match Action::pressed(&pressing(text)) {
        Some(Action::Unknown(_)) => text.to_owned(),
        Some(_) | None => "unknown".to_owned(),
    }
}

/// The prefix of a stored prompt's id. An action that a model writes is never parsed as one.
const INQUIRY: &str = "inquiry";

impl Button {
    /// Returns the button with its label cut to the limit.
    #[must_use]
    pub fn fitted(self) -> Self {
        Self { label: cut(&self.label, LABEL_CHARS).to_owned(), ..self }
    }
}

impl Style {
    pub const ALL: [Self; 4] = [Self::Success, Self::Danger, Self::Primary, Self::Secondary];

    /// Returns the style with this name, or the default.
    pub fn read(name: &str) -> Self {
        Self::ALL.into_iter().find(|style| style.name() == name.trim()).unwrap_or_default()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Danger => "danger",
            Self::Primary => "primary",
            Self::Secondary => "secondary",
        }
    }
}

impl Action {
    /// Parses an action that a model wrote, such as `task_done:<id>`.
    pub fn read(text: &str) -> Self {
        let owned = |rest: &str| rest.trim().to_owned();
        match text.trim().split_once(':') {
            Some(("task_done", id)) if !id.trim().is_empty() => Self::TaskDone(owned(id)),
            Some(("task_del", id)) if !id.trim().is_empty() => Self::TaskDelete(owned(id)),
            Some(("event_del", id)) if !id.trim().is_empty() => Self::EventDelete(owned(id)),
            Some(("agent", prompt)) if !prompt.trim().is_empty() => Self::Ask(owned(prompt)),
            None if text.trim() == "dismiss" => Self::Dismiss,
            Some(_) | None => Self::Unknown(owned(text)),
        }
    }

    /// Parses an action that is stored with an embed.
    pub fn kept(text: &str) -> Self {
        match text.split_once(':') {
            Some((INQUIRY, id)) => Self::Inquire(InquiryId(id.to_owned())),
            Some(_) | None => Self::read(text),
        }
    }

    /// Returns the stored text: like the model writes it, except for stored prompts.
    pub fn to_text(&self) -> String {
        match self {
            Self::TaskDone(id) => format!("task_done:{id}"),
            Self::TaskDelete(id) => format!("task_del:{id}"),
            Self::EventDelete(id) => format!("event_del:{id}"),
            Self::Ask(prompt) => format!("agent:{prompt}"),
            Self::Inquire(id) => format!("{INQUIRY}:{id}"),
            Self::Dismiss => "dismiss".to_owned(),
            Self::Dislike => "dislike".to_owned(),
            Self::Leave(Exiting::Save) => "fork_save".to_owned(),
            Self::Leave(Exiting::Report) => "fork_report".to_owned(),
            Self::Leave(Exiting::Drop) => "fork_exit".to_owned(),
            Self::Card(card, act) => format!("{}:{card}", act_name(act)),
            Self::Posted(key, act) => format!("{}:{key}", act_name(act)),
            Self::Answer(approval, verdict) => format!("{}:{}", verdict_name(*verdict), approval.0),
            Self::AnswerStep(step, verdict) => format!("all_{}:{}", verdict_name(*verdict), step.0),
            Self::Unknown(text) => text.clone(),
        }
    }

    /// XB-6: Returns the id that a surface sends back; `None` if the action has no button.
    pub fn press(&self) -> Option<String> {
        let text = match self {
            Self::Ask(_) | Self::Posted(..) | Self::Dislike => return None,
            Self::Inquire(id) => format!("agent:{id}"),
            Self::TaskDone(_) | Self::TaskDelete(_) | Self::EventDelete(_) => self.to_text(),
            Self::Card(..) | Self::Answer(..) | Self::AnswerStep(..) => self.to_text(),
            Self::Dismiss | Self::Leave(_) => self.to_text(),
            Self::Unknown(text) => unknown(text),
        };
        Some(pressing(&text))
    }

    /// XB-7: Parses the id that a surface sent back; `None` if it is not from a button of the
    /// program.
    pub fn pressed(press: &str) -> Option<Self> {
        let (action, data) = press.strip_prefix("act:")?.split_once(':')?;
        let named = |c: char| c.is_ascii_lowercase() || c == '_';
        if action.is_empty() || !action.chars().all(named) || data.is_empty() {
            return None;
        }
        Some(match action {
            "agent" => Self::Inquire(InquiryId(data.to_owned())),
            "dismiss" => Self::Dismiss,
            "fork_save" => Self::Leave(Exiting::Save),
            "fork_report" => Self::Leave(Exiting::Report),
            "fork_exit" => Self::Leave(Exiting::Drop),
            "task_done" | "task_del" | "event_del" => Self::read(&format!("{action}:{data}")),
            _ => card(action, data)
                .or_else(|| answer(action, data))
                .unwrap_or_else(|| Self::Unknown(action.to_owned())),
        })
    }
}

const ACTS: [(&str, Act); 8] = [
    ("rem_done", Act::Done),
    ("rem_later", Act::Later),
    ("rem_split", Act::Split),
    ("rem_plan", Act::Plan),
    ("rem_undo", Act::Undo),
    ("rem_tomorrow", Act::NotToday),
    ("rem_tonight", Act::Tonight),
    ("rem_drop", Act::Drop),
];
const MOVE: &str = "rem_move";
const PICK: &str = "rem_pick";
const VERDICTS: [(&str, Verdict); 3] =
    [("yes", Verdict::Allow), ("always", Verdict::Always), ("no", Verdict::Deny)];

fn act_name(act: &Act) -> &'static str {
    let other = if matches!(act, Act::Pick(_)) { PICK } else { MOVE };
    ACTS.iter().find(|(_, known)| known == act).map_or(other, |(name, _)| name)
}

fn verdict_name(verdict: Verdict) -> &'static str {
    VERDICTS.iter().find(|(_, known)| *known == verdict).map_or("no", |(name, _)| name)
}

fn card(action: &str, data: &str) -> Option<Action> {
    let card = CardId(ItemId::parse(data).ok()?);
    let act = ACTS.iter().find(|(name, _)| *name == action).map(|(_, act)| act.clone());
    let chosen = || match action {
        MOVE => Some(Act::Move(String::new())),
        PICK => Some(Act::Pick(String::new())),
        _ => None,
    };
    act.or_else(chosen).map(|act| Action::Card(card, act))
}

fn answer(action: &str, data: &str) -> Option<Action> {
    let approval = ApprovalId(data.parse().ok()?);
    let (name, all) = action.strip_prefix("all_").map_or((action, false), |name| (name, true));
    let (_, verdict) = VERDICTS.iter().find(|(known, _)| *known == name)?;
    Some(if all { Action::AnswerStep(approval, *verdict) } else { Action::Answer(approval, *verdict) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TL-3, TL-5: The four actions are parsed, and other texts are kept unchanged.
    #[test]
    fn an_action_is_read_and_written_back() {
        let check = |text: &str, action: Action| {
            assert_eq!(Action::read(text), action);
            assert_eq!(Action::read(&action.to_text()), action);
        };
        check("task_done:abc", Action::TaskDone("abc".to_owned()));
        check("task_del:abc", Action::TaskDelete("abc".to_owned()));
        check("event_del:a:b", Action::EventDelete("a:b".to_owned()));
        check("agent: go on: now", Action::Ask("go on: now".to_owned()));
        check("agent:", Action::Unknown("agent:".to_owned()));
        check("dismiss", Action::Dismiss);
        check("fork_save:_", Action::Unknown("fork_save:_".to_owned()));
        check("inquiry:0a1b2c3d", Action::Unknown("inquiry:0a1b2c3d".to_owned()));
        assert_eq!(Style::read("danger"), Style::Danger);
        assert_eq!(Style::read("sparkling"), Style::Secondary);
    }

    /// XB-6, XB-7, XB-11: A button's id is parsed back into its action.
    #[test]
    fn a_press_is_read_as_what_the_button_means() {
        let inquiry = Action::Inquire(InquiryId("0a1b2c3d".to_owned()));
        let check = |action: Action, press: &str| {
            assert_eq!(action.press().as_deref(), Some(press));
            assert_eq!(Action::pressed(press), Some(action));
        };
        check(inquiry.clone(), "act:agent:0a1b2c3d");
        check(Action::read("task_done:abc"), "act:task_done:abc");
        check(Action::read("task_del:a:b"), "act:task_del:a:b");
        check(Action::read("event_del:abc"), "act:event_del:abc");
        check(Action::read("dismiss"), "act:dismiss:_");
        check(Action::Leave(Exiting::Save), "act:fork_save:_");
        check(Action::Leave(Exiting::Report), "act:fork_report:_");
        check(Action::Leave(Exiting::Drop), "act:fork_exit:_");
        assert_eq!(Action::read("snooze").press().as_deref(), Some("act:snooze:_"));
        assert_eq!(Action::pressed("act:snooze:_"), Some(Action::Unknown("snooze".to_owned())));
        assert_eq!(Action::read("agent:go on").press(), None, "it has no number yet");
        for forged in ["always:8", "yes:1", "fork_exit:_", "fork_save", "rem_done:a1b2c3d4", "Odd Words"] {
            assert_eq!(Action::read(forged).press().as_deref(), Some("act:unknown:_"), "{forged}");
        }
        assert_eq!(Action::kept(&inquiry.to_text()), inquiry);
        for wrong in ["", "act:", "act:dismiss", "act:dismiss:", "act:Dismiss:_", "act::_", "dismiss:_"] {
            assert_eq!(Action::pressed(wrong), None, "{wrong}");
        }
        let long = Action::read(&format!("task_done:{}", "é".repeat(200)));
        assert_eq!(long.press().unwrap().chars().count(), PRESS_CHARS);
    }

    /// XB-4: A label is cut to 80 characters.
    #[test]
    fn a_long_label_is_cut() {
        let button = Button { label: "é".repeat(100), style: Style::Primary, action: Action::read("x") };
        assert_eq!(button.fitted().label, "é".repeat(80));
    }
}
