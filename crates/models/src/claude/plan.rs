//! Where the program begins: in the memory it has of this branch, in a copy of another's, or with none.
//!
//! The program keeps its own history. It is only trusted as far as it is known to be ours: a mark is a number
//! of things said and their fingerprint, and a past that was cleared, undone or summed up has another one. What
//! the program was told and may not have heard must be in the past too, or it would remember what nobody said.

use std::sync::Arc;

use domain::context::{self, Context};
use domain::conversation::{Branch, Image, Reach, Said};
use serde_json::{Value, json};

use super::company::Place;
use super::past::Past;

/// The most pictures in one message; the newest stay.
const IMAGES: usize = 20;

/// What the program reads when there is nothing new to read.
const GO_ON: &str = "go on.";

/// How the program is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// With no memory.
    Fresh,
    /// With the memory of this session, which goes on.
    Resume(String),
    /// With a copy of the memory of this session.
    Fork(String),
}

impl Start {
    /// The session whose memory is used.
    pub fn session(&self) -> Option<&String> {
        match self {
            Self::Fresh => None,
            Self::Resume(session) | Self::Fork(session) => Some(session),
        }
    }
}

/// Where to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// With which memory.
    pub start: Start,
    /// How much of what was said is in it.
    pub heard: usize,
}

impl Plan {
    /// The best beginning for `context`, given all places that are known.
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

/// Whether neither what is asked nor the answer is part of the conversation, as with a summary. What goes on after
/// a half of an answer is.
pub fn is_apart(context: &Context) -> bool {
    match context.said.get(context.kept().len()).map(|said| &**said) {
        Some(Said::Assistant(_, Reach::Cut)) | None => false,
        Some(Said::Human(_) | Said::Assistant(_, Reach::Whole) | Said::Tools(_))
        | Some(Said::Summary(_) | Said::Recalled(_)) => true,
    }
}

/// The message that tells the program what it has not heard, when it has heard `heard` things of `context`.
pub fn message(context: &Context, heard: usize) -> Value {
    let unheard = &context.said[heard.min(context.said.len())..];
    let unheard = &unheard[if heard > 0 { own(unheard) } else { 0 }..];
    let mut content: Vec<Value> = images(unheard).into_iter().map(picture).collect();
    let text = words(unheard);
    if !text.is_empty() || content.is_empty() {
        let text = if text.is_empty() { GO_ON } else { &text };
        content.push(json!({"type": "text", "text": text}));
    }
    // Composed by us: a slash is no command in it, and an @ names no file.
    let mut message = spoken(Value::Array(content));
    message["client_composed"] = json!(true);
    message
}

/// How much of what followed was said by the program itself, and so is in its memory. It does not always remember
/// words that were cut off. Results of calls that it does not wait for any more are told together with the calls.
fn own(unheard: &[Arc<Said>]) -> usize {
    let whole = |said: &&Arc<Said>| matches!(***said, Said::Assistant(_, Reach::Whole));
    let count = unheard.iter().take_while(whole).count();
    match unheard.get(count).map(|said| &**said) {
        Some(Said::Tools(_)) => count.saturating_sub(1),
        Some(Said::Human(_) | Said::Assistant(..) | Said::Summary(_) | Said::Recalled(_)) | None => count,
    }
}

/// A command to the program itself.
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

/// The newest words stand last and alone, as the human said them.
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
        Place { session: session.to_owned(), heard: mark(), told: mark() }
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

    /// A program that died in a turn may have heard what it was told. If that was taken back since, it is not
    /// gone on with.
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

    /// What is read aside is not remembered: a summary is asked of a copy, and an answer goes on where it was.
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
}
