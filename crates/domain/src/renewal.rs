//! Renewal: when the program may look for a newer one of itself, and when it may become it.

use jiff::{SignedDuration, Timestamp, Zoned};

use crate::attention::Quiet;
use crate::settings::Updates;

/// What the human can want of the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renew {
    /// To become the newest version, if there is one.
    Update,
    /// To start again.
    Restart,
}

/// What the program asks before it does something to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// May i look for a newer one by myself? It was last looked for then.
    Look(Option<Timestamp>),
    /// May i become the newer one by myself?
    ByMyself,
    /// May i end now, to become the newer one that i made by myself?
    Made,
    /// May i end now, because the human said so?
    Asked,
}

/// UP-3: whether it is time to look.
pub fn may_look(updates: &Updates, last: Option<Timestamp>, now: &Zoned) -> bool {
    let every = SignedDuration::from_mins(i64::from(updates.interval_minutes));
    updates.automatic && last.is_none_or(|last| now.timestamp().duration_since(last) >= every)
}

/// UP-4, L3: whether this is the hour. If it lies in quiet hours, the one in which they end is taken.
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

/// L3: whether somebody who sleeps would find that it ended unasked.
pub fn disturbs(quiet: &Quiet, now: &Zoned) -> bool {
    quiet.until(now).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: &str) -> Zoned {
        format!("2026-11-15T{time}[Europe/Madrid]").parse().unwrap()
    }

    /// UP-3: it looks when that is wanted, and as often as that is wanted.
    #[test]
    fn it_looks_as_often_as_it_is_told_to() {
        let on = Updates { automatic: true, ..Updates::default() };
        let last = Some(at("08:00:00").timestamp());
        assert!(may_look(&on, None, &at("08:00:00")));
        assert!(!may_look(&on, last, &at("08:59:59")));
        assert!(may_look(&on, last, &at("09:00:00")));
        assert!(!may_look(&Updates::default(), None, &at("08:00:00")), "nobody wants it");
    }

    /// UP-4, L3: it renews itself in its hour; never when it is quiet, but when that is over.
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

    /// L3: what was made by itself takes its place only when it is not quiet any more, however long it took to make.
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
