//! After a disk error the old or the new state exists, and a retry succeeds.
#![expect(clippy::unwrap_used, reason = "a working disk does not fail")]

mod scenarios;

use std::sync::Arc;

use scenarios::{Newer, Scenario, Shared};
use testkit::disk::{FailingDisk, Fault, Lasting, MemoryDisk};

fn look(scenario: &Scenario, disk: &MemoryDisk) -> Result<String, String> {
    (scenario.look)(&(Arc::new(disk.copied()) as Shared))
}

/// The visible state after each step on a working disk, and the number of disk calls.
fn healthy(scenario: &Scenario) -> (Vec<Result<String, String>>, usize) {
    let memory = Arc::new(MemoryDisk::default());
    let counting = Arc::new(FailingDisk::new(memory.clone(), usize::MAX, Fault::Broken, Lasting::Once));
    let disk: Shared = counting.clone();
    let mut known = vec![look(scenario, &memory)];
    for step in &scenario.steps {
        step(&disk).unwrap();
        known.push(look(scenario, &memory));
    }
    (known, counting.calls())
}

/// Fails call `at`, and checks that the affected step left the old or the new state and succeeds
/// when repeated.
fn fail_at(scenario: &Scenario, known: &[Result<String, String>], at: usize, fault: Fault) {
    let memory = Arc::new(MemoryDisk::default());
    let disk: Shared = Arc::new(FailingDisk::new(memory.clone(), at, fault, Lasting::Once));
    for (n, step) in scenario.steps.iter().enumerate() {
        let Err(trouble) = step(&disk) else { continue };
        let found = look(scenario, &memory);
        assert!(known[n..=n + 1].contains(&found), "{} {at} {fault:?}: {found:?}", scenario.name);
        assert!(trouble.to_string().contains("/data"), "{trouble}");
        step(&disk).unwrap();
        assert_eq!(look(scenario, &memory), known[n + 1], "{} {at} {fault:?}", scenario.name);
    }
    assert_eq!(look(scenario, &memory), known[scenario.steps.len()], "{} {at} {fault:?}", scenario.name);
}

/// B1, DD-6: whichever call fails in whichever way, the old or the new state exists, and a retry
/// succeeds.
#[test]
fn when_the_disk_fails_once_nothing_is_lost_and_trying_again_works() {
    for scenario in scenarios::all() {
        let (known, calls) = healthy(&scenario);
        for at in 0..calls {
            for fault in Fault::ALL {
                fail_at(&scenario, &known, at, fault);
            }
        }
    }
}

/// DD-6: on a disk that stays full the last state stays readable, and no half-written file has a
/// final name.
#[test]
fn when_the_disk_stays_full_what_was_there_stays_readable() {
    for scenario in scenarios::all() {
        let (known, calls) = healthy(&scenario);
        for at in 0..calls {
            let memory = Arc::new(MemoryDisk::default());
            let disk: Shared = Arc::new(FailingDisk::new(memory.clone(), at, Fault::Full, Lasting::Forever));
            let done = scenario.steps.iter().take_while(|step| step(&disk).is_ok()).count();
            let found = look(&scenario, &memory);
            let right = &known[done..=(done + 1).min(known.len() - 1)];
            assert!(right.contains(&found), "{} {at}: {found:?}, not {right:?}", scenario.name);
        }
    }
}

/// B1, L2: whichever call fails while an older journal is restored, the next start finds the newer
/// one in its place or completes the restoration.
#[test]
fn when_the_disk_fails_while_it_goes_back_neither_journal_is_lost() {
    let fail_at = |at: usize, fault: Fault| {
        let memory = Arc::new(MemoryDisk::default());
        let newer = Newer::on(&*memory);
        let disk = FailingDisk::new(memory.clone(), at, fault, Lasting::Once);
        let done = newer.go_back(&disk).is_ok();
        assert!(newer.is_back(&*memory) || !done, "{at} {fault:?}");
        newer.is_back(&*memory) || newer.go_back(&*memory).is_ok_and(|()| newer.is_back(&*memory))
    };
    for at in 0..24 {
        for fault in Fault::ALL {
            assert!(fail_at(at, fault), "{at} {fault:?}: trying again works");
        }
    }
}
