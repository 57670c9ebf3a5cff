//! Reasoning that is sent back to the server and model that wrote it, and request shapes learned
//! from refusals.

use std::sync::Arc;

use domain::context::{Context, Pictures, Reduction};
use domain::conversation::{Block, Completeness, EntryContent, Image, Usage, UserInput};
use domain::effort::Effort;
use domain::failure::Failure;
use domain::tool::Outcome;
use domain::turn::{ModelReply, StopReason};
use engine::ports::Model;
use models::openai::OpenAi;
use serde_json::{Value, json};
use testkit::chat_server::{Api, ChatServer, Style};
use testkit::scripted_replies::ScriptedReply;

use super::support::{answer, call_model, calls, context, model, result, user};

fn tool_results(reply: &ModelReply) -> EntryContent {
    EntryContent::Tools(calls(reply).iter().map(|call| result(&call.id, "done", Outcome::Done)).collect())
}

/// A tool loop of two steps. Returns the conversation.
async fn run_tool_loop(server: &ChatServer, model: &OpenAi) -> Vec<EntryContent> {
    let note = |n: u32| ScriptedReply::tool_call("note", &json!({ "text": n.to_string() }));
    server.script([
        note(1),
        note(2).with_tool_call("note", &json!({"text": "3"})),
        ScriptedReply::text("Noted."),
    ]);
    let mut said = vec![user("note it")];
    for step in 0..2 {
        let reply = call_model(model, &context(said.clone()))
            .await
            .1
            .unwrap_or_else(|why| panic!("step {step}: {why}"));
        assert_eq!(reply.stop_reason, StopReason::Tools, "step {step}");
        let results = tool_results(&reply);
        said.extend([EntryContent::Assistant(reply.blocks, Completeness::Complete), results]);
    }
    let (heard, reply) = call_model(model, &context(said.clone())).await;
    assert_eq!(heard, "Noted.");
    said.push(EntryContent::Assistant(reply.unwrap().blocks, Completeness::Complete));
    said
}

/// The servers with their own reasoning fields in chat completions.
const REASONING_STYLES: [Style; 4] = [Style::DeepSeek, Style::Gemini, Style::OpenRouter, Style::Vllm];

/// These servers refuse the second step of a tool loop without their own reasoning fields, and DeepSeek also the next
/// message after it.
#[tokio::test]
async fn tool_loop_of_two_steps_works_with_every_reasoning_style() {
    for style in REASONING_STYLES {
        let server = ChatServer::start(style).await.unwrap();
        let model = model(&server.url());
        let said = run_tool_loop(&server, &model).await;
        let next = context(said.into_iter().chain([user("and?")]).collect());
        assert_eq!(call_model(&model, &next).await.0, "you said: and?", "{style:?}");
        let requests = server.requests();
        assert_eq!(requests.len(), 4, "{style:?}: no request was refused");
        let replayed = &requests[2].json["messages"][4];
        let kept = if style == Style::DeepSeek {
            &replayed["reasoning_content"]
        } else if style == Style::Gemini {
            &replayed["tool_calls"][0]["extra_content"]
        } else if style == Style::Vllm {
            &replayed["reasoning"]
        } else {
            &replayed["reasoning_details"]
        };
        assert!(!kept.is_null(), "{style:?}: {replayed}");
    }
}

/// The server refuses the image in the middle of a tool loop. The request is repeated without the
/// image, and still contains the reasoning that the server requires.
#[tokio::test]
async fn tool_loop_continues_without_its_image() {
    for style in [Style::DeepSeek, Style::Gemini, Style::OpenRouter] {
        let server = ChatServer::start(style).await.unwrap();
        let model = model(&server.url());
        server
            .script([ScriptedReply::tool_call("note", &json!({"text": "a"})), ScriptedReply::text("Noted.")]);
        let image = Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
        let look = UserInput { preface: String::new(), text: "note this".to_owned(), images: vec![image] };
        let mut asked = context(vec![EntryContent::User(look)]);
        let reply = call_model(&model, &asked).await.1.unwrap();
        let results = tool_results(&reply);
        asked
            .entries
            .extend([EntryContent::Assistant(reply.blocks, Completeness::Complete), results].map(Arc::new));
        let blind = Reduction { pictures: Pictures::LeftOut, level: 0 };
        let asked = Context { entries: blind.apply(&asked.entries).unwrap(), ..asked };
        let (heard, reply) = call_model(&model, &asked).await;
        reply.unwrap_or_else(|why| panic!("{style:?}: {why}"));
        assert_eq!(heard, "Noted.", "{style:?}");
        assert!(!server.requests()[1].body.contains("image_url"), "{style:?}");
    }
}

/// Reasoning of one model, server or API is not sent to another.
#[tokio::test]
async fn reasoning_is_sent_to_no_other_server_or_model() {
    let first = ChatServer::start(Style::DeepSeek).await.unwrap();
    let said = run_tool_loop(&first, &model(&first.url())).await;
    let second = ChatServer::start(Style::OpenAi).await.unwrap();
    let next = context(said.into_iter().chain([user("and?")]).collect());
    call_model(&model(&second.url()), &next).await.1.unwrap();
    assert!(!second.requests()[0].body.contains("Thoughts"), "another server");
    let other = Context { model: Some("other".to_owned()), ..next };
    call_model(&model(&first.url()), &other).await.1.unwrap();
    assert!(!first.requests().last().unwrap().body.contains("Thoughts"), "another model");
}

/// A tool loop with one model, one with another model of the same server, and back: each model gets its own reasoning
/// and none of the other's.
#[tokio::test]
async fn each_model_gets_only_its_own_reasoning() {
    for style in [Style::DeepSeek, Style::Gemini, Style::OpenRouter, Style::Vllm, Style::OpenAiCurrent] {
        let server = ChatServer::start(style).await.unwrap();
        let model = model(&server.url());
        let mut said = run_tool_loop(&server, &model).await;
        let first_reasoning = reasoning_in(style, &said);
        assert!(!first_reasoning.is_empty(), "{style:?}");
        said.push(user("note it too"));
        server.script([
            ScriptedReply::tool_call("note", &json!({"text": "4"})).with_thinking("Other thoughts.", "")
        ]);
        let other =
            |said: &[EntryContent]| Context { model: Some("other".to_owned()), ..context(said.to_vec()) };
        let reply =
            call_model(&model, &other(&said)).await.1.unwrap_or_else(|why| panic!("{style:?}: {why}"));
        let sent = server.requests().last().unwrap().body.clone();
        for reasoning in &first_reasoning {
            assert!(!sent.contains(reasoning.as_str()), "{style:?}: {reasoning} in {sent}");
        }
        let results = tool_results(&reply);
        said.extend([EntryContent::Assistant(reply.blocks, Completeness::Complete), results]);
        let reply =
            call_model(&model, &other(&said)).await.1.unwrap_or_else(|why| panic!("{style:?}: {why}"));
        said.extend([EntryContent::Assistant(reply.blocks, Completeness::Complete), user("and?")]);
        call_model(&model, &context(said)).await.1.unwrap_or_else(|why| panic!("{style:?}: {why}"));
        let sent = server.requests().last().unwrap().body.clone();
        assert!(!sent.contains("Other thoughts"), "{style:?}: {sent}");
        for reasoning in &first_reasoning {
            assert!(sent.contains(reasoning.as_str()), "{style:?}: {reasoning} in {sent}");
        }
    }
}

/// Returns the reasoning that servers of this style wrote for the tool calls in `said`.
fn reasoning_in(style: Style, said: &[EntryContent]) -> Vec<String> {
    let blocks = said
        .iter()
        .flat_map(|said| if let EntryContent::Assistant(blocks, _) = said { &blocks[..] } else { &[] });
    let calls = blocks.filter_map(|block| if let Block::Call(call) = block { Some(&call.id) } else { None });
    if style == Style::Gemini {
        return calls.take(1).map(|id| format!("signed-{id}")).collect();
    }
    if style == Style::OpenAiCurrent {
        return (1..=2).map(|step| format!("sealed-test-1-{}-0", step + 1)).collect();
    }
    (1..=2).map(|step| format!("Thoughts of answer {step}.")).collect()
}

/// vLLM named the field `reasoning_content` before `reasoning`. It is sent back under its original
/// name.
#[tokio::test]
async fn reasoning_is_sent_back_under_its_original_field_name() {
    let server = ChatServer::start(Style::LlamaCpp).await.unwrap();
    let model = model(&server.url());
    server.script([
        ScriptedReply::tool_call("note", &json!({"text": "1"})).with_thinking("Hm.", ""),
        ScriptedReply::text("Noted."),
    ]);
    let said = vec![user("note it")];
    let reply = call_model(&model, &context(said.clone())).await.1.unwrap();
    let results = tool_results(&reply);
    let said = said
        .into_iter()
        .chain([EntryContent::Assistant(reply.blocks, Completeness::Complete), results])
        .collect();
    call_model(&model, &context(said)).await.1.unwrap();
    let replayed = &server.requests()[1].json["messages"][2];
    assert_eq!((&replayed["reasoning_content"], &replayed["reasoning"]), (&json!("Hm."), &Value::Null));
}

/// No server needs plain reasoning of a turn without tools, and it would fill a small context
/// window.
#[tokio::test]
async fn reasoning_of_a_turn_without_tools_is_not_sent_back() {
    let server = ChatServer::start(Style::Vllm).await.unwrap();
    let model = model(&server.url());
    let reply = call_model(&model, &context(vec![user("hi")])).await.1.unwrap();
    let said = vec![user("hi"), EntryContent::Assistant(reply.blocks, Completeness::Complete), user("and?")];
    call_model(&model, &context(said)).await.1.unwrap();
    assert!(!server.requests()[1].body.contains("Thoughts"), "{}", server.requests()[1].body);
}

/// A server without stored state cannot find an item by its id, so reasoning without its encrypted
/// content is not sent.
#[tokio::test]
async fn reasoning_without_encrypted_content_is_not_sent_back() {
    let server = ChatServer::start(Style::OpenAiCurrent).await.unwrap();
    let model = model(&server.url());
    let bare = json!({"type": "reasoning", "id": "rs_bare", "summary": []});
    let act = ScriptedReply::empty()
        .with_piece(testkit::scripted_replies::ReplyPiece::Raw(bare))
        .with_tool_call("note", &json!({"text": "1"}));
    server.script([ScriptedReply::text("Hello."), act, ScriptedReply::text("Noted.")]);
    let mut said = vec![user("hi")];
    call_model(&model, &context(said.clone())).await.1.unwrap();
    let refused_before = server.requests().len();
    let reply = call_model(&model, &context(said.clone())).await.1.unwrap();
    let results = tool_results(&reply);
    said.extend([EntryContent::Assistant(reply.blocks, Completeness::Complete), results]);
    assert_eq!(call_model(&model, &context(said)).await.0, "Noted.");
    assert_eq!(server.requests().len(), refused_before + 2, "no request was refused");
    assert!(!server.requests().last().unwrap().body.contains("rs_bare"));
}

/// A current OpenAI model: chat completions refuses tools, so the Responses API is used from then
/// on, and reasoning items are sent back unchanged.
#[tokio::test]
async fn tool_loop_replays_reasoning_in_the_responses_api() {
    let server = ChatServer::start(Style::OpenAiCurrent).await.unwrap();
    let model = model(&server.url());
    let said = run_tool_loop(&server, &model).await;
    assert_eq!(model.take_notice(), None, "the model can use tools");
    let paths: Vec<_> = server.requests().iter().map(|request| request.api).collect();
    assert_eq!(paths, [Api::Chat, Api::Responses, Api::Responses, Api::Responses]);
    let last = &server.requests()[3].json;
    let kinds: Vec<_> =
        last["input"].as_array().unwrap().iter().map(|item| item["type"].to_string()).collect();
    let step = ["\"reasoning\"", "\"function_call\""];
    assert_eq!(kinds[1..3], step);
    assert!(last["input"][1]["encrypted_content"].as_str().unwrap().starts_with("sealed-test-1"));
    assert_eq!((&last["store"], &last["include"]), (&json!(false), &json!(["reasoning.encrypted_content"])));
    let next: Vec<_> = said.into_iter().chain([user("and?")]).collect();
    assert_eq!(call_model(&model, &context(next.clone())).await.0, "you said: and?");
    let other = Context { model: Some("other".to_owned()), ..context(next) };
    call_model(&model, &other).await.1.unwrap();
    assert!(!server.requests().last().unwrap().body.contains("sealed"), "another model gets none of it");
}

/// A proxy forwards OpenAI's refusal of tools with reasoning, but has no Responses API. The model
/// keeps its tools and answers without reasoning, as the refusal suggests.
#[tokio::test]
async fn server_without_the_responses_api_is_called_without_reasoning() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let model = model(&server.url());
    let words = "Function tools with reasoning_effort are not supported for gpt-6-sol in /v1/chat/completions. To use \
        function tools, use /v1/responses or set reasoning_effort to 'none'.";
    let refusal = || ScriptedReply::refusal(400, "invalid_request_error", words);
    server.script([refusal(), refusal(), ScriptedReply::text("Hello.")]);
    let hi = context(vec![user("hi")]);
    assert_eq!(call_model(&model, &hi).await.0, "Hello.");
    assert_eq!(call_model(&model, &hi).await.0, "you said: hi");
    assert_eq!(model.take_notice(), None, "the model can use tools");
    let requests = server.requests();
    let efforts: Vec<&Value> = requests.iter().map(|request| &request.json["reasoning_effort"]).collect();
    assert_eq!(efforts, [&Value::Null, &json!("low"), &json!("none"), &json!("none")]);
    assert!(requests.iter().all(|request| !request.json["tools"].is_null()));
}

#[tokio::test]
async fn response_has_text_usage_and_effort() {
    let server = ChatServer::start(Style::OpenAiCurrent).await.unwrap();
    let model = model(&server.url());
    let usage = Usage { input: 5, cache_read: 7, cache_write: 0, cache_write_1h: 0, output: 3 };
    server.script([ScriptedReply::text("Hello there, friend.").with_usage(usage)]);
    let asked = Context { effort: Effort::Max, ..context(vec![user("hi"), answer("Hi."), user("so?")]) };
    let (heard, reply) = call_model(&model, &asked).await;
    let reply = reply.unwrap();
    assert_eq!(
        (heard.as_str(), reply.stop_reason, reply.usage),
        ("Hello there, friend.", StopReason::Finished, usage)
    );
    assert_eq!(reply.blocks.last(), Some(&Block::Text("Hello there, friend.".to_owned())));
    let requests = server.requests();
    let efforts: Vec<_> =
        requests[1..].iter().map(|request| request.json["reasoning"]["effort"].clone()).collect();
    assert_eq!(efforts, ["max", "xhigh"], "the highest supported effort is learned from the refusal");
}

#[tokio::test]
async fn truncated_refused_and_failed_responses_are_distinguished() {
    let server = ChatServer::start(Style::OpenAiCurrent).await.unwrap();
    let model = model(&server.url());
    let hi = context(vec![user("hi")]);
    let play = async |act: ScriptedReply| {
        server.script([act]);
        call_model(&model, &hi).await.1
    };
    let cut = play(ScriptedReply::text("so").with_stop_reason("max_output_tokens")).await.unwrap();
    assert_eq!(cut.stop_reason, StopReason::Length);
    let filtered = play(ScriptedReply::text("so").with_stop_reason("content_filter")).await.unwrap();
    assert!(matches!(filtered.stop_reason, StopReason::Refusal(_)), "{:?}", filtered.stop_reason);
    let part = json!({"type": "refusal", "refusal": "I can't help with that."});
    let message =
        json!({"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]});
    let declined =
        play(ScriptedReply::empty().with_piece(testkit::scripted_replies::ReplyPiece::Raw(message)))
            .await
            .unwrap();
    assert!(matches!(declined.stop_reason, StopReason::Refusal(_)), "{:?}", declined.stop_reason);
    let error = json!({"code": "rate_limit_exceeded", "message": "slow down"});
    let failed = json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    let failure =
        play(ScriptedReply::text("so").with_fault(testkit::scripted_replies::ReplyFault::Event(1, failed)))
            .await
            .unwrap_err();
    assert_eq!(failure, Failure::Overloaded(None));
    let refused =
        play(ScriptedReply::refusal(429, "insufficient_quota", "You exceeded your current quota.")).await;
    assert!(matches!(refused, Err(Failure::SpendLimit(_))), "{refused:?}");
}

/// A server whose Responses API can no longer read the reasoning gets the conversation without it.
#[tokio::test]
async fn unreadable_reasoning_is_omitted() {
    let first = ChatServer::start(Style::OpenAiCurrent).await.unwrap();
    let model = model(&first.url());
    let said = run_tool_loop(&first, &model).await;
    let mut said: Vec<EntryContent> = said.into_iter().chain([user("and?")]).collect();
    for entry in &mut said {
        let EntryContent::Assistant(blocks, _) = entry else { continue };
        for block in blocks {
            if let Block::Opaque(opaque) = block {
                opaque.json.0 = opaque.json.0.replace("sealed", "spoilt");
            }
        }
    }
    assert_eq!(call_model(&model, &context(said)).await.0, "you said: and?");
    assert!(!first.requests().last().unwrap().body.contains("spoilt"));
}

#[tokio::test]
async fn name_of_the_output_limit_is_learned_from_the_refusal() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let model = model(&server.url());
    let refusal = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' \
        instead.";
    server.script([
        ScriptedReply::refusal(400, "invalid_request_error", refusal),
        ScriptedReply::text("Hello."),
    ]);
    assert_eq!(call_model(&model, &context(vec![user("hi")])).await.0, "Hello.");
    call_model(&model, &context(vec![user("hi")])).await.1.unwrap();
    let limits: Vec<Value> =
        server.requests().iter().map(|request| request.json["max_completion_tokens"].clone()).collect();
    assert_eq!(limits, [Value::Null, json!(1024), json!(1024)]);
}

/// Ollama silently truncates a prompt that exceeds its window.
#[tokio::test]
async fn truncated_prompt_is_reported_once_with_advice() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let model = model(&server.url());
    let act = |input| {
        ScriptedReply::text("ok").with_usage(Usage {
            input,
            cache_read: 0,
            cache_write: 0,
            cache_write_1h: 0,
            output: 1,
        })
    };
    let long = context(vec![user(&"a few words. ".repeat(4000))]);
    server.script([act(13_000), act(4_096), act(4_096)]);
    call_model(&model, &long).await.1.unwrap();
    assert_eq!(model.take_notice(), None);
    call_model(&model, &long).await.1.unwrap();
    let notice = model.take_notice().unwrap();
    assert!(
        notice.contains("read only 4096 tokens") && notice.contains("OLLAMA_CONTEXT_LENGTH=64000"),
        "{notice}"
    );
    call_model(&model, &long).await.1.unwrap();
    assert_eq!(model.take_notice(), None);
}
