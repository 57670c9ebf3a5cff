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
        size: TextSize,
        /// The initial value.
        value: String,
        placeholder: String,
        optional: bool,
    },
    Menu(Select),
}

/// Height of a text field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextSize {
    One,
    Many,
}

impl Form {
    pub(crate) fn to_json(&self) -> Value {
        let one = |(label, field): &(String, FormField)| json!({ "type": 18, "label": label, "component": field.to_json() });
        let components: Value = self.fields.iter().map(one).collect();
        json!({ "custom_id": self.custom_id, "title": self.title, "components": components })
    }
}

impl FormField {
    fn to_json(&self) -> Value {
        match self {
            Self::Menu(select) => select.to_json(),
            Self::Text { custom_id, size: lines, value, placeholder, optional } => {
                let style = match lines {
                    TextSize::One => 1,
                    TextSize::Many => 2,
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
