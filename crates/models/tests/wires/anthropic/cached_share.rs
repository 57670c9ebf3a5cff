//! Measures the share of a long conversation that is read from the cache, with thinking on, as
//! counted by the strict server. `cargo xtask bench` reads the output.

use std::io::Write;
use std::sync::Arc;

use domain::context::Context;
use domain::conversation::{Block, Branch, Heard, Reach, Said};
use domain::effort::Effort;
use domain::thinking::Thinking;
use models::anthropic::Anthropic;
use serde_json::Value;
use testkit::model_server::{Act, ModelServer};

use super::stage::{answer, ask, context, human, model};

/// A model that always thinks, and whose thinking blocks are bound to everything before them.
const MODEL: &str = "claude-sonnet-5-5";

/// A growing conversation and its model.
struct Talk {
    server: ModelServer,
    model: Anthropic,
    said: Vec<Arc<Said>>,
}

impl Talk {
    async fn begin(said: Vec<Said>) -> Self {
        let server = ModelServer::start().await.unwrap();
        let model = model(&server.url());
        Self { server, model, said: said.into_iter().map(Arc::new).collect() }
    }

    /// Returns the share of the input, in percent, that is read from the cache when `message` is
    /// sent on `branch`.
    async fn share(&mut self, branch: Branch, words: Said) -> f64 {
        let mut said = self.said.clone();
        said.push(Arc::new(words));
        let asked = Context {
            // Only the background run is not interactive.
            interactive: branch != Branch::fork("mail").unwrap(),
            branch,
            model: Some(MODEL.to_owned()),
            thinking: Thinking::Adaptive,
            effort: Effort::Medium,
            said,
            ..context(Vec::new())
        };
        let thinks = Act::empty().and_signed_thinking(&"let me think. ".repeat(20));
        self.server.script([thinks.and_says(&"because it is so. ".repeat(20))]);
        let reply = ask(&self.model, &asked).await.1.unwrap();
        assert!(matches!(reply.blocks[..], [Block::Opaque(_), Block::Text(_)]), "it thinks: {reply:?}");
        if asked.branch == Branch::Main {
            self.said = asked.said;
            self.said.push(Arc::new(Said::Assistant(reply.blocks, Reach::Whole)));
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

fn long_conversation() -> Vec<Said> {
    let turn = |at: usize| {
        let question = format!("question {at}: {}", "what of it, and why? ".repeat(20));
        [human(&question), answer(&"because it was always like this. ".repeat(25))]
    };
    (0..320).flat_map(turn).collect()
}

fn background() -> Said {
    let preface = "[background] nobody reads this but you. report what matters, or say nothing.".to_owned();
    Said::Human(Heard { preface, text: "is there mail?".to_owned(), images: Vec::new() })
}

fn tell(what: &str, share: f64) {
    let mut out = std::io::stdout();
    writeln!(out, "cached share of {what}: {share:.2} %").unwrap();
}

#[tokio::test]
async fn almost_all_of_a_long_conversation_is_read_from_the_cache_while_the_model_thinks() {
    let mut talk = Talk::begin(long_conversation()).await;
    assert_eq!(talk.share(Branch::Main, human("so?")).await, 0.0);
    assert!(talk.tokens() > 100_000, "{}", talk.tokens());
    let mut turns = Vec::new();
    for at in 0..5 {
        turns.push(talk.share(Branch::Main, human(&format!("and {at}?"))).await);
    }
    let main = turns.into_iter().fold(100.0, f64::min);
    let fork = talk.share(Branch::fork("aside").unwrap(), human("what if not?")).await;
    let aside = talk.share(Branch::fork("mail").unwrap(), background()).await;
    let requests = talk.server.requests();
    assert!(requests.iter().all(|request| request.json["thinking"]["type"] == "adaptive"));
    assert_eq!(thinking_blocks(&requests.last().unwrap().json), 6, "earlier thinking is sent back");
    assert_eq!(talk.server.refused().len(), 0);
    talk.said = vec![Arc::new(Said::Summary("we spoke of reasons. ".repeat(200)))];
    let compacted = talk.share(Branch::Main, human("where were we?")).await;
    for (what, share) in [("a main turn", main), ("a fork", fork), ("a background fork", aside)] {
        tell(what, share);
        assert!(share >= 98.0, "{what}: {share}");
    }
    tell("a compaction", compacted);
    assert!(compacted < 10.0, "only the tools and the instructions are the same: {compacted}");
}
