//! `ollim-bot setup` without a terminal: valid values are checked and stored, and each failure has
//! its own message.

use std::path::Path;
use std::process::Output;

use testkit::background_runtime::BackgroundRuntime;
use testkit::chat_server::{ChatServer, Style};
use testkit::fake_discord::{DiscordFault, Ownership, RequestFault, RequestFilter};
use testkit::model_server::Options;
use testkit::process::{BackgroundModelServer, Program, free_port, stderr, stdout};

use crate::rig::{
    DiscordOnLoopback, FakeSystemd, fresh_program, mode, parse_json, run, write_secret, write_state_file,
};

pub const KEY: &str = "sk-canary-right";
pub const WRONG_KEY: &str = "sk-canary-wrong";

pub fn start_model_server() -> BackgroundModelServer {
    BackgroundModelServer::start_with(Options { key: Some(KEY.to_owned()), ..Options::default() })
}

/// Verifies that it failed with `code` and a message that contains `words`, and showed no secret.
pub fn assert_refused(output: &Output, code: i32, words: &str) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.contains(words), "{text}");
    assert!(!text.contains("canary") && !stdout(output).contains("canary"), "{text}");
}

pub fn state_file(program: &Program, name: &str) -> std::path::PathBuf {
    program.data().join("state").join(name)
}

pub fn set_up_model(program: &Program, key: &str, url: &str) -> Output {
    let file = write_secret(program, key);
    let file = file.to_str().unwrap();
    run(
        program,
        &["setup", "model", "--key-file", file, "--model", "anthropic:sonnet", "--url", url, "--no-input"],
    )
}

/// J1, J2: a working key is stored privately and used without any variable; it is not asked for
/// again, and never replaced by a wrong one.
#[test]
fn key_is_checked_before_it_is_stored() {
    let model_server = start_model_server();
    let program = fresh_program();
    let url = model_server.url();
    assert_refused(&set_up_model(&program, WRONG_KEY, &url), 1, "refused the key");
    assert!(!state_file(&program, "anthropic.key").exists());
    assert!(!state_file(&program, "environment").exists(), "nothing of it is kept");

    let done = set_up_model(&program, KEY, &url);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).starts_with("✓ model  claude-sonnet"), "{}", stdout(&done));
    assert_eq!(mode(&state_file(&program, "anthropic.key")), 0o600);
    assert_eq!((mode(&state_file(&program, "environment")), mode(program.data())), (0o600, 0o700));
    let stored = std::fs::read_to_string(state_file(&program, "environment")).unwrap();
    assert!(stored.contains("OLLIM_MODEL=anthropic:sonnet\n") && !stored.contains("canary"), "{stored}");

    let again = run(&program, &["setup", "model", "--no-input", "--json"]);
    let again = parse_json(&again);
    assert_eq!((&again["ok"], &again["changed"]), (&true.into(), &false.into()), "{again}");
    assert_refused(&set_up_model(&program, WRONG_KEY, &url), 1, "Nothing was changed");
    let output = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let left = std::fs::read_dir(program.data().join("state")).unwrap();
    assert!(left.flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with(".tried-")));
}

/// J1: the temporary secret of an interrupted setup is removed by the next one; that of a running
/// setup is not.
#[test]
fn temporary_secrets_are_removed() {
    let program = fresh_program();
    std::fs::create_dir_all(program.data().join("state")).unwrap();
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let abandoned = [".tried-Xy12Zw".to_owned(), format!(".tried-Xy12Zw-{}.tmp", ended.id())];
    let in_use = format!(".tried-Ab34Cd-{}.tmp", std::process::id());
    for name in abandoned.iter().chain([&in_use]) {
        std::fs::write(state_file(&program, name), "sk-canary").unwrap();
    }
    run(&program, &["setup", "you", "--name", "Ann", "--no-input"]);
    assert_eq!(abandoned.map(|name| state_file(&program, &name).exists()), [false, false]);
    assert!(state_file(&program, &in_use).exists(), "somebody else tries it right now");
}

/// A key can come from stdin; a missing, empty, unreadable or unknown value is reported in one
/// line.
#[test]
fn model_failures_are_reported_specifically() {
    let model_server = start_model_server();
    let program = fresh_program();
    let url = model_server.url();
    let piped =
        program.run_with_input(&["setup", "model", "--key-stdin", "--url", &url], &format!("{KEY}\n"));
    assert_eq!(piped.status.code(), Some(0), "{}", stderr(&piped));
    let closed_port = format!("http://127.0.0.1:{}", free_port());
    assert_refused(&set_up_model(&program, KEY, &closed_port), 1, "cannot be reached");
    assert_refused(&set_up_model(&program, "", &url), 2, "that was empty");
    assert_refused(&set_up_model(&program, "two\nlines", &url), 2, "more than one line");
    assert_refused(&set_up_model(&program, KEY, "nowhere"), 1, "is not the address of a model");
    let check = |arguments: &[&str], code: i32, words: &str| {
        assert_refused(
            &run(&fresh_program(), &[&["setup", "model", "--no-input"], arguments].concat()),
            code,
            words,
        );
    };
    check(&[], 2, "say who should answer: --model");
    check(&["--model", "anthropic:sonnet"], 2, "give the key with --key-file FILE or --key-stdin");
    check(&["--model", "anthropic:sonnet", "--key-file", "/no/such/file"], 2, "/no/such/file: No such file");
    check(&["--model", "gpt"], 2, "--model: `gpt` is not a brain i know");
    check(&["--model", "claude"], 1, "there is no program called `claude` on the PATH");
}

/// A custom server is connected without a key.
#[test]
fn custom_server_is_connected() {
    let runtime = BackgroundRuntime::start();
    let server = runtime.run(async { ChatServer::start(Style::OpenAi).await.unwrap() });
    let program = fresh_program();
    let url = server.url();
    let done = run(&program, &["setup", "model", "--model", "openai:test:3b", "--url", &url, "--no-input"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).contains(&format!("test:3b at {url} answers")), "{}", stdout(&done));
    let output = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let offline = run(&program, &["setup", "model", "--model", "offline", "--no-input"]);
    assert!(stdout(&offline).contains("nobody answers but the brain in here"), "{}", stderr(&offline));
}

/// Variables of the shell take precedence over stored settings, and setup says so.
#[test]
fn overriding_variable_is_reported() {
    let model_server = start_model_server();
    let mut program = fresh_program();
    program.set_env("OLLIM_MODEL", "offline");
    let done = set_up_model(&program, KEY, &model_server.url());
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).contains("OLLIM_MODEL is set in this shell, and wins"), "{}", stdout(&done));
}

/// ENV-1: a key in the shell takes precedence over the stored one, and the doctor reports both.
#[test]
fn shell_key_overrides_the_stored_one_and_is_reported() {
    let model_server = start_model_server();
    let mut program = fresh_program();
    assert_eq!(set_up_model(&program, KEY, &model_server.url()).status.code(), Some(0));
    program.set_env("ANTHROPIC_API_KEY", WRONG_KEY);
    let report = run(&program, &["doctor"]);
    let output = stdout(&report);
    assert!(output.contains("refused the key"), "{output}");
    assert!(output.contains("! secrets  ANTHROPIC_API_KEY is set in this shell, and wins over"), "{output}");
    assert!(!output.contains("canary"), "{output}");
    let done = set_up_model(&program, KEY, &model_server.url());
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).contains("wins over state/anthropic.key while it is"), "{}", stdout(&done));
}

/// ENV-2: invalid settings do not block their repair. The doctor lists each with its remedy, and
/// each remedy works while the others are still invalid.
#[test]
fn invalid_settings_are_repaired_by_the_setup() {
    let model_server = start_model_server();
    let program = fresh_program();
    assert_eq!(set_up_model(&program, KEY, &model_server.url()).status.code(), Some(0));
    std::fs::remove_file(state_file(&program, "anthropic.key")).unwrap();
    let stored = std::fs::read_to_string(state_file(&program, "environment")).unwrap();
    std::fs::write(state_file(&program, "environment"), format!("{stored}OLLIM_TIMEZONE=Nowhere\n")).unwrap();
    let doctor = stdout(&run(&program, &["doctor"]));
    let zone = "OLLIM_TIMEZONE: there is no time zone called `Nowhere`. use a name like Europe/Berlin.";
    let key = "OLLIM_MODEL asks for anthropic:sonnet, but ANTHROPIC_API_KEY is not set.";
    assert!(doctor.contains(&format!("✗ settings {zone}\n    fix: ollim-bot setup you --timezone ZONE\n")));
    assert!(doctor.contains(&format!("✗ settings {key}")), "{doctor}");
    assert!(doctor.contains("\n    fix: ollim-bot setup model\n"), "{doctor}");

    let words = ["setup", "you", "--timezone", "Europe/Berlin", "--no-input"];
    let you = run(&program, &words);
    assert_eq!(stdout(&you), "✓ you  ann · Europe/Berlin · i am ollim\n", "{}", stderr(&you));
    for wrong in [zone, key] {
        assert!(stderr(&you).contains(&format!("✗ settings  {wrong}")), "{}", stderr(&you));
    }
    let still = run(&program, &["chat", "--once", "hello"]);
    assert!(still.status.success() && stderr(&still).contains(key), "{}", stderr(&still));
    assert_refused(
        &run(&program, &["setup", "model", "--model", "openai:x", "--no-input"]),
        2,
        "give the key with",
    );
    let model = set_up_model(&program, KEY, &model_server.url());
    assert_eq!(model.status.code(), Some(0), "{}", stderr(&model));
    let output = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Earlier invalid settings do not hide an invalid new one, which is refused.
#[test]
fn earlier_errors_do_not_hide_a_new_one() {
    let program = fresh_program();
    std::fs::create_dir_all(program.data().join("state")).unwrap();
    let file = program.data().join("settings.toml");
    std::fs::write(&file, "[model]\ncolour = 1\n").unwrap();
    let wrong = run(&program, &["setup", "model", "--model", "openai:x", "--url", "nowhere", "--no-input"]);
    assert_eq!(wrong.status.code(), Some(1), "{}", stderr(&wrong));
    assert!(stderr(&wrong).contains("✗ settings  ") && stderr(&wrong).contains("settings.toml"));
    assert!(!state_file(&program, "environment").exists(), "{}", stderr(&wrong));
    let you = run(&program, &["setup", "you", "--name", "Ann", "--no-input"]);
    assert_eq!(you.status.code(), Some(0), "{}", stderr(&you));
}

/// B4: a data directory that cannot be written is named.
#[test]
fn unwritable_data_directory_is_named() {
    let model_server = start_model_server();
    let program = fresh_program();
    std::fs::write(program.data(), "a file").unwrap();
    assert_refused(&set_up_model(&program, KEY, &model_server.url()), 78, ".ollim-bot cannot be written to");
}

fn set_up_discord(program: &Program, token: &str) -> Output {
    let file = write_secret(program, token);
    run(program, &["setup", "discord", "--token-file", file.to_str().unwrap(), "--no-input"])
}

/// A working token sends a test message; it is stored, and sufficient for a start.
#[test]
fn discord_is_connected_after_a_test_message() {
    let fake_discord = DiscordOnLoopback::open();
    let mut program = fresh_program();
    program.set_env("DISCORD_API_BASE", &fake_discord.api_base());
    let done = set_up_discord(&program, &fake_discord.discord.token());
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).contains("a test message has arrived at "), "{}", stdout(&done));
    let owner = fake_discord.discord.owner().id().to_string();
    assert!(!stdout(&done).contains(&owner), "people have names: {}", stdout(&done));
    assert!(stdout(&done).contains("state/discord.token, which only you can read"), "{}", stdout(&done));
    assert!(!stdout(&done).contains(&fake_discord.discord.token()));
    let seen = fake_discord.discord.visible();
    assert!(seen.len() == 1 && seen[0].content.starts_with("hello, this is where i will reach you"));
    assert_eq!(mode(&state_file(&program, "discord.token")), 0o600);
    let again = run(&program, &["setup", "discord", "--no-input"]);
    assert!(stdout(&again).contains("nothing to do"), "{}", stderr(&again));
    assert_eq!(fake_discord.discord.visible().len(), 1, "looking sends nothing");
    program.set_env("OLLIM_HTTP", &format!("127.0.0.1:{}", free_port()));
    let running = program.start();
    let health = running.get("/api/health").unwrap();
    assert_eq!(health["surfaces"], serde_json::json!(["terminal", "page", "discord"]));
    running.terminate();
}

/// SU-11, D2: each way in which Discord can refuse is reported specifically, and nothing is stored.
#[test]
fn discord_failures_are_reported_specifically() {
    let fake_discord = DiscordOnLoopback::open();
    let mut program = fresh_program();
    program.set_env("DISCORD_API_BASE", &fake_discord.api_base());
    let token = fake_discord.discord.token();
    assert_refused(
        &set_up_discord(&program, "not.the.canary"),
        1,
        "discord rejected that token. on the Bot page press Reset",
    );
    assert_refused(&set_up_discord(&program, "two words"), 1, "has a space");
    assert_refused(
        &run(&program, &["setup", "discord", "--no-input"]),
        2,
        "--token-file FILE or --token-stdin",
    );
    let dm = RequestFilter::next("POST", "/users/@me/channels");
    for (code, words) in [
        (
            50007,
            "the application is not added to your account. open https://discord.com/oauth2/authorize?client_id=",
        ),
        (50278, "won't let me message you without a shared server"),
    ] {
        fake_discord.discord.inject_fault(DiscordFault::Request(dm.clone(), RequestFault::Code(code)));
        assert_refused(&set_up_discord(&program, &token), 1, words);
        fake_discord
            .discord
            .inject_fault(DiscordFault::Request(RequestFilter::send(), RequestFault::Code(code)));
        assert_refused(&set_up_discord(&program, &token), 1, words);
    }
    fake_discord.discord.inject_fault(DiscordFault::Request(RequestFilter::any(), RequestFault::Status(503)));
    assert_refused(&set_up_discord(&program, &token), 1, "discord cannot be reached: Discord is busy (503)");
    assert!(!state_file(&program, "discord.token").exists(), "nothing of it is kept");
    program.set_env("DISCORD_API_BASE", &format!("http://127.0.0.1:{}", free_port()));
    let failed = set_up_discord(&program, &token);
    assert_refused(&failed, 1, "discord cannot be reached: ");
    assert!(!stderr(&failed).contains("Discord cannot be reached"), "once is enough: {}", stderr(&failed));
}

/// After a network failure the stored token and key are preserved, and no new ones are requested.
#[test]
fn network_failure_requests_no_new_secrets() {
    let fake_discord = DiscordOnLoopback::open();
    let model_server = start_model_server();
    let mut program = fresh_program();
    program.set_env("DISCORD_API_BASE", &fake_discord.api_base());
    assert_eq!(set_up_discord(&program, &fake_discord.discord.token()).status.code(), Some(0));
    assert_eq!(set_up_model(&program, KEY, &model_server.url()).status.code(), Some(0));
    let closed_port = format!("http://127.0.0.1:{}", free_port());
    program.set_env("DISCORD_API_BASE", &closed_port);
    program.set_env("ANTHROPIC_BASE_URL", &closed_port);
    for (section, flag) in [("discord", "--token-file FILE"), ("model", "--model NAME")] {
        let failed = run(&program, &["setup", section, "--no-input"]);
        assert_refused(&failed, 1, "check the network, and try again. Nothing was changed.");
        let output = stderr(&failed);
        assert!(
            output.contains(flag) && !output.contains("step 1") && !output.contains("who should"),
            "{output}"
        );
    }
    let deep = parse_json(&run(&program, &["doctor", "--json"])).to_string();
    assert!(deep.contains("check the network") && !deep.contains("ollim-bot setup discord"), "{deep}");
    assert!(!deep.contains("ollim-bot setup model"), "{deep}");
}

/// SU-7: an application without a known owner is refused.
#[test]
fn application_without_an_owner_is_refused() {
    let fake_discord = DiscordOnLoopback::owned_by(Ownership::Unknown);
    let mut program = fresh_program();
    program.set_env("DISCORD_API_BASE", &fake_discord.api_base());
    let done = set_up_discord(&program, &fake_discord.discord.token());
    assert_refused(&done, 1, "discord does not say who owns the application");
}

/// ENV-5, ENV-6: names and time zone are stored and used; an unknown zone is refused.
#[test]
fn names_and_time_zone_are_stored() {
    let program = fresh_program();
    let unknown = run(&program, &["setup", "you", "--timezone", "Europe/Nowhere", "--no-input"]);
    assert_refused(
        &unknown,
        2,
        "there is no time zone called `Europe/Nowhere`. use a name like Europe/Berlin",
    );
    assert_refused(&run(&program, &["setup", "you", "--no-input"]), 2, "--name NAME");
    assert_refused(
        &run(&program, &["setup", "you", "--name", "a\nb", "--no-input"]),
        2,
        "a name has 1 to 64 letters",
    );
    let words =
        ["setup", "you", "--name", "Ann", "--bot-name", "Robin", "--timezone", "Asia/Tokyo", "--no-input"];
    let done = run(&program, &words);
    assert_eq!(stdout(&done), "✓ you  Ann · Asia/Tokyo · i am Robin\n", "{}", stderr(&done));
    let later = run(&program, &["setup", "you", "--timezone", "Europe/Madrid"]);
    assert_eq!(stdout(&later), "✓ you  Ann · Europe/Madrid · i am Robin\n", "{}", stderr(&later));
    let doctor = stdout(&run(&program, &["doctor"]));
    assert!(doctor.contains("✓ zone     Europe/Madrid (from OLLIM_TIMEZONE)"), "{doctor}");
}

/// Reminders keep their instant when the time zone changes. Setup lists their new local times, with
/// a command that moves them.
#[test]
fn new_time_zone_lists_affected_reminders() {
    let program = fresh_program();
    write_state_file(&program, "environment", "OLLIM_TIMEZONE=UTC\n");
    let reminders = program.data().join("reminders");
    std::fs::create_dir(&reminders).unwrap();
    let text = "---\nid: r1\nrun-at: 2099-11-20T10:00:00+00:00\n---\ndentist\n";
    std::fs::write(reminders.join("r1.md"), text).unwrap();
    let done = stdout(&run(&program, &["setup", "you", "--timezone", "America/New_York", "--no-input"]));
    let output = "\n  1 reminder keeps its moment: dentist is now at fri 20 nov 2099 05:00. to move one: \
                ollim-bot move r1 to 20 nov 2099 10:00\n";
    assert!(done.ends_with(output), "{done}");
    let list = || stdout(&run(&program, &["reminder", "list"]));
    assert_eq!(list(), "  r1  at 2099-11-20T05:00       dentist\n");
    let moved = run(&program, &["move", "r1", "to", "20", "nov", "2099", "10:00"]);
    assert_eq!(moved.status.code(), Some(0), "{}", stderr(&moved));
    assert_eq!(list(), "  r1  at 2099-11-20T10:00       dentist\n");
    let same = stdout(&run(&program, &["setup", "you", "--timezone", "America/New_York", "--no-input"]));
    assert!(!same.contains("moment"), "{same}");
}

/// ENV-6: a running daemon keeps its time zone. Setup and doctor say that a restart applies the new
/// one.
#[test]
fn pending_time_zone_change_is_reported() {
    let program = fresh_program();
    write_state_file(
        &program,
        "environment",
        &format!("OLLIM_TIMEZONE=Europe/Madrid\nOLLIM_HTTP=127.0.0.1:{}\n", free_port()),
    );
    let running = program.start();
    let doctor = || stdout(&run(&program, &["doctor"]));
    assert!(!doctor().contains("! zone"), "{}", doctor());
    let done = run(&program, &["setup", "you", "--timezone", "Asia/Tokyo"]);
    let again = "the assistant that runs reads this when it starts again: ollim-bot restart";
    assert!(stdout(&done).contains(again), "{}{}", stdout(&done), stderr(&done));
    let output = "! zone     the assistant that runs has Europe/Madrid; it reads this when it starts again\n    \
                fix: ollim-bot restart";
    assert!(doctor().contains(output), "{}", doctor());
    running.terminate();
}

/// Without a section, setup lists the state of all sections.
#[test]
fn setup_lists_all_sections() {
    let mut program = fresh_program();
    let _systemd = FakeSystemd::for_program(&mut program);
    let listed = run(&program, &["setup", "--no-input"]);
    let output = stdout(&listed);
    for line in [
        "  1 model    ! none connected",
        "  2 discord  – not connected   about 3 min, 3 clicks",
        "  6 service  – not installed",
    ] {
        assert!(output.contains(line), "{output}");
    }
    let sections = parse_json(&run(&program, &["setup", "--json"]));
    let names: Vec<_> =
        sections["sections"].as_array().unwrap().iter().map(|row| row["section"].as_str().unwrap()).collect();
    assert_eq!(names, ["model", "discord", "caldav", "mail", "google", "service", "you"]);
    assert!(!program.data().exists(), "looking makes no directory");
    assert!(Path::new(&program.home()).exists());
}
