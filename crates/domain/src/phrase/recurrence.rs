//! Resolves a frequency to a recurrence: times of day, days, and first and last day.

use jiff::Zoned;
use jiff::civil::{Date, Time, Weekday};

use super::Timing;
use super::calendar::following_weekday;
use super::clock::{ClockTime, DayPart};
use super::dates::{dates, too_far};
use super::day::Day;
use super::frequency::Frequency;
use super::habits::Habits;
use super::note::ParseNote;
use super::parts::PhraseParts;
use super::recurrence_spec::{MonthDay, RecurrenceSpec, RuleSpec};
use super::resolution::{Hour, Resolution, bare_hour_note, in_part, slot_time};

/// The inputs and notes of resolving one recurrence.
struct RecurrenceResolver<'a> {
    parts: &'a PhraseParts,
    habits: &'a Habits,
    today: Date,
    from: Option<Date>,
    notes: Vec<ParseNote>,
}

/// Resolves `every` with the other parts of the phrase.
pub(super) fn resolve(
    every: &Frequency,
    said: &PhraseParts,
    now: &Zoned,
    habits: &Habits,
) -> Result<Resolution, ParseNote> {
    if said.lead.is_some() {
        let sentence = "a ring before the time works for one time only; say the earlier time itself";
        return Err(ParseNote::Invalid(sentence.to_owned()));
    }
    let here = now.with_time_zone(said.hours.zone.clone().unwrap_or_else(|| now.time_zone().clone()));
    let today = here.date();
    let from = bound(said.from, today)?;
    let until = bound(said.until, today)?;
    if let Some(until) = until.filter(|until| from.is_some_and(|from| from > *until)) {
        let sentence = format!("it would end on {until}, before it begins; say a later end");
        return Err(ParseNote::Invalid(sentence));
    }
    let mut resolver = RecurrenceResolver { parts: said, habits, today, from, notes: Vec::new() };
    let (beat, other) = resolver.rules(every)?;
    let zone = said.hours.zone.as_ref().and_then(|zone| zone.iana_name()).map(str::to_owned);
    let repeat = |beat| {
        // A day interval already contains its first day.
        let from = if matches!(beat, RuleSpec::Days { .. }) { None } else { from };
        Timing::Recurring(RecurrenceSpec { rule: beat, from, until, zone: zone.clone(), location: said.home })
    };
    Ok(Resolution { when: repeat(beat), alternative: other.map(repeat), notes: resolver.notes })
}

/// Resolves a first or last day.
fn bound(day: Option<Day>, today: Date) -> Result<Option<Date>, ParseNote> {
    let Some(day) = day else { return Ok(None) };
    if let Day::Past(past) = day {
        return Err(ParseNote::Past(past.phrase()));
    }
    let first = dates(day, today)?.candidates.into_iter().find(|date| *date >= today);
    first.map(Some).ok_or_else(|| ParseNote::Past("that day".to_owned()))
}

impl RecurrenceResolver<'_> {
    fn rules(&mut self, every: &Frequency) -> Result<(RuleSpec, Option<RuleSpec>), ParseNote> {
        let beat = match every {
            Frequency::Minutes(minutes) => self.minutes(*minutes)?,
            Frequency::Hours(hours) => self.hours(*hours)?,
            Frequency::Days(1) => self.cron("*", "*", "*")?,
            Frequency::Days(days) => self.days(*days, self.first_day(*days)?)?,
            Frequency::Weeks(weeks, days) => self.weeks(*weeks, days)?,
            Frequency::Months(months) => self.months(*months)?,
            Frequency::MonthDays(days) => self.month_days(days, "*")?,
            Frequency::MonthEnd => self.monthly(MonthDay::End)?,
            Frequency::Nth(-1, day) => self.monthly(MonthDay::Last(*day))?,
            Frequency::Nth(nth, day) => self.monthly(MonthDay::Nth(*nth, *day))?,
            Frequency::NthOrWeeks(nth, day) => {
                let weeks = self.weeks(i64::from(*nth), &[*day])?;
                self.notes.clear();
                return Ok((weeks, Some(self.monthly(MonthDay::Nth(*nth, *day))?)));
            }
            Frequency::YearDay { month, day } => self.cron(&day.to_string(), &month.to_string(), "*")?,
            Frequency::Times(times) => self.times_a_day(*times)?,
        };
        Ok((beat, None))
    }

    /// The times of day that were given, else the default of the morning.
    fn times(&mut self) -> Vec<Time> {
        let said = self.parts;
        let slots = &self.habits.slots;
        let part = said.hours.part;
        match (&said.hours.clocks[..], said.hours.window) {
            ([], None) => vec![slot_time(slots, part.unwrap_or(DayPart::Morning))],
            ([], Some((from, _))) => vec![self.time(from, part)],
            (clocks, _) => clocks.iter().map(|clock| self.time(*clock, part)).collect(),
        }
    }

    /// Resolves one time of day; a bare hour becomes the first of its two times that is in waking
    /// hours.
    fn time(&mut self, clock: ClockTime, part: Option<DayPart>) -> Time {
        match clock {
            ClockTime::Exact(time) | ClockTime::Offset(time, _) => time,
            ClockTime::Midnight => Time::midnight(),
            // Above 24 is not an hour and was not parsed as one.
            ClockTime::Lone(number) => match ClockTime::from_number(number) {
                Some(clock) => self.time(clock, part),
                None => Time::midnight(),
            },
            ClockTime::Bare(time) => match in_part(time, part) {
                Hour::Either(am, pm) => {
                    let awake = |time: Time| self.habits.is_awake(time);
                    let read = if !awake(am) && awake(pm) { pm } else { am };
                    self.notes.push(bare_hour_note(am, read));
                    read
                }
                Hour::At(time) | Hour::Late(time) | Hour::Offset(time, _) => time,
                Hour::Midnight | Hour::Part(_) | Hour::Unspecified => Time::midnight(),
            },
        }
    }

    /// The time of day of a recurrence that can have only one.
    fn one_time(&mut self) -> Result<Time, ParseNote> {
        match self.times()[..] {
            [time] => Ok(time),
            [..] => Err(ParseNote::Invalid(
                "such a repeat has one time of day; say the others as their own".to_owned(),
            )),
        }
    }

    /// A cron rule for the times of day, with the given last three fields.
    fn cron(&mut self, day: &str, month: &str, weekday: &str) -> Result<RuleSpec, ParseNote> {
        let times = self.times();
        cron_at_times(&times, &format!("{day} {month} {weekday}"))
    }

    /// The first day of a recurrence every `days` days.
    fn first_day(&self, days: i64) -> Result<Date, ParseNote> {
        let after = || self.today.checked_add(jiff::Span::new().try_days(days).ok()?).ok();
        self.from.or_else(after).ok_or_else(too_far)
    }

    fn days(&mut self, days: i64, first: Date) -> Result<RuleSpec, ParseNote> {
        let every =
            u32::try_from(days).ok().filter(|days| (1..=36_500).contains(days)).ok_or_else(too_far)?;
        Ok(RuleSpec::Days { every, from: first.to_datetime(self.one_time()?) })
    }

    fn weeks(&mut self, weeks: i64, days: &[Weekday]) -> Result<RuleSpec, ParseNote> {
        let all = weeks.checked_mul(7).ok_or_else(too_far)?;
        match (weeks, days) {
            (_, []) => self.days(all, self.first_day(all)?),
            (1, days) => self.cron("*", "*", &weekdays(days)),
            (_, [day]) => {
                let next = match self.from {
                    Some(from) if from.weekday() == *day => Some(from),
                    Some(from) => following_weekday(from, *day),
                    None => following_weekday(self.today, *day),
                };
                self.days(all, next.ok_or_else(too_far)?)
            }
            (_, _) => {
                let sentence = "every few weeks i can do one weekday; say the others as their own";
                Err(ParseNote::Invalid(sentence.to_owned()))
            }
        }
    }

    /// Every `months` months on the day of the month of the first day.
    fn months(&mut self, months: i64) -> Result<RuleSpec, ParseNote> {
        let first = self.from.unwrap_or(self.today);
        let step = usize::try_from(months).ok().filter(|step| [1, 2, 3, 4, 6, 12].contains(step));
        let Some(step) = step else {
            let sentence = "i can repeat every 1, 2, 3, 4, 6 or 12 months; for others say a number of days";
            return Err(ParseNote::Invalid(sentence.to_owned()));
        };
        let this = usize::from((first.month() - 1).unsigned_abs());
        let mut list: Vec<usize> = (0..12 / step).map(|nth| (this + nth * step) % 12 + 1).collect();
        list.sort_unstable();
        let list: Vec<String> = list.iter().map(ToString::to_string).collect();
        let month = if step == 1 { "*".to_owned() } else { list.join(",") };
        self.month_days(&[first.day()], &month)
    }

    fn month_days(&mut self, days: &[i8], month: &str) -> Result<RuleSpec, ParseNote> {
        if let Some(long) = days.iter().find(|day| **day > 28) {
            self.notes.push(ParseNote::ShortMonths(*long));
        }
        let days: Vec<String> = days.iter().map(ToString::to_string).collect();
        self.cron(&days.join(","), month, "*")
    }

    fn monthly(&mut self, day: MonthDay) -> Result<RuleSpec, ParseNote> {
        Ok(RuleSpec::Monthly { day, at: self.one_time()? })
    }

    fn times_a_day(&mut self, times: i64) -> Result<RuleSpec, ParseNote> {
        let slots = &self.habits.slots;
        let times = match (self.parts.hours.clocks.len(), times) {
            (0, 2) => vec![slots.morning, slots.evening],
            (0, 3) => vec![slots.morning, slots.afternoon, slots.tonight],
            (0, _) => {
                let sentence = format!("{times} times a day: say when, like `daily at 8, 12, 16 and 20`");
                return Err(ParseNote::Invalid(sentence));
            }
            (_, _) => self.times(),
        };
        cron_at_times(&times, "* * *")
    }

    /// The part of the day in which a recurrence of minutes or hours fires.
    fn window(&mut self) -> (Time, Time) {
        let Some((from, to)) = self.parts.hours.window else {
            let Habits { wakes, sleeps, .. } = self.habits;
            self.notes.push(ParseNote::Waking(*wakes, *sleeps));
            let last = jiff::SignedDuration::from_mins(1);
            return (*wakes, sleeps.wrapping_sub(last));
        };
        let from = self.window_bound(from);
        let to = self.window_bound(to);
        // `9-5` ends in the afternoon.
        let later = if to < from && to.hour() < 12 {
            to.with().hour(to.hour() + 12).build().unwrap_or(to)
        } else {
            to
        };
        (from, if later > from { later } else { to })
    }

    /// A bound of a window, taken literally.
    fn window_bound(&self, clock: ClockTime) -> Time {
        match clock {
            ClockTime::Exact(time) | ClockTime::Bare(time) | ClockTime::Offset(time, _) => time,
            ClockTime::Midnight | ClockTime::Lone(_) => Time::midnight(),
        }
    }

    fn minutes(&mut self, minutes: i64) -> Result<RuleSpec, ParseNote> {
        if !(1..=59).contains(&minutes) || 60 % minutes != 0 {
            let sentence = format!(
                "{minutes} minutes do not fill an hour; say every 5, 10, 15, 20 or 30 min, or every hour"
            );
            return Err(ParseNote::Invalid(sentence));
        }
        let (from, to) = self.window();
        // A window that ends on the hour excludes that hour.
        let last = if to.minute() == 0 && to.hour() > from.hour() { to.hour() - 1 } else { to.hour() };
        let step = if minutes == 1 { "*".to_owned() } else { format!("*/{minutes}") };
        Ok(RuleSpec::Cron(format!("{step} {} * * *", hours(from.hour(), last, 1))))
    }

    fn hours(&mut self, step: i64) -> Result<RuleSpec, ParseNote> {
        let step = i8::try_from(step).ok().filter(|step| (1..24).contains(step));
        let Some(step) = step else {
            return Err(ParseNote::Invalid("for a day and more, say days: `every 2 days`".to_owned()));
        };
        let (from, to) = self.window();
        Ok(RuleSpec::Cron(format!("{} {} * * *", from.minute(), hours(from.hour(), to.hour(), step))))
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
fn cron_at_times(times: &[Time], days: &str) -> Result<RuleSpec, ParseNote> {
    let minute = times.first().map_or(0, |time| time.minute());
    if times.iter().any(|time| time.minute() != minute) {
        let sentence = "one repeat rings at one minute of the hour, like `daily at 8:30 and 18:30`; say the others as their own";
        return Err(ParseNote::Invalid(sentence.to_owned()));
    }
    let mut hours: Vec<i8> = times.iter().map(|time| time.hour()).collect();
    hours.sort_unstable();
    hours.dedup();
    let hours: Vec<String> = hours.iter().map(ToString::to_string).collect();
    Ok(RuleSpec::Cron(format!("{minute} {} {days}", hours.join(","))))
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
