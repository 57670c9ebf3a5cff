//! Tool calls in every shape in which servers send them.

use std::collections::BTreeSet;

use domain::conversation::{Completeness, EntryContent};
use domain::tool::Outcome;
use domain::turn::{ModelReply, StopReason};
use serde_json::{Value, json};
use testkit::chat_server::{ChatServer, Style};
use testkit::scripted_replies::{ReplyPiece, ScriptedReply};

use super::support::{call, call_model, calls, context, model, reply_to, result, user};

/// Streams these lists of tool calls, one per chunk, and returns the parsed calls as text.
async fn parsed_calls(chunks: &[Value]) -> String {
    let deltas = chunks.iter().map(|calls| ReplyPiece::Raw(json!({ "tool_calls": calls })));
    let reply = reply_to(
        deltas.fold(ScriptedReply::empty(), ScriptedReply::with_piece).with_stop_reason("tool_calls"),
    )
    .await
    .1;
    let reply = reply.map_err(|failure| format!("{failure:?}"));
    reply.map_or_else(|failure| failure, |reply| calls_text(&reply))
}

fn calls_text(reply: &ModelReply) -> String {
    let one = |call: domain::tool::ToolCall| {
        let id = if call.id.len() == 9 { "minted" } else { call.id.as_str() };
        format!("{id}:{}{}", call.name, call.input.0)
    };
    calls(reply).into_iter().map(one).collect::<Vec<_>>().join(" ")
}

fn fragment(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}})
}

#[tokio::test]
async fn call_is_assembled_from_any_fragments() {
    let check = async |chunks: &[Value], expected: &str| assert_eq!(parsed_calls(chunks).await, expected);
    let more = |index: u64, text: &str| json!({"index": index, "function": {"arguments": text}});
    check(
        &[json!([fragment(0, "a", "note", "")]), json!([more(0, "{\"n\"")]), json!([more(0, ":1}")])],
        "a:note{\"n\":1}",
    )
    .await;
    check(&[json!([fragment(0, "a", "note", "{}"), fragment(1, "b", "look", "{}")])], "a:note{} b:look{}")
        .await;
    check(
        &[
            json!([fragment(1, "b", "look", "{")]),
            json!([fragment(0, "a", "note", "{")]),
            json!([more(1, "}"), more(0, "}")]),
        ],
        "b:look{} a:note{}",
    )
    .await;
    // Id and name are repeated in every fragment.
    check(
        &[json!([fragment(0, "a", "note", "{\"n\":")]), json!([fragment(0, "a", "note", "{}}")])],
        "a:note{\"n\":{}}",
    )
    .await;
    // Id and name arrive in separate fragments.
    check(
        &[
            json!([{"index": 0, "id": "ca"}]),
            json!([{"index": 0, "id": "ll"}]),
            json!([{"index": 0, "function": {"name": "no"}}]),
            json!([{"index": 0, "function": {"name": "te"}}]),
            json!([more(0, "{}")]),
        ],
        "call:note{}",
    )
    .await;
    // Arguments as an object, absent, and null.
    check(
        &[json!([{"index": 0, "id": "a", "function": {"name": "note", "arguments": {"n": 1}}}])],
        "a:note{\"n\":1}",
    )
    .await;
    check(&[json!([{"index": 0, "id": "a", "function": {"name": "note"}}])], "a:note{}").await;
    check(&[json!([{"index": 0, "id": "a", "function": {"name": "note", "arguments": null}}])], "a:note{}")
        .await;
    check(&[json!([fragment(0, "a", "note", "null")])], "a:note{}").await;
}

#[tokio::test]
async fn calls_with_equal_indexes_or_ids_are_separated() {
    let check = async |chunks: &[Value], expected: &str| assert_eq!(parsed_calls(chunks).await, expected);
    let bare = |name: &str| json!({"function": {"name": name, "arguments": "{}"}});
    // Every call has the index 0.
    check(
        &[json!([fragment(0, "a", "note", "{}")]), json!([fragment(0, "b", "note", "{}")])],
        "a:note{} b:note{}",
    )
    .await;
    check(
        &[json!([fragment(0, "", "note", "{}")]), json!([fragment(0, "", "note", "{}")])],
        "minted:note{} minted:note{}",
    )
    .await;
    // No call has an index or an id.
    check(
        &[json!([bare("note"), bare("look")]), json!([bare("note")])],
        "minted:note{} minted:look{} minted:note{}",
    )
    .await;
    // Two calls have the same id.
    check(
        &[json!([fragment(0, "a", "note", "{}"), fragment(1, "a", "note", "{}")])],
        "a:note{} minted:note{}",
    )
    .await;
    // The legacy format with one function.
    let old = ScriptedReply::empty()
        .with_piece(ReplyPiece::Raw(json!({"function_call": {"name": "note", "arguments": ""}})))
        .with_piece(ReplyPiece::Raw(json!({"function_call": {"arguments": "{}"}})))
        .with_stop_reason("function_call");
    let reply = reply_to(old).await.1.unwrap();
    assert_eq!((calls_text(&reply).as_str(), reply.stop_reason), ("minted:note{}", StopReason::Tools));
}

/// E2: ambiguous fragments are not guessed.
#[tokio::test]
async fn contradictory_fragments_are_rejected() {
    let garbled = "InvalidResponse(\"the input of a tool call is no JSON object\")";
    let half = json!([fragment(0, "a", "note", "{\"n\":")]);
    assert_eq!(parsed_calls(&[half.clone(), json!([fragment(0, "b", "note", "{}")])]).await, garbled);
    assert_eq!(parsed_calls(&[half]).await, garbled);
    assert_eq!(parsed_calls(&[json!([fragment(0, "a", "note", "{} {}")])]).await, garbled);
}

/// E6: results are found by the ids of their calls, so no two calls in a conversation may share one.
#[tokio::test]
async fn used_call_id_is_not_used_again() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    server.script([ScriptedReply::empty()
        .with_piece(ReplyPiece::Raw(json!({"tool_calls": [fragment(0, "a", "note", "{}")]})))]);
    let said = vec![
        user("hi"),
        EntryContent::Assistant(vec![call("a", "{}")], Completeness::Complete),
        EntryContent::Tools(vec![result("a", "done", Outcome::Done)]),
    ];
    let reply = call_model(&model(&server.url()), &context(said)).await.1.unwrap();
    assert_eq!(calls_text(&reply), "minted:note{}");
}

/// Tool calls and results with every kind of server.
#[tokio::test]
async fn parallel_calls_are_assembled_and_their_results_are_sent() {
    for style in [Style::OpenAi, Style::Ollama, Style::LlamaCpp, Style::Sloppy, Style::Plain] {
        let server = ChatServer::start(style).await.unwrap();
        let inputs = [
            json!({"text": "é \" \\ \n {}"}),
            json!({"n": [1, 2.5, null], "text": "b".repeat(99)}),
            json!({}),
        ];
        let act = ScriptedReply::text("Noting.")
            .with_tool_call("note", &inputs[0])
            .with_tool_call("note", &inputs[1]);
        server.script([act.with_tool_call("note", &inputs[2]), ScriptedReply::text("Noted.")]);
        let model = model(&server.url());
        let (heard, reply) = call_model(&model, &context(vec![user("note it")])).await;
        let reply = reply.unwrap();
        let expected = if style == Style::LlamaCpp { StopReason::Finished } else { StopReason::Tools };
        assert_eq!((heard.as_str(), reply.stop_reason), ("Noting.", expected), "{style:?}");
        let calls = calls(&reply);
        let given: Vec<Value> = calls.iter().map(|call| call.input.0.parse().unwrap()).collect();
        assert_eq!(given, inputs, "{style:?}");
        assert_eq!(calls.iter().map(|call| &call.id).collect::<BTreeSet<_>>().len(), 3, "{style:?}");

        let results = calls.iter().map(|call| result(&call.id, "done", Outcome::Done)).collect();
        let said = vec![
            user("note it"),
            EntryContent::Assistant(reply.blocks, Completeness::Complete),
            EntryContent::Tools(results),
        ];
        let (heard, reply) = call_model(&model, &context(said)).await;
        assert_eq!(
            (heard.as_str(), reply.unwrap().stop_reason),
            ("Noted.", StopReason::Finished),
            "{style:?}"
        );
        let sent = &server.requests()[1].json["messages"];
        let arguments: Value =
            sent[2]["tool_calls"][0]["function"]["arguments"].as_str().unwrap().parse().unwrap();
        assert_eq!(arguments, inputs[0]);
        assert_eq!(sent[4]["tool_call_id"], calls[1].id.as_str());
    }
}
