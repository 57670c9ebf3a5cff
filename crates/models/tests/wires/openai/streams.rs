//! Streams that complete successfully.

use std::sync::Mutex;

use domain::conversation::{Block, Completeness, EntryContent, Text, Usage};
use domain::turn::StopReason;
use engine::ports::Model;
use serde_json::json;
use testkit::chat_server::{ChatServer, Style};
use testkit::scripted_replies::{ReplyFault, ScriptedReply};

use super::support::{answer, call_model, calls, context, model, reply_in_style, reply_to, user};

/// The styles whose reasoning is not stored. OpenRouter's details are stored, and the module
/// `reasoning` tests the Responses API.
fn styles_without_stored_reasoning() -> impl Iterator<Item = Style> {
    Style::ALL.into_iter().filter(|style| ![Style::OpenRouter, Style::OpenAiCurrent].contains(style))
}

#[tokio::test]
async fn text_arrives_in_order_and_is_the_whole_answer() {
    let text = "Grüße aus dem 🦀-Land!\n\n\"quoted\", \\escaped\\, and\ttabs. ".repeat(20);
    for style in styles_without_stored_reasoning() {
        let server = ChatServer::start(style).await.unwrap();
        server.script([ScriptedReply::text(&text).with_text("").with_text("And more.")]);
        let pieces = Mutex::new(Vec::new());
        let listener = |words: &str| pieces.lock().unwrap().push(words.to_owned());
        let model = model(&server.url());
        let reply = model.reply(&context(vec![user("hi")]), &listener).await.unwrap();
        let pieces = pieces.into_inner().unwrap();
        assert!(pieces.len() > 100 || style == Style::Plain);
        assert_eq!(pieces.concat(), format!("{text}And more."));
        assert_eq!(pieces.concat(), reply.blocks.text());
        assert_eq!(reply.stop_reason, StopReason::Finished);
    }
}

#[tokio::test]
async fn reasoning_is_neither_streamed_nor_stored() {
    for style in styles_without_stored_reasoning() {
        let act = ScriptedReply::empty().with_thinking("They want a secret.", "s").with_text("Hi.");
        let (heard, reply) = reply_in_style(style, act).await;
        assert_eq!((heard.as_str(), reply.unwrap().blocks), ("Hi.", vec![Block::Text("Hi.".to_owned())]));
    }
}

/// Local models write their thinking before the answer.
#[tokio::test]
async fn think_tags_are_neither_streamed_nor_stored() {
    for style in styles_without_stored_reasoning() {
        let act = || ScriptedReply::text("<think>\nThey want a secret.\n</think>\n\nHi <b>there</b>.");
        for seed in 0..3 {
            let (heard, reply) = reply_in_style(style, act().chunked(seed)).await;
            let kept = vec![Block::Text("Hi <b>there</b>.".to_owned())];
            assert_eq!(
                (heard.as_str(), reply.unwrap().blocks),
                ("Hi <b>there</b>.", kept),
                "{style:?} {seed}"
            );
        }
        let (heard, reply) =
            reply_in_style(style, ScriptedReply::text("<think>and so on").with_stop_reason("length")).await;
        assert_eq!((heard.as_str(), reply.unwrap().blocks), ("", vec![]), "{style:?}");
    }
}

#[tokio::test]
async fn chunking_of_a_stream_does_not_change_the_reply() {
    let act = || {
        ScriptedReply::text("Grüße 🦀, one moment.")
            .with_thinking("hm … é", "sig==")
            .with_tool_call("note", &json!({"text": "né 🦀"}))
            .with_tool_call("note", &json!({}))
    };
    for style in [Style::OpenAi, Style::Sloppy] {
        let server = ChatServer::start(style).await.unwrap();
        let model = model(&server.url());
        let context = context(vec![user("hi")]);
        server.script([act()]);
        let (words, whole) = call_model(&model, &context).await;
        let whole = whole.unwrap();
        for seed in 0..500 {
            server.script([act().chunked(seed)]);
            let (heard, reply) = call_model(&model, &context).await;
            let reply = reply.unwrap();
            let told =
                |reply| calls(reply).into_iter().map(|call| (call.name, call.input)).collect::<Vec<_>>();
            assert_eq!((&heard, told(&reply)), (&words, told(&whole)), "seed {seed}");
            assert_eq!(
                (reply.stop_reason, reply.blocks.text()),
                (whole.stop_reason, whole.blocks.text()),
                "seed {seed}"
            );
        }
    }
}

#[tokio::test]
async fn usage_of_a_reply_equals_the_servers_count() {
    for style in [Style::OpenAi, Style::LlamaCpp, Style::Sloppy, Style::Plain] {
        let server = ChatServer::start(style).await.unwrap();
        let model = model(&server.url());
        for _ in 0..2 {
            let usage = call_model(&model, &context(vec![user("hi")])).await.1.unwrap().usage;
            assert_eq!(Some(&usage), server.usage().last(), "{style:?}");
        }
        assert!(server.usage()[0].cache_read == 0 && server.usage()[1].input == 0, "{style:?}");
    }
    let usage = reply_in_style(Style::Ollama, ScriptedReply::text("free")).await.1.unwrap().usage;
    assert_eq!(usage, Usage::default());
}

#[tokio::test]
async fn next_request_of_a_branch_is_mostly_cached() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let turn =
        |at: usize| [user(&format!("question {at} {}", "why? ".repeat(40))), answer(&"because. ".repeat(60))];
    let long: Vec<EntryContent> = (0..30).flat_map(turn).collect();
    let with = |words: &str| context(long.iter().cloned().chain([user(words)]).collect());
    let model = model(&server.url());
    assert_eq!(call_model(&model, &with("so?")).await.1.unwrap().usage.cache_read, 0);
    let fork = call_model(&model, &with("[fork] look")).await.1.unwrap().usage;
    assert!(fork.cache_read > 9 * fork.input, "{fork:?}");
}

#[tokio::test]
async fn impossible_token_counts_are_clamped() {
    let many = json!({"choices": [], "usage": {"prompt_tokens": u64::MAX, "completion_tokens": 3}});
    let usage =
        reply_to(ScriptedReply::text("hi").with_stop_reason("stop").with_fault(ReplyFault::Event(3, many)))
            .await
            .1
            .unwrap()
            .usage;
    assert_eq!((usage.input, usage.output), (u64::from(u32::MAX), 3));
    let more = json!({"choices": null, "usage": {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}});
    let usage =
        reply_to(ScriptedReply::text("hi").with_fault(ReplyFault::Event(3, more))).await.1.unwrap().usage;
    assert_eq!((usage.input, usage.cache_read, usage.output), (0, 9, 0));
}

/// Some servers close the connection instead of sending an end event.
#[tokio::test]
async fn reply_with_a_stop_reason_is_complete_without_an_end_event() {
    let (heard, reply) = reply_to(ScriptedReply::text("hi").with_fault(ReplyFault::End(3))).await;
    assert_eq!((heard.as_str(), reply.unwrap().stop_reason), ("hi", StopReason::Finished));
    assert!(reply_to(ScriptedReply::text("hi").with_fault(ReplyFault::End(2))).await.1.is_err());
}

#[tokio::test]
async fn interrupted_reply_is_joined_with_the_next() {
    let server = ChatServer::start(Style::LlamaCpp).await.unwrap();
    let cut = EntryContent::Assistant(vec![Block::Text("I was say".to_owned())], Completeness::Interrupted);
    let said = vec![user("hi"), cut, answer("Hello."), user("one"), user("two")];
    assert_eq!(call_model(&model(&server.url()), &context(said)).await.0, "you said: one\n\ntwo");
}
