//! Start-up time and memory of the release binary, measured from outside.
//!
//! Nothing is polled: the program prints a line when it is ready, and then its control socket must
//! answer. A run on the real disk shows what users get; a run in memory shows our own part.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;

use super::running_program::{FakeDiscord, RunningProgram};
use crate::out::print_line;
use crate::source_files;
use crate::test::step::{Outcome, Program, target_folder};

/// Number of measured starts, of which the median is printed.
const STARTS: usize = 15;
/// Number of requests after which the program counts as used.
const REQUESTS: usize = 50;
/// A directory in memory, where flushing is free.
const MEMORY_DIR: &str = "/dev/shm";
/// Never used: the start calls no model.
const UNUSED_KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "none");

/// Builds the release binary and measures its size, its start and its memory.
#[derive(Args, Debug)]
pub struct Footprint {}

impl Footprint {
    /// Measures, and prints one line for each number.
    pub fn run(&self) -> anyhow::Result<()> {
        let target = target_folder(&source_files::root()).context("cargo does not say where it builds")?;
        run_cargo(&["build", "--release", "--quiet", "--package", "ollim-bot"])?;
        let binary = target.join("release/ollim-bot");
        print_line(format!("release binary: {} B", std::fs::metadata(&binary)?.len()));
        let scratch = TempDirectory::new(target.join("footprint"))?;
        measure(&binary, &scratch)
    }
}

fn measure(binary: &Path, scratch: &TempDirectory) -> anyhow::Result<()> {
    let empty = scratch.0.join("empty");
    let long = scratch.0.join("long");
    measure_starts("empty", || start_empty(binary, &empty, &[]))?;
    measure_starts("empty, with a key", || start_empty(binary, &empty, &[UNUSED_KEY]))?;
    if Path::new(MEMORY_DIR).is_dir() {
        let memory = TempDirectory::new(
            Path::new(MEMORY_DIR).join(format!("ollim-footprint-{}", std::process::id())),
        )?;
        measure_starts("empty, in memory", || start_empty(binary, &memory.0.join("empty"), &[]))?;
    }
    let place = long.to_str().context("a path that is no text")?;
    run_cargo(&["run", "--quiet", "--package", "testkit", "--bin", "long-life", "--", place])?;
    measure_starts("1 M entries", || RunningProgram::start(binary, &long, &[]))?;
    measure_captures(start_empty(binary, &empty, &[])?)?;
    measure_idle(RunningProgram::start(binary, &long, &[])?)?;
    measure_connected(binary, &empty)?;
    measure_simulation(binary, &scratch.0.join("week"))
}

fn start_empty(binary: &Path, dir: &Path, environment: &[(&str, &str)]) -> anyhow::Result<RunningProgram> {
    if dir.exists() {
        std::fs::remove_dir_all(dir)?;
    }
    RunningProgram::start(binary, dir, environment)
}

fn measure_starts(label: &str, start: impl Fn() -> anyhow::Result<RunningProgram>) -> anyhow::Result<()> {
    let mut durations = Vec::new();
    for _ in 0..STARTS {
        let running = start()?;
        durations.push(running.ready);
        running.stop()?;
    }
    print_median(&format!("start to ready, {label}"), durations);
    Ok(())
}

/// Measures the time until an item is stored, at the 95th percentile.
fn measure_captures(running: RunningProgram) -> anyhow::Result<()> {
    let capture = |nth: usize| running.capture(&format!("call number {nth} tomorrow at 10"));
    let mut durations = (0..REQUESTS * 2).map(capture).collect::<anyhow::Result<Vec<Duration>>>()?;
    running.stop()?;
    durations.sort_unstable();
    print_line(format!("capture, p95: {} ns", durations[durations.len() * 95 / 100].as_nanos()));
    Ok(())
}

/// Measures memory when ready, and after use with an open page.
fn measure_idle(running: RunningProgram) -> anyhow::Result<()> {
    print_line(format!("idle memory: {} B", running.resident_bytes()?));
    let page = running.open_events()?;
    let mut health = Vec::new();
    let mut shell = Vec::new();
    for _ in 0..REQUESTS {
        health.push(running.time_request("/api/health")?);
        shell.push(running.time_page_first_byte()?);
    }
    print_line(format!("idle memory, used: {} B", running.resident_bytes()?));
    drop(page);
    running.stop()?;
    print_median("health, 1 M entries", health);
    print_median("page to its first byte", shell);
    Ok(())
}

/// Measures idle memory with Discord connected and an open page.
fn measure_connected(binary: &Path, dir: &Path) -> anyhow::Result<()> {
    let discord = FakeDiscord::start()?;
    let variables = discord.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let running = start_empty(binary, dir, &variables.collect::<Vec<_>>())?;
    let page = running.open_events()?;
    while !running.health()?.contains("\"discord\":\"connected\"") {
        std::thread::yield_now();
    }
    for _ in 0..REQUESTS {
        running.time_request("/api/health")?;
    }
    print_line(format!("idle memory, connected: {} B", running.resident_bytes()?));
    drop(page);
    running.stop()
}

/// Measures the simulation of a week with sixty routines.
fn measure_simulation(binary: &Path, dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir.join("routines"))?;
    for n in 0..60 {
        // A third of them run every few hours, the others daily; half of them in the background.
        let hours = if n % 3 == 0 { "7-22/3".to_owned() } else { (n % 24).to_string() };
        let mode = if n % 2 == 0 { "background: true\n" } else { "" };
        let text = format!("---\nid: r{n}\ncron: {} {hours} * * *\n{mode}---\nlook at number {n}\n", n % 60);
        std::fs::write(dir.join(format!("routines/r{n}.md")), text)?;
    }
    let mut simulate = std::process::Command::new(binary);
    simulate.args(["simulate", "--from", "2026-11-16", "--to", "2026-11-23", "--data-dir"]).arg(dir);
    let began = std::time::Instant::now();
    let ended = simulate.env_clear().output()?;
    let took = began.elapsed();
    anyhow::ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let lines = ended.stdout.iter().filter(|byte| **byte == b'\n').count();
    anyhow::ensure!(lines > 60 * 7, "a week of sixty routines has {lines} lines only");
    print_line(format!("a week of sixty routines, simulated: {} ns", took.as_nanos()));
    Ok(())
}

fn print_median(label: &str, mut durations: Vec<Duration>) {
    durations.sort_unstable();
    print_line(format!("{label}: {} ns", durations[durations.len() / 2].as_nanos()));
}

fn run_cargo(words: &[&str]) -> anyhow::Result<()> {
    match Program::new("cargo", words).in_folder(&source_files::root()).run() {
        Outcome::Passed(_) => Ok(()),
        Outcome::Failed(_, said) => bail!("`cargo {}` failed:\n{said}", words.join(" ")),
        Outcome::NotRun(_, why) => bail!("cargo did not run: {why}"),
    }
}

/// A directory that is removed on drop.
struct TempDirectory(PathBuf);

impl TempDirectory {
    fn new(path: PathBuf) -> anyhow::Result<Self> {
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
