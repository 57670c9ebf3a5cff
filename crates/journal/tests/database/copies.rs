//! Copies of the log: how often, how many, and which one goes on when the log is damaged.

use std::os::unix::fs::PermissionsExt as _;

use jiff::SignedDuration;

use crate::{Desk, at, damage, day};

/// B12: seven copies are kept, and all but the newest are packed.
#[test]
fn a_copy_is_made_once_a_day_and_seven_are_kept() {
    let desk = Desk::new();
    desk.say(&["one"]);
    let day = |number: i64| day(number) + SignedDuration::from_secs(60);

    let made: Vec<bool> = (0..10).map(|n| desk.back_up(day(n)).is_some()).collect();
    assert_eq!(made, [true; 10]);
    assert_eq!(desk.back_up(day(9)), None, "one is from today");
    let kept: Vec<_> = std::fs::read_dir(desk.paths().backups()).unwrap().map(Result::unwrap).collect();
    assert_eq!(kept.len(), 7);
    let modes = kept.iter().map(|copy| copy.metadata().unwrap().permissions().mode() & 0o777);
    assert!(modes.into_iter().all(|mode| mode == 0o600), "a copy is for its owner alone");
    let mut names: Vec<String> =
        kept.iter().map(|copy| copy.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let packed = names.iter().filter(|name| name.ends_with(".db.gz")).count();
    assert_eq!((packed, names.last().map(|name| name.ends_with(".db"))), (6, Some(true)), "{names:?}");
}

/// B5, B12: copies go on being made after the clock was ahead once. The one from the future is the newest until the
/// next one is made, and then an older one among seven.
#[test]
fn a_clock_that_was_ahead_stops_no_backups() {
    let desk = Desk::new();
    desk.say(&["one"]);
    desk.back_up(day(0)).unwrap();
    desk.say(&["two"]);
    desk.back_up(day(4_000)).unwrap();
    let heard_again = || {
        damage(&desk.paths().database(), |bytes| bytes[..8192].fill(7));
        desk.heard(&desk.open(day(1))).unwrap()
    };
    assert_eq!(heard_again(), ["one", "two"], "nothing newer was kept");

    desk.say(&["three"]);
    assert!(desk.back_up(day(1)).is_some(), "the last one was made a day ago");
    assert_eq!(heard_again(), ["one", "two", "three"]);
    let copies = || {
        let copies = std::fs::read_dir(desk.paths().backups()).unwrap();
        let mut names: Vec<_> = copies.map(|copy| copy.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let names =
        ["journal-20270115T080000Z.db.gz", "journal-20270116T075959Z.db.gz", "journal-20270116T080000Z.db"];
    assert_eq!(copies(), names);
    for number in 2..9 {
        assert!(desk.back_up(day(number)).is_some(), "day {number}");
    }
    assert_eq!((copies().len(), copies()[0].as_str()), (7, "journal-20270117T080000Z.db.gz"));
}

/// B5, B12: a packed copy goes on where it was; what a crash left half packed is no copy, and goes.
#[test]
fn a_packed_copy_goes_on_when_the_newer_one_is_damaged_too() {
    let desk = Desk::new();
    desk.say(&["one", "two"]);
    let first = desk.back_up(at(10)).unwrap();
    let half = first.with_extension("db.tmp");
    std::fs::write(&half, "half").unwrap();
    desk.say(&["three"]);
    let newest = desk.back_up(at(86_500)).unwrap();
    assert!(!half.exists() && !first.exists() && first.with_extension("db.gz").exists());
    damage(&newest, |bytes| bytes.fill(7));
    damage(&desk.paths().database(), |bytes| bytes[..8192].fill(7));
    let opened = desk.open(at(86_600));
    assert_eq!(desk.heard(&opened).unwrap(), ["one", "two"]);
    assert!(opened.notices[0].contains(".db.gz"), "{:?}", opened.notices);
}
