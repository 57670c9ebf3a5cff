//! Plans the start of the program: resume the branch's session, fork another branch's session, or
//! start fresh.
//!
//! The program stores its own history. A session is used only if its marks match: a mark is a
//! number of entries and their hash, so a history that was cleared, undone or compacted does not
//! match. Entries that were sent and possibly not received must match too, or the program would
//! remember removed entries.

use std::sync::Arc;

use domain::context::{self, Context, SystemNote};
use domain::conversation::{Branch, Image, Reach, Said};
use serde_json::{Value, json};

use super::company::Place;
use super::past::Past;

/// The most images in one message; the newest are sent.
const IMAGES: usize = 20;

/// The message when there is nothing new to send.
const GO_ON: &str = "go on.";

/// Heading of a note that changes the instructions.
const NOTE: &str = "[change of your instructions]";

/// The session that the program starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// A new session.
    Fresh,
    /// This session, continued.
    Resume(String),
    /// A copy of this session.
    Fork(String),
}

impl Start {
    /// Returns the session that is resumed or copied.
    pub fn session(&self) -> Option<&String> {
        match self {
            Self::Fresh => None,
            Self::Resume(session) | Self::Fork(session) => Some(session),
        }
    }
}

/// The start of the program for a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The session to use.
    pub start: Start,
    /// The number of entries that are in it.
    pub heard: usize,
}

impl Plan {
    /// Returns the best start for `context`, given all known session positions.
    pub fn new(context: &Context, past: &Past, places: &[(Branch, Place)]) -> Self {
        let fits = |place: &&Place| past.begins_with(&place.heard) && past.begins_with(&place.told);
        let own = places.iter().find(|(branch, _)| *branch == context.branch).map(|(_, place)| place);
        if let Some(place) = own.filter(fits) {
            let session = place.session.clone();
            let start = if is_apart(context) { Start::Fork(session) } else { Start::Resume(session) };
            return Self { start, heard: place.heard.said };
        }
        let others = places.iter().map(|(_, place)| place);
        match others.filter(|place| place.heard.said > 0).filter(fits).max_by_key(|place| place.heard.said) {
            Some(place) => Self { start: Start::Fork(place.session.clone()), heard: place.heard.said },
            None => Self { start: Start::Fresh, heard: 0 },
        }
    }
}

/// Returns whether the request and its answer are transient, as for a summary. The continuation of
/// an interrupted answer is not.
pub fn is_apart(context: &Context) -> bool {
    match context.said.get(context.kept().len()).map(|said| &**said) {
        Some(Said::Assistant(_, Reach::Cut)) | None => false,
        Some(Said::Human(_) | Said::Assistant(_, Reach::Whole) | Said::Tools(_))
        | Some(Said::Summary(_) | Said::Recalled(_)) => true,
    }
}

/// Returns the user message with the entries that the program lacks, when it knows `known` entries
/// of `context`.
pub fn message(context: &Context, heard: usize) -> Value {
    let unheard = &context.said[heard.min(context.said.len())..];
    let unheard = &unheard[if heard > 0 { own(unheard) } else { 0 }..];
    let mut content: Vec<Value> = images(unheard).into_iter().map(picture).collect();
    let text = words(unheard);
    if !text.is_empty() || content.is_empty() {
        let text = if text.is_empty() { GO_ON } else { &text };
        content.push(json!({"type": "text", "text": text}));
    }
    content.extend(notes(context, heard).map(|text| json!({"type": "text", "text": text})));
    // Disables slash commands and `@` file references in the message.
    let mut message = spoken(Value::Array(content));
    message["client_composed"] = json!(true);
    message
}

/// Returns the notes that the program has not read when it knows `known` entries. They are sent
/// only in user messages, so a note after tool results waits for the next one.
fn notes(context: &Context, heard: usize) -> impl Iterator<Item = String> {
    let unread = move |note: &&SystemNote| {
        let waits = || {
            let until = context.said.get(note.after + 1..heard).unwrap_or_default();
            matches!(context.said.get(note.after).map(|said| &**said), Some(Said::Tools(_)))
                && !until.iter().any(|said| matches!(**said, Said::Human(_)))
        };
        note.after >= heard || waits()
    };
    context.notes.iter().filter(unread).map(|note| format!("{NOTE}\n{}", note.text))
}

/// Returns how many of the leading entries are the program's own, so that its session contains
/// them. Interrupted replies are not always in it. Results of calls that it no longer waits for are
/// sent together with the calls.
fn own(unheard: &[Arc<Said>]) -> usize {
    let whole = |said: &&Arc<Said>| matches!(***said, Said::Assistant(_, Reach::Whole));
    let count = unheard.iter().take_while(whole).count();
    match unheard.get(count).map(|said| &**said) {
        Some(Said::Tools(_)) => count.saturating_sub(1),
        Some(Said::Human(_) | Said::Assistant(..) | Said::Summary(_) | Said::Recalled(_)) | None => count,
    }
}

/// Returns a message with a command to the program itself.
pub fn command(text: &str) -> Value {
    spoken(json!(text))
}

fn spoken(content: Value) -> Value {
    json!({
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": null,
        "session_id": "default",
    })
}

/// Returns the text of the new entries: a transcript, then the newest user text verbatim.
fn words(unheard: &[Arc<Said>]) -> String {
    let (before, last) = match unheard.split_last() {
        Some((last, before)) => match &**last {
            Said::Human(heard) => (before, context::heard(heard)),
            Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => {
                (unheard, String::new())
            }
        },
        None => (unheard, String::new()),
    };
    [context::retold(before), last]
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn images(unheard: &[Arc<Said>]) -> Vec<&Image> {
    let images: Vec<&Image> = unheard
        .iter()
        .flat_map(|said| match &**said {
            Said::Human(heard) => heard.images.as_slice(),
            Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => &[],
        })
        .collect();
    images[images.len().saturating_sub(IMAGES)..].to_vec()
}

fn picture(image: &Image) -> Value {
    let source = json!({"type": "base64", "media_type": image.media_type, "data": image.data});
    json!({"type": "image", "source": source})
}

#[cfg(test)]
mod tests {
    use domain::conversation::{Block, Heard};
    use domain::effort::Effort;
    use domain::thinking::Thinking;

    use super::*;

    fn human(text: &str) -> Said {
        Said::Human(Heard { preface: String::new(), text: text.to_owned(), images: Vec::new() })
    }

    fn answer(text: &str) -> Said {
        Said::Assistant(vec![Block::Text(text.to_owned())], Reach::Whole)
    }

    fn context(branch: Branch, said: Vec<Said>) -> Context {
        let said = said.into_iter().map(Arc::new).collect();
        Context {
            branch,
            model: None,
            thinking: Thinking::Off,
            effort: Effort::Low,
            interactive: true,
            tools: Arc::from([]),
            instructions: Arc::from(""),
            said,
            notes: Vec::new(),
            aside: 0,
        }
    }

    fn place(session: &str, context: &Context, said: usize) -> Place {
        let mark = || Past::of(context).mark(said);
        Place { session: session.to_owned(), heard: mark(), told: mark(), instructions: None }
    }

    fn plan(context: &Context, places: &[(Branch, Place)]) -> Plan {
        Plan::new(context, &Past::of(context), places)
    }

    #[test]
    fn a_branch_goes_on_a_fork_copies_and_a_changed_past_begins_anew() {
        let fork = || Branch::fork("f").unwrap();
        let past = || vec![human("a"), answer("b"), human("c")];
        let main = context(Branch::Main, past());
        let places = [(Branch::Main, place("m", &main, 1))];
        let check = |context: Context, places: &[(Branch, Place)], start: Start, heard: usize| {
            assert_eq!(plan(&context, places), Plan { start, heard });
        };
        check(main.clone(), &places, Start::Resume("m".into()), 1);
        check(context(fork(), past()), &places, Start::Fork("m".into()), 1);
        check(main.clone(), &[], Start::Fresh, 0);
        check(context(Branch::Main, vec![human("x"), answer("b"), human("c")]), &places, Start::Fresh, 0);
        check(context(Branch::Main, vec![]), &places, Start::Fresh, 0);
        let both = [places[0].clone(), (fork(), place("f", &main, 3))];
        check(context(fork(), past()), &both, Start::Resume("f".into()), 3);
        let promoted =
            [(Branch::Main, place("m", &context(Branch::Main, vec![human("x")]), 1)), both[1].clone()];
        check(main, &promoted, Start::Fork("f".into()), 3);
    }

    /// A program that was killed in a turn may have received the sent entries. If they were undone
    /// since, its session is not resumed.
    #[test]
    fn what_may_have_been_heard_and_was_taken_back_is_not_remembered() {
        let past = context(Branch::Main, vec![human("a"), answer("b"), human("secret")]);
        let place = Place { told: Past::of(&past).mark(3), ..place("m", &past, 1) };
        let places = [(Branch::Main, place)];
        let start = |context: &Context| plan(context, &places).start;
        assert_eq!(start(&past), Start::Resume("m".into()));
        let undone = context(Branch::Main, vec![human("a"), answer("b"), human("hello")]);
        assert_eq!(start(&undone), Start::Fresh);
        assert_eq!(start(&context(Branch::Main, vec![human("a"), answer("b")])), Start::Fresh);
    }

    /// Transient entries are not recorded: a summary is requested from a copy, a continuation in
    /// the session itself.
    #[test]
    fn what_is_read_aside_is_no_part_of_what_was_heard() {
        let main = context(Branch::Main, vec![human("a"), answer("b"), human("c")]);
        let places = [(Branch::Main, place("m", &main, 3))];
        let summing_up = main.and(&[Arc::new(human("sum up"))]);
        assert_eq!(plan(&summing_up, &places), Plan { start: Start::Fork("m".into()), heard: 3 });
        let going_on = main.and(&context::continuing("d"));
        assert_eq!(plan(&going_on, &places), Plan { start: Start::Resume("m".into()), heard: 3 });
        for asked in [&summing_up, &going_on] {
            assert_eq!(Past::of(asked).mark(9), Past::of(&main).mark(3));
        }
    }

    #[test]
    fn only_what_was_not_heard_is_told() {
        let check = |said: Vec<Said>, heard: usize, expected: &str| {
            let message = message(&context(Branch::Main, said), heard);
            assert_eq!(message["message"]["content"][0]["text"], expected);
        };
        let told = |lines: &str| {
            format!(
                "[what was said in this conversation, and is not in your memory]\n{lines}\n[end of what was said]"
            )
        };
        check(vec![human("a")], 0, "a");
        check(vec![human("a"), answer("b"), human("c")], 1, "c");
        check(vec![human("a"), answer("b"), human("c")], 0, &(told("human: a\nyou: b") + "\n\nc"));
        check(
            vec![human("a"), answer("b"), human("c"), answer("d"), human("e")],
            1,
            &(told("human: c\nyou: d") + "\n\ne"),
        );
        check(vec![human("a"), answer("b")], 1, "go on.");
        let half = Said::Assistant(vec![Block::Text("b".to_owned())], Reach::Cut);
        check(vec![human("a"), half, human("c")], 1, &(told("you: b") + "\n\nc"));
    }

    #[test]
    fn a_note_is_told_with_the_next_user_message() {
        let tools = || Said::Tools(Vec::new());
        let told = |said: Vec<Said>, after: usize, heard: usize| {
            let mut context = context(Branch::Main, said);
            context.notes.push(SystemNote { after, text: Arc::from("Your name is Ada.") });
            let content = message(&context, heard)["message"]["content"].clone();
            content.as_array().unwrap().last().unwrap()["text"].as_str().unwrap().to_owned()
        };
        let note = "[change of your instructions]\nYour name is Ada.";
        let past = || vec![human("a"), answer("b"), human("c")];
        assert_eq!(told(past(), 2, 1), note);
        assert_eq!(told(past(), 0, 0), note);
        assert_eq!(told(past(), 0, 1), "c");
        let called = || vec![human("a"), answer("b"), tools(), answer("c"), human("d")];
        assert_eq!(told(called(), 2, 3), note);
        let later = called().into_iter().chain([answer("e"), human("f")]).collect();
        assert_eq!(told(later, 2, 5), "f");
    }
}
