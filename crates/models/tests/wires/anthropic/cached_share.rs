//! Measures the share of a long conversation that is read from the cache, with thinking on, as
//! counted by the strict server. `cargo xtask bench` reads the output.

use std::io::Write;
use std::sync::Arc;

use domain::context::Context;
use domain::conversation::{Block, Branch, Completeness, EntryContent, UserInput};
use domain::effort::Effort;
use domain::thinking::Thinking;
use models::anthropic::Anthropic;
use serde_json::Value;
use testkit::model_server::{ModelServer, ScriptedReply};

use super::support::{answer, call_model, context, model, user};

/// A model that always thinks, and whose thinking blocks are bound to everything before them.
const MODEL: &str = "claude-sonnet-5-5";

/// A growing conversation and its model.
struct Conversation {
    server: ModelServer,
    model: Anthropic,
    said: Vec<Arc<EntryContent>>,
}

impl Conversation {
    async fn start(said: Vec<EntryContent>) -> Self {
        let server = ModelServer::start().await.unwrap();
        let model = model(&server.url());
        Self { server, model, said: said.into_iter().map(Arc::new).collect() }
    }

    /// Returns the share of the input, in percent, that is read from the cache when `message` is
    /// sent on `branch`.
    async fn cached_percent(&mut self, branch: Branch, message: EntryContent) -> f64 {
        let mut said = self.said.clone();
        said.push(Arc::new(message));
        let asked = Context {
            // Only the background run is not interactive.
            interactive: branch != Branch::fork("mail").unwrap(),
            branch,
            model: Some(MODEL.to_owned()),
            thinking: Thinking::Adaptive,
            effort: Effort::Medium,
            entries: said,
            ..context(Vec::new())
        };
        let thinks = ScriptedReply::empty().with_signed_thinking(&"let me think. ".repeat(20));
        self.server.script([thinks.with_text(&"because it is so. ".repeat(20))]);
        let reply = call_model(&self.model, &asked).await.1.unwrap();
        assert!(matches!(reply.blocks[..], [Block::Opaque(_), Block::Text(_)]), "it thinks: {reply:?}");
        if asked.branch == Branch::Main {
            self.said = asked.entries;
            self.said.push(Arc::new(EntryContent::Assistant(reply.blocks, Completeness::Complete)));
        }
        let usage = *self.server.usage().last().unwrap();
        let whole = usage.input + usage.cache_read + usage.cache_write;
        100.0 * f64::from(u32::try_from(usage.cache_read).unwrap()) / f64::from(u32::try_from(whole).unwrap())
    }

    fn tokens(&self) -> u64 {
        let usage = *self.server.usage().last().unwrap();
        usage.input + usage.cache_read + usage.cache_write
    }
}

/// Returns the number of thinking blocks in `request`.
fn thinking_blocks(request: &Value) -> usize {
    let messages = request["messages"].as_array().unwrap();
    let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    blocks.filter(|block| block["type"] == "thinking").count()
}

fn long_conversation() -> Vec<EntryContent> {
    let turn = |at: usize| {
        let question = format!("question {at}: {}", "what of it, and why? ".repeat(20));
        [user(&question), answer(&"because it was always like this. ".repeat(25))]
    };
    (0..320).flat_map(turn).collect()
}

fn background_prompt() -> EntryContent {
    let preface = "[background] nobody reads this but you. report what matters, or say nothing.".to_owned();
    EntryContent::User(UserInput { preface, text: "is there mail?".to_owned(), images: Vec::new() })
}

fn print_share(label: &str, share: f64) {
    let mut out = std::io::stdout();
    writeln!(out, "cached share of {label}: {share:.2} %").unwrap();
}

#[tokio::test]
async fn almost_all_of_a_long_conversation_is_read_from_the_cache_while_the_model_thinks() {
    let mut talk = Conversation::start(long_conversation()).await;
    assert_eq!(talk.cached_percent(Branch::Main, user("so?")).await, 0.0);
    assert!(talk.tokens() > 100_000, "{}", talk.tokens());
    let mut turns = Vec::new();
    for at in 0..5 {
        turns.push(talk.cached_percent(Branch::Main, user(&format!("and {at}?"))).await);
    }
    let main = turns.into_iter().fold(100.0, f64::min);
    let fork = talk.cached_percent(Branch::fork("aside").unwrap(), user("what if not?")).await;
    let aside = talk.cached_percent(Branch::fork("mail").unwrap(), background_prompt()).await;
    let requests = talk.server.requests();
    assert!(requests.iter().all(|request| request.json["thinking"]["type"] == "adaptive"));
    assert_eq!(thinking_blocks(&requests.last().unwrap().json), 6, "earlier thinking is sent back");
    assert_eq!(talk.server.refused_requests().len(), 0);
    talk.said = vec![Arc::new(EntryContent::Summary("we spoke of reasons. ".repeat(200)))];
    let compacted = talk.cached_percent(Branch::Main, user("where were we?")).await;
    for (what, share) in [("a main turn", main), ("a fork", fork), ("a background fork", aside)] {
        print_share(what, share);
        assert!(share >= 98.0, "{what}: {share}");
    }
    print_share("a compaction", compacted);
    assert!(compacted < 10.0, "only the tools and the instructions are the same: {compacted}");
}
