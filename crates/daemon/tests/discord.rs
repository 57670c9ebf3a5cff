//! The real program with a fake Discord, over real sockets: it answers, is killed, and continues.
#![expect(clippy::unwrap_used, reason = "the setup of a test must succeed")]

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use testkit::TEST_TIMEOUT;
use testkit::clock::VirtualClock;
use testkit::fake_discord::{FakeDiscord, InteractionView, MessageView, Server, Setup, serve};
use testkit::process::{Program, read_tree, stderr};
use tokio::net::TcpListener;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

async fn setup() -> (FakeDiscord, Server, Program) {
    #[expect(clippy::disallowed_methods, reason = "program and fake Discord run in real time")]
    let start = jiff::Zoned::now();
    let discord = FakeDiscord::new(Setup::default(), Arc::new(VirtualClock::new(start)));
    let server = serve(discord.clone(), TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap();
    let mut program = Program::offline(BINARY);
    program
        .set_env("DISCORD_TOKEN", &discord.token())
        .set_env("DISCORD_API_BASE", &format!("{}/api/v10", server.url()));
    (discord, server, program)
}

async fn wait_for_message(discord: &FakeDiscord, words: &str) -> MessageView {
    let matching = |discord: &FakeDiscord| {
        let visible = discord.visible().into_iter().rev();
        visible.into_iter().find(|seen| seen.author == Setup::default().bot && seen.content.contains(words))
    };
    match discord.wait_for(TEST_TIMEOUT, matching).await {
        Some(seen) => seen,
        None => panic!("nobody said `{words}`:\n{}", discord.transcript()),
    }
}

/// B5: the recovery of a damaged journal is announced once in Discord, even if a CLI command saw it
/// before.
#[tokio::test]
async fn journal_recovery_is_announced_in_discord() {
    let (discord, server, program) = setup().await;
    program.start().terminate();
    std::fs::write(program.data().join("state/journal.db"), "a letter to my aunt".repeat(500)).unwrap();
    let today = program.run(&["today"]);
    assert!(stderr(&today).contains("the journal was damaged"), "{}", stderr(&today));
    program.start().terminate();
    let running = program.start();
    let announcement = wait_for_message(&discord, "the journal was damaged").await;
    while running.get("/api/health").unwrap()["discord"] != "connected" {
        tokio::task::yield_now().await;
    }
    discord.owner().send_text("remember: buy bread");
    wait_for_message(&discord, "kept as 1").await;
    let announcement =
        |seen: &MessageView| seen.content.contains("the journal was damaged") && seen.id != announcement.id;
    assert!(!discord.visible().iter().any(announcement), "{}", discord.transcript());
    running.terminate();
    server.stop().await;
}

/// SU-9, SU-10: start and shutdown send nothing. Messages are answered and a reminder sends its
/// card. After kill -9 the button still works, and messages sent in between are processed once.
#[tokio::test]
async fn program_answers_in_discord_and_continues_after_a_kill() {
    let (discord, server, program) = setup().await;
    let running = program.start();
    let connected = |discord: &FakeDiscord| (!discord.log().identifies.is_empty()).then_some(());
    discord.wait_for(TEST_TIMEOUT, connected).await.unwrap();
    assert!(discord.visible().is_empty(), "a start says nothing");
    discord.owner().send_text("remind me in 1 second to drink water");
    wait_for_message(&discord, "drink water").await;
    let card = wait_for_message(&discord, "⏰ drink water").await;
    let health = running.get("/api/health").unwrap();
    assert_eq!(health["surfaces"], serde_json::json!(["terminal", "page", "discord"]));
    assert_eq!(health["discord"], "connected");
    assert_eq!(card.buttons().len(), 3);
    running.kill();
    discord.owner().send_text("remember: buy bread");
    let running = program.start();
    wait_for_message(&discord, "kept as 1").await;
    discord.owner().click(card.id, "Done").unwrap();
    wait_for_message(&discord, "~~drink water~~ done").await;
    let before = discord.visible().len();
    running.terminate();
    assert_eq!(discord.visible().len(), before, "an end says nothing");
    assert!(discord.log().premature_requests.is_empty());
    server.stop().await;
}

/// SU-11, SU-13, D2: a token that Discord rejects is reported in one sentence, and everything else
/// works.
#[tokio::test]
async fn rejected_token_is_reported_and_the_rest_works() {
    let (discord, server, mut program) = setup().await;
    program.set_env("DISCORD_TOKEN", "not.the.token");
    let running = program.start();
    let refused = |discord: &FakeDiscord| {
        discord.log().requests.iter().find(|request| request.status == Some(401)).cloned()
    };
    discord.wait_for(TEST_TIMEOUT, refused).await.unwrap();
    let reported = async {
        while !running.log().contains("Discord does not accept the token") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, reported).await.unwrap();
    let answer = running.send_and_wait("remember: milk").unwrap();
    assert_eq!(answer.data["how"], "finished");
    assert!(!running.log().contains("not.the.token"), "{}", running.log());
    let connection = running.get("/api/health").unwrap()["discord"].to_string();
    assert!(connection.contains("not connected: Discord does not accept the token"), "{connection}");
    running.terminate();
    assert_eq!(discord.log().requests.len(), 1, "who is refused does not ask again");

    program.set_env("DISCORD_TOKEN", "two words");
    let running = program.start();
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    assert!(notices.contains("DISCORD_TOKEN: the Discord token is empty or has a space"), "{notices}");
    running.terminate();
    server.stop().await;
}

/// A fake claude program: signed in after it received a code, and unusable before.
const FAKE_CLAUDE: &str = r#"#!/bin/sh
here=$(dirname "$0")
hear_of() { while IFS= read -r line; do case $line in *"$1"*) return ;; esac; done; exit 0; }
case "$*" in
    "auth status --json")
        echo asked >> "$here/asked"
        [ -f "$here/in" ] && echo '{"loggedIn":true}' && exit 0
        echo '{"loggedIn":false}'; exit 1 ;;
    "auth login")
        echo $$ >> "$here/logins"
        echo "If the browser didn't open, visit: https://claude.example/authorize?state=s_1"
        printf 'Paste code here if prompted > '
        hear_of '#'; touch "$here/in"; echo 'Login successful.'; exit 0 ;;
esac
hear_of initialize
echo '{"type":"control_response","response":{"subtype":"success","request_id":"ollim-1","response":{}}}'
end='"subtype":"success","type":"result","session_id":"s-1"'
while hear_of '"user"'; do
    echo '{"session_id":"s-1","subtype":"init","type":"system"}'
    if [ -f "$here/in" ]; then echo "{\"is_error\":false,\"result\":\"good to be here.\",$end}"
    else echo "{\"is_error\":true,\"result\":\"Not logged in · Please run /login\",$end}"; fi
done
"#;

const SIGN_IN_LINK: &str = "https://claude.example/authorize?state=s_1";

/// Configures `program` to use the fake claude program.
fn use_fake_claude(program: &mut Program) {
    let claude = program.home().join("claude");
    std::fs::write(&claude, FAKE_CLAUDE).unwrap();
    std::fs::set_permissions(&claude, PermissionsExt::from_mode(0o700)).unwrap();
    program.set_env("OLLIM_MODEL", "claude").set_env("OLLIM_CLAUDE", &claude.display().to_string());
}

/// Reads the lines of a file that the fake wrote.
fn read_lines(program: &Program, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(program.home().join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns whether the process with this number runs.
fn is_running(number: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

async fn wait_until(condition: impl Fn() -> bool) {
    let waited = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, waited).await.unwrap();
}

/// SU-3: a user of the claude program without a login is sent a link. Messages wait and are
/// answered after the code was pasted. The code is stored nowhere, and no login process is left
/// running.
#[tokio::test]
async fn user_signs_in_to_claude_in_discord() {
    let (discord, server, mut program) = setup().await;
    use_fake_claude(&mut program);
    program.set_env("OLLIM_LOG", "debug");
    let running = program.start();
    let sent = wait_for_message(&discord, SIGN_IN_LINK).await;
    assert!(sent.content.starts_with("claude is not signed in. open this"), "{}", sent.content);
    discord.owner().send_text("hello");
    wait_for_message(&discord, "`/login` gives you a link").await;
    let interaction = discord.owner().run_command("/login", &[]).unwrap();
    let settled = |discord: &FakeDiscord| {
        let InteractionView::Message(seen) = discord.interaction_view(interaction) else { return None };
        Some(seen)
    };
    let reply = discord.wait_for(TEST_TIMEOUT, settled).await.unwrap();
    assert!(reply.is_ephemeral() && reply.content.contains(SIGN_IN_LINK), "{reply:?}");
    let code = "abcdefghijklmnopqrstuvwx#zyxwvutsrqponmlkjihgfedc";
    discord.owner().send_text(code);
    wait_for_message(&discord, "claude is signed in.").await;
    wait_for_message(&discord, "good to be here.").await;
    let reply = running.command("/login").unwrap().to_string();
    assert!(reply.contains("claude is signed in. `/login again`"), "{reply}");
    let late = running.command(code).unwrap_err().to_string();
    assert!(late.contains("no link of mine waits for a code"), "{late}");
    let logins = read_lines(&program, "logins");
    assert_eq!(logins.len(), 1, "{logins:?}");
    let log = running.log();
    running.terminate();
    let halves: Vec<&str> = code.split('#').collect();
    let contains_code = |bytes: &[u8]| {
        halves.iter().any(|half| bytes.windows(half.len()).any(|part| part == half.as_bytes()))
    };
    assert!(!contains_code(log.as_bytes()), "{log}");
    for (path, bytes) in read_tree(program.data()) {
        assert!(!contains_code(&bytes), "the code stands in {}", path.display());
    }
    assert!(!logins.iter().any(|number| is_running(number)), "{logins:?}");
    server.stop().await;
}

/// SU-3: repeated starts do not send a link each time, and a kill also ends the login process.
#[tokio::test]
async fn restart_sends_no_second_sign_in_link() {
    let (discord, server, mut program) = setup().await;
    use_fake_claude(&mut program);
    let running = program.start();
    wait_for_message(&discord, SIGN_IN_LINK).await;
    let logins = read_lines(&program, "logins");
    assert!(is_running(&logins[0]));
    running.kill();
    wait_until(|| !is_running(&logins[0])).await;
    let running = program.start();
    wait_until(|| read_lines(&program, "asked").len() == 2).await;
    // The link is sent before the check, and earlier messages are visible before later ones.
    let reply = running.command("/login").unwrap().to_string();
    assert!(reply.contains(SIGN_IN_LINK), "{reply}");
    discord.owner().send_text("hello");
    wait_for_message(&discord, "`/login` gives you a link").await;
    let sent = discord.visible().into_iter().filter(|seen| seen.content.contains("claude is not signed in."));
    assert_eq!(sent.count(), 1, "{}", discord.transcript());
    running.terminate();
    assert_eq!(read_lines(&program, "logins").len(), 2);
    assert!(!read_lines(&program, "logins").iter().any(|number| is_running(number)));
    server.stop().await;
}

/// SU-3: with an API key, or without the claude program, no sign-in is offered.
#[tokio::test]
async fn sign_in_needs_the_claude_program_without_a_key() {
    let (_discord, server, mut program) = setup().await;
    let running = program.start();
    let reply = running.command("/login").unwrap_err().to_string();
    assert!(reply.contains("only the claude program is signed in"), "{reply}");
    running.terminate();
    use_fake_claude(&mut program);
    program.set_env("ANTHROPIC_API_KEY", "sk-test");
    let running = program.start();
    let reply = running.command("/login").unwrap_err().to_string();
    assert!(reply.contains("the key in ANTHROPIC_API_KEY"), "{reply}");
    running.terminate();
    assert!(read_lines(&program, "logins").is_empty());
    server.stop().await;
}
