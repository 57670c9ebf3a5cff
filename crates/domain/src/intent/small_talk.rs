//! Messages that only need a reply (greetings, thanks, questions about the assistant), and fixed
//! one-phrase requests.

use super::{ChangeRequest, Intent, Sentence};

/// A message that only needs a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmallTalk {
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
pub(super) fn parse(said: &Sentence<'_>) -> Option<Intent> {
    let known: [(&[&str], Intent); 8] = [
        (&GREETINGS, Intent::SmallTalk(SmallTalk::Greeting)),
        (&THANKS, Intent::SmallTalk(SmallTalk::Thanks)),
        (&FAREWELLS, Intent::SmallTalk(SmallTalk::Farewell)),
        (&HELP, Intent::SmallTalk(SmallTalk::Help)),
        (&STATUS, Intent::Status),
        (&UNDO, Intent::Change(ChangeRequest::Undo)),
        (&RESUME, Intent::Change(ChangeRequest::Resume)),
        (&LEAVE, Intent::Change(ChangeRequest::LeaveUntimed)),
    ];
    // A single letter must be the whole sentence, because it is easily part of another.
    if said.words.eq_ignore_ascii_case("u") {
        return Some(Intent::Change(ChangeRequest::Undo));
    }
    known.into_iter().find(|(list, _)| said.is(list)).map(|(_, meant)| meant).or_else(|| user_name(said))
}

/// `name julia`, `my name is Julia Smith`. Longer texts are not names of the user.
fn user_name(said: &Sentence<'_>) -> Option<Intent> {
    let name = said.after_any(&["my name is ", "name is ", "name: ", "name "])?;
    let short = name.split(' ').count() <= 3;
    let of_a_thing = ["the ", "a ", "an ", "my ", "your ", "this ", "that ", "some "];
    let plain = of_a_thing.iter().all(|article| super::strip_prefix_ignore_case(name, article).is_none());
    (short && plain && !said.ends_with_question_mark())
        .then(|| Intent::Change(ChangeRequest::SetUserName(name.to_owned())))
}
