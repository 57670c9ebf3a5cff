//! A card: what is shown apart from the words of a message.

use serde_json::{Map, Value, json};

/// A card. What is empty is not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Embed {
    /// Its heading.
    pub title: String,
    /// Its words.
    pub description: String,
    /// Where its heading leads.
    pub url: Option<String>,
    /// The colour at its side, as 0xRRGGBB.
    pub color: Option<u32>,
    /// Its parts.
    pub fields: Vec<Field>,
    /// The small words below.
    pub footer: String,
    /// Its picture: an address, or `attachment://` and the name of a file of the same message.
    pub image: Option<String>,
}

/// A part of a card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// Its heading.
    pub name: String,
    /// Its words.
    pub value: String,
    /// Whether it stands beside its neighbours.
    pub inline: bool,
}

impl Embed {
    /// It as Discord wants it.
    pub(crate) fn value(&self) -> Value {
        let mut value = Map::new();
        let mut put = |name: &str, what: Value| value.insert(name.to_owned(), what);
        for (name, text) in [("title", &self.title), ("description", &self.description)] {
            if !text.is_empty() {
                put(name, text.as_str().into());
            }
        }
        if !self.footer.is_empty() {
            put("footer", json!({ "text": self.footer }));
        }
        if let Some(url) = &self.url {
            put("url", url.as_str().into());
        }
        if let Some(color) = self.color {
            put("color", color.into());
        }
        if let Some(image) = &self.image {
            put("image", json!({ "url": image }));
        }
        if !self.fields.is_empty() {
            put("fields", self.fields.iter().map(Field::value).collect());
        }
        Value::Object(value)
    }
}

impl Field {
    fn value(&self) -> Value {
        json!({ "name": self.name, "value": self.value, "inline": self.inline })
    }
}
