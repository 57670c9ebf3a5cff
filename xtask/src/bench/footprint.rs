//! Start-up time and memory of the release binary, measured from outside.
//!
//! Nothing is polled: the program prints a line when it is ready, and then its control socket must
//! answer. A run on the real disk shows what users get; a run in memory shows our own part.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;

use super::running::{Played, Running};
use crate::out::say;
use crate::test::step::{Outcome, Program, target_folder};
use crate::tree;

/// Number of measured starts, of which the median is printed.
const STARTS: usize = 15;
/// Number of requests after which the program counts as used.
const REQUESTS: usize = 50;
/// A directory in memory, where flushing is free.
const MEMORY: &str = "/dev/shm";
/// Never used: the start calls no model.
const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "none");

/// Builds the release binary and measures its size, its start and its memory.
#[derive(Args, Debug)]
pub struct Footprint {}

impl Footprint {
    /// Measures, and prints one line for each number.
    pub fn run(&self) -> anyhow::Result<()> {
        let target = target_folder(&tree::root()).context("cargo does not say where it builds")?;
        cargo(&["build", "--release", "--quiet", "--package", "ollim-bot"])?;
        let binary = target.join("release/ollim-bot");
        say(format!("release binary: {} B", std::fs::metadata(&binary)?.len()));
        let scratch = Scratch::new(target.join("footprint"))?;
        measure(&binary, &scratch)
    }
}

fn measure(binary: &Path, scratch: &Scratch) -> anyhow::Result<()> {
    let empty = scratch.0.join("empty");
    let long = scratch.0.join("long");
    starts("empty", || start_anew(binary, &empty, &[]))?;
    starts("empty, with a key", || start_anew(binary, &empty, &[KEY]))?;
    if Path::new(MEMORY).is_dir() {
        let memory = Scratch::new(Path::new(MEMORY).join(format!("ollim-footprint-{}", std::process::id())))?;
        starts("empty, in memory", || start_anew(binary, &memory.0.join("empty"), &[]))?;
    }
    let place = long.to_str().context("a path that is no text")?;
    cargo(&["run", "--quiet", "--package", "testkit", "--bin", "long-life", "--", place])?;
    starts("1 M entries", || Running::start(binary, &long, &[]))?;
    captures(start_anew(binary, &empty, &[])?)?;
    idle(Running::start(binary, &long, &[])?)?;
    connected(binary, &empty)?;
    a_week(binary, &scratch.0.join("week"))
}

fn start_anew(binary: &Path, dir: &Path, environment: &[(&str, &str)]) -> anyhow::Result<Running> {
    if dir.exists() {
        std::fs::remove_dir_all(dir)?;
    }
    Running::start(binary, dir, environment)
}

fn starts(what: &str, start: impl Fn() -> anyhow::Result<Running>) -> anyhow::Result<()> {
    let mut took = Vec::new();
    for _ in 0..STARTS {
        let running = start()?;
        took.push(running.ready);
        running.end()?;
    }
    tell(&format!("start to ready, {what}"), took);
    Ok(())
}

/// Measures the time until an item is stored, at the 95th percentile.
fn captures(running: Running) -> anyhow::Result<()> {
    let capture = |nth: usize| running.capture(&format!("call number {nth} tomorrow at 10"));
    let mut took = (0..REQUESTS * 2).map(capture).collect::<anyhow::Result<Vec<Duration>>>()?;
    running.end()?;
    took.sort_unstable();
    say(format!("capture, p95: {} ns", took[took.len() * 95 / 100].as_nanos()));
    Ok(())
}

/// Measures memory when ready, and after use with an open page.
fn idle(running: Running) -> anyhow::Result<()> {
    say(format!("idle memory: {} B", running.resident()?));
    let page = running.follow()?;
    let mut health = Vec::new();
    let mut shell = Vec::new();
    for _ in 0..REQUESTS {
        health.push(running.ask("/api/health")?);
        shell.push(running.first_byte_of_the_page()?);
    }
    say(format!("idle memory, used: {} B", running.resident()?));
    drop(page);
    running.end()?;
    tell("health, 1 M entries", health);
    tell("page to its first byte", shell);
    Ok(())
}

/// Measures idle memory with Discord connected and an open page.
fn connected(binary: &Path, dir: &Path) -> anyhow::Result<()> {
    let discord = Played::start()?;
    let variables = discord.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let running = start_anew(binary, dir, &variables.collect::<Vec<_>>())?;
    let page = running.follow()?;
    while !running.health()?.contains("\"discord\":\"connected\"") {
        std::thread::yield_now();
    }
    for _ in 0..REQUESTS {
        running.ask("/api/health")?;
    }
    say(format!("idle memory, connected: {} B", running.resident()?));
    drop(page);
    running.end()
}

/// Measures the simulation of a week with sixty routines.
fn a_week(binary: &Path, dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir.join("routines"))?;
    for n in 0..60 {
        // A third of them run every few hours, the others daily; half of them in the background.
        let hours = if n % 3 == 0 { "7-22/3".to_owned() } else { (n % 24).to_string() };
        let aside = if n % 2 == 0 { "background: true\n" } else { "" };
        let text = format!("---\nid: r{n}\ncron: {} {hours} * * *\n{aside}---\nlook at number {n}\n", n % 60);
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
    say(format!("a week of sixty routines, simulated: {} ns", took.as_nanos()));
    Ok(())
}

fn tell(what: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    say(format!("{what}: {} ns", took[took.len() / 2].as_nanos()));
}

fn cargo(words: &[&str]) -> anyhow::Result<()> {
    match Program::new("cargo", words).within(&tree::root()).run() {
        Outcome::Passed(_) => Ok(()),
        Outcome::Failed(_, said) => bail!("`cargo {}` failed:\n{said}", words.join(" ")),
        Outcome::NotRun(_, why) => bail!("cargo did not run: {why}"),
    }
}

/// A directory that is removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new(path: PathBuf) -> anyhow::Result<Self> {
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
