//! The first argument of the command line, and how changes reach a running daemon.

use testkit::process::{Program, stderr, stdout};

use crate::rig::{BINARY, run};

/// CL-1: without arguments the daemon starts; the first argument selects a command, including those
/// of the earlier program.
#[test]
fn first_argument_selects_the_command() {
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

/// CL-15: a running daemon picks up files that the command line wrote.
#[test]
fn running_daemon_picks_up_written_files() {
    let program = Program::offline(BINARY);
    let running = program.start();
    let added = run(&program, &["reminder", "add", "--delay", "600", "-m", "water the canary palm"]);
    assert_eq!(added.status.code(), Some(0), "{}", stderr(&added));
    let planned = testkit::process::block_on(async {
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
