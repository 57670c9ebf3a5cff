//! The interactive setup on a fresh machine, up to a running service.

use testkit::chat_server::{ChatServer, Style};
use testkit::elsewhere::Elsewhere;
use testkit::kill::{Backstage, Pane, Program, free_port, stderr, stdout};
use testkit::model_server::{Act, Options};

use crate::rig::{PlayedDiscord, Systemd, fresh, json_of, keep, run};

const KEY: &str = "sk-canary-fresh";

/// ENV-2: the setup leads from an empty home to a service that answers in Discord, using only the
/// terminal; no secret is shown, and the doctor has no findings.
#[test]
fn from_an_empty_home_to_a_running_service() {
    let backstage = Backstage::open_with(Options { key: Some(KEY.to_owned()), ..Options::default() });
    let played = PlayedDiscord::open();
    let mut program = fresh();
    let systemd = Systemd::for_program(&mut program);
    systemd.is("may-linger");
    // The addresses of the fake servers; a user needs neither.
    program.set("ANTHROPIC_BASE_URL", &backstage.url()).set("DISCORD_API_BASE", &played.base());
    let kept = format!(
        "ANTHROPIC_BASE_URL={}\nDISCORD_API_BASE={}\nOLLIM_HTTP=127.0.0.1:{}\n",
        backstage.url(),
        played.base(),
        free_port()
    );
    let pane = Pane::open(&program, &["setup"], (160, 140));
    pane.shows("choose 1-7, or q:");
    pane.says("1");
    pane.shows("who should answer?");
    pane.says("1");
    pane.shows("paste the key (hidden):");
    pane.says("sk-canary-typo");
    pane.shows("refused the key");
    pane.until("the question again", |screen| screen.matches("paste the key (hidden):").count() == 2);
    pane.says(KEY);
    pane.shows("✓ model  claude-sonnet");
    pane.until("the menu again", |screen| screen.matches("choose 1-7").count() == 2);
    pane.says("2");
    pane.shows("paste the token (hidden):");
    pane.says(&played.discord.token());
    pane.shows("✓ the token works · app \"");
    pane.shows("discord, step 3 of 3 · a test message");
    pane.shows("✓ discord  a test message has arrived");
    pane.until("the menu again", |screen| screen.matches("choose 1-7").count() == 3);
    pane.says("7");
    pane.shows("what are you called? [ann]");
    pane.says("Ann");
    pane.shows("what am i called? [ollim]");
    pane.says("");
    pane.shows("your time zone? [");
    pane.says("Europe/Nowhere");
    pane.until("the question again", |screen| screen.matches("your time zone? [").count() == 2);
    pane.says("Europe/Madrid");
    pane.shows("✓ you  Ann · Europe/Madrid · i am ollim");
    // The service has no variables, so the addresses of the fake servers are added here.
    let file = program.data().join("state/environment");
    let now = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{now}{kept}")).unwrap();
    pane.until("the menu again", |screen| screen.contains("✓ Ann · Europe/Madrid"));
    pane.says("6");
    let screen = pane.shows("the service is running (pid ");
    assert!(!screen.contains("canary") && !screen.contains(&played.discord.token()), "{screen}");
    pane.until("the menu again", |screen| screen.contains("it goes on when you log out"));
    pane.says("q");
    let screen = pane.shows("ended with 0");
    assert!(!screen.contains("canary"), "{screen}");

    backstage.model().script([Act::says("good morning")]);
    answers(&played, &systemd);
    program.set("ANTHROPIC_BASE_URL", "").set("DISCORD_API_BASE", "");
    is_well(&program);
    assert_eq!(run(&program, &["service", "remove"]).status.code(), Some(0));
}

/// J1: leaving a section is no error; after three wrong keys it fails, and no secret is shown.
#[test]
fn a_section_can_be_left_and_asks_again_before_it_gives_up() {
    let backstage = Backstage::open_with(Options { key: Some(KEY.to_owned()), ..Options::default() });
    let mut program = fresh();
    program.set("ANTHROPIC_BASE_URL", &backstage.url());
    let none = "that is none of them.";
    let key = "paste the key (hidden):";
    for (first, then, second) in [("5", none, "q"), ("1", key, "q"), ("1", key, "")] {
        let pane = Pane::open(&program, &["setup", "model"], (120, 40));
        pane.shows("choose 1-4, or q:");
        pane.says(first);
        pane.shows(then);
        pane.says(second);
        let screen = pane.shows("ended with 0");
        assert!(screen.contains("left. nothing was changed."), "{screen}");
    }
    let pane = Pane::open(&program, &["setup", "model"], (120, 40));
    pane.shows("choose 1-4, or q:");
    pane.says("1");
    for asked in 1..=3 {
        pane.until("the question", |screen| screen.matches("paste the key (hidden):").count() == asked);
        pane.says("sk-canary-typo");
        pane.until("the reason", |screen| screen.matches("refused the key").count() == asked);
    }
    let screen = pane.shows("ended with 1");
    assert!(!screen.contains("canary"), "{screen}");
    assert!(!program.data().join("state/anthropic.key").exists());
}

/// A key is asked for again only if it was rejected; after a connection failure the same key is
/// retried.
#[test]
fn a_key_is_not_asked_for_again_because_nobody_answered() {
    let port = free_port();
    let mut program = fresh();
    program.set("ANTHROPIC_BASE_URL", &format!("http://127.0.0.1:{port}"));
    let pane = Pane::open(&program, &["setup", "model"], (120, 40));
    pane.shows("choose 1-4, or q:");
    pane.says("1");
    pane.shows("paste the key (hidden):");
    pane.says(KEY);
    pane.shows("cannot be reached");
    pane.shows("press enter to try again, or q:");
    let _backstage = Backstage::open_with(Options { key: Some(KEY.to_owned()), port, ..Options::default() });
    pane.says("");
    let screen = pane.shows("ended with 0");
    assert!(screen.contains("✓ model  claude-sonnet"), "{screen}");
    assert_eq!(screen.matches("paste the key").count(), 1, "{screen}");
}

/// Answers the questions for a server at `url`, up to the one for its key.
fn names_a_server(pane: &Pane, url: &str, time: usize) {
    for (question, answer) in
        [("choose 1-4, or q:", "2"), ("where is it?", url), ("which of its models?", "local")]
    {
        pane.until(question, |screen| screen.matches(question).count() == time);
        pane.says(answer);
    }
}

/// J1: a server without a key does not get the key of another one, which is removed.
#[test]
fn a_server_that_wants_no_key_does_not_get_an_old_one() {
    let elsewhere = Elsewhere::open();
    let program = fresh();
    let server = elsewhere.run(async { ChatServer::start(Style::Ollama).await.unwrap() });
    let old = keep(&program, "openai.key", "sk-canary-openai\n");
    let pane = Pane::open(&program, &["setup", "model"], (120, 40));
    names_a_server(&pane, &server.url(), 1);
    pane.shows("paste its key (hidden; enter, if it wants none):");
    pane.says("");
    let screen = pane.shows("ended with 0");
    assert!(screen.contains("openai.key is removed"), "{screen}");
    let sent: Vec<_> = server.requests().into_iter().map(|request| request.authorization).collect();
    assert_eq!((sent, old.exists()), (vec![None], false));
}

/// An unreachable server is asked for again, but not its key.
#[test]
fn a_server_that_was_away_is_named_again_without_its_key() {
    let elsewhere = Elsewhere::open();
    let port = free_port();
    let program = fresh();
    let url = format!("http://127.0.0.1:{port}/v1");
    let pane = Pane::open(&program, &["setup", "model"], (120, 60));
    names_a_server(&pane, &url, 1);
    pane.shows("paste its key (hidden; enter, if it wants none):");
    pane.says(KEY);
    pane.shows("cannot be reached");
    let options = testkit::chat_server::Options {
        key: Some(KEY.to_owned()),
        port,
        style: Style::Ollama,
        ..testkit::chat_server::Options::default()
    };
    let server = elsewhere.run(async move { ChatServer::start_with(options).await.unwrap() });
    names_a_server(&pane, &url, 2);
    let screen = pane.shows("ended with 0");
    assert_eq!(screen.matches("paste its key").count(), 1, "{screen}");
    assert!(!server.requests().is_empty() && !screen.contains("canary"), "{screen}");
}

/// Verifies that the service answers in Discord.
fn answers(played: &PlayedDiscord, systemd: &Systemd) {
    played.discord.owner().types("hello");
    let heard = testkit::kill::wait(played.discord.wait_for(testkit::PATIENCE, |discord| {
        discord.visible().into_iter().find(|seen| seen.content.contains("good morning"))
    }));
    assert!(heard.is_some(), "{}\n{}", played.discord.transcript(), systemd.read("journal"));
}

/// Verifies that the doctor has no findings, and that the service never crashed.
fn is_well(program: &Program) {
    let doctor = run(program, &["doctor"]);
    assert_eq!(doctor.status.code(), Some(0), "{}{}", stdout(&doctor), stderr(&doctor));
    assert!(stdout(&doctor).ends_with("0 wrong, 0 to look at\n"), "{}", stdout(&doctor));
    let service = json_of(&run(program, &["service", "status", "--json"]));
    assert_eq!(
        (&service["service"]["state"], &service["service"]["restarts"]),
        (&"active".into(), &0.into())
    );
}
