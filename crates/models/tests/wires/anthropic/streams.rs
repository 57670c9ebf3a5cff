//! Streams that complete successfully.

use std::sync::Mutex;

use domain::context::Context;
use domain::conversation::{Block, Completeness, EntryContent, Text, tool_calls};
use domain::tool::Outcome;
use domain::turn::StopReason;
use engine::ports::{Model, StreamSink};
use models::anthropic::{Anthropic, Settings};
use serde_json::json;
use testkit::model_server::{ModelServer, ReplyPiece, ScriptedReply};

use super::support::{call_model, context, model, reply_to, result, settings, user};

/// ST-1, ST-3: text arrives in order, and its chunks together are the answer.
#[tokio::test]
async fn text_arrives_in_order_and_is_the_whole_answer() {
    let text = "Grüße aus dem 🦀-Land!\n\n\"quoted\", \\escaped\\, and\ttabs. ".repeat(20);
    let server = ModelServer::start().await.unwrap();
    server.script([ScriptedReply::text(&text).with_text("").with_thinking("hm", "s").with_text("And more.")]);
    let pieces = Mutex::new(Vec::new());
    let listener = |words: &str| pieces.lock().unwrap().push(words.to_owned());
    let model = model(&server.url());
    let reply = model.reply(&context(vec![user("hi")]), &listener).await.unwrap();
    let pieces = pieces.into_inner().unwrap();
    assert!(pieces.len() > 100);
    assert_eq!(pieces.concat(), format!("{text}\n\nAnd more."));
    assert_eq!(pieces.concat(), reply.blocks.text());
    assert_eq!(reply.stop_reason, StopReason::Finished);
}

/// ST-2, ST-4: every call is assembled from its deltas, and complete when its block ends.
#[tokio::test]
async fn parallel_calls_are_assembled_and_their_results_are_sent() {
    let server = ModelServer::start().await.unwrap();
    let inputs = [json!({"text": "é \" \\ \n {}"}), json!({"text": "b".repeat(99), "n": [1, 2.5, null]})];
    server.script([
        ScriptedReply::text("Noting.")
            .with_tool_call("note", &inputs[0])
            .with_tool_call("note", &inputs[1])
            .with_tool_call("note", &json!({})),
        ScriptedReply::text("Noted."),
    ]);
    let model = model(&server.url());
    let reply = call_model(&model, &context(vec![user("note it")])).await.1.unwrap();
    assert_eq!(reply.stop_reason, StopReason::Tools);
    let calls: Vec<_> = reply
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Call(call) => Some(call.clone()),
            Block::Text(_) | Block::Opaque(_) => None,
        })
        .collect();
    let given: Vec<serde_json::Value> = calls.iter().map(|call| call.input.0.parse().unwrap()).collect();
    assert_eq!(given, [inputs[0].clone(), inputs[1].clone(), json!({})]);

    let results = calls.iter().map(|call| result(&call.id, "done", Outcome::Done)).collect();
    let said = vec![
        user("note it"),
        EntryContent::Assistant(reply.blocks, Completeness::Complete),
        EntryContent::Tools(results),
    ];
    let reply = call_model(&model, &context(said)).await.1.unwrap();
    assert_eq!(reply.blocks, [Block::Text("Noted.".to_owned())]);
    let sent = &server.requests()[1].json["messages"];
    assert_eq!(sent[1]["content"][1]["input"], inputs[0]);
    assert_eq!(sent[2]["content"][1]["tool_use_id"], calls[1].id.as_str());
}

/// A model that thinks and calls tools needs its thinking blocks back, byte for byte, before the
/// results; otherwise it refuses the conversation.
#[tokio::test]
async fn thinking_before_calls_is_sent_back_with_the_results() {
    let server = ModelServer::start().await.unwrap();
    let act = ScriptedReply::empty().with_thinking("Two \"notes\".\n", "c2ln/+=").with_text("Noting.");
    server.script([
        act.with_tool_call("note", &json!({"text": "a"})).with_tool_call("note", &json!({"text": "b"})),
        ScriptedReply::empty().with_thinking("Both are kept.", "bW9yZQ==").with_text("Noted."),
    ]);
    let model = Anthropic::new(Settings { max_tokens: 4096, ..settings(&server.url()) }).unwrap();
    let thinking = |said| Context { thinking: "2048".parse().unwrap(), ..context(said) };
    let first = call_model(&model, &thinking(vec![user("note it")])).await.1.unwrap();
    let results: Vec<_> =
        tool_calls(&first.blocks).map(|call| result(&call.id, "kept", Outcome::Done)).collect();
    assert_eq!((first.stop_reason, results.len()), (StopReason::Tools, 2));
    let said = vec![
        user("note it"),
        EntryContent::Assistant(first.blocks, Completeness::Complete),
        EntryContent::Tools(results),
    ];
    let (heard, second) = call_model(&model, &thinking(said)).await;
    assert_eq!((heard.as_str(), second.unwrap().stop_reason), ("Noted.", StopReason::Finished));
    let sent = &server.requests()[1];
    let thought = r#"{"type":"thinking","thinking":"Two \"notes\".\n","signature":"c2ln/+="}"#;
    assert!(sent.body.contains(&format!(r#"{{"role":"assistant","content":[{thought},{{"type":"text""#)));
    let kinds: Vec<_> = (0..2).map(|at| sent.json["messages"][2]["content"][at]["type"].clone()).collect();
    assert_eq!(kinds, ["tool_result", "tool_result"]);
}

#[tokio::test]
async fn thinking_and_unknown_blocks_are_sent_back_byte_for_byte() {
    let signature = "EqQBCkYIBRgCKkD+/=\"\\\u{2028}é".repeat(50);
    let unknown = json!({"type": "redacted_thinking", "data": "x/y+z=", "new": {"b": 1.5, "a": [null]}});
    let server = ModelServer::start().await.unwrap();
    server.script([
        ScriptedReply::empty()
            .with_thinking("Hm, \"what\"?\n", &signature)
            .with_piece(ReplyPiece::Raw(unknown.clone()))
            .with_text("Hi."),
        ScriptedReply::text("Again."),
    ]);
    let model = model(&server.url());
    let reply = call_model(&model, &context(vec![user("hi")])).await.1.unwrap();
    let kept: Vec<_> = reply
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Opaque(opaque) => Some(opaque.json.0.clone()),
            Block::Text(_) | Block::Call(_) => None,
        })
        .collect();
    assert_eq!(kept.len(), 2);
    let said = vec![user("hi"), EntryContent::Assistant(reply.blocks, Completeness::Complete), user("and?")];
    call_model(&model, &context(said)).await.1.unwrap();
    let sent = &server.requests()[1];
    assert!(kept.iter().all(|block| sent.body.contains(block)));
    let content = &sent.json["messages"][1]["content"];
    assert_eq!(
        content[0],
        json!({"type": "thinking", "thinking": "Hm, \"what\"?\n", "signature": signature})
    );
    assert_eq!(content[1], unknown);
}

#[tokio::test]
async fn chunking_of_a_stream_does_not_change_the_reply() {
    let act = || {
        ScriptedReply::text("Grüße 🦀, one moment.")
            .with_thinking("hm … é", "sig==")
            .with_tool_call("note", &json!({"text": "né 🦀"}))
            .with_tool_call("note", &json!({}))
    };
    let server = ModelServer::start().await.unwrap();
    let model = model(&server.url());
    let context = context(vec![user("hi")]);
    server.script([act()]);
    let (words, whole) = call_model(&model, &context).await;
    let whole = whole.unwrap();
    for seed in 0..1000 {
        server.script([act().chunked(seed)]);
        let (heard, reply) = call_model(&model, &context).await;
        let mut reply = reply.unwrap();
        // The server derives call ids from the request; everything else is equal.
        for (block, first) in reply.blocks.iter_mut().zip(&whole.blocks) {
            if let (Block::Call(call), Block::Call(first)) = (block, first) {
                call.id.clone_from(&first.id);
            }
        }
        reply.usage = whole.usage;
        assert_eq!((&heard, &reply), (&words, &whole), "seed {seed}");
    }
}

#[tokio::test]
async fn usage_of_a_reply_equals_the_servers_count() {
    let server = ModelServer::start().await.unwrap();
    let model = model(&server.url());
    for _ in 0..2 {
        let usage = call_model(&model, &context(vec![user("hi")])).await.1.unwrap().usage;
        assert_eq!(Some(&usage), server.usage().last());
    }
    assert!(server.usage()[0].cache_write > 0 && server.usage()[1].cache_read > 0);
}

/// A sink that records text and progress notes.
#[derive(Default)]
struct RecordingSink {
    text: Mutex<String>,
    progress: Mutex<String>,
}

impl StreamSink for RecordingSink {
    fn text(&self, text: &str) {
        self.text.lock().unwrap().push_str(text);
    }

    fn progress(&self, text: &str) {
        self.progress.lock().unwrap().push_str(text);
    }
}

/// Text in thinking blocks is a progress note and not part of the answer. The vendor's text for
/// interrupted work is neither. All blocks are sent back unchanged.
#[tokio::test]
async fn text_in_thinking_blocks_is_progress_and_not_part_of_the_answer() {
    let interrupted = "This part of the response was interrupted before it finished.";
    let server = ModelServer::start().await.unwrap();
    let act = ScriptedReply::empty().with_signed_thinking("secret").with_note("This is in the notes. ");
    server.script([act.with_note(interrupted).with_note("Done.").with_text("It is kept.")]);
    let ears = RecordingSink::default();
    let adaptive = "adaptive".parse().unwrap();
    let asked = Context {
        model: Some("claude-sonnet-5-5".to_owned()),
        thinking: adaptive,
        ..context(vec![user("hi")])
    };
    let reply = model(&server.url()).reply(&asked, &ears).await.unwrap();
    assert_eq!(*ears.progress.lock().unwrap(), "This is in the notes. Done.");
    assert_eq!(*ears.text.lock().unwrap(), "It is kept.");
    assert_eq!(reply.blocks.text(), "It is kept.");
    let kept = reply.blocks.iter().filter(|block| matches!(block, Block::Opaque(_))).count();
    assert_eq!(kept, 4, "{:?}", reply.blocks);
    assert!(format!("{:?}", reply.blocks).contains(interrupted));
}

#[tokio::test]
async fn model_name_begins_with_its_vendor() {
    assert_eq!(model("http://127.0.0.1:1").name(), "anthropic:claude-test-1");
    let (heard, reply) = reply_to(ScriptedReply::text("hello")).await;
    assert_eq!((heard.as_str(), reply.unwrap().stop_reason), ("hello", StopReason::Finished));
}
