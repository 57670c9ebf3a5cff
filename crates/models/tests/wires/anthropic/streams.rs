//! Streams that complete successfully.

use std::sync::Mutex;

use domain::context::Context;
use domain::conversation::{Block, Reach, Said, Text, calls};
use domain::tool::Outcome;
use domain::turn::Stop;
use engine::ports::{Hearing, Model};
use models::anthropic::{Anthropic, Settings};
use serde_json::json;
use testkit::model_server::{Act, ModelServer, Piece};

use super::stage::{ask, context, human, model, play, result, settings};

/// ST-1, ST-3: text arrives in order, and its chunks together are the answer.
#[tokio::test]
async fn words_come_in_order_and_are_the_whole_answer() {
    let text = "Grüße aus dem 🦀-Land!\n\n\"quoted\", \\escaped\\, and\ttabs. ".repeat(20);
    let server = ModelServer::start().await.unwrap();
    server.script([Act::says(&text).and_says("").and_thinks("hm", "s").and_says("And more.")]);
    let pieces = Mutex::new(Vec::new());
    let listener = |words: &str| pieces.lock().unwrap().push(words.to_owned());
    let model = model(&server.url());
    let reply = model.reply(&context(vec![human("hi")]), &listener).await.unwrap();
    let pieces = pieces.into_inner().unwrap();
    assert!(pieces.len() > 100);
    assert_eq!(pieces.concat(), format!("{text}\n\nAnd more."));
    assert_eq!(pieces.concat(), reply.blocks.text());
    assert_eq!(reply.stop, Stop::Said);
}

/// ST-2, ST-4: every call is assembled from its deltas, and complete when its block ends.
#[tokio::test]
async fn tools_are_called_side_by_side_and_their_results_are_read() {
    let server = ModelServer::start().await.unwrap();
    let inputs = [json!({"text": "é \" \\ \n {}"}), json!({"text": "b".repeat(99), "n": [1, 2.5, null]})];
    server.script([
        Act::says("Noting.")
            .and_calls("note", &inputs[0])
            .and_calls("note", &inputs[1])
            .and_calls("note", &json!({})),
        Act::says("Noted."),
    ]);
    let model = model(&server.url());
    let reply = ask(&model, &context(vec![human("note it")])).await.1.unwrap();
    assert_eq!(reply.stop, Stop::Tools);
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
    let said = vec![human("note it"), Said::Assistant(reply.blocks, Reach::Whole), Said::Tools(results)];
    let reply = ask(&model, &context(said)).await.1.unwrap();
    assert_eq!(reply.blocks, [Block::Text("Noted.".to_owned())]);
    let sent = &server.requests()[1].json["messages"];
    assert_eq!(sent[1]["content"][1]["input"], inputs[0]);
    assert_eq!(sent[2]["content"][1]["tool_use_id"], calls[1].id.as_str());
}

/// A model that thinks and calls tools needs its thinking blocks back, byte for byte, before the
/// results; otherwise it refuses the conversation.
#[tokio::test]
async fn thoughts_before_calls_go_back_with_their_results() {
    let server = ModelServer::start().await.unwrap();
    let act = Act::empty().and_thinks("Two \"notes\".\n", "c2ln/+=").and_says("Noting.");
    server.script([
        act.and_calls("note", &json!({"text": "a"})).and_calls("note", &json!({"text": "b"})),
        Act::empty().and_thinks("Both are kept.", "bW9yZQ==").and_says("Noted."),
    ]);
    let model = Anthropic::new(Settings { max_tokens: 4096, ..settings(&server.url()) }).unwrap();
    let thinking = |said| Context { thinking: "2048".parse().unwrap(), ..context(said) };
    let first = ask(&model, &thinking(vec![human("note it")])).await.1.unwrap();
    let results: Vec<_> = calls(&first.blocks).map(|call| result(&call.id, "kept", Outcome::Done)).collect();
    assert_eq!((first.stop, results.len()), (Stop::Tools, 2));
    let said = vec![human("note it"), Said::Assistant(first.blocks, Reach::Whole), Said::Tools(results)];
    let (heard, second) = ask(&model, &thinking(said)).await;
    assert_eq!((heard.as_str(), second.unwrap().stop), ("Noted.", Stop::Said));
    let sent = &server.requests()[1];
    let thought = r#"{"type":"thinking","thinking":"Two \"notes\".\n","signature":"c2ln/+="}"#;
    assert!(sent.body.contains(&format!(r#"{{"role":"assistant","content":[{thought},{{"type":"text""#)));
    let kinds: Vec<_> = (0..2).map(|at| sent.json["messages"][2]["content"][at]["type"].clone()).collect();
    assert_eq!(kinds, ["tool_result", "tool_result"]);
}

#[tokio::test]
async fn thinking_and_blocks_we_do_not_know_go_back_byte_for_byte() {
    let signature = "EqQBCkYIBRgCKkD+/=\"\\\u{2028}é".repeat(50);
    let unknown = json!({"type": "redacted_thinking", "data": "x/y+z=", "new": {"b": 1.5, "a": [null]}});
    let server = ModelServer::start().await.unwrap();
    server.script([
        Act::empty()
            .and_thinks("Hm, \"what\"?\n", &signature)
            .and(Piece::Raw(unknown.clone()))
            .and_says("Hi."),
        Act::says("Again."),
    ]);
    let model = model(&server.url());
    let reply = ask(&model, &context(vec![human("hi")])).await.1.unwrap();
    let kept: Vec<_> = reply
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Opaque(opaque) => Some(opaque.json.0.clone()),
            Block::Text(_) | Block::Call(_) => None,
        })
        .collect();
    assert_eq!(kept.len(), 2);
    let said = vec![human("hi"), Said::Assistant(reply.blocks, Reach::Whole), human("and?")];
    ask(&model, &context(said)).await.1.unwrap();
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
async fn a_thousand_ways_to_cut_a_stream_into_pieces_give_one_reply() {
    let act = || {
        Act::says("Grüße 🦀, one moment.")
            .and_thinks("hm … é", "sig==")
            .and_calls("note", &json!({"text": "né 🦀"}))
            .and_calls("note", &json!({}))
    };
    let server = ModelServer::start().await.unwrap();
    let model = model(&server.url());
    let context = context(vec![human("hi")]);
    server.script([act()]);
    let (words, whole) = ask(&model, &context).await;
    let whole = whole.unwrap();
    for seed in 0..1000 {
        server.script([act().chopped(seed)]);
        let (heard, reply) = ask(&model, &context).await;
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
async fn what_the_reply_cost_is_what_the_server_charged() {
    let server = ModelServer::start().await.unwrap();
    let model = model(&server.url());
    for _ in 0..2 {
        let usage = ask(&model, &context(vec![human("hi")])).await.1.unwrap().usage;
        assert_eq!(Some(&usage), server.usage().last());
    }
    assert!(server.usage()[0].cache_write > 0 && server.usage()[1].cache_read > 0);
}

/// A sink that records text and progress notes.
#[derive(Default)]
struct Ears {
    words: Mutex<String>,
    progress: Mutex<String>,
}

impl Hearing for Ears {
    fn words(&self, text: &str) {
        self.words.lock().unwrap().push_str(text);
    }

    fn progress(&self, text: &str) {
        self.progress.lock().unwrap().push_str(text);
    }
}

/// Text in thinking blocks is a progress note and not part of the answer. The vendor's text for
/// interrupted work is neither. All blocks are sent back unchanged.
#[tokio::test]
async fn text_in_thinking_blocks_is_progress_and_no_part_of_the_answer() {
    let interrupted = "This part of the response was interrupted before it finished.";
    let server = ModelServer::start().await.unwrap();
    let act = Act::empty().and_signed_thinking("secret").and_notes("This is in the notes. ");
    server.script([act.and_notes(interrupted).and_notes("Done.").and_says("It is kept.")]);
    let ears = Ears::default();
    let adaptive = "adaptive".parse().unwrap();
    let asked = Context {
        model: Some("claude-sonnet-5-5".to_owned()),
        thinking: adaptive,
        ..context(vec![human("hi")])
    };
    let reply = model(&server.url()).reply(&asked, &ears).await.unwrap();
    assert_eq!(*ears.progress.lock().unwrap(), "This is in the notes. Done.");
    assert_eq!(*ears.words.lock().unwrap(), "It is kept.");
    assert_eq!(reply.blocks.text(), "It is kept.");
    let kept = reply.blocks.iter().filter(|block| matches!(block, Block::Opaque(_))).count();
    assert_eq!(kept, 4, "{:?}", reply.blocks);
    assert!(format!("{:?}", reply.blocks).contains(interrupted));
}

#[tokio::test]
async fn a_model_is_named_after_its_vendor() {
    assert_eq!(model("http://127.0.0.1:1").name(), "anthropic:claude-test-1");
    let (heard, reply) = play(Act::says("hello")).await;
    assert_eq!((heard.as_str(), reply.unwrap().stop), ("hello", Stop::Said));
}
