//! `ollim-bot setup` without a terminal: valid values are checked and stored, and each failure has
//! its own message.

use std::path::Path;
use std::process::Output;

use testkit::chat_server::{ChatServer, Style};
use testkit::discord::{Mishap, On, Ownership, Trouble};
use testkit::elsewhere::Elsewhere;
use testkit::kill::{Backstage, Program, free_port, stderr, stdout};
use testkit::model_server::Options;

use crate::rig::{PlayedDiscord, Systemd, fresh, json_of, keep, mode, run, secret};

pub const KEY: &str = "sk-canary-right";
pub const WRONG: &str = "sk-canary-wrong";

pub fn backstage() -> Backstage {
    Backstage::open_with(Options { key: Some(KEY.to_owned()), ..Options::default() })
}

/// Verifies that it failed with `code` and a message that contains `words`, and showed no secret.
pub fn refused(output: &Output, code: i32, words: &str) {
    let told = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{told}");
    assert!(told.contains(words), "{told}");
    assert!(!told.contains("canary") && !stdout(output).contains("canary"), "{told}");
}

pub fn state(program: &Program, name: &str) -> std::path::PathBuf {
    program.data().join("state").join(name)
}

pub fn set_up_model(program: &Program, key: &str, url: &str) -> Output {
    let file = secret(program, key);
    let file = file.to_str().unwrap();
    run(
        program,
        &["setup", "model", "--key-file", file, "--model", "anthropic:sonnet", "--url", url, "--no-input"],
    )
}

/// J1, J2: a working key is stored privately and used without any variable; it is not asked for
/// again, and never replaced by a wrong one.
#[test]
fn a_key_is_tried_before_it_is_kept() {
    let backstage = backstage();
    let program = fresh();
    let url = backstage.url();
    refused(&set_up_model(&program, WRONG, &url), 1, "refused the key");
    assert!(!state(&program, "anthropic.key").exists());
    assert!(!state(&program, "environment").exists(), "nothing of it is kept");

    let done = set_up_model(&program, KEY, &url);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).starts_with("✓ model  claude-sonnet"), "{}", stdout(&done));
    assert_eq!(mode(&state(&program, "anthropic.key")), 0o600);
    assert_eq!((mode(&state(&program, "environment")), mode(program.data())), (0o600, 0o700));
    let kept = std::fs::read_to_string(state(&program, "environment")).unwrap();
    assert!(kept.contains("OLLIM_MODEL=anthropic:sonnet\n") && !kept.contains("canary"), "{kept}");

    let again = run(&program, &["setup", "model", "--no-input", "--json"]);
    let again = json_of(&again);
    assert_eq!((&again["ok"], &again["changed"]), (&true.into(), &false.into()), "{again}");
    refused(&set_up_model(&program, WRONG, &url), 1, "Nothing was changed");
    let said = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    let left = std::fs::read_dir(program.data().join("state")).unwrap();
    assert!(left.flatten().all(|entry| !entry.file_name().to_string_lossy().starts_with(".tried-")));
}

/// J1: the temporary secret of an interrupted setup is removed by the next one; that of a running
/// setup is not.
#[test]
fn what_was_tried_does_not_stay() {
    let program = fresh();
    std::fs::create_dir_all(program.data().join("state")).unwrap();
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let left = [".tried-Xy12Zw".to_owned(), format!(".tried-Xy12Zw-{}.tmp", ended.id())];
    let tried = format!(".tried-Ab34Cd-{}.tmp", std::process::id());
    for name in left.iter().chain([&tried]) {
        std::fs::write(state(&program, name), "sk-canary").unwrap();
    }
    run(&program, &["setup", "you", "--name", "Ann", "--no-input"]);
    assert_eq!(left.map(|name| state(&program, &name).exists()), [false, false]);
    assert!(state(&program, &tried).exists(), "somebody else tries it right now");
}

/// A key can come from stdin; a missing, empty, unreadable or unknown value is reported in one
/// line.
#[test]
fn every_way_a_model_can_be_wrong_has_its_line() {
    let backstage = backstage();
    let program = fresh();
    let url = backstage.url();
    let piped = program.run_reading(&["setup", "model", "--key-stdin", "--url", &url], &format!("{KEY}\n"));
    assert_eq!(piped.status.code(), Some(0), "{}", stderr(&piped));
    let nobody = format!("http://127.0.0.1:{}", free_port());
    refused(&set_up_model(&program, KEY, &nobody), 1, "cannot be reached");
    refused(&set_up_model(&program, "", &url), 2, "that was empty");
    refused(&set_up_model(&program, "two\nlines", &url), 2, "more than one line");
    refused(&set_up_model(&program, KEY, "nowhere"), 1, "is not the address of a model");
    let check = |arguments: &[&str], code: i32, words: &str| {
        refused(&run(&fresh(), &[&["setup", "model", "--no-input"], arguments].concat()), code, words);
    };
    check(&[], 2, "say who should answer: --model");
    check(&["--model", "anthropic:sonnet"], 2, "give the key with --key-file FILE or --key-stdin");
    check(&["--model", "anthropic:sonnet", "--key-file", "/no/such/file"], 2, "/no/such/file: No such file");
    check(&["--model", "gpt"], 2, "--model: `gpt` is not a brain i know");
    check(&["--model", "claude"], 1, "there is no program called `claude` on the PATH");
}

/// A custom server is connected without a key.
#[test]
fn a_server_of_ones_own_is_connected() {
    let elsewhere = Elsewhere::open();
    let server = elsewhere.run(async { ChatServer::start(Style::OpenAi).await.unwrap() });
    let program = fresh();
    let url = server.url();
    let done = run(&program, &["setup", "model", "--model", "openai:test:3b", "--url", &url, "--no-input"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).contains(&format!("test:3b at {url} answers")), "{}", stdout(&done));
    let said = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    let offline = run(&program, &["setup", "model", "--model", "offline", "--no-input"]);
    assert!(stdout(&offline).contains("nobody answers but the brain in here"), "{}", stderr(&offline));
}

/// Variables of the shell take precedence over stored settings, and setup says so.
#[test]
fn what_wins_over_it_is_told() {
    let backstage = backstage();
    let mut program = fresh();
    program.set("OLLIM_MODEL", "offline");
    let done = set_up_model(&program, KEY, &backstage.url());
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).contains("OLLIM_MODEL is set in this shell, and wins"), "{}", stdout(&done));
}

/// ENV-1: a key in the shell takes precedence over the stored one, and the doctor reports both.
#[test]
fn a_key_of_the_shell_wins_over_the_kept_one_and_that_is_told() {
    let backstage = backstage();
    let mut program = fresh();
    assert_eq!(set_up_model(&program, KEY, &backstage.url()).status.code(), Some(0));
    program.set("ANTHROPIC_API_KEY", WRONG);
    let looked = run(&program, &["doctor"]);
    let told = stdout(&looked);
    assert!(told.contains("refused the key"), "{told}");
    assert!(told.contains("! secrets  ANTHROPIC_API_KEY is set in this shell, and wins over"), "{told}");
    assert!(!told.contains("canary"), "{told}");
    let done = set_up_model(&program, KEY, &backstage.url());
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).contains("wins over state/anthropic.key while it is"), "{}", stdout(&done));
}

/// ENV-2: invalid settings do not block their repair. The doctor lists each with its remedy, and
/// each remedy works while the others are still invalid.
#[test]
fn what_is_wrong_with_the_settings_is_repaired_by_the_setup() {
    let backstage = backstage();
    let program = fresh();
    assert_eq!(set_up_model(&program, KEY, &backstage.url()).status.code(), Some(0));
    std::fs::remove_file(state(&program, "anthropic.key")).unwrap();
    let kept = std::fs::read_to_string(state(&program, "environment")).unwrap();
    std::fs::write(state(&program, "environment"), format!("{kept}OLLIM_TIMEZONE=Nowhere\n")).unwrap();
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
    refused(&run(&program, &["setup", "model", "--model", "openai:x", "--no-input"]), 2, "give the key with");
    let model = set_up_model(&program, KEY, &backstage.url());
    assert_eq!(model.status.code(), Some(0), "{}", stderr(&model));
    let said = run(&program, &["chat", "--once", "hello"]);
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
}

/// Earlier invalid settings do not hide an invalid new one, which is refused.
#[test]
fn what_was_wrong_before_excuses_nothing_new() {
    let program = fresh();
    std::fs::create_dir_all(program.data().join("state")).unwrap();
    let file = program.data().join("settings.toml");
    std::fs::write(&file, "[model]\ncolour = 1\n").unwrap();
    let wrong = run(&program, &["setup", "model", "--model", "openai:x", "--url", "nowhere", "--no-input"]);
    assert_eq!(wrong.status.code(), Some(1), "{}", stderr(&wrong));
    assert!(stderr(&wrong).contains("✗ settings  ") && stderr(&wrong).contains("settings.toml"));
    assert!(!state(&program, "environment").exists(), "{}", stderr(&wrong));
    let you = run(&program, &["setup", "you", "--name", "Ann", "--no-input"]);
    assert_eq!(you.status.code(), Some(0), "{}", stderr(&you));
}

/// B4: a data directory that cannot be written is named.
#[test]
fn a_place_that_cannot_be_written_is_named() {
    let backstage = backstage();
    let program = fresh();
    std::fs::write(program.data(), "a file").unwrap();
    refused(&set_up_model(&program, KEY, &backstage.url()), 78, ".ollim-bot cannot be written to");
}

fn set_up_discord(program: &Program, token: &str) -> Output {
    let file = secret(program, token);
    run(program, &["setup", "discord", "--token-file", file.to_str().unwrap(), "--no-input"])
}

/// A working token sends a test message; it is stored, and sufficient for a start.
#[test]
fn discord_is_connected_when_a_message_has_arrived() {
    let played = PlayedDiscord::open();
    let mut program = fresh();
    program.set("DISCORD_API_BASE", &played.base());
    let done = set_up_discord(&program, &played.discord.token());
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).contains("a test message has arrived at "), "{}", stdout(&done));
    let owner = played.discord.owner().id().to_string();
    assert!(!stdout(&done).contains(&owner), "people have names: {}", stdout(&done));
    assert!(stdout(&done).contains("state/discord.token, which only you can read"), "{}", stdout(&done));
    assert!(!stdout(&done).contains(&played.discord.token()));
    let seen = played.discord.visible();
    assert!(seen.len() == 1 && seen[0].content.starts_with("hello, this is where i will reach you"));
    assert_eq!(mode(&state(&program, "discord.token")), 0o600);
    let again = run(&program, &["setup", "discord", "--no-input"]);
    assert!(stdout(&again).contains("nothing to do"), "{}", stderr(&again));
    assert_eq!(played.discord.visible().len(), 1, "looking sends nothing");
    program.set("OLLIM_HTTP", &format!("127.0.0.1:{}", free_port()));
    let running = program.start();
    let health = running.get("/api/health").unwrap();
    assert_eq!(health["surfaces"], serde_json::json!(["terminal", "page", "discord"]));
    running.terminate();
}

/// SU-11, D2: each way in which Discord can refuse is reported specifically, and nothing is stored.
#[test]
fn every_way_discord_can_be_wrong_has_its_line() {
    let played = PlayedDiscord::open();
    let mut program = fresh();
    program.set("DISCORD_API_BASE", &played.base());
    let token = played.discord.token();
    refused(
        &set_up_discord(&program, "not.the.canary"),
        1,
        "discord rejected that token. on the Bot page press Reset",
    );
    refused(&set_up_discord(&program, "two words"), 1, "has a space");
    refused(&run(&program, &["setup", "discord", "--no-input"]), 2, "--token-file FILE or --token-stdin");
    let dm = On::next("POST", "/users/@me/channels");
    for (code, words) in [
        (
            50007,
            "the application is not added to your account. open https://discord.com/oauth2/authorize?client_id=",
        ),
        (50278, "won't let me message you without a shared server"),
    ] {
        played.discord.trouble(Trouble::Call(dm.clone(), Mishap::Code(code)));
        refused(&set_up_discord(&program, &token), 1, words);
        played.discord.trouble(Trouble::Call(On::send(), Mishap::Code(code)));
        refused(&set_up_discord(&program, &token), 1, words);
    }
    played.discord.trouble(Trouble::Call(On::anything(), Mishap::Status(503)));
    refused(&set_up_discord(&program, &token), 1, "discord cannot be reached: Discord is busy (503)");
    assert!(!state(&program, "discord.token").exists(), "nothing of it is kept");
    program.set("DISCORD_API_BASE", &format!("http://127.0.0.1:{}", free_port()));
    let away = set_up_discord(&program, &token);
    refused(&away, 1, "discord cannot be reached: ");
    assert!(!stderr(&away).contains("Discord cannot be reached"), "once is enough: {}", stderr(&away));
}

/// After a network failure the stored token and key are preserved, and no new ones are requested.
#[test]
fn a_network_that_fails_asks_for_nothing_new() {
    let played = PlayedDiscord::open();
    let backstage = backstage();
    let mut program = fresh();
    program.set("DISCORD_API_BASE", &played.base());
    assert_eq!(set_up_discord(&program, &played.discord.token()).status.code(), Some(0));
    assert_eq!(set_up_model(&program, KEY, &backstage.url()).status.code(), Some(0));
    let nobody = format!("http://127.0.0.1:{}", free_port());
    program.set("DISCORD_API_BASE", &nobody);
    program.set("ANTHROPIC_BASE_URL", &nobody);
    for (section, anew) in [("discord", "--token-file FILE"), ("model", "--model NAME")] {
        let away = run(&program, &["setup", section, "--no-input"]);
        refused(&away, 1, "check the network, and try again. Nothing was changed.");
        let told = stderr(&away);
        assert!(told.contains(anew) && !told.contains("step 1") && !told.contains("who should"), "{told}");
    }
    let deep = json_of(&run(&program, &["doctor", "--json"])).to_string();
    assert!(deep.contains("check the network") && !deep.contains("ollim-bot setup discord"), "{deep}");
    assert!(!deep.contains("ollim-bot setup model"), "{deep}");
}

/// SU-7: an application without a known owner is refused.
#[test]
fn an_application_without_an_owner_is_told() {
    let played = PlayedDiscord::owned_by(Ownership::Nobody);
    let mut program = fresh();
    program.set("DISCORD_API_BASE", &played.base());
    let done = set_up_discord(&program, &played.discord.token());
    refused(&done, 1, "discord does not say who owns the application");
}

/// ENV-5, ENV-6: names and time zone are stored and used; an unknown zone is refused.
#[test]
fn names_and_the_zone_are_kept() {
    let program = fresh();
    let unknown = run(&program, &["setup", "you", "--timezone", "Europe/Nowhere", "--no-input"]);
    refused(&unknown, 2, "there is no time zone called `Europe/Nowhere`. use a name like Europe/Berlin");
    refused(&run(&program, &["setup", "you", "--no-input"]), 2, "--name NAME");
    refused(
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
fn a_new_zone_tells_which_reminders_keep_their_moment() {
    let program = fresh();
    keep(&program, "environment", "OLLIM_TIMEZONE=UTC\n");
    let reminders = program.data().join("reminders");
    std::fs::create_dir(&reminders).unwrap();
    let text = "---\nid: r1\nrun-at: 2099-11-20T10:00:00+00:00\n---\ndentist\n";
    std::fs::write(reminders.join("r1.md"), text).unwrap();
    let done = stdout(&run(&program, &["setup", "you", "--timezone", "America/New_York", "--no-input"]));
    let told = "\n  1 reminder keeps its moment: dentist is now at fri 20 nov 2099 05:00. to move one: \
                ollim-bot move r1 to 20 nov 2099 10:00\n";
    assert!(done.ends_with(told), "{done}");
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
fn a_zone_that_the_running_assistant_does_not_have_yet_is_told() {
    let program = fresh();
    keep(
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
    let told = "! zone     the assistant that runs has Europe/Madrid; it reads this when it starts again\n    \
                fix: ollim-bot restart";
    assert!(doctor().contains(told), "{}", doctor());
    running.terminate();
}

/// Without a section, setup lists the state of all sections.
#[test]
fn everything_that_can_be_set_up_is_listed() {
    let mut program = fresh();
    let _systemd = Systemd::for_program(&mut program);
    let listed = run(&program, &["setup", "--no-input"]);
    let told = stdout(&listed);
    for line in [
        "  1 model    ! none connected",
        "  2 discord  – not connected   about 3 min, 3 clicks",
        "  6 service  – not installed",
    ] {
        assert!(told.contains(line), "{told}");
    }
    let sections = json_of(&run(&program, &["setup", "--json"]));
    let names: Vec<_> =
        sections["sections"].as_array().unwrap().iter().map(|row| row["section"].as_str().unwrap()).collect();
    assert_eq!(names, ["model", "discord", "caldav", "mail", "google", "service", "you"]);
    assert!(!program.data().exists(), "looking makes no directory");
    assert!(Path::new(&program.home()).exists());
}
