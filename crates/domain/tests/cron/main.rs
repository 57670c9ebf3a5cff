//! Tests of cron times, also against a scan of the calendar and the crate croner.
#![expect(clippy::unwrap_used, reason = "a missing value stops the test")]

mod croner_oracle;
mod scan_oracle;

use domain::schedule::{Cron, Moment, Recurrence, RecurrenceRule, Zone};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

fn at(text: &str) -> Zoned {
    text.parse().unwrap()
}

/// Returns the times of `cron` after `from` until `to`, in the zone of `from`.
fn times(cron: &str, from: &str, to: &str) -> Vec<String> {
    let cron = Cron::parse(cron).unwrap();
    let from = at(from);
    let to = at(to);
    let next = |after: &Timestamp| cron.next(*after, from.time_zone()).filter(|fire| *fire <= to.timestamp());
    let fires = std::iter::successors(next(&from.timestamp()), next);
    fires.map(|fire| fire.to_zoned(from.time_zone().clone()).strftime("%d %H:%M%:z").to_string()).collect()
}

/// SC-11, C1: A skipped time runs once right after the gap, a repeated one once, and `*` follows
/// real time.
#[test]
fn clock_change_neither_loses_nor_repeats_a_time() {
    let spring = |cron| times(cron, "2026-03-29T00:00[Europe/Berlin]", "2026-03-30T00:00[Europe/Berlin]");
    assert_eq!(spring("30 2 * * *"), ["29 03:00+02:00"]);
    assert_eq!(spring("0,30 2,3 * * *"), ["29 03:00+02:00", "29 03:30+02:00"]);
    assert_eq!(
        spring("30 1-4 * * *"),
        ["29 01:30+01:00", "29 03:00+02:00", "29 03:30+02:00", "29 04:30+02:00"]
    );
    assert_eq!(spring("30 2-4/1 * * *"), ["29 03:30+02:00", "29 04:30+02:00"]);
    assert_eq!(spring("*/30 2 * * *"), [""; 0]);

    let autumn = |cron| times(cron, "2026-10-25T00:00[Europe/Berlin]", "2026-10-26T00:00[Europe/Berlin]");
    assert_eq!(autumn("30 2 * * *"), ["25 02:30+02:00"]);
    assert_eq!(
        autumn("0,30 2,3 * * *"),
        ["25 02:00+02:00", "25 02:30+02:00", "25 03:00+01:00", "25 03:30+01:00"]
    );
    assert_eq!(
        autumn("*/30 2 * * *"),
        ["25 02:00+02:00", "25 02:30+02:00", "25 02:00+01:00", "25 02:30+01:00"]
    );

    let second = "2026-10-25T02:10+01:00[Europe/Berlin]";
    assert_eq!(times("30 2 * * *", second, "2026-10-26T03:00[Europe/Berlin]"), ["26 02:30+01:00"]);
}

/// SC-11: Times of a skipped day run at the start of the next one.
#[test]
fn skipped_day_runs_at_the_start_of_the_next() {
    let skipped = |cron| times(cron, "2011-12-29T12:00[Pacific/Apia]", "2011-12-31T23:59[Pacific/Apia]");
    assert_eq!(skipped("0 9 * * *"), ["31 00:00+14:00", "31 09:00+14:00"]);
    assert_eq!(skipped("0 9 30 12 *"), ["31 00:00+14:00"]);
    assert_eq!(skipped("0 9 * * fri"), ["31 00:00+14:00"]);
    assert_eq!(skipped("0 */12 * * *"), ["31 00:00+14:00", "31 12:00+14:00"]);
}

/// SC-9: Weekdays by number, by name, with steps, and over the end of the week.
#[test]
fn weekdays_are_counted_from_sunday_and_go_round() {
    let days = |weekdays: &str| {
        let from = "2026-11-14T23:59[UTC]";
        let cron = format!("0 12 * * {weekdays}");
        let fires = times(&cron, from, "2026-11-21T23:59[UTC]");
        fires.iter().map(|fire| fire[..2].parse::<u32>().unwrap() - 15).collect::<Vec<_>>()
    };
    for (weekdays, expected) in [
        ("1-5", &[1, 2, 3, 4, 5][..]),
        ("0", &[0]),
        ("7", &[0]),
        ("1,3,5", &[1, 3, 5]),
        ("1-5/2", &[1, 3, 5]),
        ("*/2", &[0, 2, 4, 6]),
        ("0-4", &[0, 1, 2, 3, 4]),
        ("0-6", &[0, 1, 2, 3, 4, 5, 6]),
        ("5-7", &[0, 5, 6]),
        ("fri-mon", &[0, 1, 5, 6]),
        ("SAT-sun", &[0, 6]),
        ("6-2/2", &[1, 6]),
    ] {
        assert_eq!(days(weekdays), expected, "{weekdays}");
    }
}

/// SC-10: If both the day of the month and the weekday are given, either is enough, as in POSIX.
#[test]
fn day_of_month_or_weekday_is_enough() {
    assert_eq!(
        times("0 9 13 * 5", "2026-11-01T00:00[Europe/Berlin]", "2026-12-01T00:00[Europe/Berlin]"),
        ["06 09:00+01:00", "13 09:00+01:00", "20 09:00+01:00", "27 09:00+01:00"]
    );
    assert_eq!(
        times("0 9 10 * 5", "2026-11-05T00:00[Europe/Berlin]", "2026-11-14T00:00[Europe/Berlin]"),
        ["06 09:00+01:00", "10 09:00+01:00", "13 09:00+01:00"]
    );
    // A field that is open to all days leaves the choice to the other.
    assert_eq!(
        times("0 9 * * 5", "2026-11-05T00:00[Europe/Berlin]", "2026-11-14T00:00[Europe/Berlin]"),
        ["06 09:00+01:00", "13 09:00+01:00"]
    );
}

/// C2: A delay is in real minutes, across and within clock changes.
#[test]
fn a_delay_is_elapsed_time_in_every_zone() {
    for name in scan_oracle::ZONES.map(|(name, _)| name) {
        let zone = zone(name);
        for change in zone.following("2009-01-01T00:00Z".parse().unwrap()).take(12) {
            for (early, minutes) in
                [(1, 1), (1, 2), (30, 60), (90, 45), (600, 1_440), (0, 7), (3_000, 50_000)]
            {
                let now = (change.timestamp() - SignedDuration::from_mins(early)).to_zoned(zone.clone());
                let due = Moment::minutes_after(&now, minutes).unwrap().at;
                assert_eq!(
                    due.duration_since(now.timestamp()),
                    SignedDuration::from_mins(i64::from(minutes))
                );
            }
        }
    }
}

#[test]
fn last_time_of_an_inclusive_range_is_found() {
    let berlin = zone("Europe/Berlin");
    let last = |cron: &str, from: &str, to: &str| {
        let stamp = |text: &str| at(&format!("2026-11-{text}[Europe/Berlin]")).timestamp();
        let newest = Cron::parse(cron).unwrap().last(stamp(to), stamp(from), &berlin);
        newest.map(|fire| fire.to_zoned(berlin.clone()).strftime("%d %H:%M").to_string()).unwrap_or_default()
    };
    assert_eq!(last("0 9 * * *", "15T08:00", "15T09:00"), "15 09:00");
    assert_eq!(last("0 9 * * *", "15T09:00", "15T09:00"), "15 09:00");
    assert_eq!(last("0 9 * * *", "15T09:01", "16T08:59"), "");
    assert_eq!(last("0 9 * * *", "01T00:00", "20T08:59:59"), "19 09:00");
    assert_eq!(last("* * * * *", "01T00:00", "20T08:59:59"), "20 08:59");
    assert_eq!(last("* 9 3 * *", "01T00:00", "20T08:59:59"), "03 09:59");
}

#[test]
fn period_is_the_distance_to_the_next_time() {
    let berlin = zone("Europe/Berlin");
    let period = |cron: &str, from: &str| {
        let from = at(&format!("{from}[Europe/Berlin]")).timestamp();
        Cron::parse(cron).unwrap().period(from, &berlin).unwrap().as_mins()
    };
    assert_eq!(period("*/30 * * * *", "2026-11-15T08:30"), 30);
    assert_eq!(period("0 9 * * 1-5", "2026-11-13T09:00"), 3 * 1_440);
    assert_eq!(period("0 9 * * 1-5", "2026-11-13T09:01"), 1_440);
    assert_eq!(period("30 2 * * *", "2026-03-28T02:30"), 23 * 60 + 30);
}

/// SC-11: An interval of days is counted on the calendar from its first day.
#[test]
fn interval_of_days_keeps_its_time_of_day() {
    let zone = Some(Zone::named("Europe/Berlin").unwrap());
    let beat = RecurrenceRule::Days { every: 3, from: "2026-03-23T02:30".parse().unwrap() };
    let rhythm = Recurrence { rule: beat, until: "2026-04-01".parse().ok(), zone };
    let tokyo = self::zone("Asia/Tokyo");
    let next = |after: &Timestamp| rhythm.next(*after, &tokyo);
    let fires: Vec<Timestamp> =
        std::iter::successors(next(&at("2020-01-01T00:00[UTC]").timestamp()), next).collect();
    let told: Vec<String> = fires.iter().map(ToString::to_string).collect();
    let expected = ["03-23T01:30", "03-26T01:30", "03-29T01:00", "04-01T00:30"];
    assert_eq!(told, expected.map(|day| format!("2026-{day}:00Z")));

    let end = at("2027-01-01T00:00[UTC]").timestamp();
    assert_eq!(rhythm.last(end, fires[0], &tokyo), fires.last().copied());
    assert_eq!(rhythm.last(fires[2], fires[1], &tokyo), Some(fires[2]));
    assert_eq!(rhythm.last(fires[1] - SignedDuration::from_secs(1), fires[0], &tokyo), Some(fires[0]));
    assert_eq!(rhythm.period(fires[0], &tokyo), Some(SignedDuration::from_hours(72)));
    assert_eq!(rhythm.period(end, &tokyo), Some(SignedDuration::from_hours(72)));
}

#[test]
fn zone_is_found_by_name() {
    assert_eq!(Zone::named(" europe/berlin ").unwrap(), Zone::named("Europe/Berlin").unwrap());
    let wrong = Zone::named("Europe/Atlantis").unwrap_err().to_string();
    assert!(wrong.contains("Atlantis") && wrong.contains("Europe/Berlin"), "{wrong}");
}
