//! Permission and stop requests of the real program.

use std::sync::{Arc, Mutex};

use domain::conversation::{Json, Text};
use engine::ports::Model;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use models::claude::{Company, Hooks, Opinion, Permissions, Stopping, Use, Verdict};
use serde_json::json;
use testkit::model_server::Act;

use crate::stage::{Rig, Talk};

/// Blocks the first stop, allows one command, and records the requests.
#[derive(Default)]
struct Strict(Mutex<Vec<String>>);

impl Strict {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

impl Hooks for Strict {
    fn used<'a>(&'a self, used: &'a Use, response: &'a Json) -> BoxFuture<'a, ()> {
        self.note(format!("used {} {}", used.tool, response.0.contains("allowed-output")));
        ready(()).boxed()
    }

    fn stopping<'a>(&'a self, stopping: &'a Stopping) -> BoxFuture<'a, Opinion> {
        self.note(format!("stopping {:?} {}", stopping.last, stopping.again));
        if stopping.again {
            ready(Opinion::None).boxed()
        } else {
            ready(Opinion::Block("report first".to_owned())).boxed()
        }
    }
}

impl Permissions for Strict {
    fn may_use<'a>(&'a self, wanted: &'a Use) -> BoxFuture<'a, Verdict> {
        self.note(format!("may use {}", wanted.tool));
        if wanted.input.0.contains("allowed") {
            ready(Verdict::Allow).boxed()
        } else {
            ready(Verdict::Deny("denied by the human".to_owned())).boxed()
        }
    }
}

/// EN-13.
#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn a_stop_that_is_blocked_is_really_blocked() {
    let strict = Arc::new(Strict::default());
    let rig = Rig::with(|_| {}, Company { hooks: strict.clone(), ..Company::default() }).await;
    rig.server.script([Act::says("I am done."), Act::says("Here is my report.")]);
    let mut talk = Talk::main();
    talk.human("go");
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
async fn a_tool_of_its_own_is_asked_for_and_can_be_denied() {
    let strict = Arc::new(Strict::default());
    let company = Company { permissions: strict.clone(), hooks: strict.clone(), ..Company::default() };
    let rig = Rig::with(|settings| settings.own_tools = vec!["Bash".to_owned()], company).await;
    let bash = |command: &str| Act::calls("Bash", &json!({"command": command, "description": "d"}));
    rig.server.script([bash("touch no"), bash("touch yes; echo allowed-output"), Act::says("Well.")]);
    let mut talk = Talk::main();
    talk.say(&rig.claude, "go").await;
    assert!(!rig.home.path().join("no").exists() && rig.home.path().join("yes").exists());
    assert!(rig.last_request().contains("denied by the human"));
    let asked = strict.0.lock().unwrap().clone();
    assert_eq!(asked[..3], ["may use Bash", "may use Bash", "used Bash true"]);
    rig.claude.close().await;
}

#[tokio::test]
#[ignore = "needs the claude program: `cargo xtask test` installs it"]
async fn without_anybody_to_ask_nothing_is_allowed() {
    let rig = Rig::with(|settings| settings.own_tools = vec!["Bash".to_owned()], Company::default()).await;
    rig.server.script([
        Act::calls("Bash", &json!({"command": "touch no", "description": "d"})),
        Act::says("Well."),
    ]);
    Talk::main().say(&rig.claude, "go").await;
    assert!(!rig.home.path().join("no").exists());
    assert!(rig.last_request().contains("this tool is not allowed here"));
    rig.claude.close().await;
}
