//! Turns with the real program.

use domain::conversation::{Block, Completeness, EntryContent, Image, UserInput};
use domain::effort::Effort;
use domain::turn::StopReason;
use engine::ports::Model;
use models::claude::{Callbacks, PermissionMode};
use testkit::model_server::{Gate, ScriptedReply};

use crate::support::{Conversation, Rig, is_running};

/// EN-5: an answer is streamed and ends with its result; the next turn uses the same process.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn turns_stream_and_share_one_process() {
    let rig = Rig::new().await;
    rig.server.script([ScriptedReply::text("Hello there, my friend."), ScriptedReply::text("Still here.")]);
    let mut talk = Conversation::main();
    talk.add_user("hi");
    let (heard, reply) = talk.reply(&rig.claude).await;
    let reply = reply.unwrap();
    assert_eq!(heard, "Hello there, my friend.");
    assert_eq!((reply.blocks, reply.stop_reason), (vec![Block::Text(heard)], StopReason::Finished));
    assert!(reply.usage.output > 0 && reply.usage.cache_write > 0, "{:?}", reply.usage);
    assert_eq!(talk.say(&rig.claude, "and now?").await, "Still here.");
    assert!(rig.last_request().contains("Hello there, my friend."));
    assert_eq!(rig.server.requests().len(), 2);
    let processes = rig.notices.processes();
    assert_eq!(processes.len(), 1);
    rig.claude.close().await;
    assert!(!is_running(processes[0]));
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn user_text_is_never_a_command_and_images_come_first() {
    let rig = Rig::new().await;
    std::fs::write(rig.home.path().join("secret.txt"), "the secret").unwrap();
    let image = Image { media_type: "image/png".to_owned(), data: PIXEL.to_owned() };
    let mut talk = Conversation::main();
    let text = "/compact @secret.txt".to_owned();
    talk.add(EntryContent::User(UserInput { preface: String::new(), text, images: vec![image] }));
    talk.reply(&rig.claude).await.1.unwrap();
    let sent = rig.last_request();
    assert!(sent.contains("/compact @secret.txt") && !sent.contains("the secret"), "{sent}");
    assert!(sent.find("\"image\"").unwrap() < sent.find("/compact").unwrap(), "{sent}");
    rig.claude.close().await;
}

const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn interrupted_answer_keeps_its_text_and_the_next_message_works() {
    let rig = Rig::new().await;
    let gate = Gate::new();
    rig.server.script([
        ScriptedReply::text("Once upon a time there was a").waiting_at_event(5, &gate),
        ScriptedReply::text("Of course."),
    ]);
    let mut talk = Conversation::main();
    talk.add_user("tell me a story");
    let (told, mut words) = tokio::sync::mpsc::unbounded_channel();
    let listener = move |text: &str| told.send(text.to_owned()).unwrap();
    let half = {
        let reply = rig.claude.reply(&talk.0, &listener);
        tokio::select! {
            _ = reply => panic!("it was held"),
            half = words.recv() => half.unwrap(),
        }
    };
    assert!("Once upon a time".starts_with(half.trim_end()), "{half}");
    talk.add(EntryContent::Assistant(vec![Block::Text(half)], Completeness::Interrupted));
    assert_eq!(talk.say(&rig.claude, "shorter please").await, "Of course.");
    let sent = rig.last_request();
    assert!(sent.contains("tell me a story") && sent.contains("shorter please"), "{sent}");
    assert_eq!(sent.matches("tell me a story").count(), 1, "{sent}");
    assert_eq!(rig.notices.processes().len(), 1);
    rig.claude.close().await;
}

/// EN-4, MC-27, IF-4: an effort applies from the next message on; a fork has its own.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn mode_and_effort_change_between_messages() {
    let rig = Rig::new().await;
    let mut talk = Conversation::main();
    let effort_of_the_last = || rig.server.requests().pop().unwrap().json["output_config"]["effort"].clone();
    talk.say(&rig.claude, "one").await;
    assert_eq!(effort_of_the_last(), "low");
    rig.claude.set_mode(PermissionMode::AcceptEdits).await.unwrap();
    talk.0.effort = Effort::High;
    talk.say(&rig.claude, "two").await;
    assert_eq!(effort_of_the_last(), "high");
    let mut fork = talk.fork("aside");
    fork.0.effort = Effort::Low;
    fork.say(&rig.claude, "three").await;
    assert_eq!(effort_of_the_last(), "low");
    rig.claude.close().await;
}

/// RC-3: the next answer comes from the chosen model, in the same process and session.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn chosen_model_answers_from_the_next_message_on() {
    let rig = Rig::with(|settings| settings.runtime.model = None, Callbacks::default()).await;
    let mut talk = Conversation::main();
    talk.say(&rig.claude, "hi").await;
    let usual = rig.server.requests().pop().unwrap().json["model"].as_str().unwrap().to_owned();
    let mut answers = async |model: Option<&str>, begins: &str| {
        talk.0.model = model.map(str::to_owned);
        talk.say(&rig.claude, "who are you?").await;
        let request = rig.server.requests().pop().unwrap().json;
        assert!(request["model"].as_str().unwrap().starts_with(begins), "{}", request["model"]);
        assert!(!request["messages"].to_string().contains("not in your memory"));
        assert_eq!(rig.claude.name_for(&talk.0), format!("claude:{}", request["model"].as_str().unwrap()));
        request["messages"].to_string().matches("you said:").count()
    };
    assert_eq!(answers(Some("opus"), "claude-opus-").await, 1);
    assert_eq!(answers(Some("haiku"), "claude-haiku-").await, 2);
    assert_eq!(answers(None, &usual).await, 3);
    assert_eq!(rig.notices.processes().len(), 1);
    let mut fork = talk.fork("aside");
    fork.0.model = Some("sonnet".to_owned());
    fork.say(&rig.claude, "and here?").await;
    let request = rig.server.requests().pop().unwrap().json;
    assert!(request["model"].as_str().unwrap().starts_with("claude-sonnet-"), "{}", request["model"]);
    rig.claude.close().await;
}
