//! Messages that only need a reply (greetings, thanks, questions about the assistant), and fixed
//! one-phrase requests.

use super::{Change, Meant, Said};

/// A message that only needs a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    Greeting,
    Thanks,
    Farewell,
    /// A question about the capabilities of the assistant.
    Help,
}

const GREETINGS: [&str; 12] = [
    "hi",
    "hello",
    "hey",
    "hiya",
    "yo",
    "moin",
    "hallo",
    "good morning",
    "good afternoon",
    "good evening",
    "morning",
    "hi there",
];
const THANKS: [&str; 10] =
    ["thanks", "thank you", "thx", "ty", "cheers", "great", "well done", "nice", "ok", "okay"];
const FAREWELLS: [&str; 9] = [
    "bye",
    "goodbye",
    "good night",
    "goodnight",
    "see you",
    "see you tomorrow",
    "see you later",
    "talk to you tomorrow",
    "until tomorrow",
];
const HELP: [&str; 8] = [
    "help",
    "?",
    "/help",
    "what can you do",
    "what do you do",
    "who are you",
    "how does this work",
    "what are you",
];
const STATUS: [&str; 5] = ["status", "/status", "how are you", "how is it going", "are you there"];
const UNDO: [&str; 5] = ["undo", "/undo", "undo that", "undo it", "take that back"];
const RESUME: [&str; 6] = ["resume", "/resume", "unpause", "resume pings", "resume everything", "go on"];
const LEAVE: [&str; 4] = ["no time", "without a time", "leave it in the inbox", "keep it in the inbox"];

/// Parses sentences with a fixed wording.
pub(super) fn read(said: &Said<'_>) -> Option<Meant> {
    let known: [(&[&str], Meant); 8] = [
        (&GREETINGS, Meant::Talk(Talk::Greeting)),
        (&THANKS, Meant::Talk(Talk::Thanks)),
        (&FAREWELLS, Meant::Talk(Talk::Farewell)),
        (&HELP, Meant::Talk(Talk::Help)),
        (&STATUS, Meant::Status),
        (&UNDO, Meant::Change(Change::Undo)),
        (&RESUME, Meant::Change(Change::Resume)),
        (&LEAVE, Meant::Change(Change::Leave)),
    ];
    // A single letter must be the whole sentence, because it is easily part of another.
    if said.words.eq_ignore_ascii_case("u") {
        return Some(Meant::Change(Change::Undo));
    }
    known.into_iter().find(|(list, _)| said.is(list)).map(|(_, meant)| meant).or_else(|| named(said))
}

/// `name julia`, `my name is Julia Smith`. Longer texts are not names of the user.
fn named(said: &Said<'_>) -> Option<Meant> {
    let name = said.after_any(&["my name is ", "name is ", "name: ", "name "])?;
    let short = name.split(' ').count() <= 3;
    let of_a_thing = ["the ", "a ", "an ", "my ", "your ", "this ", "that ", "some "];
    let plain = of_a_thing.iter().all(|article| super::strip(name, article).is_none());
    (short && plain && !said.asks()).then(|| Meant::Change(Change::Name(name.to_owned())))
}
