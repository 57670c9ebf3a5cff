//! Broken inputs for every target: no panics, and consistent results.

use fuzzing::{DOORS, Door, corpus, knock, try_one};

fn check(doors: &[&str], seed: u64, times: u64) {
    for door in DOORS.iter().filter(|door| doors.contains(&door.name)) {
        let name = door.name;
        if let Err(broken) = knock(door, seed, times) {
            let shown = String::from_utf8_lossy(&broken.bytes).into_owned();
            panic!("{name}, seed {seed}: {}\n{:?}\n{shown}", broken.said, broken.bytes);
        }
    }
}

/// G4: all inputs of the corpus, including every former crash, are parsed without a panic.
#[test]
fn what_lies_in_the_corpus_breaks_nothing() {
    for door in DOORS {
        let known = corpus::of(door.name);
        assert!(known.len() >= 3, "fuzz/corpus/{} holds {} files", door.name, known.len());
        for bytes in known {
            assert_eq!(try_one(door, &bytes), Ok(()));
        }
    }
}

/// G3: ten thousand broken files, times and phrases each cause no panic.
#[test]
fn broken_files_and_phrases_break_nothing() {
    check(&["frontmatter", "cron", "phrase", "webhook"], 1, 10_000);
}

/// G3: ten thousand broken messages of the gateway, of models and of MCP servers each cause no
/// panic.
#[test]
fn broken_wires_break_nothing() {
    check(&["sse", "claude_lines", "gateway", "mcp"], 2, 10_000);
}

/// G3: ten thousand broken calendars, mails, mailboxes and task lists each cause no panic.
#[test]
fn broken_calendars_and_letters_break_nothing() {
    check(&["calendar", "letter", "imap", "tasks"], 3, 10_000);
}

/// G4: like the previous tests, with a million inputs.
#[test]
#[ignore = "a million inputs at every door take half an hour"]
fn many_broken_words_break_nothing() {
    for round in 0..100 {
        let names: Vec<_> = DOORS.iter().map(|door| door.name).collect();
        check(&names, 1_000 + round, 10_000);
    }
}

#[test]
fn a_door_that_panics_is_told_of() {
    let broken = Door { name: "broken", read: |bytes| assert!(bytes.len() < 3, "too long") };
    let told = knock(&broken, 1, 1_000).unwrap_err();
    assert_eq!((told.door, told.said.as_str()), ("broken", "too long"));
    assert!(told.bytes.len() >= 3);
}
