//! State files changed by another program take effect in the running daemon.
#![expect(clippy::unwrap_used, reason = "the setup of a test must succeed")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::PATIENCE;
use testkit::kill::{Backstage, Event, Program, Running, stderr};
use testkit::model_server::Act;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

struct Rig {
    backstage: Backstage,
    program: Program,
}

impl Rig {
    fn new() -> Self {
        let backstage = Backstage::open();
        backstage.model().answering(|_| Act::says("Fine."));
        let program = Program::answered_by(BINARY, &backstage);
        Self { backstage, program }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.program.data().join("state").join(name)
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }

    fn asked(&self) -> String {
        self.backstage.requests().last().map(|request| request.body.clone()).unwrap_or_default()
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
fn notice(running: &Running, words: &str, change: impl FnOnce()) -> Duration {
    let mut events = running.events().unwrap();
    let changed = Instant::now();
    change();
    let is = |event: &Event| event.data.to_string().contains(words);
    assert!(events.any(|event| is(&event)), "no notice says {words}");
    changed.elapsed()
}

#[test]
fn a_sessions_file_that_is_removed_or_emptied_starts_a_new_session() {
    let rig = Rig::new();
    let running = rig.program.start();
    running.converse("the locker is 417").unwrap();
    let first = rig.read("sessions.json").unwrap();
    let mut logged = 0;
    for text in [None, Some(""), Some("{\"main\": 1}")] {
        let path = rig.path("sessions.json");
        notice(&running, "removed or emptied", || match text {
            None => std::fs::remove_file(&path).unwrap(),
            Some(text) => std::fs::write(&path, text).unwrap(),
        });
        let lines = running.log().matches("state/sessions.json was removed or emptied").count();
        logged += 1;
        assert_eq!(lines, logged, "{text:?}: {}", running.log());
        running.converse("hello again").unwrap();
        assert!(!rig.asked().contains("the locker is 417"), "{text:?}");
        assert_ne!(rig.read("sessions.json").unwrap(), first);
    }
    assert_eq!(rig.history(), ["created"; 4]);
    // Writing the first session id back restores that session.
    notice(&running, "we go on with that", || std::fs::write(rig.path("sessions.json"), &first).unwrap());
    running.converse("what is the locker?").unwrap();
    assert!(rig.asked().contains("the locker is 417"));
    assert!(running.log().contains("state/sessions.json names another session now"), "{}", running.log());
    notice(&running, "which I don't know", || std::fs::write(rig.path("sessions.json"), "strange").unwrap());
    running.converse("hello").unwrap();
    assert!(!rig.asked().contains("the locker is 417"));
    assert!(running.log().contains("state/sessions.json names a session that is not known"));
    assert_eq!(rig.history(), ["created"; 5]);
    running.terminate();
    // A removal while the program is stopped has the same effect.
    std::fs::remove_file(rig.path("sessions.json")).unwrap();
    let running = rig.program.start();
    running.converse("good morning").unwrap();
    assert!(!rig.asked().contains("hello"), "{}", rig.asked());
    assert_eq!(rig.history(), ["created"; 6]);
    running.terminate();
}

/// Each change of a routine's session file takes effect, with a notice and a log line, also if made
/// before the start.
#[test]
fn a_session_file_of_a_routine_that_is_changed_takes_effect_and_is_logged() {
    let rig = Rig::new();
    let file = rig.program.data().join("routines/prices.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text =
        "---\nid: prices\ncron: 0 3 1 1 *\nbackground: true\nsession: persistent\n---\nLook at bread.\n";
    std::fs::write(&file, text).unwrap();
    let runs = || {
        let done = rig.program.run(&["routine", "run", "prices"]);
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
        rig.asked().matches("[routine-bg:prices]").count()
    };
    let session = rig.path("routine_sessions/prices");
    let running = rig.program.start();
    assert_eq!(runs(), 1);
    let first = std::fs::read_to_string(&session).unwrap();
    assert_eq!(runs(), 2);
    let mut logged = 0;
    for text in [None, Some("")] {
        notice(&running, "removed or emptied", || match text {
            None => std::fs::remove_file(&session).unwrap(),
            Some(text) => std::fs::write(&session, text).unwrap(),
        });
        logged += 1;
        let lines = running.log().matches("The session file of a routine was removed or emptied").count();
        assert_eq!(lines, logged, "{text:?}: {}", running.log());
        assert_eq!(runs(), 1, "{text:?}");
    }
    notice(&running, "the routine goes on with it", || std::fs::write(&session, &first).unwrap());
    assert!(running.log().contains("names another session now"), "{}", running.log());
    assert_eq!(runs(), 3);
    notice(&running, "which I don't know", || std::fs::write(&session, "strange").unwrap());
    assert!(running.log().contains("names a session that is not known"), "{}", running.log());
    assert_eq!(runs(), 1);
    running.terminate();
    std::fs::remove_file(&session).unwrap();
    let running = rig.program.start();
    assert!(running.log().contains("The session file of a routine was removed or emptied"));
    assert_eq!(runs(), 1);
    running.terminate();
}

#[test]
fn updates_that_another_program_leaves_reach_the_next_message() {
    let rig = Rig::new();
    let running = rig.program.start();
    running.converse("hello").unwrap();
    let comes = |is: &dyn Fn() -> bool| {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if is() {
                return true;
            }
            std::thread::yield_now();
        }
        false
    };
    let listed = |words: &str| comes(&|| running.get("/api/updates").unwrap().to_string().contains(words));
    let theirs = |text: &str| format!(r#"{{"ts": "2026-03-05T12:31:00.402133-08:00", "message": "{text}"}}"#);
    std::fs::write(rig.path("pending_updates.json"), format!("[{}]", theirs("two mails need answers")))
        .unwrap();
    assert!(listed("two mails need answers"));
    let both = format!("[{}, {}]", theirs("two mails need answers"), theirs("the fern is dry"));
    std::fs::write(rig.path("pending_updates.json"), both).unwrap();
    assert!(listed("the fern is dry"));
    running.converse("what is new?").unwrap();
    let request = rig.asked();
    assert!(request.contains("two mails need answers") && request.contains("the fern is dry"), "{request}");
    assert!(comes(&|| rig.read("pending_updates.json").is_none()), "they are read once");
    running.terminate();
}
