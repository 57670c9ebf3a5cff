//! What can be pressed below a message: a row of buttons, or a menu.

use serde_json::{Map, Value, json};

/// One row below a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// Buttons, five at most.
    Buttons(Vec<Button>),
    /// A menu.
    Menu(Select),
}

/// A button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// What it says.
    pub label: String,
    /// The picture before it.
    pub emoji: Option<String>,
    /// What pressing it does.
    pub press: Press,
}

/// What pressing a button does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Press {
    /// Tells us its name.
    Tell(Style, String),
    /// Opens an address.
    Open(String),
    /// Nothing any more; it had this name.
    Nothing(String),
}

/// How a button looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// The one that is meant first.
    Primary,
    /// One of several.
    #[default]
    Secondary,
    /// Yes.
    Success,
    /// It takes something away.
    Danger,
}

/// A menu.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Select {
    /// Its name.
    pub custom_id: String,
    /// What it says while nothing is chosen.
    pub placeholder: String,
    /// What can be chosen.
    pub choices: Vec<Choice>,
}

/// What can be chosen in a menu. An empty description is not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// What it says.
    pub label: String,
    /// What we are told.
    pub value: String,
    /// The small words below.
    pub description: String,
    /// Whether it is chosen already.
    pub chosen: bool,
}

impl Row {
    /// It as Discord wants it.
    pub(crate) fn value(&self) -> Value {
        let components: Value = match self {
            Self::Buttons(buttons) => buttons.iter().map(Button::value).collect(),
            Self::Menu(select) => Value::Array(vec![select.value()]),
        };
        json!({ "type": 1, "components": components })
    }
}

impl Button {
    fn value(&self) -> Value {
        let mut value = Map::new();
        let mut put = |name: &str, what: Value| value.insert(name.to_owned(), what);
        put("type", 2.into());
        if !self.label.is_empty() {
            put("label", self.label.as_str().into());
        }
        if let Some(emoji) = &self.emoji {
            put("emoji", json!({ "id": null, "name": emoji }));
        }
        match &self.press {
            Press::Tell(style, id) => {
                put("style", style.number().into());
                put("custom_id", id.as_str().into());
            }
            Press::Open(url) => {
                put("style", 5.into());
                put("url", url.as_str().into());
            }
            Press::Nothing(id) => {
                put("style", Style::Secondary.number().into());
                put("custom_id", id.as_str().into());
                put("disabled", true.into());
            }
        }
        Value::Object(value)
    }
}

impl Style {
    fn number(self) -> u8 {
        match self {
            Self::Primary => 1,
            Self::Secondary => 2,
            Self::Success => 3,
            Self::Danger => 4,
        }
    }
}

impl Select {
    /// It as Discord wants it.
    pub(crate) fn value(&self) -> Value {
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
        if self.chosen {
            value["default"] = true.into();
        }
        value
    }
}
