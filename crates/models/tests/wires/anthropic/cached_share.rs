//! How much of a long conversation is read from the cache, counted by the server. `cargo xtask bench` reads it.

use std::io::Write;
use std::sync::Arc;

use domain::context::Context;
use domain::conversation::{Branch, Heard, Said};
use models::anthropic::Anthropic;
use testkit::model_server::ModelServer;

use super::stage::{answer, ask, context, human, model};

/// A conversation that grows, and who is asked about it.
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

    /// The share of the input, in percent, that is read from the cache when `words` are said on `branch`.
    async fn share(&mut self, branch: Branch, words: Said) -> f64 {
        let mut said = self.said.clone();
        said.push(Arc::new(words));
        let asked = Context { branch, said, ..context(Vec::new()) };
        ask(&self.model, &asked).await.1.unwrap();
        if asked.branch == Branch::Main {
            self.said = asked.said;
            self.said.push(Arc::new(answer(&"because it is so. ".repeat(20))));
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
async fn almost_all_of_a_long_conversation_is_read_from_the_cache() {
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
    talk.said = vec![Arc::new(Said::Summary("we spoke of reasons. ".repeat(200)))];
    let compacted = talk.share(Branch::Main, human("where were we?")).await;
    for (what, share) in [("a main turn", main), ("a fork", fork), ("a background fork", aside)] {
        tell(what, share);
        assert!(share >= 98.0, "{what}: {share}");
    }
    tell("a compaction", compacted);
    assert!(compacted < 10.0, "only the tools and the instructions are the same: {compacted}");
}
