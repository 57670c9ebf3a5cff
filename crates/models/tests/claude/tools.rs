//! Our tools, called by the real program and run only by the turn.

use domain::conversation::{Block, Text};
use domain::turn::{ModelReply, StopReason};
use engine::ports::Model;
use serde_json::json;
use testkit::model_server::ScriptedReply;

use crate::support::{Conversation, NOTE_TOOL_NAME, Rig};

fn call_inputs(reply: &ModelReply) -> Vec<String> {
    let input = |block: &Block| if let Block::Call(call) = block { Some(call.input.0.clone()) } else { None };
    reply.blocks.iter().filter_map(input).collect()
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn call_ends_the_reply_and_its_result_is_sent_back() {
    let rig = Rig::new().await;
    let call = ScriptedReply::text("One moment.").with_tool_call(NOTE_TOOL_NAME, &json!({"text": "milk"}));
    rig.server.script([call, ScriptedReply::text("Done.")]);
    let mut talk = Conversation::main();
    talk.add_user("note milk");
    let (heard, reply) = talk.reply(&rig.claude).await;
    let reply = reply.unwrap();
    assert_eq!((heard.as_str(), reply.stop_reason), ("One moment.", StopReason::Tools));
    let [Block::Text(_), Block::Call(call)] = &reply.blocks[..] else { panic!("{reply:?}") };
    assert_eq!((call.name.as_str(), call.input.0.as_str()), ("note", r#"{"text":"milk"}"#));
    assert!(call.id.starts_with("toolu_"), "{}", call.id);
    talk.add_results(&reply);
    let (heard, reply) = talk.reply(&rig.claude).await;
    assert_eq!((heard.as_str(), reply.unwrap().stop_reason), ("Done.", StopReason::Finished));
    assert!(rig.last_request().contains("noted {"), "{}", rig.last_request());
    rig.claude.close().await;
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn calls_of_one_message_arrive_in_one_reply_in_order() {
    let rig = Rig::new().await;
    let call = |act: ScriptedReply, text: &str| act.with_tool_call(NOTE_TOOL_NAME, &json!({"text": text}));
    let calls = call(call(call(ScriptedReply::text("Three."), "a"), "b"), "c");
    rig.server.script([calls, ScriptedReply::text("Done.")]);
    let mut talk = Conversation::main();
    talk.add_user("note three things");
    let reply = talk.reply(&rig.claude).await.1.unwrap();
    assert_eq!(call_inputs(&reply), [r#"{"text":"a"}"#, r#"{"text":"b"}"#, r#"{"text":"c"}"#]);
    talk.add_results(&reply);
    assert_eq!(talk.reply(&rig.claude).await.1.unwrap().blocks.text(), "Done.");
    rig.claude.close().await;
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn turn_that_ends_before_its_results_does_not_block_the_next() {
    let rig = Rig::new().await;
    rig.server.script([
        ScriptedReply::tool_call(NOTE_TOOL_NAME, &json!({"text": "milk"})),
        ScriptedReply::text("As you like."),
    ]);
    let mut talk = Conversation::main();
    talk.add_user("note milk");
    let reply = talk.reply(&rig.claude).await.1.unwrap();
    talk.add_results(&reply);
    assert_eq!(talk.say(&rig.claude, "stop that").await, "As you like.");
    let sent = rig.last_request();
    assert!(sent.contains("note answered: noted") && sent.contains("stop that"), "{sent}");
    assert_eq!(rig.notices.processes().len(), 1);
    rig.claude.close().await;
}
