//! The archive formats of a Debian package: `ar` outside, `tar` inside.

use std::io::Write as _;

use anyhow::{Context, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;

const BLOCK: usize = 512;

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path from the root directory, without the leading slash.
    pub path: String,
    pub bytes: Vec<u8>,
    /// The permission bits.
    pub mode: u32,
}

impl Entry {
    /// Creates a file with mode 644.
    pub fn file(path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.to_owned(), bytes: bytes.into(), mode: 0o644 }
    }

    /// Creates an executable file with mode 755.
    pub fn program(path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { mode: 0o755, ..Self::file(path, bytes) }
    }

    /// Creates a gzip-compressed file with mode 644.
    pub fn gzipped(path: &str, text: String) -> Self {
        Self::file(path, gzip(text.as_bytes()))
    }
}

/// Creates an `ar` archive of these members, in this order.
pub fn create_ar(members: &[(&str, Vec<u8>)], timestamp: u64) -> Vec<u8> {
    let mut whole = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let head = format!("{name:<16}{timestamp:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 100_644, bytes.len());
        whole.extend_from_slice(head.as_bytes());
        whole.extend_from_slice(bytes);
        if bytes.len() % 2 == 1 {
            whole.push(b'\n');
        }
    }
    whole
}

/// Creates a `tar` archive of these files and their parent folders, all owned by root.
pub fn create_tar(entries: &[Entry], timestamp: u64) -> anyhow::Result<Vec<u8>> {
    let mut whole = Vec::new();
    let mut folders = vec!["./".to_owned()];
    for entry in entries {
        let parts: Vec<_> = entry.path.split('/').collect();
        for depth in 1..parts.len() {
            let folder = format!("./{}/", parts[..depth].join("/"));
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    for folder in &folders {
        whole.extend(tar_header(folder, 0o755, 0, timestamp, b'5')?);
    }
    for entry in entries {
        let size = entry.bytes.len();
        whole.extend(tar_header(&format!("./{}", entry.path), entry.mode, size, timestamp, b'0')?);
        whole.extend_from_slice(&entry.bytes);
        whole.resize(whole.len().next_multiple_of(BLOCK), 0);
    }
    whole.resize(whole.len() + 2 * BLOCK, 0);
    Ok(whole)
}

fn tar_header(name: &str, mode: u32, size: usize, timestamp: u64, kind: u8) -> anyhow::Result<Vec<u8>> {
    ensure!(name.len() < 100, "{name} is too long for an archive");
    let mut head = vec![0; BLOCK];
    let mut put = |at: usize, text: &str| head[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, &format!("{mode:07o}"));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, &format!("{timestamp:011o}"));
    put(148, "        ");
    put(257, "ustar");
    put(263, "00");
    put(265, "root");
    put(297, "root");
    head[156] = kind;
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    Ok(head)
}

/// Compresses deterministically.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    let written = packed.write_all(bytes).and_then(|()| packed.finish());
    written.unwrap_or_default()
}

/// Returns the members of an `ar` archive.
pub fn read_ar(bytes: &[u8]) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut rest = bytes.strip_prefix(b"!<arch>\n").context("no ar")?;
    let mut members = Vec::new();
    while rest.len() >= 60 {
        let (head, after) = rest.split_at(60);
        ensure!(head.ends_with(b"`\n"), "a head without its end");
        let text = |range: std::ops::Range<usize>| String::from_utf8_lossy(&head[range]).trim().to_owned();
        let size: usize = text(48..58).parse()?;
        ensure!(after.len() >= size, "a member without its end");
        members.push((text(0..16), after[..size].to_vec()));
        rest = after.get(size.next_multiple_of(2)..).unwrap_or_default();
    }
    Ok(members)
}

/// Returns the files of a `tar` archive, without its folders.
pub fn read_tar(bytes: &[u8]) -> anyhow::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut at = 0;
    while bytes.get(at).is_some_and(|first| *first != 0) {
        let head = bytes.get(at..at + BLOCK).context("a head without its end")?;
        let text = |range: std::ops::Range<usize>| {
            let part = &head[range];
            let end = part.iter().position(|byte| *byte == 0).unwrap_or(part.len());
            String::from_utf8_lossy(&part[..end]).into_owned()
        };
        let sum: u32 = head[..148].iter().chain(&head[156..]).map(|byte| u32::from(*byte)).sum();
        ensure!(u32::from_str_radix(text(148..156).trim(), 8)? == sum + 8 * 32, "a head that was damaged");
        let size = usize::from_str_radix(&text(124..136), 8)?;
        if head[156] == b'0' {
            let bytes = bytes.get(at + BLOCK..at + BLOCK + size).context("a file without its end")?;
            let mode = u32::from_str_radix(&text(100..108), 8)?;
            let path = text(0..100).trim_start_matches("./").to_owned();
            entries.push(Entry { path, bytes: bytes.to_vec(), mode });
        }
        at += BLOCK + size.next_multiple_of(BLOCK);
    }
    Ok(entries)
}
