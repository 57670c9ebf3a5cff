//! Tables of notations for times of day, days and recurrences.

use expect_test::expect;

use super::check;

#[test]
fn times_of_day_are_parsed_in_all_notations() {
    check(&expect![[r#"
        x quarter past 5 -> x: Sun 15 Nov 2026 17:15; 5:15 = 17:15; say "5:15am" for the night
        x at half past nine -> x: Sun 15 Nov 2026 21:30 (or Mon 16 Nov 2026 09:30); 9:30 = 21:30; say "9:30am" for the morning
        x ten minutes to six -> x: Sun 15 Nov 2026 17:50; 5:50 = 17:50; say "5:50am" for the night
        x quarter to 1 -> x: Mon 16 Nov 2026 12:45; 12:45 = 12:45; say "12:45am" for midnight
        x 5pm -> x: Sun 15 Nov 2026 17:00
        x at five p.m. -> x: Sun 15 Nov 2026 17:00
        x 17h -> x: Sun 15 Nov 2026 17:00
        x at 17h30 -> x: Sun 15 Nov 2026 17:30
        x at 9.30 -> x: Mon 16 Nov 2026 09:30
        x noon -> x: Mon 16 Nov 2026 12:00
        x midnight -> x: Mon 16 Nov 2026 00:00; 00:00 is in your quiet hours
        x friday midnight -> x: Fri 20 Nov 2026 00:00 (or Sat 21 Nov 2026 00:00); 00:00 is in your quiet hours
        x at 0 -> x: Mon 16 Nov 2026 00:00; 00:00 is in your quiet hours
        x at 12 -> x: Mon 16 Nov 2026 12:00; 12 = 12:00; say "12am" for midnight
        x @5 -> x: Sun 15 Nov 2026 17:00; 5 = 17:00; say "5am" for the night
        x eod -> x: Sun 15 Nov 2026 17:00
        x at 7 in the evening -> x: Sun 15 Nov 2026 19:00
        x at 3 in the morning -> x: Mon 16 Nov 2026 03:00; 03:00 is in your quiet hours
        x tonight at 9 -> x: Sun 15 Nov 2026 21:00
        x tonight at 1 -> x: Mon 16 Nov 2026 01:00; 01:00 is in your quiet hours
        x today -> x: Sun 15 Nov 2026 17:00
        x today at 9 -> x: Sun 15 Nov 2026 21:00; 9 = 21:00; say "9am" for the morning
        x this afternoon -> x: Sun 15 Nov 2026 17:00
        x in the morning -> x: Mon 16 Nov 2026 09:00
        after 5: call mum -> call mum: Sun 15 Nov 2026 17:00; 5 = 17:00; say "5am" for the night
        call at 17:00 new york time -> call: Sun 15 Nov 2026 17:00 2026-11-15T17:00:00-05:00[America/New_York]; 23:00 is in your quiet hours
        call at 9 pacific time tomorrow -> call: Mon 16 Nov 2026 09:00 2026-11-16T09:00:00-08:00[America/Los_Angeles]; 9 = 09:00; say "9pm" for the evening
        call at 9:00 America/Lima -> call: Sun 15 Nov 2026 09:00 2026-11-15T09:00:00-05:00[America/Lima]
        lunch 12:30-13:30 tomorrow -> lunch: Mon 16 Nov 2026 12:30
        call mum 5-6pm -> call mum: Sun 15 Nov 2026 17:00
        lunch tomorrow 12-13 -> lunch: Mon 16 Nov 2026 12:00; 12 = 12:00; say "12am" for midnight
    "#]]);
}

#[test]
fn days_are_parsed_in_all_notations() {
    check(&expect![[r#"
        x an hour and a half from now -> x: Sun 15 Nov 2026 16:03
        x in a week -> x: Sun 22 Nov 2026 09:00
        x in 3 days at 10am -> x: Wed 18 Nov 2026 10:00
        x in a couple of hours -> x: Sun 15 Nov 2026 16:33
        x next week -> x: Mon 16 Nov 2026 09:00
        x friday next week -> x: Fri 20 Nov 2026 09:00
        x in 2 weeks on tuesday -> x: Tue 24 Nov 2026 09:00
        x next month -> x: Tue 1 Dec 2026 09:00
        x weekend -> x: Sat 21 Nov 2026 09:00
        x next weekend -> x: Sat 21 Nov 2026 09:00 (or Sat 28 Nov 2026 09:00)
        x by the end of the month -> x: Mon 30 Nov 2026 09:00
        x dec 24 -> x: Thu 24 Dec 2026 09:00
        x the 24th of december 2027 -> x: Fri 24 Dec 2027 09:00
        x december 24th, 2027 at 8pm -> x: Fri 24 Dec 2027 20:00
        x 12/24 -> x: Thu 24 Dec 2026 09:00
        x 24/12 -> x: Thu 24 Dec 2026 09:00
        x 3/4 -> x: Thu 4 Mar 2027 09:00 (or Sat 3 Apr 2027 09:00)
        x 2026-12-24 -> x: Thu 24 Dec 2026 09:00
        x 2026-12-24T17:00:30+02:00 -> x: Thu 24 Dec 2026 16:00
        x on 10.12 -> x: Thu 10 Dec 2026 09:00
        x 29 feb -> x: Tue 29 Feb 2028 09:00
        x in december -> x: Tue 1 Dec 2026 09:00
        x sunday -> x: Sun 22 Nov 2026 09:00
        x day after tomorrow -> x: Tue 17 Nov 2026 09:00
        x first monday of next month -> x: Mon 7 Dec 2026 09:00
        x a week from friday -> x: Fri 27 Nov 2026 09:00
        x mon 16 -> x: Mon 16 Nov 2026 09:00 (or Mon 16 Nov 2026 16:00)
        x fri 27 -> x: Fri 27 Nov 2026 09:00
        x a week on tuesday -> x: Tue 24 Nov 2026 09:00
        x friday the 20th at 3pm -> x: Fri 20 Nov 2026 15:00
        x 20. nov 15:00 -> x: Fri 20 Nov 2026 15:00
        x this time next week -> x: Sun 22 Nov 2026 14:33
        x in 2 h 30 -> x: Sun 15 Nov 2026 17:03
        x fri 24 dec 17:00 -> x: Thu 24 Dec 2026 17:00; 24 dec is a thursday, not a friday; i took the date
    "#]]);
}

#[test]
fn recurrences_are_parsed_in_all_notations() {
    check(&expect![[r#"
        x every other day -> x: every 2 d from Tue 17 Nov 09:00
        x every 2 weeks on tuesday -> x: every 14 d from Tue 17 Nov 09:00
        x every other tuesday at 7 -> x: every 14 d from Tue 17 Nov 19:00; 7 = 19:00; say "7am" for the morning
        x twice a day -> x: 0 9,18 * * *
        x every weekday -> x: 0 9 * * 1-5
        x weekends -> x: 0 9 * * 0,6
        x mon-fri at 8 -> x: 0 8 * * 1-5; 8 = 08:00; say "8pm" for the evening
        x mon, wed and fri -> x: 0 9 * * 1,3,5
        x every morning -> x: 0 9 * * *
        x every evening at 7 -> x: 0 19 * * *
        x every 30 min -> x: */30 8-21 * * *; only from 08:00 to 22:00, while you are awake
        x every 30 min 9-17 -> x: */30 9-16 * * *
        x hourly 9-17 -> x: 0 9-17 * * *
        x every 2 hours from 9 to 17 -> x: 0 9-17/2 * * *
        x daily until friday -> x: 0 9 * * * until 2026-11-20
        x weekdays from monday until 4 dec at 8:15 -> x: 15 8 * * 1-5 from 2026-11-16 until 2026-12-04
        x every 3 days from friday -> x: every 3 d from Fri 20 Nov 09:00
        x daily at 8 and 20 -> x: 0 8,20 * * *; 8 = 08:00; say "8pm" for the evening
        x monthly on the 15th -> x: 0 9 15 * *
        x every 1st and 15th -> x: 0 9 1,15 * *
        x every 31st -> x: 0 9 31 * *; months without a 31st are left out
        x every 3 months -> x: 0 9 15 2,5,8,11 *
        x every year on dec 24 -> x: 0 9 24 12 *
        x first monday of every month -> x: monthly Nth(1, Monday) 09:00
        x every last day of the month -> x: monthly End 09:00
        x daily at 9:00 tokyo time -> x: 0 9 * * * Asia/Tokyo
        x every month on the last friday -> x: monthly Last(Friday) 09:00
        x every day at 7:15 from 1 dec to 24 dec -> x: 15 7 * * * from 2026-12-01 until 2026-12-24
        every day drink water at 9 -> drink water: 0 9 * * *; 9 = 09:00; say "9pm" for the evening
        yoga every tuesday at the gym at 19:00 -> yoga at the gym: 0 19 * * 2
    "#]]);
}
