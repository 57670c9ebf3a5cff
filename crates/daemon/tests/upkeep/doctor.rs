//! The doctor: its fixes, its lint mode, and its findings in foreign directories.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;

use testkit::process::{BackgroundModelServer, Program, stderr, stdout};

use crate::rig::{BINARY, DiscordOnLoopback, fresh_program, mode, parse_json, run};

/// J2: lax file modes are reported with a remedy, fixed by `doctor --fix`, and fixed and reported
/// by every start.
#[test]
fn lax_modes_are_fixed_and_reported() {
    let program = Program::offline(BINARY);
    program.start().terminate();
    let key = program.data().join("state/anthropic.key");
    let state = program.data().join("state");
    let loosen = || {
        std::fs::write(&key, "sk-canary").unwrap();
        set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
        set_permissions(&state, Permissions::from_mode(0o755)).unwrap();
    };
    loosen();
    let report = run(&program, &["doctor"]);
    assert_eq!(report.status.code(), Some(1));
    assert!(stdout(&report).contains("✗ private  others can read "), "{}", stdout(&report));
    assert!(stdout(&report).contains("    fix: ollim-bot doctor --fix"), "{}", stdout(&report));
    let fixed = run(&program, &["doctor", "--fix", "--json"]);
    let result = parse_json(&fixed);
    assert_eq!((fixed.status.code(), &result["ok"]), (Some(0), &true.into()), "{result}");
    assert_eq!(result["mended"].as_array().map(Vec::len), Some(2), "{result}");
    assert_eq!((mode(&key), mode(&state)), (0o600, 0o700));

    std::fs::remove_file(&key).unwrap();
    set_permissions(&state, Permissions::from_mode(0o755)).unwrap();
    let running = program.start();
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    assert!(notices.contains("it is yours alone again"), "{notices}");
    assert_eq!(mode(&state), 0o700);
    running.terminate();
}

/// J2: a secret with a lax mode does not stop the program. The start tightens and uses it, and
/// reports that; and so does the doctor.
#[test]
fn secret_with_a_lax_mode_is_tightened_before_use() {
    let model_server = BackgroundModelServer::start();
    let fake_discord = DiscordOnLoopback::open();
    let mut program = Program::with_model(BINARY, &model_server);
    program.set_env("ANTHROPIC_API_KEY", "").set_env("DISCORD_API_BASE", &fake_discord.api_base());
    let state = program.data().join("state");
    std::fs::create_dir_all(&state).unwrap();
    let secrets = [
        ("anthropic.key", "sk-test".to_owned()),
        ("discord.token", fake_discord.discord.token()),
        ("environment", "OLLIM_USER_NAME=Ann\n".to_owned()),
    ];
    let secrets = secrets.map(|(name, text)| (state.join(name), text));
    let loosen = || {
        for (file, text) in &secrets {
            std::fs::write(file, text).unwrap();
            set_permissions(file, Permissions::from_mode(0o644)).unwrap();
        }
    };
    loosen();
    let running = program.start();
    let health = running.get("/api/health").unwrap();
    assert!(health["notices"].to_string().contains("all is yours alone again."), "{health}");
    assert!(health["brain"].as_str().unwrap().starts_with("anthropic:"), "{health}");
    assert_eq!(health["surfaces"], serde_json::json!(["terminal", "page", "discord"]));
    assert_eq!(secrets.each_ref().map(|(file, _)| mode(file)), [0o600; 3]);
    running.terminate();

    loosen();
    let refused = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(refused.status.code(), Some(78), "who starts nothing mends nothing: {}", stderr(&refused));
    let repaired = run(&program, &["doctor", "--fix", "--json"]);
    let found = parse_json(&repaired);
    assert_eq!((repaired.status.code(), &found["ok"]), (Some(0), &true.into()), "{found}");
    assert_eq!(found["mended"].as_array().map(Vec::len), Some(3), "{found}");
}

/// J2: an unused key with a lax mode is reported by the doctor, and stops nothing.
#[test]
fn unused_key_with_a_lax_mode_stops_nothing() {
    let program = Program::offline(BINARY);
    program.start().terminate();
    let key = program.data().join("state/anthropic.key");
    std::fs::write(&key, "sk-canary").unwrap();
    set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    let output = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&run(&program, &["doctor"])).contains("✗ private  others can read "));
}

/// J2: the modes of a foreign path are not changed, even if it is configured as the data directory.
#[test]
fn foreign_path_is_not_tightened() {
    let mut program = Program::offline(BINARY);
    for (place, is_directory) in [("file", false), ("folder", true)] {
        let place = program.home().join(place);
        if is_directory {
            std::fs::create_dir(&place).unwrap()
        } else {
            std::fs::write(&place, "mine").unwrap()
        }
        set_permissions(&place, Permissions::from_mode(0o755)).unwrap();
        program.set_data_dir(&place);
        run(&program, &["doctor", "--fix"]);
        assert_eq!(mode(&place), 0o755, "{}", place.display());
    }
}

/// Temporary files of a running daemon or export are not removed.
#[test]
fn temporary_files_in_use_are_not_removed() {
    let program = Program::offline(BINARY);
    let running = program.start();
    let state = program.data().join("state");
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let temporary = ["config.json.0.tmp".to_owned(), format!("export-{}.tmp", ended.id())];
    let export_file = state.join(format!("export-{}.tmp", std::process::id()));
    for name in &temporary {
        std::fs::write(state.join(name), "half").unwrap();
    }
    std::fs::write(&export_file, "half").unwrap();
    let exist = || temporary.clone().map(|name| state.join(name).exists());

    let report = run(&program, &["doctor", "--fix"]);
    assert_eq!(exist(), [true, true], "the assistant may be writing them");
    let expected = "✓ sweep    the assistant runs, so what is half-written is left to it";
    assert!(stdout(&report).contains(expected), "{}", stdout(&report));

    running.kill();
    let repaired = parse_json(&run(&program, &["doctor", "--fix", "--json"]));
    assert_eq!(exist(), [false, false], "{repaired}");
    assert!(export_file.exists(), "an export is at it");
    program.start().terminate();
    assert!(export_file.exists(), "an export is at it");
}

/// With `--lint`, one invalid file is a failure, reported with line and reason; no model is
/// checked.
#[test]
fn invalid_file_fails_the_lint() {
    let program = fresh_program();
    let fine = run(&program, &["doctor", "--lint"]);
    assert_eq!((fine.status.code(), stdout(&fine).as_str()), (Some(0), "all files can be read and used\n"));
    let routines = program.data().join("routines");
    std::fs::create_dir_all(&routines).unwrap();
    std::fs::write(routines.join("bad.md"), "---\nid: bad\ncron: every day\n---\nx\n").unwrap();
    let bad = run(&program, &["doctor", "--lint"]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(stdout(&bad).contains("! jobs     routines/bad.md: line 3"), "{}", stdout(&bad));
    assert!(!stdout(&bad).contains("model"), "{}", stdout(&bad));
    assert!(stdout(&bad).ends_with("\n1 to mend\n"), "{}", stdout(&bad));
    assert_eq!(run(&program, &["doctor"]).status.code(), Some(0), "it stops nobody but who lints");
    let misspelt = "---\nid: bad\ncron: 0 8 * * *\nbakground: true\nmood: calm\nmodel: gpt\n---\nx\n";
    std::fs::write(routines.join("bad.md"), misspelt).unwrap();
    let webhooks = program.data().join("webhooks");
    std::fs::create_dir_all(&webhooks).unwrap();
    let hook = "---\nid: gh\nfields: {}\ndelivr: x\n---\nlook\n";
    std::fs::write(webhooks.join("gh.md"), hook).unwrap();
    let mut program = program;
    program.set_env("ANTHROPIC_API_KEY", "sk-canary");
    let bad = stdout(&run(&program, &["doctor", "--lint"]));
    let key = "there is no such key. did you mean";
    assert!(bad.contains(&format!("routines/bad.md: line 4: `bakground`: {key} `background`?")), "{bad}");
    assert!(bad.contains(&format!("webhooks/gh.md: line 4: `delivr`: {key} `deliver`?")), "{bad}");
    assert!(bad.contains("routines/bad.md: `model`: I don't know a model called `gpt`."), "{bad}");
    assert!(!bad.contains("mood"), "{bad}");
}

/// A directory of the earlier program is reported, and that it is used unconverted.
#[test]
fn directory_of_the_earlier_program_is_reported() {
    let program = fresh_program();
    for place in ["routines", "state"] {
        std::fs::create_dir_all(program.data().join(place)).unwrap();
    }
    std::fs::write(program.data().join("routines/a.md"), "---\nid: a\ncron: \"0 9 * * *\"\n---\nx\n")
        .unwrap();
    std::fs::write(program.data().join("state/sessions.json"), "0123456789abcdef").unwrap();
    let report = run(&program, &["doctor"]);
    let found = "✓ found    1 routine; and the session of another ollim-bot. all of it is used as it is";
    assert!(stdout(&report).contains(found), "{}{}", stdout(&report), stderr(&report));
}

/// Only the usable files of an earlier program are counted as usable.
#[test]
fn unusable_files_are_not_counted_as_usable() {
    let program = fresh_program();
    for place in ["routines", "state"] {
        std::fs::create_dir_all(program.data().join(place)).unwrap();
    }
    for (name, cron) in [("a", "0 9 * * *"), ("b", "every day"), ("c", "soon")] {
        let text = format!("---\nid: {name}\ncron: \"{cron}\"\n---\nx\n");
        std::fs::write(program.data().join(format!("routines/{name}.md")), text).unwrap();
    }
    std::fs::write(program.data().join("state/sessions.json"), "0123456789abcdef").unwrap();
    let output = stdout(&run(&program, &["doctor"]));
    let found = "! found    3 routines (1 of them can be used); and the session of another ollim-bot. what can be used is";
    assert!(output.contains(found), "{output}");
}

/// A corrupt file that was moved away is reported until it is removed; so is an invalid setting.
#[test]
fn corrupt_file_is_reported_until_removed() {
    let program = Program::offline(BINARY);
    program.start().terminate();
    let state = program.data().join("state");
    std::fs::write(state.join("config.json"), "{ \"permission_mode\": ").unwrap();
    run(&program, &["chat", "--once", "hello"]);
    for _ in 0..2 {
        let output = stdout(&run(&program, &["doctor"]));
        assert!(
            output.contains("! aside    damaged, and kept aside: state/config.json.corrupt-"),
            "{output}"
        );
    }
    std::fs::write(state.join("config.json"), r#"{"permission_mode": "nonsense"}"#).unwrap();
    set_permissions(state.join("config.json"), Permissions::from_mode(0o600)).unwrap();
    let output = stdout(&run(&program, &["doctor"]));
    assert!(output.contains("! settings state/config.json: ") && output.contains("nonsense"), "{output}");
}

/// B4: a path that cannot be a data directory is reported with the reason, and without a circular
/// remedy.
#[test]
fn impossible_data_directory_is_reported() {
    let mut program = fresh_program();
    let file = program.home().join("a-file");
    std::fs::write(&file, "x").unwrap();
    std::os::unix::fs::symlink("/no/such/place", program.home().join("link")).unwrap();
    let link = program.home().join("link").display().to_string();
    program.set_env("OLLIM_DATA_DIR", &link);
    let report = run(&program, &["doctor"]);
    assert_eq!(report.status.code(), Some(1), "{}", stdout(&report));
    assert!(stdout(&report).contains("link leads nowhere"), "{}", stdout(&report));
    program.set_env("OLLIM_DATA_DIR", &file.display().to_string());
    let output = stdout(&run(&program, &["doctor"]));
    assert!(output.contains("a-file is not a directory"), "{output}");
    assert!(!output.contains("fix: ollim-bot doctor\n"), "{output}");
}
