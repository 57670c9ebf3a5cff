//! Archives: included and excluded files, and refused contents.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
#![expect(clippy::disallowed_methods, reason = "the test writes and damages files without the trait Disk")]

mod hostile;
mod repacked;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::GzDecoder;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use journal::archive::{
    ArchivedFile, ExcludedFile, ExclusionReason, GitHistory, Manifest, PackError, PackRequest, PlaceError,
    Placement, Secrets, StagingDir, UnpackError, UnpackLimits, pack, unpack,
};
use journal::disk::{Disk, RealDisk};
use journal::{OpenParams, OpenedJournal, PairedDevice, Paths, open};
use tempfile::TempDir;
use testkit::disk::{DiskFault, FailingDisk, FaultDuration};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

struct TestDirectory {
    dir: TempDir,
}

impl TestDirectory {
    /// A data directory with files of all kinds.
    fn new() -> Self {
        let desk = Self { dir: tempfile::tempdir().unwrap() };
        let OpenedJournal { journal, .. } = open(desk.place()).unwrap();
        let device = PairedDevice {
            id: "phone".to_owned(),
            label: "phone".to_owned(),
            credential: *b"a credential that nobody may see",
            paired: NOW,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(journal.add_device(device)).unwrap();
        drop(journal);
        for (name, text) in [
            ("settings.toml", "[model]\n"),
            ("routines/mail.md", "---\nid: mail\ncron: 0 9 * * *\n---\nmail\n"),
            ("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: x\n---\ntidy\n"),
            ("state/sessions.json", "5f0c77aa-session"),
            ("state/anthropic.key", "sk-secret"),
            ("state/token.json", "{\"refresh\": \"very secret\"}"),
            ("state/backups/journal-20260101T000000Z.db", "an older one"),
            ("state/config.json.0.tmp", "half"),
            ("state/update.json", "{\"stage\": \"unproven\"}"),
            ("state/watched", ""),
            (".git/hooks/post-commit", "#!/bin/sh\n"),
            ("mcp.json", r#"{"mcpServers": {"a": {"command": "x", "env": {"T": "very secret"}}}}"#),
        ] {
            desk.write(name, text);
        }
        std::os::unix::fs::symlink("skills", desk.root().join("linked")).unwrap();
        desk
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn place(&self) -> OpenParams {
        OpenParams { paths: self.paths(), disk: Arc::new(RealDisk), zone: TimeZone::UTC, now: NOW, pid: 1 }
    }

    fn paths(&self) -> Paths {
        Paths::new(self.root())
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn pack(&self, secrets: Secrets) -> (Vec<u8>, Manifest) {
        pack_directory(&self.paths(), &RealDisk, secrets).unwrap()
    }
}

fn pack_directory(
    paths: &Paths,
    disk: &dyn Disk,
    secrets: Secrets,
) -> Result<(Vec<u8>, Manifest), PackError> {
    let history = GitHistory::Include;
    let order = PackRequest { paths, disk, secrets, history, now: NOW, program: "a test" };
    let mut out = Vec::new();
    let manifest = pack(&order, &mut out, &mut |_| {})?;
    Ok((out, manifest))
}

fn names(archive: &[u8]) -> Vec<String> {
    let mut archive = tar::Archive::new(GzDecoder::new(archive));
    let name = |entry: std::io::Result<tar::Entry<'_, _>>| -> String {
        entry.unwrap().path().unwrap().display().to_string()
    };
    archive.entries().unwrap().map(name).collect()
}

fn excluded(manifest: &Manifest) -> Vec<(&str, ExclusionReason)> {
    manifest.left_out.iter().map(|ExcludedFile { path, why }| (path.as_str(), *why)).collect()
}

/// The manifest lists exactly the files in the archive and the excluded ones.
#[test]
fn the_manifest_lists_included_and_excluded_files() {
    let desk = TestDirectory::new();
    desk.write("state/journal.db.instead-corrupt-20261117T000000000Z", "about to take the place");
    desk.write("state/journal.db.untold-corrupt-20261117T000000000Z", "the journal was damaged");
    let (archive, manifest) = desk.pack(Secrets::Exclude);
    let mut listed: Vec<String> =
        manifest.inside.iter().map(|ArchivedFile { path, .. }| format!("data/{path}")).collect();
    listed.push("manifest.json".to_owned());
    assert_eq!(names(&archive), listed);
    for name in ["data/state/journal.db", "data/routines/mail.md", "data/settings.toml", "data/.git/HEAD"] {
        assert!(listed.contains(&name.to_owned()), "{name}: {listed:?}");
    }
    let left = excluded(&manifest);
    for expected in [
        ("1 paired browser", ExclusionReason::Secret),
        ("mcp.json", ExclusionReason::Secret),
        ("state/anthropic.key", ExclusionReason::Secret),
        ("state/token.json", ExclusionReason::Secret),
        ("state/backups", ExclusionReason::Copy),
        ("state/bot.lock", ExclusionReason::Running),
        ("state/config.json.0.tmp", ExclusionReason::Running),
        ("state/update.json", ExclusionReason::Machine),
        ("state/watched", ExclusionReason::Running),
        ("state/journal.db.instead-corrupt-20261117T000000000Z", ExclusionReason::Running),
        ("state/journal.db.untold-corrupt-20261117T000000000Z", ExclusionReason::Machine),
        (".git/hooks", ExclusionReason::Machine),
        (".git/config", ExclusionReason::Machine),
        ("linked", ExclusionReason::Link),
    ] {
        assert!(left.contains(&expected), "{expected:?}: {left:?}");
    }
    let mut plain = Vec::new();
    GzDecoder::new(archive.as_slice()).read_to_end(&mut plain).unwrap();
    for secret in [b"a credential that nobody".as_slice(), b"sk-secret", b"very secret"] {
        assert!(!plain.windows(secret.len()).any(|window| window == secret), "a secret went along");
    }
    assert!(
        !desk
            .root()
            .join("state")
            .read_dir()
            .unwrap()
            .any(|name| { name.unwrap().file_name().to_string_lossy().starts_with("export-") })
    );
}

/// Secrets are included only at the user's request.
#[test]
fn secrets_are_included_on_request() {
    let desk = TestDirectory::new();
    let (archive, manifest) = desk.pack(Secrets::Include);
    assert!(names(&archive).contains(&"data/state/anthropic.key".to_owned()));
    assert!(excluded(&manifest).iter().all(|(_, why)| *why != ExclusionReason::Secret));
    let target = tempfile::tempdir().unwrap();
    let stage = target.path().join("stage");
    unpack_into(&archive, &stage).unwrap();
    let log = rusqlite::Connection::open(stage.join("state/journal.db")).unwrap();
    let devices: i64 = log.query_row("SELECT count(*) FROM devices", [], |row| row.get(0)).unwrap();
    assert_eq!(devices, 1);
}

fn unpack_into(archive: &[u8], stage: &Path) -> Result<Manifest, UnpackError> {
    unpack(archive, (&RealDisk, stage), UnpackLimits::for_free_space(1 << 30), &mut |_| {})
}

/// The target of a linked job directory is included, because the assistant reads it; a cycle of
/// links ends.
#[test]
fn targets_of_links_outside_are_included() {
    let desk = TestDirectory::new();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("tea.md"), "tea").unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), elsewhere.path().join("round")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), desk.root().join("reminders")).unwrap();
    let (archive, manifest) = desk.pack(Secrets::Exclude);
    assert!(names(&archive).contains(&"data/reminders/tea.md".to_owned()));
    assert!(excluded(&manifest).contains(&("reminders/round", ExclusionReason::Link)));
}

/// A program of a skill is still executable after unpacking, and nothing else is.
#[test]
fn executable_files_stay_executable() {
    use std::os::unix::fs::PermissionsExt;
    let desk = TestDirectory::new();
    desk.write("skills/tidy/run.sh", "#!/bin/sh\n");
    let path = desk.root().join("skills/tidy/run.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (archive, _) = desk.pack(Secrets::Exclude);
    let target = tempfile::tempdir().unwrap();
    let stage = target.path().join("stage");
    unpack_into(&archive, &stage).unwrap();
    let mode = |name: &str| stage.join(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("skills/tidy/run.sh"), 0o700);
    assert_eq!(mode("skills/tidy/SKILL.md"), 0o600);
    assert_eq!(mode("state"), 0o700);
}

/// A missing directory, a journal of a later version and a damaged one are reported in one sentence
/// each.
#[test]
fn errors_of_an_export_are_reported() {
    let desk = TestDirectory::new();
    let nowhere = Paths::new(desk.dir.path().join("nowhere"));
    let told = |paths: &Paths| pack_directory(paths, &RealDisk, Secrets::Exclude).unwrap_err();
    assert!(matches!(told(&nowhere), PackError::NoDataDirectory(_)));
    let connection = rusqlite::Connection::open(desk.paths().database()).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let newer = told(&desk.paths());
    assert!(matches!(newer, PackError::Newer(_)), "{newer:?}");
    let newer = newer.to_string();
    assert!(
        newer.contains("has format 99") && newer.ends_with("update ollim-bot; nothing was changed."),
        "{newer}"
    );
    let log = desk.paths().database();
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0x5a);
    std::fs::write(&log, bytes).unwrap();
    let damaged = told(&desk.paths()).to_string();
    assert!(damaged.contains("damaged") && damaged.contains("start ollim-bot once"), "{damaged}");
}

/// Each unreadable file is named in the error, which does not claim that the archive could not be
/// written.
#[test]
fn unreadable_files_are_named() {
    let desk = TestDirectory::new();
    desk.write("notes/mine.md", "mine");
    let named = unreadable_files(&desk.paths(), usize::MAX);
    for name in ["notes", "notes/mine.md", "settings.toml", "state/journal.db", ".git/HEAD", "mcp.json"] {
        assert!(named.contains(name), "{name}: {named:?}");
    }
    // This also applies to a file that is too long to be held in memory.
    let plain = tempfile::tempdir().unwrap();
    std::fs::File::create(plain.path().join("long")).unwrap().set_len(33 * 1024 * 1024).unwrap();
    std::fs::create_dir(plain.path().join("state")).unwrap();
    std::fs::write(plain.path().join("state/journal.db"), "").unwrap();
    assert!(unreadable_files(&Paths::new(plain.path()), 9).contains("long"));
}

/// The files that are reported as unreadable when each of the first `most` disk calls fails in
/// turn.
fn unreadable_files(paths: &Paths, most: usize) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for at in 0..most {
        let disk = FailingDisk::new(Arc::new(RealDisk), at, DiskFault::Broken, FaultDuration::Once);
        let refused = pack_directory(paths, &disk, Secrets::Exclude);
        if disk.calls() <= at {
            break;
        }
        let Err(refused) = refused.map_err(|error| error.to_string()) else { continue };
        let named = refused.strip_prefix('`').and_then(|told| told.split_once("` cannot be read: "));
        let Some((name, _)) = named else { panic!("{at}: {refused}") };
        assert!(refused.ends_with("move it away, and try again."), "{refused}");
        assert!(paths.root().join(name).exists(), "{refused}");
        names.insert(name.to_owned());
    }
    names
}

/// An empty directory is filled; a non-empty one is refused, or exchanged and kept next to it.
#[test]
fn an_existing_directory_is_refused_or_kept() {
    let desk = TestDirectory::new();
    let (archive, _) = desk.pack(Secrets::Exclude);
    let home = tempfile::tempdir().unwrap();
    let paths = Paths::new(home.path().join("deep/er/data"));
    let put = |replace: bool| -> Result<Placement, PlaceError> {
        let stage = StagingDir::prepare(&paths, &RealDisk, replace, 7)?;
        unpack_into(&archive, stage.path()).unwrap();
        stage.put_in_place(&RealDisk, NOW)
    };
    let placed = put(false).unwrap();
    assert_eq!((placed.root.as_path(), placed.replaced), (paths.root(), None));
    std::fs::write(paths.root().join("mine"), "mine").unwrap();
    let refused = put(false).unwrap_err().to_string();
    assert!(refused.contains("is not empty") && refused.contains("--replace"), "{refused}");
    let kept = put(true).unwrap().replaced.unwrap();
    assert!(!paths.root().join("mine").exists());
    assert_eq!(std::fs::read_to_string(kept.join("mine")).unwrap(), "mine");
    assert!(kept.to_string_lossy().ends_with("data.before-import-19700101T000000Z"), "{}", kept.display());

    let OpenedJournal { journal, .. } = open(OpenParams { paths: paths.clone(), ..desk.place() }).unwrap();
    let refused = put(true).unwrap_err();
    assert!(matches!(refused, PlaceError::Running(_)), "{refused}");
    drop(journal);
    std::fs::write(home.path().join("file"), "x").unwrap();
    let file = StagingDir::prepare(&Paths::new(home.path().join("file")), &RealDisk, true, 7);
    assert!(file.unwrap_err().to_string().contains("is not a directory"));
}

/// Whichever disk call fails during the exchange, the old directory is complete afterwards, in
/// place or next to it, and the cleanup before the next import does not remove it.
#[test]
fn the_old_directory_survives_any_disk_error() {
    let desk = TestDirectory::new();
    let (archive, _) = desk.pack(Secrets::Exclude);
    for lasting in [FaultDuration::Once, FaultDuration::Forever] {
        for at in 0.. {
            let home = tempfile::tempdir().unwrap();
            let paths = Paths::new(home.path().join("data"));
            std::fs::create_dir(paths.root()).unwrap();
            std::fs::write(paths.root().join("mine"), "mine").unwrap();
            let stage = StagingDir::prepare(&paths, &RealDisk, true, 7).unwrap();
            unpack_into(&archive, stage.path()).unwrap();
            let laid = stage.path().to_owned();
            let disk = FailingDisk::new(Arc::new(RealDisk), at, DiskFault::Full, lasting);
            let placed = stage.put_in_place(&disk, NOW);
            let _ = placed.is_err().then(|| std::fs::remove_dir_all(laid));
            let next = StagingDir::prepare(&paths, &RealDisk, true, 8).unwrap();
            for leftover in next.leftovers(&RealDisk) {
                std::fs::remove_dir_all(leftover).unwrap();
            }
            let found = home.path().read_dir().unwrap().map(|it| it.unwrap().path());
            let mine: Vec<PathBuf> = found.filter(|path| path.join("mine").exists()).collect();
            assert_eq!(mine.len(), 1, "{lasting:?} {at}: {placed:?}");
            if let Ok(Placement { replaced: kept, .. }) = &placed {
                assert_eq!(kept.as_ref(), mine.first(), "{lasting:?} {at}: it is where it is said to be");
            }
            if disk.calls() <= at {
                break;
            }
        }
    }
}
