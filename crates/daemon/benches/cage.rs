//! Measures the start of a command in its sandbox up to the moment its end is noticed.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made stops the bench at once")]

use std::process::{Command, Stdio};

use divan::Bencher;

fn main() {
    divan::main();
}

/// A shell that does nothing, from spawn to exit.
#[divan::bench(sample_count = 100)]
fn caged_shell(bencher: Bencher) {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().join("work");
    std::fs::create_dir(&work).unwrap();
    bencher.bench_local(|| {
        let mut sandbox = Command::new(env!("CARGO_BIN_EXE_ollim-bot"));
        sandbox.args(["cage", &std::process::id().to_string(), "--seconds", "60", "--data"]).arg(dir.path());
        sandbox.arg("--work").arg(&work).args(["--", "true"]).stdin(Stdio::piped());
        let mut sandbox = sandbox.spawn().unwrap();
        // `wait` closes stdin, which would end the sandbox.
        let lifeline = sandbox.stdin.take();
        assert!(sandbox.wait().unwrap().success());
        drop(lifeline);
    });
}
