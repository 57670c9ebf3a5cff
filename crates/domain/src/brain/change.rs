//! Requests that change items: done, move, cancel, and pause.

use jiff::{SignedDuration, ToSpan, Zoned};

use super::{Change, Meant, Said, Until, Which, mood, strip};
use crate::phrase::{Habits, Note, Target, target};

const DONE_HEADS: [&str; 9] = [
    "done with",
    "done:",
    "done",
    "i'm done with",
    "i am done with",
    "finished with",
    "finished",
    "i finished",
    "i did",
];
const DONE: [&str; 6] = ["done", "/done", "all done", "it's done", "that's done", "i did it"];
/// Words before or after `done` with which it does not report completion.
const NOT_DONE: [&str; 16] = [
    "is", "not", "get", "getting", "have", "need", "want", "to", "almost", "nearly", "half", "nothing",
    "well", "when", "if", "was",
];
const MOVE_HEADS: [&str; 7] = ["move ", "reschedule ", "postpone ", "push ", "shift ", "delay ", "change "];
const CANCEL_HEADS: [&str; 7] =
    ["cancel", "delete", "drop", "forget about", "forget", "remove", "never mind"];
/// Words after `drop` or `forget` with which nothing is cancelled.
const NOT_CANCELLED: [&str; 12] =
    ["off", "by", "in", "out", "to", "what", "how", "everything", "everyone", "all", "yourself", "me"];
const PAUSE: [&str; 5] = ["pause", "pause everything", "pause all", "pause pings", "pause reminders"];
/// The maximum number of words in the name of a snoozed item.
const SPLITS: usize = 12;
/// The duration of a snooze without a time.
const SNOOZE: SignedDuration = SignedDuration::from_mins(10);

/// Parses a request for a change.
pub(super) fn read(said: &Said<'_>, now: &Zoned, habits: &Habits) -> Option<Meant> {
    done(said)
        .or_else(|| snooze(said, now, habits))
        .or_else(|| moved(said, now, habits))
        .or_else(|| pause(said, now, habits))
        .or_else(|| cancel(said, now, habits))
        .or_else(|| only_a_time(said, now, habits))
}

fn done(said: &Said<'_>) -> Option<Meant> {
    if said.asks() {
        return None;
    }
    if said.is(&DONE) {
        return Some(Meant::Change(Change::Done(Which::Rang)));
    }
    let what = said.after_any(&DONE_HEADS).or_else(|| ticked(said)).or_else(|| called_done(said))?;
    let first = what.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    (!NOT_DONE.contains(&first.as_str()) && !what.contains(','))
        .then(|| Meant::Change(Change::Done(Which::of(what))))
}

/// `mark dentist done`, `mark dentist as done`, `✓ dentist`.
fn ticked<'a>(said: &Said<'a>) -> Option<&'a str> {
    if let Some(what) = ["✓", "✅"].iter().find_map(|tick| said.plain.strip_prefix(tick)) {
        return Some(what.trim());
    }
    let rest = said.after("mark ").or_else(|| said.after("tick off "))?;
    let ends = [" as done", " done", ""];
    ends.iter().find_map(|end| rest.strip_suffix(end))
}

/// `dentist done`, `dentist is done`: a short name without a word that negates it.
fn called_done<'a>(said: &Said<'a>) -> Option<&'a str> {
    let what = said.plain.strip_suffix(" done")?;
    let what = what.strip_suffix(" is").unwrap_or(what);
    let turned = what.split(' ').any(|word| NOT_DONE.contains(&word.to_ascii_lowercase().as_str()));
    (what.split(' ').count() <= 4 && !turned && !mood::asks(what)).then_some(what)
}

/// `snooze`, `snooze 1h`, `snooze dentist until tomorrow`.
fn snooze(said: &Said<'_>, now: &Zoned, habits: &Habits) -> Option<Meant> {
    if said.is(&["snooze", "/snooze", "snooze it", "snooze this"]) {
        return Some(Meant::Change(Change::Move { what: Which::Rang, to: Ok(Target::Later(SNOOZE)) }));
    }
    let rest = said.after("snooze ")?;
    let starts = std::iter::once(0).chain(rest.match_indices(' ').map(|(at, _)| at + 1)).take(SPLITS);
    for start in starts {
        let (what, when) = rest.split_at(start);
        let what = what.trim_end();
        let what = [" until", " till", " to", " for", " by"]
            .iter()
            .find_map(|small| what.strip_suffix(small))
            .unwrap_or(what);
        if let Some(to) = target(without(when), now, habits) {
            return Some(Meant::Change(Change::Move { what: Which::snoozed(what), to }));
        }
    }
    Some(Meant::Change(Change::Move { what: Which::of(rest), to: Ok(Target::Later(SNOOZE)) }))
}

/// `move dentist to thu 11`.
fn moved(said: &Said<'_>, now: &Zoned, habits: &Habits) -> Option<Meant> {
    splits(said.after_any(&MOVE_HEADS)?).find_map(|(what, when)| to(what, when, now, habits))
}

/// The possible splits into item and destination, one per preposition.
fn splits(rest: &str) -> impl Iterator<Item = (&str, &str)> {
    [" to ", " until ", " till ", " by "].into_iter().filter_map(|small| rest.rsplit_once(small))
}

/// `move dentist to purple`, `pause until purple`: a change with an invalid time, used if the named
/// item exists.
pub(super) fn unread(said: &Said<'_>) -> Option<Meant> {
    if said.asks() {
        return None;
    }
    if let Some(when) = pause_until(said) {
        return Some(Meant::Change(Change::Pause(Until::Unread(no_time(when)))));
    }
    let (what, when) = splits(said.after_any(&MOVE_HEADS)?).next()?;
    Some(Meant::Change(Change::Move { what: Which::of(what), to: Err(no_time(when)) }))
}

fn no_time(words: &str) -> Note {
    Note::Wrong(format!("`{words}` is no time that i know; say one like `thu 11` or `tomorrow evening`"))
}

/// Moves `what` if all of `when` is a time.
fn to(what: &str, when: &str, now: &Zoned, habits: &Habits) -> Option<Meant> {
    Some(Meant::Change(Change::Move { what: Which::of(what), to: target(without(when), now, habits)? }))
}

/// Removes the preposition before a time.
fn without(when: &str) -> &str {
    ["until ", "till ", "to ", "for "].iter().find_map(|small| strip(when, small)).unwrap_or(when)
}

/// `pause`, `pause until thursday`, `pause for 2 hours`.
fn pause(said: &Said<'_>, now: &Zoned, habits: &Habits) -> Option<Meant> {
    if said.is(&PAUSE) || said.is(&["/pause"]) {
        return Some(Meant::Change(Change::Pause(Until::Told)));
    }
    let until = match target(pause_until(said)?, now, habits)? {
        Ok(Target::At(crate::phrase::When::Once(at))) => at,
        Ok(Target::Day(date)) => date.to_zoned(now.time_zone().clone()).ok()?,
        Ok(Target::Later(length)) => now.checked_add(length).ok()?,
        Ok(Target::Days(days)) => now.checked_add(i64::from(days).days()).ok()?,
        Ok(Target::At(_)) => return None,
        Err(note) => return Some(Meant::Change(Change::Pause(Until::Unread(note)))),
    };
    Some(Meant::Change(Change::Pause(Until::Then(until))))
}

/// The end of a pause as written.
fn pause_until<'a>(said: &Said<'a>) -> Option<&'a str> {
    let mut heads = PAUSE;
    heads.reverse();
    let rest = said.after_any(&heads)?;
    ["until ", "till ", "for "].iter().find_map(|small| strip(rest, small))
}

/// `cancel dentist`; with a time it is something to do at that time instead.
fn cancel(said: &Said<'_>, now: &Zoned, habits: &Habits) -> Option<Meant> {
    if said.is(&["cancel", "never mind", "nevermind", "drop it", "forget it"]) {
        return Some(Meant::Change(Change::Cancel(Which::This)));
    }
    let what = said.after_any(&CANCEL_HEADS)?;
    let first = what.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    let timed = crate::phrase::read(what, now, habits).when.is_some();
    let tells = [" is ", " are ", " was "].iter().any(|verb| what.contains(verb));
    (!NOT_CANCELLED.contains(&first.as_str()) && !timed && !tells)
        .then(|| Meant::Change(Change::Cancel(Which::of(what))))
}

/// `tomorrow 9` or `2h` alone: the answer to a reminder that has just been delivered.
fn only_a_time(said: &Said<'_>, now: &Zoned, habits: &Habits) -> Option<Meant> {
    match target(said.plain, now, habits)? {
        Ok(to) => Some(Meant::Change(Change::Move { what: Which::This, to: Ok(to) })),
        Err(_) => None,
    }
}
