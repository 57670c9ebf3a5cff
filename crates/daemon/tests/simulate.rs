//! `simulate`: its output, its refusals, and that it leaves the data directory untouched.
#![expect(clippy::unwrap_used, reason = "the setup of a test must succeed")]

use std::path::Path;

use expect_test::expect_file;
use serde_json::Value;
use testkit::process::{Program, read_tree, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

const SCRIPT: &str = r#"{
    "routine:night": [[{"ping": "the backup failed"}, {"report": "told about the backup"}], []],
    "routine:feed": [[{"takes": "50m"}], [], [], [], [], [], [], []],
    "routine:diary": [[{"report": "wrote the diary"}]],
    "routine:slow": [[{"takes": "25m"}, {"report": "done at last"}]],
    "routine:broken": [[{"fail": "no mail server"}], [{"fail": "no mail server"}], [{"fail": "no mail server"}], []],
    "routine:loud": [[{"ping": "one"}, {"ping": "two"}, {"ping": "three", "critical": true}, {"report": "three pings"}]],
    "routine:noon": [[{"say": "here is your noon."}]],
    "reminder:chain": [[{"follow_up": 30}, {"say": "did you send it?"}]]
}"#;

/// Creates eight routines and three reminders around the night of `dst_change`, in which the clocks
/// change.
fn sample_program(dst_change: &str) -> Program {
    let mut program = Program::offline(BINARY);
    program.set_env("OLLIM_TIMEZONE", "Europe/Berlin");
    let background = |id: &str, cron: &str, more: &str| {
        format!("---\nid: {id}\ncron: \"{cron}\"\nbackground: true\n{more}---\nDo {id}.\n")
    };
    let routines = [
        background("night", "30 2 * * *", ""),
        background("feed", "*/30 1-4 * * 6,0", "update-main-session: freely\n"),
        background("diary", "0 22 * * *", "session: persistent\nupdate-main-session: always\n"),
        background("slow", "*/10 6 * * 1", "overlap: queue\nupdate-main-session: freely\n"),
        background("broken", "15 7 * * 3", "update-main-session: freely\n"),
        background("loud", "0 9-17/2 * * 5", ""),
        background("never", "0 8 * * 4", "allow-ping: false\nupdate-main-session: blocked\n"),
        "---\nid: noon\ncron: \"0 12 * * *\"\n---\nWhat is for noon?\n".to_owned(),
    ];
    let reminders = [
        format!("---\nid: gap\nrun-at: {dst_change}T02:30:00\n---\nsleep\n"),
        format!("---\nid: chain\nrun-at: {dst_change}T10:00:00\nmax-chain: 2\n---\nSend the letter.\n"),
        "---\nid: past\nrun-at: 2026-01-02T10:00:00+01:00\n---\ntoo late\n".to_owned(),
    ];
    for (folder, files) in [("routines", routines.as_slice()), ("reminders", reminders.as_slice())] {
        let folder = program.data().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        for (number, text) in files.iter().enumerate() {
            std::fs::write(folder.join(format!("{number}.md")), text).unwrap();
        }
    }
    std::fs::write(program.home().join("script.json"), SCRIPT).unwrap();
    program
}

fn simulate(program: &Program, (from, to): (&str, &str), more: &[&str]) -> String {
    let script = program.home().join("script.json");
    let script = script.to_str().unwrap();
    let arguments = [&["simulate", "--from", from, "--to", to, "--script", script], more].concat();
    let output = program.run(&arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

fn assert_week(dst_change: &str, days: (&str, &str), snapshot: &str) {
    let program = sample_program(dst_change);
    let before = read_tree(program.data());
    let output = simulate(&program, days, &[]);
    expect_file![Path::new("snapshots").join(snapshot)].assert_eq(&output);
    assert_eq!(output, simulate(&program, days, &[]), "the same seed is another life");
    assert_eq!(read_tree(program.data()), before, "a simulation changed the data directory");
}

/// C1: a week with a skipped hour.
#[test]
fn spring_week_matches_the_snapshot() {
    assert_week("2026-03-29", ("2026-03-27", "2026-04-03"), "simulated_spring.txt");
}

/// C1: a week with a repeated hour.
#[test]
fn autumn_week_matches_the_snapshot() {
    assert_week("2026-10-25", ("2026-10-23", "2026-10-30"), "simulated_autumn.txt");
}

#[test]
fn json_output_has_the_same_events() {
    let program = sample_program("2026-03-29");
    let days = ("2026-03-27", "2026-03-30");
    let output = simulate(&program, days, &["--json"]);
    let events: Vec<Value> = serde_json::from_str(&output).unwrap();
    assert_eq!(events.len(), simulate(&program, days, &[]).lines().count());
    let of_kind = |kind: &'static str| events.iter().filter(move |fact| fact["kind"] == kind);
    let night: Vec<&Value> = of_kind("fire").filter(|fact| fact["job"] == "routine:night").collect();
    assert_eq!(night[2]["at"], "2026-03-29T03:00:00+02:00");
    assert_eq!(night[2]["late_seconds"], 0);
    let charged = of_kind("budget").next().unwrap();
    assert_eq!((charged["before"].as_f64(), charged["after"].as_f64()), (Some(5.0), Some(4.0)));
    assert!(of_kind("refused").all(|fact| fact["tool"] == "ping_user"));
}

#[test]
fn invalid_simulation_is_refused() {
    let program = sample_program("2026-03-29");
    let check = |arguments: &[&str], words: &str| {
        let output = program.run(&[&["simulate"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    };
    check(&["--from", "2026-03-27"], "--to");
    check(&["--from", "tomorrow", "--to", "2026-03-27"], "`tomorrow` is not a time");
    check(&["--from", "2026-03-27", "--to", "2026-03-26"], "is not after --from");
    check(&["--from", "2026-03-27", "--to", "2036-03-26"], "a year (366 days) is the most");
    let from = "2026-03-27";
    let to = "2026-03-28";
    check(&["--from", from, "--to", to, "--script", "nowhere.json"], "nowhere.json cannot be read");
    std::fs::write(program.home().join("bad.json"), r#"{"routine:night": [[{"pong": 1}]]}"#).unwrap();
    let bad = program.home().join("bad.json");
    check(&["--from", from, "--to", to, "--script", bad.to_str().unwrap()], "is no script");
}

/// Texts of the program itself, such as a digest, are not attributed to the last job.
#[test]
fn digest_is_not_attributed_to_a_job() {
    let mut program = Program::offline(BINARY);
    program.set_env("OLLIM_TIMEZONE", "Europe/Berlin");
    for (file, text) in [
        ("routines/noon.md", "---\nid: noon\ncron: \"0 17 * * *\"\n---\nWhat is for the evening?\n"),
        ("reminders/call.md", "---\nid: call\nrun-at: 2026-03-02T10:00:00\n---\ncall the dentist\n"),
    ] {
        let path = program.data().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let output = stdout(&program.run(&["simulate", "--from", "2026-03-02", "--to", "2026-03-03"]));
    let digest = output.lines().find(|line| line.contains("without an answer")).unwrap();
    assert!(digest.contains("  said       -  "), "{digest}\n{output}");
    let evening = output.lines().find(|line| line.contains("said") && line.contains("routine:noon"));
    assert!(evening.is_some(), "{output}");
}
