//! Plans in plain words: made, done, moved, cancelled and taken back, the same with a model and without one.
//!
//! What is told is read back from what was planned, never from what was said.

use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use super::forking::refused;
use super::{Answer, Assistant, Effect, Minutes};
use crate::brain::{self, Meant, Until, Which};
use crate::card::State;
use crate::cost::Source;
use crate::occurrence::{End, Stage};
use crate::phrase::{self, Note, Reading, Target, When, tell};
use crate::record::{FileWork, PlanChange, Removal};
use crate::schedule::{
    Charter, ItemId, Lateness, Moment, Plan, Planned, Prompt, Reminder, Rest, Rhythm, Routine, What, slug,
};

/// How many of the next times are told.
const NEXT: usize = 3;
/// The most names that are told when words fit several things.
const NAMED: usize = 5;

/// How long after it rang something is what `it` means.
const IT: SignedDuration = SignedDuration::from_hours(2);
const SAY_WHICH: &str = "say which one, like `done dentist`; `week` lists what is planned.";

/// A change of what is planned that can be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// What was planned before and is not any more, or otherwise.
    pub before: Vec<What>,
    /// What is planned since.
    pub since: Vec<Source>,
}

impl Assistant {
    /// The human, or a model for them, says in plain words what to plan or to change.
    pub(super) fn plan_words(&mut self, text: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        match brain::read(text, now, &self.memory.chosen.settings.habits()) {
            Meant::Plan(reading) => self.plan_reading(&reading, now),
            Meant::List(span) => told(self.list(&span, now)),
            Meant::Done(which) => self.is_done(&which, now),
            Meant::Move { what, to } => self.move_to(&what, &to, now),
            Meant::Cancel(which) => self.cancel_plan(&which, now),
            Meant::Undo => self.undo_plan(now),
            Meant::Pause(Until::Then(then)) => self.pause(Rest::Until(Moment::of(&then)), now),
            Meant::Pause(Until::Told) => self.pause(Rest::ForNow, now),
            Meant::Resume => self.pause(Rest::Never, now),
            Meant::Ease(ease) => self.ease(ease, now),
            Meant::Unclear(notes) => refused(&no_time(&notes)),
            Meant::Talk(_) | Meant::Status | Meant::Keep(_) => refused(&no_time(&[])),
        }
    }

    /// What to be reminded of and the words for its time stand apart: a time in the first is none.
    pub(super) fn plan_apart(&mut self, what: String, when: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        let reading = phrase::read(when, now, &self.memory.chosen.settings.habits());
        self.plan_reading(&Reading { what, ..reading }, now)
    }

    fn plan_reading(&mut self, reading: &Reading, now: &Zoned) -> (Answer, Vec<Effect>) {
        let what = match reading.what.as_str() {
            "" => "time is up",
            what => what,
        };
        let Some(when) = &reading.when else { return refused(&no_time(&reading.notes)) };
        let made = self.things(what, when, now);
        let things = match made {
            Ok(things) => things,
            Err(why) => return refused(&why),
        };
        let mut minutes = Minutes::at(now);
        let since: Vec<Source> = things.into_iter().map(|what| self.write_plan(what, &mut minutes)).collect();
        let echo = since.iter().filter_map(|source| self.echo(source, now)).collect::<Vec<_>>().join("\n");
        self.can_undo_plan(Changed { before: Vec::new(), since }, &mut minutes);
        let other =
            reading.other.as_ref().map(|other| format!("\n(or did you mean {}?)", tell(other, now, &[])));
        let notes: String = reading.notes.iter().map(|note| format!("\n({note})")).collect();
        (Answer::Told(format!("{echo}{notes}{}", other.unwrap_or_default())), minutes.effects())
    }

    /// What is to be planned, as it will stand in its files.
    fn things(&mut self, what: &str, when: &When, now: &Zoned) -> Result<Vec<What>, String> {
        let mut once = |what: &str, at: &Zoned| -> Result<What, String> {
            let id = ItemId::parse(&self.dice.id8()).map_err(|invalid| invalid.to_string())?;
            let reminder = Reminder::new(id, Moment::of(at), Charter::main(), Prompt::new(what));
            reminder.map(What::Reminder).map_err(|invalid| invalid.to_string())
        };
        match when {
            When::Once(at) => Ok(vec![once(what, at)?]),
            When::Lead { leave, at } => {
                let first = format!(
                    "leave for {what} ({})",
                    at.with_time_zone(now.time_zone().clone()).strftime("%H:%M")
                );
                Ok(vec![once(&first, leave)?, once(what, at)?])
            }
            When::Repeats(repeat) => {
                let id = ItemId::parse(&self.dice.id8()).map_err(|invalid| invalid.to_string())?;
                let rhythm = repeat.rhythm().map_err(|invalid| invalid.reason)?;
                let mut routine = Routine::new(id, rhythm, Prompt::new(what));
                if let Some(from) = repeat.from {
                    let from = from.to_zoned(now.time_zone().clone()).map_err(|error| error.to_string())?;
                    routine.manner.rest = Rest::Until(Moment::of(&from));
                }
                Ok(vec![What::Routine(routine)])
            }
            When::Cue(_) => {
                Err("i can't watch for that yet, only for the clock. say a time, or keep it: `remember: \
                                 ...`"
                    .to_owned())
            }
        }
    }

    /// Plans `what` from now on; its file follows.
    fn write_plan(&mut self, what: What, minutes: &mut Minutes) -> Source {
        minutes.plan(Some(PlanChange::File(FileWork::Write(Box::new(what.clone())))));
        let file = match &what {
            What::Routine(routine) => format!("routines/{}.md", slug(routine.message.as_str())),
            What::Reminder(reminder) => format!("reminders/{}.md", slug(reminder.message.as_str())),
        };
        let planned = Arc::new(Planned { what, file });
        let source = planned.source();
        self.planned(planned, minutes);
        source
    }

    /// Takes a plan back; its file goes with it.
    pub(super) fn unplan(&mut self, source: &Source, minutes: &mut Minutes) -> Option<Arc<Planned>> {
        let planned = self.memory.plans.agenda.get(source).map(|plan| Arc::clone(&plan.planned));
        let file = planned.as_ref().map(|planned| planned.file.clone()).unwrap_or_default();
        let removal = Removal { source: source.clone(), file, was: String::new() };
        minutes.plan(Some(PlanChange::File(FileWork::Remove(removal))));
        self.not_planned(source, minutes);
        planned
    }

    /// What is planned under `source`, as the human is told.
    pub(super) fn echo(&self, source: &Source, now: &Zoned) -> Option<String> {
        let plan = self.memory.plans.agenda.get(source)?;
        Some(format!("✓ {} · {}", told_when(plan, now), plan.planned.name()))
    }

    /// What the human means by `it`: what rang a while ago at most.
    fn just_rang(&self, now: &Zoned) -> Option<What> {
        let (what, at) = self.memory.plans.rang.as_ref()?;
        (now.timestamp().duration_since(*at) <= IT).then(|| what.clone())
    }

    fn is_done(&mut self, which: &Which, now: &Zoned) -> (Answer, Vec<Effect>) {
        if *which == Which::This {
            return match self.just_rang(now) {
                Some(what) => {
                    let mut minutes = Minutes::at(now);
                    self.answered_in_words(&what, State::Done(now.timestamp()), &mut minutes, now);
                    (Answer::Told(format!("done: {}.", named(&what))), minutes.effects())
                }
                None => refused(SAY_WHICH),
            };
        }
        let plan = match self.find(which) {
            Ok(plan) => plan,
            Err(why) => return refused(&why),
        };
        let (planned, mut minutes) = (Arc::clone(&plan.planned), Minutes::at(now));
        let (source, name) = (planned.source(), planned.name());
        if let What::Routine(_) = planned.what {
            return told(format!("done: {name}. it comes again {}", told_when(&plan, now)));
        }
        if let Some(due) = plan.next {
            let occurrence = super::planning::claim(&planned, due, Lateness::OnTime, &minutes);
            self.settle(occurrence, End::Done("you said it is done".to_owned()), &mut minutes);
        }
        self.unplan(&source, &mut minutes);
        self.can_undo_plan(Changed { before: vec![planned.what.clone()], since: Vec::new() }, &mut minutes);
        (Answer::Told(format!("done: {name}. `undo` takes it back")), minutes.effects())
    }

    fn move_to(&mut self, which: &Which, to: &Target, now: &Zoned) -> (Answer, Vec<Effect>) {
        if *which == Which::This {
            return match self.just_rang(now) {
                Some(what) => self.ring_again(&what, to, now),
                None => refused(SAY_WHICH),
            };
        }
        let plan = match self.find(which) {
            Ok(plan) => plan,
            Err(why) => return refused(&why),
        };
        let What::Reminder(reminder) = &plan.planned.what else {
            return refused(&format!(
                "{} comes again and again. cancel it and say it anew, or pause it.",
                plan.planned.name()
            ));
        };
        let at = match moved(reminder, to, now) {
            Ok(at) if at.timestamp() > now.timestamp() => at,
            Ok(at) => return refused(&format!("{} is over. say a time to come.", phrase::tell_exact(&at))),
            Err(why) => return refused(&why),
        };
        let mut next = reminder.clone();
        next.run_at = Moment::of(&at);
        let (source, mut minutes) = (plan.planned.source(), Minutes::at(now));
        let value = next.run_at.to_string();
        minutes.plan(Some(PlanChange::File(FileWork::Set(source.clone(), "run-at", Some(value)))));
        let file = plan.planned.file.clone();
        self.planned(Arc::new(Planned { what: What::Reminder(next), file }), &mut minutes);
        let changed = Changed { before: vec![plan.planned.what.clone()], since: vec![source.clone()] };
        self.can_undo_plan(changed, &mut minutes);
        (Answer::Told(self.echo(&source, now).unwrap_or_default()), minutes.effects())
    }

    /// What rang rings once more, at another time.
    fn ring_again(&mut self, what: &What, to: &Target, now: &Zoned) -> (Answer, Vec<Effect>) {
        let words = match what {
            What::Routine(routine) => routine.message.clone(),
            What::Reminder(reminder) => reminder.message.clone(),
        };
        let mut minutes = Minutes::at(now);
        let source = match self.plan_again(words, to, now, &mut minutes) {
            Ok((source, at)) => {
                self.answered_in_words(what, State::Moved(at, source.clone()), &mut minutes, now);
                source
            }
            Err(why) => return refused(&why),
        };
        self.can_undo_plan(Changed { before: Vec::new(), since: vec![source.clone()] }, &mut minutes);
        (Answer::Told(self.echo(&source, now).unwrap_or_default()), minutes.effects())
    }

    /// Plans that `words` ring once more, and gives what that is planned as, and when.
    pub(super) fn plan_again(
        &mut self,
        words: Prompt,
        to: &Target,
        now: &Zoned,
        minutes: &mut Minutes,
    ) -> Result<(Source, Timestamp), String> {
        let id = ItemId::parse(&self.dice.id8()).map_err(|invalid| invalid.to_string())?;
        let again = Reminder::new(id, Moment::of(now), Charter::main(), words);
        let mut again = again.map_err(|invalid| invalid.to_string())?;
        let at = moved(&again, to, now)?;
        again.run_at = Moment::of(&at);
        Ok((self.write_plan(What::Reminder(again), minutes), at.timestamp()))
    }

    fn cancel_plan(&mut self, which: &Which, now: &Zoned) -> (Answer, Vec<Effect>) {
        if *which == Which::This {
            // `never mind`, right after it was planned.
            return match self.memory.plans.last.as_ref().is_some_and(|last| last.before.is_empty()) {
                true => self.undo_plan(now),
                false => refused(SAY_WHICH),
            };
        }
        let plan = match self.find(which) {
            Ok(plan) => plan,
            Err(why) => return refused(&why),
        };
        let (source, mut minutes) = (plan.planned.source(), Minutes::at(now));
        if self.memory.plans.busy_with(&source).is_some_and(|open| matches!(open.stage, Stage::Running(_))) {
            return refused(&format!(
                "{} is being done right now. wait until it is done.",
                plan.planned.name()
            ));
        }
        self.unplan(&source, &mut minutes);
        let name = plan.planned.name();
        self.can_undo_plan(
            Changed { before: vec![plan.planned.what.clone()], since: Vec::new() },
            &mut minutes,
        );
        (Answer::Told(format!("cancelled: {name}. `undo` brings it back")), minutes.effects())
    }

    /// What was changed last can be taken back, also after a restart.
    pub(super) fn can_undo_plan(&mut self, changed: Changed, minutes: &mut Minutes) {
        minutes.plan(Some(PlanChange::Last(Some(Box::new(changed.clone())))));
        self.memory.plans.last = Some(changed);
    }

    fn undo_plan(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        let Some(Changed { before, since }) = self.memory.plans.last.take() else {
            return refused("nothing was planned or changed that i could take back.");
        };
        let mut minutes = Minutes::at(now);
        minutes.plan(Some(PlanChange::Last(None)));
        let gone: Vec<String> =
            since.iter().filter_map(|source| self.unplan(source, &mut minutes)).map(|it| it.name()).collect();
        let back: Vec<Source> =
            before.iter().map(|planned| self.write_plan(planned.clone(), &mut minutes)).collect();
        let told = match back.is_empty() {
            true if gone.is_empty() => "that has rung already, so there is nothing to take back.".to_owned(),
            true => format!("taken back: {}", gone.join(", ")),
            false => back.iter().filter_map(|source| self.echo(source, now)).collect::<Vec<_>>().join("\n"),
        };
        (Answer::Told(told), minutes.effects())
    }

    /// The plan that `which` means, or why that is not clear.
    fn find(&self, which: &Which) -> Result<Plan, String> {
        let agenda = &self.memory.plans.agenda;
        let found: Vec<&Plan> = match which {
            Which::This => Vec::new(),
            Which::Called(words) => {
                let all = || agenda.plans().map(|(_, plan)| plan);
                // An id means one thing, whatever others are called.
                match all().find(|plan| plan.planned.id().as_str() == words) {
                    Some(plan) => vec![plan],
                    None => all().filter(|plan| is_called(plan, words)).collect(),
                }
            }
        };
        match found.as_slice() {
            [one] => Ok((*one).clone()),
            [] => Err(match which {
                Which::This => SAY_WHICH.to_owned(),
                Which::Called(words) => format!("nothing planned is called `{words}`. `week` lists what is."),
            }),
            several => {
                let names: Vec<String> = several
                    .iter()
                    .take(NAMED)
                    .map(|plan| format!("- {} ({})", plan.planned.name(), plan.planned.id()))
                    .collect();
                Err(format!("that could be any of these; say which, or its id:\n{}", names.join("\n")))
            }
        }
    }
}

/// When a plan comes next, as the human is told.
pub(super) fn told_when(plan: &Plan, now: &Zoned) -> String {
    let zone = now.time_zone();
    match (&plan.planned.what, plan.next) {
        (What::Reminder(_), Some(next)) => tell(&When::Once(next.to_zoned(zone.clone())), now, &[]),
        (What::Routine(routine), Some(next)) => {
            let fires = fires(&routine.rhythm, next, zone);
            let days: Vec<String> = fires
                .iter()
                .map(|fire| fire.to_zoned(zone.clone()).strftime("%a %-d %b").to_string().to_lowercase())
                .collect();
            format!("{} · next {}", routine.rhythm.tell(), days.join(", "))
        }
        (_, None) => "rests, or is over".to_owned(),
    }
}

fn fires(rhythm: &Rhythm, first: Timestamp, zone: &TimeZone) -> Vec<Timestamp> {
    std::iter::successors(Some(first), |fire| rhythm.next(*fire, zone)).take(NEXT).collect()
}

/// Whether each of `words` begins a word of its name.
pub(super) fn is_called(plan: &Plan, words: &str) -> bool {
    let name = plan.planned.name().to_lowercase();
    let begins =
        |word: &str| name.split(|letter: char| !letter.is_alphanumeric()).any(|part| part.starts_with(word));
    plan.planned.id().as_str() == words || words.to_lowercase().split_whitespace().all(begins)
}

/// What the human calls it.
fn named(what: &What) -> String {
    Planned { what: what.clone(), file: String::new() }.name()
}

/// When a reminder rings that is moved.
fn moved(reminder: &Reminder, to: &Target, now: &Zoned) -> Result<Zoned, String> {
    let was = reminder.run_at.at.to_zoned(now.time_zone().clone());
    let later = |base: &Zoned, span: jiff::Span| base.checked_add(span).map_err(|error| error.to_string());
    match to {
        Target::At(When::Once(at)) => Ok(at.clone()),
        Target::At(When::Lead { .. } | When::Repeats(_) | When::Cue(_)) => {
            Err("a reminder moves to one time. say one, like `thu 11`.".to_owned())
        }
        Target::Day(day) => {
            day.to_datetime(was.time()).to_zoned(now.time_zone().clone()).map_err(|error| error.to_string())
        }
        Target::Days(days) => later(&was.max(now.clone()), jiff::Span::new().days(i64::from(*days))),
        Target::Later(span) => now.checked_add(*span).map_err(|error| error.to_string()),
    }
}

fn no_time(notes: &[Note]) -> String {
    let trouble = notes.iter().find(|note| note.is_trouble());
    trouble.map_or_else(
        || "there is no time in that. say one, like `tomorrow at 10` or `in 20 min`.".to_owned(),
        ToString::to_string,
    )
}

fn told(text: String) -> (Answer, Vec<Effect>) {
    (Answer::Told(text), Vec::new())
}
