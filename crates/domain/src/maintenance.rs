//! Updates and restarts of the program: decides when they may happen.

use jiff::{SignedDuration, Timestamp, Zoned};

use crate::attention::QuietHours;
use crate::settings::UpdateSettings;

/// A request of the user to the program itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaintenanceRequest {
    /// Install the newest version, if there is one.
    Update,
    Restart,
}

/// A question of the program before it updates or restarts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaintenanceQuestion {
    /// May it check for a new version? The time is that of the last check.
    CheckForUpdate(Option<Timestamp>),
    /// May it install the new version?
    InstallUpdate,
    /// May it restart into the installed version?
    RestartIntoUpdate,
    /// May it restart at the user's request?
    RestartOnRequest,
}

/// UP-3: Returns whether a check for a new version is due.
pub fn is_check_due(updates: &UpdateSettings, last: Option<Timestamp>, now: &Zoned) -> bool {
    let every = SignedDuration::from_mins(i64::from(updates.interval_minutes));
    updates.automatic && last.is_none_or(|last| now.timestamp().duration_since(last) >= every)
}

/// UP-4, L3: Returns whether this is the hour of automatic updates. If that is in quiet hours, it
/// is the hour in which they end.
pub fn is_update_hour(updates: &UpdateSettings, quiet: &QuietHours, now: &Zoned) -> bool {
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
pub fn is_quiet(quiet: &QuietHours, now: &Zoned) -> bool {
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
    fn update_check_follows_its_interval() {
        let on = UpdateSettings { automatic: true, ..UpdateSettings::default() };
        let last = Some(at("08:00:00").timestamp());
        assert!(is_check_due(&on, None, &at("08:00:00")));
        assert!(!is_check_due(&on, last, &at("08:59:59")));
        assert!(is_check_due(&on, last, &at("09:00:00")));
        assert!(!is_check_due(&UpdateSettings::default(), None, &at("08:00:00")), "nobody wants it");
    }

    /// UP-4, L3: An automatic update runs in its hour, or after quiet hours.
    #[test]
    fn automatic_update_runs_in_its_hour_outside_quiet_hours() {
        let on = UpdateSettings { automatic: true, hour: 6, ..UpdateSettings::default() };
        let check = |quiet: &str, time: &str, may: bool| {
            let quiet = QuietHours::parse(quiet).unwrap();
            assert_eq!(is_update_hour(&on, &quiet, &at(time)), may, "{quiet} {time}");
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
        assert!(!is_update_hour(
            &UpdateSettings { automatic: false, ..on },
            &QuietHours::Never,
            &at("06:30:00")
        ));
    }

    /// L3: An installed update waits until quiet hours are over, however long the installation
    /// took.
    #[test]
    fn installed_update_waits_until_quiet_hours_end() {
        let check = |quiet: &str, time: &str, waits: bool| {
            let quiet = QuietHours::parse(quiet).unwrap();
            assert_eq!(is_quiet(&quiet, &at(time)), waits, "{quiet} {time}");
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
