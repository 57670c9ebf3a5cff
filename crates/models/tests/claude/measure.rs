//! What the program costs, for the page of benchmarks. Nothing is judged here.

use std::time::Instant;

use crate::stage::{Rig, Talk};
use engine::ports::Model;

fn resident_megabytes(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

#[tokio::test]
#[ignore = "measures the claude program; run it by hand with --nocapture"]
async fn spawn_turn_fork_and_memory_are_measured() {
    for _ in 0..3 {
        let rig = Rig::new().await;
        let mut talk = Talk::main();
        let measure = async |talk: &mut Talk, what: &str| {
            let start = Instant::now();
            talk.say(&rig.claude, "hi").await;
            println!("{what}: {} ms", start.elapsed().as_millis());
        };
        measure(&mut talk, "fresh, spawn to reply").await;
        measure(&mut talk, "warm turn").await;
        measure(&mut talk.fork("aside"), "fork, spawn to reply").await;
        for process in rig.notices.processes() {
            println!("resident: {} MB", resident_megabytes(process));
        }
        let start = Instant::now();
        rig.claude.close().await;
        println!("close of two: {} ms", start.elapsed().as_millis());
        measure(&mut talk, "resume, spawn to reply").await;
        rig.claude.close().await;
    }
}
