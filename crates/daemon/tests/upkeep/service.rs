//! `service`: install, start, status and remove, with a fake systemd that really starts the
//! program.

use testkit::process::{BackgroundModelServer, Program, free_port, stderr, stdout};

use crate::rig::{
    DiscordOnLoopback, FakeSystemd, fresh_program, parse_json, run, write_secret, write_state_file,
};

fn set_up_machine() -> (Program, FakeSystemd) {
    let mut program = fresh_program();
    let systemd = FakeSystemd::for_program(&mut program);
    run(&program, &["setup", "model", "--model", "offline", "--no-input"]);
    std::fs::write(
        program.data().join("settings.toml"),
        format!("[page]\naddress = \"127.0.0.1:{}\"\n", free_port()),
    )
    .unwrap();
    (program, systemd)
}

fn run_for_output(program: &Program, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(program, arguments);
    (output.status.code(), format!("{}{}", stdout(&output), stderr(&output)))
}

/// The service is installed, answers, is stopped, restarted and removed; its data stays.
#[test]
fn service_is_installed_used_and_removed() {
    let (program, systemd) = set_up_machine();
    systemd.enable("may-linger");
    let (code, text) = run_for_output(&program, &["service", "install"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("the service is running (pid "), "{text}");
    assert!(text.contains("it goes on when you log out, and starts with the machine."), "{text}");
    let unit =
        std::fs::read_to_string(program.home().join(".config/systemd/user/ollim-bot.service")).unwrap();
    for line in
        ["Type=notify", "WatchdogSec=90", "NoNewPrivileges=yes", "ProtectSystem=strict", "Restart=on-failure"]
    {
        assert!(unit.lines().any(|unit_line| unit_line == line), "{line}: {unit}");
    }
    let status = parse_json(&run(&program, &["status", "--json"]));
    assert_eq!(status["pid"].to_string(), systemd.read("pid"), "{status}");
    let service = parse_json(&run(&program, &["service", "status", "--json"]));
    assert_eq!((&service["linger"], &service["service"]["state"]), (&true.into(), &"active".into()));
    let again = run_for_output(&program, &["setup", "service", "--no-input"]).1;
    assert!(again.contains("nothing to do"), "{again}");
    assert!(
        run_for_output(&program, &["service", "logs", "-n", "50"]).1.contains("ollim-bot"),
        "{}",
        systemd.read("journal")
    );
    assert!(run_for_output(&program, &["doctor"]).1.contains("✓ service  running (pid "));

    assert_eq!(
        run_for_output(&program, &["service", "stop"]),
        (Some(0), "the service is inactive.\n".to_owned())
    );
    assert_eq!(run_for_output(&program, &["service", "status"]).0, Some(1));
    assert_eq!(run_for_output(&program, &["service", "start"]).0, Some(0));
    let before = systemd.read("pid");
    assert_eq!(run_for_output(&program, &["service", "restart"]).0, Some(0));
    assert_ne!(systemd.read("pid"), before);
    assert!(systemd.read("heard").contains("STOPPING=1"), "{}", systemd.read("heard"));
    assert!(run_for_output(&program, &["service", "remove"]).1.contains("what i keep is still there"));
    assert_eq!(run_for_output(&program, &["status"]).0, Some(1));
    assert!(program.data().join("state/journal.db").exists());
    assert!(run_for_output(&program, &["service", "remove"]).1.contains("there is no service to remove"));
}

/// Failures to install or start are reported with an alternative.
#[test]
fn service_failures_are_reported_specifically() {
    let (program, systemd) = set_up_machine();
    let (code, text) = run_for_output(&program, &["service", "start"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("the service is not installed. run: ollim-bot service install"), "{text}");
    for (flag, words) in [
        ("no-bus", "systemd does not manage this session of yours: log in as yourself"),
        ("no-systemd", "this machine is not run by systemd. let whatever starts programs here"),
    ] {
        systemd.enable(flag);
        let (code, text) = run_for_output(&program, &["service", "install"]);
        assert!(code == Some(1) && text.contains(words), "{text}");
        systemd.disable(flag);
    }
    systemd.enable("no-bus").enable("not-booted");
    let (code, text) = run_for_output(&program, &["service", "install"]);
    assert!(
        code == Some(1) && text.contains("not run by systemd") && text.contains("run --no-chat"),
        "{text}"
    );
    systemd.disable("no-bus");
    let status = parse_json(&run(&program, &["service", "status", "--json"]));
    assert_eq!((&status["ok"], &status["installed"]), (&false.into(), &false.into()), "{status}");
    let mut bare = fresh_program();
    bare.set_env("PATH", "/nowhere");
    let (code, text) = run_for_output(&bare, &["service", "install"]);
    assert!(code == Some(1) && text.contains("run --no-chat"), "{text}");

    let outside = program.start();
    let (code, text) = run_for_output(&program, &["service", "install"]);
    assert!(code == Some(75) && text.contains("it runs already (pid "), "{text}");
    outside.terminate();

    let settings = program.data().join("settings.toml");
    let good = std::fs::read_to_string(&settings).unwrap();
    assert_eq!(run_for_output(&program, &["service", "install"]).0, Some(0));
    assert_eq!(run_for_output(&program, &["service", "stop"]).0, Some(0));
    std::fs::write(&settings, "[model]\ncolour = 1\n").unwrap();
    let (code, text) = run_for_output(&program, &["service", "start"]);
    assert!(code == Some(78), "{text}");
    std::fs::write(&settings, good).unwrap();
    let config = program.home().join(".config");
    std::fs::remove_dir_all(&config).unwrap();
    std::fs::write(&config, "a file").unwrap();
    let (code, text) = run_for_output(&program, &["service", "install"]);
    assert!(code == Some(1) && text.contains("ollim-bot.service cannot be written"), "{text}");
}

/// Without user namespaces the service runs without that protection; if it would end at log-out,
/// the remedy is shown.
#[test]
fn service_runs_without_user_namespaces() {
    let (program, systemd) = set_up_machine();
    systemd.enable("no-namespaces");
    let (code, text) = run_for_output(&program, &["service", "install"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("it runs without those walls"), "{text}");
    assert!(text.contains("sudo loginctl enable-linger $USER"), "{text}");
    let doctor = run_for_output(&program, &["doctor"]).1;
    assert!(
        doctor.contains("! service  running (pid ") && doctor.contains("it ends when you log out"),
        "{doctor}"
    );
    assert_eq!(run_for_output(&program, &["service", "remove"]).0, Some(0));
}

/// There is one service per user. Commands with another data directory name its owner, and neither
/// replace nor stop it.
#[test]
fn service_of_another_directory_is_not_touched() {
    let (mut program, systemd) = set_up_machine();
    assert_eq!(run_for_output(&program, &["service", "install"]).0, Some(0));
    let unit_file = program.home().join(".config/systemd/user/ollim-bot.service");
    let before = (systemd.read("pid"), std::fs::read_to_string(&unit_file).unwrap());
    program.set_env("OLLIM_BOT_NAME", "Robin");
    let real = program.data().display().to_string();
    let other = program.home().join("try");
    let run_other = |words: &[&str]| {
        run_for_output(&program, &[&["--data-dir", other.to_str().unwrap()], words].concat())
    };
    let only_one = format!("the service is for {real}, and there can be only one");
    for words in [&["service", "install"][..], &["setup", "service", "--keep", "--no-input"]] {
        let (code, text) = run_other(words);
        assert!(code == Some(1) && text.contains(&only_one), "{text}");
        assert!(text.contains(&format!("ollim-bot --data-dir {real} service remove")), "{text}");
    }
    for word in ["remove", "stop", "restart", "start", "status"] {
        let (code, text) = run_other(&["service", word]);
        let expected =
            format!("the service is for {real}, not for {}. if you mean that one: ", other.display());
        assert!(code == Some(1) && text.contains(&expected), "{text}");
        assert!(text.contains(&format!("ollim-bot --data-dir {real} service {word}")), "{text}");
    }
    let doctor = run_other(&["doctor"]).1;
    assert!(
        doctor.contains(&format!("! service  there is one, but for {real}: here i run only")),
        "{doctor}"
    );
    assert!(!other.exists(), "nothing was made for it");
    assert_eq!((systemd.read("pid"), std::fs::read_to_string(&unit_file).unwrap()), before);
    assert_eq!(run_for_output(&program, &["service", "status"]).0, Some(0));
}

/// With invalid settings, the service can still be inspected, stopped and removed.
#[test]
fn service_can_be_managed_with_invalid_settings() {
    let (program, systemd) = set_up_machine();
    assert_eq!(run_for_output(&program, &["service", "install"]).0, Some(0));
    std::fs::write(program.data().join("settings.toml"), "[model]\ncolour = 1\n").unwrap();
    let (code, text) = run_for_output(&program, &["doctor"]);
    assert!(code == Some(1) && text.contains("service  running (pid "), "{text}");
    let mut keeping = program.command(&["setup", "service", "--keep", "--no-input"]);
    let keeping = testkit::process::run_to_end(keeping.env("OLLIM_BOT_NAME", "Robin"));
    assert_eq!(keeping.status.code(), Some(78), "{}", stderr(&keeping));
    let expected = "    fix: change that line of the file, or take it out\n";
    assert!(text.contains("✗ settings ") && text.contains(expected), "{text}");
    for (word, code) in [
        ("status", 0),
        ("logs", 0),
        ("restart", 78),
        ("stop", 0),
        ("start", 78),
        ("status", 1),
        ("install", 78),
    ] {
        assert_eq!(run_for_output(&program, &["service", word]).0, Some(code), "{word}");
    }
    assert_eq!(systemd.pid(), None);
    assert_eq!(run_for_output(&program, &["service", "remove"]).0, Some(0));
}

/// Setup does not restart a running service because lingering cannot be enabled.
#[test]
fn setup_does_not_restart_a_running_service() {
    let (program, systemd) = set_up_machine();
    assert_eq!(run_for_output(&program, &["service", "install"]).0, Some(0));
    let before = systemd.read("pid");
    let (code, text) = run_for_output(&program, &["setup", "service", "--no-input"]);
    assert_eq!((code, systemd.read("pid")), (Some(0), before.clone()), "{text}");
    let expected = "it ends when you log out. to change that: sudo loginctl enable-linger $USER";
    assert!(text.contains(expected), "{text}");
    systemd.enable("may-linger");
    let (code, text) = run_for_output(&program, &["setup", "service", "--no-input"]);
    assert!(code == Some(0) && text.contains("it goes on when you log out. nothing to do"), "{text}");
    assert_eq!(systemd.read("pid"), before);
}

/// ENV-1: the service does not see variables of the shell. These are listed with the command that
/// stores them, and used by the service once stored.
#[test]
fn shell_variables_are_listed_and_can_be_stored() {
    let model_server = BackgroundModelServer::start();
    let fake_discord = DiscordOnLoopback::open();
    let (mut program, systemd) = set_up_machine();
    let token = fake_discord.discord.token();
    program.set_env("ANTHROPIC_API_KEY", "sk-canary").set_env("ANTHROPIC_BASE_URL", &model_server.url());
    program.set_env("DISCORD_TOKEN", &token).set_env("DISCORD_API_BASE", &fake_discord.api_base());
    program.set_env("OLLIM_MODEL", "anthropic:sonnet").set_env("NO_PROXY", "127.0.0.1");
    let (code, text) = run_for_output(&program, &["service", "install"]);
    let expected = "\nOLLIM_MODEL, DISCORD_TOKEN, DISCORD_API_BASE, ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL are set in this \
                shell alone, and the service does not see them. to keep them for it: ollim-bot setup service --keep\n";
    assert!(code == Some(0) && text.contains(expected), "{text}");
    let health = || parse_json(&run(&program, &["status", "--json"]));
    assert_eq!((&health()["brain"], &health()["discord"]), (&"offline".into(), &serde_json::Value::Null));
    let environ = std::fs::read(format!("/proc/{}/environ", systemd.read("pid").trim())).unwrap();
    let environ = String::from_utf8_lossy(&environ).into_owned();
    let bin = systemd.directory().join("bin");
    for variable in [&format!("PATH={}:", bin.display()), "NO_PROXY=127.0.0.1\0"] {
        assert!(environ.contains(variable), "{environ}");
    }

    let again = run_for_output(&program, &["setup", "service", "--no-input"]).1;
    assert!(again.contains("the service does not see them"), "{again}");
    let (code, text) = run_for_output(&program, &["setup", "service", "--keep", "--no-input"]);
    assert!(code == Some(0) && text.contains("kept for it: OLLIM_MODEL, DISCORD_TOKEN, "), "{text}");
    assert!(!text.contains("canary") && !text.contains(&token), "{text}");
    assert!(health()["brain"].as_str().unwrap().starts_with("anthropic:"), "{}", health());
    assert!(health()["surfaces"].to_string().contains("discord"), "{}", health());
    let state = program.data().join("state");
    for secret in ["anthropic.key", "discord.token", "environment"] {
        assert_eq!(crate::rig::mode(&state.join(secret)), 0o600, "{secret}");
    }
    let done = run_for_output(&program, &["setup", "service", "--keep", "--no-input"]).1;
    assert!(!done.contains("does not see") && !done.contains("kept for it"), "{done}");
}

/// ENV-1: the claude program gets its key from the environment, so it is stored as a line. If the
/// shell has both a secret and its file variant, the file is stored, because it takes precedence.
/// Values that would prevent the start are not stored.
#[test]
fn key_of_the_claude_program_is_stored_as_a_line() {
    let (mut program, systemd) = set_up_machine();
    let fake_claude = program.home().join("played-claude");
    std::fs::write(&fake_claude, "#!/bin/sh\nexit 0\n").unwrap();
    std::fs::set_permissions(&fake_claude, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    write_state_file(&program, "anthropic.key", "sk-canary-old\n");
    let key_file = write_secret(&program, "sk-canary-named").display().to_string();
    program.set_env("OLLIM_CLAUDE", &fake_claude.display().to_string()).set_env("OLLIM_MODEL", "claude");
    program.set_env("OPENAI_API_KEY", "sk-canary-said").set_env("OPENAI_API_KEY_FILE", &key_file);
    program.set_env("ANTHROPIC_API_KEY", "sk-canary");
    let (code, text) = run_for_output(&program, &["setup", "service", "--keep", "--no-input"]);
    let expected = "kept for it: OLLIM_CLAUDE, OLLIM_MODEL, OPENAI_API_KEY_FILE, ANTHROPIC_API_KEY\n";
    assert!(code == Some(0) && text.contains(expected) && !text.contains("canary"), "{text}");
    let status = parse_json(&run(&program, &["status", "--json"]));
    assert!(status["brain"].as_str().unwrap().starts_with("claude"), "{status}");
    let state = program.data().join("state");
    let stored = || std::fs::read_to_string(state.join("environment")).unwrap();
    assert!(stored().contains("\nANTHROPIC_API_KEY=sk-canary\n"), "{}", stored());
    assert!(stored().contains(&format!("\nOPENAI_API_KEY_FILE={key_file}\n")), "{}", stored());
    assert!(!stored().contains("sk-canary-said") && !state.join("openai.key").exists(), "{}", stored());
    assert_eq!(crate::rig::mode(&state.join("environment")), 0o600);

    let before = (systemd.read("pid"), stored());
    let again = run_for_output(&program, &["setup", "service", "--keep", "--no-input"]).1;
    assert!(!again.contains("does not see") && !again.contains("kept for it"), "{again}");
    let mut loud = program.command(&["setup", "service", "--keep", "--no-input"]);
    let loud = testkit::process::run_to_end(loud.env("OLLIM_LOG", "loud"));
    assert_eq!(loud.status.code(), Some(78), "{}", stdout(&loud));
    assert!(stderr(&loud).contains("error: OLLIM_LOG: `loud` is not an amount i know."), "{}", stderr(&loud));
    assert_eq!((systemd.read("pid"), stored()), before, "the service runs on");
}

/// A data directory that does not exist yet does not reduce the protection of the service.
#[test]
fn missing_data_directory_keeps_full_protection() {
    let (program, _systemd) = set_up_machine();
    let other_directory = tempfile::tempdir().unwrap();
    let data = other_directory.path().join("a \"new\" place");
    let (code, text) =
        run_for_output(&program, &["--data-dir", data.to_str().unwrap(), "service", "install"]);
    assert!(code == Some(0) && !text.contains("without those walls"), "{text}");
    assert_eq!(crate::rig::mode(&data), 0o700);
    let unit = program.home().join(".config/systemd/user/ollim-bot.service");
    assert!(std::fs::read_to_string(unit).unwrap().contains("\nProtectSystem=strict\n"));
}

/// CL-14, ENV-4: `auth` is passed to the claude program with its exit code, even with invalid
/// settings.
#[test]
fn auth_is_passed_to_the_claude_program() {
    let mut program = fresh_program();
    let fake_claude = program.home().join("played-claude");
    std::fs::write(&fake_claude, "#!/bin/sh\necho \"got $*\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&fake_claude, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    program.set_env("OLLIM_CLAUDE", &fake_claude.display().to_string()).set_env("OLLIM_TIMEZONE", "Nowhere");
    assert_eq!(
        run_for_output(&program, &["auth", "status", "--json"]),
        (Some(7), "got auth status --json\n".to_owned())
    );
    for words in [&["auth"][..], &["auth", "help"]] {
        let (code, text) = run_for_output(&program, words);
        assert!(code == Some(0) && text.starts_with("usage: ollim-bot auth login|status|logout"), "{text}");
    }
    let (code, text) = run_for_output(&program, &["auth", "wobble", "--json"]);
    let expected = "error: auth has no `wobble`.\nusage: ollim-bot auth login|status|logout";
    assert!(code == Some(2) && text.starts_with(expected), "{text}");
    let document = parse_json(&run(&program, &["--json", "auth", "wobble"]));
    assert_eq!(document["error"]["code"], 2, "{document}");
    program.set_env("OLLIM_CLAUDE", "/no/such/claude");
    let (code, text) = run_for_output(&program, &["auth", "login"]);
    assert!(code == Some(1) && text.contains("`/no/such/claude` cannot be run"), "{text}");
}

/// Each command has a manual page.
#[test]
fn manual_has_a_page_for_each_command() {
    let program = fresh_program();
    let page = stdout(&run(&program, &["man"]));
    assert!(page.contains(".TH ollim-bot 1") && page.contains("routine"), "{page}");
    for section in ["EXAMPLES", "ENVIRONMENT", "FILES", "\"EXIT STATUS\""] {
        assert!(page.contains(&format!("\n.SH {section}\n")), "{section}: {page}");
    }
    assert!(page.contains("ollim\\-bot today") && !page.contains("EXTRA"), "{page}");
    let out = program.home().join("man");
    let done = run(&program, &["man", "--out", out.to_str().unwrap()]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    for page in ["ollim-bot.1", "ollim-bot-setup.1", "ollim-bot-routine-add.1"] {
        assert!(out.join(page).exists(), "{page}");
    }
    let config = std::fs::read_to_string(out.join("ollim-bot-config.1")).unwrap();
    assert!(config.contains("\n.SH EXAMPLES\n") && !config.contains("EXTRA"), "{config}");
    assert!(!program.data().exists(), "looking makes no directory");
}
