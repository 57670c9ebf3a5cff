//! Property tests: after any sequence of messages, forks and compactions, a request from the cache
//! equals one that is serialized from scratch.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use domain::context::{Context, SystemNote};
use domain::conversation::{
    Block, Branch, Completeness, EntryContent, EntryId, Image, Json, Opaque, UserInput,
};
use domain::effort::Effort;
use domain::thinking::Thinking;
use domain::tool::{Outcome, ToolCall, ToolClass, ToolResult, ToolSpec};
use proptest::prelude::*;

use super::{BuiltMessage, CacheLimits, PrefixCache, RequestBody};
use crate::openai::profile::Profile;
use crate::openai::request::ToolSupport;
use crate::{anthropic, openai};

const TOOL: ToolSpec = ToolSpec {
    name: "note",
    description: Cow::Borrowed("Writes a note."),
    schema: "{}",
    class: ToolClass::Own,
};

/// A change to a conversation; branches are numbered.
#[derive(Clone, Debug)]
enum Change {
    Say(usize, EntryContent),
    Fork(usize),
    Compact(usize, usize),
    Undo(usize, usize),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let step = prop_oneof![
        12 => (0..4_usize, entry()).prop_map(|(branch, said)| Change::Say(branch, said)),
        1 => (0..4_usize).prop_map(Change::Fork),
        1 => (0..4_usize, 0..3_usize).prop_map(|(branch, keep)| Change::Compact(branch, keep)),
        1 => (0..4_usize, 1..5_usize).prop_map(|(branch, count)| Change::Undo(branch, count)),
    ];
    proptest::collection::vec(step, 1..60)
}

fn entry() -> impl Strategy<Value = EntryContent> {
    let human = (text_strategy(), 0..2_usize).prop_map(|(text, images)| {
        let image = Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
        EntryContent::User(UserInput { preface: String::new(), text, images: vec![image; images] })
    });
    let blocks = proptest::collection::vec(block(), 0..4);
    let results = proptest::collection::vec(("[ab]", text_strategy()), 0..3).prop_map(|results| {
        let result = |(call, text)| ToolResult {
            call,
            text,
            outcome: Outcome::Done,
            label: domain::label::Label::PLAIN,
        };
        EntryContent::Tools(results.into_iter().map(result).collect())
    });
    prop_oneof![
        3 => human,
        3 => blocks.prop_map(|blocks| EntryContent::Assistant(blocks, Completeness::Complete)),
        2 => results,
        1 => Just(EntryContent::SummaryRecalled(EntryId(1))),
    ]
}

fn block() -> impl Strategy<Value = Block> {
    prop_oneof![
        text_strategy().prop_map(Block::Text),
        "[ab]".prop_map(|id| {
            Block::Call(ToolCall { id, name: "note".to_owned(), input: Json("{}".to_owned()) })
        }),
        Just(Block::Opaque(Opaque::anthropic(r#"{"type":"thinking"}"#))),
    ]
}

/// Text, including blank text, which becomes no message and is the critical case for the cache.
fn text_strategy() -> impl Strategy<Value = String> {
    prop_oneof![Just(" \n".to_owned()), "[a-zé\"\\\\]{1,40}"]
}

fn limits() -> impl Strategy<Value = CacheLimits> {
    (1..400_usize, 1..4_usize, 1..4000_usize).prop_map(|(page, branches, bytes)| CacheLimits {
        page_bytes: page,
        branches,
        total_bytes: bytes,
    })
}

/// The entries of all branches, and the cache of each protocol.
struct Conversation {
    paths: Vec<Vec<Arc<EntryContent>>>,
    caches: [PrefixCache; 4],
}

impl Conversation {
    fn apply(&mut self, step: Change) -> usize {
        let count = self.paths.len();
        match step {
            Change::Say(branch, said) => {
                self.paths[branch % count].push(Arc::new(said));
                branch % count
            }
            Change::Fork(branch) => {
                let path = self.paths[branch % count].clone();
                self.paths.push(path);
                count
            }
            Change::Compact(branch, keep) => {
                let path = &mut self.paths[branch % count];
                let rest = path.split_off(path.len().saturating_sub(keep));
                *path =
                    [Arc::new(EntryContent::Summary("so far".to_owned()))].into_iter().chain(rest).collect();
                branch % count
            }
            Change::Undo(branch, steps) => {
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
            entries: self.paths[branch].clone(),
            notes: notes(&self.paths[branch], branch),
            transient_count: 0,
        }
    }

    fn check(&self, branch: usize) {
        let context = &self.context(branch);
        let made = anthropic::request::messages(SHAPE, context, 0);
        let whole = anthropic::request::request("m", SHAPE, context, messages_only(made));
        let body = anthropic::request::body("m", SHAPE, context, &self.caches[0]).unwrap();
        assert_eq!(text(&body), serde_json::to_string(&whole).unwrap());
        let chat = |tools| Profile { tools, ..Profile::for_host("localhost") };
        let profiles = [ToolSupport::Offered, ToolSupport::Unsupported].map(chat);
        for (profile, kept) in profiles.iter().zip(&self.caches[1..3]) {
            let asked =
                openai::request::RequestParameters { model: "m", max_tokens: 9, profile, origin: "test" };
            let made = openai::request::messages(asked, context, 0);
            let whole = openai::request::request(asked, context, messages_only(made));
            let body = openai::request::body(asked, context, kept).unwrap();
            assert_eq!(text(&body), serde_json::to_string(&whole).unwrap());
        }
        let profile = &Profile::for_host("api.openai.com");
        let asked = openai::request::RequestParameters { model: "m", max_tokens: 9, profile, origin: "test" };
        let made = openai::responses::request::items(asked, context, 0);
        let whole = openai::responses::request::request(asked, context, messages_only(made));
        let body = openai::responses::request::body(asked, context, &self.caches[3]).unwrap();
        assert_eq!(text(&body), serde_json::to_string(&whole).unwrap());
    }
}

const SHAPE: anthropic::request::Shape = anthropic::request::Shape {
    thinking: None,
    effort: None,
    max_tokens: 9,
    system_messages: true,
    cache: anthropic::protocol::CacheControl::FIVE_MINUTES,
    strip_thinking_before: 0,
};

/// Notes after some of the user messages, different on each branch.
fn notes(said: &[Arc<EntryContent>], branch: usize) -> Vec<SystemNote> {
    let noted = said.iter().enumerate().filter(|(at, said)| match &***said {
        EntryContent::User(heard) => (heard.text.len() + at + branch).is_multiple_of(4),
        EntryContent::Assistant(..)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => false,
    });
    noted.map(|(after, _)| SystemNote { after, text: Arc::from("Be short.") }).collect()
}

fn messages_only<M>(made: Vec<BuiltMessage<M>>) -> Vec<M> {
    made.into_iter().map(|made| made.message).collect()
}

fn text(body: &RequestBody) -> String {
    String::from_utf8(body.0.concat()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cached_prefix_changes_no_byte_of_a_request(limits in limits(), steps in changes()) {
        let mut tree = Conversation { paths: vec![Vec::new()], caches: [limits; 4].map(PrefixCache::new) };
        for step in steps {
            let branch = tree.apply(step);
            tree.check(branch);
        }
    }
}

fn long_conversation(turns: usize) -> Vec<Arc<EntryContent>> {
    let turn = |at: usize| {
        let heard = UserInput { preface: String::new(), text: format!("question {at}"), images: Vec::new() };
        [
            EntryContent::User(heard),
            EntryContent::Assistant(vec![Block::Text("because".to_owned())], Completeness::Complete),
        ]
    };
    (0..turns).flat_map(turn).map(Arc::new).collect()
}

fn context(branch: Branch, said: Vec<Arc<EntryContent>>) -> Context {
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

/// Returns how many entries are serialized to write a request.
fn serialized_entries(kept: &PrefixCache, context: &Context) -> usize {
    let from = Cell::new(0);
    let make = |at| {
        from.set(at);
        anthropic::request::messages(SHAPE, context, at)
    };
    kept.write_request(b"[".to_vec(), context, make).unwrap();
    context.entries.len() - from.get()
}

#[test]
fn only_new_entries_are_serialized_on_a_branch_and_its_fork() {
    let kept = PrefixCache::new(CacheLimits::DEFAULT);
    let mut said = long_conversation(100);
    assert_eq!(serialized_entries(&kept, &context(Branch::Main, said.clone())), 200);
    said.extend(long_conversation(1));
    assert_eq!(serialized_entries(&kept, &context(Branch::Main, said.clone())), 6);
    let fork = Branch::fork("aside").unwrap();
    assert_eq!(serialized_entries(&kept, &context(fork, said.clone())), 4);
    assert_eq!(serialized_entries(&kept, &context(Branch::Main, said)), 4);
}

#[test]
fn fork_shares_the_bytes_of_its_parent_branch() {
    let kept = PrefixCache::new(CacheLimits { page_bytes: 100, ..CacheLimits::DEFAULT });
    let said = long_conversation(100);
    let write = |branch| {
        let context = context(branch, said.clone());
        kept.write_request(Vec::new(), &context, |from| anthropic::request::messages(SHAPE, &context, from))
            .unwrap()
    };
    let main = write(Branch::Main);
    let fork = write(Branch::fork("aside").unwrap());
    let shared = main.0.iter().zip(&fork.0).filter(|(one, other)| one.as_ptr() == other.as_ptr()).count();
    assert!(shared > 50, "{shared} of {}", main.0.len());
}

#[test]
fn least_recently_used_branch_is_dropped() {
    let kept = PrefixCache::new(CacheLimits { branches: 2, ..CacheLimits::DEFAULT });
    let branches = ["a", "b", "c"].map(|name| Branch::fork(name).unwrap());
    let contexts: Vec<_> =
        branches.into_iter().map(|branch| context(branch, long_conversation(10))).collect();
    for context in &contexts {
        serialized_entries(&kept, context);
    }
    assert_eq!([1, 2, 0].map(|at| serialized_entries(&kept, &contexts[at])), [4, 4, 20]);
}

#[test]
fn prefix_above_the_byte_limit_is_not_cached() {
    let kept = PrefixCache::new(CacheLimits { total_bytes: 300, ..CacheLimits::DEFAULT });
    let short = context(Branch::Main, long_conversation(3));
    let long = context(Branch::Main, long_conversation(10));
    assert_eq!([serialized_entries(&kept, &short), serialized_entries(&kept, &short)], [6, 4]);
    assert_eq!([serialized_entries(&kept, &long), serialized_entries(&kept, &long)], [20, 20]);
}
