//! A lighter day: moves the user's remaining reminders of today to tomorrow, except important ones.

use std::sync::Arc;

use jiff::{SignedDuration, ToSpan, Zoned};

use super::{Answer, Assistant, Effect, Minutes, Replanned};
use crate::cost::Source;
use crate::record::{FileWork, PlanChange};
use crate::schedule::{Charter, Moment, Planned, Reminder, What};

/// A reminder that is due within this time stays.
const SOON: SignedDuration = SignedDuration::from_mins(30);
/// Terms that mark a reminder as important today.
const MUST: [&str; 19] = [
    "must",
    "important",
    "urgent",
    "deadline",
    "leave",
    "appointment",
    "dentist",
    "doctor",
    "therapy",
    "meeting",
    "interview",
    "exam",
    "flight",
    "train",
    "meds",
    "medication",
    "pill",
    "pills",
    "insulin",
];

impl Assistant {
    /// Moves the rest of today to tomorrow at the same times; one `undo` reverses it.
    pub(super) fn lighter(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        let today = now.date();
        let left = self.memory.plans.agenda.soonest();
        let left = left.take_while(|(at, _)| at.to_zoned(now.time_zone().clone()).date() == today);
        let left: Vec<Arc<Planned>> = left.map(|(_, plan)| Arc::clone(&plan.planned)).collect();
        let mut minutes = Minutes::at(now);
        let mut stays = Vec::new();
        let mut changed = Replanned::default();
        let mut moved = Vec::new();
        for planned in left {
            let What::Reminder(reminder) = &planned.what else { continue };
            match tomorrow(reminder, now) {
                Some(next) => {
                    moved.push(planned.name());
                    changed.before.push(planned.what.clone());
                    changed.since.push(self.put_off(&planned, next, &mut minutes));
                }
                None => stays.push(planned.name()),
            }
        }
        if moved.is_empty() {
            return (
                Answer::Told("nothing of today can be moved. that is light already.".to_owned()),
                Vec::new(),
            );
        }
        self.can_undo_plan(changed, &mut minutes);
        (Answer::Told(told(&moved, &stays)), minutes.effects())
    }

    /// Moves a reminder to its new time, in its file too.
    fn put_off(&mut self, planned: &Planned, next: Reminder, minutes: &mut Minutes) -> Source {
        let source = planned.source();
        let value = next.run_at.to_string();
        minutes.plan(Some(PlanChange::File(FileWork::Set(source.clone(), "run-at", Some(value)))));
        let file = planned.file.clone();
        self.planned(Arc::new(Planned { what: What::Reminder(next), file }), minutes);
        source
    }
}

/// Returns the reminder at the same time tomorrow, or `None` if it is important or a background
/// job.
fn tomorrow(reminder: &Reminder, now: &Zoned) -> Option<Reminder> {
    let says = |text: &str| {
        let words = text.split(|letter: char| !letter.is_alphanumeric());
        words.into_iter().any(|word| MUST.contains(&word.to_lowercase().as_str()))
    };
    let soon = reminder.run_at.at.duration_since(now.timestamp()) <= SOON;
    let must = soon || says(reminder.message.as_str()) || says(&reminder.description);
    if must || !matches!(reminder.charter(), Charter::Main(_)) {
        return None;
    }
    let at = reminder.run_at.at.to_zoned(now.time_zone().clone()).checked_add(1.day()).ok()?;
    let mut next = reminder.clone();
    next.run_at = Moment::of(&at);
    Some(next)
}

fn told(moved: &[String], stays: &[String]) -> String {
    let lines: Vec<String> = moved.iter().map(|name| format!("- {name}")).collect();
    let stays = match stays {
        [] => String::new(),
        stays => format!("\nthis stays today: {}", stays.join(", ")),
    };
    format!("a lighter day. moved to tomorrow:\n{}{stays}\n`undo` brings it back.", lines.join("\n"))
}
