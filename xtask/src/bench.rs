//! Benchmarks: runs all measurements, prints one table, and writes it to docs/BENCHMARKS.md.
//!
//! To add a measurement, give its row in [`rows::ROWS`] a program that prints the number and a
//! function that reads it.
//! Divan benches in a crate's `benches/` folder are found automatically; a row with the same name
//! adds a target.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use clap::Args;

use crate::out::print_line;
use crate::source_files::{self, SourceFile};
use crate::test::step::{Outcome, Program};

pub mod amount;
mod claude;
pub mod divan;
pub mod footprint;
pub mod rows;
mod running_program;
pub mod table;

use amount::Amount;
use rows::{ROWS, Row};
use table::TableLine;

/// The page with the table.
const PAGE: &str = "docs/BENCHMARKS.md";

/// Measures speed and size, prints one table, and writes it to docs/BENCHMARKS.md.
#[derive(Args, Debug)]
pub struct Bench {
    /// Only rows and benches whose name contains these words; nothing is written down without `--update`.
    #[arg(value_name = "WORDS")]
    only: Option<String>,
    /// Replace the rows of these names in the page.
    #[arg(long, requires = "only")]
    update: bool,
}

impl Bench {
    /// Measures and prints the table; fails if a measured value misses its target.
    pub fn run(&self) -> anyhow::Result<()> {
        let wanted = |name: &str| self.only.as_ref().is_none_or(|only| name.contains(only.as_str()));
        let mut outputs = ProgramOutputs::default();
        let mut lines = Vec::new();
        let mut benches = bench_names(&source_files::read_all()?);
        let mut rows = ROWS.iter().filter(|row| wanted(row.name)).peekable();
        if self.only.is_some() && rows.peek().is_some() && rows.all(|row| row.is_measured_by_a_program()) {
            benches.clear();
        }
        for bench in &benches {
            outputs.output_of(&bench_command(bench))?;
        }
        for row in ROWS.iter().filter(|row| wanted(row.name)) {
            lines.push(TableLine {
                name: row.name.into(),
                target: row.target,
                measured: outputs.measure(row)?,
            });
        }
        for bench in &benches {
            let output = outputs.output_of(&bench_command(bench))?;
            let found = divan::medians(&output)
                .into_iter()
                .filter(|(name, _)| wanted(name) && !is_shown_by_a_row(name));
            let line =
                |(name, took)| TableLine { name: format!("`{name}`"), target: None, measured: Some(took) };
            lines.extend(found.map(line));
        }
        lines.extend(claude::lines(wanted));
        print_line(table::format_text(&lines));
        if self.only.is_none() {
            let page = table::format_page(&lines, &machine_description());
            std::fs::write(source_files::root().join(PAGE), page)
                .with_context(|| format!("cannot write {PAGE}"))?;
        } else if self.update {
            let path = source_files::root().join(PAGE);
            let page = std::fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
            std::fs::write(&path, table::update_page(&page, &lines))
                .with_context(|| format!("cannot write {PAGE}"))?;
        }
        match lines.iter().filter(|line| line.misses_target()).count() {
            0 => Ok(()),
            count => bail!("{count} of {} miss their target", lines.len()),
        }
    }
}

/// Returns whether a row already shows this bench.
fn is_shown_by_a_row(bench: &str) -> bool {
    ROWS.iter().any(|row| matches!(row.probe, rows::Probe::Divan(name) if name == bench))
}

/// The output of the programs. Each runs once, even if several rows read it.
#[derive(Default)]
struct ProgramOutputs(BTreeMap<Vec<String>, String>);

impl ProgramOutputs {
    fn output_of(&mut self, command: &[String]) -> anyhow::Result<String> {
        if let Some(output) = self.0.get(command) {
            return Ok(output.clone());
        }
        let (program, rest) = command.split_first().context("a row names no program")?;
        let rest: Vec<_> = rest.iter().map(String::as_str).collect();
        // Keeps both streams: some programs print their number to stdout, some to stderr.
        let keep_all = |output: &str| vec![output.to_owned()];
        let output = match Program::new(program, &rest)
            .in_folder(&source_files::root())
            .with_summary(keep_all)
            .run()
        {
            Outcome::Passed(output) => output.concat(),
            Outcome::Failed(_, output) => bail!("`{}` failed:\n{output}", command.join(" ")),
            Outcome::NotRun(_, why) => bail!("`{}` did not run: {why}", command.join(" ")),
        };
        self.0.insert(command.to_vec(), output.clone());
        Ok(output)
    }

    fn median(&self, bench: &str) -> Option<Amount> {
        self.0.values().find_map(|output| divan::median(output, bench))
    }

    fn ratio(&self, bench: &str, other: &str) -> Option<Amount> {
        Some(amount::count(self.median(bench)?.value / self.median(other)?.value))
    }

    fn measure(&mut self, row: &Row) -> anyhow::Result<Option<Amount>> {
        match row.probe {
            rows::Probe::Unmeasured => Ok(None),
            rows::Probe::Divan(bench) => Ok(self.median(bench)),
            rows::Probe::Ratio(bench, other) => Ok(self.ratio(bench, other)),
            rows::Probe::Program(words, read) => {
                let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
                let output = self.output_of(&words)?;
                read(&output)
                    .map(Some)
                    .with_context(|| format!("`{}` does not say {}", words.join(" "), row.name))
            }
        }
    }
}

/// Returns the command for the bench `name`. It uses the whole workspace, so that all benches share
/// one build.
fn bench_command(name: &str) -> Vec<String> {
    ["cargo", "bench", "--quiet", "--workspace", "--bench", name].map(str::to_owned).to_vec()
}

/// Returns the name of every file directly in a `benches/` folder of a crate.
fn bench_names(files: &[SourceFile]) -> Vec<String> {
    let bench = |file: &SourceFile| {
        let (folder, rest) = file.path.split_once("/benches/")?;
        let name = rest.strip_suffix(".rs").filter(|name| !name.contains('/'))?;
        folder.starts_with("crates/").then(|| name.to_owned())
    };
    files.iter().filter_map(bench).collect()
}

/// Describes the machine, without which the numbers mean nothing.
fn machine_description() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let rustc = Program::new("rustc", &["--version"]).stdout().unwrap_or_else(|| "an unknown rustc".into());
    let rustc = rustc.split(" (").next().unwrap_or_default().to_owned();
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown", |(_, name)| name);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default().to_owned();
    format!("{cores} shared cores ({model}) under a load of {load}, {rustc}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benches_of_the_crates_are_found() {
        let files = [
            SourceFile::new("crates/journal/benches/fork.rs", ""),
            SourceFile::new("crates/journal/benches/fork/seed.rs", ""),
            SourceFile::new("crates/journal/src/benches.rs", ""),
        ];
        assert_eq!(bench_names(&files), ["fork"]);
        assert!(bench_command("fork").join(" ").ends_with("--workspace --bench fork"));
    }

    #[test]
    fn program_runs_once_for_all_its_rows() {
        let words = ["sh", "-c", "date +%N"].map(str::to_owned);
        let mut shelf = ProgramOutputs::default();
        assert_eq!(shelf.output_of(&words).unwrap(), shelf.output_of(&words).unwrap());
    }

    #[test]
    fn failed_program_is_an_error() {
        let words = ["sh", "-c", "echo broken; exit 1"].map(str::to_owned);
        assert!(ProgramOutputs::default().output_of(&words).unwrap_err().to_string().contains("broken"));
    }

    #[test]
    fn row_reads_its_number_from_the_output() {
        let row = Row {
            name: "words",
            target: Some(amount::Target::AtMost(amount::count(3.0))),
            probe: rows::Probe::Program(&["echo", "words: 2"], |output| {
                rows::number_after(output, "words: ", amount::Unit::Count)
            }),
        };
        assert_eq!(ProgramOutputs::default().measure(&row).unwrap(), Some(amount::count(2.0)));
    }
}
