//! Streams that break at every possible event.

use domain::failure::Failure;
use serde_json::json;
use testkit::chat_server::Style;
use testkit::play::{Act, Fault};

use crate::stage::{ask, calls, context, human};
use crate::wire::{Server, Wire};

const WORDS: &str = "Let me write that down, and then look at what else there is to do for you today.";

fn act() -> Act {
    Act::empty()
        .and_thinks("They want a note, and I can write one.", "EqQBCkYIBRgCKkD")
        .and_says(&WORDS.repeat(5))
        .and_calls("note", &json!({"text": "buy milk, bread and a very long list of other things".repeat(4)}))
        .and_calls("note", &json!({"text": "call the doctor about the appointment of next week".repeat(4)}))
}

/// E2: never a partial tool call, and never a partial answer taken for a complete one.
#[tokio::test]
async fn a_stream_that_breaks_at_any_event_is_a_failure_and_never_half_a_call() {
    check(&[Wire::Messages]).await;
}

/// E2: the same for all kinds of chat servers.
#[tokio::test]
async fn a_stream_of_any_chat_server_that_breaks_is_a_failure_and_never_half_a_call() {
    check(&[Style::OpenAi, Style::Ollama, Style::LlamaCpp, Style::Sloppy].map(Wire::Chat)).await;
}

async fn check(wires: &[Wire]) {
    let mut points = 0;
    for wire in wires {
        let server = wire.serve().await;
        let overloaded = |at| Fault::Error(at, "overloaded_error".to_owned());
        let faults: [&dyn Fn(usize) -> Fault; 5] =
            [&Fault::Cut, &Fault::End, &overloaded, &Fault::Garbage, &Fault::BadJson];
        for fault in faults {
            points += broken_at_every_event(*wire, &server, fault).await;
        }
    }
    assert!(points >= 500, "only {points} points");
}

async fn broken_at_every_event(wire: Wire, server: &Server, fault: &dyn Fn(usize) -> Fault) -> usize {
    let model = wire.model(&server.url());
    let context = context(vec![human("note it")]);
    for at in 0.. {
        server.script(act().with(fault(at)));
        let (heard, reply) = ask(model.as_ref(), &context).await;
        assert!(WORDS.repeat(5).starts_with(&heard));
        match (reply, fault(at)) {
            (Ok(reply), _) => {
                let given: Vec<_> = calls(&reply).into_iter().map(|call| call.input.0).collect();
                assert_eq!((given.len(), heard), (2, WORDS.repeat(5)));
                assert!(given[0].contains("buy milk") && given[1].contains("call the doctor"));
                return at;
            }
            (Err(Failure::CutOff(_)), Fault::Cut(_) | Fault::End(_)) => assert!(!heard.is_empty()),
            (Err(Failure::Broken(_)), Fault::Cut(_) | Fault::End(_)) => assert!(heard.is_empty()),
            (Err(Failure::Busy(None)), Fault::Error(..)) => {}
            (Err(Failure::Garbled(_)), Fault::Garbage(_) | Fault::BadJson(_)) => {}
            (Err(failure), fault) => panic!("{fault:?}: {failure:?}"),
        }
    }
    unreachable!()
}
