//! The command line: output, exit codes and refusals.

use std::net::TcpListener;
use std::process::{Output, Stdio};

use serde_json::Value;
use testkit::process::{Program, stderr, stdout};

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

fn parse_json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stdout(output)))
}

/// CL-3: the help starts with examples, lists every command and explains the exit codes.
#[test]
fn help_starts_with_examples() {
    let program = Program::offline(BINARY);
    for form in ["--help", "-h", "help"] {
        let help = program.run(&[form]);
        assert_eq!(help.status.code(), Some(0), "{form}");
        let text = stdout(&help);
        assert!(text.starts_with("examples:\n  ollim-bot  "), "{text}");
        for command in ["run", "chat", "open", "sessions", "status", "doctor", "completion", "help"] {
            assert!(text.contains(&format!("\n  {command} ")), "{form} does not name {command}: {text}");
        }
        assert!(
            text.contains("0 ok · 1 failed · 2 usage · 3 ambiguous · 75 already running · 78 configuration"),
            "{text}"
        );
    }
    assert!(stdout(&program.run(&["--version"])).starts_with("ollim-bot "));
    assert!(!program.data().exists(), "looking at the help makes no directory");
}

/// CL-2: an unknown command does not start the assistant.
#[test]
fn unknown_command_is_a_usage_error_with_a_suggestion() {
    let program = Program::offline(BINARY);
    for (arguments, suggestion) in
        [(["sesions", "tree"], "sessions"), (["chat", "--onec"], "--once"), (["sessions", "treee"], "tree")]
    {
        let output = program.run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(suggestion), "{}", stderr(&output));
        assert_eq!(stdout(&output), "");
    }
    assert!(!program.data().exists());
}

#[test]
fn exit_codes_match_their_meaning() {
    let mut program = Program::offline(BINARY);
    let check = |program: &Program, arguments: &[&str], code: i32| {
        let output = program.run_with_input(arguments, "hello");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
    };
    check(&program, &["chat", "--once", "hello"], 0);
    check(&program, &["sessions"], 0);
    check(&program, &["status"], 1);
    check(&program, &["open"], 1);
    check(&program, &["chat", "hello"], 2);
    check(&program, &["completion", "tcsh"], 2);
    let running = program.start();
    check(&program, &["run", "--no-chat"], 75);
    check(&program, &["status"], 0);
    check(&program, &["open"], 0);
    check(&program, &["chat", "--once", "hello"], 0);
    running.terminate();
    program.set_env("OLLIM_MODEL", "gpt-9000");
    check(&program, &["run", "--no-chat"], 78);
}

#[test]
fn invalid_setting_is_named() {
    let check = |name: &str, value: &str, words: &[&str]| {
        let mut program = Program::offline(BINARY);
        program.set_env(name, value);
        let output = program.run(&["run", "--no-chat"]);
        assert_eq!(output.status.code(), Some(78), "{name}={value}: {}", stderr(&output));
        for word in words {
            assert!(stderr(&output).contains(word), "{name}={value}: {}", stderr(&output));
        }
        assert!(!program.data().exists(), "a wrong setting makes no directory");
    };
    check("OLLIM_MODEL", "gpt-9000", &["OLLIM_MODEL", "`gpt-9000`", "offline"]);
    check("OLLIM_MODEL", "anthropic:", &["OLLIM_MODEL", "`anthropic:`"]);
    check("OLLIM_MODEL", "anthropic:sonnet", &["OLLIM_MODEL", "ANTHROPIC_API_KEY is not set"]);
    check("OLLIM_THINKING", "hard", &["OLLIM_THINKING", "`hard`", "adaptive", "8000", "auto"]);
    check("OLLIM_LOG", "loud", &["OLLIM_LOG", "`loud`", "warn, info, debug"]);
    check("OLLIM_HTTP", "localhost", &["OLLIM_HTTP", "`localhost`", "127.0.0.1:7645"]);
    check("OLLIM_TIMEZONE", "Mars/Olympus", &["OLLIM_TIMEZONE", "`Mars/Olympus`", "Europe/Berlin"]);
}

/// ENV-5: an unknown time zone is an error that names the variable, in every command that shows
/// times.
#[test]
fn unknown_time_zone_names_its_variable() {
    let mut program = Program::offline(BINARY);
    program.set_env("OLLIM_TIMEZONE", "Nowhere");
    for arguments in [&["sessions"][..], &["status"], &["chat", "--once", "hello"]] {
        let output = program.run(arguments);
        assert_eq!(output.status.code(), Some(78));
        assert!(stderr(&output).starts_with("error: OLLIM_TIMEZONE: "), "{}", stderr(&output));
    }
}

/// Diagnostic commands report a wrong setting next to everything else.
#[test]
fn invalid_setting_does_not_stop_diagnostic_commands() {
    let mut program = Program::offline(BINARY);
    let running = program.start();
    program.set_env("OLLIM_HTTP", "localhost");
    let doctor = program.run(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(1), "{}", stderr(&doctor));
    let output = stdout(&doctor);
    assert!(output.contains("✗ settings OLLIM_HTTP: `localhost` is not an address"), "{output}");
    assert!(output.contains(&format!("✓ running  pid {}", running.pid())), "{output}");
    let findings = parse_json(&program.run(&["doctor", "--json"]));
    assert_eq!(findings["ok"], false);
    let status = program.run(&["status"]);
    assert_eq!(status.status.code(), Some(78));
    assert!(stdout(&status).starts_with(&format!("running (pid {})", running.pid())), "{}", stdout(&status));
    assert!(stderr(&status).starts_with("error: OLLIM_HTTP: "), "{}", stderr(&status));
    let status = parse_json(&program.run(&["status", "--json"]));
    assert_eq!((&status["running"], &status["error"]["kind"]), (&true.into(), &"configuration".into()));
    running.terminate();
}

#[test]
fn misspelt_setting_in_the_file_is_named() {
    let check = |text: &str, word: &str| {
        let program = Program::offline(BINARY);
        std::fs::create_dir_all(program.data()).expect("a directory");
        std::fs::write(program.data().join("settings.toml"), text).expect("a file");
        let output = program.run(&["chat", "--once", "hello"]);
        assert_eq!(output.status.code(), Some(0), "{text}: {}", stderr(&output));
        assert!(stderr(&output).contains(word), "{text}: {}", stderr(&output));
        assert!(stderr(&output).contains("settings.toml, line "), "{text}: {}", stderr(&output));
    };
    check("[model]\nmax_tokans = 5\n", "max_tokans");
    check("[modle]\nuse = \"offline\"\n", "modle");
    check("[model]\nmax_tokens = \"many\"\n", "max_tokens");
    check("[model\n", "settings.toml");
}

/// The page is reachable from this machine only.
#[test]
fn public_address_is_refused() {
    for address in ["0.0.0.0:7645", "[::]:7645", "192.0.2.1:7645"] {
        let mut program = Program::offline(BINARY);
        program.set_env("OLLIM_HTTP", address);
        let output = program.run(&["run", "--no-chat"]);
        assert_eq!(output.status.code(), Some(78), "{address}: {}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
        assert!(stderr(&output).contains(address.rsplit_once(':').expect("a port").0), "{}", stderr(&output));
    }
}

#[test]
fn occupied_port_is_skipped() {
    let mut program = Program::offline(BINARY);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its number");
    program.set_env("OLLIM_HTTP", &address.to_string());
    let running = program.start();
    let health = running.get("/api/health").expect("it lives");
    let page = health["page"].as_str().expect("an address");
    let port: u16 =
        page.trim_end_matches('/').rsplit(':').next().and_then(|n| n.parse().ok()).expect("a port");
    assert!(port > address.port() && port <= address.port() + 100, "{page} after {address}");
    running.terminate();
}

/// With `--json` every command prints exactly one document on stdout, also on failure.
#[test]
fn json_output_is_one_document() {
    let mut program = Program::offline(BINARY);
    let check = |program: &Program, arguments: &[&str], look: &dyn Fn(&Value) -> bool| {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        let value = parse_json(&program.run(&arguments));
        assert!(look(&value), "{arguments:?}: {value}");
    };
    check(&program, &["status"], &|value| value["running"] == false);
    check(&program, &["sessions"], &|value| value["lines"] == serde_json::json!([]));
    check(&program, &["sessions", "tree"], &|value| value["open"] == serde_json::json!([]));
    check(&program, &["doctor"], &Value::is_object);
    check(&program, &["open"], &|value| value["error"]["code"] == 1 && value["ok"] == false);
    check(&program, &["chat", "--once", "hello"], &|value| value["ok"] == true);
    check(&program, &["sessions"], &|value| value["lines"][0]["why"] == "created");
    let running = program.start();
    check(&program, &["status"], &|value| value["running"] == true && value["pid"] == running.pid());
    check(&program, &["open"], &|value| {
        value["link"].as_str().is_some_and(|link| link.starts_with("http://127."))
    });
    check(&program, &["run", "--no-chat"], &|value| value["error"]["kind"] == "running");
    running.terminate();
    program.set_env("OLLIM_TIMEZONE", "Nowhere");
    check(&program, &["status"], &|value| value["error"]["kind"] == "configuration");
}

#[test]
fn completions_exist_for_every_shell() {
    let program = Program::offline(BINARY);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = program.run(&["completion", shell]);
        assert_eq!(script.status.code(), Some(0));
        assert!(stdout(&script).contains("ollim-bot") && stdout(&script).contains("COMPLETE"), "{shell}");
    }
}

/// Completion offers only the names that fit the command.
#[test]
fn each_command_group_completes_its_own_names() {
    let mut program = Program::offline(BINARY);
    for (file, text) in [
        ("routines/tea.md", "---\nid: tea\ncron: 0 8 * * *\n---\nx\n"),
        ("reminders/mum.md", "---\nid: mum\nrun-at: 2999-01-01T10:00:00Z\n---\nx\n"),
        ("webhooks/gh.md", "---\nid: gh\nfields: {}\n---\nx\n"),
    ] {
        let path = program.data().join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }
    program.set_env("COMPLETE", "fish");
    let completions = |words: &[&str]| {
        let line = [&["--", "ollim-bot"], words, &[""]].concat();
        let completions = stdout(&program.run(&line));
        let names = completions.lines().filter_map(|line| line.split('\t').next());
        names.filter(|name| !name.starts_with('-')).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completions(&["routine", "show"]), ["tea"]);
    assert_eq!(completions(&["routine", "pause"]), ["tea"]);
    assert_eq!(completions(&["reminder", "cancel"]), ["mum"]);
    assert_eq!(completions(&["webhook", "show"]), ["gh"]);
    assert_eq!(completions(&["done"]), ["mum", "tea"]);
}

#[test]
fn sessions_are_listed_and_drawn_as_a_tree() {
    let program = Program::offline(BINARY);
    assert_eq!(stdout(&program.run(&["sessions"])), "nothing was said yet.\n");
    assert_eq!(program.run(&["sessions", "tree"]).status.code(), Some(0));
    assert!(!program.data().exists(), "looking makes no directory");
    program.run(&["chat", "--once", "hello"]);
    let session = std::fs::read_to_string(program.data().join("state/sessions.json")).expect("a session");
    let list = stdout(&program.run(&["sessions", "list"]));
    assert!(list.contains("created") && list.contains(&session), "{list}");
    let tree = stdout(&program.run(&["sessions", "tree"]));
    assert!(tree.contains(&session[..8]), "{tree}");
}

#[test]
fn status_shows_page_model_and_session() {
    let program = Program::offline(BINARY);
    let nothing = program.run(&["status"]);
    assert_eq!(
        (stdout(&nothing).as_str(), nothing.status.code()),
        ("not running. start it: ollim-bot\n", Some(1))
    );
    let running = program.start();
    let status = stdout(&program.run(&["status"]));
    for word in [&format!("running (pid {})", running.pid()), "offline", "http://127.0.0.1:", "Europe/Madrid"]
    {
        assert!(status.contains(word), "{status} does not name {word}");
    }
    running.kill();
    assert_eq!(
        program.run(&["status"]).status.code(),
        Some(1),
        "a killed one leaves a socket that nobody answers"
    );
}

/// A closed pipe or a full disk on stdout causes no panic.
#[test]
fn closed_output_causes_no_panic() {
    let program = Program::offline(BINARY);
    for arguments in [
        &["sessions"][..],
        &["status"],
        &["doctor"],
        &["--help"],
        &["completion", "bash"],
        &["chat", "--once", "hello"],
    ] {
        for shell in ["\"$@\" | true", "\"$@\" >/dev/full", "\"$@\" 2>/dev/full >/dev/full", "\"$@\" >&-"] {
            let mut command = program.command_through(shell, arguments);
            let output = testkit::process::run_to_end(command.stdin(Stdio::null()));
            assert!(!stderr(&output).contains("panicked"), "{arguments:?} {shell}: {}", stderr(&output));
        }
    }
}

/// ENV-7: the argument takes precedence over the variable, and the variable over the home
/// directory.
#[test]
fn data_directory_can_be_configured() {
    let mut program = Program::offline(BINARY);
    let other = program.home().join("other");
    program.run(&["chat", "--once", "hello", "--data-dir", other.to_str().expect("a name")]);
    assert!(other.join("state/journal.db").exists());
    assert!(!program.data().exists());
    program.set_env("OLLIM_DATA_DIR", "");
    program.run(&["chat", "--once", "hello"]);
    assert!(program.home().join(".ollim-bot/state/journal.db").exists());
    program.set_env("HOME", "");
    let output = program.run(&["chat", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(78));
    assert!(stderr(&output).contains("--data-dir"), "{}", stderr(&output));
}

/// TP-11: an invalid tool list in a job file is reported with its source, by the doctor and in the
/// log at start, and stops neither.
#[test]
fn invalid_tool_list_is_reported_and_stops_nothing() {
    let program = Program::offline(BINARY);
    let routines = program.data().join("routines");
    std::fs::create_dir_all(&routines).expect("a directory");
    let text = "---\nid: mail\ncron: 0 9 * * *\nallowed-tools: [\"Bash(*)\", WebFetch]\n---\nTriage.\n";
    std::fs::write(routines.join("mail.md"), text).expect("a file");
    let complaint = "routine:mail: the tool pattern `Bash(*)` is left out: it is too broad";
    let doctor = program.run(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(0), "{}", stdout(&doctor));
    assert!(stdout(&doctor).contains(&format!("! tools    {complaint}")), "{}", stdout(&doctor));
    let mut start = program.command(&["run", "--no-chat"]);
    let start = start.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = start.spawn().expect("the program starts");
    let log = std::io::BufReader::new(running.stderr.take().expect("its log"));
    let output = std::io::BufRead::lines(log).map_while(Result::ok).find(|line| line.contains(complaint));
    running.kill().expect("a process to kill");
    running.wait().expect("an end");
    assert!(output.is_some());
}
