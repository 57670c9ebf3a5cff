//! Resolves a frequency to a recurrence: times of day, days, and first and last day.

use jiff::Zoned;
use jiff::civil::{Date, Time, Weekday};

use super::When;
use super::calendar::coming;
use super::clock::{Clock, Part};
use super::dates::{dates, too_far};
use super::day::Day;
use super::every::Every;
use super::habits::Habits;
use super::note::Note;
use super::repeat::{Beat, MonthDay, Repeat};
use super::said::Said;
use super::settle::{Hour, Settled, bare, in_part, slot};

/// The inputs and notes of resolving one recurrence.
struct Settling<'a> {
    said: &'a Said,
    habits: &'a Habits,
    today: Date,
    from: Option<Date>,
    notes: Vec<Note>,
}

/// Resolves `every` with the other parts of the phrase.
pub(super) fn settle(every: &Every, said: &Said, now: &Zoned, habits: &Habits) -> Result<Settled, Note> {
    if said.lead.is_some() {
        let sentence = "a ring before the time works for one time only; say the earlier time itself";
        return Err(Note::Wrong(sentence.to_owned()));
    }
    let here = now.with_time_zone(said.hours.zone.clone().unwrap_or_else(|| now.time_zone().clone()));
    let today = here.date();
    let from = bound(said.from, today)?;
    let until = bound(said.until, today)?;
    if let Some(until) = until.filter(|until| from.is_some_and(|from| from > *until)) {
        let sentence = format!("it would end on {until}, before it begins; say a later end");
        return Err(Note::Wrong(sentence));
    }
    let mut settling = Settling { said, habits, today, from, notes: Vec::new() };
    let (beat, other) = settling.beats(every)?;
    let zone = said.hours.zone.as_ref().and_then(|zone| zone.iana_name()).map(str::to_owned);
    let repeat = |beat| {
        // A day interval already contains its first day.
        let from = if matches!(beat, Beat::Days { .. }) { None } else { from };
        When::Repeats(Repeat { beat, from, until, zone: zone.clone(), home: said.home })
    };
    Ok(Settled { when: repeat(beat), other: other.map(repeat), notes: settling.notes })
}

/// Resolves a first or last day.
fn bound(day: Option<Day>, today: Date) -> Result<Option<Date>, Note> {
    let Some(day) = day else { return Ok(None) };
    if let Day::Over(past) = day {
        return Err(Note::Past(past.said()));
    }
    let first = dates(day, today)?.list.into_iter().find(|date| *date >= today);
    first.map(Some).ok_or_else(|| Note::Past("that day".to_owned()))
}

impl Settling<'_> {
    fn beats(&mut self, every: &Every) -> Result<(Beat, Option<Beat>), Note> {
        let beat = match every {
            Every::Minutes(minutes) => self.minutes(*minutes)?,
            Every::Hours(hours) => self.hours(*hours)?,
            Every::Days(1) => self.cron("*", "*", "*")?,
            Every::Days(days) => self.days(*days, self.start(*days)?)?,
            Every::Weeks(weeks, days) => self.weeks(*weeks, days)?,
            Every::Months(months) => self.months(*months)?,
            Every::MonthDays(days) => self.month_days(days, "*")?,
            Every::MonthEnd => self.monthly(MonthDay::End)?,
            Every::Nth(-1, day) => self.monthly(MonthDay::Last(*day))?,
            Every::Nth(nth, day) => self.monthly(MonthDay::Nth(*nth, *day))?,
            Every::NthOrWeeks(nth, day) => {
                let weeks = self.weeks(i64::from(*nth), &[*day])?;
                self.notes.clear();
                return Ok((weeks, Some(self.monthly(MonthDay::Nth(*nth, *day))?)));
            }
            Every::YearDay { month, day } => self.cron(&day.to_string(), &month.to_string(), "*")?,
            Every::Times(times) => self.times_a_day(*times)?,
        };
        Ok((beat, None))
    }

    /// The times of day that were given, else the default of the morning.
    fn times(&mut self) -> Vec<Time> {
        let said = self.said;
        let slots = &self.habits.slots;
        let part = said.hours.part;
        match (&said.hours.clocks[..], said.hours.window) {
            ([], None) => vec![slot(slots, part.unwrap_or(Part::Morning))],
            ([], Some((from, _))) => vec![self.time(from, part)],
            (clocks, _) => clocks.iter().map(|clock| self.time(*clock, part)).collect(),
        }
    }

    /// Resolves one time of day; a bare hour becomes the first of its two times that is in waking
    /// hours.
    fn time(&mut self, clock: Clock, part: Option<Part>) -> Time {
        match clock {
            Clock::Exact(time) | Clock::Offset(time, _) => time,
            Clock::Midnight => Time::midnight(),
            // Above 24 is not an hour and was not parsed as one.
            Clock::Lone(number) => match Clock::of_number(number) {
                Some(clock) => self.time(clock, part),
                None => Time::midnight(),
            },
            Clock::Bare(time) => match in_part(time, part) {
                Hour::Either(am, pm) => {
                    let awake = |time: Time| self.habits.awake(time);
                    let read = if !awake(am) && awake(pm) { pm } else { am };
                    self.notes.push(bare(am, read));
                    read
                }
                Hour::At(time) | Hour::Late(time) | Hour::Offset(time, _) => time,
                Hour::Midnight | Hour::Part(_) | Hour::Unsaid => Time::midnight(),
            },
        }
    }

    /// The time of day of a recurrence that can have only one.
    fn one_time(&mut self) -> Result<Time, Note> {
        match self.times()[..] {
            [time] => Ok(time),
            [..] => {
                Err(Note::Wrong("such a repeat has one time of day; say the others as their own".to_owned()))
            }
        }
    }

    /// A cron rule for the times of day, with the given last three fields.
    fn cron(&mut self, day: &str, month: &str, weekday: &str) -> Result<Beat, Note> {
        let times = self.times();
        at_times(&times, &format!("{day} {month} {weekday}"))
    }

    /// The first day of a recurrence every `days` days.
    fn start(&self, days: i64) -> Result<Date, Note> {
        let after = || self.today.checked_add(jiff::Span::new().try_days(days).ok()?).ok();
        self.from.or_else(after).ok_or_else(too_far)
    }

    fn days(&mut self, days: i64, first: Date) -> Result<Beat, Note> {
        let every =
            u32::try_from(days).ok().filter(|days| (1..=36_500).contains(days)).ok_or_else(too_far)?;
        Ok(Beat::Days { every, from: first.to_datetime(self.one_time()?) })
    }

    fn weeks(&mut self, weeks: i64, days: &[Weekday]) -> Result<Beat, Note> {
        let all = weeks.checked_mul(7).ok_or_else(too_far)?;
        match (weeks, days) {
            (_, []) => self.days(all, self.start(all)?),
            (1, days) => self.cron("*", "*", &weekdays(days)),
            (_, [day]) => {
                let next = match self.from {
                    Some(from) if from.weekday() == *day => Some(from),
                    Some(from) => coming(from, *day),
                    None => coming(self.today, *day),
                };
                self.days(all, next.ok_or_else(too_far)?)
            }
            (_, _) => {
                let sentence = "every few weeks i can do one weekday; say the others as their own";
                Err(Note::Wrong(sentence.to_owned()))
            }
        }
    }

    /// Every `months` months on the day of the month of the first day.
    fn months(&mut self, months: i64) -> Result<Beat, Note> {
        let first = self.from.unwrap_or(self.today);
        let step = usize::try_from(months).ok().filter(|step| [1, 2, 3, 4, 6, 12].contains(step));
        let Some(step) = step else {
            let sentence = "i can repeat every 1, 2, 3, 4, 6 or 12 months; for others say a number of days";
            return Err(Note::Wrong(sentence.to_owned()));
        };
        let this = usize::from((first.month() - 1).unsigned_abs());
        let mut list: Vec<usize> = (0..12 / step).map(|nth| (this + nth * step) % 12 + 1).collect();
        list.sort_unstable();
        let list: Vec<String> = list.iter().map(ToString::to_string).collect();
        let month = if step == 1 { "*".to_owned() } else { list.join(",") };
        self.month_days(&[first.day()], &month)
    }

    fn month_days(&mut self, days: &[i8], month: &str) -> Result<Beat, Note> {
        if let Some(long) = days.iter().find(|day| **day > 28) {
            self.notes.push(Note::ShortMonths(*long));
        }
        let days: Vec<String> = days.iter().map(ToString::to_string).collect();
        self.cron(&days.join(","), month, "*")
    }

    fn monthly(&mut self, day: MonthDay) -> Result<Beat, Note> {
        Ok(Beat::Monthly { day, at: self.one_time()? })
    }

    fn times_a_day(&mut self, times: i64) -> Result<Beat, Note> {
        let slots = &self.habits.slots;
        let times = match (self.said.hours.clocks.len(), times) {
            (0, 2) => vec![slots.morning, slots.evening],
            (0, 3) => vec![slots.morning, slots.afternoon, slots.tonight],
            (0, _) => {
                let sentence = format!("{times} times a day: say when, like `daily at 8, 12, 16 and 20`");
                return Err(Note::Wrong(sentence));
            }
            (_, _) => self.times(),
        };
        at_times(&times, "* * *")
    }

    /// The part of the day in which a recurrence of minutes or hours fires.
    fn window(&mut self) -> (Time, Time) {
        let Some((from, to)) = self.said.hours.window else {
            let Habits { wakes, sleeps, .. } = self.habits;
            self.notes.push(Note::Waking(*wakes, *sleeps));
            let last = jiff::SignedDuration::from_mins(1);
            return (*wakes, sleeps.wrapping_sub(last));
        };
        let from = self.said_hour(from);
        let to = self.said_hour(to);
        // `9-5` ends in the afternoon.
        let later = if to < from && to.hour() < 12 {
            to.with().hour(to.hour() + 12).build().unwrap_or(to)
        } else {
            to
        };
        (from, if later > from { later } else { to })
    }

    /// A bound of a window, taken literally.
    fn said_hour(&self, clock: Clock) -> Time {
        match clock {
            Clock::Exact(time) | Clock::Bare(time) | Clock::Offset(time, _) => time,
            Clock::Midnight | Clock::Lone(_) => Time::midnight(),
        }
    }

    fn minutes(&mut self, minutes: i64) -> Result<Beat, Note> {
        if !(1..=59).contains(&minutes) || 60 % minutes != 0 {
            let sentence = format!(
                "{minutes} minutes do not fill an hour; say every 5, 10, 15, 20 or 30 min, or every hour"
            );
            return Err(Note::Wrong(sentence));
        }
        let (from, to) = self.window();
        // A window that ends on the hour excludes that hour.
        let last = if to.minute() == 0 && to.hour() > from.hour() { to.hour() - 1 } else { to.hour() };
        let step = if minutes == 1 { "*".to_owned() } else { format!("*/{minutes}") };
        Ok(Beat::Cron(format!("{step} {} * * *", hours(from.hour(), last, 1))))
    }

    fn hours(&mut self, step: i64) -> Result<Beat, Note> {
        let step = i8::try_from(step).ok().filter(|step| (1..24).contains(step));
        let Some(step) = step else {
            return Err(Note::Wrong("for a day and more, say days: `every 2 days`".to_owned()));
        };
        let (from, to) = self.window();
        Ok(Beat::Cron(format!("{} {} * * *", from.minute(), hours(from.hour(), to.hour(), step))))
    }
}

/// The hour field of a cron expression; the range may cross midnight.
fn hours(from: i8, to: i8, step: i8) -> String {
    match (from <= to, step) {
        (true, 1) if from == to => from.to_string(),
        (true, 1) => format!("{from}-{to}"),
        (true, _) => format!("{from}-{to}/{step}"),
        (false, _) => {
            let all = (from..=to + 24).step_by(usize::from(step.unsigned_abs()).max(1));
            all.map(|hour| (hour % 24).to_string()).collect::<Vec<_>>().join(",")
        }
    }
}

/// A cron rule for `times`, which must share their minute.
fn at_times(times: &[Time], days: &str) -> Result<Beat, Note> {
    let minute = times.first().map_or(0, |time| time.minute());
    if times.iter().any(|time| time.minute() != minute) {
        let sentence = "one repeat rings at one minute of the hour, like `daily at 8:30 and 18:30`; say the others as their own";
        return Err(Note::Wrong(sentence.to_owned()));
    }
    let mut hours: Vec<i8> = times.iter().map(|time| time.hour()).collect();
    hours.sort_unstable();
    hours.dedup();
    let hours: Vec<String> = hours.iter().map(ToString::to_string).collect();
    Ok(Beat::Cron(format!("{minute} {} {days}", hours.join(","))))
}

/// The weekday field of a cron expression, where Sunday is 0.
fn weekdays(days: &[Weekday]) -> String {
    let mut list: Vec<i8> = days.iter().map(|day| day.to_sunday_zero_offset()).collect();
    list.sort_unstable();
    list.dedup();
    match list[..] {
        [1, 2, 3, 4, 5] => "1-5".to_owned(),
        [0, 1, 2, 3, 4, 5, 6] => "*".to_owned(),
        [..] => list.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
    }
}
