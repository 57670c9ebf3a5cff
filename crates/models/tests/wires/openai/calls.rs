//! Tool calls in every shape in which servers send them.

use std::collections::BTreeSet;

use domain::conversation::{Reach, Said};
use domain::tool::Outcome;
use domain::turn::{Reply, Stop};
use serde_json::{Value, json};
use testkit::chat_server::{ChatServer, Style};
use testkit::play::{Act, Piece};

use super::stage::{ask, call, calls, context, human, model, play, result};

/// Streams these lists of tool calls, one per chunk, and returns the parsed calls as text.
async fn understood(chunks: &[Value]) -> String {
    let deltas = chunks.iter().map(|calls| Piece::Raw(json!({ "tool_calls": calls })));
    let reply = play(deltas.fold(Act::empty(), Act::and).stopping("tool_calls")).await.1;
    let reply = reply.map_err(|failure| format!("{failure:?}"));
    reply.map_or_else(|failure| failure, |reply| told(&reply))
}

fn told(reply: &Reply) -> String {
    let one = |call: domain::tool::ToolCall| {
        let id = if call.id.len() == 9 { "minted" } else { call.id.as_str() };
        format!("{id}:{}{}", call.name, call.input.0)
    };
    calls(reply).into_iter().map(one).collect::<Vec<_>>().join(" ")
}

fn piece(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}})
}

#[tokio::test]
async fn a_call_is_understood_however_it_is_cut() {
    let check = async |chunks: &[Value], expected: &str| assert_eq!(understood(chunks).await, expected);
    let more = |index: u64, text: &str| json!({"index": index, "function": {"arguments": text}});
    check(
        &[json!([piece(0, "a", "note", "")]), json!([more(0, "{\"n\"")]), json!([more(0, ":1}")])],
        "a:note{\"n\":1}",
    )
    .await;
    check(&[json!([piece(0, "a", "note", "{}"), piece(1, "b", "look", "{}")])], "a:note{} b:look{}").await;
    check(
        &[
            json!([piece(1, "b", "look", "{")]),
            json!([piece(0, "a", "note", "{")]),
            json!([more(1, "}"), more(0, "}")]),
        ],
        "b:look{} a:note{}",
    )
    .await;
    // Id and name are repeated in every fragment.
    check(
        &[json!([piece(0, "a", "note", "{\"n\":")]), json!([piece(0, "a", "note", "{}}")])],
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
    check(&[json!([piece(0, "a", "note", "null")])], "a:note{}").await;
}

#[tokio::test]
async fn calls_are_told_apart_though_their_numbers_or_ids_do_not() {
    let check = async |chunks: &[Value], expected: &str| assert_eq!(understood(chunks).await, expected);
    let bare = |name: &str| json!({"function": {"name": name, "arguments": "{}"}});
    // Every call has the index 0.
    check(&[json!([piece(0, "a", "note", "{}")]), json!([piece(0, "b", "note", "{}")])], "a:note{} b:note{}")
        .await;
    check(
        &[json!([piece(0, "", "note", "{}")]), json!([piece(0, "", "note", "{}")])],
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
    check(&[json!([piece(0, "a", "note", "{}"), piece(1, "a", "note", "{}")])], "a:note{} minted:note{}")
        .await;
    // The legacy format with one function.
    let old = Act::empty()
        .and(Piece::Raw(json!({"function_call": {"name": "note", "arguments": ""}})))
        .and(Piece::Raw(json!({"function_call": {"arguments": "{}"}})))
        .stopping("function_call");
    let reply = play(old).await.1.unwrap();
    assert_eq!((told(&reply).as_str(), reply.stop), ("minted:note{}", Stop::Tools));
}

/// E2: ambiguous fragments are not guessed.
#[tokio::test]
async fn pieces_that_make_no_sense_together_are_no_call() {
    let garbled = "Garbled(\"the input of a tool call is no JSON object\")";
    let half = json!([piece(0, "a", "note", "{\"n\":")]);
    assert_eq!(understood(&[half.clone(), json!([piece(0, "b", "note", "{}")])]).await, garbled);
    assert_eq!(understood(&[half]).await, garbled);
    assert_eq!(understood(&[json!([piece(0, "a", "note", "{} {}")])]).await, garbled);
}

/// E6: results are found by the ids of their calls, so no two calls in a conversation may share one.
#[tokio::test]
async fn an_id_that_was_used_before_is_not_used_again() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    server.script([Act::empty().and(Piece::Raw(json!({"tool_calls": [piece(0, "a", "note", "{}")]})))]);
    let said = vec![
        human("hi"),
        Said::Assistant(vec![call("a", "{}")], Reach::Whole),
        Said::Tools(vec![result("a", "done", Outcome::Done)]),
    ];
    let reply = ask(&model(&server.url()), &context(said)).await.1.unwrap();
    assert_eq!(told(&reply), "minted:note{}");
}

/// Tool calls and results with every kind of server.
#[tokio::test]
async fn tools_are_called_side_by_side_and_their_results_are_read() {
    for style in [Style::OpenAi, Style::Ollama, Style::LlamaCpp, Style::Sloppy, Style::Plain] {
        let server = ChatServer::start(style).await.unwrap();
        let inputs = [
            json!({"text": "é \" \\ \n {}"}),
            json!({"n": [1, 2.5, null], "text": "b".repeat(99)}),
            json!({}),
        ];
        let act = Act::says("Noting.").and_calls("note", &inputs[0]).and_calls("note", &inputs[1]);
        server.script([act.and_calls("note", &inputs[2]), Act::says("Noted.")]);
        let model = model(&server.url());
        let (heard, reply) = ask(&model, &context(vec![human("note it")])).await;
        let reply = reply.unwrap();
        let expected = if style == Style::LlamaCpp { Stop::Said } else { Stop::Tools };
        assert_eq!((heard.as_str(), reply.stop), ("Noting.", expected), "{style:?}");
        let calls = calls(&reply);
        let given: Vec<Value> = calls.iter().map(|call| call.input.0.parse().unwrap()).collect();
        assert_eq!(given, inputs, "{style:?}");
        assert_eq!(calls.iter().map(|call| &call.id).collect::<BTreeSet<_>>().len(), 3, "{style:?}");

        let results = calls.iter().map(|call| result(&call.id, "done", Outcome::Done)).collect();
        let said = vec![human("note it"), Said::Assistant(reply.blocks, Reach::Whole), Said::Tools(results)];
        let (heard, reply) = ask(&model, &context(said)).await;
        assert_eq!((heard.as_str(), reply.unwrap().stop), ("Noted.", Stop::Said), "{style:?}");
        let sent = &server.requests()[1].json["messages"];
        let arguments: Value =
            sent[2]["tool_calls"][0]["function"]["arguments"].as_str().unwrap().parse().unwrap();
        assert_eq!(arguments, inputs[0]);
        assert_eq!(sent[4]["tool_call_id"], calls[1].id.as_str());
    }
}
