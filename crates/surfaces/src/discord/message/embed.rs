//! Embeds.

use serde_json::{Map, Value, json};

/// An embed. Empty parts are omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Embed {
    pub title: String,
    pub description: String,
    /// Link of the title.
    pub url: Option<String>,
    /// Colour of the side bar, as 0xRRGGBB.
    pub color: Option<u32>,
    pub fields: Vec<Field>,
    pub footer: String,
    /// An address, or `attachment://` and the name of a file of the same message.
    pub image: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub value: String,
    /// Displayed next to its neighbours.
    pub inline: bool,
}

impl Embed {
    pub(crate) fn to_json(&self) -> Value {
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
