//! `service`: install, start, status and remove, with a fake systemd that really starts the
//! program.

use testkit::kill::{Backstage, Program, free_port, stderr, stdout};

use crate::rig::{PlayedDiscord, Systemd, fresh, json_of, keep, run, secret};

fn machine() -> (Program, Systemd) {
    let mut program = fresh();
    let systemd = Systemd::for_program(&mut program);
    run(&program, &["setup", "model", "--model", "offline", "--no-input"]);
    std::fs::write(
        program.data().join("settings.toml"),
        format!("[page]\naddress = \"127.0.0.1:{}\"\n", free_port()),
    )
    .unwrap();
    (program, systemd)
}

fn told(program: &Program, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(program, arguments);
    (output.status.code(), format!("{}{}", stdout(&output), stderr(&output)))
}

/// The service is installed, answers, is stopped, restarted and removed; its data stays.
#[test]
fn a_service_from_install_to_remove() {
    let (program, systemd) = machine();
    systemd.is("may-linger");
    let (code, text) = told(&program, &["service", "install"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("the service is running (pid "), "{text}");
    assert!(text.contains("it goes on when you log out, and starts with the machine."), "{text}");
    let unit =
        std::fs::read_to_string(program.home().join(".config/systemd/user/ollim-bot.service")).unwrap();
    for line in
        ["Type=notify", "WatchdogSec=90", "NoNewPrivileges=yes", "ProtectSystem=strict", "Restart=on-failure"]
    {
        assert!(unit.lines().any(|it| it == line), "{line}: {unit}");
    }
    let status = json_of(&run(&program, &["status", "--json"]));
    assert_eq!(status["pid"].to_string(), systemd.read("pid"), "{status}");
    let service = json_of(&run(&program, &["service", "status", "--json"]));
    assert_eq!((&service["linger"], &service["service"]["state"]), (&true.into(), &"active".into()));
    let again = told(&program, &["setup", "service", "--no-input"]).1;
    assert!(again.contains("nothing to do"), "{again}");
    assert!(
        told(&program, &["service", "logs", "-n", "50"]).1.contains("ollim-bot"),
        "{}",
        systemd.read("journal")
    );
    assert!(told(&program, &["doctor"]).1.contains("✓ service  running (pid "));

    assert_eq!(told(&program, &["service", "stop"]), (Some(0), "the service is inactive.\n".to_owned()));
    assert_eq!(told(&program, &["service", "status"]).0, Some(1));
    assert_eq!(told(&program, &["service", "start"]).0, Some(0));
    let before = systemd.read("pid");
    assert_eq!(told(&program, &["service", "restart"]).0, Some(0));
    assert_ne!(systemd.read("pid"), before);
    assert!(systemd.read("heard").contains("STOPPING=1"), "{}", systemd.read("heard"));
    assert!(told(&program, &["service", "remove"]).1.contains("what i keep is still there"));
    assert_eq!(told(&program, &["status"]).0, Some(1));
    assert!(program.data().join("state/journal.db").exists());
    assert!(told(&program, &["service", "remove"]).1.contains("there is no service to remove"));
}

/// Failures to install or start are reported with an alternative.
#[test]
fn every_way_a_service_can_be_wrong_has_its_line() {
    let (program, systemd) = machine();
    let (code, text) = told(&program, &["service", "start"]);
    assert_eq!(code, Some(1));
    assert!(text.contains("the service is not installed. run: ollim-bot service install"), "{text}");
    for (flag, words) in [
        ("no-bus", "systemd does not manage this session of yours: log in as yourself"),
        ("no-systemd", "this machine is not run by systemd. let whatever starts programs here"),
    ] {
        systemd.is(flag);
        let (code, text) = told(&program, &["service", "install"]);
        assert!(code == Some(1) && text.contains(words), "{text}");
        systemd.is_not(flag);
    }
    systemd.is("no-bus").is("not-booted");
    let (code, text) = told(&program, &["service", "install"]);
    assert!(
        code == Some(1) && text.contains("not run by systemd") && text.contains("run --no-chat"),
        "{text}"
    );
    systemd.is_not("no-bus");
    let asked = json_of(&run(&program, &["service", "status", "--json"]));
    assert_eq!((&asked["ok"], &asked["installed"]), (&false.into(), &false.into()), "{asked}");
    let mut bare = fresh();
    bare.set("PATH", "/nowhere");
    let (code, text) = told(&bare, &["service", "install"]);
    assert!(code == Some(1) && text.contains("run --no-chat"), "{text}");

    let outside = program.start();
    let (code, text) = told(&program, &["service", "install"]);
    assert!(code == Some(75) && text.contains("it runs already (pid "), "{text}");
    outside.terminate();

    let settings = program.data().join("settings.toml");
    let good = std::fs::read_to_string(&settings).unwrap();
    assert_eq!(told(&program, &["service", "install"]).0, Some(0));
    assert_eq!(told(&program, &["service", "stop"]).0, Some(0));
    std::fs::write(&settings, "[model]\ncolour = 1\n").unwrap();
    let (code, text) = told(&program, &["service", "start"]);
    assert!(code == Some(78), "{text}");
    std::fs::write(&settings, good).unwrap();
    let config = program.home().join(".config");
    std::fs::remove_dir_all(&config).unwrap();
    std::fs::write(&config, "a file").unwrap();
    let (code, text) = told(&program, &["service", "install"]);
    assert!(code == Some(1) && text.contains("ollim-bot.service cannot be written"), "{text}");
}

/// Without user namespaces the service runs without that protection; if it would end at log-out,
/// the remedy is shown.
#[test]
fn a_machine_with_fewer_rights_gets_what_it_can() {
    let (program, systemd) = machine();
    systemd.is("no-namespaces");
    let (code, text) = told(&program, &["service", "install"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("it runs without those walls"), "{text}");
    assert!(text.contains("sudo loginctl enable-linger $USER"), "{text}");
    let doctor = told(&program, &["doctor"]).1;
    assert!(
        doctor.contains("! service  running (pid ") && doctor.contains("it ends when you log out"),
        "{doctor}"
    );
    assert_eq!(told(&program, &["service", "remove"]).0, Some(0));
}

/// There is one service per user. Commands with another data directory name its owner, and neither
/// replace nor stop it.
#[test]
fn the_service_of_another_directory_is_left_alone() {
    let (mut program, systemd) = machine();
    assert_eq!(told(&program, &["service", "install"]).0, Some(0));
    let place = program.home().join(".config/systemd/user/ollim-bot.service");
    let before = (systemd.read("pid"), std::fs::read_to_string(&place).unwrap());
    program.set("OLLIM_BOT_NAME", "Robin");
    let real = program.data().display().to_string();
    let other = program.home().join("try");
    let tried = |words: &[&str]| told(&program, &[&["--data-dir", other.to_str().unwrap()], words].concat());
    let only_one = format!("the service is for {real}, and there can be only one");
    for words in [&["service", "install"][..], &["setup", "service", "--keep", "--no-input"]] {
        let (code, text) = tried(words);
        assert!(code == Some(1) && text.contains(&only_one), "{text}");
        assert!(text.contains(&format!("ollim-bot --data-dir {real} service remove")), "{text}");
    }
    for word in ["remove", "stop", "restart", "start", "status"] {
        let (code, text) = tried(&["service", word]);
        let whose = format!("the service is for {real}, not for {}. if you mean that one: ", other.display());
        assert!(code == Some(1) && text.contains(&whose), "{text}");
        assert!(text.contains(&format!("ollim-bot --data-dir {real} service {word}")), "{text}");
    }
    let doctor = tried(&["doctor"]).1;
    assert!(
        doctor.contains(&format!("! service  there is one, but for {real}: here i run only")),
        "{doctor}"
    );
    assert!(!other.exists(), "nothing was made for it");
    assert_eq!((systemd.read("pid"), std::fs::read_to_string(&place).unwrap()), before);
    assert_eq!(told(&program, &["service", "status"]).0, Some(0));
}

/// With invalid settings, the service can still be inspected, stopped and removed.
#[test]
fn wrong_settings_lock_nobody_out_of_the_service() {
    let (program, systemd) = machine();
    assert_eq!(told(&program, &["service", "install"]).0, Some(0));
    std::fs::write(program.data().join("settings.toml"), "[model]\ncolour = 1\n").unwrap();
    let (code, text) = told(&program, &["doctor"]);
    assert!(code == Some(1) && text.contains("service  running (pid "), "{text}");
    let mut keeping = program.command(&["setup", "service", "--keep", "--no-input"]);
    let keeping = testkit::kill::finish(keeping.env("OLLIM_BOT_NAME", "Robin"));
    assert_eq!(keeping.status.code(), Some(78), "{}", stderr(&keeping));
    let says = "    fix: change that line of the file, or take it out\n";
    assert!(text.contains("✗ settings ") && text.contains(says), "{text}");
    for (word, code) in [
        ("status", 0),
        ("logs", 0),
        ("restart", 78),
        ("stop", 0),
        ("start", 78),
        ("status", 1),
        ("install", 78),
    ] {
        assert_eq!(told(&program, &["service", word]).0, Some(code), "{word}");
    }
    assert_eq!(systemd.pid(), None);
    assert_eq!(told(&program, &["service", "remove"]).0, Some(0));
}

/// Setup does not restart a running service because lingering cannot be enabled.
#[test]
fn setting_up_a_service_that_runs_leaves_it_alone() {
    let (program, systemd) = machine();
    assert_eq!(told(&program, &["service", "install"]).0, Some(0));
    let before = systemd.read("pid");
    let (code, text) = told(&program, &["setup", "service", "--no-input"]);
    assert_eq!((code, systemd.read("pid")), (Some(0), before.clone()), "{text}");
    let says = "it ends when you log out. to change that: sudo loginctl enable-linger $USER";
    assert!(text.contains(says), "{text}");
    systemd.is("may-linger");
    let (code, text) = told(&program, &["setup", "service", "--no-input"]);
    assert!(code == Some(0) && text.contains("it goes on when you log out. nothing to do"), "{text}");
    assert_eq!(systemd.read("pid"), before);
}

/// ENV-1: the service does not see variables of the shell. These are listed with the command that
/// stores them, and used by the service once stored.
#[test]
fn what_only_this_shell_says_is_named_and_can_be_kept() {
    let backstage = Backstage::open();
    let played = PlayedDiscord::open();
    let (mut program, systemd) = machine();
    let token = played.discord.token();
    program.set("ANTHROPIC_API_KEY", "sk-canary").set("ANTHROPIC_BASE_URL", &backstage.url());
    program.set("DISCORD_TOKEN", &token).set("DISCORD_API_BASE", &played.base());
    program.set("OLLIM_MODEL", "anthropic:sonnet").set("NO_PROXY", "127.0.0.1");
    let (code, text) = told(&program, &["service", "install"]);
    let says = "\nOLLIM_MODEL, DISCORD_TOKEN, DISCORD_API_BASE, ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL are set in this \
                shell alone, and the service does not see them. to keep them for it: ollim-bot setup service --keep\n";
    assert!(code == Some(0) && text.contains(says), "{text}");
    let health = || json_of(&run(&program, &["status", "--json"]));
    assert_eq!((&health()["brain"], &health()["discord"]), (&"offline".into(), &serde_json::Value::Null));
    let environ = std::fs::read(format!("/proc/{}/environ", systemd.read("pid").trim())).unwrap();
    let environ = String::from_utf8_lossy(&environ).into_owned();
    let bin = systemd.place().join("bin");
    for said in [&format!("PATH={}:", bin.display()), "NO_PROXY=127.0.0.1\0"] {
        assert!(environ.contains(said), "{environ}");
    }

    let again = told(&program, &["setup", "service", "--no-input"]).1;
    assert!(again.contains("the service does not see them"), "{again}");
    let (code, text) = told(&program, &["setup", "service", "--keep", "--no-input"]);
    assert!(code == Some(0) && text.contains("kept for it: OLLIM_MODEL, DISCORD_TOKEN, "), "{text}");
    assert!(!text.contains("canary") && !text.contains(&token), "{text}");
    assert!(health()["brain"].as_str().unwrap().starts_with("anthropic:"), "{}", health());
    assert!(health()["surfaces"].to_string().contains("discord"), "{}", health());
    let state = program.data().join("state");
    for secret in ["anthropic.key", "discord.token", "environment"] {
        assert_eq!(crate::rig::mode(&state.join(secret)), 0o600, "{secret}");
    }
    let done = told(&program, &["setup", "service", "--keep", "--no-input"]).1;
    assert!(!done.contains("does not see") && !done.contains("kept for it"), "{done}");
}

/// ENV-1: the claude program gets its key from the environment, so it is stored as a line. If the
/// shell has both a secret and its file variant, the file is stored, because it takes precedence.
/// Values that would prevent the start are not stored.
#[test]
fn the_key_of_the_claude_program_is_kept_as_a_line() {
    let (mut program, systemd) = machine();
    let played = program.home().join("played-claude");
    std::fs::write(&played, "#!/bin/sh\nexit 0\n").unwrap();
    std::fs::set_permissions(&played, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    keep(&program, "anthropic.key", "sk-canary-old\n");
    let named = secret(&program, "sk-canary-named").display().to_string();
    program.set("OLLIM_CLAUDE", &played.display().to_string()).set("OLLIM_MODEL", "claude");
    program.set("OPENAI_API_KEY", "sk-canary-said").set("OPENAI_API_KEY_FILE", &named);
    program.set("ANTHROPIC_API_KEY", "sk-canary");
    let (code, text) = told(&program, &["setup", "service", "--keep", "--no-input"]);
    let says = "kept for it: OLLIM_CLAUDE, OLLIM_MODEL, OPENAI_API_KEY_FILE, ANTHROPIC_API_KEY\n";
    assert!(code == Some(0) && text.contains(says) && !text.contains("canary"), "{text}");
    let status = json_of(&run(&program, &["status", "--json"]));
    assert!(status["brain"].as_str().unwrap().starts_with("claude"), "{status}");
    let state = program.data().join("state");
    let kept = || std::fs::read_to_string(state.join("environment")).unwrap();
    assert!(kept().contains("\nANTHROPIC_API_KEY=sk-canary\n"), "{}", kept());
    assert!(kept().contains(&format!("\nOPENAI_API_KEY_FILE={named}\n")), "{}", kept());
    assert!(!kept().contains("sk-canary-said") && !state.join("openai.key").exists(), "{}", kept());
    assert_eq!(crate::rig::mode(&state.join("environment")), 0o600);

    let before = (systemd.read("pid"), kept());
    let again = told(&program, &["setup", "service", "--keep", "--no-input"]).1;
    assert!(!again.contains("does not see") && !again.contains("kept for it"), "{again}");
    let mut loud = program.command(&["setup", "service", "--keep", "--no-input"]);
    let loud = testkit::kill::finish(loud.env("OLLIM_LOG", "loud"));
    assert_eq!(loud.status.code(), Some(78), "{}", stdout(&loud));
    assert!(stderr(&loud).contains("error: OLLIM_LOG: `loud` is not an amount i know."), "{}", stderr(&loud));
    assert_eq!((systemd.read("pid"), kept()), before, "the service runs on");
}

/// A data directory that does not exist yet does not reduce the protection of the service.
#[test]
fn a_directory_that_is_not_there_yet_has_all_walls() {
    let (program, _systemd) = machine();
    let elsewhere = tempfile::tempdir().unwrap();
    let data = elsewhere.path().join("a \"new\" place");
    let (code, text) = told(&program, &["--data-dir", data.to_str().unwrap(), "service", "install"]);
    assert!(code == Some(0) && !text.contains("without those walls"), "{text}");
    assert_eq!(crate::rig::mode(&data), 0o700);
    let unit = program.home().join(".config/systemd/user/ollim-bot.service");
    assert!(std::fs::read_to_string(unit).unwrap().contains("\nProtectSystem=strict\n"));
}

/// CL-14, ENV-4: `auth` is passed to the claude program with its exit code, even with invalid
/// settings.
#[test]
fn signing_in_is_passed_on() {
    let mut program = fresh();
    let played = program.home().join("played-claude");
    std::fs::write(&played, "#!/bin/sh\necho \"got $*\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&played, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    program.set("OLLIM_CLAUDE", &played.display().to_string()).set("OLLIM_TIMEZONE", "Nowhere");
    assert_eq!(
        told(&program, &["auth", "status", "--json"]),
        (Some(7), "got auth status --json\n".to_owned())
    );
    for words in [&["auth"][..], &["auth", "help"]] {
        let (code, text) = told(&program, words);
        assert!(code == Some(0) && text.starts_with("usage: ollim-bot auth login|status|logout"), "{text}");
    }
    let (code, text) = told(&program, &["auth", "wobble", "--json"]);
    let says = "error: auth has no `wobble`.\nusage: ollim-bot auth login|status|logout";
    assert!(code == Some(2) && text.starts_with(says), "{text}");
    let document = json_of(&run(&program, &["--json", "auth", "wobble"]));
    assert_eq!(document["error"]["code"], 2, "{document}");
    program.set("OLLIM_CLAUDE", "/no/such/claude");
    let (code, text) = told(&program, &["auth", "login"]);
    assert!(code == Some(1) && text.contains("`/no/such/claude` cannot be run"), "{text}");
}

/// Each command has a manual page.
#[test]
fn there_is_a_manual() {
    let program = fresh();
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
