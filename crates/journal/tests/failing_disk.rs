//! After a disk error the old or the new state exists, and a retry succeeds.
#![expect(clippy::unwrap_used, reason = "a working disk does not fail")]

mod scenarios;

use std::sync::Arc;

use scenarios::{NewerJournal, Scenario, Shared};
use testkit::disk::{DiskFault, FailingDisk, FaultDuration, MemoryDisk};

fn visible_state(scenario: &Scenario, disk: &MemoryDisk) -> Result<String, String> {
    (scenario.visible_state)(&(Arc::new(disk.snapshot()) as Shared))
}

/// The visible state after each step on a working disk, and the number of disk calls.
fn run_healthy(scenario: &Scenario) -> (Vec<Result<String, String>>, usize) {
    let memory = Arc::new(MemoryDisk::default());
    let counting =
        Arc::new(FailingDisk::new(memory.clone(), usize::MAX, DiskFault::Broken, FaultDuration::Once));
    let disk: Shared = counting.clone();
    let mut known = vec![visible_state(scenario, &memory)];
    for step in &scenario.steps {
        step(&disk).unwrap();
        known.push(visible_state(scenario, &memory));
    }
    (known, counting.calls())
}

/// Fails call `at`, and checks that the affected step left the old or the new state and succeeds
/// when repeated.
fn fail_at(scenario: &Scenario, known: &[Result<String, String>], at: usize, fault: DiskFault) {
    let memory = Arc::new(MemoryDisk::default());
    let disk: Shared = Arc::new(FailingDisk::new(memory.clone(), at, fault, FaultDuration::Once));
    for (n, step) in scenario.steps.iter().enumerate() {
        let Err(trouble) = step(&disk) else { continue };
        let found = visible_state(scenario, &memory);
        assert!(known[n..=n + 1].contains(&found), "{} {at} {fault:?}: {found:?}", scenario.name);
        assert!(trouble.to_string().contains("/data"), "{trouble}");
        step(&disk).unwrap();
        assert_eq!(visible_state(scenario, &memory), known[n + 1], "{} {at} {fault:?}", scenario.name);
    }
    assert_eq!(
        visible_state(scenario, &memory),
        known[scenario.steps.len()],
        "{} {at} {fault:?}",
        scenario.name
    );
}

/// B1, DD-6: whichever call fails in whichever way, the old or the new state exists, and a retry
/// succeeds.
#[test]
fn after_a_single_disk_error_nothing_is_lost_and_a_retry_succeeds() {
    for scenario in scenarios::all() {
        let (known, calls) = run_healthy(&scenario);
        for at in 0..calls {
            for fault in DiskFault::ALL {
                fail_at(&scenario, &known, at, fault);
            }
        }
    }
}

/// DD-6: on a disk that stays full the last state stays readable, and no half-written file has a
/// final name.
#[test]
fn on_a_full_disk_the_last_state_stays_readable() {
    for scenario in scenarios::all() {
        let (known, calls) = run_healthy(&scenario);
        for at in 0..calls {
            let memory = Arc::new(MemoryDisk::default());
            let disk: Shared =
                Arc::new(FailingDisk::new(memory.clone(), at, DiskFault::Full, FaultDuration::Forever));
            let done = scenario.steps.iter().take_while(|step| step(&disk).is_ok()).count();
            let found = visible_state(&scenario, &memory);
            let right = &known[done..=(done + 1).min(known.len() - 1)];
            assert!(right.contains(&found), "{} {at}: {found:?}, not {right:?}", scenario.name);
        }
    }
}

/// B1, L2: whichever call fails while an older journal is restored, the next start finds the newer
/// one in its place or completes the restoration.
#[test]
fn a_disk_error_while_an_older_journal_is_restored_loses_no_journal() {
    let fail_at = |at: usize, fault: DiskFault| {
        let memory = Arc::new(MemoryDisk::default());
        let newer = NewerJournal::create(&*memory);
        let disk = FailingDisk::new(memory.clone(), at, fault, FaultDuration::Once);
        let done = newer.restore_older(&disk).is_ok();
        assert!(newer.is_older_restored(&*memory) || !done, "{at} {fault:?}");
        newer.is_older_restored(&*memory)
            || newer.restore_older(&*memory).is_ok_and(|()| newer.is_older_restored(&*memory))
    };
    for at in 0..24 {
        for fault in DiskFault::ALL {
            assert!(fail_at(at, fault), "{at} {fault:?}: trying again works");
        }
    }
}
