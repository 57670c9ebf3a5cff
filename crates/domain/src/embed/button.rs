//! The buttons of an embed, and what pressing one means.

use super::cut;

/// The most characters on a button.
pub const LABEL_CHARS: usize = 80;

/// A button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// What stands on it.
    pub label: String,
    /// How it looks.
    pub style: Style,
    /// What pressing it means.
    pub action: Action,
}

/// How a button looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Good to press.
    Success,
    /// Dangerous to press.
    Danger,
    /// The one to press.
    Primary,
    /// One among others.
    #[default]
    Secondary,
}

/// What pressing a button means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The task of this id is done.
    TaskDone(String),
    /// The task of this id is deleted.
    TaskDelete(String),
    /// The event of this id is deleted.
    EventDelete(String),
    /// The assistant is told these words.
    Ask(String),
    /// Something nobody knows yet, as it was written.
    Unknown(String),
}

impl Button {
    /// The same, cut where a surface has no room for more.
    #[must_use]
    pub fn fitted(self) -> Self {
        Self { label: cut(&self.label, LABEL_CHARS).to_owned(), ..self }
    }
}

impl Style {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Success, Self::Danger, Self::Primary, Self::Secondary];

    /// The style of that name, or the plainest one.
    pub fn read(name: &str) -> Self {
        Self::ALL.into_iter().find(|style| style.name() == name.trim()).unwrap_or_default()
    }

    /// Its name.
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
    /// Reads an action as the model writes it: `task_done:<id>`.
    pub fn read(text: &str) -> Self {
        let owned = |rest: &str| rest.trim().to_owned();
        match text.trim().split_once(':') {
            Some(("task_done", id)) if !id.trim().is_empty() => Self::TaskDone(owned(id)),
            Some(("task_del", id)) if !id.trim().is_empty() => Self::TaskDelete(owned(id)),
            Some(("event_del", id)) if !id.trim().is_empty() => Self::EventDelete(owned(id)),
            Some(("agent", prompt)) if !prompt.trim().is_empty() => Self::Ask(owned(prompt)),
            Some(_) | None => Self::Unknown(owned(text)),
        }
    }

    /// What the human says by pressing: nothing, if something is done without words.
    pub fn said(&self) -> Option<String> {
        match self {
            Self::Ask(prompt) => Some(format!("[button] {prompt}")),
            Self::TaskDone(_) | Self::TaskDelete(_) | Self::EventDelete(_) | Self::Unknown(_) => None,
        }
    }

    /// The action as the model writes it.
    pub fn to_text(&self) -> String {
        match self {
            Self::TaskDone(id) => format!("task_done:{id}"),
            Self::TaskDelete(id) => format!("task_del:{id}"),
            Self::EventDelete(id) => format!("event_del:{id}"),
            Self::Ask(prompt) => format!("agent:{prompt}"),
            Self::Unknown(text) => text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TL-3, TL-5: the four actions are read, everything else is kept as it was written.
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
        check("dismiss", Action::Unknown("dismiss".to_owned()));
        check("fork_save:_", Action::Unknown("fork_save:_".to_owned()));
        assert_eq!(Action::read("agent:go on").said().as_deref(), Some("[button] go on"));
        assert_eq!(Action::read("task_done:abc").said(), None);
        assert_eq!(Style::read("danger"), Style::Danger);
        assert_eq!(Style::read("sparkling"), Style::Secondary);
    }

    /// XB-4: a button has room for 80 characters.
    #[test]
    fn a_long_label_is_cut() {
        let button = Button { label: "é".repeat(100), style: Style::Primary, action: Action::read("x") };
        assert_eq!(button.fitted().label, "é".repeat(80));
    }
}
