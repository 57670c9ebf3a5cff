//! One test per rule of time resolution, in addition to the forty acceptance cases.
//!
//! Rule 8 (recurrences do not stack) is a property of the schedule and tested there.

use super::*;

/// Parses `text` at `now` and compares with `timing` or `timing (or alternative)`.
#[track_caller]
fn check(now: &str, text: &str, expected: &str) {
    let reading = parse(text, &format!("{now}[Europe/Berlin]").parse().unwrap(), &Habits::default());
    let when = reading.when.as_ref().map_or("-".to_owned(), format_timing).replace(" 2026", "");
    let other = reading
        .alternative
        .as_ref()
        .map(|other| format!(" (or {})", format_timing(other).replace(" 2026", "")));
    assert_eq!(when + &other.unwrap_or_default(), expected, "{text}");
}

const SUNDAY: &str = "2026-11-15T14:33";
const WEDNESDAY: &str = "2026-11-18T08:10";
const SATURDAY_NIGHT: &str = "2026-11-21T23:30";

#[test]
fn rule_1_a_past_clock_time_means_tomorrow() {
    check(SUNDAY, "x 14:33", "Mon 16 Nov 14:33");
    check(SUNDAY, "x 14:34", "Sun 15 Nov 14:34");
    check(SATURDAY_NIGHT, "x 23:00", "Sun 22 Nov 23:00");
}

/// The time suggested in place of a past one is still to come.
#[test]
fn suggested_times_are_in_the_future() {
    let told = |now: &str| {
        let now: Zoned = format!("{now}[Europe/Berlin]").parse().unwrap();
        parse("x today at 00:10", &now, &Habits::default()).notes[0].to_string()
    };
    assert_eq!(told(WEDNESDAY), "00:10 is over today; say `12:10` for the later one, or `tomorrow 00:10`");
    assert_eq!(told(SATURDAY_NIGHT), "00:10 is over today; say `tomorrow 00:10`");
}

#[test]
fn rule_2_a_bare_hour_is_the_next_in_waking_hours_and_the_other_is_offered() {
    check(WEDNESDAY, "x at 9", "Wed 18 Nov 09:00 (or Wed 18 Nov 21:00)");
    check(WEDNESDAY, "x at 8", "Wed 18 Nov 20:00 (or Thu 19 Nov 08:00)");
    check(WEDNESDAY, "x at 10", "Wed 18 Nov 10:00");
    check(WEDNESDAY, "x at 7", "Wed 18 Nov 19:00");
    check(WEDNESDAY, "x 7:00", "Thu 19 Nov 07:00");
    check(SATURDAY_NIGHT, "x at 12", "Sun 22 Nov 12:00");
}

#[test]
fn rule_3_a_weekday_is_never_today_and_next_means_next_week() {
    check(WEDNESDAY, "wednesday x", "Wed 25 Nov 09:00");
    check(WEDNESDAY, "thursday x", "Thu 19 Nov 09:00");
    check(WEDNESDAY, "next thursday x", "Thu 26 Nov 09:00 (or Thu 19 Nov 09:00)");
    check(WEDNESDAY, "next monday x", "Mon 23 Nov 09:00 (or Mon 30 Nov 09:00)");
    check(SATURDAY_NIGHT, "next monday x", "Mon 23 Nov 09:00 (or Mon 30 Nov 09:00)");
    check(SUNDAY, "next sunday x", "Sun 22 Nov 09:00 (or Sun 29 Nov 09:00)");
}

#[test]
fn rule_4_a_day_without_a_time_means_its_morning() {
    check(WEDNESDAY, "x today", "Wed 18 Nov 09:00");
    check(SUNDAY, "x in 3 days", "Wed 18 Nov 09:00");
    check(SUNDAY, "x friday noon", "Fri 20 Nov 12:00");
    check(SUNDAY, "x friday afternoon", "Fri 20 Nov 14:00");
    check(SUNDAY, "x friday eod", "Fri 20 Nov 17:00");
    check(SATURDAY_NIGHT, "x today", "Sun 22 Nov 00:30");
}

#[test]
fn rule_5_text_without_a_time_has_no_timing() {
    check(SUNDAY, "buy milk", "-");
    check(SUNDAY, "buy 2 l of milk", "-");
}

#[test]
fn rule_6_quoted_words_are_never_searched_and_the_last_phrase_wins() {
    check(SUNDAY, "read \"at 5 on friday\"", "-");
    check(SUNDAY, "fix what broke on friday in 20 min", "Sun 15 Nov 14:53");
    check(SUNDAY, "tell tom tomorrow 9:00 is fine, friday 10:00", "Fri 20 Nov 10:00");
}

#[test]
fn rule_7_a_bare_number_is_minutes() {
    check(SUNDAY, "in 90 x", "Sun 15 Nov 16:03");
    check(SUNDAY, "split it in 2 parts", "-");
}

#[test]
fn rule_9_only_a_named_zone_is_stored() {
    check(SUNDAY, "daily 9:00", "0 9 * * *");
    check(SUNDAY, "daily 9:00 lisbon time", "0 9 * * * Europe/Lisbon");
    check(SUNDAY, "x daily 9:00 @home", "0 9 * * * at home");
    check(SUNDAY, "x 16:00 london time", "Sun 15 Nov 16:00-11-15T16:00:00+00:00[Europe/London]");
}

#[test]
fn rule_10_clock_changes_resolve_to_one_instant() {
    check("2026-03-28T12:00", "x tomorrow 2:15", "Sun 29 Mar 03:00");
    check("2026-10-24T12:00", "x tomorrow 2:15", "Sun 25 Oct 02:15");
}

#[test]
fn rule_11_a_lead_adds_an_earlier_notification() {
    check(SUNDAY, "train fri 7:10, leave 40 min before", "06:30 + Fri 20 Nov 07:10");
    check(SUNDAY, "train 15:00, leave 1 h before", "Sun 15 Nov 15:00");
}

#[test]
fn rule_12_the_earlier_of_two_interpretations_wins_and_both_are_shown() {
    check(SUNDAY, "x 3/12", "Thu 3 Dec 09:00 (or Fri 12 Mar 2027 09:00)");
    check(SUNDAY, "x mon 16", "Mon 16 Nov 09:00 (or Mon 16 Nov 16:00)");
    check(SUNDAY, "prepare tuesday meeting at 5", "Sun 15 Nov 17:00 (or Tue 17 Nov 17:00)");
    check(SUNDAY, "x friday or tomorrow", "Mon 16 Nov 09:00 (or Fri 20 Nov 09:00)");
}
