//! Time phrases: pieces that stand together and say one thing, and which of several counts.

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
    /// A day.
    Day(Day),
    /// A time of day.
    Clock(Clock),
    /// A part of the day.
    Part(Part),
    /// A day and a time in one word.
    Moment(Day, Clock),
    /// The night of today.
    Tonight,
    /// How often.
    Every(Every),
    /// From one time of day to another.
    Window(Clock, Clock),
    /// The first or the last day of something that repeats.
    Bound(Bound, Day),
    /// Whose clock.
    Zone(TimeZone),
    /// Only while the human is at home.
    Home,
    /// So long before it.
    Lead(Length),
    /// Something that is no time.
    Wrong(Note),
}

/// Which end of something that repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// The first day.
    From,
    /// The last day.
    Until,
    /// The last day, where it is known that something repeats.
    To,
}

/// What stands before a word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Near {
    /// Another piece of the same phrase.
    Time,
    /// Other words.
    Words,
}

/// A time phrase, and the words it stands in.
pub(super) struct Group {
    pub said: Said,
    pub places: Vec<Range<usize>>,
    link: Link,
}

/// How a phrase is tied to the one right before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Apart,
    And,
    Or,
}

/// The time phrase that counts.
pub(super) struct Chosen {
    pub said: Said,
    /// What it may say just as well.
    pub or: Option<Said>,
    /// The words it stands in.
    pub places: Vec<Range<usize>>,
}

const JOINTS: [&str; 11] = ["at", "on", "the", "by", "in", ",", "from", "for", "around", "·", "@"];
const LEAD_IN: [&str; 11] = ["on", "by", "for", "from", "at", "the", "due", "in", "till", "around", "before"];
const TWO_TIMES: &str = "those are two times; say each by itself, or say how often, like `daily at 8 and 20`";

/// The time phrase that counts: the last one, with what belongs to it and stands before.
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

/// Every time phrase, in order.
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

/// Where the phrase at `at` begins, with the small words before it.
fn lead_in(words: &Words, at: usize, floor: usize) -> usize {
    let mut start = at;
    while start > floor && !words.any(start, &["at", "on", "in", "by"]) && words.any(start - 1, &LEAD_IN) {
        start -= 1;
    }
    start
}

/// The piece at `at`.
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

/// `except friday`, after how often.
fn except(words: &Words, at: usize, near: Near) -> Found<Piece> {
    let out = near == Near::Time && words.any(at, &["except", "but", "without"]);
    let (_, next) = day(words, words.past(at + 1, &["not", "on"]), Near::Time).filter(|_| out)?;
    let sentence = "i cannot leave days out; say the days that remain, like `mon tue wed thu`";
    Some((Piece::Wrong(Note::Wrong(sentence.to_owned())), next))
}

/// `until friday`, `from monday`; `to friday` where a time stands before it.
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
        // Nothing is said yet, so that nothing can stand in the way.
        let _first = said.take(piece);
        Self { said, places: vec![place], link: Link::Apart }
    }

    /// The phrase that is tied to this one by `and` or `or` at `at`, and where it ends.
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

    /// Whether only the word that ties them stands between `before` and this.
    fn follows(&self, before: &Self) -> bool {
        self.places.first().is_some_and(|place| place.start == before.end() + 1)
    }

    /// What two phrases say that are tied to each other.
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

    /// Takes the piece at `at` in, if it belongs to the phrase; says where it ends.
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

    /// Whether its day was said as a time, and is not the name of something: `monday meeting`.
    fn is_loose(&self, words: &Words) -> bool {
        let start = self.places.first().map_or(0, |place| place.start);
        let opens = start == 0 || words.after(0, &["remind", "me"]) == Some(start);
        opens || !matches!(self.said.day, Some(Day::Weekday(_))) || words.any(start, &["on", "by"])
    }
}

impl Chosen {
    /// Whether it takes up all of `words`.
    pub fn is_all(&self, words: &Words) -> bool {
        matches!(&self.places[..], [all] if all.start == 0 && all.end == words.len())
    }
}
