//! State files changed by another program take effect in the running daemon.
#![expect(clippy::unwrap_used, reason = "the setup of a test must succeed")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::TEST_TIMEOUT;
use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, Program, RunningProgram, StreamEvent, stderr};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

struct Rig {
    model_server: BackgroundModelServer,
    program: Program,
}

impl Rig {
    fn new() -> Self {
        let model_server = BackgroundModelServer::start();
        model_server.model().answering(|_| ScriptedReply::text("Fine."));
        let program = Program::with_model(BINARY, &model_server);
        Self { model_server, program }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.program.data().join("state").join(name)
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }

    fn last_request(&self) -> String {
        self.model_server.requests().last().map(|request| request.body.clone()).unwrap_or_default()
    }

    /// Returns the events of `session_history.jsonl`.
    fn history(&self) -> Vec<String> {
        let text = self.read("session_history.jsonl").unwrap_or_default();
        let event =
            |line: &str| serde_json::from_str::<Value>(line).unwrap()["event"].as_str().unwrap().to_owned();
        text.lines().map(event).collect()
    }
}

/// Applies `change` to a file, and waits for a notice that contains `words`. Returns the delay,
/// normally below a second.
fn change_and_wait_for_notice(running: &RunningProgram, words: &str, change: impl FnOnce()) -> Duration {
    let mut events = running.events().unwrap();
    let changed = Instant::now();
    change();
    let matches = |event: &StreamEvent| event.data.to_string().contains(words);
    assert!(events.any(|event| matches(&event)), "no notice says {words}");
    changed.elapsed()
}

#[test]
fn removed_or_emptied_sessions_file_starts_a_new_session() {
    let rig = Rig::new();
    let running = rig.program.start();
    running.send_and_wait("the locker is 417").unwrap();
    let first = rig.read("sessions.json").unwrap();
    let mut logged = 0;
    for text in [None, Some(""), Some("{\"main\": 1}")] {
        let path = rig.path("sessions.json");
        change_and_wait_for_notice(&running, "removed or emptied", || match text {
            None => std::fs::remove_file(&path).unwrap(),
            Some(text) => std::fs::write(&path, text).unwrap(),
        });
        let lines = running.log().matches("state/sessions.json was removed or emptied").count();
        logged += 1;
        assert_eq!(lines, logged, "{text:?}: {}", running.log());
        running.send_and_wait("hello again").unwrap();
        assert!(!rig.last_request().contains("the locker is 417"), "{text:?}");
        assert_ne!(rig.read("sessions.json").unwrap(), first);
    }
    assert_eq!(rig.history(), ["created"; 4]);
    // Writing the first session id back restores that session.
    change_and_wait_for_notice(&running, "we go on with that", || {
        std::fs::write(rig.path("sessions.json"), &first).unwrap()
    });
    running.send_and_wait("what is the locker?").unwrap();
    assert!(rig.last_request().contains("the locker is 417"));
    assert!(running.log().contains("state/sessions.json names another session now"), "{}", running.log());
    change_and_wait_for_notice(&running, "which I don't know", || {
        std::fs::write(rig.path("sessions.json"), "strange").unwrap()
    });
    running.send_and_wait("hello").unwrap();
    assert!(!rig.last_request().contains("the locker is 417"));
    assert!(running.log().contains("state/sessions.json names a session that is not known"));
    assert_eq!(rig.history(), ["created"; 5]);
    running.terminate();
    // A removal while the program is stopped has the same effect.
    std::fs::remove_file(rig.path("sessions.json")).unwrap();
    let running = rig.program.start();
    running.send_and_wait("good morning").unwrap();
    assert!(!rig.last_request().contains("hello"), "{}", rig.last_request());
    assert_eq!(rig.history(), ["created"; 6]);
    running.terminate();
}

/// Each change of a routine's session file takes effect, with a notice and a log line, also if made
/// before the start.
#[test]
fn changed_session_file_of_a_routine_takes_effect_and_is_logged() {
    let rig = Rig::new();
    let file = rig.program.data().join("routines/prices.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text =
        "---\nid: prices\ncron: 0 3 1 1 *\nbackground: true\nsession: persistent\n---\nLook at bread.\n";
    std::fs::write(&file, text).unwrap();
    let run_and_count = || {
        let done = rig.program.run(&["routine", "run", "prices"]);
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
        rig.last_request().matches("[routine-bg:prices]").count()
    };
    let session = rig.path("routine_sessions/prices");
    let running = rig.program.start();
    assert_eq!(run_and_count(), 1);
    let first = std::fs::read_to_string(&session).unwrap();
    assert_eq!(run_and_count(), 2);
    let mut logged = 0;
    for text in [None, Some("")] {
        change_and_wait_for_notice(&running, "removed or emptied", || match text {
            None => std::fs::remove_file(&session).unwrap(),
            Some(text) => std::fs::write(&session, text).unwrap(),
        });
        logged += 1;
        let lines = running.log().matches("The session file of a routine was removed or emptied").count();
        assert_eq!(lines, logged, "{text:?}: {}", running.log());
        assert_eq!(run_and_count(), 1, "{text:?}");
    }
    change_and_wait_for_notice(&running, "the routine goes on with it", || {
        std::fs::write(&session, &first).unwrap()
    });
    assert!(running.log().contains("names another session now"), "{}", running.log());
    assert_eq!(run_and_count(), 3);
    change_and_wait_for_notice(&running, "which I don't know", || {
        std::fs::write(&session, "strange").unwrap()
    });
    assert!(running.log().contains("names a session that is not known"), "{}", running.log());
    assert_eq!(run_and_count(), 1);
    running.terminate();
    std::fs::remove_file(&session).unwrap();
    let running = rig.program.start();
    assert!(running.log().contains("The session file of a routine was removed or emptied"));
    assert_eq!(run_and_count(), 1);
    running.terminate();
}

#[test]
fn updates_of_another_program_reach_the_next_message() {
    let rig = Rig::new();
    let running = rig.program.start();
    running.send_and_wait("hello").unwrap();
    let becomes_true = |condition: &dyn Fn() -> bool| {
        let until = Instant::now() + TEST_TIMEOUT;
        while Instant::now() < until {
            if condition() {
                return true;
            }
            std::thread::yield_now();
        }
        false
    };
    let listed =
        |words: &str| becomes_true(&|| running.get("/api/updates").unwrap().to_string().contains(words));
    let update = |text: &str| format!(r#"{{"ts": "2026-03-05T12:31:00.402133-08:00", "message": "{text}"}}"#);
    std::fs::write(rig.path("pending_updates.json"), format!("[{}]", update("two mails need answers")))
        .unwrap();
    assert!(listed("two mails need answers"));
    let both = format!("[{}, {}]", update("two mails need answers"), update("the fern is dry"));
    std::fs::write(rig.path("pending_updates.json"), both).unwrap();
    assert!(listed("the fern is dry"));
    running.send_and_wait("what is new?").unwrap();
    let request = rig.last_request();
    assert!(request.contains("two mails need answers") && request.contains("the fern is dry"), "{request}");
    assert!(becomes_true(&|| rig.read("pending_updates.json").is_none()), "they are read once");
    running.terminate();
}
