//! Resource limits of a command, and cleanup of all processes it started.

use serde_json::json;

use crate::rig::Rig;

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_that_it_started() {
    let rig = Rig::new();
    let told = rig
        .call(json!({"command": "echo begun; (while :; do :; done) & while :; do :; done", "timeout": 300}));
    let told = told.unwrap_err();
    assert!(told.contains("ended after 0.3 seconds") && told.ends_with("begun"), "{told}");
    rig.all_gone();
}

#[test]
fn what_a_command_leaves_running_ends_with_it() {
    let rig = Rig::new();
    for stray in [
        "sleep 1000 & echo done",
        "nohup sleep 1000 >/dev/null 2>&1 & disown; echo done",
        "(trap '' TERM HUP INT; exec sleep 1000 >/dev/null 2>&1) & echo done",
        "setsid sleep 1000 >/dev/null 2>&1 & echo done",
        "perl -e 'fork and exit; setpgrp; close STDOUT; close STDERR; sleep 1000'; echo done",
    ] {
        let told = rig.bash(stray).unwrap();
        assert!(told.contains("done"), "{stray}: {told}");
        rig.all_gone();
    }
}

/// A command and all its processes end when its parent ends in any way.
#[test]
fn a_command_does_not_outlive_whoever_started_it() {
    let rig = Rig::new();
    let mut cage = std::process::Command::new(env!("CARGO_BIN_EXE_ollim-bot"))
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
    drop(cage.stdin.take());
    assert!(!cage.wait().unwrap().success());
    rig.all_gone();
}

/// I8: a fork bomb is ended with its call, long before the time limit.
#[test]
fn a_bomb_of_processes_is_put_out() {
    let rig = Rig::new();
    let told = rig.bash("bomb() { bomb | bomb & }; bomb; while :; do :; done").unwrap_err();
    assert!(told.contains("too many processes"), "{told}");
    assert_eq!(rig.bash("echo alive").unwrap(), "alive");
}

/// I8: unbounded files, memory and output are limited.
#[test]
fn what_has_no_end_is_given_one() {
    let rig = Rig::new();
    let told = rig.bash("head -c 10G /dev/zero > big; stat -c %s big").unwrap();
    let size: u64 = told.lines().last().unwrap().parse().unwrap();
    assert!(size <= 256 * 1024 * 1024, "{size}");
    let told = rig.bash("perl -e '$x = \"a\" x 3_000_000_000; print length $x'").unwrap();
    assert!(!told.contains("3000000000"), "{told}");
    let told = rig.call(json!({"command": "yes | head -c 50000000; echo last", "timeout": 60_000})).unwrap();
    assert!(told.chars().count() < 31_000 && told.ends_with("last"), "{}", told.len());
    assert!(told.contains("characters are left out here"));
    let told = rig.bash("ulimit -c; ulimit -n; for i in {1..2000}; do eval \"exec $((i+10))</dev/null\" || break; done 2>&1 | head -1").unwrap();
    assert!(told.starts_with("0\n512"), "{told}");
}

#[test]
fn a_command_that_is_no_command_is_told_what_would_be_right() {
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
