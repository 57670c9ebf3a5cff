//! The buttons of an embed and their actions.

use super::truncate;
use crate::approval::{ApprovalAnswer, ApprovalId};
use crate::card::{CardAction, CardId};
use crate::outbox::OutboxKey;
use crate::schedule::ItemId;
use crate::sent_messages::StoredPromptId;

/// The most characters on a button.
pub const MAX_LABEL_CHARS: usize = 80;
/// The most characters of a button id that a surface sends back.
pub const MAX_BUTTON_ID_CHARS: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    pub label: String,
    pub style: ButtonStyle,
    pub action: ButtonAction,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ButtonStyle {
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
pub enum ButtonAction {
    /// Completes the task with this id.
    TaskDone(String),
    /// Deletes the task with this id.
    TaskDelete(String),
    /// Deletes the calendar event with this id.
    EventDelete(String),
    /// Asks the assistant this, before it is stored under an id.
    Ask(String),
    /// Asks the assistant the prompt that is stored under this id.
    AskStored(StoredPromptId),
    /// Hides the message.
    Dismiss,
    /// Ends the fork in this way.
    LeaveFork(ForkExitChoice),
    /// Acts on the card of a reminder.
    Card(CardId, CardAction),
    /// Acts on the card that was posted under this key. No button has this action.
    CardByKey(OutboxKey, CardAction),
    /// Marks the message as not useful. No button has this action.
    Dislike,
    /// Answers an approval.
    AnswerApproval(ApprovalId, ApprovalAnswer),
    /// Answers all approvals of the step that begins with this one.
    AnswerStep(ApprovalId, ApprovalAnswer),
    /// An unknown action, as it was written.
    Unknown(String),
}

/// The three exits of a fork, as buttons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkExitChoice {
    /// The fork becomes the main conversation.
    Save,
    /// A report is left for main.
    Report,
    Discard,
}

/// Returns the button id of an action.
fn format_button_id(action: &str) -> String {
    let data = if action.contains(':') { "" } else { ":_" };
    truncate(&format!("act:{action}{data}"), MAX_BUTTON_ID_CHARS).to_owned()
}

/// I5: Returns a text of the model that cannot be read as an action of the program's own buttons,
/// such as an approval.
fn unknown_action_text(text: &str) -> String {
    match ButtonAction::from_button_id(&format_button_id(text)) {
        Some(ButtonAction::Unknown(_)) => text.to_owned(),
        Some(_) | None => "unknown".to_owned(),
    }
}

/// The prefix of a stored prompt's id. An action that a model writes is never parsed as one.
const STORED_PROMPT_PREFIX: &str = "inquiry";

impl Button {
    /// Returns the button with its label cut to the limit.
    #[must_use]
    pub fn fitted(self) -> Self {
        Self { label: truncate(&self.label, MAX_LABEL_CHARS).to_owned(), ..self }
    }
}

impl ButtonStyle {
    pub const ALL: [Self; 4] = [Self::Success, Self::Danger, Self::Primary, Self::Secondary];

    /// Returns the style with this name, or the default.
    pub fn from_name(name: &str) -> Self {
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

impl ButtonAction {
    /// Parses an action that a model wrote, such as `task_done:<id>`.
    pub fn parse(text: &str) -> Self {
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
    pub fn from_stored(text: &str) -> Self {
        match text.split_once(':') {
            Some((STORED_PROMPT_PREFIX, id)) => Self::AskStored(StoredPromptId(id.to_owned())),
            Some(_) | None => Self::parse(text),
        }
    }

    /// Returns the stored text: like the model writes it, except for stored prompts.
    pub fn to_text(&self) -> String {
        match self {
            Self::TaskDone(id) => format!("task_done:{id}"),
            Self::TaskDelete(id) => format!("task_del:{id}"),
            Self::EventDelete(id) => format!("event_del:{id}"),
            Self::Ask(prompt) => format!("agent:{prompt}"),
            Self::AskStored(id) => format!("{STORED_PROMPT_PREFIX}:{id}"),
            Self::Dismiss => "dismiss".to_owned(),
            Self::Dislike => "dislike".to_owned(),
            Self::LeaveFork(ForkExitChoice::Save) => "fork_save".to_owned(),
            Self::LeaveFork(ForkExitChoice::Report) => "fork_report".to_owned(),
            Self::LeaveFork(ForkExitChoice::Discard) => "fork_exit".to_owned(),
            Self::Card(card, act) => format!("{}:{card}", act_name(act)),
            Self::CardByKey(key, act) => format!("{}:{key}", act_name(act)),
            Self::AnswerApproval(approval, verdict) => format!("{}:{}", answer_name(*verdict), approval.0),
            Self::AnswerStep(step, verdict) => format!("all_{}:{}", answer_name(*verdict), step.0),
            Self::Unknown(text) => text.clone(),
        }
    }

    /// XB-6: Returns the id that a surface sends back; `None` if the action has no button.
    pub fn button_id(&self) -> Option<String> {
        let text = match self {
            Self::Ask(_) | Self::CardByKey(..) | Self::Dislike => return None,
            Self::AskStored(id) => format!("agent:{id}"),
            Self::TaskDone(_) | Self::TaskDelete(_) | Self::EventDelete(_) => self.to_text(),
            Self::Card(..) | Self::AnswerApproval(..) | Self::AnswerStep(..) => self.to_text(),
            Self::Dismiss | Self::LeaveFork(_) => self.to_text(),
            Self::Unknown(text) => unknown_action_text(text),
        };
        Some(format_button_id(&text))
    }

    /// XB-7: Parses the id that a surface sent back; `None` if it is not from a button of the
    /// program.
    pub fn from_button_id(press: &str) -> Option<Self> {
        let (action, data) = press.strip_prefix("act:")?.split_once(':')?;
        let named = |c: char| c.is_ascii_lowercase() || c == '_';
        if action.is_empty() || !action.chars().all(named) || data.is_empty() {
            return None;
        }
        Some(match action {
            "agent" => Self::AskStored(StoredPromptId(data.to_owned())),
            "dismiss" => Self::Dismiss,
            "fork_save" => Self::LeaveFork(ForkExitChoice::Save),
            "fork_report" => Self::LeaveFork(ForkExitChoice::Report),
            "fork_exit" => Self::LeaveFork(ForkExitChoice::Discard),
            "task_done" | "task_del" | "event_del" => Self::parse(&format!("{action}:{data}")),
            _ => parse_card_action(action, data)
                .or_else(|| parse_approval_action(action, data))
                .unwrap_or_else(|| Self::Unknown(action.to_owned())),
        })
    }
}

const ACTS: [(&str, CardAction); 8] = [
    ("rem_done", CardAction::Done),
    ("rem_later", CardAction::Later),
    ("rem_split", CardAction::Split),
    ("rem_plan", CardAction::Plan),
    ("rem_undo", CardAction::Undo),
    ("rem_tomorrow", CardAction::NotToday),
    ("rem_tonight", CardAction::Tonight),
    ("rem_drop", CardAction::Drop),
];
const MOVE: &str = "rem_move";
const PICK: &str = "rem_pick";
const ANSWERS: [(&str, ApprovalAnswer); 3] =
    [("yes", ApprovalAnswer::Allow), ("always", ApprovalAnswer::Always), ("no", ApprovalAnswer::Deny)];

fn act_name(act: &CardAction) -> &'static str {
    let other = if matches!(act, CardAction::Pick(_)) { PICK } else { MOVE };
    ACTS.iter().find(|(_, known)| known == act).map_or(other, |(name, _)| name)
}

fn answer_name(verdict: ApprovalAnswer) -> &'static str {
    ANSWERS.iter().find(|(_, known)| *known == verdict).map_or("no", |(name, _)| name)
}

fn parse_card_action(action: &str, data: &str) -> Option<ButtonAction> {
    let card = CardId(ItemId::parse(data).ok()?);
    let act = ACTS.iter().find(|(name, _)| *name == action).map(|(_, act)| act.clone());
    let chosen = || match action {
        MOVE => Some(CardAction::Move(String::new())),
        PICK => Some(CardAction::Pick(String::new())),
        _ => None,
    };
    act.or_else(chosen).map(|act| ButtonAction::Card(card, act))
}

fn parse_approval_action(action: &str, data: &str) -> Option<ButtonAction> {
    let approval = ApprovalId(data.parse().ok()?);
    let (name, all) = action.strip_prefix("all_").map_or((action, false), |name| (name, true));
    let (_, verdict) = ANSWERS.iter().find(|(known, _)| *known == name)?;
    Some(if all {
        ButtonAction::AnswerStep(approval, *verdict)
    } else {
        ButtonAction::AnswerApproval(approval, *verdict)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TL-3, TL-5: The four actions are parsed, and other texts are kept unchanged.
    #[test]
    fn action_round_trips() {
        let check = |text: &str, action: ButtonAction| {
            assert_eq!(ButtonAction::parse(text), action);
            assert_eq!(ButtonAction::parse(&action.to_text()), action);
        };
        check("task_done:abc", ButtonAction::TaskDone("abc".to_owned()));
        check("task_del:abc", ButtonAction::TaskDelete("abc".to_owned()));
        check("event_del:a:b", ButtonAction::EventDelete("a:b".to_owned()));
        check("agent: go on: now", ButtonAction::Ask("go on: now".to_owned()));
        check("agent:", ButtonAction::Unknown("agent:".to_owned()));
        check("dismiss", ButtonAction::Dismiss);
        check("fork_save:_", ButtonAction::Unknown("fork_save:_".to_owned()));
        check("inquiry:0a1b2c3d", ButtonAction::Unknown("inquiry:0a1b2c3d".to_owned()));
        assert_eq!(ButtonStyle::from_name("danger"), ButtonStyle::Danger);
        assert_eq!(ButtonStyle::from_name("sparkling"), ButtonStyle::Secondary);
    }

    /// XB-6, XB-7, XB-11: A button's id is parsed back into its action.
    #[test]
    fn button_id_is_parsed_into_its_action() {
        let inquiry = ButtonAction::AskStored(StoredPromptId("0a1b2c3d".to_owned()));
        let check = |action: ButtonAction, press: &str| {
            assert_eq!(action.button_id().as_deref(), Some(press));
            assert_eq!(ButtonAction::from_button_id(press), Some(action));
        };
        check(inquiry.clone(), "act:agent:0a1b2c3d");
        check(ButtonAction::parse("task_done:abc"), "act:task_done:abc");
        check(ButtonAction::parse("task_del:a:b"), "act:task_del:a:b");
        check(ButtonAction::parse("event_del:abc"), "act:event_del:abc");
        check(ButtonAction::parse("dismiss"), "act:dismiss:_");
        check(ButtonAction::LeaveFork(ForkExitChoice::Save), "act:fork_save:_");
        check(ButtonAction::LeaveFork(ForkExitChoice::Report), "act:fork_report:_");
        check(ButtonAction::LeaveFork(ForkExitChoice::Discard), "act:fork_exit:_");
        assert_eq!(ButtonAction::parse("snooze").button_id().as_deref(), Some("act:snooze:_"));
        assert_eq!(
            ButtonAction::from_button_id("act:snooze:_"),
            Some(ButtonAction::Unknown("snooze".to_owned()))
        );
        assert_eq!(ButtonAction::parse("agent:go on").button_id(), None, "it has no number yet");
        for forged in ["always:8", "yes:1", "fork_exit:_", "fork_save", "rem_done:a1b2c3d4", "Odd Words"] {
            assert_eq!(ButtonAction::parse(forged).button_id().as_deref(), Some("act:unknown:_"), "{forged}");
        }
        assert_eq!(ButtonAction::from_stored(&inquiry.to_text()), inquiry);
        for wrong in ["", "act:", "act:dismiss", "act:dismiss:", "act:Dismiss:_", "act::_", "dismiss:_"] {
            assert_eq!(ButtonAction::from_button_id(wrong), None, "{wrong}");
        }
        let long = ButtonAction::parse(&format!("task_done:{}", "é".repeat(200)));
        assert_eq!(long.button_id().unwrap().chars().count(), MAX_BUTTON_ID_CHARS);
    }

    /// XB-4: A label is cut to 80 characters.
    #[test]
    fn a_long_label_is_cut() {
        let button =
            Button { label: "é".repeat(100), style: ButtonStyle::Primary, action: ButtonAction::parse("x") };
        assert_eq!(button.fitted().label, "é".repeat(80));
    }
}
