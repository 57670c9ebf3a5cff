//! `ollim-bot export`: writes everything into one archive, and reports what was left out.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use engine::ports::Clock;
use journal::archive::{ExclusionReason, GitHistory, Manifest, PackError, PackRequest, Secrets, pack};
use journal::disk::Disk;
use serde_json::json;
use tempfile::NamedTempFile;

use super::super::print_result;
use super::progress_line::ProgressLine;
use super::{file_count, format_size};
use crate::cli::Output;
use crate::clock::SystemClock;
use crate::exit::CommandError;
use crate::settings::Settings;

/// The most left-out files that are named for each reason.
const MAX_NAMED: usize = 6;

/// The arguments of an export.
pub struct ExportArgs<'a> {
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
    wanted: ExportArgs<'_>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let secrets = wanted.secrets;
    let order = PackRequest {
        paths: &settings.paths,
        disk,
        secrets,
        history: GitHistory::Include,
        now: SystemClock::new(settings.zone.value.clone()).now().timestamp(),
        program: concat!("ollim-bot ", env!("CARGO_PKG_VERSION")),
    };
    if wanted.file == Path::new("-") {
        let packed = write_archive(&order, &mut std::io::stdout().lock(), output)?;
        // stdout contains the archive, so the answer goes to stderr.
        output.voice.note(summary(&packed, "stdout", secrets).trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let packed = write_file(&order, &wanted, output)?;
    let PackedArchive { manifest, length } = &packed;
    let value = json!({
        "ok": true, "file": wanted.file, "files": manifest.inside.len(), "bytes": manifest.bytes(),
        "archive_bytes": length, "inside": manifest.inside, "left_out": manifest.left_out,
    });
    print_result(output, &value, &summary(&packed, &wanted.file.display().to_string(), secrets));
    Ok(ExitCode::SUCCESS)
}

/// Writes a temporary file next to the target, and renames it.
fn write_file(
    order: &PackRequest<'_>,
    wanted: &ExportArgs<'_>,
    output: &Output,
) -> Result<PackedArchive, CommandError> {
    let file = wanted.file;
    let failed =
        |error: &dyn std::fmt::Display| CommandError::Failed(format!("{}: {error}.", file.display()));
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = dir.canonicalize().map_err(|error| failed(&error))?;
    if order.paths.root().canonicalize().is_ok_and(|root| dir.starts_with(root)) {
        return Err(CommandError::Usage(
            "an archive cannot lie in the data directory it is of. name a file elsewhere.".to_owned(),
        ));
    }
    if !wanted.replace && exists(file) {
        return Err(already_exists(file));
    }
    let mut half = NamedTempFile::with_prefix_in(".ollim-export-", &dir).map_err(|error| failed(&error))?;
    let mut out = BufWriter::new(half.as_file_mut());
    let packed = write_archive(order, &mut out, output)?;
    out.flush().map_err(|error| failed(&error))?;
    drop(out);
    half.as_file().sync_all().map_err(|error| failed(&error))?;
    let is_taken = |error: &io::Error| !wanted.replace && error.kind() == ErrorKind::AlreadyExists;
    move_into_place(half, wanted)
        .map_err(|error| if is_taken(&error) { already_exists(file) } else { failed(&error) })?;
    std::fs::File::open(&dir).and_then(|dir| dir.sync_all()).map_err(|error| failed(&error))?;
    Ok(packed)
}

/// Renames the archive without overwriting a file that was created meanwhile. If the file system
/// does not support that, it checks once more before it renames.
fn move_into_place(half: NamedTempFile, wanted: &ExportArgs<'_>) -> io::Result<()> {
    let half = if wanted.replace {
        half
    } else {
        match half.persist_noclobber(wanted.file) {
            Ok(_) => return Ok(()),
            Err(refused) if refused.error.kind() == ErrorKind::AlreadyExists || exists(wanted.file) => {
                return Err(ErrorKind::AlreadyExists.into());
            }
            Err(refused) => refused.file,
        }
    };
    half.persist(wanted.file).map(drop).map_err(|refused| refused.error)
}

/// Returns whether the path exists, including dangling links.
fn exists(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}

fn already_exists(file: &Path) -> CommandError {
    CommandError::Usage(format!("{} is there already. name another file, or say --replace.", file.display()))
}

/// A written archive.
struct PackedArchive {
    manifest: Manifest,
    length: u64,
}

fn write_archive(
    order: &PackRequest<'_>,
    out: &mut dyn Write,
    output: &Output,
) -> Result<PackedArchive, CommandError> {
    let mut line = ProgressLine::new("packing", output);
    let mut out = CountingWriter { inner: out, length: 0 };
    let packed = pack(order, &mut out, &mut |progress| line.update(progress, Instant::now()));
    let manifest = packed.map_err(|error| match error {
        PackError::NoDataDirectory(_) | PackError::Newer(_) => CommandError::Configuration(error.to_string()),
        PackError::Damaged(_)
        | PackError::CopyFailed(_)
        | PackError::Unreadable(_)
        | PackError::Changed(_)
        | PackError::Disk(_) => CommandError::Failed(error.to_string()),
    })?;
    Ok(PackedArchive { manifest, length: out.length })
}

/// Counts the bytes that are written.
struct CountingWriter<'a> {
    inner: &'a mut dyn Write,
    length: u64,
}

impl Write for CountingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn summary(PackedArchive { manifest, length }: &PackedArchive, place: &str, secrets: Secrets) -> String {
    let count = file_count(manifest.inside.len() as u64);
    let mut kinds: BTreeMap<ExclusionReason, Vec<&str>> = BTreeMap::new();
    for left in &manifest.left_out {
        kinds.entry(left.why).or_default().push(&left.path);
    }
    let lines = kinds.iter().map(|(why, names)| format!("\n  {} ({})", name_list(names), why.description()));
    let left: String = lines.collect();
    let left = if left.is_empty() { String::new() } else { format!("\nnot in it:{left}") };
    let warning = match secrets {
        Secrets::Include => {
            "\nyour keys and paired browsers are in it: whoever has this file can act as you. keep it safe."
        }
        Secrets::Exclude => "",
    };
    let packed = format_size(*length);
    let unpacked = format_size(manifest.bytes());
    format!("{place}: {count}, {packed} ({unpacked} unpacked).{left}{warning}")
}

fn name_list(names: &[&str]) -> String {
    let more = names.len().saturating_sub(MAX_NAMED);
    let first = names.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}
