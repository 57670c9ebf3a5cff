//! Planner: applies plain-language texts to the plans, with or without a model.
//!
//! Replies are generated from the resulting plans, never from the user's text.

use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::forks::refusal_reply;
use super::plan_undo::PlanUndo;
use super::{Answer, Assistant, Effect, Transaction};
use crate::cost::CostSource;
use crate::intent::{self, ChangeRequest, Intent, PauseEnd};
use crate::phrase::{self, ParseNote, ParsedPhrase, Timing, describe};
use crate::record::{JobFileEdit, JobFileRemoval, PlanChange};
use crate::schedule::{
    ItemId, JobSpec, JobTarget, Moment, PauseState, Plan, PlannedJob, Prompt, Recurrence, Reminder, Routine,
    slug,
};

/// How many of the next times are shown.
const SHOWN_TIMES: usize = 3;

impl Assistant {
    /// Applies a text of the user, or of a model on their behalf.
    pub(super) fn plan_text(&mut self, text: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        if let Some(answer) = self.apply_offered_time(text, now) {
            return answer;
        }
        match intent::parse(text, now, &self.state.choices.settings.habits()) {
            Intent::Plan(reading) => self.plan_reading(&reading, now),
            Intent::List(span) => text_reply(self.list_plans(&span, now)),
            Intent::Change(ChangeRequest::Done(which)) => self.mark_done(&which, now),
            Intent::Change(ChangeRequest::Move { item: what, to: Ok(to) }) => self.move_item(&what, &to, now),
            Intent::Change(ChangeRequest::Move { item: what, to: Err(note) }) => {
                refusal_reply(&self.find_item(&what, now).err().unwrap_or_else(|| format!("{note}.")))
            }
            Intent::Change(ChangeRequest::Cancel(which)) => self.cancel_plan(&which, now),
            Intent::Change(ChangeRequest::Undo) => self.undo_plan_change(now),
            Intent::Change(ChangeRequest::Pause(PauseEnd::At(then))) => {
                self.pause_routines(PauseState::Until(Moment::of(&then)), now)
            }
            Intent::Change(ChangeRequest::Pause(PauseEnd::Indefinite)) => {
                self.pause_routines(PauseState::Indefinite, now)
            }
            Intent::Change(ChangeRequest::Pause(PauseEnd::Invalid(note))) => {
                refusal_reply(&format!("{note}."))
            }
            Intent::Change(ChangeRequest::Resume) => self.pause_routines(PauseState::Active, now),
            Intent::Change(ChangeRequest::ClearInbox) => self.clear_inbox(now),
            // The name is part of the model's instructions, so only the user may change it.
            Intent::Change(ChangeRequest::SetUserName(_)) => {
                refusal_reply("what they are called the human says: `/name NAME`.")
            }
            Intent::Change(ChangeRequest::LeaveUntimed) => text_reply("it stays in your inbox.".to_owned()),
            Intent::Quiet(ease) => self.handle_quiet(ease, now),
            Intent::Unclear(notes) => refusal_reply(&no_time_reply(&notes)),
            Intent::SmallTalk(_) | Intent::Status | Intent::Keep(_) | Intent::Untimed => {
                refusal_reply(&no_time_reply(&[]))
            }
        }
    }

    /// Creates a reminder from separate text and time; a time within `what` is ignored.
    pub(super) fn create_reminder(&mut self, what: String, when: &str, now: &Zoned) -> (Answer, Vec<Effect>) {
        let reading = phrase::parse(when, now, &self.state.choices.settings.habits());
        self.plan_reading(&ParsedPhrase { text: what, ..reading }, now)
    }

    fn plan_reading(&mut self, reading: &ParsedPhrase, now: &Zoned) -> (Answer, Vec<Effect>) {
        let what = match reading.text.as_str() {
            "" => "time is up",
            what => what,
        };
        let Some(when) = &reading.when else { return refusal_reply(&no_time_reply(&reading.notes)) };
        if let Some(answer) = self.keep_if_cue_unknown(what, when, now) {
            return answer;
        }
        let plans = self.new_plans(what, when, now);
        let plans = match plans {
            Ok(plans) => plans,
            Err(why) => return refusal_reply(&why),
        };
        let mut tx = Transaction::at(now);
        let sources: Vec<CostSource> =
            plans.into_iter().map(|what| self.create_plan(what, &mut tx)).collect();
        let confirmation =
            sources.iter().filter_map(|source| self.confirmation(source, now)).collect::<Vec<_>>().join("\n");
        self.push_plan_undo(PlanUndo { new_plans: sources, ..PlanUndo::default() }, &mut tx);
        let other = reading
            .alternative
            .as_ref()
            .map(|other| format!("\n(or did you mean {}?)", describe(other, now, &[])));
        let notes: String = reading.notes.iter().map(|note| format!("\n({note})")).collect();
        (Answer::Text(format!("{confirmation}{notes}{}", other.unwrap_or_default())), tx.into_effects())
    }

    /// Returns the plans for a text, as they will be written to files.
    fn new_plans(&mut self, what: &str, when: &Timing, now: &Zoned) -> Result<Vec<JobSpec>, String> {
        let mut reminder_at = |what: &str, at: &Zoned| -> Result<JobSpec, String> {
            let id = ItemId::parse(&self.rng.short_id()).map_err(|invalid| invalid.to_string())?;
            let reminder = Reminder::new(id, Moment::of(at), JobTarget::main(), Prompt::new(what));
            reminder.map(JobSpec::Reminder).map_err(|invalid| invalid.to_string())
        };
        match when {
            Timing::Once(at) => Ok(vec![reminder_at(what, at)?]),
            Timing::Lead { leave, at } => {
                let first = format!(
                    "leave for {what} ({})",
                    at.with_time_zone(now.time_zone().clone()).strftime("%H:%M")
                );
                Ok(vec![reminder_at(&first, leave)?, reminder_at(what, at)?])
            }
            Timing::Recurring(repeat) => {
                let id = ItemId::parse(&self.rng.short_id()).map_err(|invalid| invalid.to_string())?;
                let rhythm = repeat.recurrence().map_err(|invalid| invalid.reason)?;
                let mut routine = Routine::new(id, rhythm, Prompt::new(what));
                if let Some(from) = repeat.from {
                    let from = from.to_zoned(now.time_zone().clone()).map_err(|error| error.to_string())?;
                    routine.firing_policy.pause = PauseState::Until(Moment::of(&from));
                }
                Ok(vec![JobSpec::Routine(routine)])
            }
            Timing::Cue(cue) => match reminder_at(what, now)? {
                JobSpec::Reminder(reminder) => Ok(vec![JobSpec::Reminder(reminder.with_cue(cue.clone()))]),
                routine @ JobSpec::Routine(_) => Ok(vec![routine]),
            },
        }
    }

    /// Adds a plan and writes its file.
    pub(super) fn create_plan(&mut self, what: JobSpec, tx: &mut Transaction) -> CostSource {
        tx.record_plan(Some(PlanChange::JobFile(JobFileEdit::Write(Box::new(what.clone())))));
        let file = match &what {
            JobSpec::Routine(routine) => format!("routines/{}.md", slug(routine.prompt.as_str())),
            JobSpec::Reminder(reminder) => format!("reminders/{}.md", slug(reminder.prompt.as_str())),
        };
        let planned = Arc::new(PlannedJob { spec: what, file });
        let source = planned.source();
        self.add_plan(planned, tx);
        source
    }

    /// Removes a plan and its file.
    pub(super) fn delete_plan(
        &mut self,
        source: &CostSource,
        tx: &mut Transaction,
    ) -> Option<Arc<PlannedJob>> {
        let planned = self.state.plans.agenda.get(source).map(|plan| Arc::clone(&plan.job));
        let file = planned.as_ref().map(|planned| planned.file.clone()).unwrap_or_default();
        let removal = JobFileRemoval { source: source.clone(), file, old_content: String::new() };
        tx.record_plan(Some(PlanChange::JobFile(JobFileEdit::Remove(removal))));
        self.remove_plan(source, tx);
        planned
    }

    /// Returns the confirmation for the plan `source`.
    pub(super) fn confirmation(&self, source: &CostSource, now: &Zoned) -> Option<String> {
        let plan = self.state.plans.agenda.get(source)?;
        Some(format!("✓ {} · {}", when_text(plan, now), plan.job.display_name()))
    }
}

/// Returns the next time of a plan as text.
pub(super) fn when_text(plan: &Plan, now: &Zoned) -> String {
    let zone = now.time_zone();
    match (&plan.job.spec, plan.next) {
        (JobSpec::Reminder(_), Some(next)) => describe(&Timing::Once(next.to_zoned(zone.clone())), now, &[]),
        (JobSpec::Routine(routine), Some(next)) => {
            let fires = next_fires(&routine.recurrence, next, zone);
            format!("{} · next {}", routine.recurrence.describe(), times_text(&fires, zone))
        }
        (JobSpec::Reminder(Reminder { cue: Some(cue), .. }), None) => {
            describe(&Timing::Cue(cue.clone()), now, &[])
        }
        (_, None) => "rests, or is over".to_owned(),
    }
}

/// Formats the next times: dates only, or with hours where several are on one day.
fn times_text(fires: &[Timestamp], zone: &TimeZone) -> String {
    let fires: Vec<Zoned> = fires.iter().map(|fire| fire.to_zoned(zone.clone())).collect();
    let several = fires.windows(2).any(|pair| pair[0].date() == pair[1].date());
    let mut last = None;
    let texts = fires.iter().map(|fire| match (several, last.replace(fire.date()) == Some(fire.date())) {
        (false, _) => fire.strftime("%a %-d %b").to_string().to_lowercase(),
        (true, false) => fire.strftime("%a %-d %b %H:%M").to_string().to_lowercase(),
        (true, true) => fire.strftime("%H:%M").to_string(),
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn next_fires(rhythm: &Recurrence, first: Timestamp, zone: &TimeZone) -> Vec<Timestamp> {
    std::iter::successors(Some(first), |fire| rhythm.next(*fire, zone)).take(SHOWN_TIMES).collect()
}

pub(super) fn no_time_reply(notes: &[ParseNote]) -> String {
    let trouble = notes.iter().find(|note| note.is_error());
    trouble.map_or_else(
        || "there is no time in that. say one, like `tomorrow at 10` or `in 20 min`.".to_owned(),
        ToString::to_string,
    )
}

fn text_reply(text: String) -> (Answer, Vec<Effect>) {
    (Answer::Text(text), Vec::new())
}
