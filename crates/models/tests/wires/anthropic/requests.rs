//! Request bodies of the Messages API.

use domain::context::Context;
use domain::conversation::{Block, Heard, Image, Opaque, Reach, Said};
use domain::effort::Effort;
use domain::thinking::Thinking;
use domain::tool::Outcome;
use expect_test::expect;
use models::anthropic::{Anthropic, Settings};
use testkit::model_server::ModelServer;

use super::stage::{answer, ask, call, context, human, model, result, settings};

const OPAQUE: &str = r#"{"type" : "thinking","thinking":"h\u00e9","signature":"s+/=", "n":1.0e5}"#;

fn everything() -> Vec<Said> {
    let image = |data: &str| Image { media_type: "image/png".to_owned(), data: data.to_owned() };
    vec![
        Said::Summary("They like tea.".to_owned()),
        Said::Human(Heard {
            preface: "[2026-11-15 Sun 09:00 AM CET]".to_owned(),
            text: "look".to_owned(),
            images: vec![image("AAAA"), image("BBBB")],
        }),
        Said::Assistant(
            vec![
                Block::Opaque(Opaque::anthropic(OPAQUE)),
                Block::Text("Looking. \n".to_owned()),
                Block::Text(" \n".to_owned()),
                call("a", r#"{"text": "one", "n": 1.50}"#),
                call("b", "not json"),
                call("c", "{}"),
            ],
            Reach::Whole,
        ),
        Said::Tools(vec![
            result("b", "no such note", Outcome::Failed),
            result("a", "done", Outcome::Done),
            result("stray", "?", Outcome::Done),
        ]),
        Said::Assistant(vec![Block::Text("I was saying ".to_owned())], Reach::Cut),
        human(" \n"),
        answer("Hello again."),
        human("one"),
        human("two"),
    ]
}

/// Returns the body of a request, with one line per message and block.
async fn sent(context: &Context) -> String {
    let server = ModelServer::start().await.unwrap();
    ask(&model(&server.url()), context).await.1.unwrap();
    let body = server.requests().remove(0).body;
    body.replace(r#"{"role""#, "\n{\"role\"").replace(r#"{"type""#, "\n  {\"type\"") + "\n"
}

/// EN-8: a conversation with every kind of entry becomes one request that the server accepts.
#[tokio::test]
async fn a_context_with_everything_in_it_is_one_request() {
    expect![[r#"
        {"model":"claude-test-1","max_tokens":1024,"stream":true,"tools":[{"name":"note","description":"Writes a note.","input_schema":
          {"type":"object","properties":{"text":
          {"type":"string"}},"required":["text"]}}],"system":[
          {"type":"text","text":"You are a friend.","cache_control":
          {"type":"ephemeral"}}],"messages":[
        {"role":"user","content":[
          {"type":"text","text":"[summary of our conversation until here]\nThey like tea."},
          {"type":"image","source":
          {"type":"base64","media_type":"image/png","data":"AAAA"}},
          {"type":"image","source":
          {"type":"base64","media_type":"image/png","data":"BBBB"}},
          {"type":"text","text":"[2026-11-15 Sun 09:00 AM CET]"},
          {"type":"text","text":"look"}]},
        {"role":"assistant","content":[
          {"type" : "thinking","thinking":"h\u00e9","signature":"s+/=", "n":1.0e5},
          {"type":"text","text":"Looking."},
          {"type":"tool_use","id":"a","name":"note","input":{"text": "one", "n": 1.50}},
          {"type":"tool_use","id":"b","name":"note","input":{}},
          {"type":"tool_use","id":"c","name":"note","input":{}}]},
        {"role":"user","content":[
          {"type":"tool_result","tool_use_id":"a","content":"done"},
          {"type":"tool_result","tool_use_id":"b","content":"no such note","is_error":true},
          {"type":"tool_result","tool_use_id":"c","content":"the program was stopped while this ran, so nobody knows whether it happened. it was not repeated. tell the human, and check before doing it again.","is_error":true,"cache_control":
          {"type":"ephemeral"}}]},
        {"role":"assistant","content":[
          {"type":"text","text":"I was saying"},
          {"type":"text","text":"Hello again."}]},
        {"role":"user","content":[
          {"type":"text","text":"one"},
          {"type":"text","text":"two","cache_control":
          {"type":"ephemeral"}}]}]}
    "#]].assert_eq(&sent(&context(everything())).await);
}

/// The end of a request whose last entry is a reply.
const GO_ON: &str = "]},\n{\"role\":\"user\",\"content\":[\n  {\"type\":\"text\",\"text\":\"[Go on.]\"}";

/// Later entries do not change the bytes of earlier ones; only the cache marks move.
#[tokio::test]
async fn every_request_begins_with_the_one_before_it() {
    let unmarked =
        |body: String| body.replace("\n  {\"type\":\"ephemeral\"}", "").replace(",\"cache_control\":", "");
    let all = everything();
    let mut before = String::new();
    for end in [1, 2, 4, 5, 6, 7, 8, 9] {
        let now = unmarked(sent(&context(all[..end].to_vec())).await);
        let open = before.trim_end().trim_end_matches("]}]}");
        let open = open.trim_end_matches(GO_ON);
        assert!(now.starts_with(open), "{end}: {now}\n{open}");
        before = now;
    }
}

#[tokio::test]
async fn a_call_whose_results_are_lost_does_not_spoil_the_conversation() {
    let calls = || Said::Assistant(vec![call("a", "{}")], Reach::Whole);
    for rest in [vec![], vec![human("hello?")], vec![answer("Hm."), human("x")], vec![Said::Tools(vec![])]] {
        let said = [human("hi"), calls()].into_iter().chain(rest).collect();
        assert!(sent(&context(said)).await.contains("nobody knows whether it happened"));
    }
}

#[tokio::test]
async fn a_request_never_ends_with_the_words_of_the_model() {
    let said = sent(&context(vec![human("hi"), answer("Once upon a time \n")])).await;
    assert!(said.contains(r#""text":"Once upon a time"}"#), "{said}");
    let end = said.rsplit("\"role\":").next().unwrap();
    assert!(end.starts_with("\"user\"") && end.contains("[Go on.]"), "{said}");
}

/// EN-7, MC-27: each request sets the thinking mode and effort in the form that its model accepts;
/// the server refuses every other form.
#[tokio::test]
async fn a_model_is_told_how_much_to_think() {
    let server = ModelServer::start().await.unwrap();
    let model = Anthropic::new(Settings { max_tokens: 4096, ..settings(&server.url()) }).unwrap();
    let check = async |id: &str, way: &str, kind: serde_json::Value, effort: serde_json::Value| {
        let thinking: Thinking = way.parse().unwrap();
        let effort_of_the_user = Effort::for_thinking(thinking);
        let asked = Context {
            model: Some(id.to_owned()),
            thinking,
            effort: effort_of_the_user,
            ..context(vec![human("hi")])
        };
        ask(&model, &asked).await.1.unwrap();
        let request = server.requests().pop().unwrap().json;
        let sent = (&request["thinking"]["type"], &request["output_config"]["effort"]);
        assert_eq!(sent, (&kind, &effort), "{id} {way}: {request}");
        let budget = request["thinking"]["budget_tokens"].as_u64().unwrap_or_default();
        assert!(request["max_tokens"].as_u64() > Some(budget), "{id} {way} leaves room: {request}");
    };
    let null = serde_json::Value::Null;
    check("claude-sonnet-5-5", "adaptive", "adaptive".into(), "medium".into()).await;
    check("claude-sonnet-5-5", "64000", "adaptive".into(), "xhigh".into()).await;
    check("claude-sonnet-5-5", "off", "between_tools".into(), "low".into()).await;
    check("claude-opus-5-5", "off", "adaptive".into(), "low".into()).await;
    check("claude-sonnet-5", "off", "disabled".into(), "low".into()).await;
    check("claude-haiku-4-5", "2048", "enabled".into(), null.clone()).await;
    check("claude-haiku-4-5", "off", "disabled".into(), null.clone()).await;
    check("claude-haiku-4-5", "64000", "enabled".into(), null).await;
    assert_eq!(server.refused(), []);
}

/// EN-8: an image without text is sent without an empty text block, which would be refused.
#[tokio::test]
async fn a_picture_may_come_without_words() {
    let image = Image { media_type: "image/webp".to_owned(), data: "AAAA".to_owned() };
    let heard = Heard { preface: String::new(), text: " ".to_owned(), images: vec![image] };
    let sent = sent(&context(vec![Said::Human(heard)])).await;
    let picture = r#"{"type":"base64","media_type":"image/webp","data":"AAAA"},"cache_control""#;
    assert!(sent.contains(picture) && sent.matches(r#""type":"text""#).count() == 1, "{sent}");
}
