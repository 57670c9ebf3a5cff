//! Memory use of a thousand concurrent forks that all wait for their answers.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use testkit::model_server::{Act, Gate, ModelServer};
use tokio::task::JoinSet;

use crate::family::Family;
use crate::say;

/// The argument that makes this program the model server of the memory measurement.
pub const SERVER: &str = "serve-a-crowd";

const FORKS: usize = 1000;
/// Forks that run before, so that one-time allocations are not counted.
const WARM_UP: usize = 10;
/// Length of the shared conversation.
const ENTRIES: u64 = 200;

/// Runs a fake model that answers only when all requests have arrived and a line is read from
/// stdin.
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
    // Runs until the parent process closes stdin.
    let gone = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    gone.await.unwrap().unwrap();
}

/// The conversation to fork, and the model server in a child process.
pub struct Crowd {
    server: Child,
    said: Lines<BufReader<ChildStdout>>,
    family: Family,
}

impl Crowd {
    /// Starts the server and creates the conversation.
    pub fn gather() -> Self {
        let mut server = Command::new(std::env::current_exe().unwrap());
        let mut server = server.arg(SERVER).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
        let family = Family::new(ENTRIES, &said.next().unwrap().unwrap(), FORKS);
        Self { server, said, family }
    }

    /// Prints the memory per fork.
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

/// Returns the resident memory of this process in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}
