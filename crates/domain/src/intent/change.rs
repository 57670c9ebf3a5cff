//! Requests that change items: done, move, cancel, and pause.

use jiff::{SignedDuration, ToSpan, Zoned};

use super::{ChangeRequest, Intent, ItemRef, PauseEnd, Sentence, sentence_kind, strip_prefix_ignore_case};
use crate::phrase::{Habits, MoveTarget, ParseNote, parse_target};

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
const MAX_NAME_WORDS: usize = 12;
/// The duration of a snooze without a time.
const DEFAULT_SNOOZE: SignedDuration = SignedDuration::from_mins(10);

/// Parses a request for a change.
pub(super) fn parse(said: &Sentence<'_>, now: &Zoned, habits: &Habits) -> Option<Intent> {
    done(said)
        .or_else(|| snooze(said, now, habits))
        .or_else(|| move_item(said, now, habits))
        .or_else(|| pause(said, now, habits))
        .or_else(|| cancel(said, now, habits))
        .or_else(|| time_alone(said, now, habits))
}

fn done(said: &Sentence<'_>) -> Option<Intent> {
    if said.ends_with_question_mark() {
        return None;
    }
    if said.is(&DONE) {
        return Some(Intent::Change(ChangeRequest::Done(ItemRef::LastRung)));
    }
    let what = said.after_any(&DONE_HEADS).or_else(|| marked_done(said)).or_else(|| named_done(said))?;
    let first = what.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    (!NOT_DONE.contains(&first.as_str()) && !what.contains(','))
        .then(|| Intent::Change(ChangeRequest::Done(ItemRef::of(what))))
}

/// `mark dentist done`, `mark dentist as done`, `✓ dentist`.
fn marked_done<'a>(said: &Sentence<'a>) -> Option<&'a str> {
    if let Some(what) = ["✓", "✅"].iter().find_map(|tick| said.plain.strip_prefix(tick)) {
        return Some(what.trim());
    }
    let rest = said.after("mark ").or_else(|| said.after("tick off "))?;
    let ends = [" as done", " done", ""];
    ends.iter().find_map(|end| rest.strip_suffix(end))
}

/// `dentist done`, `dentist is done`: a short name without a word that negates it.
fn named_done<'a>(said: &Sentence<'a>) -> Option<&'a str> {
    let what = said.plain.strip_suffix(" done")?;
    let what = what.strip_suffix(" is").unwrap_or(what);
    let turned = what.split(' ').any(|word| NOT_DONE.contains(&word.to_ascii_lowercase().as_str()));
    (what.split(' ').count() <= 4 && !turned && !sentence_kind::is_question(what)).then_some(what)
}

/// `snooze`, `snooze 1h`, `snooze dentist until tomorrow`.
fn snooze(said: &Sentence<'_>, now: &Zoned, habits: &Habits) -> Option<Intent> {
    if said.is(&["snooze", "/snooze", "snooze it", "snooze this"]) {
        return Some(Intent::Change(ChangeRequest::Move {
            item: ItemRef::LastRung,
            to: Ok(MoveTarget::Later(DEFAULT_SNOOZE)),
        }));
    }
    let rest = said.after("snooze ")?;
    let starts = std::iter::once(0).chain(rest.match_indices(' ').map(|(at, _)| at + 1)).take(MAX_NAME_WORDS);
    for start in starts {
        let (what, when) = rest.split_at(start);
        let what = what.trim_end();
        let what = [" until", " till", " to", " for", " by"]
            .iter()
            .find_map(|small| what.strip_suffix(small))
            .unwrap_or(what);
        if let Some(to) = parse_target(without_preposition(when), now, habits) {
            return Some(Intent::Change(ChangeRequest::Move { item: ItemRef::of_snooze(what), to }));
        }
    }
    Some(Intent::Change(ChangeRequest::Move {
        item: ItemRef::of(rest),
        to: Ok(MoveTarget::Later(DEFAULT_SNOOZE)),
    }))
}

/// `move dentist to thu 11`.
fn move_item(said: &Sentence<'_>, now: &Zoned, habits: &Habits) -> Option<Intent> {
    splits(said.after_any(&MOVE_HEADS)?).find_map(|(what, when)| move_to(what, when, now, habits))
}

/// The possible splits into item and destination, one per preposition.
fn splits(rest: &str) -> impl Iterator<Item = (&str, &str)> {
    [" to ", " until ", " till ", " by "].into_iter().filter_map(|small| rest.rsplit_once(small))
}

/// `move dentist to purple`, `pause until purple`: a change with an invalid time, used if the named
/// item exists.
pub(super) fn with_invalid_time(said: &Sentence<'_>) -> Option<Intent> {
    if said.ends_with_question_mark() {
        return None;
    }
    if let Some(when) = pause_end_text(said) {
        return Some(Intent::Change(ChangeRequest::Pause(PauseEnd::Invalid(invalid_time_note(when)))));
    }
    let (what, when) = splits(said.after_any(&MOVE_HEADS)?).next()?;
    Some(Intent::Change(ChangeRequest::Move { item: ItemRef::of(what), to: Err(invalid_time_note(when)) }))
}

fn invalid_time_note(words: &str) -> ParseNote {
    ParseNote::Invalid(format!(
        "`{words}` is no time that i know; say one like `thu 11` or `tomorrow evening`"
    ))
}

/// Moves `what` if all of `when` is a time.
fn move_to(what: &str, when: &str, now: &Zoned, habits: &Habits) -> Option<Intent> {
    Some(Intent::Change(ChangeRequest::Move {
        item: ItemRef::of(what),
        to: parse_target(without_preposition(when), now, habits)?,
    }))
}

/// Removes the preposition before a time.
fn without_preposition(when: &str) -> &str {
    ["until ", "till ", "to ", "for "]
        .iter()
        .find_map(|small| strip_prefix_ignore_case(when, small))
        .unwrap_or(when)
}

/// `pause`, `pause until thursday`, `pause for 2 hours`.
fn pause(said: &Sentence<'_>, now: &Zoned, habits: &Habits) -> Option<Intent> {
    if said.is(&PAUSE) || said.is(&["/pause"]) {
        return Some(Intent::Change(ChangeRequest::Pause(PauseEnd::Indefinite)));
    }
    let until = match parse_target(pause_end_text(said)?, now, habits)? {
        Ok(MoveTarget::At(crate::phrase::Timing::Once(at))) => at,
        Ok(MoveTarget::Day(date)) => date.to_zoned(now.time_zone().clone()).ok()?,
        Ok(MoveTarget::Later(length)) => now.checked_add(length).ok()?,
        Ok(MoveTarget::Days(days)) => now.checked_add(i64::from(days).days()).ok()?,
        Ok(MoveTarget::At(_)) => return None,
        Err(note) => return Some(Intent::Change(ChangeRequest::Pause(PauseEnd::Invalid(note)))),
    };
    Some(Intent::Change(ChangeRequest::Pause(PauseEnd::At(until))))
}

/// The end of a pause as written.
fn pause_end_text<'a>(said: &Sentence<'a>) -> Option<&'a str> {
    let mut heads = PAUSE;
    heads.reverse();
    let rest = said.after_any(&heads)?;
    ["until ", "till ", "for "].iter().find_map(|small| strip_prefix_ignore_case(rest, small))
}

/// `cancel dentist`; with a time it is something to do at that time instead.
fn cancel(said: &Sentence<'_>, now: &Zoned, habits: &Habits) -> Option<Intent> {
    if said.is(&["cancel", "never mind", "nevermind", "drop it", "forget it"]) {
        return Some(Intent::Change(ChangeRequest::Cancel(ItemRef::Current)));
    }
    let what = said.after_any(&CANCEL_HEADS)?;
    let first = what.split(' ').next().unwrap_or_default().to_ascii_lowercase();
    let timed = crate::phrase::parse(what, now, habits).when.is_some();
    let tells = [" is ", " are ", " was "].iter().any(|verb| what.contains(verb));
    (!NOT_CANCELLED.contains(&first.as_str()) && !timed && !tells)
        .then(|| Intent::Change(ChangeRequest::Cancel(ItemRef::of(what))))
}

/// `tomorrow 9` or `2h` alone: the answer to a reminder that has just been delivered.
fn time_alone(said: &Sentence<'_>, now: &Zoned, habits: &Habits) -> Option<Intent> {
    match parse_target(said.plain, now, habits)? {
        Ok(to) => Some(Intent::Change(ChangeRequest::Move { item: ItemRef::Current, to: Ok(to) })),
        Err(_) => None,
    }
}
