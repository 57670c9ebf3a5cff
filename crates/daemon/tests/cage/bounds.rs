//! Resource limits of a command, and cleanup of all processes it started.

use serde_json::json;

use crate::rig::Rig;

#[test]
fn timeout_ends_a_command_and_its_child_processes() {
    let rig = Rig::new();
    let output = rig
        .call(json!({"command": "echo begun; (while :; do :; done) & while :; do :; done", "timeout": 300}));
    let output = output.unwrap_err();
    assert!(output.contains("ended after 0.3 seconds") && output.ends_with("begun"), "{output}");
    rig.wait_for_no_processes();
}

#[test]
fn background_processes_end_with_their_command() {
    let rig = Rig::new();
    for stray in [
        "sleep 1000 & echo done",
        "nohup sleep 1000 >/dev/null 2>&1 & disown; echo done",
        "(trap '' TERM HUP INT; exec sleep 1000 >/dev/null 2>&1) & echo done",
        "setsid sleep 1000 >/dev/null 2>&1 & echo done",
        "perl -e 'fork and exit; setpgrp; close STDOUT; close STDERR; sleep 1000'; echo done",
    ] {
        let output = rig.bash(stray).unwrap();
        assert!(output.contains("done"), "{stray}: {output}");
        rig.wait_for_no_processes();
    }
}

/// A command and all its processes end when its parent ends in any way.
#[test]
fn command_does_not_outlive_its_parent() {
    let rig = Rig::new();
    let mut sandbox = std::process::Command::new(env!("CARGO_BIN_EXE_ollim-bot"))
        .args(["cage", &std::process::id().to_string(), "--seconds", "50", "--data"])
        .arg(rig.data())
        .arg("--work")
        .arg(rig.work())
        .args(["--", "sleep 1000 & touch ready; sleep 1000"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while !rig.work().join("ready").exists() {
        std::thread::yield_now();
    }
    assert!(rig.processes().len() >= 2);
    drop(sandbox.stdin.take());
    assert!(!sandbox.wait().unwrap().success());
    rig.wait_for_no_processes();
}

/// I8: a fork bomb is ended with its call, long before the time limit.
#[test]
fn fork_bomb_is_stopped() {
    let rig = Rig::new();
    let output = rig.bash("bomb() { bomb | bomb & }; bomb; while :; do :; done").unwrap_err();
    assert!(output.contains("too many processes"), "{output}");
    assert_eq!(rig.bash("echo alive").unwrap(), "alive");
}

/// I8: unbounded files, memory and output are limited.
#[test]
fn unbounded_files_memory_and_output_are_limited() {
    let rig = Rig::new();
    let output = rig.bash("head -c 10G /dev/zero > big; stat -c %s big").unwrap();
    let size: u64 = output.lines().last().unwrap().parse().unwrap();
    assert!(size <= 256 * 1024 * 1024, "{size}");
    let output = rig.bash("perl -e '$x = \"a\" x 3_000_000_000; print length $x'").unwrap();
    assert!(!output.contains("3000000000"), "{output}");
    let output =
        rig.call(json!({"command": "yes | head -c 50000000; echo last", "timeout": 60_000})).unwrap();
    assert!(output.chars().count() < 31_000 && output.ends_with("last"), "{}", output.len());
    assert!(output.contains("characters are left out here"));
    let output = rig.bash("ulimit -c; ulimit -n; for i in {1..2000}; do eval \"exec $((i+10))</dev/null\" || break; done 2>&1 | head -1").unwrap();
    assert!(output.starts_with("0\n512"), "{output}");
}

#[test]
fn invalid_command_gets_a_helpful_error() {
    let rig = Rig::new();
    let long = rig.bash(&"x".repeat(100_001)).unwrap_err();
    assert!(long.contains("write a script into `work/`"), "{long}");
    let nul = rig.bash("echo a\u{0}b").unwrap_err();
    assert!(nul.contains("NUL"), "{nul}");
    let empty = rig.bash("").unwrap_err();
    assert!(empty.contains("`command` must have at least 1 character"), "{empty}");
    let wrong = rig.bash("if then").unwrap();
    assert!(wrong.contains("syntax error") && wrong.contains("exit code 2"), "{wrong}");
}
