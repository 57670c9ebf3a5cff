//! Converts the result of a call to bounded text; other content is described.

use serde_json::Value;

/// The maximum number of bytes of a result.
const MAX_BYTES: usize = 100 * 1024;

/// Returns the text of a call's result, as an error if the call failed.
pub(super) fn result_text(result: &Value) -> Result<String, String> {
    let parts = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text = parts.iter().map(part_text).collect::<Vec<_>>().join("\n");
    let structured = &result["structuredContent"];
    if parts.is_empty() && !structured.is_null() {
        text = structured.as_str().map_or_else(|| structured.to_string(), str::to_owned);
    }
    let text = truncate(text);
    match result["isError"].as_bool() {
        Some(true) => Err(if text.is_empty() { "The server says that it failed.".to_owned() } else { text }),
        Some(false) | None => Ok(text),
    }
}

fn part_text(part: &Value) -> String {
    let word = |key: &str| part[key].as_str().unwrap_or_default();
    match word("type") {
        "text" => word("text").to_owned(),
        "resource" => part["resource"]["text"].as_str().unwrap_or("[a resource without words]").to_owned(),
        "resource_link" => format!("[a link: {}]", word("uri")),
        "image" | "audio" => {
            format!("[{}: {}, {} bytes]", word("type"), word("mimeType"), word("data").len())
        }
        _ => "[something that cannot be read]".to_owned(),
    }
}

fn truncate(text: String) -> String {
    if text.len() <= MAX_BYTES {
        return text;
    }
    let end = (0..=MAX_BYTES).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}\n[cut here: the server said {} bytes, and {MAX_BYTES} are read]", &text[..end], text.len())
}
