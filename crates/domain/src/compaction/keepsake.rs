//! Finds the facts of a conversation that its summary must contain, by plain rules.
//!
//! Promises come first, then ids, dates and times, and names, newest first. Their number is
//! limited.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::conversation::{Said, Text};

/// The most facts of one compaction.
const MOST: usize = 40;
/// The longest id in characters; a longer word is pasted data that a summary does not repeat.
const ID_CHARS: usize = 80;
/// The longest quotation of a promise in characters.
const PROMISE_CHARS: usize = 160;
/// The share of a promise's stems that must appear in the summary.
const PROMISE_SHARE: f64 = 0.6;

/// Phrases that mark a promise or a request for one.
const PROMISES: [&str; 16] = [
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
const SMALL: [&str; 36] = [
    "about", "after", "again", "agreed", "before", "could", "does", "dont", "forget", "from", "have", "into",
    "just", "make", "more", "must", "need", "please", "promise", "remember", "remind", "should", "some",
    "that", "their", "them", "then", "there", "they", "this", "want", "what", "when", "will", "with",
    "would",
];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// A fact that the summary must contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keepsake {
    pub kind: Kind,
    /// Its original text.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An announced action, or a request to be reminded.
    Promise,
    /// A number or code that must be repeated exactly.
    Id,
    Date,
    /// A person or place that was mentioned more than once.
    Name,
}

impl Keepsake {
    /// Returns whether `summary` contains it.
    pub fn is_in(&self, summary: &str) -> bool {
        let summary = summary.to_lowercase();
        match self.kind {
            Kind::Id | Kind::Date | Kind::Name => summary.contains(&self.text.to_lowercase()),
            Kind::Promise => {
                let stems = stems(&self.text);
                let found = stems.iter().filter(|stem| summary.contains(stem.as_str())).count();
                found as f64 >= stems.len() as f64 * PROMISE_SHARE
            }
        }
    }
}

/// Extracts the required facts of `said`, most important first.
pub fn keepsakes(said: &[Arc<Said>]) -> Vec<Keepsake> {
    let mut found = Found::default();
    for (age, said) in said.iter().rev().enumerate() {
        match &**said {
            // The prompt of a background job is in its file and is sent again with each run.
            Said::Human(heard) if heard.text.is_empty() && is_job(&heard.preface) => {}
            // A message that was sent to the model again is in a note, after the time.
            Said::Human(heard) if heard.text.is_empty() => {
                found.read(heard.preface.split_once("] ").map_or("", |(_, words)| words), age);
            }
            Said::Human(_) | Said::Assistant(..) | Said::Summary(_) => found.read(&said.text(), age),
            // Tool results can be requested again; the surrounding text contains their outcome.
            Said::Tools(_) | Said::Recalled(_) => {}
        }
    }
    found.ranked()
}

fn is_job(preface: &str) -> bool {
    ["[routine-bg:", "[reminder-bg:", "[webhook:"].iter().any(|tag| preface.contains(tag))
}

#[derive(Default)]
struct Found {
    /// The age of the newest mention.
    kept: BTreeMap<(Kind, String), usize>,
    names: BTreeMap<String, (usize, usize)>,
}

impl Found {
    fn read(&mut self, text: &str, age: usize) {
        for sentence in sentences(text) {
            let lower = sentence.to_lowercase();
            if PROMISES.iter().any(|start| lower.contains(start)) && !stems(sentence).is_empty() {
                self.keep(Kind::Promise, &shortened(sentence), age);
            }
            self.read_words(sentence, age);
        }
    }

    fn read_words(&mut self, sentence: &str, age: usize) {
        let words: Vec<&str> =
            sentence.split_whitespace().map(trimmed).filter(|word| !word.is_empty()).collect();
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1).copied().unwrap_or_default();
            if let Some(date) = date(word, next) {
                self.keep(Kind::Date, &date, age);
            } else if is_id(word) {
                self.keep(Kind::Id, word, age);
            } else if at > 0 && is_name(word) {
                let seen = self.names.entry((*word).to_owned()).or_insert((0, age));
                *seen = (seen.0 + 1, seen.1.min(age));
            }
        }
    }

    fn keep(&mut self, kind: Kind, text: &str, age: usize) {
        let newest = self.kept.entry((kind, text.to_owned())).or_insert(age);
        *newest = age.min(*newest);
    }

    fn ranked(self) -> Vec<Keepsake> {
        let names = self.names.into_iter().filter(|(_, (times, _))| *times > 1);
        let names = names.map(|(name, (_, age))| ((Kind::Name, name), age));
        let mut all: Vec<((Kind, String), usize)> = self.kept.into_iter().chain(names).collect();
        all.sort_by(|((kind, text), age), ((other, name), later)| {
            (kind, age, text).cmp(&(other, later, name))
        });
        let all = all.into_iter().map(|((kind, text), _)| Keepsake { kind, text });
        shared(all.collect())
    }
}

/// Limits the number of facts with a share for each kind, so that many promises do not displace
/// ids.
fn shared(ranked: Vec<Keepsake>) -> Vec<Keepsake> {
    let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
    let (mut first, rest): (Vec<Keepsake>, Vec<Keepsake>) = ranked.into_iter().partition(|keepsake| {
        let count = counts.entry(keepsake.kind).or_default();
        *count += 1;
        *count <= MOST / 4
    });
    let room = MOST - first.len();
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

fn trimmed(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric() && c != '#' && c != '+').trim_end_matches("'s")
}

fn shortened(sentence: &str) -> String {
    sentence.chars().take(PROMISE_CHARS).collect()
}

/// Returns the first letters of the meaningful words.
fn stems(sentence: &str) -> Vec<String> {
    let words = sentence.split_whitespace().map(|word| trimmed(word).to_lowercase());
    let meaningful = words.filter(|word| word.chars().count() > 3 && !SMALL.contains(&word.as_str()));
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
    if word.chars().count() > ID_CHARS {
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
    use crate::conversation::{Block, Heard, Reach};

    fn found(texts: &[&str]) -> Vec<String> {
        let said: Vec<Arc<Said>> = texts
            .iter()
            .map(|text| {
                let preface = String::new();
                let text = (*text).to_owned();
                Arc::new(Said::Human(Heard { preface, text, images: Vec::new() }))
            })
            .collect();
        keepsakes(&said)
            .into_iter()
            .map(|keepsake| format!("{:?}: {}", keepsake.kind, keepsake.text))
            .collect()
    }

    #[test]
    fn what_cannot_be_guessed_is_found() {
        let check = |text: &str, expected: &[&str]| assert_eq!(found(&[text]), expected, "{text}");
        check("flight LH4711 on 24 dec at 17:00", &["Id: LH4711", "Date: 17:00", "Date: 24 dec"]);
        check("see 2026-11-17, and the ticket #42", &["Id: #42", "Date: 2026-11-17"]);
        check("call 0305550199", &["Id: 0305550199"]);
        check("mail anna@example.org", &["Id: anna@example.org"]);
        check("remind me to water the plants", &["Promise: remind me to water the plants"]);
        check("lovely weather, is it not?", &[]);
    }

    #[test]
    fn a_name_that_comes_back_is_kept() {
        assert_eq!(found(&["then Weber called", "ask Weber about it"]), ["Name: Weber"]);
        assert_eq!(found(&["then Weber called"]), Vec::<String>::new());
    }

    #[test]
    fn there_are_never_more_than_fit_and_promises_come_first() {
        let many: Vec<String> = (0..100).map(|n| format!("ticket #{n}")).collect();
        let mut texts: Vec<&str> = vec!["remind me to call the dentist"];
        texts.extend(many.iter().map(String::as_str));
        let found = found(&texts);
        assert_eq!(found.len(), MOST);
        assert_eq!(found[0], "Promise: remind me to call the dentist");
        assert_eq!(found[1], "Id: #99", "the newest first");
    }

    #[test]
    fn a_promise_may_be_told_in_other_words() {
        let promise =
            Keepsake { kind: Kind::Promise, text: "remind me to call the dentist tomorrow".to_owned() };
        assert!(promise.is_in("They asked to be reminded of calling the dentist tomorrow morning."));
        assert!(!promise.is_in("They talked about teeth."));
    }

    /// RP-25: The prompt of a background job is not required in the summary of its session, but its
    /// findings are.
    #[test]
    fn what_a_job_is_told_need_not_be_kept() {
        let told =
            Heard::note("[2026-11-16 Mon 09:00 AM CET] [routine-bg:mail] It runs at 10:15.".to_owned());
        let said = Said::Assistant(vec![Block::Text("Booked X2417 for 18:30.".to_owned())], Reach::Whole);
        let kept = keepsakes(&[Arc::new(Said::Human(told)), Arc::new(said)]);
        let kept: Vec<&str> = kept.iter().map(|keepsake| keepsake.text.as_str()).collect();
        assert_eq!(kept, ["X2417", "18:30"]);
    }
}
