//! Property tests: after any sequence of messages, forks and compactions, a request from the cache
//! equals one that is serialized from scratch.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use domain::context::{Context, SystemNote};
use domain::conversation::{Block, Branch, EntryId, Heard, Image, Json, Opaque, Reach, Said};
use domain::effort::Effort;
use domain::thinking::Thinking;
use domain::tool::{Class, Outcome, ToolCall, ToolResult, ToolSpec};
use proptest::prelude::*;

use super::{Beginnings, Body, Limits, Made};
use crate::openai::profile::Profile;
use crate::openai::request::Tools;
use crate::{anthropic, openai};

const TOOL: ToolSpec =
    ToolSpec { name: "note", description: Cow::Borrowed("Writes a note."), schema: "{}", class: Class::Own };

/// A change to a conversation; branches are numbered.
#[derive(Clone, Debug)]
enum Step {
    Say(usize, Said),
    Fork(usize),
    Compact(usize, usize),
    Undo(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (0..4_usize, said()).prop_map(|(branch, said)| Step::Say(branch, said)),
        1 => (0..4_usize).prop_map(Step::Fork),
        1 => (0..4_usize, 0..3_usize).prop_map(|(branch, keep)| Step::Compact(branch, keep)),
        1 => (0..4_usize, 1..5_usize).prop_map(|(branch, count)| Step::Undo(branch, count)),
    ];
    proptest::collection::vec(step, 1..60)
}

fn said() -> impl Strategy<Value = Said> {
    let human = (words(), 0..2_usize).prop_map(|(text, images)| {
        let image = Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
        Said::Human(Heard { preface: String::new(), text, images: vec![image; images] })
    });
    let blocks = proptest::collection::vec(block(), 0..4);
    let results = proptest::collection::vec(("[ab]", words()), 0..3).prop_map(|results| {
        let result = |(call, text)| ToolResult {
            call,
            text,
            outcome: Outcome::Done,
            label: domain::label::Label::PLAIN,
        };
        Said::Tools(results.into_iter().map(result).collect())
    });
    prop_oneof![
        3 => human,
        3 => blocks.prop_map(|blocks| Said::Assistant(blocks, Reach::Whole)),
        2 => results,
        1 => Just(Said::Recalled(EntryId(1))),
    ]
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        words().prop_map(Block::Text),
        "[ab]".prop_map(|id| {
            Block::Call(ToolCall { id, name: "note".to_owned(), input: Json("{}".to_owned()) })
        }),
        Just(Block::Opaque(Opaque::anthropic(r#"{"type":"thinking"}"#))),
    ]
}

/// Text, including blank text, which becomes no message and is the critical case for the cache.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![Just(" \n".to_owned()), "[a-zé\"\\\\]{1,40}"]
}

fn limits() -> impl Strategy<Value = Limits> {
    (1..400_usize, 1..4_usize, 1..4000_usize).prop_map(|(page, branches, bytes)| Limits {
        page,
        branches,
        bytes,
    })
}

/// The entries of all branches, and the cache of each protocol.
struct Tree {
    paths: Vec<Vec<Arc<Said>>>,
    kept: [Beginnings; 4],
}

impl Tree {
    fn step(&mut self, step: Step) -> usize {
        let count = self.paths.len();
        match step {
            Step::Say(branch, said) => {
                self.paths[branch % count].push(Arc::new(said));
                branch % count
            }
            Step::Fork(branch) => {
                let path = self.paths[branch % count].clone();
                self.paths.push(path);
                count
            }
            Step::Compact(branch, keep) => {
                let path = &mut self.paths[branch % count];
                let rest = path.split_off(path.len().saturating_sub(keep));
                *path = [Arc::new(Said::Summary("so far".to_owned()))].into_iter().chain(rest).collect();
                branch % count
            }
            Step::Undo(branch, steps) => {
                let path = &mut self.paths[branch % count];
                path.truncate(path.len().saturating_sub(steps));
                branch % count
            }
        }
    }

    fn context(&self, branch: usize) -> Context {
        let name = match branch {
            0 => Branch::Main,
            fork => Branch::fork(&fork.to_string()).unwrap(),
        };
        Context {
            branch: name,
            model: None,
            thinking: Thinking::Off,
            effort: Effort::Low,
            interactive: true,
            tools: Arc::from([TOOL]),
            instructions: Arc::from("Be kind."),
            said: self.paths[branch].clone(),
            notes: notes(&self.paths[branch], branch),
            aside: 0,
        }
    }

    fn check(&self, branch: usize) {
        let context = &self.context(branch);
        let made = anthropic::request::messages(SHAPE, context, 0);
        let whole = anthropic::request::request("m", SHAPE, context, bare(made));
        let body = anthropic::request::body("m", SHAPE, context, &self.kept[0]).unwrap();
        assert_eq!(text(&body), serde_json::to_string(&whole).unwrap());
        let chat = |tools| Profile { tools, ..Profile::for_host("localhost") };
        let profiles = [Tools::Offered, Tools::Unknown].map(chat);
        for (profile, kept) in profiles.iter().zip(&self.kept[1..3]) {
            let asked = openai::request::Asked { model: "m", max_tokens: 9, profile, origin: "test" };
            let made = openai::request::messages(asked, context, 0);
            let whole = openai::request::request(asked, context, bare(made));
            let body = openai::request::body(asked, context, kept).unwrap();
            assert_eq!(text(&body), serde_json::to_string(&whole).unwrap());
        }
        let profile = &Profile::for_host("api.openai.com");
        let asked = openai::request::Asked { model: "m", max_tokens: 9, profile, origin: "test" };
        let made = openai::responses::request::items(asked, context, 0);
        let whole = openai::responses::request::request(asked, context, bare(made));
        let body = openai::responses::request::body(asked, context, &self.kept[3]).unwrap();
        assert_eq!(text(&body), serde_json::to_string(&whole).unwrap());
    }
}

const SHAPE: anthropic::request::Shape = anthropic::request::Shape {
    thinking: None,
    effort: None,
    max_tokens: 9,
    system_messages: true,
    cache: anthropic::wire::CacheControl::FIVE_MINUTES,
    strip_thinking_before: 0,
};

/// Notes after some of the user messages, different on each branch.
fn notes(said: &[Arc<Said>], branch: usize) -> Vec<SystemNote> {
    let noted = said.iter().enumerate().filter(|(at, said)| match &***said {
        Said::Human(heard) => (heard.text.len() + at + branch).is_multiple_of(4),
        Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => false,
    });
    noted.map(|(after, _)| SystemNote { after, text: Arc::from("Be short.") }).collect()
}

fn bare<M>(made: Vec<Made<M>>) -> Vec<M> {
    made.into_iter().map(|made| made.message).collect()
}

fn text(body: &Body) -> String {
    String::from_utf8(body.0.concat()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_kept_beginning_changes_no_byte_of_a_request(limits in limits(), steps in steps()) {
        let mut tree = Tree { paths: vec![Vec::new()], kept: [limits; 4].map(Beginnings::new) };
        for step in steps {
            let branch = tree.step(step);
            tree.check(branch);
        }
    }
}

fn long(turns: usize) -> Vec<Arc<Said>> {
    let turn = |at: usize| {
        let heard = Heard { preface: String::new(), text: format!("question {at}"), images: Vec::new() };
        [Said::Human(heard), Said::Assistant(vec![Block::Text("because".to_owned())], Reach::Whole)]
    };
    (0..turns).flat_map(turn).map(Arc::new).collect()
}

fn context(branch: Branch, said: Vec<Arc<Said>>) -> Context {
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

/// Returns how many entries are serialized to write a request.
fn read(kept: &Beginnings, context: &Context) -> usize {
    let from = Cell::new(0);
    let make = |at| {
        from.set(at);
        anthropic::request::messages(SHAPE, context, at)
    };
    kept.write(b"[".to_vec(), context, make).unwrap();
    context.said.len() - from.get()
}

#[test]
fn only_what_is_new_is_read_again_on_a_branch_and_on_its_fork() {
    let kept = Beginnings::new(Limits::HOUSE);
    let mut said = long(100);
    assert_eq!(read(&kept, &context(Branch::Main, said.clone())), 200);
    said.extend(long(1));
    assert_eq!(read(&kept, &context(Branch::Main, said.clone())), 6);
    let fork = Branch::fork("aside").unwrap();
    assert_eq!(read(&kept, &context(fork, said.clone())), 4);
    assert_eq!(read(&kept, &context(Branch::Main, said)), 4);
}

#[test]
fn a_fork_shares_the_bytes_of_the_branch_it_left() {
    let kept = Beginnings::new(Limits { page: 100, ..Limits::HOUSE });
    let said = long(100);
    let write = |branch| {
        let context = context(branch, said.clone());
        kept.write(Vec::new(), &context, |from| anthropic::request::messages(SHAPE, &context, from)).unwrap()
    };
    let main = write(Branch::Main);
    let fork = write(Branch::fork("aside").unwrap());
    let shared = main.0.iter().zip(&fork.0).filter(|(one, other)| one.as_ptr() == other.as_ptr()).count();
    assert!(shared > 50, "{shared} of {}", main.0.len());
}

#[test]
fn the_branch_that_was_silent_for_longest_is_forgotten() {
    let kept = Beginnings::new(Limits { branches: 2, ..Limits::HOUSE });
    let branches = ["a", "b", "c"].map(|name| Branch::fork(name).unwrap());
    let contexts: Vec<_> = branches.into_iter().map(|branch| context(branch, long(10))).collect();
    for context in &contexts {
        read(&kept, context);
    }
    assert_eq!([1, 2, 0].map(|at| read(&kept, &contexts[at])), [4, 4, 20]);
}

#[test]
fn more_bytes_than_the_limit_are_not_kept() {
    let kept = Beginnings::new(Limits { bytes: 300, ..Limits::HOUSE });
    let short = context(Branch::Main, long(3));
    let long = context(Branch::Main, long(10));
    assert_eq!([read(&kept, &short), read(&kept, &short)], [6, 4]);
    assert_eq!([read(&kept, &long), read(&kept, &long)], [20, 20]);
}
