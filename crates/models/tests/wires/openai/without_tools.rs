//! A server that cannot call tools is still usable, and the user is notified once.

use domain::context::Context;
use domain::conversation::{Block, Completeness, EntryContent};
use domain::failure::Failure;
use domain::tool::Outcome;
use engine::ports::Model;
use testkit::chat_server::{ChatServer, Style};
use testkit::scripted_replies::ScriptedReply;

use super::support::{answer, call, call_model, context, model, result, user};

const NOTICE: &str = "test-1 cannot use tools, so I can talk but not act: no reminders, files or commands. Choose another model: \
     ollim-bot setup model";

#[tokio::test]
async fn model_without_tools_is_retried_once_without_them() {
    let server = ChatServer::start(Style::NoTools).await.unwrap();
    let model = model(&server.url());
    let first = context(vec![user("hi")]);
    assert_eq!(model.take_notice(), None);
    assert_eq!(call_model(&model, &first).await.1.unwrap().blocks, [Block::Text("you said: hi".to_owned())]);
    assert_eq!((model.take_notice().as_deref(), model.take_notice()), (Some(NOTICE), None));
    let next = context(vec![user("hi"), answer("Hello."), user("and?")]);
    assert_eq!(call_model(&model, &next).await.0, "you said: and?");
    let offered: Vec<_> =
        server.requests().iter().map(|request| request.json.get("tools").is_some()).collect();
    assert_eq!(offered, [true, false, false]);
    assert_eq!(model.take_notice(), None);
}

#[tokio::test]
async fn earlier_tool_results_are_sent_as_plain_text() {
    let server = ChatServer::start(Style::NoTools).await.unwrap();
    let said = vec![
        user("note it"),
        EntryContent::Assistant(
            vec![Block::Text("Noting.".to_owned()), call("a", "{}"), call("b", "{}")],
            Completeness::Complete,
        ),
        EntryContent::Tools(vec![result("a", "kept as 1", Outcome::Done)]),
        user("thanks"),
    ];
    call_model(&model(&server.url()), &context(said)).await.1.unwrap();
    let sent = &server.requests()[1].json["messages"];
    assert_eq!(sent[2], serde_json::json!({"role": "assistant", "content": "Noting."}));
    let words = sent[3]["content"].as_str().unwrap();
    assert!(words.starts_with("[result of note]\nkept as 1\n\n[result of note]\nthe program was stopped"));
    assert!(words.ends_with("\n\nthanks"), "{words}");
}

/// The texts of Ollama, llama.cpp, vLLM, OpenRouter and a server without an explanation.
#[tokio::test]
async fn every_refusal_of_tools_is_recognized() {
    let ways = [
        (400, "registry.ollama.ai/library/gemma:latest does not support tools"),
        (500, "tools param requires --jinja flag"),
        (500, "Unsupported param: tools"),
        (400, "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"),
        (404, "No endpoints found that support tool use. To learn more, visit the page."),
        (501, "Not Implemented"),
        (400, "Unsupported parameter: 'tools' is not supported with this model."),
        (400, "This model does not support tools."),
        (400, "deepseek-r1 does not support Function Calling"),
    ];
    for (status, words) in ways {
        let server = ChatServer::start(Style::OpenAi).await.unwrap();
        server.script([ScriptedReply::refusal(status, "api_error", words), ScriptedReply::text("Hello.")]);
        let model = model(&server.url());
        assert_eq!(call_model(&model, &context(vec![user("hi")])).await.0, "Hello.", "{words}");
        assert_eq!(model.take_notice().as_deref(), Some(NOTICE), "{words}");
    }
}

#[tokio::test]
async fn refusal_for_another_reason_is_not_retried() {
    let ways = [
        (400, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'."),
        (400, "this model does not support images"),
        (
            400,
            "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.",
        ),
        (400, "Invalid schema for function 'note': tools with 'oneOf' are not supported"),
        (400, "messages[3]: each tool call requires a tool message with its result"),
        (400, "This model does not support parallel tool calls."),
        (400, "tools.0.strict: this field is not supported"),
        (404, "model \"tools\" not found"),
        (500, "out of memory"),
        (429, "too many requests for tools; this requires patience"),
    ];
    for (status, words) in ways {
        let server = ChatServer::start(Style::OpenAi).await.unwrap();
        server.script([ScriptedReply::refusal(status, "api_error", words), ScriptedReply::text("Hello.")]);
        let model = model(&server.url());
        assert!(call_model(&model, &context(vec![user("hi")])).await.1.is_err(), "{words}");
        assert_eq!((server.requests().len(), model.take_notice()), (1, None), "{words}");
    }
}

#[tokio::test]
async fn failed_retry_without_tools_keeps_the_tools() {
    let server = ChatServer::start(Style::OpenAi).await.unwrap();
    let refusal = ScriptedReply::refusal(400, "api_error", "this does not support tools");
    server.script([refusal, ScriptedReply::rate_limited(3), ScriptedReply::text("Hello.")]);
    let model = model(&server.url());
    let context = context(vec![user("hi")]);
    assert_eq!(call_model(&model, &context).await.1, Err(Failure::Overloaded(Some(3))));
    assert_eq!(model.take_notice(), None);
    assert_eq!(call_model(&model, &context).await.0, "Hello.");
    assert!(server.requests()[2].json.get("tools").is_some());
}

/// MC-26: the model that a context names answers, and is reported; tools are offered to each model
/// again.
#[tokio::test]
async fn another_model_is_named_and_offered_tools_again() {
    let server = ChatServer::start(Style::NoTools).await.unwrap();
    let model = model(&server.url());
    call_model(&model, &context(vec![user("hi")])).await.1.unwrap();
    model.take_notice();
    let other = Context { model: Some("other:2".to_owned()), ..context(vec![user("hi")]) };
    call_model(&model, &other).await.1.unwrap();
    let asked: Vec<_> = server.requests().iter().map(|request| request.json["model"].to_string()).collect();
    assert_eq!(asked, ["\"test-1\"", "\"test-1\"", "\"other:2\"", "\"other:2\""]);
    assert!(model.take_notice().unwrap().starts_with("other:2 cannot use tools"));
    assert_eq!((model.name_for(&other).as_str(), model.name()), ("openai:other:2", "openai:test-1"));
}
