//! Skills and subagents as files: lookup by name, installation, and protection of edited files.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
#![expect(clippy::disallowed_methods, reason = "simulates the user, who edits files without the trait Disk")]

use std::path::Path;
use std::sync::Arc;

use domain::context::Names;
use domain::context::agents;
use domain::schedule::ModelName;
use domain::tool::pattern::Pattern;
use jiff::Timestamp;
use journal::disk::RealDisk;
use journal::files::agents::{AgentDirectory, parse};
use journal::files::skills::SkillDirectory;
use journal::{Paths, accept, hash_of, open_read_only, revoke};

const SKILL: &str =
    "---\nname: \"mail\"\ndescription: \"Sorts mail.\"\n---\nRead it: !`ollim-bot gmail unread`\n";

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn read(root: &Path, name: &str) -> String {
    std::fs::read_to_string(root.join(name)).unwrap()
}

/// SK-2, SK-3: a skill is found by its directory name, and never outside of `skills`.
#[test]
fn a_skill_is_found_by_name_and_only_inside_its_directory() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(root, "skills/mail/SKILL.md", SKILL);
    write(root, "skills/empty/notes.md", "nothing");
    write(root, "skills/broken/SKILL.md", "---\nname: [\n---\n");
    write(root, "outside/SKILL.md", SKILL);
    std::os::unix::fs::symlink(root.join("outside"), root.join("skills/linked")).unwrap();
    let skills = SkillDirectory::new(Arc::new(RealDisk), root);
    let kept = skills.find("mail").unwrap().unwrap();
    assert_eq!((kept.directory.as_str(), kept.text.as_str()), ("mail", SKILL));
    assert_eq!(kept.skill.description, "Sorts mail.");
    assert_eq!(skills.find("nobody").unwrap(), None);
    assert_eq!(skills.find("empty").unwrap(), None);
    assert!(skills.find("broken").is_err());
    let linked = skills.find("linked").unwrap_err().to_string();
    assert!(linked.contains("leads out of `skills`"), "{linked}");
    for escape in ["../outside", "mail/../../outside", "", ".", "..", "/etc", "a\0b", "..\\outside"] {
        assert!(skills.find(escape).is_err(), "{escape:?}");
    }
}

/// An acceptance applies to one content: another text of the same name is not accepted.
#[test]
fn an_acceptance_applies_to_one_content() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::new(dir.path());
    std::fs::create_dir_all(paths.state()).unwrap();
    drop(journal::db::Database::open(&paths.database()).unwrap());
    let at = Timestamp::constant(1_794_700_000, 0);
    accept(&paths, "skill:mail", &hash_of(SKILL), at).unwrap();
    accept(&paths, "skill:mail", &hash_of(SKILL), at).unwrap();
    let database = open_read_only(&paths).unwrap().unwrap();
    assert!(database.is_accepted("skill:mail", &hash_of(SKILL)).unwrap());
    assert!(!database.is_accepted("skill:mail", &hash_of(&SKILL.replace("unread", "search"))).unwrap());
    assert!(!database.is_accepted("skill:other", &hash_of(SKILL)).unwrap());
    assert_eq!(database.accepted("skill:mail").unwrap(), [hash_of(SKILL)]);
    revoke(&paths, "skill:mail").unwrap();
    assert!(!database.is_accepted("skill:mail", &hash_of(SKILL)).unwrap());
    assert_eq!(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

fn bundled() -> Vec<(&'static str, String)> {
    agents::bundled(&Names { assistant: "ollim".to_owned(), user: "julius".to_owned() })
}

/// SA-1, SA-2, SA-6 to SA-10: five subagents are bundled, each with its model and tools.
#[test]
fn five_subagents_are_installed_and_readable() {
    let dir = tempfile::tempdir().unwrap();
    let agents = AgentDirectory::new(Arc::new(RealDisk), dir.path());
    agents.install(&bundled()).unwrap();
    let (found, bad) = agents.list().unwrap();
    assert_eq!(bad, []);
    let told: Vec<_> = found
        .iter()
        .map(|agent| (agent.name.as_str(), agent.model.as_ref().map(ModelName::as_str), agent.tools.len()))
        .collect();
    assert_eq!(
        told,
        [
            ("gmail-reader", Some("sonnet"), 1),
            ("guide", Some("haiku"), 7),
            ("history-reviewer", Some("sonnet"), 1),
            ("responsiveness-reviewer", Some("sonnet"), 3),
            ("user-proxy", Some("haiku"), 3),
        ]
    );
    for agent in &found {
        assert!(!agent.description.is_empty() && agent.prompt.contains("julius") || agent.name == "guide");
        assert!(agent.tools.iter().all(|tool| Pattern::parse(tool).is_ok()), "{:?}", agent.tools);
    }
}

/// SA-1, SA-4: an unedited file is updated, an edited one stays, and a missing one is restored.
#[test]
fn an_edited_subagent_is_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let agents = AgentDirectory::new(Arc::new(RealDisk), dir.path());
    let text = |words: &str| format!("---\nname: \"x\"\ntools: []\n---\n{words}\n");
    write(dir.path(), ".claude/agents/theirs.md", &text("mine"));
    let version = |words: &str| vec![("ours", text(words)), ("theirs", text(words))];
    agents.install(&version("one")).unwrap();
    assert_eq!(read(dir.path(), ".claude/agents/ours.md"), text("one"));
    assert_eq!(read(dir.path(), ".claude/agents/theirs.md"), text("mine"), "it was there before");
    agents.install(&version("two")).unwrap();
    assert_eq!(read(dir.path(), ".claude/agents/ours.md"), text("two"));
    write(dir.path(), ".claude/agents/ours.md", &text("edited"));
    agents.install(&version("three")).unwrap();
    assert_eq!(read(dir.path(), ".claude/agents/ours.md"), text("edited"));
    std::fs::remove_file(dir.path().join(".claude/agents/ours.md")).unwrap();
    agents.install(&version("three")).unwrap();
    assert_eq!(read(dir.path(), ".claude/agents/ours.md"), text("three"));
    std::fs::remove_file(dir.path().join("state/agents.json")).unwrap();
    agents.install(&version("three")).unwrap();
    agents.install(&version("four")).unwrap();
    assert_eq!(read(dir.path(), ".claude/agents/ours.md"), text("four"), "what is as we wrote it is ours");
}

/// SA-1, SA-3: before the installation the bundled subagents are listed as they will be, an edited
/// one as it is.
#[test]
fn subagents_are_listed_before_they_are_installed() {
    let dir = tempfile::tempdir().unwrap();
    let agents = AgentDirectory::new(Arc::new(RealDisk), dir.path());
    let edited = "---\nname: \"guide\"\ntools: []\n---\nedited\n";
    write(dir.path(), ".claude/agents/guide.md", edited);
    let (before, bad) = agents.list_after_install(&bundled()).unwrap();
    assert_eq!((before.len(), bad.len()), (5, 0));
    assert!(before.iter().any(|agent| agent.prompt == "edited"), "{before:?}");
    assert_eq!(
        std::fs::read_dir(dir.path().join(".claude/agents")).unwrap().count(),
        1,
        "a look writes nothing"
    );
    agents.install(&bundled()).unwrap();
    assert_eq!(agents.list().unwrap().0, before);
}

/// SA-2, SA-3: the name defaults to that of the file, tools are a list or a text, and a file
/// without tools is left out.
#[test]
fn a_subagent_without_tools_is_left_out() {
    let agent =
        parse("---\ntools: \"Read(**.md), Bash(claude-history *), WebFetch(a,b)\"\n---\nLook.\n", "mine")
            .unwrap();
    assert_eq!(agent.name, "mine");
    assert_eq!(agent.tools, ["Read(**.md)", "Bash(claude-history *)", "WebFetch(a,b)"]);
    assert_eq!(agent.model, None);
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), ".claude/agents/a.md", "no frontmatter");
    write(dir.path(), ".claude/agents/b.md", "---\nname: b\n---\nno tools");
    write(dir.path(), ".claude/agents/c.md", "---\ntools: [\n---\nbad yaml");
    write(dir.path(), ".claude/agents/d.md", "---\nname: d\ntools:\n  - Read\n---\nfine");
    write(dir.path(), ".claude/agents/e.md", "---\nname: d\ntools:\n  - Read\n---\ntwice");
    let (found, bad) = AgentDirectory::new(Arc::new(RealDisk), dir.path()).list().unwrap();
    assert_eq!(found.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>(), ["d"]);
    let bad: Vec<String> = bad.iter().map(ToString::to_string).collect();
    assert_eq!(bad.len(), 4, "{bad:?}");
    assert!(bad[1].contains("`tools`") && bad[3].contains("another file"), "{bad:?}");
}
