//! The real program with a fake Discord, over real sockets: it answers, is killed, and continues.
#![expect(clippy::unwrap_used, reason = "the setup of a test must succeed")]

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use testkit::PATIENCE;
use testkit::clock::VirtualClock;
use testkit::discord::{Discord, Seen, Server, Setup, Shown, serve};
use testkit::kill::{Program, contents, stderr};
use tokio::net::TcpListener;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

async fn open() -> (Discord, Server, Program) {
    #[expect(clippy::disallowed_methods, reason = "program and fake Discord run in real time")]
    let start = jiff::Zoned::now();
    let discord = Discord::new(Setup::default(), Arc::new(VirtualClock::new(start)));
    let server = serve(discord.clone(), TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap();
    let mut program = Program::offline(BINARY);
    program
        .set("DISCORD_TOKEN", &discord.token())
        .set("DISCORD_API_BASE", &format!("{}/api/v10", server.url()));
    (discord, server, program)
}

async fn sees(discord: &Discord, words: &str) -> Seen {
    let ours = |discord: &Discord| {
        let visible = discord.visible().into_iter().rev();
        visible.into_iter().find(|seen| seen.author == Setup::default().bot && seen.content.contains(words))
    };
    match discord.wait_for(PATIENCE, ours).await {
        Some(seen) => seen,
        None => panic!("nobody said `{words}`:\n{}", discord.transcript()),
    }
}

/// B5: the recovery of a damaged journal is announced once in Discord, even if a CLI command saw it
/// before.
#[tokio::test]
async fn a_rescue_is_told_in_discord() {
    let (discord, server, program) = open().await;
    program.start().terminate();
    std::fs::write(program.data().join("state/journal.db"), "a letter to my aunt".repeat(500)).unwrap();
    let asked = program.run(&["today"]);
    assert!(stderr(&asked).contains("the journal was damaged"), "{}", stderr(&asked));
    program.start().terminate();
    let running = program.start();
    let told = sees(&discord, "the journal was damaged").await;
    while running.get("/api/health").unwrap()["discord"] != "connected" {
        tokio::task::yield_now().await;
    }
    discord.owner().types("remember: buy bread");
    sees(&discord, "kept as 1").await;
    let told = |seen: &Seen| seen.content.contains("the journal was damaged") && seen.id != told.id;
    assert!(!discord.visible().iter().any(told), "{}", discord.transcript());
    running.terminate();
    server.stop().await;
}

/// SU-9, SU-10: start and shutdown send nothing. Messages are answered and a reminder sends its
/// card. After kill -9 the button still works, and messages sent in between are processed once.
#[tokio::test]
async fn the_program_answers_in_discord_and_goes_on_after_a_kill() {
    let (discord, server, program) = open().await;
    let running = program.start();
    let connected = |discord: &Discord| (!discord.ledger().identifies.is_empty()).then_some(());
    discord.wait_for(PATIENCE, connected).await.unwrap();
    assert!(discord.visible().is_empty(), "a start says nothing");
    discord.owner().types("remind me in 1 second to drink water");
    sees(&discord, "drink water").await;
    let card = sees(&discord, "⏰ drink water").await;
    let health = running.get("/api/health").unwrap();
    assert_eq!(health["surfaces"], serde_json::json!(["terminal", "page", "discord"]));
    assert_eq!(health["discord"], "connected");
    assert_eq!(card.buttons().len(), 3);
    running.kill();
    discord.owner().types("remember: buy bread");
    let running = program.start();
    sees(&discord, "kept as 1").await;
    discord.owner().clicks(card.id, "Done").unwrap();
    sees(&discord, "~~drink water~~ done").await;
    let before = discord.visible().len();
    running.terminate();
    assert_eq!(discord.visible().len(), before, "an end says nothing");
    assert!(discord.ledger().embargo_breaches.is_empty());
    server.stop().await;
}

/// SU-11, SU-13, D2: a token that Discord rejects is reported in one sentence, and everything else
/// works.
#[tokio::test]
async fn a_wrong_token_is_told_and_the_rest_goes_on() {
    let (discord, server, mut program) = open().await;
    program.set("DISCORD_TOKEN", "not.the.token");
    let running = program.start();
    let refused = |discord: &Discord| {
        discord.ledger().requests.iter().find(|request| request.status == Some(401)).cloned()
    };
    discord.wait_for(PATIENCE, refused).await.unwrap();
    let told = async {
        while !running.log().contains("Discord does not accept the token") {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, told).await.unwrap();
    let answer = running.converse("remember: milk").unwrap();
    assert_eq!(answer.data["how"], "finished");
    assert!(!running.log().contains("not.the.token"), "{}", running.log());
    let line = running.get("/api/health").unwrap()["discord"].to_string();
    assert!(line.contains("not connected: Discord does not accept the token"), "{line}");
    running.terminate();
    assert_eq!(discord.ledger().requests.len(), 1, "who is refused does not ask again");

    program.set("DISCORD_TOKEN", "two words");
    let running = program.start();
    let notices = running.get("/api/health").unwrap()["notices"].to_string();
    assert!(notices.contains("DISCORD_TOKEN: the Discord token is empty or has a space"), "{notices}");
    running.terminate();
    server.stop().await;
}

/// A fake claude program: signed in after it received a code, and unusable before.
const CLAUDE: &str = r#"#!/bin/sh
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

const LINK: &str = "https://claude.example/authorize?state=s_1";

/// Configures `program` to use the fake claude program.
fn answers_through_claude(program: &mut Program) {
    let claude = program.home().join("claude");
    std::fs::write(&claude, CLAUDE).unwrap();
    std::fs::set_permissions(&claude, PermissionsExt::from_mode(0o700)).unwrap();
    program.set("OLLIM_MODEL", "claude").set("OLLIM_CLAUDE", &claude.display().to_string());
}

/// Reads the lines of a file that the fake wrote.
fn lines(program: &Program, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(program.home().join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns whether the process with this number runs.
fn runs(number: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{number}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

async fn until(is: impl Fn() -> bool) {
    let waited = async {
        while !is() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waited).await.unwrap();
}

/// SU-3: a user of the claude program without a login is sent a link. Messages wait and are
/// answered after the code was pasted. The code is stored nowhere, and no login process is left
/// running.
#[tokio::test]
async fn the_human_signs_the_claude_program_in_from_their_messages() {
    let (discord, server, mut program) = open().await;
    answers_through_claude(&mut program);
    program.set("OLLIM_LOG", "debug");
    let running = program.start();
    let sent = sees(&discord, LINK).await;
    assert!(sent.content.starts_with("claude is not signed in. open this"), "{}", sent.content);
    discord.owner().types("hello");
    sees(&discord, "`/login` gives you a link").await;
    let asked = discord.owner().runs("/login", &[]).unwrap();
    let settled = |discord: &Discord| {
        let Shown::Message(seen) = discord.answer_to(asked) else { return None };
        Some(seen)
    };
    let told = discord.wait_for(PATIENCE, settled).await.unwrap();
    assert!(told.is_ephemeral() && told.content.contains(LINK), "{told:?}");
    let code = "abcdefghijklmnopqrstuvwx#zyxwvutsrqponmlkjihgfedc";
    discord.owner().types(code);
    sees(&discord, "claude is signed in.").await;
    sees(&discord, "good to be here.").await;
    let told = running.command("/login").unwrap().to_string();
    assert!(told.contains("claude is signed in. `/login again`"), "{told}");
    let late = running.command(code).unwrap_err().to_string();
    assert!(late.contains("no link of mine waits for a code"), "{late}");
    let logins = lines(&program, "logins");
    assert_eq!(logins.len(), 1, "{logins:?}");
    let log = running.log();
    running.terminate();
    let halves: Vec<&str> = code.split('#').collect();
    let tells = |bytes: &[u8]| {
        halves.iter().any(|half| bytes.windows(half.len()).any(|part| part == half.as_bytes()))
    };
    assert!(!tells(log.as_bytes()), "{log}");
    for (path, bytes) in contents(program.data()) {
        assert!(!tells(&bytes), "the code stands in {}", path.display());
    }
    assert!(!logins.iter().any(|number| runs(number)), "{logins:?}");
    server.stop().await;
}

/// SU-3: repeated starts do not send a link each time, and a kill also ends the login process.
#[tokio::test]
async fn a_start_soon_after_another_sends_no_second_link() {
    let (discord, server, mut program) = open().await;
    answers_through_claude(&mut program);
    let running = program.start();
    sees(&discord, LINK).await;
    let logins = lines(&program, "logins");
    assert!(runs(&logins[0]));
    running.kill();
    until(|| !runs(&logins[0])).await;
    let running = program.start();
    until(|| lines(&program, "asked").len() == 2).await;
    // The link is sent before the check, and earlier messages are visible before later ones.
    let told = running.command("/login").unwrap().to_string();
    assert!(told.contains(LINK), "{told}");
    discord.owner().types("hello");
    sees(&discord, "`/login` gives you a link").await;
    let sent = discord.visible().into_iter().filter(|seen| seen.content.contains("claude is not signed in."));
    assert_eq!(sent.count(), 1, "{}", discord.transcript());
    running.terminate();
    assert_eq!(lines(&program, "logins").len(), 2);
    assert!(!lines(&program, "logins").iter().any(|number| runs(number)));
    server.stop().await;
}

/// SU-3: with an API key, or without the claude program, no sign-in is offered.
#[tokio::test]
async fn who_speaks_with_a_key_is_not_signed_in() {
    let (_discord, server, mut program) = open().await;
    let running = program.start();
    let told = running.command("/login").unwrap_err().to_string();
    assert!(told.contains("only the claude program is signed in"), "{told}");
    running.terminate();
    answers_through_claude(&mut program);
    program.set("ANTHROPIC_API_KEY", "sk-test");
    let running = program.start();
    let told = running.command("/login").unwrap_err().to_string();
    assert!(told.contains("the key in ANTHROPIC_API_KEY"), "{told}");
    running.terminate();
    assert!(lines(&program, "logins").is_empty());
    server.stop().await;
}
