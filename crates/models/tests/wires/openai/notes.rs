//! System notes in the middle of a conversation, such as the one after `/name`: their role, and the
//! stability of the requests around them.

use std::sync::Arc;

use domain::context::{Context, SystemNote};
use domain::conversation::{Completeness, EntryContent};
use domain::tool::Outcome;
use serde_json::{Value, json};
use testkit::chat_server::{ChatServer, Style};
use testkit::scripted_replies::ScriptedReply;

use super::support::{call_model, calls, context, model, result, user};

const NOTE: &str = "Your name is Ada now.";

/// A conversation with a note after its second message, and a tool loop after it. Returns the requests, oldest first.
async fn run_conversation(style: Style) -> (ChatServer, Vec<String>) {
    let server = ChatServer::start(style).await.unwrap();
    let model = model(&server.url());
    let noted = |said: &[EntryContent]| Context {
        notes: vec![SystemNote { after: 2, text: Arc::from(NOTE) }],
        ..context(said.to_vec())
    };
    let mut said = vec![user("hi")];
    let reply = call_model(&model, &context(said.clone())).await.1.unwrap();
    said.extend([EntryContent::Assistant(reply.blocks, Completeness::Complete), user("you are Ada")]);
    server.script([ScriptedReply::tool_call("note", &json!({"text": "Ada"}))]);
    let reply = call_model(&model, &noted(&said)).await.1.unwrap();
    let results = calls(&reply).iter().map(|call| result(&call.id, "done", Outcome::Done)).collect();
    said.extend([
        EntryContent::Assistant(reply.blocks, Completeness::Complete),
        EntryContent::Tools(results),
    ]);
    let reply = call_model(&model, &noted(&said)).await.1.unwrap();
    said.extend([EntryContent::Assistant(reply.blocks, Completeness::Complete), user("who are you?")]);
    call_model(&model, &noted(&said)).await.1.unwrap();
    let bodies = server.requests().into_iter().map(|request| request.body).collect();
    (server, bodies)
}

/// Asserts that each request repeats every byte of the previous one.
fn assert_requests_grow(bodies: &[String]) {
    for pair in bodies.windows(2) {
        let before = pair[0].trim_end_matches([']', '}']);
        assert!(pair[1].starts_with(before), "{}\n{}", pair[0], pair[1]);
    }
}

fn is_note(message: &Value) -> bool {
    message["content"].to_string().contains(NOTE)
}

#[tokio::test]
async fn note_is_a_system_message_where_the_server_accepts_one() {
    for style in
        [Style::OpenAi, Style::DeepSeek, Style::Gemini, Style::OpenRouter, Style::Vllm, Style::Ollama]
    {
        let (server, bodies) = run_conversation(style).await;
        assert_eq!(bodies.len(), 4, "{style:?}: no request was refused");
        assert_requests_grow(&bodies);
        let last = server.requests()[3].json["messages"].clone();
        assert_eq!(last[4], json!({"role": "system", "content": NOTE}), "{style:?}");
        assert_eq!(
            last.as_array().unwrap().iter().filter(|message| is_note(message)).count(),
            1,
            "{style:?}"
        );
    }
}

/// The templates of many local models allow a system message only at the beginning. The server is
/// tried once, and all later requests have the same form.
#[tokio::test]
async fn note_is_user_text_where_the_template_allows_no_system_message() {
    let (server, bodies) = run_conversation(Style::LlamaCpp).await;
    assert_eq!(bodies.len(), 5, "one request was refused");
    assert!(server.requests()[1].json["messages"].as_array().unwrap().last().unwrap()["role"] == "system");
    assert_requests_grow(&bodies[2..]);
    let last = server.requests()[4].json["messages"].clone();
    assert_eq!(
        last[3],
        json!({"role": "user", "content": format!("you are Ada\n\n[system note]\n{NOTE}")}),
        "{last}"
    );
}

#[tokio::test]
async fn note_is_a_developer_message_in_the_responses_api() {
    let (server, bodies) = run_conversation(Style::OpenAiCurrent).await;
    assert_eq!(bodies.len(), 5, "only the first request, which went to chat completions, was refused");
    assert_requests_grow(&bodies[1..]);
    let last = server.requests()[4].json["input"].clone();
    let at = last.as_array().unwrap().iter().position(is_note).unwrap();
    assert_eq!(last[at], json!({"role": "developer", "content": NOTE}));
    assert_eq!(last[at - 1]["content"][0]["text"], "you are Ada");
    assert_eq!(last.as_array().unwrap().iter().filter(|item| is_note(item)).count(), 1);
    let read: Vec<_> = server.usage().iter().map(|usage| usage.cache_read > 0).collect();
    assert_eq!(read, [false, true, true, true], "the cache is read from the second request on");
}
