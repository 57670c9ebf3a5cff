//! The interactive setup on a fresh machine, up to a running service.

use testkit::background_runtime::BackgroundRuntime;
use testkit::chat_server::{ChatServer, Style};
use testkit::model_server::{Options, ScriptedReply};
use testkit::process::{BackgroundModelServer, Pane, Program, free_port, stderr, stdout};

use crate::rig::{DiscordOnLoopback, FakeSystemd, fresh_program, parse_json, run, write_state_file};

const KEY: &str = "sk-canary-fresh";

/// ENV-2: the setup leads from an empty home to a service that answers in Discord, using only the
/// terminal; no secret is shown, and the doctor has no findings.
#[test]
fn setup_leads_from_an_empty_home_to_a_running_service() {
    let model_server =
        BackgroundModelServer::start_with(Options { key: Some(KEY.to_owned()), ..Options::default() });
    let fake_discord = DiscordOnLoopback::open();
    let mut program = fresh_program();
    let systemd = FakeSystemd::for_program(&mut program);
    systemd.enable("may-linger");
    // The addresses of the fake servers; a user needs neither.
    program
        .set_env("ANTHROPIC_BASE_URL", &model_server.url())
        .set_env("DISCORD_API_BASE", &fake_discord.api_base());
    let addresses = format!(
        "ANTHROPIC_BASE_URL={}\nDISCORD_API_BASE={}\nOLLIM_HTTP=127.0.0.1:{}\n",
        model_server.url(),
        fake_discord.api_base(),
        free_port()
    );
    let pane = Pane::open(&program, &["setup"], (160, 140));
    pane.wait_for_text("choose 1-7, or q:");
    pane.type_line("1");
    pane.wait_for_text("who should answer?");
    pane.type_line("1");
    pane.wait_for_text("paste the key (hidden):");
    pane.type_line("sk-canary-typo");
    pane.wait_for_text("refused the key");
    pane.wait_until("the question again", |screen| screen.matches("paste the key (hidden):").count() == 2);
    pane.type_line(KEY);
    pane.wait_for_text("✓ model  claude-sonnet");
    pane.wait_until("the menu again", |screen| screen.matches("choose 1-7").count() == 2);
    pane.type_line("2");
    pane.wait_for_text("paste the token (hidden):");
    pane.type_line(&fake_discord.discord.token());
    pane.wait_for_text("✓ the token works · app \"");
    pane.wait_for_text("discord, step 3 of 3 · a test message");
    pane.wait_for_text("✓ discord  a test message has arrived");
    pane.wait_until("the menu again", |screen| screen.matches("choose 1-7").count() == 3);
    pane.type_line("7");
    pane.wait_for_text("what are you called? [ann]");
    pane.type_line("Ann");
    pane.wait_for_text("what am i called? [ollim]");
    pane.type_line("");
    pane.wait_for_text("your time zone? [");
    pane.type_line("Europe/Nowhere");
    pane.wait_until("the question again", |screen| screen.matches("your time zone? [").count() == 2);
    pane.type_line("Europe/Madrid");
    pane.wait_for_text("✓ you  Ann · Europe/Madrid · i am ollim");
    // The service has no variables, so the addresses of the fake servers are added here.
    let file = program.data().join("state/environment");
    let now = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{now}{addresses}")).unwrap();
    pane.wait_until("the menu again", |screen| screen.contains("✓ Ann · Europe/Madrid"));
    pane.type_line("6");
    let screen = pane.wait_for_text("the service is running (pid ");
    assert!(!screen.contains("canary") && !screen.contains(&fake_discord.discord.token()), "{screen}");
    pane.wait_until("the menu again", |screen| screen.contains("it goes on when you log out"));
    pane.type_line("q");
    let screen = pane.wait_for_text("ended with 0");
    assert!(!screen.contains("canary"), "{screen}");

    model_server.model().script([ScriptedReply::text("good morning")]);
    assert_answers(&fake_discord, &systemd);
    program.set_env("ANTHROPIC_BASE_URL", "").set_env("DISCORD_API_BASE", "");
    assert_healthy(&program);
    assert_eq!(run(&program, &["service", "remove"]).status.code(), Some(0));
}

/// J1: leaving a section is no error; after three wrong keys it fails, and no secret is shown.
#[test]
fn section_can_be_left_and_fails_after_three_wrong_keys() {
    let model_server =
        BackgroundModelServer::start_with(Options { key: Some(KEY.to_owned()), ..Options::default() });
    let mut program = fresh_program();
    program.set_env("ANTHROPIC_BASE_URL", &model_server.url());
    let none = "that is none of them.";
    let key = "paste the key (hidden):";
    for (first, then, second) in [("5", none, "q"), ("1", key, "q"), ("1", key, "")] {
        let pane = Pane::open(&program, &["setup", "model"], (120, 40));
        pane.wait_for_text("choose 1-4, or q:");
        pane.type_line(first);
        pane.wait_for_text(then);
        pane.type_line(second);
        let screen = pane.wait_for_text("ended with 0");
        assert!(screen.contains("left. nothing was changed."), "{screen}");
    }
    let pane = Pane::open(&program, &["setup", "model"], (120, 40));
    pane.wait_for_text("choose 1-4, or q:");
    pane.type_line("1");
    for asked in 1..=3 {
        pane.wait_until("the question", |screen| screen.matches("paste the key (hidden):").count() == asked);
        pane.type_line("sk-canary-typo");
        pane.wait_until("the reason", |screen| screen.matches("refused the key").count() == asked);
    }
    let screen = pane.wait_for_text("ended with 1");
    assert!(!screen.contains("canary"), "{screen}");
    assert!(!program.data().join("state/anthropic.key").exists());
}

/// A key is asked for again only if it was rejected; after a connection failure the same key is
/// retried.
#[test]
fn key_is_not_asked_for_again_after_a_connection_failure() {
    let port = free_port();
    let mut program = fresh_program();
    program.set_env("ANTHROPIC_BASE_URL", &format!("http://127.0.0.1:{port}"));
    let pane = Pane::open(&program, &["setup", "model"], (120, 40));
    pane.wait_for_text("choose 1-4, or q:");
    pane.type_line("1");
    pane.wait_for_text("paste the key (hidden):");
    pane.type_line(KEY);
    pane.wait_for_text("cannot be reached");
    pane.wait_for_text("press enter to try again, or q:");
    let _backstage =
        BackgroundModelServer::start_with(Options { key: Some(KEY.to_owned()), port, ..Options::default() });
    pane.type_line("");
    let screen = pane.wait_for_text("ended with 0");
    assert!(screen.contains("✓ model  claude-sonnet"), "{screen}");
    assert_eq!(screen.matches("paste the key").count(), 1, "{screen}");
}

/// Answers the questions for a server at `url`, up to the one for its key.
fn enter_server(pane: &Pane, url: &str, time: usize) {
    for (question, answer) in
        [("choose 1-4, or q:", "2"), ("where is it?", url), ("which of its models?", "local")]
    {
        pane.wait_until(question, |screen| screen.matches(question).count() == time);
        pane.type_line(answer);
    }
}

/// J1: a server without a key does not get the key of another one, which is removed.
#[test]
fn server_without_a_key_does_not_get_an_old_one() {
    let runtime = BackgroundRuntime::start();
    let program = fresh_program();
    let server = runtime.run(async { ChatServer::start(Style::Ollama).await.unwrap() });
    let old = write_state_file(&program, "openai.key", "sk-canary-openai\n");
    let pane = Pane::open(&program, &["setup", "model"], (120, 40));
    enter_server(&pane, &server.url(), 1);
    pane.wait_for_text("paste its key (hidden; enter, if it wants none):");
    pane.type_line("");
    let screen = pane.wait_for_text("ended with 0");
    assert!(screen.contains("openai.key is removed"), "{screen}");
    let sent: Vec<_> = server.requests().into_iter().map(|request| request.authorization).collect();
    assert_eq!((sent, old.exists()), (vec![None], false));
}

/// An unreachable server is asked for again, but not its key.
#[test]
fn unreachable_server_is_asked_for_again_without_its_key() {
    let runtime = BackgroundRuntime::start();
    let port = free_port();
    let program = fresh_program();
    let url = format!("http://127.0.0.1:{port}/v1");
    let pane = Pane::open(&program, &["setup", "model"], (120, 60));
    enter_server(&pane, &url, 1);
    pane.wait_for_text("paste its key (hidden; enter, if it wants none):");
    pane.type_line(KEY);
    pane.wait_for_text("cannot be reached");
    let options = testkit::chat_server::Options {
        key: Some(KEY.to_owned()),
        port,
        style: Style::Ollama,
        ..testkit::chat_server::Options::default()
    };
    let server = runtime.run(async move { ChatServer::start_with(options).await.unwrap() });
    enter_server(&pane, &url, 2);
    let screen = pane.wait_for_text("ended with 0");
    assert_eq!(screen.matches("paste its key").count(), 1, "{screen}");
    assert!(!server.requests().is_empty() && !screen.contains("canary"), "{screen}");
}

/// Verifies that the service answers in Discord.
fn assert_answers(fake_discord: &DiscordOnLoopback, systemd: &FakeSystemd) {
    fake_discord.discord.owner().send_text("hello");
    let answer =
        testkit::process::block_on(fake_discord.discord.wait_for(testkit::TEST_TIMEOUT, |discord| {
            discord.visible().into_iter().find(|seen| seen.content.contains("good morning"))
        }));
    assert!(answer.is_some(), "{}\n{}", fake_discord.discord.transcript(), systemd.read("journal"));
}

/// Verifies that the doctor has no findings, and that the service never crashed.
fn assert_healthy(program: &Program) {
    let doctor = run(program, &["doctor"]);
    assert_eq!(doctor.status.code(), Some(0), "{}{}", stdout(&doctor), stderr(&doctor));
    assert!(stdout(&doctor).ends_with("0 wrong, 0 to look at\n"), "{}", stdout(&doctor));
    let service = parse_json(&run(program, &["service", "status", "--json"]));
    assert_eq!(
        (&service["service"]["state"], &service["service"]["restarts"]),
        (&"active".into(), &0.into())
    );
}
