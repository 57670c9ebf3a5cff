//! A thousand forks at once, all waiting for their answers.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use testkit::model_server::{Act, Gate, ModelServer};
use tokio::task::JoinSet;

use crate::family::Family;
use crate::say;

/// The word that makes this program the server of a crowd.
pub const SERVER: &str = "serve-a-crowd";

const FORKS: usize = 1000;
/// Forks that run before, so that what is only needed once is there.
const WARM_UP: usize = 10;
/// How long the conversation is that they share.
const ENTRIES: u64 = 200;

/// Plays a model that speaks to nobody until all have asked and it is told to go on.
pub async fn serve() {
    let server = ModelServer::start().await.unwrap();
    let gate = Gate::new();
    say(&server.url());
    let held = gate.clone();
    let mut asked = 0;
    server.answering(move |_| {
        asked += 1;
        match asked {
            ..=WARM_UP => return Act::says("nothing new."),
            _ if asked == WARM_UP + FORKS => say("all"),
            _ => {}
        }
        Act::says("nothing new.").held_at(1, &held)
    });
    let told = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    told.await.unwrap().unwrap();
    gate.release();
    // Until whoever started this has gone.
    let gone = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    gone.await.unwrap().unwrap();
}

/// A conversation with a thousand forks to come, and the server they will call.
pub struct Crowd {
    server: Child,
    said: Lines<BufReader<ChildStdout>>,
    family: Family,
}

impl Crowd {
    /// Starts the server and lays the conversation out.
    pub fn gather() -> Self {
        let mut server = Command::new(std::env::current_exe().unwrap());
        let mut server = server.arg(SERVER).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
        let family = Family::new(ENTRIES, &said.next().unwrap().unwrap(), FORKS);
        Self { server, said, family }
    }

    /// Says how much memory one of the thousand takes.
    pub async fn measure(self) {
        let Self { mut server, mut said, mut family } = self;
        for _ in 0..WARM_UP {
            family.fork().await.await;
        }
        let before = resident();
        let mut turns = JoinSet::new();
        for _ in 0..FORKS {
            turns.spawn(family.fork().await);
        }
        let all = tokio::task::spawn_blocking(move || said.next());
        assert_eq!(all.await.unwrap().unwrap().unwrap(), "all");
        let grown = resident().saturating_sub(before);
        say(&format!("memory of one of {FORKS} forks: {} B", grown / FORKS as u64));
        writeln!(server.stdin.as_mut().unwrap(), "go on").unwrap();
        while let Some(turn) = turns.join_next().await {
            turn.unwrap();
        }
        drop(server.stdin.take());
        server.wait().unwrap();
    }
}

/// The bytes this program holds in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}
