//! A stream may break at any event.

use domain::conversation::Block;
use domain::failure::Failure;
use serde_json::json;
use testkit::model_server::{Act, Fault, ModelServer};

use crate::stage::{ask, context, human, model};

const WORDS: &str = "Let me write that down, and then look at what else there is to do for you today.";

fn act() -> Act {
    Act::empty()
        .and_thinks("They want a note, and I can write one.", "EqQBCkYIBRgCKkD")
        .and_says(&WORDS.repeat(5))
        .and_calls("note", &json!({"text": "buy milk, bread and a very long list of other things".repeat(4)}))
        .and_calls("note", &json!({"text": "call the doctor about the appointment of next week".repeat(4)}))
}

/// E2: never half a tool call, never half an answer taken for a whole one.
#[tokio::test]
async fn a_stream_that_breaks_at_any_event_is_a_failure_and_never_half_a_call() {
    let server = ModelServer::start().await.unwrap();
    let model = model(&server.url());
    let context = context(vec![human("note it")]);
    let overloaded = |at| Fault::Error(at, "overloaded_error".to_owned());
    let faults: [&dyn Fn(usize) -> Fault; 5] =
        [&Fault::Cut, &Fault::End, &overloaded, &Fault::Garbage, &Fault::BadJson];
    let mut points = 0;
    for fault in faults {
        for at in 0.. {
            server.script([act().with(fault(at))]);
            let (heard, reply) = ask(&model, &context).await;
            assert!(WORDS.repeat(5).starts_with(&heard));
            match (reply, fault(at)) {
                (Ok(reply), _) => {
                    let calls = reply.blocks.iter().filter(|block| matches!(block, Block::Call(_)));
                    assert_eq!((calls.count(), heard), (2, WORDS.repeat(5)));
                    break;
                }
                (Err(Failure::CutOff(_)), Fault::Cut(_) | Fault::End(_)) => assert!(!heard.is_empty()),
                (Err(Failure::Broken(_)), Fault::Cut(_) | Fault::End(_)) => assert!(heard.is_empty()),
                (Err(Failure::Busy(None)), Fault::Error(..)) => {}
                (Err(Failure::Garbled(_)), Fault::Garbage(_) | Fault::BadJson(_)) => {}
                (Err(failure), fault) => panic!("{fault:?}: {failure:?}"),
            }
            points += 1;
        }
    }
    assert!(points >= 500, "only {points} points");
}
