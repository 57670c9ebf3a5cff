//! Requests with a time (reminders, recurrences, timers), and items that are kept without one.

use jiff::{SignedDuration, Zoned};

use super::{Intent, Sentence, sentence_kind, strip_prefix_ignore_case};
use crate::phrase::{self, Habits, ParseNote, ParsedPhrase, Timing, parse_duration};

/// Openings that ask for a reminder.
const REMINDER_REQUESTS: [&str; 10] = [
    "remind me",
    "please remind me",
    "pls remind me",
    "can you remind me",
    "could you remind me",
    "set a reminder",
    "set reminder",
    "reminder to",
    "don't forget to",
    "please don't forget to",
];
const KEEP_PREFIXES: [&str; 10] = [
    "remember that ",
    "remember: ",
    "remember to ",
    "remember ",
    "note: ",
    "note ",
    "keep: ",
    "keep ",
    "add: ",
    "todo: ",
];
/// The prefixes after which a time counts.
const TIMED_PREFIXES: [&str; 4] = ["remember to ", "add: ", "add ", "todo: "];
/// Openings of a request that needs thinking and is not a reminder.
const THINKING_VERBS: [&str; 26] = [
    "plan",
    "write",
    "explain",
    "summarize",
    "summarise",
    "help",
    "tell",
    "suggest",
    "think",
    "compare",
    "translate",
    "find",
    "search",
    "draft",
    "research",
    "recommend",
    "calculate",
    "describe",
    "decide",
    "discuss",
    "brainstorm",
    "teach",
    "show",
    "give",
    "hello",
    "please",
];
/// The maximum number of words of a thing to do or to get.
const MAX_THING_WORDS: usize = 8;
const TIMER: [&str; 7] = [
    "set a timer for ",
    "set a timer ",
    "start a timer for ",
    "start a timer ",
    "set timer ",
    "timer for ",
    "timer ",
];

/// The maximum number of words of a timer that are searched for a duration.
const MAX_TIMER_WORDS: usize = 12;

/// Parses a request with a time that is meant as one.
pub(super) fn parse(said: &Sentence<'_>, now: &Zoned, habits: &Habits) -> Option<Intent> {
    if let Some(timer) = timer(said, now) {
        return Some(timer);
    }
    let asked = REMINDER_REQUESTS.iter().any(|head| strip_prefix_ignore_case(said.plain, head).is_some());
    if asked {
        return Some(Intent::Plan(phrase::parse(said.words, now, habits)));
    }
    let words = match said.after_any(&TIMED_PREFIXES) {
        Some(rest) => rest,
        None if parse_keep(said).is_some() => return None,
        None => said.words,
    };
    if said.ends_with_question_mark()
        || sentence_kind::is_question(words)
        || sentence_kind::is_statement(words)
    {
        return None;
    }
    let reading = phrase::parse(words, now, habits);
    reading.when.is_some().then_some(Intent::Plan(reading))
}

/// Parses an explicit request to keep a text.
pub(super) fn parse_keep(said: &Sentence<'_>) -> Option<Intent> {
    after_keep_prefix(said.words).map(|rest| Intent::Keep(rest.to_owned()))
}

/// The text after a prefix that asks to keep it.
pub(super) fn after_keep_prefix(text: &str) -> Option<&str> {
    let after =
        |lead: &&str| strip_prefix_ignore_case(text, lead).map(str::trim).filter(|rest| !rest.is_empty());
    KEEP_PREFIXES.iter().find_map(after)
}

/// Returns whether it names a thing to do or to get: a few words, and neither a question, a
/// statement, nor a request that needs thinking.
pub(super) fn is_thing(said: &Sentence<'_>) -> bool {
    let words: Vec<&str> = said.lower.split(' ').collect();
    let thought = words.first().is_some_and(|first| THINKING_VERBS.contains(first));
    let said_to_us = said.ends_with_question_mark()
        || sentence_kind::is_question(said.plain)
        || sentence_kind::is_statement(said.plain);
    let plain = said.plain.contains(char::is_alphabetic) && !said.plain.starts_with('/');
    plain && !thought && !said_to_us && words.len() <= MAX_THING_WORDS
}

/// The errors of time phrases in a sentence that is not understood. A past time is not an error in
/// a question or statement.
pub(super) fn time_errors(said: &Sentence<'_>, now: &Zoned, habits: &Habits) -> Vec<ParseNote> {
    let told = said.ends_with_question_mark()
        || sentence_kind::is_question(said.plain)
        || sentence_kind::is_statement(said.plain);
    let wrong = |note: &ParseNote| note.is_error() && !(told && note.is_past());
    phrase::parse(said.words, now, habits).notes.into_iter().filter(wrong).collect()
}

/// `timer 4 min`, `timer 4 min tea`, `timer for tea 4 min`, `4 min timer`.
fn timer(said: &Sentence<'_>, now: &Zoned) -> Option<Intent> {
    if said.is(&["timer", "set a timer", "start a timer"]) {
        let sentence = "a timer for how long? say it like `timer 4 min`".to_owned();
        let notes = vec![ParseNote::Invalid(sentence)];
        return Some(Intent::Plan(ParsedPhrase {
            text: String::new(),
            when: None,
            alternative: None,
            notes,
        }));
    }
    let rest = said.after_any(&TIMER).or_else(|| said.plain.strip_suffix(" timer"))?;
    let (what, length) = split_duration(rest)?;
    let at = now.checked_add(length).ok()?;
    let what = if what.is_empty() { "timer" } else { what };
    let when = Some(Timing::Once(at));
    Some(Intent::Plan(ParsedPhrase { text: what.to_owned(), when, alternative: None, notes: Vec::new() }))
}

/// Splits a duration off the beginning or end.
fn split_duration(text: &str) -> Option<(&str, SignedDuration)> {
    if let Some(length) = parse_duration(text) {
        return Some(("", length));
    }
    let spaces: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).take(MAX_TIMER_WORDS).collect();
    let first = spaces.iter().rev().find_map(|at| {
        let (head, tail) = text.split_at(*at);
        let tail = tail.trim();
        Some((strip_prefix_ignore_case(tail, "for ").unwrap_or(tail), parse_duration(head)?))
    });
    first.or_else(|| {
        spaces.iter().find_map(|at| {
            let (head, tail) = text.split_at(*at);
            let head = head.strip_suffix(" for").or(head.strip_suffix(" in")).unwrap_or(head);
            Some((head.trim(), parse_duration(tail.trim())?))
        })
    })
}
