//! `ollim-bot export`: writes everything into one archive, and reports what was left out.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use engine::ports::Clock;
use journal::disk::Disk;
use journal::moving::{History, Manifest, NotPacked, Order, Secrets, Why, pack};
use serde_json::json;
use tempfile::NamedTempFile;

use super::super::answer;
use super::ticking::Ticking;
use super::{files, size};
use crate::cli::Output;
use crate::clock::SystemClock;
use crate::exit::Failed;
use crate::settings::Settings;

/// The most left-out files that are named for each reason.
const NAMED: usize = 6;

/// The arguments of an export.
pub struct Wanted<'a> {
    /// The target; `-` is stdout.
    pub file: &'a Path,
    /// Inclusion of keys and paired browsers.
    pub secrets: Secrets,
    /// Allows overwriting an existing file.
    pub replace: bool,
}

pub fn export(
    settings: &Settings,
    disk: &dyn Disk,
    wanted: Wanted<'_>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let secrets = wanted.secrets;
    let order = Order {
        paths: &settings.paths,
        disk,
        secrets,
        history: History::GoesAlong,
        now: SystemClock::new(settings.zone.value.clone()).now().timestamp(),
        program: concat!("ollim-bot ", env!("CARGO_PKG_VERSION")),
    };
    if wanted.file == Path::new("-") {
        let packed = written(&order, &mut std::io::stdout().lock(), output)?;
        // stdout contains the archive, so the answer goes to stderr.
        output.voice.note(told(&packed, "stdout", secrets).trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let packed = into_file(&order, &wanted, output)?;
    let Packed { manifest, length } = &packed;
    let value = json!({
        "ok": true, "file": wanted.file, "files": manifest.inside.len(), "bytes": manifest.bytes(),
        "archive_bytes": length, "inside": manifest.inside, "left_out": manifest.left_out,
    });
    answer(output, &value, &told(&packed, &wanted.file.display().to_string(), secrets));
    Ok(ExitCode::SUCCESS)
}

/// Writes a temporary file next to the target, and renames it.
fn into_file(order: &Order<'_>, wanted: &Wanted<'_>, output: &Output) -> Result<Packed, Failed> {
    let file = wanted.file;
    let failed = |error: &dyn std::fmt::Display| Failed::NotDone(format!("{}: {error}.", file.display()));
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = dir.canonicalize().map_err(|error| failed(&error))?;
    if order.paths.root().canonicalize().is_ok_and(|root| dir.starts_with(root)) {
        return Err(Failed::Usage(
            "an archive cannot lie in the data directory it is of. name a file elsewhere.".to_owned(),
        ));
    }
    if !wanted.replace && is_there(file) {
        return Err(taken(file));
    }
    let mut half = NamedTempFile::with_prefix_in(".ollim-export-", &dir).map_err(|error| failed(&error))?;
    let mut out = BufWriter::new(half.as_file_mut());
    let packed = written(order, &mut out, output)?;
    out.flush().map_err(|error| failed(&error))?;
    drop(out);
    half.as_file().sync_all().map_err(|error| failed(&error))?;
    let is_taken = |error: &io::Error| !wanted.replace && error.kind() == ErrorKind::AlreadyExists;
    put(half, wanted).map_err(|error| if is_taken(&error) { taken(file) } else { failed(&error) })?;
    std::fs::File::open(&dir).and_then(|dir| dir.sync_all()).map_err(|error| failed(&error))?;
    Ok(packed)
}

/// Renames the archive without overwriting a file that was created meanwhile. If the file system
/// does not support that, it checks once more before it renames.
fn put(half: NamedTempFile, wanted: &Wanted<'_>) -> io::Result<()> {
    let half = if wanted.replace {
        half
    } else {
        match half.persist_noclobber(wanted.file) {
            Ok(_) => return Ok(()),
            Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists || is_there(wanted.file) => {
                return Err(ErrorKind::AlreadyExists.into());
            }
            Err(refused) => refused.file,
        }
    };
    half.persist(wanted.file).map(drop).map_err(|refused| refused.error)
}

/// Returns whether the path exists, including dangling links.
fn is_there(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}

fn taken(file: &Path) -> Failed {
    Failed::Usage(format!("{} is there already. name another file, or say --replace.", file.display()))
}

/// A written archive.
struct Packed {
    manifest: Manifest,
    length: u64,
}

fn written(order: &Order<'_>, out: &mut dyn Write, output: &Output) -> Result<Packed, Failed> {
    let mut line = Ticking::new("packing", output);
    let mut out = Counting { inner: out, length: 0 };
    let packed = pack(order, &mut out, &mut |progress| line.tick(progress, Instant::now()));
    let manifest = packed.map_err(|error| match error {
        NotPacked::Nothing(_) | NotPacked::Newer(_) => Failed::Configuration(error.to_string()),
        NotPacked::Damaged(_)
        | NotPacked::Uncopied(_)
        | NotPacked::Unread(_)
        | NotPacked::Changed(_)
        | NotPacked::Disk(_) => Failed::NotDone(error.to_string()),
    })?;
    Ok(Packed { manifest, length: out.length })
}

/// Counts the bytes that are written.
struct Counting<'a> {
    inner: &'a mut dyn Write,
    length: u64,
}

impl Write for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn told(Packed { manifest, length }: &Packed, place: &str, secrets: Secrets) -> String {
    let count = files(manifest.inside.len() as u64);
    let mut kinds: BTreeMap<Why, Vec<&str>> = BTreeMap::new();
    for left in &manifest.left_out {
        kinds.entry(left.why).or_default().push(&left.path);
    }
    let lines = kinds.iter().map(|(why, names)| format!("\n  {} ({})", listed(names), why.tell()));
    let left: String = lines.collect();
    let left = if left.is_empty() { String::new() } else { format!("\nnot in it:{left}") };
    let warning = match secrets {
        Secrets::GoAlong => {
            "\nyour keys and paired browsers are in it: whoever has this file can act as you. keep it safe."
        }
        Secrets::Stay => "",
    };
    let packed = size(*length);
    let unpacked = size(manifest.bytes());
    format!("{place}: {count}, {packed} ({unpacked} unpacked).{left}{warning}")
}

fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let first = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}
