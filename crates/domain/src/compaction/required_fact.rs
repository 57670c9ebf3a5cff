//! Finds the facts of a conversation that its summary must contain, by plain rules.
//!
//! Promises come first, then ids, dates and times, and names, newest first. Their number is
//! limited.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::conversation::{EntryContent, Text};

/// The most facts of one compaction.
const MAX_FACTS: usize = 40;
/// The longest id in characters; a longer word is pasted data that a summary does not repeat.
const MAX_ID_CHARS: usize = 80;
/// The longest quotation of a promise in characters.
const MAX_PROMISE_CHARS: usize = 160;
/// The share of a promise's stems that must appear in the summary.
const MIN_STEM_SHARE: f64 = 0.6;

/// Phrases that mark a promise or a request for one.
const PROMISE_PHRASES: [&str; 16] = [
    "remind me",
    "remember to",
    "remember that",
    "don't forget",
    "do not forget",
    "i'll ",
    "i will ",
    "i must ",
    "i have to ",
    "i need to ",
    "we agreed",
    "promise",
    "deadline",
    "appointment",
    "todo",
    " due ",
];
/// Words that carry no meaning of their own.
const STOP_WORDS: [&str; 36] = [
    "about", "after", "again", "agreed", "before", "could", "does", "dont", "forget", "from", "have", "into",
    "just", "make", "more", "must", "need", "please", "promise", "remember", "remind", "should", "some",
    "that", "their", "them", "then", "there", "they", "this", "want", "what", "when", "will", "with",
    "would",
];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// A fact that the summary must contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredFact {
    pub kind: FactKind,
    /// Its original text.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FactKind {
    /// An announced action, or a request to be reminded.
    Promise,
    /// A number or code that must be repeated exactly.
    Id,
    Date,
    /// A person or place that was mentioned more than once.
    Name,
}

impl RequiredFact {
    /// Returns whether `summary` contains it.
    pub fn is_in(&self, summary: &str) -> bool {
        let summary = summary.to_lowercase();
        match self.kind {
            FactKind::Id | FactKind::Date | FactKind::Name => summary.contains(&self.text.to_lowercase()),
            FactKind::Promise => {
                let stems = stems(&self.text);
                let found = stems.iter().filter(|stem| summary.contains(stem.as_str())).count();
                found as f64 >= stems.len() as f64 * MIN_STEM_SHARE
            }
        }
    }
}

/// Extracts the required facts of `said`, most important first.
pub fn required_facts(said: &[Arc<EntryContent>]) -> Vec<RequiredFact> {
    let mut found = FactExtractor::default();
    for (age, said) in said.iter().rev().enumerate() {
        match &**said {
            // The prompt of a background job is in its file and is sent again with each run.
            EntryContent::User(heard) if heard.text.is_empty() && is_job_prompt(&heard.preface) => {}
            // A message that was sent to the model again is in a note, after the time.
            EntryContent::User(heard) if heard.text.is_empty() => {
                found.read(heard.preface.split_once("] ").map_or("", |(_, words)| words), age);
            }
            EntryContent::User(_) | EntryContent::Assistant(..) | EntryContent::Summary(_) => {
                found.read(&said.text(), age)
            }
            // Tool results can be requested again; the surrounding text contains their outcome.
            EntryContent::Tools(_) | EntryContent::SummaryRecalled(_) => {}
        }
    }
    found.into_ranked()
}

fn is_job_prompt(preface: &str) -> bool {
    ["[routine-bg:", "[reminder-bg:", "[webhook:"].iter().any(|tag| preface.contains(tag))
}

#[derive(Default)]
struct FactExtractor {
    /// The age of the newest mention.
    ages: BTreeMap<(FactKind, String), usize>,
    names: BTreeMap<String, (usize, usize)>,
}

impl FactExtractor {
    fn read(&mut self, text: &str, age: usize) {
        for sentence in sentences(text) {
            let lower = sentence.to_lowercase();
            if PROMISE_PHRASES.iter().any(|start| lower.contains(start)) && !stems(sentence).is_empty() {
                self.add(FactKind::Promise, &shorten(sentence), age);
            }
            self.read_words(sentence, age);
        }
    }

    fn read_words(&mut self, sentence: &str, age: usize) {
        let words: Vec<&str> =
            sentence.split_whitespace().map(trim_word).filter(|word| !word.is_empty()).collect();
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1).copied().unwrap_or_default();
            if let Some(date) = date(word, next) {
                self.add(FactKind::Date, &date, age);
            } else if is_id(word) {
                self.add(FactKind::Id, word, age);
            } else if at > 0 && is_name(word) {
                let seen = self.names.entry((*word).to_owned()).or_insert((0, age));
                *seen = (seen.0 + 1, seen.1.min(age));
            }
        }
    }

    fn add(&mut self, kind: FactKind, text: &str, age: usize) {
        let newest = self.ages.entry((kind, text.to_owned())).or_insert(age);
        *newest = age.min(*newest);
    }

    fn into_ranked(self) -> Vec<RequiredFact> {
        let names = self.names.into_iter().filter(|(_, (times, _))| *times > 1);
        let names = names.map(|(name, (_, age))| ((FactKind::Name, name), age));
        let mut all: Vec<((FactKind, String), usize)> = self.ages.into_iter().chain(names).collect();
        all.sort_by(|((kind, text), age), ((other, name), later)| {
            (kind, age, text).cmp(&(other, later, name))
        });
        let all = all.into_iter().map(|((kind, text), _)| RequiredFact { kind, text });
        limit_per_kind(all.collect())
    }
}

/// Limits the number of facts with a share for each kind, so that many promises do not displace
/// ids.
fn limit_per_kind(ranked: Vec<RequiredFact>) -> Vec<RequiredFact> {
    let mut counts: BTreeMap<FactKind, usize> = BTreeMap::new();
    let (mut first, rest): (Vec<RequiredFact>, Vec<RequiredFact>) =
        ranked.into_iter().partition(|keepsake| {
            let count = counts.entry(keepsake.kind).or_default();
            *count += 1;
            *count <= MAX_FACTS / 4
        });
    let room = MAX_FACTS - first.len();
    first.extend(rest.into_iter().take(room));
    first.sort_by_key(|keepsake| keepsake.kind);
    first
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', '!', '?'])
        .flat_map(|line| line.split(". "))
        .map(str::trim)
        .filter(|line| !line.is_empty())
}

fn trim_word(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '#' && c != '+').trim_end_matches("'s")
}

fn shorten(sentence: &str) -> String {
    sentence.chars().take(MAX_PROMISE_CHARS).collect()
}

/// Returns the first letters of the meaningful words.
fn stems(sentence: &str) -> Vec<String> {
    let words = sentence.split_whitespace().map(|word| trim_word(word).to_lowercase());
    let meaningful = words.filter(|word| word.chars().count() > 3 && !STOP_WORDS.contains(&word.as_str()));
    meaningful.map(|word| word.chars().take(5).collect()).collect()
}

/// Returns a date or time such as `2026-11-17`, `15:00` or `24.12`, or a day and a month in two
/// words.
fn date(word: &str, next: &str) -> Option<String> {
    let digits = |text: &str| !text.is_empty() && text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = word.split(['-', ':', '.', '/']).collect();
    let plain = match parts[..] {
        [year, month, day] => {
            year.len() == 4 && year.bytes().all(|b| b.is_ascii_digit()) && digits(month) && digits(day)
        }
        [first, second] => digits(first) && digits(second) && second.len() == 2,
        _ => false,
    };
    if plain {
        return Some(word.to_owned());
    }
    let is_month = |word: &str| {
        let lower = word.to_lowercase();
        lower.len() >= 3 && MONTHS.iter().any(|month| lower.starts_with(month)) && lower.len() <= 9
    };
    let is_day = digits(word.trim_end_matches(|c: char| c.is_alphabetic()));
    (is_day && is_month(next)).then(|| format!("{word} {next}"))
}

/// Returns whether the word is a code with letters and digits, a long number, or an address.
fn is_id(word: &str) -> bool {
    if word.chars().count() > MAX_ID_CHARS {
        return false;
    }
    let letters = word.chars().any(char::is_alphabetic);
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let address = word.contains("://") || (word.contains('@') && word.contains('.'));
    address
        || (letters && digits >= 2 && word.len() >= 4)
        || (!letters && digits >= 5)
        || word.starts_with('#')
}

fn is_name(word: &str) -> bool {
    let mut characters = word.chars();
    let capital = characters.next().is_some_and(char::is_uppercase);
    capital && word.chars().count() > 2 && characters.all(|c| c.is_lowercase() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Block, Completeness, UserInput};

    fn facts(texts: &[&str]) -> Vec<String> {
        let said: Vec<Arc<EntryContent>> = texts
            .iter()
            .map(|text| {
                let preface = String::new();
                let text = (*text).to_owned();
                Arc::new(EntryContent::User(UserInput { preface, text, images: Vec::new() }))
            })
            .collect();
        required_facts(&said)
            .into_iter()
            .map(|keepsake| format!("{:?}: {}", keepsake.kind, keepsake.text))
            .collect()
    }

    #[test]
    fn ids_dates_and_promises_are_found() {
        let check = |text: &str, expected: &[&str]| assert_eq!(facts(&[text]), expected, "{text}");
        check("flight LH4711 on 24 dec at 17:00", &["Id: LH4711", "Date: 17:00", "Date: 24 dec"]);
        check("see 2026-11-17, and the ticket #42", &["Id: #42", "Date: 2026-11-17"]);
        check("call 0305550199", &["Id: 0305550199"]);
        check("mail anna@example.org", &["Id: anna@example.org"]);
        check("remind me to water the plants", &["Promise: remind me to water the plants"]);
        check("lovely weather, is it not?", &[]);
    }

    #[test]
    fn repeated_name_is_kept() {
        assert_eq!(facts(&["then Weber called", "ask Weber about it"]), ["Name: Weber"]);
        assert_eq!(facts(&["then Weber called"]), Vec::<String>::new());
    }

    #[test]
    fn facts_are_limited_and_promises_come_first() {
        let many: Vec<String> = (0..100).map(|n| format!("ticket #{n}")).collect();
        let mut texts: Vec<&str> = vec!["remind me to call the dentist"];
        texts.extend(many.iter().map(String::as_str));
        let found = facts(&texts);
        assert_eq!(found.len(), MAX_FACTS);
        assert_eq!(found[0], "Promise: remind me to call the dentist");
        assert_eq!(found[1], "Id: #99", "the newest first");
    }

    #[test]
    fn promise_may_be_rephrased() {
        let promise = RequiredFact {
            kind: FactKind::Promise,
            text: "remind me to call the dentist tomorrow".to_owned(),
        };
        assert!(promise.is_in("They asked to be reminded of calling the dentist tomorrow morning."));
        assert!(!promise.is_in("They talked about teeth."));
    }

    /// RP-25: The prompt of a background job is not required in the summary of its session, but its
    /// findings are.
    #[test]
    fn job_prompt_is_not_required() {
        let told =
            UserInput::note("[2026-11-16 Mon 09:00 AM CET] [routine-bg:mail] It runs at 10:15.".to_owned());
        let said = EntryContent::Assistant(
            vec![Block::Text("Booked X2417 for 18:30.".to_owned())],
            Completeness::Complete,
        );
        let kept = required_facts(&[Arc::new(EntryContent::User(told)), Arc::new(said)]);
        let kept: Vec<&str> = kept.iter().map(|keepsake| keepsake.text.as_str()).collect();
        assert_eq!(kept, ["X2417", "18:30"]);
    }
}
