//! Measures the program and our own client for the benchmark page, without assertions.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::ports::Model;
use models::anthropic::{Anthropic, ApiKey, Settings};
use testkit::model_server::{ModelServer, ScriptedReply};

use crate::support::{Conversation, Rig};

/// The number of measurements of each value; the median is printed.
const REPETITIONS: usize = 5;

fn resident_bytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Returns the time from the call of the model until its request reaches the server.
async fn time_to_request(server: &ModelServer, model: &dyn Model, talk: &mut Conversation) -> Duration {
    let asked: Arc<Mutex<Option<Instant>>> = Arc::default();
    let noted = asked.clone();
    server.answering(move |_| {
        noted.lock().unwrap().get_or_insert_with(Instant::now);
        ScriptedReply::text("Hello.")
    });
    let start = Instant::now();
    talk.say(model, "hi").await;
    let asked = asked.lock().unwrap().unwrap();
    asked - start
}

#[expect(clippy::print_stdout, reason = "prints the measurements")]
fn print_median<T: Ord + Copy>(label: &str, mut measured: Vec<T>, format: impl Fn(T) -> String) {
    measured.sort_unstable();
    println!("{label}: {}", format(measured[measured.len() / 2]));
}

fn print_median_time(label: &str, measured: Vec<Duration>) {
    print_median(label, measured, |time| format!("{} ns", time.as_nanos()));
}

#[tokio::test]
#[ignore = "measures the claude program for `cargo xtask bench`"]
async fn spawn_turn_fork_and_memory_are_measured() {
    let mut fresh = Vec::new();
    let mut warm = Vec::new();
    let mut fork = Vec::new();
    let mut resume = Vec::new();
    let mut resident = Vec::new();
    for _ in 0..REPETITIONS {
        let rig = Rig::new().await;
        let mut talk = Conversation::main();
        fresh.push(time_to_request(&rig.server, &rig.claude, &mut talk).await);
        warm.push(time_to_request(&rig.server, &rig.claude, &mut talk).await);
        resident.push(resident_bytes(rig.notices.processes()[0]));
        fork.push(time_to_request(&rig.server, &rig.claude, &mut talk.fork("aside")).await);
        rig.claude.close().await;
        resume.push(time_to_request(&rig.server, &rig.claude, &mut talk).await);
        rig.claude.close().await;
    }
    print_median_time("claude program, fresh, to its request", fresh);
    print_median_time("claude program, warm, to its request", warm);
    print_median_time("claude program, fork, to its request", fork);
    print_median_time("claude program, resumed, to its request", resume);
    print_median("claude program, memory", resident, |bytes| format!("{bytes} B"));
}

#[tokio::test]
#[ignore = "measures our own client for `cargo xtask bench`"]
async fn our_own_client_is_measured_beside_it() {
    let mut fresh = Vec::new();
    let mut warm = Vec::new();
    for _ in 0..REPETITIONS {
        let server = ModelServer::start().await.unwrap();
        let client = Anthropic::new(Settings {
            base_url: server.url(),
            key: ApiKey::new("sk-test"),
            model: "claude-test-1".to_owned(),
            max_tokens: 1024,
            connect: Duration::from_secs(10),
            stall: Duration::from_secs(60),
            total: Duration::from_secs(600),
            store: None,
        });
        let client = client.unwrap();
        let mut talk = Conversation::main();
        fresh.push(time_to_request(&server, &client, &mut talk).await);
        warm.push(time_to_request(&server, &client, &mut talk).await);
    }
    print_median_time("our own client, fresh, to its request", fresh);
    print_median_time("our own client, warm, to its request", warm);
}
