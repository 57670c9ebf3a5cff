//! `ollim-bot export`: one archive of everything, and what is not in it.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
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

/// How many things of a kind that were left out are named.
const NAMED: usize = 6;

/// Writes the archive.
pub fn export(
    settings: &Settings,
    disk: &dyn Disk,
    (file, with_secrets): (&Path, bool),
    output: &Output,
) -> Result<ExitCode, Failed> {
    let secrets = if with_secrets { Secrets::GoAlong } else { Secrets::Stay };
    let order = Order {
        paths: &settings.paths,
        disk,
        secrets,
        history: History::GoesAlong,
        now: SystemClock::new(settings.zone.value.clone()).now().timestamp(),
        program: concat!("ollim-bot ", env!("CARGO_PKG_VERSION")),
    };
    let manifest = match file.to_str() {
        Some("-") => {
            let manifest = written(&order, &mut std::io::stdout().lock(), output)?;
            // The answer must not end up in the archive.
            output.voice.note(told(&manifest, "stdout", secrets).trim_end());
            return Ok(ExitCode::SUCCESS);
        }
        _ => into_file(&order, settings.paths.root(), file, output)?,
    };
    let value = json!({
        "ok": true, "file": file, "files": manifest.inside.len(), "bytes": manifest.bytes(),
        "inside": manifest.inside, "left_out": manifest.left_out,
    });
    answer(output, &value, &told(&manifest, &file.display().to_string(), secrets));
    Ok(ExitCode::SUCCESS)
}

/// Writes it beside its place, and puts it there whole.
fn into_file(order: &Order<'_>, root: &Path, file: &Path, output: &Output) -> Result<Manifest, Failed> {
    let failed = |error: &dyn std::fmt::Display| Failed::NotDone(format!("{}: {error}.", file.display()));
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (dir, root) = (dir.canonicalize().map_err(|error| failed(&error))?, root.canonicalize());
    if root.is_ok_and(|root| dir.starts_with(root)) {
        return Err(Failed::Usage(
            "an archive cannot lie in the data directory it is of. name a file elsewhere.".to_owned(),
        ));
    }
    let mut half = NamedTempFile::with_prefix_in(".ollim-export-", &dir).map_err(|error| failed(&error))?;
    let mut out = BufWriter::new(half.as_file_mut());
    let manifest = written(order, &mut out, output)?;
    out.flush().map_err(|error| failed(&error))?;
    drop(out);
    half.as_file().sync_all().map_err(|error| failed(&error))?;
    half.persist(file).map_err(|error| failed(&error.error))?;
    std::fs::File::open(&dir).and_then(|dir| dir.sync_all()).map_err(|error| failed(&error))?;
    Ok(manifest)
}

fn written(order: &Order<'_>, out: &mut dyn Write, output: &Output) -> Result<Manifest, Failed> {
    let mut line = Ticking::new("packing", output);
    pack(order, out, &mut |progress| line.tick(progress, Instant::now())).map_err(|error| match error {
        NotPacked::Nothing(_) | NotPacked::Newer(_) => Failed::Configuration(error.to_string()),
        NotPacked::Damaged(_)
        | NotPacked::Uncopied(_)
        | NotPacked::Unread(_)
        | NotPacked::Changed(_)
        | NotPacked::Disk(_) => Failed::NotDone(error.to_string()),
    })
}

fn told(manifest: &Manifest, place: &str, secrets: Secrets) -> String {
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
    format!("{place}: {count}, {}.{left}{warning}", size(manifest.bytes()))
}

fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let first = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}
