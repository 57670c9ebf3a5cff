//! A minimal JSON parser: compares the input of calls and reads single fields.
//!
//! It rejects ambiguous input: an object with a duplicate key is invalid, because different readers
//! would take different values.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

use crate::conversation::Json;

/// The most levels of nesting.
const MAX_DEPTH: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
enum JsonValue {
    /// A number as it was written, a boolean, or null.
    Plain(String),
    Text(String),
    List(Vec<JsonValue>),
    Object(BTreeMap<String, JsonValue>),
}

impl Json {
    /// Returns whether both have the same value. Invalid JSON only equals itself.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self.0 == other.0 || parse(&self.0).is_some_and(|value| parse(&other.0) == Some(value))
    }

    /// Returns the canonical form; invalid JSON is returned unchanged. Equivalent values have the
    /// same form.
    pub fn canonical(&self) -> Self {
        parse(&self.0).map_or_else(|| self.clone(), |value| Self(canonical_text(&value)))
    }

    /// Returns whether it is a valid object without duplicate keys.
    pub fn is_valid_object(&self) -> bool {
        matches!(parse(&self.0), Some(JsonValue::Object(_)))
    }

    /// Returns whether it is an object in which `key` is `true`.
    pub fn is_true(&self, key: &str) -> bool {
        match parse(&self.0) {
            Some(JsonValue::Object(fields)) => fields.get(key) == Some(&JsonValue::Plain("true".to_owned())),
            Some(JsonValue::Plain(_) | JsonValue::Text(_) | JsonValue::List(_)) | None => false,
        }
    }

    /// Returns the string field `key`, if this is an object that has it.
    pub fn text(&self, key: &str) -> Option<String> {
        match parse(&self.0)? {
            JsonValue::Object(mut fields) => match fields.remove(key)? {
                JsonValue::Text(text) => Some(text),
                JsonValue::Plain(_) | JsonValue::List(_) | JsonValue::Object(_) => None,
            },
            JsonValue::Plain(_) | JsonValue::Text(_) | JsonValue::List(_) => None,
        }
    }
}

impl Json {
    /// Returns the string in the object field `key`, if that object has no other field.
    pub fn only_text_in(&self, key: &str) -> Option<String> {
        let JsonValue::Object(mut fields) = parse(&self.0)? else { return None };
        let JsonValue::Object(mut inner) = fields.remove(key)? else { return None };
        match (inner.pop_first()?, inner.is_empty()) {
            ((_, JsonValue::Text(text)), true) => Some(text),
            _ => None,
        }
    }

    /// Returns the boolean field `key`, if this is an object that has it.
    pub fn bool_field(&self, key: &str) -> Option<bool> {
        match parse(&self.0)? {
            JsonValue::Object(fields) => match fields.get(key)? {
                JsonValue::Plain(word) => word.parse().ok(),
                JsonValue::Text(_) | JsonValue::List(_) | JsonValue::Object(_) => None,
            },
            JsonValue::Plain(_) | JsonValue::Text(_) | JsonValue::List(_) => None,
        }
    }

    /// Returns the strings in the list field `key`; empty if there is no such list.
    pub fn texts(&self, key: &str) -> Vec<String> {
        let Some(JsonValue::Object(mut fields)) = parse(&self.0) else { return Vec::new() };
        let Some(JsonValue::List(items)) = fields.remove(key) else { return Vec::new() };
        let text = |item| match item {
            JsonValue::Text(text) => Some(text),
            JsonValue::Plain(_) | JsonValue::List(_) | JsonValue::Object(_) => None,
        };
        items.into_iter().filter_map(text).collect()
    }

    /// Returns the string value, or the JSON text if it is not a string.
    pub fn to_plain_text(&self) -> String {
        match parse(&self.0) {
            Some(JsonValue::Text(text)) => text,
            Some(JsonValue::Plain(_) | JsonValue::List(_) | JsonValue::Object(_)) | None => self.0.clone(),
        }
    }
}

/// Writes object keys in order and no white space.
fn canonical_text(value: &JsonValue) -> String {
    match value {
        JsonValue::Plain(plain) => plain.clone(),
        JsonValue::Text(text) => quote(text),
        JsonValue::List(items) => {
            format!("[{}]", items.iter().map(canonical_text).collect::<Vec<_>>().join(","))
        }
        JsonValue::Object(fields) => {
            let field =
                |(name, value): (&String, &JsonValue)| format!("{}:{}", quote(name), canonical_text(value));
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","))
        }
    }
}

fn quote(text: &str) -> String {
    let letter = |letter: char| match letter {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(letter).collect::<String>())
}

fn parse(text: &str) -> Option<JsonValue> {
    let mut reader = JsonParser(text.chars().peekable());
    let value = reader.value(MAX_DEPTH)?;
    reader.skip_space();
    reader.0.next().is_none().then_some(value)
}

struct JsonParser<'a>(Peekable<Chars<'a>>);

impl JsonParser<'_> {
    fn value(&mut self, depth: usize) -> Option<JsonValue> {
        self.skip_space();
        match self.0.peek()? {
            '{' => self.object(depth.checked_sub(1)?).map(JsonValue::Object),
            '[' => self.list(depth.checked_sub(1)?).map(JsonValue::List),
            '"' => self.text().map(JsonValue::Text),
            _ => self.plain().map(JsonValue::Plain),
        }
    }

    fn object(&mut self, depth: usize) -> Option<BTreeMap<String, JsonValue>> {
        let mut fields = BTreeMap::new();
        self.0.next();
        if self.take('}') {
            return Some(fields);
        }
        loop {
            self.skip_space();
            let name = self.text()?;
            let value = self.take(':').then(|| self.value(depth))??;
            if fields.insert(name, value).is_some() {
                return None;
            }
            if !self.take(',') {
                return self.take('}').then_some(fields);
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Vec<JsonValue>> {
        let mut items = Vec::new();
        self.0.next();
        if self.take(']') {
            return Some(items);
        }
        loop {
            items.push(self.value(depth)?);
            if !self.take(',') {
                return self.take(']').then_some(items);
            }
        }
    }

    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        if self.0.next()? != '"' {
            return None;
        }
        loop {
            match self.0.next()? {
                '"' => return Some(text),
                '\\' => text.push(self.escape()?),
                c if c < ' ' => return None,
                c => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        match self.0.next()? {
            c @ ('"' | '\\' | '/') => Some(c),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => self.unicode_escape(),
            _ => None,
        }
    }

    /// Reads a `\u` escape, which may be a surrogate pair.
    fn unicode_escape(&mut self) -> Option<char> {
        let first = self.four_digits()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        let halves = (self.0.next()?, self.0.next()?) == ('\\', 'u');
        let second = halves.then(|| self.four_digits())?.filter(|half| (0xdc00..0xe000).contains(half))?;
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    }

    fn four_digits(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |number, _| Some(number * 16 + self.0.next()?.to_digit(16)?))
    }

    fn plain(&mut self) -> Option<String> {
        let mut word = String::new();
        while let Some(c) = self.0.next_if(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')) {
            word.push(c);
        }
        let number =
            word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) && word.parse::<f64>().is_ok();
        (number || matches!(word.as_str(), "true" | "false" | "null")).then_some(word)
    }

    fn take(&mut self, wanted: char) -> bool {
        self.skip_space();
        self.0.next_if_eq(&wanted).is_some()
    }

    fn skip_space(&mut self) {
        while self.0.next_if(|c| matches!(c, ' ' | '\t' | '\n' | '\r')).is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json(text.to_owned())
    }

    #[test]
    fn json_is_compared_by_value() {
        let same = |one: &str, other: &str| {
            assert!(json(one).is_equivalent(&json(other)), "{one} and {other}");
            assert_eq!(json(one).canonical(), json(other).canonical());
        };
        let other = |one: &str, other: &str| {
            assert!(!json(one).is_equivalent(&json(other)), "{one} and {other}");
            assert_ne!(json(one).canonical(), json(other).canonical());
        };
        same(r#"{"a":1,"b":[true,null]}"#, " { \"b\" : [ true , null ] ,\n\t\"a\" : 1 } ");
        same(r#""\u00fc\ud83d\ude00\n\/""#, "\"ü😀\\n/\"");
        same("{}", "{ }");
        same("[]", "[ ]");
        same("not json", "not json");
        other(r#"{"a":1}"#, r#"{"a":2}"#);
        other(r#"{"a":1}"#, r#"{"a":"1"}"#);
        other(r#"{"a":1}"#, r#"{"a":1,"b":1}"#);
        other("[1,2]", "[2,1]");
        other(r#"{"a":1}"#, r#"{"a":2,"a":1}"#);
        other("not json", "not  json");
    }

    #[test]
    fn invalid_json_is_rejected() {
        for text in [
            "",
            "{",
            "[1",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "\"a",
            "\"\\x\"",
            "\"\\ud83d\"",
            "01x",
            "truth",
            "NaN",
            "1 2",
            "{\"a\":1,\"a\":1}",
            "\"\n\"",
            "-",
            "inf",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&deep(MAX_DEPTH)).is_some() && parse(&deep(MAX_DEPTH + 1)).is_none());
        assert_eq!(parse(&"[".repeat(1_000_000)), None);
    }

    #[test]
    fn text_field_is_found_by_name() {
        let input = json(r#"{"file_path":"a\/b","n":1,"deep":{"file_path":"c"}}"#);
        assert_eq!(input.text("file_path").as_deref(), Some("a/b"));
        assert_eq!(input.text("n"), None);
        assert_eq!(input.text("nothing"), None);
        assert_eq!(json("[]").text("file_path"), None);
        assert_eq!(json(r#"{"file_path":"a","file_path":"b"}"#).text("file_path"), None);
    }
}
