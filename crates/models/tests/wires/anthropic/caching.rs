//! Earlier input is read from the cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::context::Context;
use domain::conversation::{Block, Branch, Reach, Said, Usage};
use domain::effort::Effort;
use domain::thinking::Thinking;
use domain::tool::Outcome;
use testkit::model_server::{ModelServer, Options};

use super::stage::{answer, ask, call, context, human, model, result};

fn long_conversation() -> Vec<Said> {
    let turn = |at: usize| {
        [human(&format!("question {at} {}", "why? ".repeat(40))), answer(&"because. ".repeat(60))]
    };
    (0..30).flat_map(turn).chain([human("so?")]).collect()
}

fn and(mut said: Vec<Said>, more: impl IntoIterator<Item = Said>) -> Context {
    said.extend(more);
    context(said)
}

async fn charged(server: &ModelServer, context: &Context) -> Usage {
    ask(&model(&server.url()), context).await.1.unwrap().usage
}

fn share(usage: Usage) -> f64 {
    let all = usage.input + usage.cache_read + usage.cache_write;
    f64::from(u32::try_from(usage.cache_read).unwrap()) / f64::from(u32::try_from(all).unwrap())
}

#[tokio::test]
async fn the_next_request_of_a_branch_and_of_its_fork_is_mostly_read_from_the_cache() {
    let server = ModelServer::start().await.unwrap();
    let first = charged(&server, &context(long_conversation())).await;
    assert_eq!((first.input, first.cache_read), (0, 0));
    let next = charged(&server, &and(long_conversation(), [answer("So."), human("and now?")])).await;
    assert!(share(next) > 0.9, "{next:?}");
    let fork = charged(&server, &and(long_conversation(), [answer("So."), human("[fork] look")])).await;
    assert!(share(fork) > 0.9, "{fork:?}");
    let early = charged(&server, &and(long_conversation().drain(..31).collect(), [])).await;
    assert!(share(early) < 0.1, "another way through the tree shares only its instructions: {early:?}");
}

/// The vendor looks back only a few blocks, and one step of a turn may add more.
#[tokio::test]
async fn many_calls_in_one_step_do_not_lose_the_cache() {
    let server = ModelServer::start().await.unwrap();
    charged(&server, &context(long_conversation())).await;
    let names: Vec<String> = (0..40).map(|at| format!("call_{at}")).collect();
    let calls: Vec<Block> = names.iter().map(|name| call(name, "{}")).collect();
    let results = names.iter().map(|name| result(name, "ok", Outcome::Done)).collect();
    let step = [Said::Assistant(calls, Reach::Whole), Said::Tools(results)];
    let next = charged(&server, &and(long_conversation(), step)).await;
    assert!(share(next) > 0.6, "{next:?}");
}

#[tokio::test]
async fn the_cache_forgets_after_five_minutes_without_use() {
    let seconds = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&seconds);
    let elapsed = Arc::new(move || Duration::from_secs(clock.load(Ordering::Relaxed)));
    let server = ModelServer::start_with(Options { elapsed, ..Options::default() }).await.unwrap();
    let mut reads = Vec::new();
    for now in [0, 200, 400, 701] {
        seconds.store(now, Ordering::Relaxed);
        reads.push(charged(&server, &context(long_conversation())).await.cache_read > 0);
    }
    assert_eq!(reads, [false, true, true, false]);
}

/// IF-4: why a fork uses main's thinking mode by default.
#[tokio::test]
async fn a_fork_that_thinks_as_main_does_reads_what_was_said_from_the_cache() {
    let server = ModelServer::start().await.unwrap();
    let model = Some("claude-sonnet-5-5".to_owned());
    charged(&server, &Context { model: model.clone(), ..context(long_conversation()) }).await;
    let aside = |way: Thinking| Context {
        branch: Branch::fork("aside").unwrap(),
        model: model.clone(),
        thinking: way,
        effort: Effort::for_thinking(way),
        ..and(long_conversation(), [answer("So."), human("what if not?")])
    };
    assert!(share(charged(&server, &aside(Thinking::Off)).await) > 0.98);
    assert!(share(charged(&server, &aside(Thinking::Adaptive)).await) < 0.05);
}
