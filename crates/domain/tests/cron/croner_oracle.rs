//! Compares random cron expressions with the crate croner.

use croner::parser::CronParser;
use domain::rng::Rng;
use domain::schedule::Cron;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// The number of cron expressions, and of times that are compared for each.
const CRON_COUNT: usize = 5_000;
const TIME_COUNT: usize = 50;

/// C3: Both accept and reject the same expressions, and the next fifty times are equal.
#[test]
fn random_crons_match_croner() {
    let mut dice = Rng::new(7);
    let mut read = 0;
    let mut refused = 0;
    let mut compared = 0;
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    for _ in 0..CRON_COUNT {
        let [ours, theirs] = random_cron(&mut dice);
        let from = Timestamp::from_second(1_577_836_800 + (dice.next_u64() % 315_360_000) as i64).unwrap();
        match (Cron::parse(&ours), CronParser::builder().sloppy_ranges(true).build().parse(&theirs)) {
            (Ok(cron), Ok(other)) => {
                read += 1;
                let zone = if handles_clock_changes_alike(&ours) { berlin.clone() } else { TimeZone::UTC };
                compared += assert_same(&cron, &other, from.to_zoned(zone), &ours);
            }
            (Err(_), Err(_)) => refused += 1,
            (Err(never), Ok(other)) => {
                assert!(never.to_string().contains("never comes"), "{ours}: {never}");
                assert!(other.find_next_occurrence(&from.to_zoned(TimeZone::UTC), false).is_err(), "{ours}");
                refused += 1;
            }
            (Ok(_), Err(why)) => panic!("{ours} was read, and croner says {why}"),
        }
    }
    assert!(read > 3_000 && refused > 500 && compared > 150_000, "{read}, {refused}, {compared}");
}

fn assert_same(cron: &Cron, other: &croner::Cron, from: Zoned, text: &str) -> usize {
    let mut after = from;
    for _ in 0..TIME_COUNT {
        let expected = other.find_next_occurrence(&after, false).unwrap();
        let next = cron.next(after.timestamp(), after.time_zone());
        assert_eq!(next, Some(expected.timestamp()), "{text} after {after}");
        after = expected;
    }
    TIME_COUNT
}

/// Returns whether both treat clock changes alike. croner lets lists and ranges follow real time
/// too, and treats a gap as a time if a fixed time is just before it; the scan checks these.
fn handles_clock_changes_alike(text: &str) -> bool {
    text.split(' ').take(2).any(|field| field.contains(['*', '/']))
}

/// Returns a cron expression in both syntaxes: croner accepts no weekday range over the end of the
/// week.
fn random_cron(dice: &mut Rng) -> [String; 2] {
    let months = ["jan", "feb", "MAR", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "Dec"];
    let weekdays = ["sun", "mon", "TUE", "wed", "thu", "fri", "Sat"];
    let limits = [(0, 59, &[][..]), (0, 23, &[]), (1, 31, &[]), (1, 12, &months), (0, 7, &weekdays)];
    let fields = limits.map(|(least, most, names)| field(dice, (least, most), names));
    [0, 1].map(|side| fields.iter().map(|field| field[side].as_str()).collect::<Vec<_>>().join(" "))
}

fn field(dice: &mut Rng, limits: (u64, u64), names: &[&str]) -> [String; 2] {
    if dice.next_u64().is_multiple_of(3) {
        return ["*".to_owned(), "*".to_owned()];
    }
    let parts: Vec<_> = (0..=dice.next_u64() % 5 / 3).map(|_| part(dice, limits, names)).collect();
    [0, 1].map(|side| parts.iter().map(|part| part[side].as_str()).collect::<Vec<_>>().join(","))
}

fn part(dice: &mut Rng, (least, most): (u64, u64), names: &[&str]) -> [String; 2] {
    let mut value = || least + dice.next_u64() % (most - least + 1);
    let one = value();
    let two = value();
    let step = 1 + dice.next_u64() % 9;
    let name = |value: u64| match names.get((value - least) as usize) {
        Some(name) if value.is_multiple_of(2) => (*name).to_owned(),
        Some(_) | None => value.to_string(),
    };
    let both = |text: String| [text.clone(), text];
    let named = |text: fn(&str, &str, u64) -> String| {
        [text(&name(one), &name(two), step), text(&one.to_string(), &two.to_string(), step)]
    };
    match dice.next_u64() % 20 {
        0 => both(["x", "-", "1-", "1.5", "**", "1-2-3"][one as usize % 6].to_owned()),
        1 if one.is_multiple_of(4) => both((most + 1 + two).to_string()),
        2 if one.is_multiple_of(4) => both("*/0".to_owned()),
        1..=8 => named(|one, _, _| one.to_owned()),
        9..=11 => both(format!("*/{step}")),
        12..=13 => named(|one, _, step| format!("{one}/{step}")),
        14..=16 if one > two && most == 7 => {
            let round = (one..=two + 7).step_by(step as usize).map(|day| (day % 7).to_string());
            [format!("{}-{}/{step}", name(one), name(two)), round.collect::<Vec<_>>().join(",")]
        }
        14 => named(|one, two, step| format!("{one}-{two}/{step}")),
        15..=16 => both(format!("{}-{}/{step}", one.min(two), one.max(two))),
        _ => both(format!("{}-{}", one.min(two), one.max(two))),
    }
}
