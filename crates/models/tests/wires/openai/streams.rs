//! Streams that complete successfully.

use std::sync::Mutex;

use domain::conversation::{Block, Reach, Said, Text, Usage};
use domain::turn::Stop;
use engine::ports::Model;
use serde_json::json;
use testkit::chat_server::{ChatServer, Style};
use testkit::play::{Act, Fault};

use super::stage::{answer, ask, calls, context, human, model, play, play_in};

/// The styles whose reasoning is not stored. OpenRouter's details are stored, and `reasoning` tests
/// the Responses API.
fn forgetful() -> impl Iterator<Item = Style> {
    Style::ALL.into_iter().filter(|style| ![Style::OpenRouter, Style::Current].contains(style))
}

#[tokio::test]
async fn words_come_in_order_and_are_the_whole_answer() {
    let text = "Grüße aus dem 🦀-Land!\n\n\"quoted\", \\escaped\\, and\ttabs. ".repeat(20);
    for style in forgetful() {
        let server = ChatServer::start(style).await.unwrap();
        server.script([Act::says(&text).and_says("").and_says("And more.")]);
        let pieces = Mutex::new(Vec::new());
        let listener = |words: &str| pieces.lock().unwrap().push(words.to_owned());
        let model = model(&server.url());
        let reply = model.reply(&context(vec![human("hi")]), &listener).await.unwrap();
        let pieces = pieces.into_inner().unwrap();
        assert!(pieces.len() > 100 || style == Style::Plain);
        assert_eq!(pieces.concat(), format!("{text}And more."));
        assert_eq!(pieces.concat(), reply.blocks.text());
        assert_eq!(reply.stop, Stop::Said);
    }
}

#[tokio::test]
async fn what_is_thought_is_neither_heard_nor_kept() {
    for style in forgetful() {
        let act = Act::empty().and_thinks("They want a secret.", "s").and_says("Hi.");
        let (heard, reply) = play_in(style, act).await;
        assert_eq!((heard.as_str(), reply.unwrap().blocks), ("Hi.", vec![Block::Text("Hi.".to_owned())]));
    }
}

/// Local models write their thinking before the answer.
#[tokio::test]
async fn what_is_thought_aloud_is_neither_heard_nor_kept() {
    for style in forgetful() {
        let act = || Act::says("<think>\nThey want a secret.\n</think>\n\nHi <b>there</b>.");
        for seed in 0..3 {
            let (heard, reply) = play_in(style, act().chopped(seed)).await;
            let kept = vec![Block::Text("Hi <b>there</b>.".to_owned())];
            assert_eq!(
                (heard.as_str(), reply.unwrap().blocks),
                ("Hi <b>there</b>.", kept),
                "{style:?} {seed}"
            );
        }
        let (heard, reply) = play_in(style, Act::says("<think>and so on").stopping("length")).await;
        assert_eq!((heard.as_str(), reply.unwrap().blocks), ("", vec![]), "{style:?}");
    }
}

#[tokio::test]
async fn a_thousand_ways_to_cut_a_stream_into_pieces_give_one_reply() {
    let act = || {
        Act::says("Grüße 🦀, one moment.")
            .and_thinks("hm … é", "sig==")
            .and_calls("note", &json!({"text": "né 🦀"}))
            .and_calls("note", &json!({}))
    };
    for style in [Style::OpenAi, Style::Sloppy] {
        let server = ChatServer::start(style).await.unwrap();
        let model = model(&server.url());
        let context = context(vec![human("hi")]);
        server.script([act()]);
        let (words, whole) = ask(&model, &context).await;
        let whole = whole.unwrap();
        for seed in 0..500 {
            server.script([act().chopped(seed)]);
            let (heard, reply) = ask(&model, &context).await;
            let reply = reply.unwrap();
            let told =
                |reply| calls(reply).into_iter().map(|call| (call.name, call.input)).collect::<Vec<_>>();
            assert_eq!((&heard, told(&reply)), (&words, told(&whole)), "seed {seed}");
            assert_eq!((reply.stop, reply.blocks.text()), (whole.stop, whole.blocks.text()), "seed {seed}");
        }
    }
}

#[tokio::test]
async fn what_the_reply_cost_is_what_the_server_charged() {
    for style in [Style::OpenAi, Style::LlamaCpp, Style::Sloppy, Style::Plain] {
        let server = ChatServer::start(style).await.unwrap();
        let model = model(&server.url());
        for _ in 0..2 {
            let usage = ask(&model, &context(vec![human("hi")])).await.1.unwrap().usage;
            assert_eq!(Some(&usage), server.usage().last(), "{style:?}");
        }
        assert!(server.usage()[0].cache_read == 0 && server.usage()[1].input == 0, "{style:?}");
    }
    let usage = play_in(Style::Ollama, Act::says("free")).await.1.unwrap().usage;
    assert_eq!(usage, Usage::default());
}

#[tokio::test]
async fn the_next_request_of_a_branch_is_mostly_read_from_the_cache() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let turn = |at: usize| {
        [human(&format!("question {at} {}", "why? ".repeat(40))), answer(&"because. ".repeat(60))]
    };
    let long: Vec<Said> = (0..30).flat_map(turn).collect();
    let with = |words: &str| context(long.iter().cloned().chain([human(words)]).collect());
    let model = model(&server.url());
    assert_eq!(ask(&model, &with("so?")).await.1.unwrap().usage.cache_read, 0);
    let fork = ask(&model, &with("[fork] look")).await.1.unwrap().usage;
    assert!(fork.cache_read > 9 * fork.input, "{fork:?}");
}

#[tokio::test]
async fn counts_that_cannot_be_are_not_believed() {
    let many = json!({"choices": [], "usage": {"prompt_tokens": u64::MAX, "completion_tokens": 3}});
    let usage = play(Act::says("hi").stopping("stop").with(Fault::Event(3, many))).await.1.unwrap().usage;
    assert_eq!((usage.input, usage.output), (u64::from(u32::MAX), 3));
    let more = json!({"choices": null, "usage": {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}});
    let usage = play(Act::says("hi").with(Fault::Event(3, more))).await.1.unwrap().usage;
    assert_eq!((usage.input, usage.cache_read, usage.output), (0, 9, 0));
}

/// Some servers close the connection instead of sending an end event.
#[tokio::test]
async fn an_answer_whose_reason_was_given_is_whole_without_a_last_word() {
    let (heard, reply) = play(Act::says("hi").with(Fault::End(3))).await;
    assert_eq!((heard.as_str(), reply.unwrap().stop), ("hi", Stop::Said));
    assert!(play(Act::says("hi").with(Fault::End(2))).await.1.is_err());
}

#[tokio::test]
async fn a_conversation_that_was_cut_goes_on() {
    let server = ChatServer::start(Style::LlamaCpp).await.unwrap();
    let cut = Said::Assistant(vec![Block::Text("I was say".to_owned())], Reach::Cut);
    let said = vec![human("hi"), cut, answer("Hello."), human("one"), human("two")];
    assert_eq!(ask(&model(&server.url()), &context(said)).await.0, "you said: one\n\ntwo");
}
