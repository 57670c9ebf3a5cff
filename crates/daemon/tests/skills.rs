//! Skills on the command line and in a real directory: listing, consent, and running their
//! commands.

#![expect(clippy::expect_used, reason = "a fixture that cannot be built stops the test")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use daemon::settings::{Environment, Settings};
use daemon::skills::SkillStore;
use daemon::skills::commands::SandboxedCommands;
use daemon::tool_env::LabelledCommands;
use domain::context::skills::NamedSkills;
use domain::label::{Label, Realm};
use domain::schedule::ToolRule;
use journal::disk::RealDisk;
use journal::{OpenParams, open};
use serde_json::{Value, json};
use testkit::TEST_TIMEOUT;
use testkit::model_server::ScriptedReply;
use testkit::process::{BackgroundModelServer, Program, stderr, stdout};
use tools::Availability;
use tools::shell::{NetworkRule, Shell};
use tools::skill::{AllPrograms, CommandRunner, SkillCommandOutcome, SkillStore as _};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

const TIDY_SKILL: &str = "---\nname: \"tidy\"\ndescription: \"Tidies up.\"\nallowed-tools:\n  - \"Read(**.md)\"\n---\n\
    It is !`echo monday`. !`ollim-bot reminder list` !`sh -c 'echo no >&2; exit 4'` !`no-such-program`\n";
const PLAIN_SKILL: &str = "---\nname: \"plain\"\ndescription: \"Words.\"\nallowed-tools:\n  - \"WebFetch\"\n  - \"Read(**.md)\"\n---\nBe kind.\n";

fn with_skills() -> Program {
    let program = Program::offline(BINARY);
    for (name, text) in [("tidy", TIDY_SKILL), ("plain", PLAIN_SKILL)] {
        let dir = program.data().join("skills").join(name);
        std::fs::create_dir_all(&dir).expect("a directory");
        std::fs::write(dir.join("SKILL.md"), text).expect("a file");
    }
    program
}

fn output_of(program: &Program, line: &[&str]) -> String {
    let output = program.run(line);
    assert_eq!(output.status.code(), Some(0), "{line:?}: {}", stderr(&output));
    stdout(&output)
}

fn read_settings(program: &Program) -> Settings {
    let mut environment = Environment::new(|_| None);
    environment.set_data_dir(program.data().to_owned());
    Settings::read(&environment).expect("settings")
}

/// Creates the command runner of the program, with the real binary as the sandbox.
fn sandboxed_commands(settings: &Settings) -> SandboxedCommands {
    let data = settings.paths.root().to_owned();
    let work = data.join("work");
    std::fs::create_dir_all(&work).expect("a folder to work in");
    let shell = Shell {
        sandbox_command: vec![BINARY.to_owned(), "cage".to_owned()],
        data,
        closed: vec!["outside".to_owned(), "work".to_owned()],
        work_dir: work,
        time_zone: "UTC".to_owned(),
        network: NetworkRule::Never,
    };
    SandboxedCommands {
        in_process: LabelledCommands::new(settings, Arc::new(RealDisk)),
        shell: Availability::Available(shell),
    }
}

fn named_skills(names: &[&str]) -> NamedSkills {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    NamedSkills { names, tools: ToolRule::SameAsMain }
}

fn skill_store(settings: &Settings) -> SkillStore {
    let paths = settings.paths.clone();
    let zone = settings.zone.value.clone();
    let now = jiff::Timestamp::UNIX_EPOCH;
    let journal = open(OpenParams { paths, disk: Arc::new(RealDisk), zone, now, pid: std::process::id() });
    SkillStore::new(Arc::new(journal.expect("a journal").journal), Arc::new(sandboxed_commands(settings)))
}

/// SK-5, SK-8 to SK-10, SK-12, BF-4, I6: the skills of a job before consent, after it, and after a
/// change. A skill without consent runs no commands and adds no tools.
#[tokio::test]
async fn commands_run_only_in_accepted_skills() {
    let program = with_skills();
    let settings = read_settings(&program);
    let names = named_skills(&["plain", "nobody", "../x", "tidy"]);
    let loaded = skill_store(&settings).for_job(&names).await;
    assert_eq!(loaded.tools, Vec::<String>::new());
    assert!(
        loaded.section.starts_with(
            "SKILL INSTRUCTIONS:\n### plain\nBe kind.\n\n### tidy\nIt is [command not accepted: echo monday]."
        ),
        "{}",
        loaded.section
    );
    assert!(output_of(&program, &["skills", "accept", "tidy"]).contains("runs echo monday"));
    output_of(&program, &["skills", "accept", "plain"]);
    let loaded = skill_store(&settings).for_job(&names).await;
    let expected = "It is monday. no pending reminders [command failed (exit 4): sh -c 'echo no >&2; exit 4': no] \
                    [command not found: no-such-program]\n";
    assert!(loaded.section.ends_with(expected), "{}", loaded.section);
    assert_eq!(loaded.tools, ["WebFetch", "Read(**.md)"]);
    let private = Label::private(Realm::Files).join(Label::private(Realm::Tasks));
    assert_eq!(loaded.label, private, "what was printed is the human's own");
    let file = program.data().join("skills/tidy/SKILL.md");
    std::fs::write(file, TIDY_SKILL.replace("monday", "tuesday")).expect("a file");
    let changed = skill_store(&settings).load("tidy", &AllPrograms).await.expect("a skill").text;
    assert!(changed.starts_with("It is [command not accepted: echo tuesday]"), "{changed}");
    let none = skill_store(&settings).load("nobody", &AllPrograms).await.expect_err("none");
    assert!(none.contains("`ollim-bot skills list`"), "{none}");
    assert_eq!(skill_store(&settings).for_job(&named_skills(&[])).await.section, "");
}

/// SK-1, SK-4: a skill is a folder with instructions and further files; a conversation loads it by
/// name and reads its files on demand. Output of its commands that comes from outside is labelled.
#[tokio::test]
async fn conversation_loads_a_skill_and_its_files() {
    let program = Program::offline(BINARY);
    let dir = program.data().join("skills/trip");
    std::fs::create_dir_all(&dir).expect("a directory");
    std::fs::write(dir.join("packing.md"), "two socks").expect("a file");
    let text = "---\nname: trip\ndescription: \"Plans a trip.\"\n---\nRead packing.md. !`cat skills/trip/packing.md` \
                !`ollim-bot mail unread`\n";
    std::fs::write(dir.join("SKILL.md"), text).expect("a file");
    let settings = read_settings(&program);
    let store = skill_store(&settings);
    output_of(&program, &["skills", "accept", "trip"]);
    let output = store.load("trip", &AllPrograms).await.expect("a skill");
    assert!(
        output.text.starts_with("Read packing.md. two socks [command failed (exit 1)"),
        "{}",
        output.text
    );
    assert!(
        output.label.is_tainted(),
        "the command was run, and its text is known to be from outside: {output:?}"
    );
    let loaded = store.for_job(&named_skills(&["trip"])).await;
    assert!(loaded.label.is_tainted(), "a job in the background hears it, and is known to have: {loaded:?}");
}

/// SK-4, SU-6: other programs find the skills through a link created at start; a dangling link is
/// replaced, and a real directory stays.
#[test]
fn other_programs_find_the_skills_through_a_link() {
    let program = with_skills();
    let link = program.data().join(".claude/skills");
    std::fs::create_dir_all(program.data().join(".claude")).expect("a directory");
    std::os::unix::fs::symlink("../nowhere", &link).expect("a link");
    program.start().terminate();
    assert!(std::fs::read_to_string(link.join("tidy/SKILL.md")).expect("a skill").contains("Tidies up"));
    std::fs::remove_file(&link).expect("a link");
    std::fs::create_dir(&link).expect("somebody's own");
    program.start().terminate();
    assert!(!link.is_symlink() && link.is_dir());
}

#[test]
fn skills_are_listed_with_their_consent() {
    let program = with_skills();
    std::fs::create_dir_all(program.data().join("skills/broken")).expect("a directory");
    std::fs::write(program.data().join("skills/broken/SKILL.md"), "nothing").expect("a file");
    let listed = output_of(&program, &["skills"]);
    assert!(listed.contains("tidy                      not accepted    Tidies up."), "{listed}");
    assert!(listed.contains("  ! ") && listed.contains("broken/SKILL.md"), "{listed}");
    let early = program.run(&["skills", "accept", "tidy"]);
    assert!(stderr(&early).contains("Start the assistant once"), "{}", stderr(&early));
    output_of(&program, &["chat", "--once", "hello"]);
    output_of(&program, &["skills", "accept", "tidy"]);
    assert!(output_of(&program, &["skills", "list"]).contains("tidy                      accepted "));
    assert!(output_of(&program, &["skills", "show", "tidy"]).contains("  runs ollim-bot reminder list\n"));
    let unknown = program.run(&["skills", "accept", "../tidy"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr(&unknown).contains("like its directory"), "{}", stderr(&unknown));
}

/// Copies a directory recursively.
fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a directory").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a file");
        }
    }
}

/// Adds the skills of `tests/fixtures/skills`, which follow the public specification.
fn with_public_skills(program: &Program) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/skills");
    copy_directory(&fixtures, &program.data().join("skills"));
}

/// SK-2, SK-3: skills that follow the public specification are loaded, and the list names
/// unsupported parts.
#[test]
fn public_skills_load_and_unsupported_parts_are_listed() {
    let program = Program::offline(BINARY);
    with_public_skills(&program);
    let listed = output_of(&program, &["skills", "list"]);
    assert!(!listed.contains("  ! "), "all of them load: {listed}");
    for line in [
        "  git-notes                 not accepted    Writes release notes from the git history.",
        "      note: ignored tools, which do not exist here: `NotebookEdit`\n",
        "      note: compatibility, not checked here: Needs git and jq.\n",
        "  pdf-forms                 not accepted    Fills PDF forms. Use when: the user has a form to fill.\n",
        "      note: ignored tools, which do not exist here: `Task(form-reader)`\n",
        "      note: ignored keys: `argument-hint`\n",
        "      note: `metadata`: is not a map of text to text\n",
        "  Odd_Name                  words only      Has a name that the specification does not allow.\n",
        "      note: its name `Odd Name` differs from its directory; load it as `Odd_Name`\n",
        "`ollim-bot skills accept NAME` accepts one.",
    ] {
        assert!(listed.contains(line), "{line} is missing in {listed}");
    }
    let shown = output_of(&program, &["skills", "show", "git-notes", "--json"]);
    let shown: Value = serde_json::from_str(&shown).expect("json");
    let shown = shown.get("data").unwrap_or(&shown);
    assert_eq!(shown["tools"], json!(["Bash(git *)", "Bash(jq *)", "Read"]));
    assert_eq!(shown["license"], "Apache-2.0");
    assert_eq!(shown["metadata"], json!({ "author": "example-org", "version": "1.10" }));
    assert_eq!(
        shown["files"],
        json!(["references/deep/example.md", "references/format.md", "scripts/collect.sh"])
    );
}

/// SK-1, SK-12: an accepted third-party skill adds the tools that exist here, lists its files, and
/// gives access to them by relative path, but to nothing outside its directory.
#[tokio::test]
async fn public_skills_add_their_tools_and_files() {
    let program = Program::offline(BINARY);
    with_public_skills(&program);
    std::os::unix::fs::symlink(
        "../../release-notes/SKILL.md",
        program.data().join("skills/git-notes/scripts/out.md"),
    )
    .expect("a link");
    let settings = read_settings(&program);
    let store = skill_store(&settings);
    for name in ["git-notes", "pdf-forms", "release-notes"] {
        output_of(&program, &["skills", "accept", name]);
    }
    let loaded = store.for_job(&named_skills(&["git-notes", "pdf-forms", "release-notes"])).await;
    assert_eq!(
        loaded.tools,
        ["Bash(git *)", "Bash(jq *)", "Read", "Write(**.md)", "WebFetch(domain:example.org)", "Grep"]
    );
    let text = store.load("git-notes", &AllPrograms).await.expect("a skill").text;
    assert!(text.starts_with("# Release notes"), "{text}");
    let files =
        "`skills/git-notes`: `references/deep/example.md`, `references/format.md`, `scripts/collect.sh`.";
    assert!(text.contains(files), "{text}");
    let nested = store.read_file("git-notes", "references/deep/example.md").await.expect("a file");
    assert_eq!(nested, "# Example\n\n- Fixed the clock.\n");
    assert!(store.read_file("git-notes", "./scripts/collect.sh").await.expect("a file").contains("git log"));
    for wrong in ["../pdf-forms/SKILL.md", "/etc/passwd", "references", "none.md", "scripts/out.md", "a\0b"] {
        let refused = store.read_file("git-notes", wrong).await.expect_err(wrong);
        assert!(refused.contains("`git-notes`"), "{refused}");
    }
    store.read_file("..", "settings.toml").await.expect_err("no skill");
}

/// SK-4: the model sees only accepted skills, and reads their files with the `Skill` tool.
#[test]
fn model_sees_only_accepted_skills() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    with_public_skills(&program);
    program.start().terminate();
    output_of(&program, &["skills", "accept", "git-notes"]);
    let running = program.start();
    let input = json!({ "skill": "git-notes", "file": "references/format.md" });
    model_server.model().script([
        ScriptedReply::tool_call("Skill", &input),
        ScriptedReply::text("One line per change, then."),
    ]);
    running.send_and_wait("how do i write release notes?").expect("an answer");
    let requests: Vec<Value> = model_server
        .requests()
        .iter()
        .filter_map(|request| serde_json::from_str(&request.body).ok())
        .collect();
    let [.., first, second] = requests.as_slice() else { panic!("{} requests", requests.len()) };
    let system = first["system"].to_string();
    let line = "- `git-notes`: Writes release notes from the git history. Use it when the user asks for a changelog.";
    assert!(system.contains(line), "{system}");
    assert!(!system.contains("pdf-forms") && !system.contains("Odd_Name"), "{system}");
    assert_eq!(first["system"], second["system"]);
    assert!(second["messages"].to_string().contains("# Format"), "{}", second["messages"]);
}

async fn wait_until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {TEST_TIMEOUT:?}");
        tokio::task::yield_now().await;
    }
}

/// SK-6, SK-8, I6: a command runs without a shell in the sandboxed data directory, without our
/// environment, and its child processes end with it.
#[tokio::test]
async fn command_is_isolated_and_leaves_no_process_behind() {
    let program = with_skills();
    let commands = sandboxed_commands(&read_settings(&program));
    let run = async |line: &[&str]| {
        let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        commands.run(&words).await
    };
    assert_eq!(
        run(&["echo", "$HOME;", "|"]).await,
        SkillCommandOutcome::Exited(0, "$HOME; |\n".to_owned(), String::new())
    );
    let SkillCommandOutcome::Exited(0, environment, _) = run(&["env"]).await else { panic!("it runs") };
    let names: Vec<&str> = environment.lines().filter_map(|line| line.split('=').next()).collect();
    let known = ["PATH", "HOME", "LANG", "TERM", "TMPDIR", "TZ", "DATA", "PWD", "OLDPWD", "SHLVL", "_"];
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    let SkillCommandOutcome::Exited(0, directory, _) = run(&["pwd", "-P"]).await else { panic!("it runs") };
    assert!(
        directory.trim_end().ends_with(&*program.data().file_name().expect("a name").to_string_lossy()),
        "{directory}"
    );
    let SkillCommandOutcome::Exited(0, output, _) = run(&["seq", "1", "100000"]).await else {
        panic!("it runs")
    };
    assert_eq!(output.len(), 64 * 1024);
    std::fs::create_dir_all(program.data().join("state")).expect("a directory");
    std::fs::write(program.data().join("state/key"), "secret").expect("a file");
    for wrong in [
        "cat state/key",
        "cat /etc/shadow",
        "touch skills/tidy/x",
        "touch routines/x.md",
        "bash -c 'echo > /dev/tcp/127.0.0.1/9'",
    ] {
        let words = domain::context::skills::split_command(wrong).expect("words");
        let SkillCommandOutcome::Exited(code, printed, _) = commands.run(&words).await else {
            panic!("{wrong} is run")
        };
        assert!(code != 0 && printed.is_empty(), "{wrong}: {code} {printed}");
    }
    let line = "sleep 600 & echo $! > \"$HOME/new\"; mv \"$HOME/new\" \"$HOME/child\"; wait";
    let child = || {
        let work_dirs = std::fs::read_dir(program.data().join("work")).expect("rooms").flatten();
        let numbers = work_dirs.filter_map(|room| std::fs::read_to_string(room.path().join("child")).ok());
        numbers.into_iter().next()
    };
    let started = async {
        wait_until(|| child().is_some()).await;
        child().unwrap_or_default()
    };
    let line = ["sh", "-c", line];
    let number = tokio::select! {
        ended = run(&line) => panic!("{ended:?}"),
        number = started => number,
    };
    let stat = format!("/proc/{}/stat", number.trim());
    wait_until(|| std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "))).await;
}

/// SA-1, SA-3: the subagent files are created at start with the configured names.
#[test]
fn subagent_files_are_created_at_start() {
    let mut program = Program::offline(BINARY);
    program.set_env("OLLIM_USER_NAME", "julius");
    let dir = program.data().join(".claude/agents");
    std::fs::create_dir_all(&dir).expect("a directory");
    std::fs::write(dir.join("mine.md"), "no frontmatter").expect("a file");
    let running = program.start();
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !dir.join("guide.md").exists() {
        running.command("/status").expect("it is there");
        assert!(Instant::now() < deadline, "no guide.md within {TEST_TIMEOUT:?}");
    }
    let guide = std::fs::read_to_string(dir.join("guide.md")).expect("the guide");
    assert!(guide.contains("ollim-bot help search WORDS") && guide.contains("julius's own files"), "{guide}");
    running.terminate();
    let doctor = stdout(&program.run(&["doctor"]));
    assert!(!doctor.contains("guide"), "its tool list is fine: {doctor}");
}

/// SA-10: the guide subagent finds its answer in our documentation and reports it to main.
#[test]
fn guide_subagent_answers_from_our_documentation() {
    let model_server = BackgroundModelServer::start();
    let program = Program::with_model(BINARY, &model_server);
    let running = program.start();
    model_server.model().script([
        ScriptedReply::tool_call(
            "Task",
            &json!({ "subagent_type": "guide", "prompt": "how do i get quiet hours?" }),
        ),
        ScriptedReply::tool_call("Bash", &json!({ "command": "ollim-bot help search quiet hours" })),
        ScriptedReply::text("Say `/quiet 23-7`."),
        ScriptedReply::text("Like that."),
    ]);
    running.send_and_wait("how do i get quiet hours?").expect("an answer");
    let requests: Vec<String> = model_server.requests().into_iter().map(|request| request.body).collect();
    let [.., guide, main] = requests.as_slice() else { panic!("{} requests", requests.len()) };
    assert!(guide.contains("Quiet hours (`/quiet 23-7`), a focus"), "what the page says: {guide}");
    assert!(main.contains("Say `/quiet 23-7`.") && !main.contains("a focus (`/focus 25`)"), "{main}");
}
