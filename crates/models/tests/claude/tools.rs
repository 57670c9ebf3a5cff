//! Our tools, called by the real program and run only by the turn.

use domain::conversation::{Block, Text};
use domain::turn::{Reply, Stop};
use engine::ports::Model;
use serde_json::json;
use testkit::model_server::Act;

use crate::stage::{NOTED, Rig, Talk};

fn inputs(reply: &Reply) -> Vec<String> {
    let input = |block: &Block| if let Block::Call(call) = block { Some(call.input.0.clone()) } else { None };
    reply.blocks.iter().filter_map(input).collect()
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn a_call_ends_a_reply_and_its_result_goes_back() {
    let rig = Rig::new().await;
    let call = Act::says("One moment.").and_calls(NOTED, &json!({"text": "milk"}));
    rig.server.script([call, Act::says("Done.")]);
    let mut talk = Talk::main();
    talk.human("note milk");
    let (heard, reply) = talk.reply(&rig.claude).await;
    let reply = reply.unwrap();
    assert_eq!((heard.as_str(), reply.stop), ("One moment.", Stop::Tools));
    let [Block::Text(_), Block::Call(call)] = &reply.blocks[..] else { panic!("{reply:?}") };
    assert_eq!((call.name.as_str(), call.input.0.as_str()), ("note", r#"{"text":"milk"}"#));
    assert!(call.id.starts_with("toolu_"), "{}", call.id);
    talk.ran(&reply);
    let (heard, reply) = talk.reply(&rig.claude).await;
    assert_eq!((heard.as_str(), reply.unwrap().stop), ("Done.", Stop::Said));
    assert!(rig.last_request().contains("noted {"), "{}", rig.last_request());
    rig.claude.close().await;
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn calls_of_one_message_come_in_one_reply_and_in_their_order() {
    let rig = Rig::new().await;
    let call = |act: Act, text: &str| act.and_calls(NOTED, &json!({"text": text}));
    let calls = call(call(call(Act::says("Three."), "a"), "b"), "c");
    rig.server.script([calls, Act::says("Done.")]);
    let mut talk = Talk::main();
    talk.human("note three things");
    let reply = talk.reply(&rig.claude).await.1.unwrap();
    assert_eq!(inputs(&reply), [r#"{"text":"a"}"#, r#"{"text":"b"}"#, r#"{"text":"c"}"#]);
    talk.ran(&reply);
    assert_eq!(talk.reply(&rig.claude).await.1.unwrap().blocks.text(), "Done.");
    rig.claude.close().await;
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn a_turn_that_ends_before_its_results_does_not_hang_the_next() {
    let rig = Rig::new().await;
    rig.server.script([Act::calls(NOTED, &json!({"text": "milk"})), Act::says("As you like.")]);
    let mut talk = Talk::main();
    talk.human("note milk");
    let reply = talk.reply(&rig.claude).await.1.unwrap();
    talk.ran(&reply);
    assert_eq!(talk.say(&rig.claude, "stop that").await, "As you like.");
    let sent = rig.last_request();
    assert!(sent.contains("note answered: noted") && sent.contains("stop that"), "{sent}");
    assert_eq!(rig.notices.processes().len(), 1);
    rig.claude.close().await;
}
