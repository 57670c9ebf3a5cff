//! Streams that break at every possible event.

use domain::failure::Failure;
use serde_json::json;
use testkit::chat_server::Style;
use testkit::scripted_replies::{ReplyFault, ScriptedReply};

use crate::api::{ApiKind, Server};
use crate::support::{call_model, calls, context, user};

const TEXT: &str = "Let me write that down, and then look at what else there is to do for you today.";

fn act() -> ScriptedReply {
    ScriptedReply::empty()
        .with_thinking("They want a note, and I can write one.", "EqQBCkYIBRgCKkD")
        .with_text(&TEXT.repeat(5))
        .with_tool_call(
            "note",
            &json!({"text": "buy milk, bread and a very long list of other things".repeat(4)}),
        )
        .with_tool_call(
            "note",
            &json!({"text": "call the doctor about the appointment of next week".repeat(4)}),
        )
}

/// E2: never a partial tool call, and never a partial answer taken for a complete one.
#[tokio::test]
async fn messages_stream_that_breaks_at_any_event_never_yields_a_partial_call() {
    check(&[ApiKind::Messages]).await;
}

/// E2: the same for all kinds of chat servers.
#[tokio::test]
async fn chat_stream_that_breaks_at_any_event_never_yields_a_partial_call() {
    check(&[Style::OpenAi, Style::Ollama, Style::LlamaCpp, Style::Sloppy].map(ApiKind::Chat)).await;
}

async fn check(wires: &[ApiKind]) {
    let mut points = 0;
    for wire in wires {
        let server = wire.start_server().await;
        let overloaded = |at| ReplyFault::Error(at, "overloaded_error".to_owned());
        let faults: [&dyn Fn(usize) -> ReplyFault; 5] =
            [&ReplyFault::Cut, &ReplyFault::End, &overloaded, &ReplyFault::Garbage, &ReplyFault::BadJson];
        for fault in faults {
            points += broken_at_every_event(*wire, &server, fault).await;
        }
    }
    assert!(points >= 500, "only {points} points");
}

async fn broken_at_every_event(wire: ApiKind, server: &Server, fault: &dyn Fn(usize) -> ReplyFault) -> usize {
    let model = wire.model(&server.url());
    let context = context(vec![user("note it")]);
    for at in 0.. {
        server.script(act().with_fault(fault(at)));
        let (heard, reply) = call_model(model.as_ref(), &context).await;
        assert!(TEXT.repeat(5).starts_with(&heard));
        match (reply, fault(at)) {
            (Ok(reply), _) => {
                let given: Vec<_> = calls(&reply).into_iter().map(|call| call.input.0).collect();
                assert_eq!((given.len(), heard), (2, TEXT.repeat(5)));
                assert!(given[0].contains("buy milk") && given[1].contains("call the doctor"));
                return at;
            }
            (Err(Failure::CutOff(_)), ReplyFault::Cut(_) | ReplyFault::End(_)) => assert!(!heard.is_empty()),
            (Err(Failure::VendorError(_)), ReplyFault::Cut(_) | ReplyFault::End(_)) => {
                assert!(heard.is_empty())
            }
            (Err(Failure::Overloaded(None)), ReplyFault::Error(..)) => {}
            (Err(Failure::InvalidResponse(_)), ReplyFault::Garbage(_) | ReplyFault::BadJson(_)) => {}
            (Err(failure), fault) => panic!("{fault:?}: {failure:?}"),
        }
    }
    unreachable!()
}
