//! The forty acceptance sentences and what is stored, at 14:33 on Sunday, 15 November 2026 in
//! Berlin.

use expect_test::expect;

use super::check;

/// The forty acceptance sentences are interpreted as specified.
#[test]
fn forty_acceptance_sentences_are_interpreted_as_specified() {
    check(&expect![[r#"
        stretch in 20 | Sun 15 Nov 2026 14:53: stretch
        tea in 4 min | Sun 15 Nov 2026 14:37: tea
        call mum at 5 | Sun 15 Nov 2026 17:00: call mum; 5 = 17:00; say "5am" for the night
        call mum at 9 | Sun 15 Nov 2026 21:00 (or Mon 16 Nov 2026 09:00): call mum; 9 = 21:00; say "9am" for the morning
        call mum at 11 | Mon 16 Nov 2026 11:00: call mum; 11 = 11:00; say "11pm" for the night
        call mum 9am | Mon 16 Nov 2026 09:00: call mum
        meds at 8:00 | Mon 16 Nov 2026 08:00: meds
        meds 20:00 | Sun 15 Nov 2026 20:00: meds
        report tomorrow | Mon 16 Nov 2026 09:00: report
        report tomorrow evening | Mon 16 Nov 2026 18:00: report
        laundry tonight | Sun 15 Nov 2026 20:00: laundry
        friday 14:00 review | Fri 20 Nov 2026 14:00: review
        next friday review | Fri 20 Nov 2026 09:00 (or Fri 27 Nov 2026 09:00): review
        next monday review | Mon 23 Nov 2026 09:00 (or Mon 16 Nov 2026 09:00): review
        monday review | Mon 16 Nov 2026 09:00: review
        in 2 weeks renew pass | Sun 29 Nov 2026 09:00: renew pass
        end of month invoices | Mon 30 Nov 2026 09:00: invoices
        24.12. 17:00 gifts | Thu 24 Dec 2026 17:00: gifts
        noon call | Mon 16 Nov 2026 12:00: call
        in half an hour oven | Sun 15 Nov 2026 15:03: oven
        pay rent on the 1st | Tue 1 Dec 2026 09:00: pay rent
        pay rent every 1st at 9 | 0 9 1 * *: pay rent; 9 = 09:00; say "9pm" for the evening
        standup every weekday 9:45 | 45 9 * * 1-5: standup
        bins every 2nd tuesday 19:00 | every 14 d from Tue 17 Nov 19:00 (or monthly Nth(2, Tuesday) 19:00): bins
        water plants every 3 days | every 3 d from Wed 18 Nov 09:00: water plants
        gym mon wed fri 7am | 0 7 * * 1,3,5: gym
        pills daily until 1 dec 8:30 | 30 8 * * * until 2026-12-01: pills
        every hour 10-16 drink | 0 10-16 * * *: drink
        dentist tue 15:00, leave 25 min before | 14:35 + Tue 17 Nov 2026 15:00: dentist
        "check Oct release" on 31 dec 10:30 | Thu 31 Dec 2026 10:30: "check Oct release"
        call at 9:00 tokyo time | Mon 16 Nov 2026 09:00 2026-11-16T09:00:00+09:00[Asia/Tokyo]: call; 01:00 is in your quiet hours
        feed fish daily 18:00 @home | 0 18 * * * at home: feed fish
        after standup: send notes | After("standup"): send notes
        next time we talk: ask about lisbon | NextTalk: ask about lisbon
        buy milk | inbox, when?
        remember: locker 214 | keep: locker 214
        done dentist | done: dentist
        move dentist to thu 11 | move dentist: Thu 19 Nov 2026 11:00
        snooze 1h | move (what rang): 1h later
        pause until thursday | pause until Thu 19 Nov 00:00
    "#]]);
}
