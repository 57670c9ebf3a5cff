//! Skills from the command line and in a real directory: listed, accepted, and run only then.

#![expect(clippy::expect_used, reason = "a fixture that cannot be made stops the test at once")]

use std::sync::Arc;

use daemon::own::OwnCommands;
use daemon::settings::{Environment, Settings};
use daemon::skills::SkillShelf;
use daemon::skills::running::InTheDataDirectory;
use journal::disk::RealDisk;
use journal::{Place, open};
use testkit::kill::{Program, stderr, stdout};
use tools::skill::{Commands, Ended, Skills as _};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

const TIDY: &str = "---\nname: \"tidy\"\ndescription: \"Tidies up.\"\nallowed-tools:\n  - \"Read(**.md)\"\n---\n\
    It is !`echo monday`. !`ollim-bot reminder list` !`sh -c 'echo no >&2; exit 4'` !`no-such-program`\n";
const PLAIN: &str = "---\nname: \"plain\"\ndescription: \"Words.\"\nallowed-tools:\n  - \"WebFetch\"\n  - \"Read(**.md)\"\n---\nBe kind.\n";

fn with_skills() -> Program {
    let program = Program::offline(BINARY);
    for (name, text) in [("tidy", TIDY), ("plain", PLAIN)] {
        let dir = program.data().join("skills").join(name);
        std::fs::create_dir_all(&dir).expect("a directory");
        std::fs::write(dir.join("SKILL.md"), text).expect("a file");
    }
    program
}

fn said(program: &Program, line: &[&str]) -> String {
    let output = program.run(line);
    assert_eq!(output.status.code(), Some(0), "{line:?}: {}", stderr(&output));
    stdout(&output)
}

fn settings(program: &Program) -> Settings {
    let mut environment = Environment::new(|_| None);
    environment.set_data_dir(program.data().to_owned());
    Settings::read(&environment).expect("settings")
}

fn commands(settings: &Settings) -> InTheDataDirectory {
    let own = OwnCommands::new(settings, Arc::new(RealDisk));
    InTheDataDirectory { own, root: settings.paths.root().to_owned() }
}

fn shelf(settings: &Settings) -> SkillShelf {
    let (paths, zone) = (settings.paths.clone(), settings.zone.value.clone());
    let now = jiff::Timestamp::UNIX_EPOCH;
    let journal = open(Place { paths, disk: Arc::new(RealDisk), zone, now, pid: std::process::id() });
    SkillShelf::new(Arc::new(journal.expect("a journal").journal), Arc::new(commands(settings)))
}

/// SK-5, SK-8 to SK-12: what a job gets of its skills, before the human has accepted them, after, and after a change.
#[tokio::test]
async fn commands_run_only_in_skills_that_were_accepted() {
    let program = with_skills();
    let settings = settings(&program);
    let names: Vec<String> = ["plain", "nobody", "../x", "tidy"].map(str::to_owned).to_vec();
    let loaded = shelf(&settings).for_job(&names).await;
    assert_eq!(loaded.tools, ["WebFetch", "Read(**.md)"]);
    assert!(
        loaded.section.starts_with(
            "SKILL INSTRUCTIONS:\n### plain\nBe kind.\n\n### tidy\nIt is [command not accepted: echo monday]."
        ),
        "{}",
        loaded.section
    );
    assert!(said(&program, &["skills", "accept", "tidy"]).contains("runs echo monday"));
    let loaded = shelf(&settings).for_job(&names).await.section;
    let expected = "It is monday. no pending reminders [command failed (exit 4): sh -c 'echo no >&2; exit 4': no] \
                    [command not found: no-such-program]\n";
    assert!(loaded.ends_with(expected), "{loaded}");
    let file = program.data().join("skills/tidy/SKILL.md");
    std::fs::write(file, TIDY.replace("monday", "tuesday")).expect("a file");
    let changed = shelf(&settings).load("tidy").await.expect("a skill");
    assert!(changed.starts_with("It is [command not accepted: echo tuesday]"), "{changed}");
    let none = shelf(&settings).load("nobody").await.expect_err("none");
    assert!(none.contains("`ollim-bot skills list`"), "{none}");
    assert_eq!(shelf(&settings).for_job(&[]).await.section, "");
}

#[test]
fn skills_are_listed_with_what_the_human_made_of_them() {
    let program = with_skills();
    std::fs::create_dir_all(program.data().join("skills/broken")).expect("a directory");
    std::fs::write(program.data().join("skills/broken/SKILL.md"), "nothing").expect("a file");
    let listed = said(&program, &["skills"]);
    assert!(listed.contains("tidy                      not accepted    Tidies up."), "{listed}");
    assert!(listed.contains("  ! ") && listed.contains("broken/SKILL.md"), "{listed}");
    let early = program.run(&["skills", "accept", "tidy"]);
    assert!(stderr(&early).contains("start the assistant once"), "{}", stderr(&early));
    said(&program, &["chat", "--once", "hello"]);
    said(&program, &["skills", "accept", "tidy"]);
    assert!(said(&program, &["skills", "list"]).contains("tidy                      accepted "));
    assert!(said(&program, &["skills", "show", "tidy"]).contains("  runs ollim-bot reminder list\n"));
    let unknown = program.run(&["skills", "accept", "../tidy"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr(&unknown).contains("like its directory"), "{}", stderr(&unknown));
}

async fn until(there: impl Fn() -> bool) {
    while !there() {
        tokio::task::yield_now().await;
    }
}

/// SK-6, SK-8: no shell, the data directory, nothing of our environment, and children go with their parent.
#[tokio::test]
async fn a_command_knows_nothing_of_us_and_leaves_nobody_behind() {
    let program = with_skills();
    let commands = commands(&settings(&program));
    let run = async |line: &[&str]| {
        let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        commands.run(&words).await
    };
    assert_eq!(run(&["echo", "$HOME;", "|"]).await, Ended::Code(0, "$HOME; |\n".to_owned(), String::new()));
    let Ended::Code(0, environment, _) = run(&["env"]).await else { panic!("it runs") };
    let names: Vec<&str> = environment.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(names.iter().all(|name| ["PATH", "HOME", "LANG", "TERM"].contains(name)), "{names:?}");
    let Ended::Code(0, here, _) = run(&["pwd", "-P"]).await else { panic!("it runs") };
    assert!(
        here.trim_end().ends_with(&*program.data().file_name().expect("a name").to_string_lossy()),
        "{here}"
    );
    let Ended::Code(0, much, _) = run(&["seq", "1", "100000"]).await else { panic!("it runs") };
    assert_eq!(much.len(), 64 * 1024);
    let file = program.data().join("child");
    let line = format!("sleep 600 & echo $! > '{0}.new'; mv '{0}.new' '{0}'; wait", file.display());
    let line = ["sh", "-c", &line];
    tokio::select! {
        ended = run(&line) => panic!("{ended:?}"),
        () = until(|| file.exists()) => {}
    }
    let child = std::fs::read_to_string(&file).expect("a number");
    let stat = format!("/proc/{}/stat", child.trim());
    until(|| std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))).await;
}
