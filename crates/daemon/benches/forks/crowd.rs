//! Memory use of a thousand concurrent forks that all wait for their answers.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use testkit::model_server::{Gate, ModelServer, ScriptedReply};
use tokio::task::JoinSet;

use crate::family::ForkSession;
use crate::print_line;

/// The argument that makes this program the model server of the memory measurement.
pub const SERVER_ARGUMENT: &str = "serve-a-crowd";

const FORKS: usize = 1000;
/// Forks that run before, so that one-time allocations are not counted.
const WARM_UP: usize = 10;
/// Length of the shared conversation.
const ENTRIES: u64 = 200;

/// Runs a fake model that answers only when all requests have arrived and a line is read from
/// stdin.
pub async fn run_server() {
    let server = ModelServer::start().await.unwrap();
    let gate = Gate::new();
    print_line(&server.url());
    let answer_gate = gate.clone();
    let mut requests = 0;
    server.answering(move |_| {
        requests += 1;
        match requests {
            ..=WARM_UP => return ScriptedReply::text("nothing new."),
            _ if requests == WARM_UP + FORKS => print_line("all"),
            _ => {}
        }
        ScriptedReply::text("nothing new.").waiting_at_event(1, &answer_gate)
    });
    let go_signal = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    go_signal.await.unwrap().unwrap();
    gate.release();
    // Runs until the parent process closes stdin.
    let parent_exit = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    parent_exit.await.unwrap().unwrap();
}

/// The conversation to fork, and the model server in a child process.
pub struct MemoryBench {
    server: Child,
    server_output: Lines<BufReader<ChildStdout>>,
    session: ForkSession,
}

impl MemoryBench {
    /// Starts the server and creates the conversation.
    pub fn start() -> Self {
        let mut server = Command::new(std::env::current_exe().unwrap());
        let mut server =
            server.arg(SERVER_ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut server_output = BufReader::new(server.stdout.take().unwrap()).lines();
        let session = ForkSession::new(ENTRIES, &server_output.next().unwrap().unwrap(), FORKS);
        Self { server, server_output, session }
    }

    /// Prints the memory per fork.
    pub async fn measure(self) {
        let Self { mut server, mut server_output, mut session } = self;
        for _ in 0..WARM_UP {
            session.fork().await.await;
        }
        let before = resident_bytes();
        let mut turns = JoinSet::new();
        for _ in 0..FORKS {
            turns.spawn(session.fork().await);
        }
        let all_received = tokio::task::spawn_blocking(move || server_output.next());
        assert_eq!(all_received.await.unwrap().unwrap().unwrap(), "all");
        let grown = resident_bytes().saturating_sub(before);
        print_line(&format!("memory of one of {FORKS} forks: {} B", grown / FORKS as u64));
        writeln!(server.stdin.as_mut().unwrap(), "go on").unwrap();
        while let Some(turn) = turns.join_next().await {
            turn.unwrap();
        }
        drop(server.stdin.take());
        server.wait().unwrap();
    }
}

/// Returns the resident memory of this process in bytes.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}
