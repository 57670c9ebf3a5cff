//! Tests of the remaining text, of invalid times, and of the user's habits.

use expect_test::expect;
use jiff::civil::time;

use super::*;

/// An impossible date is an error with a suggestion, and is never interpreted.
#[test]
fn invalid_times_are_rejected_with_a_suggestion() {
    check(&expect![[r#"
            x 30 feb -> x 30 feb: -; there is no 30 february; february goes from 1 to 29
            x 29 feb 2027 -> x 29 feb 2027: -; there is no 29 february 2027; february 2027 goes from 1 to 28
            x 2028-02-30 -> x 2028-02-30: -; there is no 30 february 2028; february 2028 goes from 1 to 29
            x 24.13. -> x 24.13.: -; there is no month 13; write a date like `24.12.`, `24 dec` or `2026-12-24`
            x on the 32nd -> x on the 32nd: -; no month has a 32nd; days go from the 1st to the 31st
            x at 25:00 -> x at 25:00: -; `25:00` is no time of day: hours go from 0 to 23; say it like `17:30` or `5pm`
            x at 24:00 -> x at 24:00: -; `24:00` is no time of day; say `midnight`, or `00:00` and the day that begins then
            x 12:75 -> x 12:75: -; `12:75` is no time of day: minutes go from 00 to 59; say it like `12:30`
            x at 13pm -> x at 13pm: -; `13pm` mixes two clocks; say `13:00` or `1pm`
            x in 0 minutes -> x in 0 minutes: -; no time at all from now is now; say how long, like `in 5 min`
            x in 99999999 years -> x in 99999999 years: -; that is further away than i can plan; say something within the next 100 years
            x in 99999999999999999999 days -> x in 99999999999999999999 days: -; that is further away than i can plan; say something within the next 100 years
            x yesterday -> x yesterday: -; yesterday is over; say a time to come, like `tomorrow at 9`
            x last friday at 5 -> x last friday at 5: -; last friday is over; say a time to come, like `tomorrow at 9`
            x 5 days ago -> x 5 days ago: -; that is over; say a time to come, like `tomorrow at 9`
            x 14 nov 2025 -> x 14 nov 2025: -; 14 nov 2025 is over; say a time to come, like `tomorrow at 9`
            x 14.11. -> x 14.11.: -; 14 nov is over; say `14 nov 2027` for the next one, or a day to come
            x 1 nov 10:00 -> x 1 nov 10:00: -; 1 nov is over; say `1 nov 2027` for the next one, or a day to come
            x fri 13 nov -> x fri 13 nov: -; that's already past (fri 13 nov); say `fri 20 nov` if you mean the next one
            x on saturday the 14th 10:00 -> x on saturday the 14th 10:00: -; that's already past (sat 14 nov); say `sat 21 nov` if you mean the next one
            x this morning -> x this morning: -; this morning is over; say a time to come, like `tomorrow at 9`
            x every 45 min -> x every 45 min: -; 45 minutes do not fill an hour; say every 5, 10, 15, 20 or 30 min, or every hour
            x 5 times a day -> x 5 times a day: -; 5 times a day: say when, like `daily at 8, 12, 16 and 20`
            x twice a week -> x twice a week: -; i cannot choose the days for you; say which, like `mon and thu` instead of 2 times a week
            x daily at 8:30 and 18:00 -> x daily at 8:30 and 18:00: -; one repeat rings at one minute of the hour, like `daily at 8:30 and 18:30`; say the others as their own
            x every 2 weeks on tuesday and friday -> x every 2 weeks on tuesday and friday: -; every few weeks i can do one weekday; say the others as their own
            x daily from friday until tomorrow -> x daily from friday until tomorrow: -; it would end on 2026-11-16, before it begins; say a later end
            x every weekday at 9, leave 5 min before -> x every weekday at 9, leave 5 min before: -; a ring before the time works for one time only; say the earlier time itself
        "#]]);
}

/// The remaining text is unchanged, and quoted text is never searched.
#[test]
fn the_remaining_text_is_kept_as_written() {
    check(&expect![[r#"
        remind me tomorrow to call mum at 5 -> call mum: Mon 16 Nov 2026 17:00; 5 = 17:00; say "5am" for the night
        prepare monday meeting at 5 -> prepare monday meeting: Sun 15 Nov 2026 17:00 (or Mon 16 Nov 2026 17:00); 5 = 17:00; say "5am" for the night
        remind me to turn the heating on at 5 -> turn the heating on: Sun 15 Nov 2026 17:00; 5 = 17:00; say "5am" for the night
        remind me 25 min before dentist tue 15:00 -> dentist: 14:35 + Tue 17 Nov 2026 15:00
        remind me to say "see you tomorrow at 5" -> say "see you tomorrow at 5": -
        say 'see you tomorrow at 5' on friday -> say 'see you tomorrow at 5': Fri 20 Nov 2026 09:00
        call mum (tomorrow) about the party -> call mum about the party: Mon 16 Nov 2026 09:00
        call mum at 5, and dad -> call mum, and dad: Sun 15 Nov 2026 17:00; 5 = 17:00; say "5am" for the night
        Remind me, please, tomorrow at 10: Report -> Report: Mon 16 Nov 2026 10:00; 10 = 10:00; say "10pm" for the night
        tomorrow at 9am look at what broke yesterday -> look at what broke yesterday: Mon 16 Nov 2026 09:00
        look at what broke yesterday tomorrow at 9am -> look at what broke yesterday: Mon 16 Nov 2026 09:00
        pills at 8 and 20 daily -> pills: 0 8,20 * * *; 8 = 08:00; say "8pm" for the evening
        call mum tomorrow or friday -> call mum: Mon 16 Nov 2026 09:00 (or Fri 20 Nov 2026 09:00)
        dentist mon or tue at 5pm -> dentist: Mon 16 Nov 2026 17:00 (or Tue 17 Nov 2026 17:00)
        call mum tomorrow and friday -> call mum tomorrow and friday: -; those are two times; say each by itself, or say how often, like `daily at 8 and 20`
        standup weekdays at 9:45 except friday -> standup weekdays at 9:45 except friday: -; i cannot leave days out; say the days that remain, like `mon tue wed thu`
        pick up kids at 3:30 today -> pick up kids at 3:30 today: -; 03:30 is over today; say `15:30` for the later one, or `tomorrow 03:30`
        moved from monday to friday 10:00 -> moved from monday to: Fri 20 Nov 2026 10:00
        the last day of school was fun -> the last day of school was fun: -
        may i sit in the sun -> may i sit in the sun: -
        i sat on the first chair -> i sat on the first chair: -
        buy 3 apples at 5 euros -> buy 3 apples at 5 euros: -
        release 2.10 in march style -> release 2.10 in march style: -
        when standup ends: send notes -> send notes: After("standup")
        ask about lisbon next time we talk -> ask about lisbon: NextTalk
    "#]]);
}

/// C1: a time skipped by a clock change fires right after it, and a doubled time fires at the
/// first.
#[test]
fn times_in_clock_changes_resolve_to_one_instant() {
    let told = |text: &str, at: &str| row(text, &at.parse().unwrap());
    let spring = "2027-03-27T12:00[Europe/Berlin]";
    let autumn = "2026-10-24T12:00[Europe/Berlin]";
    let rows =
        told("x tomorrow 2:30", spring) + &told("x in 24 hours", spring) + &told("x tomorrow 2:30", autumn);
    expect![[r#"
        x tomorrow 2:30 -> x: Sun 28 Mar 2027 03:00; the clocks change and there is no 02:30 that day, so 03:00; 03:00 is in your quiet hours
        x in 24 hours -> x: Sun 28 Mar 2027 13:00
        x tomorrow 2:30 -> x: Sun 25 Oct 2026 02:30; 02:30 is in your quiet hours
    "#]].assert_eq(&rows);
    let first = parse("x tomorrow 2:30", &autumn.parse().unwrap(), &Habits::default());
    let Some(Timing::Once(at)) = first.when else { panic!("{first:?}") };
    assert_eq!(at.to_string(), "2026-10-25T02:30:00+02:00[Europe/Berlin]");
    let second = told("x 2:30", "2026-10-25T02:10+01:00[Europe/Berlin]");
    assert_eq!(second, "x 2:30 -> x: Sun 25 Oct 2026 02:30; 02:30 is in your quiet hours\n");
}

#[test]
fn habits_decide_what_an_hour_means() {
    let night = Habits { wakes: time(18, 0, 0, 0), sleeps: time(10, 0, 0, 0), ..Habits::default() };
    let at = |text: &str| parse(text, &now(), &night).when.as_ref().map(format_timing).unwrap_or_default();
    assert_eq!(at("x at 5"), "Mon 16 Nov 2026 05:00");
    assert_eq!(at("x at 9"), "Sun 15 Nov 2026 21:00");
    let names: Vec<_> = Habits::default()
        .quick_times(&now())
        .into_iter()
        .map(|quick| (quick.name, quick.at.to_string()))
        .collect();
    assert_eq!(
        names.iter().map(|(name, at)| format!("{name} {}", &at[..16])).collect::<Vec<_>>(),
        ["1h 2026-11-15T15:33", "tonight 2026-11-15T20:00", "tomorrow 2026-11-16T09:00"]
    );
}
