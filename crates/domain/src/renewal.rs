//! Updates and restarts of the program: decides when they may happen.

use jiff::{SignedDuration, Timestamp, Zoned};

use crate::attention::Quiet;
use crate::settings::Updates;

/// A request of the user to the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renew {
    /// Install the newest version, if there is one.
    Update,
    Restart,
}

/// A question of the program before it updates or restarts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// May it check for a new version? The time is that of the last check.
    Look(Option<Timestamp>),
    /// May it install the new version?
    ByMyself,
    /// May it restart into the installed version?
    Made,
    /// May it restart at the user's request?
    Asked,
}

/// UP-3: Returns whether a check for a new version is due.
pub fn may_look(updates: &Updates, last: Option<Timestamp>, now: &Zoned) -> bool {
    let every = SignedDuration::from_mins(i64::from(updates.interval_minutes));
    updates.automatic && last.is_none_or(|last| now.timestamp().duration_since(last) >= every)
}

/// UP-4, L3: Returns whether this is the hour of automatic updates. If that is in quiet hours, it
/// is the hour in which they end.
pub fn is_the_hour(updates: &Updates, quiet: &Quiet, now: &Zoned) -> bool {
    let hour = i8::try_from(updates.hour).unwrap_or_default();
    let Ok(wanted) = now.with().hour(hour).minute(0).second(0).subsec_nanosecond(0).build() else {
        return false;
    };
    let kept = match quiet.until(&wanted) {
        Some(until) => until.to_zoned(now.time_zone().clone()),
        None => wanted,
    };
    updates.automatic && quiet.until(now).is_none() && now.hour() == kept.hour()
}

/// L3: Returns whether an unrequested restart would fall into quiet hours.
pub fn disturbs(quiet: &Quiet, now: &Zoned) -> bool {
    quiet.until(now).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Zoned {
        format!("2026-11-15T{time}[Europe/Madrid]").parse().unwrap()
    }

    /// UP-3: Checks follow the configured interval if updates are automatic.
    #[test]
    fn it_looks_as_often_as_it_is_told_to() {
        let on = Updates { automatic: true, ..Updates::default() };
        let last = Some(at("08:00:00").timestamp());
        assert!(may_look(&on, None, &at("08:00:00")));
        assert!(!may_look(&on, last, &at("08:59:59")));
        assert!(may_look(&on, last, &at("09:00:00")));
        assert!(!may_look(&Updates::default(), None, &at("08:00:00")), "nobody wants it");
    }

    /// UP-4, L3: An automatic update runs in its hour, or after quiet hours.
    #[test]
    fn it_renews_itself_in_its_hour_and_never_when_it_is_quiet() {
        let on = Updates { automatic: true, hour: 6, ..Updates::default() };
        let check = |quiet: &str, time: &str, may: bool| {
            let quiet = Quiet::read(quiet).unwrap();
            assert_eq!(is_the_hour(&on, &quiet, &at(time)), may, "{quiet} {time}");
        };
        check("off", "06:00:00", true);
        check("off", "06:59:59", true);
        check("off", "07:00:00", false);
        check("22-8", "06:30:00", false);
        check("22-8", "07:59:59", false);
        check("22-8", "08:00:00", true);
        check("22-8", "09:00:00", false);
        check("1-6", "05:59:59", false);
        check("1-6", "06:00:00", true);
        assert!(!is_the_hour(&Updates { automatic: false, ..on }, &Quiet::Never, &at("06:30:00")));
    }

    /// L3: An installed update waits until quiet hours are over, however long the installation
    /// took.
    #[test]
    fn what_it_made_by_itself_waits_until_it_is_not_quiet() {
        let check = |quiet: &str, time: &str, waits: bool| {
            let quiet = Quiet::read(quiet).unwrap();
            assert_eq!(disturbs(&quiet, &at(time)), waits, "{quiet} {time}");
        };
        check("off", "03:00:00", false);
        check("22-8", "21:59:59", false);
        check("22-8", "22:00:00", true);
        check("22-8", "00:30:00", true);
        check("22-8", "07:59:59", true);
        check("22-8", "08:00:00", false);
        check("1-6", "00:59:59", false);
        check("1-6", "01:00:00", true);
        check("1-6", "06:00:00", false);
    }
}
