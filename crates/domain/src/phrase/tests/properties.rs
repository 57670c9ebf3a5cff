//! Property tests of parsing and formatting.

use proptest::prelude::*;

use super::*;

/// A phrase built from common parts.
fn phrase() -> impl Strategy<Value = String> {
    let pick = |list: &'static [&'static str]| proptest::sample::select(list).prop_map(str::to_owned);
    let day = pick(&[
        "",
        "today",
        "tomorrow",
        "tonight",
        "friday",
        "next monday",
        "on the 31st",
        "in 2 weeks",
        "24.12.",
        "12/11",
        "2026-11-15",
        "feb 30",
        "yesterday",
        "end of month",
        "every day",
        "every 2nd tuesday",
        "mon wed fri",
        "weekend",
        "every 30 min",
        "until friday",
        "from monday",
        "in 0 days",
        "last friday",
        "in december",
        "29 feb",
        "first monday of next month",
    ]);
    let hour = pick(&[
        "",
        "at 9",
        "9:30",
        "at 25:00",
        "5pm",
        "13pm",
        "noon",
        "midnight",
        "in the evening",
        "quarter to 12",
        "10-16",
        "in 20",
        "17h",
        "9:00 tokyo time",
        "leave 25 min before",
        "@home",
        "2:30",
        "at 0",
        "14:33",
        "at 2 and 3",
    ]);
    let words =
        pick(&["x", "\"a word at 5\"", "call mum", "remind me to", ",", "'tomorrow'", "ß–…", "(", "and"]);
    (words.clone(), day.clone(), words.clone(), hour, day, words)
        .prop_map(|(one, day, two, hour, more, three)| format!("{one} {day} {two} {hour} {more} {three}"))
}

/// A time, with clock changes over-represented.
fn any_time() -> impl Strategy<Value = Zoned> {
    let change = proptest::sample::select(
        &["2026-10-25T01:00Z", "2027-03-28T01:00Z", "2026-11-01T06:00Z", "2027-04-03T15:00Z"][..],
    )
    .prop_map(|change| change.parse::<jiff::Timestamp>().unwrap().as_second());
    let second = prop_oneof![
        1_790_000_000_i64..1_850_000_000,
        (change, -8_000_i64..8_000).prop_map(|(change, beside)| change + beside),
    ];
    let zones = proptest::sample::select(
        &["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo"][..],
    );
    (second, zones)
        .prop_map(|(second, zone)| jiff::Timestamp::from_second(second).unwrap().in_tz(zone).unwrap())
}

fn instants(when: &Timing) -> Vec<&Zoned> {
    match when {
        Timing::Once(at) => vec![at],
        Timing::Lead { leave, at } => vec![leave, at],
        Timing::Recurring(_) | Timing::Cue(_) => Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Parsing the exact format returns the same second.
    #[test]
    fn the_exact_format_round_trips(now in any_time(), ahead in 1_i64..63_000_000) {
        let at = now.checked_add(jiff::SignedDuration::from_secs(ahead)).unwrap();
        let told = format_exact(&at);
        let reading = parse(&format!("x {told}"), &now, &Habits::default());
        let Some(Timing::Once(read)) = &reading.when else { panic!("{told}: {reading:?}") };
        prop_assert_eq!(read.timestamp(), at.timestamp(), "{}", told);
        prop_assert_eq!(reading.text, "x");
    }

    /// Parsing the clock part of the user's format returns the same minute.
    #[test]
    fn the_user_format_round_trips(now in any_time(), ahead in 2_i64..300 * 24 * 60) {
        let at = now.checked_add(jiff::SignedDuration::from_mins(ahead)).unwrap().round(jiff::Unit::Minute).unwrap();
        let told = describe(&Timing::Once(at.clone()), &now, &[]);
        let (clock, distance) = told.split_once(" · ").unwrap();
        prop_assert!(distance.starts_with("in "), "{}", told);
        let reading = parse(clock, &now, &Habits::default());
        let Some(Timing::Once(read)) = &reading.when else { panic!("{told}: {reading:?}") };
        // A doubled hour is formatted like its first occurrence.
        let twice = at.time_zone().to_ambiguous_zoned(at.datetime()).is_ambiguous();
        prop_assert!(twice || read.timestamp() == at.timestamp(), "{} -> {}", told, read);
    }

    /// A timing is never in the past, and quoted text is always kept.
    #[test]
    fn timings_are_never_in_the_past(text in phrase(), now in any_time()) {
        let reading = parse(&text, &now, &Habits::default());
        for when in reading.when.iter().chain(&reading.alternative) {
            for at in instants(when) {
                prop_assert!(*at > now, "{} -> {:?}", text, reading);
            }
            if let Timing::Recurring(RecurrenceSpec { rule: RuleSpec::Cron(fields), .. }) = when {
                prop_assert!(crate::schedule::Cron::parse(fields).is_ok(), "{} -> {}", text, fields);
            }
            prop_assert!(!describe(when, &now, &[]).is_empty());
        }
        for quoted in ["\"a word at 5\"", "'tomorrow'"] {
            prop_assert_eq!(text.matches(quoted).count(), reading.text.matches(quoted).count(), "{} -> {:?}", text, reading);
        }
        if reading.when.is_none() {
            prop_assert!(reading.notes.iter().all(ParseNote::is_error));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// Parsing arbitrary text does not panic.
    #[test]
    fn arbitrary_text_is_parsed_without_panic(text in "\\PC{0,60}") {
        parse(&text, &now(), &Habits::default());
    }
}
