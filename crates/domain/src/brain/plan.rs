//! Requests with a time (reminders, recurrences, timers), and items that are kept without one.

use jiff::{SignedDuration, Zoned};

use super::{Meant, Said, mood, strip};
use crate::phrase::{self, Habits, Note, Reading, When, span};

/// Openings that ask for a reminder.
const ASKED: [&str; 10] = [
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
const KEEP: [&str; 10] = [
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
const TIMED: [&str; 4] = ["remember to ", "add: ", "add ", "todo: "];
/// Openings of a request that needs thinking and is not a reminder.
const THINKING: [&str; 26] = [
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
const THING: usize = 8;
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
const SPLITS: usize = 12;

/// Parses a request with a time that is meant as one.
pub(super) fn read(said: &Said<'_>, now: &Zoned, habits: &Habits) -> Option<Meant> {
    if let Some(timer) = timer(said, now) {
        return Some(timer);
    }
    let asked = ASKED.iter().any(|head| strip(said.plain, head).is_some());
    if asked {
        return Some(Meant::Plan(phrase::read(said.words, now, habits)));
    }
    let words = match said.after_any(&TIMED) {
        Some(rest) => rest,
        None if kept(said).is_some() => return None,
        None => said.words,
    };
    if said.asks() || mood::asks(words) || mood::tells(words) {
        return None;
    }
    let reading = phrase::read(words, now, habits);
    reading.when.is_some().then_some(Meant::Plan(reading))
}

/// Parses an explicit request to keep a text.
pub(super) fn kept(said: &Said<'_>) -> Option<Meant> {
    after_lead(said.words).map(|rest| Meant::Keep(rest.to_owned()))
}

/// The text after a prefix that asks to keep it.
pub(super) fn after_lead(text: &str) -> Option<&str> {
    let after = |lead: &&str| strip(text, lead).map(str::trim).filter(|rest| !rest.is_empty());
    KEEP.iter().find_map(after)
}

/// Returns whether it names a thing to do or to get: a few words, and neither a question, a
/// statement, nor a request that needs thinking.
pub(super) fn is_a_thing(said: &Said<'_>) -> bool {
    let words: Vec<&str> = said.lower.split(' ').collect();
    let thought = words.first().is_some_and(|first| THINKING.contains(first));
    let said_to_us = said.asks() || mood::asks(said.plain) || mood::tells(said.plain);
    let plain = said.plain.contains(char::is_alphabetic) && !said.plain.starts_with('/');
    plain && !thought && !said_to_us && words.len() <= THING
}

/// The errors of time phrases in a sentence that is not understood. A past time is not an error in
/// a question or statement.
pub(super) fn mistakes(said: &Said<'_>, now: &Zoned, habits: &Habits) -> Vec<Note> {
    let told = said.asks() || mood::asks(said.plain) || mood::tells(said.plain);
    let wrong = |note: &Note| note.is_trouble() && !(told && note.is_past());
    phrase::read(said.words, now, habits).notes.into_iter().filter(wrong).collect()
}

/// `timer 4 min`, `timer 4 min tea`, `timer for tea 4 min`, `4 min timer`.
fn timer(said: &Said<'_>, now: &Zoned) -> Option<Meant> {
    if said.is(&["timer", "set a timer", "start a timer"]) {
        let sentence = "a timer for how long? say it like `timer 4 min`".to_owned();
        let notes = vec![Note::Wrong(sentence)];
        return Some(Meant::Plan(Reading { what: String::new(), when: None, other: None, notes }));
    }
    let rest = said.after_any(&TIMER).or_else(|| said.plain.strip_suffix(" timer"))?;
    let (what, length) = apart(rest)?;
    let at = now.checked_add(length).ok()?;
    let what = if what.is_empty() { "timer" } else { what };
    let when = Some(When::Once(at));
    Some(Meant::Plan(Reading { what: what.to_owned(), when, other: None, notes: Vec::new() }))
}

/// Splits a duration off the beginning or end.
fn apart(text: &str) -> Option<(&str, SignedDuration)> {
    if let Some(length) = span(text) {
        return Some(("", length));
    }
    let spaces: Vec<usize> = text.match_indices(' ').map(|(at, _)| at).take(SPLITS).collect();
    let first = spaces.iter().rev().find_map(|at| {
        let (head, tail) = text.split_at(*at);
        let tail = tail.trim();
        Some((strip(tail, "for ").unwrap_or(tail), span(head)?))
    });
    first.or_else(|| {
        spaces.iter().find_map(|at| {
            let (head, tail) = text.split_at(*at);
            let head = head.strip_suffix(" for").or(head.strip_suffix(" in")).unwrap_or(head);
            Some((head.trim(), span(tail.trim())?))
        })
    })
}
