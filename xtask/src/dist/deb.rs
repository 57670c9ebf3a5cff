//! The Debian package: contents and control file.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context, ensure};
use flate2::read::GzDecoder;

use super::archive::{Entry, create_ar, create_tar, gzip, read_ar, read_tar};

/// The user unit: `systemctl --user enable --now ollim-bot`.
pub const UNIT: &str = "usr/lib/systemd/user/ollim-bot.service";

/// Metadata of the package.
#[derive(Clone, Debug)]
pub struct PackageInfo {
    pub version: String,
    /// The oldest supported glibc.
    pub glibc: String,
    /// The timestamp of all files in seconds, so that builds are reproducible.
    pub timestamp: u64,
}

/// A parsed package.
#[derive(Debug)]
pub struct ParsedPackage {
    /// The control file.
    pub control: String,
    /// The installed files.
    pub files: Vec<Entry>,
}

/// Returns the additional files: unit, licences and changelog.
pub fn additional_files(root: &Path) -> anyhow::Result<Vec<Entry>> {
    let text = |path: &str| {
        std::fs::read_to_string(root.join(path)).with_context(|| format!("{path} cannot be read"))
    };
    let licences = [("MIT", "LICENSE-MIT"), ("Apache-2.0", "LICENSE-APACHE")];
    let mut copyright = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
                         Upstream-Name: ollim-bot\n\nFiles: *\nCopyright: the ollim-bot contributors\n\
                         License: MIT or Apache-2.0\n"
        .to_owned();
    for (name, path) in licences {
        copyright.push_str(&format!("\nLicense: {name}\n{}", format_field(&text(path)?)));
    }
    Ok(vec![
        Entry::file(UNIT, text("packaging/ollim-bot.service")?),
        Entry::file("usr/share/doc/ollim-bot/copyright", copyright),
        Entry::gzipped("usr/share/doc/ollim-bot/changelog.gz", text("CHANGELOG.md")?),
    ])
}

/// Formats a multi-line field of a control file.
fn format_field(text: &str) -> String {
    let line = |line: &str| if line.trim().is_empty() { " .\n".to_owned() } else { format!(" {line}\n") };
    text.lines().map(line).collect()
}

/// Creates a package of these files.
pub fn pack(info: &PackageInfo, entries: &[Entry]) -> anyhow::Result<Vec<u8>> {
    let size: usize = entries.iter().map(|entry| entry.bytes.len().div_ceil(1024)).sum();
    let control = format!(
        "Package: ollim-bot\nVersion: {}\nArchitecture: amd64\nMaintainer: the ollim-bot contributors\n\
         Installed-Size: {size}\nDepends: libc6 (>= {}), libgcc-s1\nRecommends: ca-certificates, git\n\
         Section: utils\nPriority: optional\nDescription: a proactive assistant for one person\n \
         One program that keeps one conversation alive for months, reminds in time, and does\n \
         scheduled work beside the conversation. Everything stays on this machine.\n",
        info.version, info.glibc
    );
    let control_archive = create_tar(&[Entry::file("control", control)], info.timestamp)?;
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", gzip(&control_archive)),
        ("data.tar.gz", gzip(&create_tar(entries, info.timestamp)?)),
    ];
    Ok(create_ar(&members, info.timestamp))
}

/// Parses a package.
pub fn read(bytes: &[u8]) -> anyhow::Result<ParsedPackage> {
    let members = read_ar(bytes)?;
    let names: Vec<_> = members.iter().map(|(name, _)| name.as_str()).collect();
    ensure!(names == ["debian-binary", "control.tar.gz", "data.tar.gz"], "these are its members: {names:?}");
    ensure!(members[0].1 == b"2.0\n", "a format that nobody knows");
    let control = read_tar(&gunzip(&members[1].1)?)?.pop().context("it says nothing of itself")?;
    let files = read_tar(&gunzip(&members[2].1)?)?;
    Ok(ParsedPackage { control: String::from_utf8(control.bytes)?, files })
}

/// Decompresses gzip data.
pub fn gunzip(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut whole = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut whole)?;
    Ok(whole)
}
