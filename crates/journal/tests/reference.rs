//! The reference documents: their installation, and the correctness of their examples.
#![expect(clippy::unwrap_used, reason = "data created by the test is readable")]

use std::path::{Path, PathBuf};

use domain::context::{REFERENCES, Reference};
use domain::schedule::{JobTarget, Reminder, Routine, WebhookSpec};
use jiff::tz::TimeZone;
use journal::disk::Disk;
use journal::files::items::Item;
use journal::files::reference::{InstallOutcome, install};
use journal::files::skills;
use testkit::disk::MemoryDisk;

const DATA: &str = "/data";
const OLD: Reference = Reference { name: "skill-spec.md", text: "# Skills\n\nOld words.\n" };
const NEW: Reference = Reference { name: "skill-spec.md", text: "# Skills\n\nNew words.\n" };

fn install_one(disk: &MemoryDisk, document: &Reference) -> InstallOutcome {
    install(disk, Path::new(DATA), std::slice::from_ref(document)).unwrap()[0]
}

fn text(disk: &MemoryDisk) -> String {
    String::from_utf8(disk.read(&Path::new(DATA).join(NEW.name)).unwrap()).unwrap()
}

/// DD-2, SU-6, SP-13: a document is installed at the first start and updated with the program.
#[test]
fn a_document_is_installed_and_updated() {
    let disk = MemoryDisk::default();
    assert_eq!(install_one(&disk, &OLD), InstallOutcome::Written);
    assert!(text(&disk).starts_with(OLD.text));
    let before = disk.files();
    assert_eq!(install_one(&disk, &OLD), InstallOutcome::Unchanged);
    assert_eq!(disk.files(), before);
    disk.put("/data/skill-spec.md.0.tmp", b"half");
    disk.put("/data/mine.tmp", b"whole");
    assert_eq!(install_one(&disk, &NEW), InstallOutcome::Written);
    assert!(text(&disk).starts_with(NEW.text));
    let names: Vec<_> = disk.files().into_keys().collect();
    assert_eq!(
        names,
        ["/data/mine.tmp", "/data/skill-spec.md"].map(PathBuf::from),
        "half a write is cleared away"
    );
}

/// SU-6: a document that the user edited is not updated.
#[test]
fn an_edited_document_is_not_updated() {
    let change = |change: &dyn Fn(String) -> Vec<u8>| {
        let disk = MemoryDisk::default();
        install_one(&disk, &OLD);
        let changed = change(text(&disk));
        disk.put(Path::new(DATA).join(OLD.name), &changed);
        assert_eq!(install_one(&disk, &NEW), InstallOutcome::UserOwned);
        assert_eq!(disk.read(&Path::new(DATA).join(OLD.name)).unwrap(), changed);
    };
    change(&|text| text.replace("Old", "My").into_bytes());
    change(&|text| (text + "My own note.\n").into_bytes());
    change(&|_| b"mine".to_vec());
    change(&|_| Vec::new());
    change(&|_| vec![0xff, 0xfe]);
}

/// The examples of a document: its fenced markdown blocks.
fn examples(name: &str) -> Vec<String> {
    let document = REFERENCES.iter().find(|document| document.name == name).unwrap();
    let blocks = document.text.split("```markdown\n").skip(1);
    blocks.map(|block| block.split_once("```\n").unwrap().0.to_owned()).collect()
}

/// The top-level keys of a frontmatter.
fn keys(example: &str) -> Vec<&str> {
    let head = example.split("---\n").nth(1).unwrap();
    let lines = head.lines().filter(|line| !line.starts_with([' ', '-']));
    lines.map(|line| line.split_once(':').unwrap().0).collect()
}

/// SP-13: every example is a valid file, and all its keys are explained.
#[test]
fn every_example_is_a_valid_file() {
    let zone = TimeZone::UTC;
    let mut routines = Vec::new();
    let mut reminders = Vec::new();
    for example in examples("routine-reminder-spec.md") {
        if example.contains("\ncron: ") {
            routines.push(Routine::read(&example, &zone).unwrap())
        } else {
            reminders.push(Reminder::read(&example, &zone).unwrap())
        }
    }
    assert!(routines.iter().any(|routine| matches!(routine.target, JobTarget::Persistent(_))));
    assert!(routines.iter().any(|routine| matches!(routine.target, JobTarget::Isolated(_))));
    assert!(reminders.iter().any(|reminder| reminder.chain.max > 0));
    let webhooks: Vec<_> =
        examples("webhook-spec.md").iter().map(|text| WebhookSpec::read(text, &zone).unwrap()).collect();
    assert!(webhooks.iter().all(|webhook| webhook.fields.contains(r#""additionalProperties":false"#)));
    let skills: Vec<_> = examples("skill-spec.md").iter().map(|text| skills::parse(text).unwrap()).collect();
    assert!(skills.len() > 1 && skills.iter().all(|skill| skill.is_well_named()));
    for document in &REFERENCES {
        for key in examples(document.name).iter().flat_map(|example| keys(example)) {
            assert!(
                document.text.contains(&format!("`{key}`")),
                "{} does not explain `{key}`",
                document.name
            );
        }
    }
}

/// Checks that the document `name` contains all of `words`.
fn check_mentions(name: &str, words: &str) {
    let document = REFERENCES.iter().find(|document| document.name == name).unwrap();
    for word in words.split("; ") {
        assert!(document.text.contains(word), "{name} does not speak of {word}");
    }
}

/// SP-13, RP-36: the documents mention every field, flag and pattern.
#[test]
fn the_documents_are_complete() {
    let jobs = "routine-reminder-spec.md";
    let voice = "`update-main-session`; `allow-ping`; `allowed-tools`; `disallowed-tools`";
    let terms = "`id`; `model`; `thinking`; `isolated`";
    check_mentions(jobs, terms);
    check_mentions(jobs, voice);
    check_mentions(jobs, "`cron`; `background`; `description`; `skills`; `session`; `run-at`");
    check_mentions(
        jobs,
        "`max-chain`; `chain-depth`; `chain-parent`; follow_up_chain; compact_session; report_updates",
    );
    check_mentions(jobs, "--delay; --max-chain; --no-thinking; --isolated; --update-main-session; --no-ping");
    check_mentions(jobs, "--allowed-tools; --skills; --session persistent");
    check_mentions(jobs, "Gather, then decide; Conditional silence; stand alone; Errors.; Reporting.");
    check_mentions("webhook-spec.md", terms);
    check_mentions("webhook-spec.md", voice);
    check_mentions("webhook-spec.md", "`fields`; Enums over strings; maxLength; additionalProperties: false");
    check_mentions("webhook-spec.md", "WEBHOOK_PORT; WEBHOOK_SECRET; 10 KiB; draft 7");
    check_mentions(
        "skill-spec.md",
        "`name`; `description`; `allowed-tools`; SKILL.md; !`; 10 seconds; 30 for all; 2000",
    );
}
