//! After a power cut at any moment everything acknowledged is on the disk.
#![expect(clippy::unwrap_used, reason = "a working disk does not fail")]

mod scenarios;

use std::path::Path;
use std::sync::Arc;

use journal::disk::{self, Disk};
use scenarios::{NewerJournal, Scenario, Shared};
use testkit::disk::{DiskFault, FailingDisk, FaultDuration, MemoryDisk, RecordingDisk};

/// Runs `steps` steps of a scenario, each a second time if it fails, on a disk that fails at call
/// `at`. Cuts the power at every moment and returns the number of examined states.
fn cut_everywhere(scenario: &Scenario, steps: usize, at: usize) -> Result<usize, String> {
    let crash = Arc::new(RecordingDisk::default());
    let disk: Shared = Arc::new(FailingDisk::new(crash.clone(), at, DiskFault::Broken, FaultDuration::Once));
    let look = |disk: MemoryDisk| (scenario.visible_state)(&(Arc::new(disk) as Shared));
    let mut known = vec![look(crash.snapshot())];
    for step in scenario.steps.iter().take(steps) {
        step(&disk).or_else(|_| step(&disk)).map_err(|trouble| trouble.to_string())?;
        crash.acknowledge();
        known.push(look(crash.snapshot()));
    }
    let mut states = 0;
    let mut wrong = None;
    crash.for_each_power_cut(|cut| {
        states += 1;
        let old = &known[cut.acknowledged];
        let new = known.get(cut.acknowledged + 1).unwrap_or(old);
        let found = look(cut.disk.snapshot());
        if found.is_err() || (found != *old && found != *new) {
            let Scenario { name, .. } = scenario;
            let disk = &cut.disk;
            wrong.get_or_insert_with(|| {
                format!("{name} {at}: {found:?}, not {old:?} or {new:?}, in {disk:?}")
            });
        }
    });
    wrong.map_or(Ok(states), Err)
}

/// B1, DD-5, DD-6: with all protocols no state is corrupt and nothing acknowledged is lost.
#[test]
fn a_power_cut_leaves_the_old_or_the_new_state_and_loses_nothing_acknowledged() {
    let states: usize = scenarios::all()
        .iter()
        .map(|scenario| cut_everywhere(scenario, usize::MAX, usize::MAX).unwrap())
        .sum();
    assert!(states >= 10_000, "only {states} states were looked at");
}

/// B1: also if the disk failed and the retry was acknowledged.
#[test]
fn a_power_cut_after_a_failed_and_repeated_write_loses_nothing() {
    for scenario in scenarios::all() {
        for at in 0..24 {
            cut_everywhere(&scenario, 2, at).unwrap();
        }
    }
}

/// B1, L2: whenever the power is cut while an older journal is restored, the newer one is in place
/// or complete under another name.
#[test]
fn a_power_cut_while_an_older_journal_is_restored_loses_no_journal() {
    let crash = RecordingDisk::default();
    let newer = NewerJournal::create(&crash);
    crash.acknowledge();
    newer.restore_older(&crash).unwrap();
    crash.acknowledge();
    let mut seen = [0, 0];
    crash.for_each_power_cut(|cut| {
        if cut.acknowledged > 0 {
            let back = newer.is_older_restored(&cut.disk);
            assert!(back || cut.acknowledged == 1);
            seen[usize::from(back)] += 1;
        }
    });
    assert!(seen[0] > 10 && seen[1] > 5, "{seen:?}");
}

/// Applies `protocol` to the file `/data/x` and counts corrupt and lost states.
fn count_failures(protocol: fn(&RecordingDisk, &Path, &[u8])) -> (usize, usize) {
    let crash = RecordingDisk::default();
    let path = Path::new("/data/x");
    let old = b"the old content".as_slice();
    let new = b"the new content".as_slice();
    disk::replace(&crash, path, old).unwrap();
    crash.acknowledge();
    protocol(&crash, path, new);
    crash.acknowledge();
    let mut corrupt = 0;
    let mut lost = 0;
    crash.for_each_power_cut(|cut| match (cut.acknowledged, cut.disk.read(path)) {
        (2, Ok(found)) if found == old => lost += 1,
        (1, Err(_)) | (2, Err(_)) => lost += 1,
        (1 | 2, Ok(found)) if found != old && found != new => corrupt += 1,
        _ => {}
    });
    (corrupt, lost)
}

/// B1: the enumeration detects protocols with a missing step.
#[test]
fn a_protocol_with_a_missing_step_is_detected() {
    let (corrupt, lost) = count_failures(|disk, path, bytes| disk::replace(disk, path, bytes).unwrap());
    assert_eq!((corrupt, lost), (0, 0), "the real protocol");

    let together = count_failures(|disk, path, bytes| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        disk::replace_all(disk, path.parent().unwrap(), &[(name, str::from_utf8(bytes).unwrap())]).unwrap();
    });
    assert_eq!(together, (0, 0), "the real protocol for many");

    let (corrupt, _) = count_failures(|disk, path, bytes| {
        disk.create_unsynced(Path::new("/data/x.0.tmp"), bytes).unwrap();
        disk.rename(Path::new("/data/x.0.tmp"), path).unwrap();
        disk.sync_dir(Path::new("/data")).unwrap();
    });
    assert!(corrupt > 0, "the file was not brought to the disk");

    let (corrupt, lost) = count_failures(|disk, path, bytes| {
        disk.create(Path::new("/data/x.0.tmp"), bytes).unwrap();
        disk.rename(Path::new("/data/x.0.tmp"), path).unwrap();
    });
    assert!(corrupt == 0 && lost > 0, "the directory was not brought to the disk");

    let (_, lost) = count_failures(|disk, path, bytes| {
        disk.remove(path).unwrap();
        disk.create(path, bytes).unwrap();
        disk.sync_dir(Path::new("/data")).unwrap();
    });
    assert!(lost > 0, "the old was removed before the new was there");
}
