//! Addresses: which ones the user wrote, which ones were seen in text of others, and which ones a model composed. Only the
//! first two carry no private bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use super::memory::Messages;
use crate::conversation::Json;
use crate::permission::links;

/// How many of the newest addresses are remembered.
const LINKS: usize = 500;
/// How many of the newest addresses are remembered that a model wrote into calls.
const COMPOSED: usize = 2_000;
/// How often an address that was encoded again and again is decoded.
const DECODINGS: usize = 5;

impl Messages {
    /// The human wrote these words.
    pub(super) fn remember_links(&mut self, words: &str) {
        remember(&mut self.links, links(words), LINKS);
    }

    /// A model calls a tool with this input. What it wrote there and what was not known before does not count as seen if
    /// it comes back in a result, of this call or of a later one.
    pub(super) fn remember_composed(&mut self, input: &Json) {
        let known: Vec<String> = self.links.iter().chain(self.seen.iter()).map(|link| normal(link)).collect();
        let tokens = tokens(&input.canonical().0).into_iter().filter(|token| !known.contains(token));
        remember(&mut self.composed, tokens, COMPOSED);
    }

    /// `text` came from outside, in answer to `input`. An address in it that stands in the input, or that a model composed
    /// before, was only repeated, so it does not count as seen.
    pub(super) fn remember_seen(&mut self, text: &str, input: &Json) {
        let given = tokens(&input.canonical().0);
        let composed = &self.composed;
        let fresh = links(text).filter(|link| {
            let link = normal(link);
            !given.iter().any(|token| token.contains(&link)) && !is_composed(&link, composed)
        });
        remember(&mut self.seen, fresh, LINKS);
    }
}

/// Whether `link` is a part of something that a model wrote, or goes on where an address ends that it wrote.
fn is_composed(link: &str, composed: &VecDeque<String>) -> bool {
    composed.iter().any(|token| {
        let goes_on = || token.contains(['/', '?']) && link.starts_with(token.as_str());
        token.contains(link) || goes_on()
    })
}

/// The words in `text` that could be an address, or contain one, as they are compared.
fn tokens(text: &str) -> Vec<String> {
    let text = ["\\n", "\\r", "\\t"].iter().fold(text.to_owned(), |text, end| text.replace(end, " "));
    let parts = text.split(|c: char| c.is_whitespace() || "\"<>\\".contains(c));
    parts.map(normal).filter(|token| token.contains('.')).collect()
}

/// An address without its scheme, decoded and in lower case, as it is compared with others.
fn normal(address: &str) -> String {
    let mut text = address.to_lowercase();
    for _ in 0..DECODINGS {
        let decoded = decoded(&text);
        if decoded == text {
            break;
        }
        text = decoded;
    }
    let text = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
    text.trim_matches(|c: char| c.is_whitespace() || "/,;:.!?)]}'".contains(c)).to_owned()
}

/// `text` with its `%xx` and `&amp;` decoded once, in lower case.
fn decoded(text: &str) -> String {
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
    String::from_utf8_lossy(&bytes).replace("&amp;", "&").to_lowercase()
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

    /// An address that a model wrote into a call is known again however it is written in a result, and also if it stands
    /// inside of another one or was added to.
    #[test]
    fn an_address_that_was_composed_is_known_again_however_it_is_written() {
        let seen = |input: &str, text: &str| {
            let mut messages =
                super::super::Memory::of(Conversation::new(Default::default(), EntryId(1))).messages;
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
}
