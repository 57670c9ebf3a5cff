//! Future times of a plan.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::agenda::rested;
use super::{Agenda, Plan, What};

impl Agenda {
    /// The times of `plan` from `from` (inclusive) to `to` (exclusive), without times in a pause.
    pub fn ahead<'a>(
        &self,
        plan: &'a Plan,
        (from, to): (Timestamp, Timestamp),
        zone: &'a TimeZone,
    ) -> impl Iterator<Item = Timestamp> + use<'a> {
        let just_before = from.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(from);
        let first = plan.next.and_then(|next| match &plan.planned.what {
            What::Routine(_) if next >= from => Some(next),
            What::Routine(routine) => {
                let rest = rested(plan.planned.manner().rest)?.max(rested(self.rest())?);
                routine.rhythm.next(just_before.max(rest), zone)
            }
            What::Reminder(_) => Some(next).filter(|next| *next >= from),
        });
        let following = move |at: &Timestamp| match &plan.planned.what {
            What::Routine(routine) => routine.rhythm.next(*at, zone),
            What::Reminder(_) => None,
        };
        std::iter::successors(first, following).take_while(move |at| *at < to)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::schedule::{Charter, Cron, ItemId, Moment, Planned, Prompt, Reminder, Rest, Rhythm, Routine};

    fn time(text: &str) -> Timestamp {
        format!("2026-11-{text}Z").parse().unwrap()
    }

    fn agenda(what: What) -> (Agenda, Plan) {
        let mut agenda = Agenda::default();
        let planned = Arc::new(Planned { what, file: "routines/mail.md".to_owned() });
        agenda.plan(Arc::clone(&planned), None, time("16T10:00"), &TimeZone::UTC);
        let plan = agenda.get(&planned.source()).unwrap().clone();
        (agenda, plan)
    }

    fn routine(cron: &str) -> Routine {
        let rhythm = Rhythm::new(Cron::parse(cron).unwrap());
        Routine::new(ItemId::parse("mail").unwrap(), rhythm, Prompt::new("look"))
    }

    fn told((agenda, plan): &(Agenda, Plan), from: &str, to: &str) -> String {
        let zone = TimeZone::UTC;
        let times = agenda.ahead(plan, (time(from), time(to)), &zone);
        times.map(|at| at.strftime("%d %H:%M").to_string()).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn what_lies_ahead_begins_now_or_where_one_looks_and_has_an_end() {
        let every_six_hours = agenda(What::Routine(routine("0 */6 * * *")));
        assert_eq!(told(&every_six_hours, "16T00:00", "17T00:00"), "16 12:00, 16 18:00");
        assert_eq!(told(&every_six_hours, "20T06:00", "20T18:00"), "20 06:00, 20 12:00");
        assert_eq!(told(&every_six_hours, "15T00:00", "16T00:00"), "");
    }

    #[test]
    fn nothing_lies_ahead_while_a_plan_rests() {
        let mut resting = routine("0 * * * *");
        resting.manner.rest = Rest::Until(Moment::parse("2026-11-18T22:00Z", &TimeZone::UTC).unwrap());
        assert_eq!(told(&agenda(What::Routine(resting)), "17T00:00", "19T00:00"), "18 22:00, 18 23:00");
        let mut stopped = routine("0 * * * *");
        stopped.manner.rest = Rest::ForNow;
        assert_eq!(told(&agenda(What::Routine(stopped)), "17T00:00", "19T00:00"), "");
    }

    #[test]
    fn a_reminder_lies_ahead_once() {
        let due = Moment::parse("2026-11-17T09:00Z", &TimeZone::UTC).unwrap();
        let id = ItemId::parse("tea").unwrap();
        let tea =
            agenda(What::Reminder(Reminder::new(id, due, Charter::main(), Prompt::new("tea")).unwrap()));
        assert_eq!(told(&tea, "16T00:00", "30T00:00"), "17 09:00");
        assert_eq!(told(&tea, "16T00:00", "17T00:00"), "");
    }
}
