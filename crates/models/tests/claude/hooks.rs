//! Permission and stop requests of the real program.

use std::sync::{Arc, Mutex};

use domain::conversation::{Json, Text};
use engine::ports::Model;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use models::claude::{
    Callbacks, PermissionDecision, PermissionHandler, StopAttempt, StopDecision, ToolUse, TurnHooks,
};
use serde_json::json;
use testkit::model_server::ScriptedReply;

use crate::support::{Conversation, Rig};

/// Blocks the first stop, allows one command, and records the requests.
#[derive(Default)]
struct RecordingCallbacks(Mutex<Vec<String>>);

impl RecordingCallbacks {
    fn record(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

impl TurnHooks for RecordingCallbacks {
    fn after_tool_use<'a>(&'a self, used: &'a ToolUse, response: &'a Json) -> BoxFuture<'a, ()> {
        self.record(format!("used {} {}", used.tool, response.0.contains("allowed-output")));
        ready(()).boxed()
    }

    fn before_stop<'a>(&'a self, stopping: &'a StopAttempt) -> BoxFuture<'a, StopDecision> {
        self.record(format!("stopping {:?} {}", stopping.last_text, stopping.already_blocked));
        if stopping.already_blocked {
            ready(StopDecision::Allow).boxed()
        } else {
            ready(StopDecision::Block("report first".to_owned())).boxed()
        }
    }
}

impl PermissionHandler for RecordingCallbacks {
    fn decide<'a>(&'a self, wanted: &'a ToolUse) -> BoxFuture<'a, PermissionDecision> {
        self.record(format!("may use {}", wanted.tool));
        if wanted.input.0.contains("allowed") {
            ready(PermissionDecision::Allow).boxed()
        } else {
            ready(PermissionDecision::Deny("denied by the human".to_owned())).boxed()
        }
    }
}

/// EN-13.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn blocked_stop_continues_the_turn() {
    let strict = Arc::new(RecordingCallbacks::default());
    let rig = Rig::with(|_| {}, Callbacks { hooks: strict.clone(), ..Callbacks::default() }).await;
    rig.server.script([ScriptedReply::text("I am done."), ScriptedReply::text("Here is my report.")]);
    let mut talk = Conversation::main();
    talk.add_user("go");
    let (heard, reply) = talk.reply(&rig.claude).await;
    assert_eq!(heard, "I am done.\n\nHere is my report.");
    assert_eq!(reply.unwrap().blocks.text(), heard);
    assert!(rig.last_request().contains("report first"));
    let asked = strict.0.lock().unwrap().clone();
    assert_eq!(
        asked,
        [r#"stopping Some("I am done.") false"#, r#"stopping Some("Here is my report.") true"#]
    );
    rig.claude.close().await;
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn built_in_tool_needs_permission_and_can_be_denied() {
    let strict = Arc::new(RecordingCallbacks::default());
    let company = Callbacks { permissions: strict.clone(), hooks: strict.clone(), ..Callbacks::default() };
    let rig = Rig::with(|settings| settings.own_tools = vec!["Bash".to_owned()], company).await;
    let bash =
        |command: &str| ScriptedReply::tool_call("Bash", &json!({"command": command, "description": "d"}));
    rig.server.script([
        bash("touch no"),
        bash("touch yes; echo allowed-output"),
        ScriptedReply::text("Well."),
    ]);
    let mut talk = Conversation::main();
    talk.say(&rig.claude, "go").await;
    assert!(!rig.home.path().join("no").exists() && rig.home.path().join("yes").exists());
    assert!(rig.last_request().contains("denied by the human"));
    let asked = strict.0.lock().unwrap().clone();
    assert_eq!(asked[..3], ["may use Bash", "may use Bash", "used Bash true"]);
    rig.claude.close().await;
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn default_callbacks_allow_no_built_in_tool() {
    let rig = Rig::with(|settings| settings.own_tools = vec!["Bash".to_owned()], Callbacks::default()).await;
    rig.server.script([
        ScriptedReply::tool_call("Bash", &json!({"command": "touch no", "description": "d"})),
        ScriptedReply::text("Well."),
    ]);
    Conversation::main().say(&rig.claude, "go").await;
    assert!(!rig.home.path().join("no").exists());
    assert!(rig.last_request().contains("this tool is not allowed here"));
    rig.claude.close().await;
}
