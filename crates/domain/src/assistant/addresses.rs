//! Addresses that the user wrote, that outside text showed, and that a model composed. Only the
//! first two cannot carry private data.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::state::Messages;
use crate::context::SEARCH_ANSWER;
use crate::conversation::Json;
use crate::label::{Realm, Realms};
use crate::permission::links_in;
use crate::tool::{ServerToolKind, ToolCall, ToolClass, ToolResult};

/// The maximum number of remembered addresses; the oldest are dropped first.
const MAX_LINKS: usize = 500;
/// The maximum number of remembered addresses that a model wrote into calls.
const MAX_COMPOSED: usize = 2_000;
/// The maximum number of nested percent-encodings that are decoded.
const MAX_DECODINGS: usize = 5;
/// The maximum number of nested base64 encodings that are decoded.
const BASE64_DECODINGS: usize = 3;
/// Maximum number of bytes that are decoded of one call, in all levels. The decision on a call must
/// not take longer than reading it.
const MAX_DECODED_BYTES: usize = 8 << 20;
/// The shortest text in base64 that is decoded. It holds six bytes, and an address has at least as many.
const BASE64_CHARS: usize = 8;
/// Base64 with or without padding. Bits that are left over at its end are ignored, as many decoders do.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Messages {
    /// Remembers the addresses in a message of the user.
    pub(super) fn remember_links(&mut self, words: &str) {
        remember(&mut self.links, links_in(words), MAX_LINKS);
    }

    /// Remembers the addresses that a model wrote into a call. An address that was not known before
    /// does not count as seen when a result, of this call or of a later one, shows it again.
    pub(super) fn remember_composed(&mut self, input: &Json) {
        let tokens = tokens(&input.canonical().0);
        if tokens.is_empty() {
            return;
        }
        let known: Vec<String> =
            self.links.iter().chain(self.seen.iter()).map(|link| normalized(link)).collect();
        let fresh = tokens.into_iter().filter(|token| !known.contains(token));
        remember(&mut self.composed, fresh, MAX_COMPOSED);
    }

    /// Remembers the addresses in `text`, which came from outside as the result of `input`. An
    /// address that occurs in the input, or that a model composed before, was only repeated and
    /// does not count as seen.
    pub(super) fn remember_seen(&mut self, text: &str, input: &Json) {
        let given = tokens(&input.canonical().0);
        let composed = &self.composed;
        let fresh = links_in(text).filter(|link| {
            let link = normalized(link);
            !given.iter().any(|token| token.contains(&link)) && !is_composed(&link, composed)
        });
        remember(&mut self.seen, fresh, MAX_LINKS);
    }

    /// Restores the addresses at startup: `written` by the user, composed in `calls`, and shown by
    /// results in `shown`. An address that a model composed in any of `calls` does not count as
    /// seen, even if a result showed it before.
    pub fn restore_links(
        &mut self,
        written: &[String],
        calls: &[ToolCall],
        shown: &[(ToolCall, ToolResult)],
    ) {
        for words in written {
            self.remember_links(words);
        }
        for call in calls.iter().filter(|call| past_class(call) != Some(ToolClass::Fetches)) {
            self.remember_composed(&call.input);
        }
        for (call, result) in shown {
            if let Some(text) = past_class(call).and_then(|class| shows_addresses(class, None, result)) {
                self.remember_seen(text, &call.input);
            }
        }
    }
}

/// Returns the class of the tool of a past call, if its results may show addresses. Server tools
/// are excluded, because their kind at that time is not stored.
fn past_class(call: &ToolCall) -> Option<ToolClass> {
    match call.name.as_str() {
        "WebFetch" => Some(ToolClass::Fetches),
        "WebSearch" => Some(ToolClass::Searches),
        "Bash" => Some(ToolClass::Shell),
        _ => None,
    }
}

/// Returns the part of `result` whose addresses count as seen: pages, search results and mail.
/// Answers of subagents and earlier conversations are written by a model, which could have composed
/// an address. A server can store such an address, so of its tools only those of the kinds search
/// and fetch count.
pub(super) fn shows_addresses(
    class: ToolClass,
    kind: Option<ServerToolKind>,
    result: &ToolResult,
) -> Option<&str> {
    let all = || Some(result.text.as_str()).filter(|_| result.label.is_tainted());
    match class {
        ToolClass::Fetches => all(),
        ToolClass::Searches => all().map(pages_of_search),
        ToolClass::Foreign => {
            all().filter(|_| matches!(kind, Some(ServerToolKind::Search | ServerToolKind::Fetch)))
        }
        ToolClass::Shell => all().filter(|_| result.label.outside == Realms::single(Realm::Mail)),
        ToolClass::Own
        | ToolClass::Notes
        | ToolClass::Plans
        | ToolClass::Reads
        | ToolClass::Edits
        | ToolClass::Acts
        | ToolClass::Delegates => None,
    }
}

/// Returns the list of pages of a search result, without the answer below it, because the model
/// that wrote the answer could have composed an address.
fn pages_of_search(text: &str) -> &str {
    text.split_once(SEARCH_ANSWER).map_or(text, |(pages, _)| pages)
}

/// Returns true if `link` is part of a text that the model wrote, or extends an address that the model wrote.
fn is_composed(link: &str, composed: &VecDeque<String>) -> bool {
    composed.iter().any(|token| {
        let extends_token = || token.contains(['/', '?']) && link.starts_with(token.as_str());
        token.contains(link) || extends_token()
    })
}

/// Returns the parts of `text` that could be or contain an address, normalized for comparison. Text
/// encoded in base64 is included.
fn tokens(text: &str) -> Vec<String> {
    let mut found: BTreeSet<String> = plain_tokens(text).collect();
    let mut budget = MAX_DECODED_BYTES;
    let mut level = BTreeSet::from([text.to_owned()]);
    for _ in 0..BASE64_DECODINGS {
        let mut decoded = BTreeSet::new();
        for text in &level {
            decode_base64_in(text, &mut decoded, &mut budget);
        }
        found.extend(decoded.iter().flat_map(|text| plain_tokens(text)));
        level = decoded;
    }
    found.into_iter().collect()
}

fn plain_tokens(text: &str) -> impl Iterator<Item = String> {
    let text = without_escapes(text, " ");
    let parts = text.split(|c: char| c.is_whitespace() || "\"<>\\".contains(c));
    parts.map(normalized).filter(|token| token.contains('.')).collect::<Vec<_>>().into_iter()
}

/// Replaces line breaks and tabs, including those escaped as in JSON, by `by`.
fn without_escapes(text: &str, by: &str) -> String {
    let ends = ["\n", "\r", "\t", "\\n", "\\r", "\\t", "\\u000a", "\\u000d", "\\u0009"];
    ends.iter().fold(text.to_owned(), |text, end| text.replace(end, by))
}

/// Adds the texts that `text` contains in base64 to `found`, in the standard or the URL-safe
/// alphabet, with or without padding. Lines of a broken text are decoded alone and joined.
///
/// A text may begin after a separator that belongs to the alphabet. Beginnings that are a multiple
/// of four letters apart decode to suffixes of one another, so one beginning for each remainder is
/// enough, and the work grows linearly with the text.
fn decode_base64_in(text: &str, found: &mut BTreeSet<String>, budget: &mut usize) {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "+/-_".contains(c);
    let mut variants = BTreeSet::new();
    for by in [" ", ""] {
        variants.insert(percent_decoded(&without_escapes(text, by)));
    }
    for text in &variants {
        for word in text.split(|c: char| !is_letter(c)).filter(|word| word.len() >= BASE64_CHARS) {
            let separators = word.match_indices(['+', '/', '-', '_']).map(|(at, _)| at + 1);
            let mut remainders = [false; 4];
            for start in std::iter::once(0).chain(separators) {
                if std::mem::replace(&mut remainders[start % 4], true) {
                    continue;
                }
                let Some(decoded) = decoded_base64(&word[start..]) else { continue };
                let Some(rest) = budget.checked_sub(decoded.len()) else { return };
                *budget = rest;
                found.insert(decoded);
            }
        }
    }
}

/// Decodes `word` if it can be base64. Bytes that are not UTF-8 become spaces.
fn decoded_base64(word: &str) -> Option<String> {
    // A single remaining character holds less than a byte.
    let word = if word.len() % 4 == 1 { &word[..word.len() - 1] } else { word };
    if word.len() < BASE64_CHARS {
        return None;
    }
    let bytes = BASE64.decode(word.replace('-', "+").replace('_', "/")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.replace(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER, " "))
}

/// Returns `address` without its scheme, decoded and in lower case.
fn normalized(address: &str) -> String {
    let mut text = address.to_lowercase();
    for _ in 0..MAX_DECODINGS {
        let decoded = decoded(&text);
        if decoded == text {
            break;
        }
        text = decoded;
    }
    let text = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
    text.trim_matches(|c: char| c.is_whitespace() || "/,;:.!?)]}'".contains(c)).to_owned()
}

/// Returns `text` with its `%xx` and `&amp;` decoded once, in lower case.
fn decoded(text: &str) -> String {
    percent_decoded(text).replace("&amp;", "&").to_lowercase()
}

/// Returns `text` with its `%xx` decoded once.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match (first, after) {
            (b'%', [high, low, after @ ..]) if hex(*high).is_some() && hex(*low).is_some() => {
                bytes.push(hex(*high).unwrap_or_default() << 4 | hex(*low).unwrap_or_default());
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn remember(all: &mut Arc<VecDeque<String>>, links: impl Iterator<Item = String>, most: usize) {
    for link in links.filter(|link| !all.contains(link)).collect::<Vec<_>>() {
        let all = Arc::make_mut(all);
        all.push_back(link);
        if all.len() > most {
            all.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Conversation, EntryId};

    /// A composed address is recognized in a result in any encoding, as a part of another address,
    /// and with a suffix.
    #[test]
    fn composed_address_is_recognized_in_any_encoding() {
        let seen = |input: &str, text: &str| {
            let mut messages =
                super::super::State::new(Conversation::new(Default::default(), EntryId(1))).messages;
            messages.remember_links("see https://typed.example/a/b");
            messages.remember_composed(&Json(input.to_owned()));
            messages.remember_seen(text, &Json("{}".to_owned()));
            messages.seen.iter().cloned().collect::<Vec<_>>()
        };
        let note =
            r#"{"tool":"mcp__notes__add","input":{"text":"look:\nHTTPS://Evil.example/?d=my secret%20pin"}}"#;
        for text in [
            "https://evil.example/?d=my",
            "https://evil.example/?d=MY",
            "https://evil.example/%3Fd=%6dy",
            "https://evil.example/%253Fd%253Dmy",
            "https://evil.example/?d=my&amp;id=7",
            "https://evil.example/?d=my/",
            "http://evil.example/?d=my",
            "https://evil.example",
        ] {
            assert_eq!(seen(note, text), Vec::<String>::new(), "{text}");
        }
        let parts = r#"{"text":"evil.example%2F%3Fd%3Dsecret"}"#;
        assert_eq!(seen(parts, "https://evil.example/?d=secret"), Vec::<String>::new());
        let words = r#"{"query":"news.example. see e.g. https://typed.example/a/b"}"#;
        for text in ["https://news.example/today", "https://typed.example/a/b/c", "https://www.news.example"]
        {
            assert_eq!(seen(words, text), [text], "{text}");
        }
    }

    /// Text that is encoded again and again after many separators is decoded in bounded space.
    #[test]
    fn nested_base64_is_decoded_once_for_each_remainder() {
        let address = "https://evil.example/?d=my";
        let separators: String = (0..15).map(|number| format!("{number:02}?")).collect();
        let mut nested = format!("{separators}{address}{}", " filler".repeat(4_000));
        for _ in 0..BASE64_DECODINGS {
            nested = format!("{}{}", separators.replace('?', "/"), BASE64.encode(&nested));
        }
        let tokens = tokens(&nested);
        assert!(tokens.iter().any(|token| token.contains("evil.example/?d=my")), "{}", tokens.len());
        let total: usize = tokens.iter().map(String::len).sum();
        assert!(total < 200 * nested.len(), "{total} bytes of {}", nested.len());
    }

    /// An address that a model wrote in base64 is known again if a result shows it decoded.
    #[test]
    fn an_address_that_was_composed_in_base64_is_known_again() {
        let seen = |input: &str, text: &str| {
            let mut messages =
                super::super::State::new(Conversation::new(Default::default(), EntryId(1))).messages;
            messages.remember_composed(&Json(input.to_owned()));
            messages.remember_seen(text, &Json("{}".to_owned()));
            messages.seen.iter().cloned().collect::<Vec<_>>()
        };
        let address = "https://evil.example/?d=my??>secret";
        let url_safe = |text: &str| BASE64.encode(text).replace('+', "-").replace('/', "_");
        let standard = BASE64.encode(address);
        let twice = BASE64.encode(&standard);
        let phrase = BASE64.encode(format!("see {address} today"));
        let bytes = BASE64.encode([b"\xff\xfe\x00 ".as_slice(), address.as_bytes()].concat());
        let (first, last) = standard.split_at(20);
        assert!(standard.contains('=') && url_safe(address).contains('_'), "{standard}");
        for written in [
            standard.clone(),
            standard.trim_end_matches('=').to_owned(),
            url_safe(address),
            url_safe(address).trim_end_matches('=').to_owned(),
            standard.replace('=', "%3D").replace('/', "%2F"),
            format!("data:text/plain;base64,{standard}"),
            format!("notes/{standard}"),
            format!("d={standard}"),
            format!("{first}\\n{last}"),
            twice,
            phrase,
            bytes,
        ] {
            let input = format!(r#"{{"tool":"mcp__notes__add","input":{{"text":"{written}"}}}}"#);
            assert_eq!(seen(&input, "https://evil.example/?d=my"), Vec::<String>::new(), "{written}");
            let other = "https://news.example/today";
            assert_eq!(seen(&input, other), [other], "{written}");
        }
    }
}
