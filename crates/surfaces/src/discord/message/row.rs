//! Rows of buttons and menus below a message.

use serde_json::{Map, Value, json};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// At most five.
    Buttons(Vec<Button>),
    Menu(Select),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    pub label: String,
    pub emoji: Option<String>,
    pub kind: ButtonKind,
}

/// The action of a button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ButtonKind {
    /// Sends an interaction with its custom id.
    Interactive(Style, String),
    Link(String),
    /// Disabled; keeps its custom id.
    Disabled(String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// The main action.
    Primary,
    #[default]
    Secondary,
    /// Approval.
    Success,
    /// A destructive action.
    Danger,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Select {
    pub custom_id: String,
    /// Shown while nothing is chosen.
    pub placeholder: String,
    pub choices: Vec<Choice>,
}

/// Option of a menu. An empty description is omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    pub label: String,
    pub value: String,
    pub description: String,
    /// Selected initially.
    pub selected: bool,
}

impl Row {
    pub(crate) fn to_json(&self) -> Value {
        let components: Value = match self {
            Self::Buttons(buttons) => buttons.iter().map(Button::to_json).collect(),
            Self::Menu(select) => Value::Array(vec![select.to_json()]),
        };
        json!({ "type": 1, "components": components })
    }
}

impl Button {
    fn to_json(&self) -> Value {
        let mut value = Map::new();
        let mut put = |name: &str, what: Value| value.insert(name.to_owned(), what);
        put("type", 2.into());
        if !self.label.is_empty() {
            put("label", self.label.as_str().into());
        }
        if let Some(emoji) = &self.emoji {
            put("emoji", json!({ "id": null, "name": emoji }));
        }
        match &self.kind {
            ButtonKind::Interactive(style, id) => {
                put("style", style.to_number().into());
                put("custom_id", id.as_str().into());
            }
            ButtonKind::Link(url) => {
                put("style", 5.into());
                put("url", url.as_str().into());
            }
            ButtonKind::Disabled(id) => {
                put("style", Style::Secondary.to_number().into());
                put("custom_id", id.as_str().into());
                put("disabled", true.into());
            }
        }
        Value::Object(value)
    }
}

impl Style {
    fn to_number(self) -> u8 {
        match self {
            Self::Primary => 1,
            Self::Secondary => 2,
            Self::Success => 3,
            Self::Danger => 4,
        }
    }
}

impl Select {
    pub(crate) fn to_json(&self) -> Value {
        let options: Value = self.choices.iter().map(Choice::value).collect();
        let mut value = json!({ "type": 3, "custom_id": self.custom_id, "options": options });
        if !self.placeholder.is_empty() {
            value["placeholder"] = self.placeholder.as_str().into();
        }
        value
    }
}

impl Choice {
    fn value(&self) -> Value {
        let mut value = json!({ "label": self.label, "value": self.value });
        if !self.description.is_empty() {
            value["description"] = self.description.as_str().into();
        }
        if self.selected {
            value["default"] = true.into();
        }
        value
    }
}
