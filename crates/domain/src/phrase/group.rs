//! Finds time phrases: adjacent pieces that together express one time, and which of several phrases
//! counts.

use std::ops::Range;

use jiff::tz::TimeZone;

use super::clock::{Clock, Part, clock};
use super::day::{Day, day};
use super::every::{self, Every};
use super::length::{Length, length};
use super::note::Note;
use super::said::Said;
use super::words::{Found, Words};
use super::zone::zone;

/// A piece of a time phrase.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Day(Day),
    Clock(Clock),
    Part(Part),
    /// A day and a time in one token.
    Moment(Day, Clock),
    /// The night of today.
    Tonight,
    Every(Every),
    /// From one time of day to another.
    Window(Clock, Clock),
    /// The first or last day of a recurrence.
    Bound(Bound, Day),
    Zone(TimeZone),
    /// Only while the user is at home.
    Home,
    /// A duration before the time.
    Lead(Length),
    /// An invalid piece.
    Wrong(Note),
}

/// One end of a recurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    From,
    Until,
    /// The last day, if a frequency was already found.
    To,
}

/// The kind of text before a word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Near {
    Time,
    /// Other text.
    Words,
}

/// A time phrase and the words that express it.
pub(super) struct Group {
    pub said: Said,
    pub places: Vec<Range<usize>>,
    link: Link,
}

/// The conjunction between a phrase and the one directly before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Apart,
    And,
    Or,
}

/// The time phrase that counts.
pub(super) struct Chosen {
    pub said: Said,
    /// An equally likely interpretation.
    pub or: Option<Said>,
    /// The ranges of words that express it.
    pub places: Vec<Range<usize>>,
}

const JOINTS: [&str; 11] = ["at", "on", "the", "by", "in", ",", "from", "for", "around", "·", "@"];
const LEAD_IN: [&str; 11] = ["on", "by", "for", "from", "at", "the", "due", "in", "till", "around", "before"];
const TWO_TIMES: &str = "those are two times; say each by itself, or say how often, like `daily at 8 and 20`";

/// Chooses the phrase that counts: the last one, merged with earlier phrases that complete it.
pub(super) fn last(words: &Words) -> Option<Chosen> {
    let mut groups: Vec<Group> = groups(words).into_iter().filter(|group| group.said.is_whole()).collect();
    if groups.iter().any(|group| !group.said.is_over()) {
        groups.retain(|group| !group.said.is_over());
    }
    let mut last = groups.pop()?;
    if last.link != Link::Apart
        && let Some(before) = groups.pop_if(|before| last.follows(before))
    {
        return Some(last.tied(before));
    }
    let mut or = None;
    while let Some(before) = groups.pop() {
        let both = last.said.joined(&before.said);
        let named = before.said.is_day_only() && last.said.is_hours_only() && !before.is_loose(words);
        match both {
            Some(both) if named => {
                or = Some(both);
                break;
            }
            Some(both) => {
                last.said = both;
                last.places.splice(0..0, before.places);
            }
            None if last.said.is_time() => break,
            None => last = before,
        }
    }
    let Group { said, places, .. } = last;
    said.is_time().then_some(Chosen { said, or, places })
}

/// Returns all time phrases in order.
pub(super) fn groups(words: &Words) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut at = 0;
    let mut near = Near::Words;
    while at < words.len() {
        let added = groups.last_mut().filter(|_| near == Near::Time).and_then(|group| group.add(words, at));
        let floor = groups.last().map_or(0, Group::end);
        if let Some(next) = added {
            at = next;
        } else if let Some((group, next)) = groups.last().and_then(|group| group.next(words, at)) {
            groups.push(group);
            (at, near) = (next, Near::Time);
        } else if let Some((piece, next)) = piece(words, at, Near::Words) {
            groups.push(Group::of(piece, lead_in(words, at, floor)..next));
            (at, near) = (next, Near::Time);
        } else {
            let and = words.at(at) == "and" && groups.last().is_some_and(|group| group.said.every.is_some());
            near =
                if near == Near::Time && (and || words.any(at, &JOINTS)) { Near::Time } else { Near::Words };
            at += 1;
        }
    }
    groups
}

/// The start of the phrase at `at`, including prepositions before it.
fn lead_in(words: &Words, at: usize, floor: usize) -> usize {
    let mut start = at;
    while start > floor && !words.any(start, &["at", "on", "in", "by"]) && words.any(start - 1, &LEAD_IN) {
        start -= 1;
    }
    start
}

/// Parses any piece.
fn piece(words: &Words, at: usize, near: Near) -> Found<Piece> {
    lead(words, at)
        .or_else(|| every::window(words, at, near))
        .or_else(|| bound(words, at, near))
        .or_else(|| every::every(words, at, near))
        .or_else(|| day(words, at, near))
        .or_else(|| clock(words, at, near))
        .or_else(|| zone(words, at, near))
        .or_else(|| except(words, at, near))
        .or_else(|| (words.at(at) == "@home").then_some((Piece::Home, at + 1)))
}

/// `leave 25 min before`.
fn lead(words: &Words, at: usize) -> Found<Piece> {
    let start = match words.after(at, &["remind", "me"]).or(words.after(at, &["set", "off"])) {
        Some(next) => next,
        None => words.past(at, &["leave", "go", "ring", "start", "ping"]),
    };
    let (length, next) = length(words, start)?;
    words
        .any(next, &["before", "earlier", "ahead", "early", "prior"])
        .then_some((Piece::Lead(length), next + 1))
}

/// `except friday` after a frequency.
fn except(words: &Words, at: usize, near: Near) -> Found<Piece> {
    let out = near == Near::Time && words.any(at, &["except", "but", "without"]);
    let (_, next) = day(words, words.past(at + 1, &["not", "on"]), Near::Time).filter(|_| out)?;
    let sentence = "i cannot leave days out; say the days that remain, like `mon tue wed thu`";
    Some((Piece::Wrong(Note::Wrong(sentence.to_owned())), next))
}

/// `until friday`, `from monday`; `to friday` only after another piece.
fn bound(words: &Words, at: usize, near: Near) -> Found<Piece> {
    let which = match words.at(at) {
        "to" if near == Near::Time => Bound::To,
        "until" | "till" | "til" | "through" | "thru" => Bound::Until,
        "from" | "starting" | "beginning" | "since" => Bound::From,
        _ => return None,
    };
    match day(words, words.past(at + 1, &["on"]), Near::Words)? {
        (Piece::Day(Day::Exactly(_)), _) => None,
        (Piece::Day(day), next) => Some((Piece::Bound(which, day), next)),
        (wrong @ Piece::Wrong(_), next) => Some((wrong, next)),
        (_, _) => None,
    }
}

impl Group {
    fn of(piece: Piece, place: Range<usize>) -> Self {
        let mut said = Said::default();
        // Always succeeds: an empty phrase contradicts nothing.
        let _first = said.take(piece);
        Self { said, places: vec![place], link: Link::Apart }
    }

    /// The phrase joined to this one by `and` or `or` at `at`, and its end.
    fn next(&self, words: &Words, at: usize) -> Found<Self> {
        let link = match words.at(at) {
            "and" if self.said.every.is_none() => Link::And,
            "or" => Link::Or,
            _ => return None,
        };
        let start = words.past(at + 1, &["on"]);
        let (piece, next) = piece(words, start, Near::Time).filter(|_| self.end() == at)?;
        let time = matches!(piece, Piece::Day(_) | Piece::Clock(_) | Piece::Moment(..) | Piece::Tonight);
        time.then(|| (Self { link, ..Self::of(piece, at + 1..next) }, next))
    }

    /// Returns whether only the conjunction stands between `before` and this phrase.
    fn follows(&self, before: &Self) -> bool {
        self.places.first().is_some_and(|place| place.start == before.end() + 1)
    }

    /// Combines two phrases joined by a conjunction.
    fn tied(mut self, before: Self) -> Chosen {
        let start = before.places.first().map_or(0, |place| place.start);
        let place = start..self.end();
        let places = vec![place];
        let first = before.said.completed(&self.said);
        let second = self.said.completed(&before.said);
        if self.link == Link::Or {
            return Chosen { said: first, or: Some(second), places };
        }
        if self.said.every.is_some() && before.said.is_hours_only() {
            self.said.hours.clocks.splice(0..0, before.said.hours.clocks);
        } else {
            self.said.wrong = Some(Note::Wrong(TWO_TIMES.to_owned()));
        }
        Chosen { said: self.said, or: None, places }
    }

    /// Adds the piece at `at` if it fits the phrase, and returns its end.
    fn add(&mut self, words: &Words, at: usize) -> Option<usize> {
        let (piece, next) = piece(words, at, Near::Time)?;
        self.said.take(piece)?;
        if let Some(place) = self.places.last_mut() {
            place.end = next;
        }
        Some(next)
    }

    fn end(&self) -> usize {
        self.places.last().map_or(0, |place| place.end)
    }

    /// Returns whether its day is meant as a time and not as part of a name: `monday meeting`.
    fn is_loose(&self, words: &Words) -> bool {
        let start = self.places.first().map_or(0, |place| place.start);
        let opens = start == 0 || words.after(0, &["remind", "me"]) == Some(start);
        opens || !matches!(self.said.day, Some(Day::Weekday(_))) || words.any(start, &["on", "by"])
    }
}

impl Chosen {
    /// Returns whether the phrase covers all of `words`.
    pub fn is_all(&self, words: &Words) -> bool {
        matches!(&self.places[..], [all] if all.start == 0 && all.end == words.len())
    }
}
