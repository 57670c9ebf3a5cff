//! Forms that open from a button or a command.

use serde_json::{Value, json};

use super::row::Select;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    pub custom_id: String,
    pub title: String,
    /// At most five pairs of label and field.
    pub fields: Vec<(String, FormField)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormField {
    Text {
        custom_id: String,
        lines: Lines,
        /// The initial value.
        value: String,
        placeholder: String,
        optional: bool,
    },
    Menu(Select),
}

/// Height of a text field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    One,
    Many,
}

impl Form {
    pub(crate) fn value(&self) -> Value {
        let one = |(label, field): &(String, FormField)| json!({ "type": 18, "label": label, "component": field.value() });
        let components: Value = self.fields.iter().map(one).collect();
        json!({ "custom_id": self.custom_id, "title": self.title, "components": components })
    }
}

impl FormField {
    fn value(&self) -> Value {
        match self {
            Self::Menu(select) => select.value(),
            Self::Text { custom_id, lines, value, placeholder, optional } => {
                let style = match lines {
                    Lines::One => 1,
                    Lines::Many => 2,
                };
                let mut text =
                    json!({ "type": 4, "custom_id": custom_id, "style": style, "required": !optional });
                for (name, words) in [("value", value), ("placeholder", placeholder)] {
                    if !words.is_empty() {
                        text[name] = words.as_str().into();
                    }
                }
                text
            }
        }
    }
}
