//! Planner: applies plain-language texts to the plans, with or without a model.
//!
//! Replies are generated from the resulting plans, never from the user's text.

use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::forking::refused;
use super::reverting::Changed;
use super::{Answer, Assistant, Effect, Minutes};
use crate::brain::{self, Change, Meant, Until};
use crate::cost::Source;
use crate::phrase::{self, Note, Reading, When, tell};
use crate::record::{FileWork, PlanChange, Removal};
use crate::schedule::{
    Charter, ItemId, Moment, Plan, Planned, Prompt, Reminder, Rest, Rhythm, Routine, What, slug,
};

/// How many of the next times are shown.
const NEXT: usize = 3;

impl Assistant {
    /// Applies a text of the user, or of a model on their behalf.
    pub(super) fn plan_words(&mut self, text: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        if let Some(answer) = self.answer_offer(text, now) {
            return answer;
        }
        match brain::read(text, now, &self.memory.chosen.settings.habits()) {
            Meant::Plan(reading) => self.plan_reading(&reading, now),
            Meant::List(span) => told(self.list(&span, now)),
            Meant::Change(Change::Done(which)) => self.is_done(&which, now),
            Meant::Change(Change::Move { what, to: Ok(to) }) => self.move_to(&what, &to, now),
            Meant::Change(Change::Move { what, to: Err(note) }) => {
                refused(&self.find(&what, now).err().unwrap_or_else(|| format!("{note}.")))
            }
            Meant::Change(Change::Cancel(which)) => self.cancel_plan(&which, now),
            Meant::Change(Change::Undo) => self.undo_plan(now),
            Meant::Change(Change::Pause(Until::Then(then))) => {
                self.pause(Rest::Until(Moment::of(&then)), now)
            }
            Meant::Change(Change::Pause(Until::Told)) => self.pause(Rest::ForNow, now),
            Meant::Change(Change::Pause(Until::Unread(note))) => refused(&format!("{note}.")),
            Meant::Change(Change::Resume) => self.pause(Rest::Never, now),
            Meant::Change(Change::ClearInbox) => self.clear_inbox(now),
            // The name is part of the model's instructions, so only the user may change it.
            Meant::Change(Change::Name(_)) => refused("what they are called the human says: `/name NAME`."),
            Meant::Change(Change::Leave) => told("it stays in your inbox.".to_owned()),
            Meant::Ease(ease) => self.ease(ease, now),
            Meant::Unclear(notes) => refused(&no_time(&notes)),
            Meant::Talk(_) | Meant::Status | Meant::Keep(_) | Meant::Untimed => refused(&no_time(&[])),
        }
    }

    /// Creates a reminder from separate text and time; a time within `what` is ignored.
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
        if let Some(answer) = self.nothing_to_wait_for(what, when, now) {
            return answer;
        }
        let made = self.things(what, when, now);
        let things = match made {
            Ok(things) => things,
            Err(why) => return refused(&why),
        };
        let mut minutes = Minutes::at(now);
        let since: Vec<Source> = things.into_iter().map(|what| self.write_plan(what, &mut minutes)).collect();
        let echo = since.iter().filter_map(|source| self.echo(source, now)).collect::<Vec<_>>().join("\n");
        self.can_undo_plan(Changed { since, ..Changed::default() }, &mut minutes);
        let other =
            reading.other.as_ref().map(|other| format!("\n(or did you mean {}?)", tell(other, now, &[])));
        let notes: String = reading.notes.iter().map(|note| format!("\n({note})")).collect();
        (Answer::Told(format!("{echo}{notes}{}", other.unwrap_or_default())), minutes.effects())
    }

    /// Returns the plans for a text, as they will be written to files.
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
            When::Cue(cue) => match once(what, now)? {
                What::Reminder(reminder) => Ok(vec![What::Reminder(reminder.on(cue.clone()))]),
                routine @ What::Routine(_) => Ok(vec![routine]),
            },
        }
    }

    /// Adds a plan and writes its file.
    pub(super) fn write_plan(&mut self, what: What, minutes: &mut Minutes) -> Source {
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

    /// Removes a plan and its file.
    pub(super) fn unplan(&mut self, source: &Source, minutes: &mut Minutes) -> Option<Arc<Planned>> {
        let planned = self.memory.plans.agenda.get(source).map(|plan| Arc::clone(&plan.planned));
        let file = planned.as_ref().map(|planned| planned.file.clone()).unwrap_or_default();
        let removal = Removal { source: source.clone(), file, was: String::new() };
        minutes.plan(Some(PlanChange::File(FileWork::Remove(removal))));
        self.not_planned(source, minutes);
        planned
    }

    /// Returns the confirmation for the plan `source`.
    pub(super) fn echo(&self, source: &Source, now: &Zoned) -> Option<String> {
        let plan = self.memory.plans.agenda.get(source)?;
        Some(format!("✓ {} · {}", told_when(plan, now), plan.planned.name()))
    }
}

/// Returns the next time of a plan as text.
pub(super) fn told_when(plan: &Plan, now: &Zoned) -> String {
    let zone = now.time_zone();
    match (&plan.planned.what, plan.next) {
        (What::Reminder(_), Some(next)) => tell(&When::Once(next.to_zoned(zone.clone())), now, &[]),
        (What::Routine(routine), Some(next)) => {
            let fires = fires(&routine.rhythm, next, zone);
            format!("{} · next {}", routine.rhythm.tell(), next_times(&fires, zone))
        }
        (What::Reminder(Reminder { cue: Some(cue), .. }), None) => tell(&When::Cue(cue.clone()), now, &[]),
        (_, None) => "rests, or is over".to_owned(),
    }
}

/// Formats the next times: dates only, or with hours where several are on one day.
fn next_times(fires: &[Timestamp], zone: &TimeZone) -> String {
    let fires: Vec<Zoned> = fires.iter().map(|fire| fire.to_zoned(zone.clone())).collect();
    let several = fires.windows(2).any(|pair| pair[0].date() == pair[1].date());
    let mut last = None;
    let told = fires.iter().map(|fire| match (several, last.replace(fire.date()) == Some(fire.date())) {
        (false, _) => fire.strftime("%a %-d %b").to_string().to_lowercase(),
        (true, false) => fire.strftime("%a %-d %b %H:%M").to_string().to_lowercase(),
        (true, true) => fire.strftime("%H:%M").to_string(),
    });
    told.collect::<Vec<_>>().join(", ")
}

fn fires(rhythm: &Rhythm, first: Timestamp, zone: &TimeZone) -> Vec<Timestamp> {
    std::iter::successors(Some(first), |fire| rhythm.next(*fire, zone)).take(NEXT).collect()
}

pub(super) fn no_time(notes: &[Note]) -> String {
    let trouble = notes.iter().find(|note| note.is_trouble());
    trouble.map_or_else(
        || "there is no time in that. say one, like `tomorrow at 10` or `in 20 min`.".to_owned(),
        ToString::to_string,
    )
}

fn told(text: String) -> (Answer, Vec<Effect>) {
    (Answer::Told(text), Vec::new())
}
