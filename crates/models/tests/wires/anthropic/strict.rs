//! Our client against the rules of the vendor's models, and the rules of the fake server
//! themselves.

use std::sync::{Arc, Mutex};

use domain::context::{Context, SystemNote};
use domain::conversation::{Block, Branch, Completeness, EntryContent};
use domain::effort::Effort;
use domain::failure::Failure;
use domain::tool::Outcome;
use engine::ports::Model;
use jiff::Timestamp;
use models::anthropic::{Anthropic, CapabilityStore, Settings};
use serde_json::{Value, json};
use testkit::model_server::catalog::{Lifecycle, MODELS};
use testkit::model_server::{Gate, Host, MessagesRequest, ModelServer, Options, ScriptedReply};

use super::support::{answer, call_model, context, model, result, settings, user};

fn turn_context(id: &str, way: &str, said: Vec<EntryContent>) -> Context {
    let thinking = way.parse().unwrap();
    Context { model: Some(id.to_owned()), thinking, effort: Effort::for_thinking(thinking), ..context(said) }
}

/// Replies: thinking with a note and a tool call, an answer, and two more answers.
fn replies() -> [ScriptedReply; 4] {
    let first = ScriptedReply::empty().with_signed_thinking("hm").with_note("Looking.");
    [
        first.with_tool_call("note", &json!({"text": "a"})),
        ScriptedReply::empty().with_signed_thinking("so").with_text("Noted."),
        ScriptedReply::text("Yes."),
        ScriptedReply::text("so."),
    ]
}

/// Runs a conversation with one tool call and a second question; its last request has other
/// instructions.
async fn run_conversation(server: &ModelServer, id: &str, way: &str) {
    let client = model(&server.url());
    server.script(replies());
    let mut said = vec![user("note it")];
    let first = call_model(&client, &turn_context(id, way, said.clone())).await.1.unwrap();
    let call = domain::conversation::tool_calls(&first.blocks).next().unwrap().id.clone();
    said.push(EntryContent::Assistant(first.blocks, Completeness::Complete));
    said.push(EntryContent::Tools(vec![result(&call, "kept", Outcome::Done)]));
    let second = call_model(&client, &turn_context(id, way, said.clone())).await.1.unwrap();
    said.push(EntryContent::Assistant(second.blocks, Completeness::Complete));
    said.push(user("sure?"));
    let renamed =
        Context { instructions: Arc::from("You are another friend."), ..turn_context(id, way, said) };
    call_model(&client, &renamed).await.1.unwrap();
    // The next reply is interrupted and continued.
    call_model(&client, &renamed.with_transient(&domain::context::continuation_prompt("It is")))
        .await
        .1
        .unwrap();
}

#[tokio::test]
async fn every_model_accepts_our_requests() {
    for spec in MODELS.iter().filter(|spec| spec.lifecycle != Lifecycle::Retired) {
        for way in ["auto", "off", "adaptive", "2048", "64000"] {
            let server = ModelServer::start().await.unwrap();
            run_conversation(&server, spec.id, way).await;
            let refused: Vec<_> =
                server.refused_requests().into_iter().map(|logged| logged.refusal).collect();
            // `between_tools` does not support `drop_block`, so the change of the instructions is
            // refused once.
            let expected = usize::from(spec.between_tools && way == "off");
            assert_eq!(refused.len(), expected, "{} {way}: {refused:?}", spec.id);
            assert_eq!(server.requests().len(), 4 + expected, "{} {way}", spec.id);
        }
    }
}

/// A request without `drop_block` is refused when the start of the conversation has changed.
/// Refused thinking is left out of later turns, which may read the conversation again from the
/// journal, and of forks; newer thinking is sent.
#[tokio::test]
async fn refused_thinking_is_not_sent_again() {
    let server = ModelServer::start().await.unwrap();
    let client = model(&server.url());
    server.script([ScriptedReply::empty().with_note("One.").with_tool_call("note", &json!({}))]);
    let mut said = vec![user("note it")];
    let first = call_model(&client, &turn_context("claude-sonnet-5-5", "off", said.clone())).await.1.unwrap();
    let call = domain::conversation::tool_calls(&first.blocks).next().unwrap().id.clone();
    said.push(EntryContent::Assistant(first.blocks, Completeness::Complete));
    said.push(EntryContent::Tools(vec![result(&call, "kept", Outcome::Done)]));
    let renamed = |said: &[EntryContent]| Context {
        instructions: Arc::from("You are another friend."),
        ..turn_context("claude-sonnet-5-5", "off", said.to_vec())
    };
    for at in 0..3 {
        server.script([ScriptedReply::empty()
            .with_note("Later.")
            .with_tool_call("note", &json!({ "at": at }))]);
        let reply = call_model(&client, &renamed(&said)).await.1.unwrap();
        let call = domain::conversation::tool_calls(&reply.blocks).next().unwrap().id.clone();
        said.push(EntryContent::Assistant(reply.blocks, Completeness::Complete));
        said.push(EntryContent::Tools(vec![result(&call, "kept", Outcome::Done)]));
    }
    assert_eq!(server.refused_requests().len(), 1, "{:?}", server.refused_requests());
    let last = server.requests().pop().unwrap().body;
    assert_eq!((last.contains("One."), last.matches("Later.").count()), (false, 2), "{last}");
    said.push(user("[fork] look"));
    let aside = Context { branch: Branch::fork("aside").unwrap(), ..renamed(&said) };
    call_model(&client, &aside).await.1.unwrap();
    assert_eq!(server.refused_requests().len(), 1, "a side conversation: {:?}", server.refused_requests());
}

/// The thinking of a reply that was assembled from two parts is lost. With a thinking budget, such
/// a reply cannot start a tool loop, so the loop continues without thinking.
#[tokio::test]
async fn tool_loop_with_lost_thinking_continues_without_a_budget() {
    for (id, way) in
        [("claude-haiku-4-5", "adaptive"), ("claude-sonnet-4-6", "2048"), ("claude-opus-4-5", "4096")]
    {
        let server = ModelServer::start().await.unwrap();
        let client = model(&server.url());
        let calls = |n: u32| {
            ScriptedReply::empty().with_signed_thinking("hm").with_tool_call("note", &json!({ "n": n }))
        };
        server.script([calls(1), calls(2), ScriptedReply::text("Noted."), ScriptedReply::text("Yes.")]);
        let mut said = vec![user("note it")];
        for _ in 0..2 {
            let mut blocks =
                call_model(&client, &turn_context(id, way, said.clone())).await.1.unwrap().blocks;
            blocks.retain(|block| !matches!(block, Block::Opaque(_)));
            let call = domain::conversation::tool_calls(&blocks).next().unwrap().id.clone();
            said.push(EntryContent::Assistant(blocks, Completeness::Complete));
            said.push(EntryContent::Tools(vec![result(&call, "kept", Outcome::Done)]));
        }
        let last = call_model(&client, &turn_context(id, way, said.clone())).await.1.unwrap();
        said.push(EntryContent::Assistant(last.blocks, Completeness::Complete));
        said.push(user("sure?"));
        call_model(&client, &turn_context(id, way, said)).await.1.unwrap();
        assert_eq!(server.refused_requests(), [], "{id}");
        let sent = |request: MessagesRequest| {
            request.json["thinking"]["type"].as_str().unwrap_or_default().to_owned()
        };
        let sent: Vec<_> = server.requests().into_iter().map(sent).collect();
        assert_eq!(sent, ["enabled", "disabled", "disabled", "enabled"], "{id}");
    }
}

#[tokio::test]
async fn other_host_is_asked_without_the_fields_that_it_refused() {
    let server =
        ModelServer::start_with(Options { host: Host::Foreign, ..Options::default() }).await.unwrap();
    let client = model(&server.url());
    let asked = turn_context("claude-sonnet-5-5", "auto", vec![user("hi")]);
    call_model(&client, &asked).await.1.unwrap();
    let refused = server.refused_requests().len();
    assert!(refused > 0);
    call_model(&client, &asked).await.1.unwrap();
    assert_eq!(server.refused_requests().len(), refused);
}

/// Users answer within an hour, so an interactive conversation is cached for that long; background
/// work is not.
#[tokio::test]
async fn conversation_is_cached_for_an_hour_and_background_work_for_five_minutes() {
    let server = ModelServer::start().await.unwrap();
    let client = model(&server.url());
    // Shorter prompts are not cached.
    let asked = turn_context("claude-sonnet-5-5", "auto", vec![user(&"why? ".repeat(1_000))]);
    let usage = call_model(&client, &asked).await.1.unwrap().usage;
    assert_eq!((usage.cache_write > 0, usage.cache_write_1h), (true, usage.cache_write));
    let alone =
        Context { interactive: false, entries: vec![Arc::new(user(&"mail? ".repeat(1_000)))], ..asked };
    let usage = call_model(&client, &alone).await.1.unwrap().usage;
    assert_eq!((usage.cache_write > 0, usage.cache_write_1h), (true, 0));
    let lives = |at: usize| server.requests()[at].body.contains(r#""ttl":"1h""#);
    assert_eq!((lives(0), lives(1)), (true, false));
    assert_eq!(server.refused_requests().len(), 0);
}

/// The user sees a model's abilities according to its record, without the refused ones.
#[tokio::test]
async fn abilities_are_learned_from_the_record_and_from_refusals() {
    let server = ModelServer::start().await.unwrap();
    server.change_model("claude-sonnet-5-5", |spec| {
        spec.effort = &["low", "high"];
        spec.window = 300_000;
    });
    let client =
        Anthropic::new(Settings { store: Some(Arc::new(MemoryStore::default())), ..settings(&server.url()) });
    let client = client.unwrap();
    assert_eq!(client.take_learned_abilities(), None);
    // The record is fetched concurrently with the reply, which waits for it here.
    let gate = Gate::new();
    server.script([ScriptedReply::text("Hi.").waiting_at_start(&gate)]);
    let asked = turn_context("claude-sonnet-5-5", "auto", vec![user("hi")]);
    let (_, ()) = tokio::join!(call_model(&client, &asked), async {
        while client.capabilities("claude-sonnet-5-5").window != 300_000 {
            tokio::task::yield_now().await;
        }
        gate.release();
    });
    let learned = client.take_learned_abilities().unwrap().remove("claude-sonnet-5-5").unwrap();
    assert_eq!((learned.context_window, learned.efforts), (Some(300_000), vec![Effort::Low, Effort::High]));
    assert_eq!(client.take_learned_abilities(), None, "nothing new");

    server.script([ScriptedReply::refusal(
        400,
        "invalid_request_error",
        "output_config.effort 'low' is not supported",
    )]);
    call_model(&client, &asked).await.1.unwrap();
    let learned = client.take_learned_abilities().unwrap().remove("claude-sonnet-5-5").unwrap();
    assert_eq!(learned.efforts, [Effort::High]);
}

/// The record of a model contains its retirement date. The user is notified once a day, with
/// advice.
#[tokio::test]
async fn retirement_of_a_model_is_announced_with_its_date() {
    let server = ModelServer::start().await.unwrap();
    let store = Some(Arc::new(MemoryStore::default()) as Arc<dyn CapabilityStore>);
    let client = Anthropic::new(Settings { store, ..settings(&server.url()) }).unwrap();
    let gate = Gate::new();
    server.script([ScriptedReply::text("Hi.").waiting_at_start(&gate)]);
    let asked = turn_context("claude-sonnet-4-5", "auto", vec![user("hi")]);
    let ((_, reply), told) = tokio::join!(call_model(&client, &asked), async {
        let told = loop {
            match client.take_notice() {
                Some(told) => break told,
                None => tokio::task::yield_now().await,
            }
        };
        gate.release();
        told
    });
    reply.unwrap();
    assert_eq!(
        told,
        "The vendor retires claude-sonnet-4-5 on 2026-11-30. Choose another model with `/model` before that."
    );
    call_model(&client, &asked).await.1.unwrap();
    assert_eq!(client.take_notice(), None);
}

/// Stores records in memory.
#[derive(Debug, Default)]
struct MemoryStore(Mutex<Option<String>>);

impl CapabilityStore for MemoryStore {
    fn load(&self) -> Option<String> {
        self.0.lock().unwrap().clone()
    }

    fn save(&self, text: &str) {
        *self.0.lock().unwrap() = Some(text.to_owned());
    }

    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// A change of the instructions is a system message where the model accepts one, else user text.
#[tokio::test]
async fn note_is_a_system_message_on_models_that_accept_one() {
    let server = ModelServer::start().await.unwrap();
    let client = model(&server.url());
    for (id, role) in [
        ("claude-sonnet-5-5", "system"),
        ("claude-haiku-5-5", "system"),
        ("claude-opus-4-8", "system"),
        ("claude-sonnet-5", "user"),
        ("claude-haiku-4-5", "user"),
    ] {
        let mut asked = turn_context(id, "auto", vec![user("hi"), answer("hello"), user("who am i?")]);
        asked.notes.push(SystemNote { after: 2, text: Arc::from("The user is Bea.") });
        call_model(&client, &asked).await.1.unwrap();
        let messages = server.requests().pop().unwrap().json["messages"].clone();
        let last = &messages.as_array().unwrap().last().unwrap();
        assert_eq!(last["role"], role, "{id}: {messages}");
        assert!(last["content"].to_string().contains("The user is Bea."), "{id}: {messages}");
    }
    assert_eq!(server.refused_requests(), []);
}

/// A conversation that started at the vendor continues at another host, with a note in the middle.
#[tokio::test]
async fn note_in_a_long_conversation_is_rewritten_for_a_host_without_system_messages() {
    let server =
        ModelServer::start_with(Options { host: Host::Foreign, ..Options::default() }).await.unwrap();
    let client = model(&server.url());
    let mut said = Vec::new();
    for _ in 0..6 {
        said.extend([user("hi"), answer("hello")]);
    }
    said.push(user("still there?"));
    let mut asked = turn_context("claude-sonnet-5-5", "auto", said);
    asked.notes.push(SystemNote { after: 2, text: Arc::from("The user is Bea.") });
    call_model(&client, &asked).await.1.unwrap();
    assert_eq!(
        server.refused_requests().iter().filter(|logged| is_about_roles(logged.refusal.as_deref())).count(),
        1
    );
}

fn is_about_roles(refusal: Option<&str>) -> bool {
    refusal.is_some_and(|text| text.contains("role"))
}

#[tokio::test]
async fn retired_model_and_model_without_access_are_named() {
    let server = ModelServer::start().await.unwrap();
    server.retire_model("claude-sonnet-5");
    server.deny_access("claude-fable-5-2");
    for id in ["claude-sonnet-5", "claude-fable-5-2", "claude-opus-4-1", "claude-sonnet-9"] {
        let failure = call_model(&model(&server.url()), &turn_context(id, "auto", vec![user("hi")]))
            .await
            .1
            .unwrap_err();
        assert!(matches!(&failure, Failure::NoSuchModel { model, .. } if model == id), "{failure:?}");
    }
}

async fn refusal_of(change: Value, betas: &str) -> Option<String> {
    wire::install_crypto_provider();
    let server = ModelServer::start().await.unwrap();
    let mut body = json!({
        "model": "claude-sonnet-5-5",
        "max_tokens": 1000,
        "messages": [{"role": "user", "content": "hi"}],
    });
    for (field, value) in change.as_object().unwrap() {
        body[field] = value.clone();
    }
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = client.post(format!("{}/v1/messages", server.url()));
    if !betas.is_empty() {
        request = request.header("anthropic-beta", betas);
    }
    request.header("anthropic-version", "2023-06-01").json(&body).send().await.unwrap();
    server.refused_requests().pop().and_then(|logged| logged.refusal)
}

/// The texts are the vendor's.
#[tokio::test]
async fn server_refuses_invalid_requests_with_the_vendors_texts() {
    let check = async |change: Value, expected: &str| {
        let refused = refusal_of(change.clone(), "").await.unwrap_or_default();
        assert!(refused.contains(expected), "{change}\n  expected: {expected}\n  got: {refused}");
    };
    let opus = |thinking: Value| json!({"model": "claude-opus-5-5", "thinking": thinking});
    let effort = |model: &str, thinking: &str| json!({"model": model, "thinking": {"type": thinking}, "output_config": {"effort": "xhigh"}});
    check(json!({"thinking": {"type": "disabled"}}), "To turn thinking off on this model, send \"thinking\": {\"type\": \"between_tools\"} instead of {\"type\": \"disabled\"}.").await;
    check(opus(json!({"type": "disabled"})), "\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.").await;
    check(
        opus(json!({"type": "enabled", "budget_tokens": 1024})),
        "\"thinking.type.enabled\" is not supported for this model.",
    )
    .await;
    check(
        opus(json!({"type": "between_tools"})),
        "\"thinking.type.between_tools\" is not supported for this model.",
    )
    .await;
    check(
        json!({"thinking": {"type": "between_tools", "display": "omitted"}}),
        "thinking.between_tools.display: Extra inputs are not permitted",
    )
    .await;
    check(
        json!({"thinking": {"type": "adaptive", "block_binding": {}}}),
        "thinking.adaptive.block_binding: Extra inputs are not permitted",
    )
    .await;
    check(effort("claude-opus-5", "disabled"), "output_config.effort 'xhigh' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.").await;
    check(effort("claude-sonnet-5-5", "between_tools"), "output_config.effort 'xhigh' is not supported")
        .await;
    check(json!({"effort": "low"}), "effort: Extra inputs are not permitted").await;
    check(
        json!({"tool_choice": {"type": "any"}}),
        "tool_choice: type \"tool\" and \"any\" are not supported for this model.",
    )
    .await;
    check(json!({"model": "claude-sonnet-5", "messages": [{"role": "user", "content": "hi"}, {"role": "system", "content": "x"}]}), "role 'system' is not supported on this model").await;
    check(json!({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}]}), "This model does not support assistant message prefill. The conversation must end with a user message.").await;
    check(json!({"temperature": 0.2}), "`temperature` is deprecated for this model.").await;
    check(json!({"max_tokens": 128_001}), "max_tokens: 128001 > 128000").await;
    check(
        json!({"model": "claude-haiku-4-5", "thinking": {"type": "adaptive"}}),
        "adaptive thinking is not supported on this model",
    )
    .await;
    check(json!({"model": "claude-haiku-4-5", "output_config": {"effort": "low"}}), "effort").await;
    let question = json!({"role": "user", "content": "hi"});
    let call =
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "n", "input": {}}]});
    let results =
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]});
    let thinking = json!({"type": "enabled", "budget_tokens": 2048});
    check(
        json!({"model": "claude-haiku-4-5", "max_tokens": 9000, "thinking": thinking, "messages": [question, call, results]}),
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block",
    )
    .await;
    check(json!({"model": "claude-opus-4-1"}), "model: claude-opus-4-1").await;
    let mark =
        |ttl: &str| json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": ttl}});
    check(json!({"system": [mark("5m"), mark("1h")]}), "system.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block").await;
    check(
        json!({"system": vec![mark("5m"); 5]}),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    )
    .await;
    let thinking = json!({"type": "thinking", "thinking": "", "signature": "made up"});
    check(json!({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [thinking]}, {"role": "user", "content": "x"}]}), "messages.1.content.0: Invalid `signature` in `thinking` block").await;

    let unknown = refusal_of(json!({}), "thinking-binding-controls-2026-08-01, x").await;
    assert_eq!(unknown.as_deref(), Some("Unexpected value(s) `x` for the `anthropic-beta` header."));
    assert_eq!(refusal_of(json!({"thinking": {"type": "between_tools"}}), "").await, None);
}
