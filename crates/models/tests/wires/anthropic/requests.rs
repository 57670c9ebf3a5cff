//! Request bodies of the Messages API.

use domain::context::Context;
use domain::conversation::{Block, Completeness, EntryContent, Image, Opaque, UserInput};
use domain::effort::Effort;
use domain::thinking::Thinking;
use domain::tool::Outcome;
use expect_test::expect;
use models::anthropic::{Anthropic, Settings};
use testkit::model_server::ModelServer;

use super::support::{answer, call, call_model, context, model, result, settings, user};

const OPAQUE: &str = r#"{"type" : "thinking","thinking":"h\u00e9","signature":"s+/=", "n":1.0e5}"#;

fn all_entry_kinds() -> Vec<EntryContent> {
    let image = |data: &str| Image { media_type: "image/png".to_owned(), data: data.to_owned() };
    vec![
        EntryContent::Summary("They like tea.".to_owned()),
        EntryContent::User(UserInput {
            preface: "[2026-11-15 Sun 09:00 AM CET]".to_owned(),
            text: "look".to_owned(),
            images: vec![image("AAAA"), image("BBBB")],
        }),
        EntryContent::Assistant(
            vec![
                Block::Opaque(Opaque::anthropic(OPAQUE)),
                Block::Text("Looking. \n".to_owned()),
                Block::Text(" \n".to_owned()),
                call("a", r#"{"text": "one", "n": 1.50}"#),
                call("b", "not json"),
                call("c", "{}"),
            ],
            Completeness::Complete,
        ),
        EntryContent::Tools(vec![
            result("b", "no such note", Outcome::Failed),
            result("a", "done", Outcome::Done),
            result("stray", "?", Outcome::Done),
        ]),
        EntryContent::Assistant(vec![Block::Text("I was saying ".to_owned())], Completeness::Interrupted),
        user(" \n"),
        answer("Hello again."),
        user("one"),
        user("two"),
    ]
}

/// Returns the body of a request, with one line per message and block.
async fn request_body(context: &Context) -> String {
    let server = ModelServer::start().await.unwrap();
    call_model(&model(&server.url()), context).await.1.unwrap();
    let body = server.requests().remove(0).body;
    body.replace(r#"{"role""#, "\n{\"role\"").replace(r#"{"type""#, "\n  {\"type\"") + "\n"
}

/// EN-8: a conversation with every kind of entry becomes one request that the server accepts.
#[tokio::test]
async fn context_with_every_entry_kind_is_one_request() {
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
    "#]].assert_eq(&request_body(&context(all_entry_kinds())).await);
}

/// The end of a request whose last entry is a reply.
const CONTINUE_MESSAGE: &str =
    "]},\n{\"role\":\"user\",\"content\":[\n  {\"type\":\"text\",\"text\":\"[Go on.]\"}";

/// Later entries do not change the bytes of earlier ones; only the cache marks move.
#[tokio::test]
async fn every_request_begins_with_the_one_before_it() {
    let unmarked =
        |body: String| body.replace("\n  {\"type\":\"ephemeral\"}", "").replace(",\"cache_control\":", "");
    let all = all_entry_kinds();
    let mut before = String::new();
    for end in [1, 2, 4, 5, 6, 7, 8, 9] {
        let now = unmarked(request_body(&context(all[..end].to_vec())).await);
        let open = before.trim_end().trim_end_matches("]}]}");
        let open = open.trim_end_matches(CONTINUE_MESSAGE);
        assert!(now.starts_with(open), "{end}: {now}\n{open}");
        before = now;
    }
}

#[tokio::test]
async fn call_without_results_does_not_break_the_conversation() {
    let calls = || EntryContent::Assistant(vec![call("a", "{}")], Completeness::Complete);
    for rest in
        [vec![], vec![user("hello?")], vec![answer("Hm."), user("x")], vec![EntryContent::Tools(vec![])]]
    {
        let said = [user("hi"), calls()].into_iter().chain(rest).collect();
        assert!(request_body(&context(said)).await.contains("nobody knows whether it happened"));
    }
}

#[tokio::test]
async fn request_never_ends_with_a_model_message() {
    let said = request_body(&context(vec![user("hi"), answer("Once upon a time \n")])).await;
    assert!(said.contains(r#""text":"Once upon a time"}"#), "{said}");
    let end = said.rsplit("\"role\":").next().unwrap();
    assert!(end.starts_with("\"user\"") && end.contains("[Go on.]"), "{said}");
}

/// EN-7, MC-27: each request sets the thinking mode and effort in the form that its model accepts;
/// the server refuses every other form.
#[tokio::test]
async fn thinking_and_effort_are_sent_as_the_model_accepts_them() {
    let server = ModelServer::start().await.unwrap();
    let model = Anthropic::new(Settings { max_tokens: 4096, ..settings(&server.url()) }).unwrap();
    let check = async |id: &str, way: &str, kind: serde_json::Value, effort: serde_json::Value| {
        let thinking: Thinking = way.parse().unwrap();
        let effort_of_the_user = Effort::for_thinking(thinking);
        let asked = Context {
            model: Some(id.to_owned()),
            thinking,
            effort: effort_of_the_user,
            ..context(vec![user("hi")])
        };
        call_model(&model, &asked).await.1.unwrap();
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
    assert_eq!(server.refused_requests(), []);
}

/// EN-8: an image without text is sent without an empty text block, which would be refused.
#[tokio::test]
async fn image_may_be_sent_without_text() {
    let image = Image { media_type: "image/webp".to_owned(), data: "AAAA".to_owned() };
    let heard = UserInput { preface: String::new(), text: " ".to_owned(), images: vec![image] };
    let sent = request_body(&context(vec![EntryContent::User(heard)])).await;
    let picture = r#"{"type":"base64","media_type":"image/webp","data":"AAAA"},"cache_control""#;
    assert!(sent.contains(picture) && sent.matches(r#""type":"text""#).count() == 1, "{sent}");
}
