//! Request bodies of chat completions.

use std::sync::Arc;

use domain::context::Context;
use domain::conversation::{Block, Completeness, EntryContent, Image, Opaque, UserInput};
use domain::tool::Outcome;
use expect_test::expect;
use testkit::chat_server::{ChatServer, Style};

use super::support::{answer, call, call_model, context, model, result, user};

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
    let server = ChatServer::start(Style::LlamaCpp).await.unwrap();
    call_model(&model(&server.url()), context).await.1.unwrap();
    let body = server.requests().remove(0).body;
    body.replace(r#"{"role""#, "\n{\"role\"").replace(r#"{"type""#, "\n  {\"type\"") + "\n"
}

/// EN-8: a conversation with every kind of entry becomes one request that the server accepts.
#[tokio::test]
async fn context_with_every_entry_kind_is_one_request() {
    expect![[r#"
        {"model":"test-1","stream":true,"stream_options":{"include_usage":true},"max_tokens":1024,"tools":[
          {"type":"function","function":{"name":"note","description":"Writes a note.","parameters":
          {"type":"object","properties":{"text":
          {"type":"string"}},"required":["text"]}}}],"messages":[
        {"role":"system","content":"You are a friend."},
        {"role":"user","content":[
          {"type":"text","text":"[summary of our conversation until here]\nThey like tea."},
          {"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},
          {"type":"image_url","image_url":{"url":"data:image/png;base64,BBBB"}},
          {"type":"text","text":"[2026-11-15 Sun 09:00 AM CET] look"}]},
        {"role":"assistant","content":"Looking.","tool_calls":[
          {"type":"function","id":"a","function":{"name":"note","arguments":"{\"text\": \"one\", \"n\": 1.50}"}},
          {"type":"function","id":"b","function":{"name":"note","arguments":"{}"}},
          {"type":"function","id":"c","function":{"name":"note","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a","content":"done"},
        {"role":"tool","tool_call_id":"b","content":"no such note"},
        {"role":"tool","tool_call_id":"c","content":"the program was stopped while this ran, so nobody knows whether it happened. it was not repeated. tell the human, and check before doing it again."},
        {"role":"assistant","content":"I was saying\n\nHello again."},
        {"role":"user","content":"one\n\ntwo"}]}
    "#]].assert_eq(&request_body(&context(all_entry_kinds())).await);
}

/// Later entries do not change the bytes of earlier ones.
#[tokio::test]
async fn every_request_begins_with_the_one_before_it() {
    let all = all_entry_kinds();
    let mut before = String::new();
    for end in [2, 4, 5, 6, 7, 8, 9] {
        let now = request_body(&context(all[..end].to_vec())).await;
        let open = before.trim_end().trim_end_matches(['"', ']', '}']);
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

/// Empty instructions and tools are omitted, because some servers refuse empty fields.
#[tokio::test]
async fn empty_fields_are_omitted() {
    let mut bare = context(vec![user("hi")]);
    (bare.tools, bare.instructions) = (Arc::from([]), Arc::from(""));
    expect![[r#"
        {"model":"test-1","stream":true,"stream_options":{"include_usage":true},"max_tokens":1024,"messages":[
        {"role":"user","content":"hi"}]}
    "#]]
    .assert_eq(&request_body(&bare).await);
}

/// EN-8: an image without text is sent without an empty text part, which would be refused.
#[tokio::test]
async fn image_may_be_sent_without_text() {
    let image = Image { media_type: "image/webp".to_owned(), data: "AAAA".to_owned() };
    let heard = UserInput { preface: String::new(), text: " ".to_owned(), images: vec![image] };
    let sent = request_body(&context(vec![EntryContent::User(heard)])).await;
    let picture = r#"{"type":"image_url","image_url":{"url":"data:image/webp;base64,AAAA"}}]}]}"#;
    assert!(sent.contains(picture) && !sent.contains(r#""type":"text""#), "{sent}");
}
