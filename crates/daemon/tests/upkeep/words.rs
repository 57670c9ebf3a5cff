//! The words of the command line: what the first one selects, and how what it writes reaches an assistant that runs.

use testkit::kill::{Program, stderr, stdout};

use crate::rig::{BINARY, run};

/// CL-1: without a word it runs; the first word selects, and those of the earlier program still do.
#[test]
fn the_first_word_selects() {
    let program = Program::offline(BINARY);
    let running =
        program.try_start(program.command(&[])).unwrap_or_else(|(status, told)| panic!("{status}: {told}"));
    assert_eq!(running.get("/api/health").unwrap()["pid"], running.pid());
    running.terminate();
    for word in ["routine", "reminder", "tasks", "cal", "gmail", "setup", "service"] {
        let help = run(&program, &[word, "--help"]);
        assert_eq!(help.status.code(), Some(0), "{word}: {}", stderr(&help));
        assert!(stdout(&help).contains(&format!("ollim-bot {word}")) || word == "gmail", "{}", stdout(&help));
    }
    for word in ["auth", "help", "--help", "-h"] {
        assert_eq!(run(&program, &[word]).status.code(), Some(0), "{word}");
    }
}

/// CL-15: an assistant that runs picks up what the command line wrote.
#[test]
fn what_the_command_line_wrote_is_picked_up() {
    let program = Program::offline(BINARY);
    let running = program.start();
    let added = run(&program, &["reminder", "add", "--delay", "600", "-m", "water the canary palm"]);
    assert_eq!(added.status.code(), Some(0), "{}", stderr(&added));
    let planned = testkit::kill::wait(async {
        loop {
            let planned = running.get("/api/schedule").unwrap().to_string();
            if planned.contains("water the canary palm") {
                return planned;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    assert!(!planned.is_empty());
    running.terminate();
}
