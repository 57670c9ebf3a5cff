//! The real program in played direct messages, over real sockets: it answers, is killed, and goes on.
#![expect(clippy::unwrap_used, reason = "what a test sets up itself is there")]

use std::sync::Arc;
use std::time::Duration;

use testkit::clock::VirtualClock;
use testkit::discord::{Discord, Seen, Server, Setup, serve};
use testkit::kill::Program;
use tokio::net::TcpListener;

const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");
/// Longer than anything here takes: who waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(50);

async fn open() -> (Discord, Server, Program) {
    #[expect(
        clippy::disallowed_methods,
        reason = "the program lives in the time of the wall, and so does Discord"
    )]
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

/// SU-9, SU-10: it says nothing when it starts and when it ends; it answers; a reminder rings with its card;
/// after kill -9 the button still works, and what was written meanwhile is heard once.
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

/// SU-11, SU-13, D2: a token that Discord does not know is told in a sentence, and everything else goes on.
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
