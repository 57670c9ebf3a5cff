//! Earlier input is read from the cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::context::Context;
use domain::conversation::{Block, Branch, Completeness, EntryContent, Usage};
use domain::effort::Effort;
use domain::thinking::Thinking;
use domain::tool::Outcome;
use testkit::model_server::{ModelServer, Options};

use super::support::{answer, call, call_model, context, model, result, user};

fn long_conversation() -> Vec<EntryContent> {
    let turn =
        |at: usize| [user(&format!("question {at} {}", "why? ".repeat(40))), answer(&"because. ".repeat(60))];
    (0..30).flat_map(turn).chain([user("so?")]).collect()
}

fn extended_context(mut said: Vec<EntryContent>, more: impl IntoIterator<Item = EntryContent>) -> Context {
    said.extend(more);
    context(said)
}

async fn usage_of(server: &ModelServer, context: &Context) -> Usage {
    call_model(&model(&server.url()), context).await.1.unwrap().usage
}

fn cached_share(usage: Usage) -> f64 {
    let all = usage.input + usage.cache_read + usage.cache_write;
    f64::from(u32::try_from(usage.cache_read).unwrap()) / f64::from(u32::try_from(all).unwrap())
}

#[tokio::test]
async fn next_request_of_a_branch_and_its_fork_is_mostly_cached() {
    let server = ModelServer::start().await.unwrap();
    let first = usage_of(&server, &context(long_conversation())).await;
    assert_eq!((first.input, first.cache_read), (0, 0));
    let next =
        usage_of(&server, &extended_context(long_conversation(), [answer("So."), user("and now?")])).await;
    assert!(cached_share(next) > 0.9, "{next:?}");
    let fork =
        usage_of(&server, &extended_context(long_conversation(), [answer("So."), user("[fork] look")])).await;
    assert!(cached_share(fork) > 0.9, "{fork:?}");
    let early = usage_of(&server, &extended_context(long_conversation().drain(..31).collect(), [])).await;
    assert!(
        cached_share(early) < 0.1,
        "another way through the tree shares only its instructions: {early:?}"
    );
}

/// The vendor looks back only a few blocks, and one step of a turn may add more.
#[tokio::test]
async fn many_calls_in_one_step_do_not_lose_the_cache() {
    let server = ModelServer::start().await.unwrap();
    usage_of(&server, &context(long_conversation())).await;
    let names: Vec<String> = (0..40).map(|at| format!("call_{at}")).collect();
    let calls: Vec<Block> = names.iter().map(|name| call(name, "{}")).collect();
    let results = names.iter().map(|name| result(name, "ok", Outcome::Done)).collect();
    let step = [EntryContent::Assistant(calls, Completeness::Complete), EntryContent::Tools(results)];
    let next = usage_of(&server, &extended_context(long_conversation(), step)).await;
    assert!(cached_share(next) > 0.6, "{next:?}");
}

#[tokio::test]
async fn cache_expires_after_five_minutes_without_use() {
    let seconds = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&seconds);
    let elapsed = Arc::new(move || Duration::from_secs(clock.load(Ordering::Relaxed)));
    let server = ModelServer::start_with(Options { elapsed, ..Options::default() }).await.unwrap();
    let mut reads = Vec::new();
    for now in [0, 200, 400, 701] {
        seconds.store(now, Ordering::Relaxed);
        reads.push(usage_of(&server, &context(long_conversation())).await.cache_read > 0);
    }
    assert_eq!(reads, [false, true, true, false]);
}

/// IF-4: why a fork uses main's thinking mode by default.
#[tokio::test]
async fn fork_with_mains_thinking_mode_reads_the_history_from_the_cache() {
    let server = ModelServer::start().await.unwrap();
    let model = Some("claude-sonnet-5-5".to_owned());
    usage_of(&server, &Context { model: model.clone(), ..context(long_conversation()) }).await;
    let aside = |way: Thinking| Context {
        branch: Branch::fork("aside").unwrap(),
        model: model.clone(),
        thinking: way,
        effort: Effort::for_thinking(way),
        ..extended_context(long_conversation(), [answer("So."), user("what if not?")])
    };
    assert!(cached_share(usage_of(&server, &aside(Thinking::Off)).await) > 0.98);
    assert!(cached_share(usage_of(&server, &aside(Thinking::Adaptive)).await) < 0.05);
}
