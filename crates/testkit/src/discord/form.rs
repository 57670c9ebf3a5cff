//! Validation of messages: the lengths of text, embeds and files.

use serde_json::Value;

use super::components;
use super::refusal::{Form, Refusal};
use super::talk::COMPONENTS_V2;

/// The maximum length of the content.
const CONTENT: usize = 2_000;
/// The maximum size of all files together.
const FILE_BYTES: usize = 25 * 1024 * 1024;
/// The maximum number of characters of all embeds together.
const EMBED_CHARACTERS: usize = 6_000;

/// Validates a new message or an edit.
pub(super) fn check(payload: &Value, files: &[(String, Vec<u8>)]) -> Result<(), Refusal> {
    if files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > FILE_BYTES {
        return Err(Refusal::code(40005));
    }
    if !payload.is_object() {
        return Err(Refusal::code(50109));
    }
    let mut form = Form::default();
    content(&mut form, &payload["content"]);
    nonce(&mut form, &payload["nonce"]);
    embeds(&mut form, &payload["embeds"]);
    let version = components::Version::of(payload["flags"].as_u64().unwrap_or(0));
    components::check(&mut form, &payload["components"], version);
    if version == components::Version::Two {
        for name in ["content", "embeds"] {
            let value = &payload[name];
            if !(value.is_null() || value == "" || value.as_array().is_some_and(Vec::is_empty)) {
                let message = "The 'content' and 'embeds' fields cannot be used with IS_COMPONENTS_V2";
                form.wrong(name, "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", message);
            }
        }
    }
    if files.len() > 10 {
        form.wrong("files", "BASE_TYPE_BAD_LENGTH", "Must be 10 or fewer in length.");
    }
    form.done()
}

/// Returns true if a message with this JSON shows nothing at all.
pub(super) fn is_empty(wire: &serde_json::Map<String, Value>) -> bool {
    let text = wire.get("content").and_then(Value::as_str).unwrap_or_default();
    let filled = |name: &str| wire.get(name).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    text.trim().is_empty() && !["embeds", "components", "attachments"].into_iter().any(filled)
}

/// Returns the flags of the payload that the sender may set.
pub(super) fn flags(payload: &Value, allowed: u64) -> u64 {
    payload["flags"].as_u64().unwrap_or(0) & (allowed | COMPONENTS_V2)
}

/// Content is counted as sent, although surrounding whitespace is not shown.
fn content(form: &mut Form, value: &Value) {
    match value.as_str() {
        Some(text) if text.chars().count() > CONTENT => {
            form.wrong("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.");
        }
        Some(_) => {}
        None => form.text("content", value, CONTENT),
    }
}

fn nonce(form: &mut Form, value: &Value) {
    if !value.is_i64() && !value.is_u64() {
        form.text("nonce", value, 25);
    }
}

fn embeds(form: &mut Form, value: &Value) {
    let Some(list) = value.as_array() else {
        if !value.is_null() {
            form.wrong("embeds", "BASE_TYPE_BAD_LIST", "Only iterables may be used in a ListType");
        }
        return;
    };
    if list.len() > 10 {
        form.wrong("embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.");
    }
    for (at, embed) in list.iter().enumerate() {
        check_embed(form, &format!("embeds.{at}"), embed);
    }
    if list.iter().map(characters).sum::<usize>() > EMBED_CHARACTERS {
        let message = "Embed size exceeds maximum size of 6000";
        form.wrong("embeds", "MAX_EMBED_SIZE_EXCEEDED", message);
    }
}

fn check_embed(form: &mut Form, path: &str, embed: &Value) {
    if !embed.is_object() {
        form.wrong(path, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType");
    }
    form.text(&format!("{path}.title"), &embed["title"], 256);
    form.text(&format!("{path}.description"), &embed["description"], 4_096);
    form.text(&format!("{path}.footer.text"), &embed["footer"]["text"], 2_048);
    form.text(&format!("{path}.author.name"), &embed["author"]["name"], 256);
    form.text(&format!("{path}.url"), &embed["url"], 2_048);
    if embed["color"].as_u64().is_some_and(|color| color > 0xFF_FFFF) {
        let message = "int value should be less than or equal to 16777215.";
        form.wrong(&format!("{path}.color"), "NUMBER_TYPE_MAX", message);
    }
    let fields = embed["fields"].as_array().map(Vec::as_slice).unwrap_or_default();
    if fields.len() > 25 {
        form.wrong(&format!("{path}.fields"), "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    }
    for (at, field) in fields.iter().enumerate() {
        for (name, most) in [("name", 256), ("value", 1_024)] {
            let path = format!("{path}.fields.{at}.{name}");
            if field[name].as_str().is_none_or(|text| text.trim().is_empty()) {
                form.wrong(&path, "BASE_TYPE_REQUIRED", "This field is required")
            } else {
                form.text(&path, &field[name], most)
            }
        }
    }
}

/// Returns the characters of an embed that count.
fn characters(embed: &Value) -> usize {
    let length = |value: &Value| value.as_str().map_or(0, |text| text.trim().chars().count());
    let fields = embed["fields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let fields: usize = fields.iter().map(|field| length(&field["name"]) + length(&field["value"])).sum();
    let own = [&embed["title"], &embed["description"], &embed["footer"]["text"], &embed["author"]["name"]];
    own.into_iter().map(length).sum::<usize>() + fields
}
