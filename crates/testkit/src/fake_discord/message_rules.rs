//! Validation of messages: the lengths of text, embeds and files.

use serde_json::Value;

use super::api_error::{ApiError, FormErrors};
use super::chat::COMPONENTS_V2;
use super::components;

/// The maximum length of the content.
const MAX_CONTENT_CHARACTERS: usize = 2_000;
/// The maximum size of all files together.
const MAX_FILE_BYTES: usize = 25 * 1024 * 1024;
/// The maximum number of characters of all embeds together.
const MAX_EMBED_CHARACTERS: usize = 6_000;

/// Validates a new message or an edit.
pub(super) fn check_message(payload: &Value, files: &[(String, Vec<u8>)]) -> Result<(), ApiError> {
    if files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > MAX_FILE_BYTES {
        return Err(ApiError::code(40005));
    }
    if !payload.is_object() {
        return Err(ApiError::code(50109));
    }
    let mut form = FormErrors::default();
    check_content(&mut form, &payload["content"]);
    check_nonce(&mut form, &payload["nonce"]);
    check_embeds(&mut form, &payload["embeds"]);
    let version = components::ComponentVersion::from_flags(payload["flags"].as_u64().unwrap_or(0));
    components::check_components(&mut form, &payload["components"], version);
    if version == components::ComponentVersion::V2 {
        for name in ["content", "embeds"] {
            let value = &payload[name];
            if !(value.is_null() || value == "" || value.as_array().is_some_and(Vec::is_empty)) {
                let message = "The 'content' and 'embeds' fields cannot be used with IS_COMPONENTS_V2";
                form.add(name, "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", message);
            }
        }
    }
    if files.len() > 10 {
        form.add("files", "BASE_TYPE_BAD_LENGTH", "Must be 10 or fewer in length.");
    }
    form.finish()
}

/// Returns true if a message with this JSON shows nothing at all.
pub(super) fn is_empty(message: &serde_json::Map<String, Value>) -> bool {
    let text = message.get("content").and_then(Value::as_str).unwrap_or_default();
    let has_items =
        |name: &str| message.get(name).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    text.trim().is_empty() && !["embeds", "components", "attachments"].into_iter().any(has_items)
}

/// Returns the flags of the payload that the sender may set.
pub(super) fn settable_flags(payload: &Value, allowed: u64) -> u64 {
    payload["flags"].as_u64().unwrap_or(0) & (allowed | COMPONENTS_V2)
}

/// Content is counted as sent, although surrounding whitespace is not shown.
fn check_content(form: &mut FormErrors, value: &Value) {
    match value.as_str() {
        Some(text) if text.chars().count() > MAX_CONTENT_CHARACTERS => {
            form.add("content", "BASE_TYPE_MAX_LENGTH", "Must be 2000 or fewer in length.");
        }
        Some(_) => {}
        None => form.check_text("content", value, MAX_CONTENT_CHARACTERS),
    }
}

fn check_nonce(form: &mut FormErrors, value: &Value) {
    if !value.is_i64() && !value.is_u64() {
        form.check_text("nonce", value, 25);
    }
}

fn check_embeds(form: &mut FormErrors, value: &Value) {
    let Some(list) = value.as_array() else {
        if !value.is_null() {
            form.add("embeds", "BASE_TYPE_BAD_LIST", "Only iterables may be used in a ListType");
        }
        return;
    };
    if list.len() > 10 {
        form.add("embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.");
    }
    for (at, embed) in list.iter().enumerate() {
        check_embed(form, &format!("embeds.{at}"), embed);
    }
    if list.iter().map(counted_characters).sum::<usize>() > MAX_EMBED_CHARACTERS {
        let message = "Embed size exceeds maximum size of 6000";
        form.add("embeds", "MAX_EMBED_SIZE_EXCEEDED", message);
    }
}

fn check_embed(form: &mut FormErrors, path: &str, embed: &Value) {
    if !embed.is_object() {
        form.add(path, "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType");
    }
    form.check_text(&format!("{path}.title"), &embed["title"], 256);
    form.check_text(&format!("{path}.description"), &embed["description"], 4_096);
    form.check_text(&format!("{path}.footer.text"), &embed["footer"]["text"], 2_048);
    form.check_text(&format!("{path}.author.name"), &embed["author"]["name"], 256);
    form.check_text(&format!("{path}.url"), &embed["url"], 2_048);
    if embed["color"].as_u64().is_some_and(|color| color > 0xFF_FFFF) {
        let message = "int value should be less than or equal to 16777215.";
        form.add(&format!("{path}.color"), "NUMBER_TYPE_MAX", message);
    }
    let fields = embed["fields"].as_array().map(Vec::as_slice).unwrap_or_default();
    if fields.len() > 25 {
        form.add(&format!("{path}.fields"), "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.");
    }
    for (at, field) in fields.iter().enumerate() {
        for (name, max) in [("name", 256), ("value", 1_024)] {
            let path = format!("{path}.fields.{at}.{name}");
            if field[name].as_str().is_none_or(|text| text.trim().is_empty()) {
                form.add(&path, "BASE_TYPE_REQUIRED", "This field is required")
            } else {
                form.check_text(&path, &field[name], max)
            }
        }
    }
}

/// Returns the characters of an embed that count.
fn counted_characters(embed: &Value) -> usize {
    let length = |value: &Value| value.as_str().map_or(0, |text| text.trim().chars().count());
    let fields = embed["fields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let fields: usize = fields.iter().map(|field| length(&field["name"]) + length(&field["value"])).sum();
    let own = [&embed["title"], &embed["description"], &embed["footer"]["text"], &embed["author"]["name"]];
    own.into_iter().map(length).sum::<usize>() + fields
}
