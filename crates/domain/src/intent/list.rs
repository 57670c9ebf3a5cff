//! Questions about planned items: today, a day, the week, the next item, the inbox, the time of an
//! item.

use jiff::Zoned;
use jiff::civil::Date;

use super::{ChangeRequest, Intent, Sentence, strip_prefix_ignore_case};
use crate::phrase::{Habits, MoveTarget, parse_target};

/// The range that the user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListRange {
    /// The rest of today.
    Today,
    Tomorrow,
    Day(Date),
    /// The seven days from today on.
    Week,
    Next,
    Inbox,
    /// The changes that can be undone.
    Changes,
    /// The time of the item with this name.
    About(String),
}

const CHANGES: [&str; 5] = ["undo list", "/undo list", "list undo", "what can i undo", "what can be undone"];
const INBOX: [&str; 9] = [
    "inbox",
    "/inbox",
    "list",
    "list inbox",
    "show inbox",
    "what's in my inbox",
    "whats in my inbox",
    "what did i tell you",
    "what do you remember",
];
const CLEAR: [&str; 4] = ["clear inbox", "clear my inbox", "clear the inbox", "empty the inbox"];
const NEXT: [&str; 13] = [
    "next",
    "now",
    "/now",
    "what now",
    "what's next",
    "whats next",
    "what is next",
    "what should i do",
    "what should i do now",
    "what should i do next",
    "what do i do now",
    "what do i have to do now",
    "and now",
];
const TODAY: [&str; 6] = ["/today", "agenda", "my day", "what's up", "what's on", "what's left"];
const ABOUT: [&str; 8] = [
    "when is ",
    "when's ",
    "whens ",
    "when was ",
    "what time is ",
    "when do i have ",
    "when are ",
    "when do i see ",
];
/// Openings of a question about a day; only a day may follow.
const DAY_QUESTION_OPENINGS: [&str; 24] = [
    "what's on for",
    "what's on",
    "whats on",
    "what is on",
    "what's planned for",
    "what's planned",
    "what's due",
    "what's left",
    "what's",
    "whats",
    "what is",
    "what do i have",
    "what have i got",
    "do i have anything",
    "is there anything",
    "anything",
    "show me",
    "show",
    "list",
    "agenda for",
    "agenda",
    "my plan for",
    "plan for",
    "how does",
];

/// Parses a question about planned items.
pub(super) fn parse(said: &Sentence<'_>, now: &Zoned, habits: &Habits) -> Option<Intent> {
    if said.is(&CLEAR) {
        return Some(Intent::Change(ChangeRequest::ClearInbox));
    }
    let ends = |list: &[&str]| {
        said.lower.rsplit([',', '.', ';', '!']).next().is_some_and(|end| list.contains(&end.trim()))
    };
    let span = if said.is(&INBOX) {
        ListRange::Inbox
    } else if said.is(&CHANGES) {
        ListRange::Changes
    } else if said.is(&NEXT) || ends(&["what now", "what's next", "whats next", "what should i do now"]) {
        ListRange::Next
    } else if said.is(&TODAY) {
        ListRange::Today
    } else {
        about(said).or_else(|| day(said, now, habits))?
    };
    Some(Intent::List(span))
}

fn about(said: &Sentence<'_>) -> Option<ListRange> {
    let what = said.after_any(&ABOUT)?;
    let what =
        ["the ", "my "].iter().find_map(|article| strip_prefix_ignore_case(what, article)).unwrap_or(what);
    Some(ListRange::About(what.to_owned()))
}

/// A question about a day, or a day alone.
fn day(said: &Sentence<'_>, now: &Zoned, habits: &Habits) -> Option<ListRange> {
    let (asked, rest) = match said.after_any(&DAY_QUESTION_OPENINGS) {
        Some(rest) => (true, rest),
        None => (false, said.plain),
    };
    let small = ["on ", "for ", "due "];
    let rest = small
        .iter()
        .find_map(|word| strip_prefix_ignore_case(rest, word))
        .unwrap_or(rest)
        .to_ascii_lowercase();
    let rest = rest.strip_suffix(" look").or(rest.strip_suffix(" like")).unwrap_or(&rest);
    let rest = rest.strip_suffix(" look").unwrap_or(rest);
    match rest {
        "today" | "to do today" => Some(ListRange::Today),
        "tomorrow" => Some(ListRange::Tomorrow),
        "week" | "this week" | "the week" | "my week" | "the next 7 days" => Some(ListRange::Week),
        "next" | "now" if asked => Some(ListRange::Next),
        "my inbox" | "the inbox" if asked => Some(ListRange::Inbox),
        // The dot of a date such as `24.12.` was removed as the end of the sentence.
        _ => match parse_target(rest, now, habits)
            .or_else(|| parse_target(&format!("on {rest}"), now, habits).filter(|_| asked))?
        {
            Ok(MoveTarget::Day(date)) => Some(ListRange::Day(date)),
            Ok(MoveTarget::At(_) | MoveTarget::Later(_) | MoveTarget::Days(_)) | Err(_) => None,
        },
    }
}
