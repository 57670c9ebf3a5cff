//! The sandbox of the model's commands, tested with real processes.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod bounds;
mod bypasses;
mod escalation;
mod escapes;
mod rig;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use rig::{Rig, SECRET, is_empty};

#[test]
fn a_command_works_in_its_folder_and_reads_the_rest() {
    let rig = Rig::new();
    let told = rig.bash("echo hi; pwd").unwrap();
    assert!(told.starts_with(&format!("hi\n{}/run-", rig.work().display())), "{told}");
    assert_eq!(rig.bash("cat $DATA/notes/n.md > copy && sort copy | head -1").unwrap(), "a note");
    let moving = "cp $DATA/notes/n.md copy && mkdir -p a/b && mv copy a/b/ && diff a/b/copy $DATA/notes/n.md && ls a/b";
    assert_eq!(rig.bash(moving).unwrap(), "copy");
    assert!(is_empty(&rig.work()), "nothing is left for the next one to find");
    assert_eq!(rig.bash("true").unwrap(), "(it printed nothing)");
    assert_eq!(rig.bash("echo out; echo err >&2; exit 3").unwrap(), "out\nerr\n(exit code 3)");
    assert_eq!(rig.bash("cat; echo over").unwrap(), "over", "nobody types");
    assert_eq!(rig.bash("umask").unwrap(), "0077");
    assert!(rig.bash("kill -9 $$").unwrap().contains("137"), "the shell was ended by itself");
}

/// J3: no process of a command, nor the sandbox process, inherits our environment.
#[test]
fn a_command_finds_no_variable_of_ours() {
    let rig = Rig::new();
    let told =
        rig.with_running("env > seen; touch ready; until [ -e go ]; do :; done; cat seen", |processes| {
            for process in processes {
                let environ = std::fs::read(process.join("environ")).unwrap();
                let names: BTreeSet<&[u8]> = environ
                    .split(|byte| *byte == 0)
                    .filter_map(|pair| pair.split(|byte| *byte == b'=').next())
                    .collect();
                let ours: &[&[u8]] = &[
                    b"", b"DATA", b"HOME", b"LANG", b"PATH", b"PWD", b"SHLVL", b"TERM", b"TMPDIR", b"TZ",
                    b"_",
                ];
                assert!(names.iter().all(|name| ours.contains(name)), "{process:?}: {names:?}");
            }
        });
    let told = told.unwrap();
    assert!(
        told.contains(&format!("HOME={}/run-", rig.work().display())) && told.contains("TZ=Europe/Madrid"),
        "{told}"
    );
    assert!(!told.contains("CARGO"), "{told}");
}

/// I8, J3: no process of a command has capabilities, files of ours, or a terminal.
#[test]
fn a_command_has_no_right_and_no_file_of_ours() {
    let rig = Rig::new();
    let told = rig.with_running("touch ready; until [ -e go ]; do :; done", |processes| {
        assert!(processes.len() >= 2, "the cage and its shell: {processes:?}");
        for process in processes {
            let status = std::fs::read_to_string(process.join("status")).unwrap();
            let field = |name: &str| {
                status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
            };
            assert_eq!((field("CapPrm:"), field("CapEff:")), ("0".repeat(16), "0".repeat(16)));
            assert_eq!((field("NoNewPrivs:").as_str(), field("Seccomp:").as_str()), ("1", "2"));
            let open = std::fs::read_dir(process.join("fd")).unwrap().flatten();
            let open: Vec<_> = open.filter_map(|entry| std::fs::read_link(entry.path()).ok()).collect();
            let harmless = |path: &Path| {
                path == Path::new("/dev/null")
                    || path.starts_with("pipe:")
                    || path.to_string_lossy().starts_with("pipe:")
            };
            assert!(open.iter().all(|path| harmless(path)), "{open:?}");
        }
    });
    told.unwrap();
}

/// A single command of our own runs in-process, outside the shell. Anything more runs in the shell
/// and reaches no daemon.
#[test]
fn a_command_of_ours_runs_outside_of_the_shell() {
    let rig = Rig::new();
    assert_eq!(rig.bash("ollim-bot tasks add 'buy milk; eggs'").unwrap(), "own: tasks|add|buy milk; eggs");
    let told = rig.bash("ollim-bot tasks list; echo after").unwrap();
    assert!(told.contains("after") && !told.contains("own:"), "{told}");
    let program = env!("CARGO_BIN_EXE_ollim-bot");
    let told = rig.bash(&format!("{program} --data-dir {} status", rig.data().display())).unwrap();
    assert!(!told.contains(SECRET) && told.contains("exit code"), "{told}");
}

/// Network access needs both the configured rule and the flag of the call; file access stays
/// restricted.
#[test]
fn network_is_had_when_it_is_allowed_and_asked_for() {
    let dial = |port: u16| format!("(exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3 && echo reached) 2>&1");
    let never = Rig::new();
    let refused = never.call(json!({"command": "true", "network": true})).unwrap_err();
    assert!(refused.contains("commands have no network here"), "{refused}");
    let rig = Rig::with_network();
    let (port, heard) = rig::listen();
    assert!(!rig.bash(&dial(port)).unwrap().contains("reached"), "it did not ask");
    let told = rig.call(json!({"command": dial(port), "network": true})).unwrap();
    assert!(told.contains("reached"), "{told}");
    assert_eq!(heard(), 1);
    let unix = format!(
        "perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0) or die $!; print \"ESCAPED\"'; cat {}/state/secret",
        rig.data().display()
    );
    let told = rig.call(json!({"command": unix, "network": true})).unwrap();
    assert!(!told.contains("ESCAPED") && !told.contains(SECRET), "{told}");
}
