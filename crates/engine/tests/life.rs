//! A week of life: random jobs, a model that does anything, crashes, a failing disk and a clock that is set, by seed.

use testkit::life::Life;

/// Weeks in which the clocks are changed, and one in which they are not.
const WEEKS: [&str; 3] = [
    "2026-03-26T00:00[Europe/Berlin]",
    "2026-10-22T00:00[Europe/Berlin]",
    "2026-06-01T00:00[America/New_York]",
];

fn week(seed: u64) -> Life {
    let week = WEEKS[usize::try_from(seed % 3).unwrap()];
    let mut life = Life::new(week, seed);
    life.live(7);
    life
}

fn check(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let wrong = week(seed).wrong();
        assert_eq!(wrong, [""; 0], "seed {seed}");
    }
}

/// C7: for 20 lives, every time has one end, no job is done twice at once, and what was charged was shown.
#[test]
fn a_week_of_life_breaks_no_promise() {
    check(0..20);
}

/// C7: the same, for more lives.
#[test]
#[ignore = "long run"]
fn many_weeks_of_life_break_no_promise() {
    check(20..520);
}

/// C7: the same seed is the same life, row by row.
#[test]
fn the_same_seed_is_the_same_life() {
    let (one, other) = (week(4), week(4));
    let (one, other) = (one.rows(), other.rows());
    let differs = one.lines().zip(other.lines()).find(|(one, other)| one != other);
    assert_eq!(differs, None, "seed 4");
    assert_eq!(one.lines().count(), other.lines().count(), "seed 4");
    assert!(one.lines().count() > 1_000, "seed 4 has hardly lived");
}
