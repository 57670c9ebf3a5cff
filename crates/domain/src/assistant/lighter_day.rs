//! A lighter day: moves the user's remaining reminders of today to tomorrow, except important ones.

use std::sync::Arc;

use jiff::{SignedDuration, ToSpan, Zoned};

use super::{Answer, Assistant, Effect, Replanned, Transaction};
use crate::cost::CostSource;
use crate::record::{JobFileEdit, PlanChange};
use crate::schedule::{JobSpec, JobTarget, Moment, PlannedJob, Reminder};

/// A reminder that is due within this time stays.
const STAYS_WITHIN: SignedDuration = SignedDuration::from_mins(30);
/// Terms that mark a reminder as important today.
const IMPORTANT_WORDS: [&str; 19] = [
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
    pub(super) fn lighten_day(&mut self, now: &Zoned) -> (Answer, Vec<Effect>) {
        let today = now.date();
        let left = self.state.plans.agenda.upcoming();
        let left = left.take_while(|(at, _)| at.to_zoned(now.time_zone().clone()).date() == today);
        let left: Vec<Arc<PlannedJob>> = left.map(|(_, plan)| Arc::clone(&plan.job)).collect();
        let mut tx = Transaction::at(now);
        let mut stays = Vec::new();
        let mut changed = Replanned::default();
        let mut moved = Vec::new();
        for planned in left {
            let JobSpec::Reminder(reminder) = &planned.spec else { continue };
            match moved_to_tomorrow(reminder, now) {
                Some(next) => {
                    moved.push(planned.display_name());
                    changed.previous_plans.push(planned.spec.clone());
                    changed.new_plans.push(self.reschedule_reminder(&planned, next, &mut tx));
                }
                None => stays.push(planned.display_name()),
            }
        }
        if moved.is_empty() {
            return (
                Answer::Text("nothing of today can be moved. that is light already.".to_owned()),
                Vec::new(),
            );
        }
        self.push_plan_undo(changed, &mut tx);
        (Answer::Text(summary(&moved, &stays)), tx.into_effects())
    }

    /// Moves a reminder to its new time, in its file too.
    fn reschedule_reminder(
        &mut self,
        planned: &PlannedJob,
        next: Reminder,
        tx: &mut Transaction,
    ) -> CostSource {
        let source = planned.source();
        let value = next.run_at.to_string();
        tx.record_plan(Some(PlanChange::JobFile(JobFileEdit::SetKey(source.clone(), "run-at", Some(value)))));
        let file = planned.file.clone();
        self.add_plan(Arc::new(PlannedJob { spec: JobSpec::Reminder(next), file }), tx);
        source
    }
}

/// Returns the reminder at the same time tomorrow, or `None` if it is important or a background
/// job.
fn moved_to_tomorrow(reminder: &Reminder, now: &Zoned) -> Option<Reminder> {
    let says = |text: &str| {
        let words = text.split(|letter: char| !letter.is_alphanumeric());
        words.into_iter().any(|word| IMPORTANT_WORDS.contains(&word.to_lowercase().as_str()))
    };
    let soon = reminder.run_at.at.duration_since(now.timestamp()) <= STAYS_WITHIN;
    let must = soon || says(reminder.prompt.as_str()) || says(&reminder.description);
    if must || !matches!(reminder.target(), JobTarget::Main(_)) {
        return None;
    }
    let at = reminder.run_at.at.to_zoned(now.time_zone().clone()).checked_add(1.day()).ok()?;
    let mut next = reminder.clone();
    next.run_at = Moment::of(&at);
    Some(next)
}

fn summary(moved: &[String], stays: &[String]) -> String {
    let lines: Vec<String> = moved.iter().map(|name| format!("- {name}")).collect();
    let stays = match stays {
        [] => String::new(),
        stays => format!("\nthis stays today: {}", stays.join(", ")),
    };
    format!("a lighter day. moved to tomorrow:\n{}{stays}\n`undo` brings it back.", lines.join("\n"))
}
