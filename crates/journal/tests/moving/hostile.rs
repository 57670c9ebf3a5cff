//! Hostile and damaged archives.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use journal::archive::{ArchivedFile, Manifest, Secrets, UnpackLimits, unpack};
use journal::disk::RealDisk;
use tar::{Builder, EntryType, Header};

use super::{TestDirectory, unpack_into};

/// An entry of a hand-made archive.
struct HostileEntry {
    name: Vec<u8>,
    kind: EntryType,
    bytes: Vec<u8>,
}

fn file_entry(name: &str, bytes: &[u8]) -> HostileEntry {
    HostileEntry { name: name.as_bytes().to_vec(), kind: EntryType::Regular, bytes: bytes.to_vec() }
}

/// An archive with these entries and a matching manifest.
fn archive_of(things: &[HostileEntry]) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let mut inside = Vec::new();
    for HostileEntry { name, kind, bytes } in things {
        append_raw(&mut archive, name, *kind, bytes.len() as u64, bytes);
        let sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let path = String::from_utf8_lossy(name).trim_start_matches("data/").to_owned();
        inside.push(ArchivedFile { path, bytes: bytes.len() as u64, sha256 });
    }
    let list = Manifest {
        about: String::new(),
        format: 1,
        program: "somebody".to_owned(),
        made: String::new(),
        journal_format: None,
        inside,
        left_out: Vec::new(),
    };
    let text = serde_json::to_vec(&list).unwrap();
    append_raw(&mut archive, b"manifest.json", EntryType::Regular, text.len() as u64, &text);
    archive.into_inner().unwrap().finish().unwrap()
}

/// Writes an entry with an arbitrary header.
fn append_raw(archive: &mut Builder<impl Write>, name: &[u8], kind: EntryType, size: u64, bytes: &[u8]) {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    if matches!(kind, EntryType::Symlink | EntryType::Link) {
        header.set_link_name("/etc/passwd").unwrap();
    }
    header.set_size(size);
    header.set_mode(0o777);
    header.set_cksum();
    archive.append(&header, bytes).unwrap();
}

/// Entries outside of the directory, links, and files that could cause programs to run are refused,
/// and nothing is written.
#[test]
fn unsafe_entries_are_refused() {
    let of = |name: &str, kind| HostileEntry { kind, ..file_entry(name, b"") };
    let long = format!("data/{}", "a/".repeat(40));
    let cases = [
        file_entry("data/../../escaped", b"x"),
        file_entry("../escaped", b"x"),
        file_entry("/escaped", b"x"),
        file_entry("data//etc/x", b"x"),
        file_entry("data/a/./b", b"x"),
        file_entry("data/", b"x"),
        file_entry("elsewhere/x", b"x"),
        file_entry(&long[..84], b"x"),
        file_entry("data/state/bot.lock", b""),
        file_entry("data/state/journal.db-wal", b"x"),
        file_entry("data/.git/config", b"[core]\nfsmonitor = \"touch /tmp/x\"\n"),
        file_entry("data/.git/hooks/post-commit", b"#!/bin/sh\n"),
        of("data/link", EntryType::Symlink),
        of("data/hard", EntryType::Link),
        of("data/pipe", EntryType::Fifo),
        of("data/device", EntryType::Char),
        of("data/dir", EntryType::Directory),
        of("data/sparse", EntryType::GNUSparse),
    ];
    for case in cases {
        let target = tempfile::tempdir().unwrap();
        let name = String::from_utf8_lossy(&case.name).into_owned();
        let archive = archive_of(&[case]);
        let refused = unpack_into(&archive, &target.path().join("in/stage"));
        let why = refused.expect_err(&name).to_string();
        assert!(why.contains("not safe") || why.contains("not a whole archive"), "{name}: {why}");
        assert!(why.ends_with("nothing was changed."), "{why}");
        assert!(!target.path().join("escaped").exists() && !target.path().join("in/escaped").exists());
        let laid = target.path().join("in/stage").read_dir().unwrap().count();
        assert_eq!(laid, 0, "{name}");
    }
}

/// A directory packed by hand is not an archive of this program, and the error says so.
#[test]
fn an_archive_made_by_hand_is_reported_as_such() {
    let target = tempfile::tempdir().unwrap();
    let packed = [HostileEntry { kind: EntryType::Directory, ..file_entry(".ollim-bot/", b"") }];
    let why = unpack_into(&archive_of(&packed), &target.path().join("in/stage")).unwrap_err().to_string();
    let right = "this is not a whole archive of ollim-bot: it begins with the directory `.ollim-bot/`, so `ollim-bot \
                 export` did not make it. nothing was changed.";
    assert_eq!(why, right);
}

/// Files specific to the other machine are ignored, although archives of earlier versions contain
/// them; the other files are imported.
#[test]
fn files_specific_to_another_machine_are_ignored() {
    let target = tempfile::tempdir().unwrap();
    let stage = target.path().join("stage");
    let things = [
        file_entry("data/state/update.json", b"{\"stage\": \"unproven\"}"),
        file_entry("data/state/watched", b"stalled"),
        file_entry("data/state/journal.db.instead-corrupt-20261117T000000000Z", b"another journal"),
        file_entry("data/notes/mine.md", b"mine"),
    ];
    unpack_into(&archive_of(&things), &stage).unwrap();
    assert_eq!(std::fs::read(stage.join("notes/mine.md")).unwrap(), b"mine");
    assert!(
        !stage.join("state").exists(),
        "it says how an update goes, how somebody ended, or which journal counts"
    );
}

/// Duplicate entries, entries below a file, and entries beyond the limits are refused.
#[test]
fn duplicate_and_excessive_entries_are_refused() {
    let refused = |things: &[HostileEntry], bounds: UnpackLimits| {
        let target = tempfile::tempdir().unwrap();
        let archive = archive_of(things);
        let stage = target.path().join("stage");
        unpack(archive.as_slice(), (&RealDisk, &stage), bounds, &mut |_| {}).unwrap_err().to_string()
    };
    let wide = UnpackLimits::for_free_space(1 << 30);
    assert!(refused(&[file_entry("data/a", b"1"), file_entry("data/a", b"1")], wide).contains("comes twice"));
    assert!(
        refused(&[file_entry("data/a", b"1"), file_entry("data/a/b", b"1")], wide).contains("under a file")
    );
    let many: Vec<HostileEntry> = (0..11).map(|n| file_entry(&format!("data/{n}"), b"")).collect();
    assert!(refused(&many, UnpackLimits { files: 10, ..wide }).contains("more files"));
    assert!(
        refused(&[file_entry("data/a", &[7; 100])], UnpackLimits { bytes: 99, ..wide }).contains("no room")
    );
    assert!(
        refused(&[file_entry("data/a", b"1")], UnpackLimits { manifest: 10, ..wide }).contains("no room")
    );
    // Zeros compress to a thousandth of their size.
    let bomb = || [file_entry("data/a", &[7; 1_000]), file_entry("data/zeros", &vec![0; 4 * 1024 * 1024])];
    assert!(
        refused(&bomb(), UnpackLimits { ratio_exempt: 100_000, ..wide }).contains("far more than it holds")
    );
}

/// A reader that returns small chunks.
struct SlowReader<'a>(&'a [u8]);

impl Read for SlowReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let most = into.len().min(1024);
        self.0.read(&mut into[..most])
    }
}

/// An honestly compressed file of any length is accepted as the first one, which the journal always
/// is. A file or manifest with an extreme compression ratio is refused.
#[test]
fn a_long_first_file_is_accepted_and_a_decompression_bomb_is_refused() {
    let taken_in = |archive: &[u8]| {
        let target = tempfile::tempdir().unwrap();
        let bounds = UnpackLimits { ratio_exempt: 1_000, ..UnpackLimits::for_free_space(1 << 30) };
        unpack(SlowReader(archive), (&RealDisk, &target.path().join("stage")), bounds, &mut |_| {})
    };
    let mut dice: u64 = 7;
    let thrown = std::iter::repeat_with(|| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 56) as u8
    });
    let long: Vec<u8> = thrown.take(1024 * 1024).collect();
    taken_in(&archive_of(&[file_entry("data/long", &long)])).unwrap();
    let noughts = vec![0; 4 * 1024 * 1024];
    let refused = taken_in(&archive_of(&[file_entry("data/zeros", &noughts)])).unwrap_err().to_string();
    assert!(refused.contains("`zeros` unpacks to far more than it holds"), "{refused}");
    // An ignored file is read all the same.
    let refused =
        taken_in(&archive_of(&[file_entry("data/state/watched", &noughts)])).unwrap_err().to_string();
    assert!(refused.contains("far more than it holds"), "{refused}");
    let mut list = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let blanks = vec![b' '; 4 * 1024 * 1024];
    append_raw(&mut list, b"manifest.json", EntryType::Regular, blanks.len() as u64, &blanks);
    let refused = taken_in(&list.into_inner().unwrap().finish().unwrap()).unwrap_err().to_string();
    assert!(refused.contains("far more than it holds"), "{refused}");

    // An update tests itself on such a copy.
    let desk = TestDirectory::new();
    let journal = rusqlite::Connection::open(desk.paths().database()).unwrap();
    journal.execute_batch("CREATE TABLE dice AS SELECT randomblob(1048576)").unwrap();
    drop(journal);
    let (archive, manifest) = desk.pack(Secrets::Include);
    assert!(manifest.inside[0].path == "state/journal.db" && manifest.inside[0].bytes > 1_048_576);
    assert_eq!(taken_in(&archive).unwrap(), manifest);
}

/// An endless name is not read completely.
#[test]
fn an_endless_name_is_not_read() {
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let name = vec![b'a'; 64 * 1024 * 1024];
    append_raw(&mut archive, b"././@LongLink", EntryType::GNULongName, name.len() as u64, &name);
    let archive = archive.into_inner().unwrap().finish().unwrap();
    let target = tempfile::tempdir().unwrap();
    let refused = unpack_into(&archive, &target.path().join("stage")).unwrap_err().to_string();
    assert!(refused.contains("has no end"), "{refused}");
}

/// An archive with a changed byte or a truncated one is refused, or has the same content.
#[test]
fn a_damaged_archive_is_refused() {
    let desk = TestDirectory::new();
    let (archive, manifest) = desk.pack(Secrets::Exclude);
    let target = tempfile::tempdir().unwrap();
    let check = |what: &str, n: usize, bytes: &[u8]| {
        let stage = target.path().join(format!("{what}-{n}"));
        match unpack_into(bytes, &stage) {
            Err(_) => 1,
            Ok(found) => {
                assert_eq!(found, manifest, "{what} {n}");
                0
            }
        }
    };
    let cuts: usize = (1..20).map(|n| check("cut", n, &archive[..archive.len() * n / 20])).sum();
    assert_eq!(cuts, 19);
    // The checksum of the compressed data is at the end; nothing else verifies the manifest.
    let mut sum = archive.clone();
    let at = sum.len() - 8;
    sum[at] ^= 0x10;
    assert_eq!(check("sum", 0, &sum), 1);
    let flips: usize = (0..40)
        .map(|n| {
            let mut bytes = archive.clone();
            let at = 12 + n * (bytes.len() - 20) / 40;
            bytes[at] ^= 0x10;
            check("flip", n, &bytes)
        })
        .sum();
    assert!(flips >= 38, "{flips} of 40 were seen");
}

/// A file that differs from the manifest, an additional or missing one, and a manifest of a later
/// version.
#[test]
fn files_that_do_not_match_the_manifest_are_refused() {
    let told = |change: &dyn Fn(&mut Manifest)| {
        let desk = TestDirectory::new();
        let target = tempfile::tempdir().unwrap();
        let (archive, mut manifest) = desk.pack(Secrets::Exclude);
        change(&mut manifest);
        let mut old = tar::Archive::new(GzDecoder::new(archive.as_slice()));
        let mut new = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for entry in old.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            let name = entry.path_bytes().into_owned();
            if name == b"manifest.json" {
                bytes = serde_json::to_vec(&manifest).unwrap();
            }
            append_raw(&mut new, &name, EntryType::Regular, bytes.len() as u64, &bytes);
        }
        let archive = new.into_inner().unwrap().finish().unwrap();
        unpack_into(&archive, &target.path().join("stage")).unwrap_err().to_string()
    };
    assert!(told(&|list| list.inside[0].sha256 = "0".repeat(64)).contains("is not what it was"));
    assert!(told(&|list| list.inside[0].path = "state/other".to_owned()).contains("is missing"));
    assert!(told(&|list| drop(list.inside.pop())).contains("does not name"));
    assert!(told(&|list| list.format = 2).contains("update ollim-bot"));
}
