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
fn command_writes_its_folder_and_reads_the_data_directory() {
    let rig = Rig::new();
    let output = rig.bash("echo hi; pwd").unwrap();
    assert!(output.starts_with(&format!("hi\n{}/run-", rig.work().display())), "{output}");
    assert_eq!(rig.bash("cat $DATA/notes/n.md > copy && sort copy | head -1").unwrap(), "a note");
    let copy_and_move = "cp $DATA/notes/n.md copy && mkdir -p a/b && mv copy a/b/ && diff a/b/copy $DATA/notes/n.md && ls a/b";
    assert_eq!(rig.bash(copy_and_move).unwrap(), "copy");
    assert!(is_empty(&rig.work()), "nothing is left for the next one to find");
    assert_eq!(rig.bash("true").unwrap(), "(it printed nothing)");
    assert_eq!(rig.bash("echo out; echo err >&2; exit 3").unwrap(), "out\nerr\n(exit code 3)");
    assert_eq!(rig.bash("cat; echo over").unwrap(), "over", "nobody types");
    assert_eq!(rig.bash("umask").unwrap(), "0077");
    assert!(rig.bash("kill -9 $$").unwrap().contains("137"), "the shell was ended by itself");
}

/// J3: no process of a command, nor the sandbox process, inherits our environment.
#[test]
fn command_inherits_no_environment_variable() {
    let rig = Rig::new();
    let output =
        rig.with_running("env > seen; touch ready; until [ -e go ]; do :; done; cat seen", |processes| {
            for process in processes {
                let environ = std::fs::read(process.join("environ")).unwrap();
                let names: BTreeSet<&[u8]> = environ
                    .split(|byte| *byte == 0)
                    .filter_map(|pair| pair.split(|byte| *byte == b'=').next())
                    .collect();
                let allowed: &[&[u8]] = &[
                    b"", b"DATA", b"HOME", b"LANG", b"PATH", b"PWD", b"SHLVL", b"TERM", b"TMPDIR", b"TZ",
                    b"_",
                ];
                assert!(names.iter().all(|name| allowed.contains(name)), "{process:?}: {names:?}");
            }
        });
    let output = output.unwrap();
    assert!(
        output.contains(&format!("HOME={}/run-", rig.work().display()))
            && output.contains("TZ=Europe/Madrid"),
        "{output}"
    );
    assert!(!output.contains("CARGO"), "{output}");
}

/// I8, J3: no process of a command has capabilities, files of ours, or a terminal.
#[test]
fn command_has_no_capability_and_no_inherited_file() {
    let rig = Rig::new();
    let output = rig.with_running("touch ready; until [ -e go ]; do :; done", |processes| {
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
    output.unwrap();
}

/// A single command of our own runs in-process, outside the shell. Anything more runs in the shell
/// and reaches no daemon.
#[test]
fn own_command_runs_outside_the_shell() {
    let rig = Rig::new();
    assert_eq!(rig.bash("ollim-bot tasks add 'buy milk; eggs'").unwrap(), "own: tasks|add|buy milk; eggs");
    let output = rig.bash("ollim-bot tasks list; echo after").unwrap();
    assert!(output.contains("after") && !output.contains("own:"), "{output}");
    let program = env!("CARGO_BIN_EXE_ollim-bot");
    let output = rig.bash(&format!("{program} --data-dir {} status", rig.data().display())).unwrap();
    assert!(!output.contains(SECRET) && output.contains("exit code"), "{output}");
}

/// Network access needs both the configured rule and the flag of the call; file access stays
/// restricted.
#[test]
fn network_needs_the_rule_and_the_flag_of_the_call() {
    let dial = |port: u16| format!("(exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3 && echo reached) 2>&1");
    let never = Rig::new();
    let refused = never.call(json!({"command": "true", "network": true})).unwrap_err();
    assert!(refused.contains("commands have no network here"), "{refused}");
    let rig = Rig::with_network();
    let (port, connections) = rig::listen();
    assert!(!rig.bash(&dial(port)).unwrap().contains("reached"), "it did not ask");
    let output = rig.call(json!({"command": dial(port), "network": true})).unwrap();
    assert!(output.contains("reached"), "{output}");
    assert_eq!(connections(), 1);
    let unix = format!(
        "perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0) or die $!; print \"ESCAPED\"'; cat {}/state/secret",
        rig.data().display()
    );
    let output = rig.call(json!({"command": unix, "network": true})).unwrap();
    assert!(!output.contains("ESCAPED") && !output.contains(SECRET), "{output}");
}
