//! Future times of a plan.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::agenda::pause_end;
use super::{Agenda, JobSpec, Plan};

impl Agenda {
    /// The times of `plan` from `from` (inclusive) to `to` (exclusive), without times in a pause.
    pub fn future_times<'a>(
        &self,
        plan: &'a Plan,
        (from, to): (Timestamp, Timestamp),
        zone: &'a TimeZone,
    ) -> impl Iterator<Item = Timestamp> + use<'a> {
        let just_before = from.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(from);
        let first = plan.next.and_then(|next| match &plan.job.spec {
            JobSpec::Routine(_) if next >= from => Some(next),
            JobSpec::Routine(routine) => {
                let rest = pause_end(plan.job.firing_policy().pause)?.max(pause_end(self.pause())?);
                routine.recurrence.next(just_before.max(rest), zone)
            }
            JobSpec::Reminder(_) => Some(next).filter(|next| *next >= from),
        });
        let following = move |at: &Timestamp| match &plan.job.spec {
            JobSpec::Routine(routine) => routine.recurrence.next(*at, zone),
            JobSpec::Reminder(_) => None,
        };
        std::iter::successors(first, following).take_while(move |at| *at < to)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::schedule::{
        Cron, ItemId, JobTarget, Moment, PauseState, PlannedJob, Prompt, Recurrence, Reminder, Routine,
    };

    fn time(text: &str) -> Timestamp {
        format!("2026-11-{text}Z").parse().unwrap()
    }

    fn agenda(what: JobSpec) -> (Agenda, Plan) {
        let mut agenda = Agenda::default();
        let planned = Arc::new(PlannedJob { spec: what, file: "routines/mail.md".to_owned() });
        agenda.plan(Arc::clone(&planned), None, time("16T10:00"), &TimeZone::UTC);
        let plan = agenda.get(&planned.source()).unwrap().clone();
        (agenda, plan)
    }

    fn routine(cron: &str) -> Routine {
        let rhythm = Recurrence::new(Cron::parse(cron).unwrap());
        Routine::new(ItemId::parse("mail").unwrap(), rhythm, Prompt::new("look"))
    }

    fn format_times((agenda, plan): &(Agenda, Plan), from: &str, to: &str) -> String {
        let zone = TimeZone::UTC;
        let times = agenda.future_times(plan, (time(from), time(to)), &zone);
        times.map(|at| at.strftime("%d %H:%M").to_string()).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn future_times_start_at_now_or_from_and_end_before_to() {
        let every_six_hours = agenda(JobSpec::Routine(routine("0 */6 * * *")));
        assert_eq!(format_times(&every_six_hours, "16T00:00", "17T00:00"), "16 12:00, 16 18:00");
        assert_eq!(format_times(&every_six_hours, "20T06:00", "20T18:00"), "20 06:00, 20 12:00");
        assert_eq!(format_times(&every_six_hours, "15T00:00", "16T00:00"), "");
    }

    #[test]
    fn a_paused_plan_has_no_future_times() {
        let mut resting = routine("0 * * * *");
        resting.firing_policy.pause =
            PauseState::Until(Moment::parse("2026-11-18T22:00Z", &TimeZone::UTC).unwrap());
        assert_eq!(
            format_times(&agenda(JobSpec::Routine(resting)), "17T00:00", "19T00:00"),
            "18 22:00, 18 23:00"
        );
        let mut stopped = routine("0 * * * *");
        stopped.firing_policy.pause = PauseState::Indefinite;
        assert_eq!(format_times(&agenda(JobSpec::Routine(stopped)), "17T00:00", "19T00:00"), "");
    }

    #[test]
    fn a_reminder_has_one_future_time() {
        let due = Moment::parse("2026-11-17T09:00Z", &TimeZone::UTC).unwrap();
        let id = ItemId::parse("tea").unwrap();
        let tea =
            agenda(JobSpec::Reminder(Reminder::new(id, due, JobTarget::main(), Prompt::new("tea")).unwrap()));
        assert_eq!(format_times(&tea, "16T00:00", "30T00:00"), "17 09:00");
        assert_eq!(format_times(&tea, "16T00:00", "17T00:00"), "");
    }
}
