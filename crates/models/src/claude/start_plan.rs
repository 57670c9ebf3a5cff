//! Plans the start of the program: resume the branch's session, fork another branch's session, or
//! start fresh.
//!
//! The program stores its own history. A session is used only if its marks match: a mark is a
//! number of entries and their hash, so a history that was cleared, undone or compacted does not
//! match. Entries that were sent and possibly not received must match too, or the program would
//! remember removed entries.

use std::sync::Arc;

use domain::context::{self, Context, SystemNote};
use domain::conversation::{Branch, Completeness, EntryContent, Image};
use serde_json::{Value, json};

use super::callbacks::SessionPosition;
use super::history::HistoryHashes;

/// The most images in one message; the newest are sent.
const MAX_IMAGES: usize = 20;

/// The message when there is nothing new to send.
const CONTINUE_PROMPT: &str = "go on.";

/// Heading of a note that changes the instructions.
const NOTE_HEADING: &str = "[change of your instructions]";

/// The session that the program starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionStart {
    /// A new session.
    Fresh,
    /// This session, continued.
    Resume(String),
    /// A copy of this session.
    Fork(String),
}

impl SessionStart {
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
pub struct StartPlan {
    /// The session to use.
    pub start: SessionStart,
    /// The number of entries that are in it.
    pub known_entries: usize,
}

impl StartPlan {
    /// Returns the best start for `context`, given all known session positions.
    pub fn new(context: &Context, history: &HistoryHashes, positions: &[(Branch, SessionPosition)]) -> Self {
        let fits = |place: &&SessionPosition| {
            history.starts_with(&place.received) && history.starts_with(&place.sent)
        };
        let own = positions.iter().find(|(branch, _)| *branch == context.branch).map(|(_, place)| place);
        if let Some(place) = own.filter(fits) {
            let session = place.session.clone();
            let start = if is_transient(context) {
                SessionStart::Fork(session)
            } else {
                SessionStart::Resume(session)
            };
            return Self { start, known_entries: place.received.count };
        }
        let others = positions.iter().map(|(_, place)| place);
        match others
            .filter(|place| place.received.count > 0)
            .filter(fits)
            .max_by_key(|place| place.received.count)
        {
            Some(place) => {
                Self { start: SessionStart::Fork(place.session.clone()), known_entries: place.received.count }
            }
            None => Self { start: SessionStart::Fresh, known_entries: 0 },
        }
    }
}

/// Returns whether the request and its answer are transient, as for a summary. The continuation of
/// an interrupted answer is not.
pub fn is_transient(context: &Context) -> bool {
    match context.entries.get(context.stored_entries().len()).map(|said| &**said) {
        Some(EntryContent::Assistant(_, Completeness::Interrupted)) | None => false,
        Some(
            EntryContent::User(_)
            | EntryContent::Assistant(_, Completeness::Complete)
            | EntryContent::Tools(_),
        )
        | Some(EntryContent::Summary(_) | EntryContent::SummaryRecalled(_)) => true,
    }
}

/// Returns the user message with the entries that the program lacks, when it knows `known` entries
/// of `context`.
pub fn user_message(context: &Context, known: usize) -> Value {
    let new_entries = &context.entries[known.min(context.entries.len())..];
    let new_entries = &new_entries[if known > 0 { own_entry_count(new_entries) } else { 0 }..];
    let mut content: Vec<Value> = images(new_entries).into_iter().map(image_block).collect();
    let text = new_text(new_entries);
    if !text.is_empty() || content.is_empty() {
        let text = if text.is_empty() { CONTINUE_PROMPT } else { &text };
        content.push(json!({"type": "text", "text": text}));
    }
    content.extend(unread_notes(context, known).map(|text| json!({"type": "text", "text": text})));
    // Disables slash commands and `@` file references in the message.
    let mut message = user_frame(Value::Array(content));
    message["client_composed"] = json!(true);
    message
}

/// Returns the notes that the program has not read when it knows `known` entries. They are sent
/// only in user messages, so a note after tool results waits for the next one.
fn unread_notes(context: &Context, known: usize) -> impl Iterator<Item = String> {
    let unread = move |note: &&SystemNote| {
        let waits = || {
            let until = context.entries.get(note.after + 1..known).unwrap_or_default();
            matches!(context.entries.get(note.after).map(|said| &**said), Some(EntryContent::Tools(_)))
                && !until.iter().any(|said| matches!(**said, EntryContent::User(_)))
        };
        note.after >= known || waits()
    };
    context.notes.iter().filter(unread).map(|note| format!("{NOTE_HEADING}\n{}", note.text))
}

/// Returns how many of the leading entries are the program's own, so that its session contains
/// them. Interrupted replies are not always in it. Results of calls that it no longer waits for are
/// sent together with the calls.
fn own_entry_count(new_entries: &[Arc<EntryContent>]) -> usize {
    let whole =
        |said: &&Arc<EntryContent>| matches!(***said, EntryContent::Assistant(_, Completeness::Complete));
    let count = new_entries.iter().take_while(whole).count();
    match new_entries.get(count).map(|said| &**said) {
        Some(EntryContent::Tools(_)) => count.saturating_sub(1),
        Some(
            EntryContent::User(_)
            | EntryContent::Assistant(..)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_),
        )
        | None => count,
    }
}

/// Returns a message with a command to the program itself.
pub fn command_message(text: &str) -> Value {
    user_frame(json!(text))
}

fn user_frame(content: Value) -> Value {
    json!({
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": null,
        "session_id": "default",
    })
}

/// Returns the text of the new entries: a transcript, then the newest user text verbatim.
fn new_text(new_entries: &[Arc<EntryContent>]) -> String {
    let (before, last) = match new_entries.split_last() {
        Some((last, before)) => match &**last {
            EntryContent::User(heard) => (before, context::user_text(heard)),
            EntryContent::Assistant(..)
            | EntryContent::Tools(_)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_) => (new_entries, String::new()),
        },
        None => (new_entries, String::new()),
    };
    [context::transcript(before), last]
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn images(new_entries: &[Arc<EntryContent>]) -> Vec<&Image> {
    let images: Vec<&Image> = new_entries
        .iter()
        .flat_map(|said| match &**said {
            EntryContent::User(heard) => heard.images.as_slice(),
            EntryContent::Assistant(..)
            | EntryContent::Tools(_)
            | EntryContent::Summary(_)
            | EntryContent::SummaryRecalled(_) => &[],
        })
        .collect();
    images[images.len().saturating_sub(MAX_IMAGES)..].to_vec()
}

fn image_block(image: &Image) -> Value {
    let source = json!({"type": "base64", "media_type": image.media_type, "data": image.data});
    json!({"type": "image", "source": source})
}

#[cfg(test)]
mod tests {
    use domain::conversation::{Block, UserInput};
    use domain::effort::Effort;
    use domain::thinking::Thinking;

    use super::*;

    fn user(text: &str) -> EntryContent {
        EntryContent::User(UserInput { preface: String::new(), text: text.to_owned(), images: Vec::new() })
    }

    fn answer(text: &str) -> EntryContent {
        EntryContent::Assistant(vec![Block::Text(text.to_owned())], Completeness::Complete)
    }

    fn context(branch: Branch, said: Vec<EntryContent>) -> Context {
        let said = said.into_iter().map(Arc::new).collect();
        Context {
            branch,
            model: None,
            thinking: Thinking::Off,
            effort: Effort::Low,
            interactive: true,
            tools: Arc::from([]),
            instructions: Arc::from(""),
            entries: said,
            notes: Vec::new(),
            transient_count: 0,
        }
    }

    fn position(session: &str, context: &Context, said: usize) -> SessionPosition {
        let mark = || HistoryHashes::of(context).mark(said);
        SessionPosition {
            session: session.to_owned(),
            received: mark(),
            sent: mark(),
            instructions_hash: None,
        }
    }

    fn plan(context: &Context, places: &[(Branch, SessionPosition)]) -> StartPlan {
        StartPlan::new(context, &HistoryHashes::of(context), places)
    }

    #[test]
    fn branch_resumes_fork_copies_and_changed_history_starts_fresh() {
        let fork = || Branch::fork("f").unwrap();
        let past = || vec![user("a"), answer("b"), user("c")];
        let main = context(Branch::Main, past());
        let places = [(Branch::Main, position("m", &main, 1))];
        let check =
            |context: Context, places: &[(Branch, SessionPosition)], start: SessionStart, heard: usize| {
                assert_eq!(plan(&context, places), StartPlan { start, known_entries: heard });
            };
        check(main.clone(), &places, SessionStart::Resume("m".into()), 1);
        check(context(fork(), past()), &places, SessionStart::Fork("m".into()), 1);
        check(main.clone(), &[], SessionStart::Fresh, 0);
        check(
            context(Branch::Main, vec![user("x"), answer("b"), user("c")]),
            &places,
            SessionStart::Fresh,
            0,
        );
        check(context(Branch::Main, vec![]), &places, SessionStart::Fresh, 0);
        let both = [places[0].clone(), (fork(), position("f", &main, 3))];
        check(context(fork(), past()), &both, SessionStart::Resume("f".into()), 3);
        let promoted =
            [(Branch::Main, position("m", &context(Branch::Main, vec![user("x")]), 1)), both[1].clone()];
        check(main, &promoted, SessionStart::Fork("f".into()), 3);
    }

    /// A program that was killed in a turn may have received the sent entries. If they were undone
    /// since, its session is not resumed.
    #[test]
    fn session_with_sent_but_undone_entries_is_not_resumed() {
        let past = context(Branch::Main, vec![user("a"), answer("b"), user("secret")]);
        let place = SessionPosition { sent: HistoryHashes::of(&past).mark(3), ..position("m", &past, 1) };
        let places = [(Branch::Main, place)];
        let start = |context: &Context| plan(context, &places).start;
        assert_eq!(start(&past), SessionStart::Resume("m".into()));
        let undone = context(Branch::Main, vec![user("a"), answer("b"), user("hello")]);
        assert_eq!(start(&undone), SessionStart::Fresh);
        assert_eq!(start(&context(Branch::Main, vec![user("a"), answer("b")])), SessionStart::Fresh);
    }

    /// Transient entries are not recorded: a summary is requested from a copy, a continuation in
    /// the session itself.
    #[test]
    fn transient_entries_are_not_part_of_the_history() {
        let main = context(Branch::Main, vec![user("a"), answer("b"), user("c")]);
        let places = [(Branch::Main, position("m", &main, 3))];
        let summing_up = main.with_transient(&[Arc::new(user("sum up"))]);
        assert_eq!(
            plan(&summing_up, &places),
            StartPlan { start: SessionStart::Fork("m".into()), known_entries: 3 }
        );
        let going_on = main.with_transient(&context::continuation_prompt("d"));
        assert_eq!(
            plan(&going_on, &places),
            StartPlan { start: SessionStart::Resume("m".into()), known_entries: 3 }
        );
        for asked in [&summing_up, &going_on] {
            assert_eq!(HistoryHashes::of(asked).mark(9), HistoryHashes::of(&main).mark(3));
        }
    }

    #[test]
    fn only_unknown_entries_are_sent() {
        let check = |said: Vec<EntryContent>, heard: usize, expected: &str| {
            let message = user_message(&context(Branch::Main, said), heard);
            assert_eq!(message["message"]["content"][0]["text"], expected);
        };
        let told = |lines: &str| {
            format!(
                "[what was said in this conversation, and is not in your memory]\n{lines}\n[end of what was said]"
            )
        };
        check(vec![user("a")], 0, "a");
        check(vec![user("a"), answer("b"), user("c")], 1, "c");
        check(vec![user("a"), answer("b"), user("c")], 0, &(told("human: a\nyou: b") + "\n\nc"));
        check(
            vec![user("a"), answer("b"), user("c"), answer("d"), user("e")],
            1,
            &(told("human: c\nyou: d") + "\n\ne"),
        );
        check(vec![user("a"), answer("b")], 1, "go on.");
        let half = EntryContent::Assistant(vec![Block::Text("b".to_owned())], Completeness::Interrupted);
        check(vec![user("a"), half, user("c")], 1, &(told("you: b") + "\n\nc"));
    }

    #[test]
    fn note_is_sent_with_the_next_user_message() {
        let tools = || EntryContent::Tools(Vec::new());
        let told = |said: Vec<EntryContent>, after: usize, heard: usize| {
            let mut context = context(Branch::Main, said);
            context.notes.push(SystemNote { after, text: Arc::from("Your name is Ada.") });
            let content = user_message(&context, heard)["message"]["content"].clone();
            content.as_array().unwrap().last().unwrap()["text"].as_str().unwrap().to_owned()
        };
        let note = "[change of your instructions]\nYour name is Ada.";
        let past = || vec![user("a"), answer("b"), user("c")];
        assert_eq!(told(past(), 2, 1), note);
        assert_eq!(told(past(), 0, 0), note);
        assert_eq!(told(past(), 0, 1), "c");
        let called = || vec![user("a"), answer("b"), tools(), answer("c"), user("d")];
        assert_eq!(told(called(), 2, 3), note);
        let later = called().into_iter().chain([answer("e"), user("f")]).collect();
        assert_eq!(told(later, 2, 5), "f");
    }
}
