//! Broken inputs for every target: no panics, and consistent results.

use fuzzing::{FuzzTarget, TARGETS, corpus, fuzz, run_target};

fn fuzz_targets(doors: &[&str], seed: u64, times: u64) {
    for door in TARGETS.iter().filter(|door| doors.contains(&door.name)) {
        let name = door.name;
        if let Err(broken) = fuzz(door, seed, times) {
            let shown = String::from_utf8_lossy(&broken.bytes).into_owned();
            panic!("{name}, seed {seed}: {}\n{:?}\n{shown}", broken.message, broken.bytes);
        }
    }
}

/// G4: all inputs of the corpus, including every former crash, are parsed without a panic.
#[test]
fn corpus_causes_no_panic() {
    for door in TARGETS {
        let known = corpus::inputs(door.name);
        assert!(known.len() >= 3, "fuzz/corpus/{} holds {} files", door.name, known.len());
        for bytes in known {
            assert_eq!(run_target(door, &bytes), Ok(()));
        }
    }
}

/// G3: ten thousand broken files, times and phrases each cause no panic.
#[test]
fn broken_files_and_phrases_cause_no_panic() {
    fuzz_targets(&["frontmatter", "cron", "phrase", "webhook"], 1, 10_000);
}

/// G3: ten thousand broken messages of the gateway, of models and of MCP servers each cause no
/// panic.
#[test]
fn broken_protocol_messages_cause_no_panic() {
    fuzz_targets(&["sse", "claude_lines", "gateway", "mcp"], 2, 10_000);
}

/// G3: ten thousand broken calendars, mails, mailboxes and task lists each cause no panic.
#[test]
fn broken_calendars_and_mails_cause_no_panic() {
    fuzz_targets(&["calendar", "letter", "imap", "tasks"], 3, 10_000);
}

/// G4: like the previous tests, with a million inputs.
#[test]
#[ignore = "a million inputs at every door take half an hour"]
fn many_broken_inputs_cause_no_panic() {
    for round in 0..100 {
        let names: Vec<_> = TARGETS.iter().map(|door| door.name).collect();
        fuzz_targets(&names, 1_000 + round, 10_000);
    }
}

#[test]
fn panicking_target_is_reported() {
    let broken = FuzzTarget { name: "broken", run: |bytes| assert!(bytes.len() < 3, "too long") };
    let output = fuzz(&broken, 1, 1_000).unwrap_err();
    assert_eq!((output.target, output.message.as_str()), ("broken", "too long"));
    assert!(output.bytes.len() >= 3);
}
