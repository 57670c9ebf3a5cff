//! A form that opens when a button is pressed or a command is run.

use serde_json::{Value, json};

use super::row::Select;

/// A form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Its name.
    pub custom_id: String,
    /// Its heading.
    pub title: String,
    /// What is asked, five things at most: each with its label.
    pub fields: Vec<(String, FormField)>,
}

/// One thing that a form asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormField {
    /// Words.
    Text {
        /// Its name.
        custom_id: String,
        /// How much room there is.
        lines: Lines,
        /// What stands there at first.
        value: String,
        /// What is shown while nothing stands there.
        placeholder: String,
        /// Whether it may stay empty.
        optional: bool,
    },
    /// One of several.
    Menu(Select),
}

/// How much room there is for words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// One line.
    One,
    /// Several.
    Many,
}

impl Form {
    /// It as Discord wants it.
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
