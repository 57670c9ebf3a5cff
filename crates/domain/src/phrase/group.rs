//! Finds time phrases: adjacent pieces that together express one time, and which of several phrases
//! counts.

use std::ops::Range;

use jiff::tz::TimeZone;

use super::clock::{ClockTime, DayPart, clock};
use super::day::{Day, day};
use super::frequency::{self, Frequency};
use super::length::{Length, length};
use super::note::ParseNote;
use super::parts::PhraseParts;
use super::words::{Match, Words};
use super::zone::zone;

/// A piece of a time phrase.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Day(Day),
    Clock(ClockTime),
    Part(DayPart),
    /// A day and a time in one token.
    Moment(Day, ClockTime),
    /// The night of today.
    Tonight,
    Frequency(Frequency),
    /// From one time of day to another.
    Window(ClockTime, ClockTime),
    /// The first or last day of a recurrence.
    Bound(Bound, Day),
    Zone(TimeZone),
    /// Only while the user is at home.
    Home,
    /// A duration before the time.
    Lead(Length),
    /// An invalid piece.
    Invalid(ParseNote),
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
pub(super) enum Preceding {
    Time,
    /// Other text.
    Words,
}

/// A time phrase and the words that express it.
pub(super) struct TimePhrase {
    pub parts: PhraseParts,
    pub ranges: Vec<Range<usize>>,
    link: Conjunction,
}

/// The conjunction between a phrase and the one directly before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Conjunction {
    Apart,
    And,
    Or,
}

/// The time phrase that counts.
pub(super) struct ChosenPhrase {
    pub parts: PhraseParts,
    /// An equally likely interpretation.
    pub alternative: Option<PhraseParts>,
    /// The ranges of words that express it.
    pub ranges: Vec<Range<usize>>,
}

const CONNECTORS: [&str; 11] = ["at", "on", "the", "by", "in", ",", "from", "for", "around", "·", "@"];
const LEADING_PREPOSITIONS: [&str; 11] =
    ["on", "by", "for", "from", "at", "the", "due", "in", "till", "around", "before"];
const TWO_TIMES_MESSAGE: &str =
    "those are two times; say each by itself, or say how often, like `daily at 8 and 20`";

/// Chooses the phrase that counts: the last one, merged with earlier phrases that complete it.
pub(super) fn choose_phrase(words: &Words) -> Option<ChosenPhrase> {
    let mut groups: Vec<TimePhrase> =
        time_phrases(words).into_iter().filter(|group| group.parts.is_complete()).collect();
    if groups.iter().any(|group| !group.parts.is_past()) {
        groups.retain(|group| !group.parts.is_past());
    }
    let mut last = groups.pop()?;
    if last.link != Conjunction::Apart
        && let Some(before) = groups.pop_if(|before| last.directly_follows(before))
    {
        return Some(last.combined(before));
    }
    let mut or = None;
    while let Some(before) = groups.pop() {
        let both = last.parts.merged_with(&before.parts);
        let named =
            before.parts.is_day_only() && last.parts.is_hours_only() && !before.is_standalone_day(words);
        match both {
            Some(both) if named => {
                or = Some(both);
                break;
            }
            Some(both) => {
                last.parts = both;
                last.ranges.splice(0..0, before.ranges);
            }
            None if last.parts.has_time() => break,
            None => last = before,
        }
    }
    let TimePhrase { parts: said, ranges: places, .. } = last;
    said.has_time().then_some(ChosenPhrase { parts: said, alternative: or, ranges: places })
}

/// Returns all time phrases in order.
pub(super) fn time_phrases(words: &Words) -> Vec<TimePhrase> {
    let mut groups: Vec<TimePhrase> = Vec::new();
    let mut at = 0;
    let mut near = Preceding::Words;
    while at < words.len() {
        let added =
            groups.last_mut().filter(|_| near == Preceding::Time).and_then(|group| group.add(words, at));
        let floor = groups.last().map_or(0, TimePhrase::end);
        if let Some(next) = added {
            at = next;
        } else if let Some((group, next)) = groups.last().and_then(|group| group.conjoined(words, at)) {
            groups.push(group);
            (at, near) = (next, Preceding::Time);
        } else if let Some((piece, next)) = piece(words, at, Preceding::Words) {
            groups.push(TimePhrase::of(piece, phrase_start(words, at, floor)..next));
            (at, near) = (next, Preceding::Time);
        } else {
            let and =
                words.at(at) == "and" && groups.last().is_some_and(|group| group.parts.frequency.is_some());
            near = if near == Preceding::Time && (and || words.is_any(at, &CONNECTORS)) {
                Preceding::Time
            } else {
                Preceding::Words
            };
            at += 1;
        }
    }
    groups
}

/// The start of the phrase at `at`, including prepositions before it.
fn phrase_start(words: &Words, at: usize, floor: usize) -> usize {
    let mut start = at;
    while start > floor
        && !words.is_any(start, &["at", "on", "in", "by"])
        && words.is_any(start - 1, &LEADING_PREPOSITIONS)
    {
        start -= 1;
    }
    start
}

/// Parses any piece.
fn piece(words: &Words, at: usize, near: Preceding) -> Match<Piece> {
    lead(words, at)
        .or_else(|| frequency::window(words, at, near))
        .or_else(|| bound(words, at, near))
        .or_else(|| frequency::frequency(words, at, near))
        .or_else(|| day(words, at, near))
        .or_else(|| clock(words, at, near))
        .or_else(|| zone(words, at, near))
        .or_else(|| except(words, at, near))
        .or_else(|| (words.at(at) == "@home").then_some((Piece::Home, at + 1)))
}

/// `leave 25 min before`.
fn lead(words: &Words, at: usize) -> Match<Piece> {
    let start =
        match words.after_sequence(at, &["remind", "me"]).or(words.after_sequence(at, &["set", "off"])) {
            Some(next) => next,
            None => words.skip(at, &["leave", "go", "ring", "start", "ping"]),
        };
    let (length, next) = length(words, start)?;
    words
        .is_any(next, &["before", "earlier", "ahead", "early", "prior"])
        .then_some((Piece::Lead(length), next + 1))
}

/// `except friday` after a frequency.
fn except(words: &Words, at: usize, near: Preceding) -> Match<Piece> {
    let out = near == Preceding::Time && words.is_any(at, &["except", "but", "without"]);
    let (_, next) = day(words, words.skip(at + 1, &["not", "on"]), Preceding::Time).filter(|_| out)?;
    let sentence = "i cannot leave days out; say the days that remain, like `mon tue wed thu`";
    Some((Piece::Invalid(ParseNote::Invalid(sentence.to_owned())), next))
}

/// `until friday`, `from monday`; `to friday` only after another piece.
fn bound(words: &Words, at: usize, near: Preceding) -> Match<Piece> {
    let which = match words.at(at) {
        "to" if near == Preceding::Time => Bound::To,
        "until" | "till" | "til" | "through" | "thru" => Bound::Until,
        "from" | "starting" | "beginning" | "since" => Bound::From,
        _ => return None,
    };
    match day(words, words.skip(at + 1, &["on"]), Preceding::Words)? {
        (Piece::Day(Day::Exactly(_)), _) => None,
        (Piece::Day(day), next) => Some((Piece::Bound(which, day), next)),
        (wrong @ Piece::Invalid(_), next) => Some((wrong, next)),
        (_, _) => None,
    }
}

impl TimePhrase {
    fn of(piece: Piece, place: Range<usize>) -> Self {
        let mut said = PhraseParts::default();
        // Always succeeds: an empty phrase contradicts nothing.
        let _first = said.add(piece);
        Self { parts: said, ranges: vec![place], link: Conjunction::Apart }
    }

    /// The phrase joined to this one by `and` or `or` at `at`, and its end.
    fn conjoined(&self, words: &Words, at: usize) -> Match<Self> {
        let link = match words.at(at) {
            "and" if self.parts.frequency.is_none() => Conjunction::And,
            "or" => Conjunction::Or,
            _ => return None,
        };
        let start = words.skip(at + 1, &["on"]);
        let (piece, next) = piece(words, start, Preceding::Time).filter(|_| self.end() == at)?;
        let time = matches!(piece, Piece::Day(_) | Piece::Clock(_) | Piece::Moment(..) | Piece::Tonight);
        time.then(|| (Self { link, ..Self::of(piece, at + 1..next) }, next))
    }

    /// Returns whether only the conjunction stands between `before` and this phrase.
    fn directly_follows(&self, before: &Self) -> bool {
        self.ranges.first().is_some_and(|place| place.start == before.end() + 1)
    }

    /// Combines two phrases joined by a conjunction.
    fn combined(mut self, before: Self) -> ChosenPhrase {
        let start = before.ranges.first().map_or(0, |place| place.start);
        let place = start..self.end();
        let places = vec![place];
        let first = before.parts.completed_from(&self.parts);
        let second = self.parts.completed_from(&before.parts);
        if self.link == Conjunction::Or {
            return ChosenPhrase { parts: first, alternative: Some(second), ranges: places };
        }
        if self.parts.frequency.is_some() && before.parts.is_hours_only() {
            self.parts.hours.clocks.splice(0..0, before.parts.hours.clocks);
        } else {
            self.parts.error = Some(ParseNote::Invalid(TWO_TIMES_MESSAGE.to_owned()));
        }
        ChosenPhrase { parts: self.parts, alternative: None, ranges: places }
    }

    /// Adds the piece at `at` if it fits the phrase, and returns its end.
    fn add(&mut self, words: &Words, at: usize) -> Option<usize> {
        let (piece, next) = piece(words, at, Preceding::Time)?;
        self.parts.add(piece)?;
        if let Some(place) = self.ranges.last_mut() {
            place.end = next;
        }
        Some(next)
    }

    fn end(&self) -> usize {
        self.ranges.last().map_or(0, |place| place.end)
    }

    /// Returns whether its day is meant as a time and not as part of a name: `monday meeting`.
    fn is_standalone_day(&self, words: &Words) -> bool {
        let start = self.ranges.first().map_or(0, |place| place.start);
        let opens = start == 0 || words.after_sequence(0, &["remind", "me"]) == Some(start);
        opens || !matches!(self.parts.day, Some(Day::Weekday(_))) || words.is_any(start, &["on", "by"])
    }
}

impl ChosenPhrase {
    /// Returns whether the phrase covers all of `words`.
    pub fn covers_all(&self, words: &Words) -> bool {
        matches!(&self.ranges[..], [all] if all.start == 0 && all.end == words.len())
    }
}
