//! Autocompletion of command options, above all how a text with a time is read.

use domain::assistant::Plans;
use domain::effort::Effort;
use domain::intent::{self, Intent};
use domain::model::SHORT_NAMES;
use domain::permission::Mode;
use domain::phrase::{self, Habits, ParsedPhrase, Timing, describe, format_exact};
use domain::schedule::JobSpec;
use domain::settings::{NotificationSetting, Setting, TimeoutSetting};
use jiff::{ToSpan, Unit, Zoned};

use super::markup::truncate;
use super::queries::{habits, plans};
use super::table::MAX_CHOICES;
use crate::discord::dm::Shared;
use crate::discord::events::OptionValue;

/// Maximum length of the label or value of a choice, in characters.
const MAX_CHOICE: usize = 100;

/// Label and value of a choice.
type OptionCompletion = (String, String);

/// Returns the completions for the option `focused` of the command `name`.
pub(super) async fn completions(
    shared: &Shared,
    name: &str,
    given: &[OptionValue],
    focused: &OptionValue,
) -> Vec<OptionCompletion> {
    let now = shared.ports.clock.now();
    let typed = focused.value.trim();
    let all = match (name, focused.name.as_str()) {
        ("remind", _) => readings(typed, &now, &habits(shared).await),
        ("today", _) => day_completions(typed, &now, &habits(shared).await),
        ("pause", _) => pause_ends(typed, &now, &habits(shared).await),
        ("config", "value") => setting_values(given, typed),
        ("reminders" | "routines" | "why", _) => match plans(shared).await {
            Ok(plans) => plan_names(&plans, name, typed),
            Err(_) => Vec::new(),
        },
        _ => Vec::new(),
    };
    let fits = |(name, value): &OptionCompletion| {
        !name.trim().is_empty() && !value.is_empty() && length(value) <= MAX_CHOICE
    };
    let fitted = |(name, value): OptionCompletion| (truncate(&name, MAX_CHOICE), value);
    all.into_iter().filter(fits).map(fitted).take(MAX_CHOICES).collect()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Shows how the text is read, such as `mon 16 nov 10:00 · in 19 h · call the dentist`, and the
/// alternative reading if there is one.
fn readings(typed: &str, now: &Zoned, habits: &Habits) -> Vec<OptionCompletion> {
    if typed.is_empty() {
        return Vec::new();
    }
    let mut reading = phrase::parse(typed, now, habits);
    if let Intent::Plan(meant) = intent::parse(typed, now, habits)
        && meant.when.is_some()
    {
        reading = meant;
    }
    let ParsedPhrase { text: what, when, alternative: other, notes } = reading;
    let offer = |when: &Timing, value: String| (format!("{} · {what}", describe(when, now, &[])), value);
    let Some(when) = when else {
        if let Some(trouble) = notes.iter().find(|note| note.is_error()) {
            return vec![(trouble.to_string(), typed.to_owned())];
        }
        let quick = habits.quick_times(now).into_iter();
        return quick
            .map(|quick| exact_completion(typed, &quick.at, now))
            .chain([inbox_completion(typed)])
            .collect();
    };
    let other = other.and_then(|other| match &other {
        Timing::Once(at) => Some(exact_completion(&what, at, now)),
        Timing::Lead { .. } | Timing::Recurring(_) | Timing::Cue(_) => None,
    });
    [offer(&when, typed.to_owned())].into_iter().chain(other).collect()
}

/// Returns the completion of `what` at exactly this time.
fn exact_completion(what: &str, at: &Zoned, now: &Zoned) -> OptionCompletion {
    let here = whole_minute(at.with_time_zone(now.time_zone().clone()));
    let told = describe(&Timing::Once(here.clone()), now, &[]);
    (format!("{told} · {what}"), format!("{what} {}", format_exact(&here)))
}

/// Rounds to a whole minute.
fn whole_minute(at: Zoned) -> Zoned {
    at.round(Unit::Minute).unwrap_or(at)
}

fn inbox_completion(typed: &str) -> OptionCompletion {
    (truncate(&format!("no time: keep it in the inbox · {typed}"), MAX_CHOICE), typed.to_owned())
}

fn day_completions(typed: &str, now: &Zoned, habits: &Habits) -> Vec<OptionCompletion> {
    let name = |ahead: i64| {
        let day = now.date().checked_add(ahead.days()).ok()?;
        Some((day.strftime("%A %-d %b").to_string().to_lowercase(), day.strftime("%-d %b %Y").to_string()))
    };
    let near = [("today".to_owned(), "today".to_owned()), ("tomorrow".to_owned(), "tomorrow".to_owned())];
    let days = near.into_iter().chain((2..=7).filter_map(name));
    let typed = typed.to_lowercase();
    let found: Vec<OptionCompletion> = days.filter(|(name, _)| name.contains(&typed)).collect();
    match (found.is_empty(), intent::parse(&typed, now, habits)) {
        (true, Intent::List(_)) => vec![(typed.clone(), typed)],
        (_, _) => found,
    }
}

fn pause_ends(typed: &str, now: &Zoned, habits: &Habits) -> Vec<OptionCompletion> {
    let quick = habits.quick_times(now).into_iter().map(|quick| {
        let here = whole_minute(quick.at.with_time_zone(now.time_zone().clone()));
        (describe(&Timing::Once(here.clone()), now, &[]), format_exact(&here))
    });
    match (typed, phrase::parse(typed, now, habits).when) {
        ("", _) => quick.collect(),
        (_, Some(when @ Timing::Once(_))) => vec![(describe(&when, now, &[]), typed.to_owned())],
        (_, _) => Vec::new(),
    }
}

/// Returns the known values of the chosen setting.
fn setting_values(given: &[OptionValue], typed: &str) -> Vec<OptionCompletion> {
    let key = given.iter().find(|given| given.name == "key").map(|given| given.value.as_str());
    let Some(setting) = key.and_then(|key| Setting::from_name(key).ok()) else { return Vec::new() };
    let known: Vec<&str> = match setting {
        Setting::ModelMain | Setting::ModelFork => SHORT_NAMES.into_iter().chain(["default"]).collect(),
        Setting::ThinkingMain | Setting::ThinkingFork => {
            vec!["auto", "off", "adaptive", "8000", "32000", "64000", "default"]
        }
        Setting::EffortMain | Setting::EffortBackground => {
            Effort::ALL.map(Effort::as_str).into_iter().chain(["default"]).collect()
        }
        Setting::PermissionMode => Mode::ALL.map(Mode::as_str).to_vec(),
        Setting::AutoUpdate => vec!["on", "off"],
        Setting::Timeout(TimeoutSetting::BgFork) => vec!["600", "1800", "3600"],
        Setting::Timeout(TimeoutSetting::ForkIdle) => vec!["10", "30", "60"],
        Setting::AutoUpdateInterval => vec!["60", "360", "1440"],
        Setting::AutoUpdateHour => vec!["3", "6", "12"],
        Setting::Notification(NotificationSetting::Quiet) => vec!["22-8", "23-7", "off"],
        Setting::Notification(NotificationSetting::Digest) => vec!["8:30 17:30", "18:00", "off"],
        Setting::Notification(NotificationSetting::PingCaps) => vec!["6 45", "3 90", "off"],
        Setting::Notification(NotificationSetting::FollowUp) => vec!["10", "20", "60", "off"],
        Setting::DailyLimit => vec!["2", "5", "10", "5M", "off", "default"],
        Setting::Name => vec!["default"],
    };
    let begins = |known: &&str| known.to_lowercase().starts_with(&typed.to_lowercase());
    known.into_iter().filter(begins).map(|known| (known.to_owned(), known.to_owned())).collect()
}

/// Returns the plans whose names contain the typed text.
fn plan_names(plans: &Plans, command: &str, typed: &str) -> Vec<OptionCompletion> {
    let typed = typed.to_lowercase();
    let all =
        plans.agenda.plans().filter(|(_, plan)| plan.job.display_name().to_lowercase().contains(&typed));
    all.filter_map(|(source, plan)| {
        let name = plan.job.display_name();
        match (command, &plan.job.spec) {
            ("why", _) => Some((name, source.to_string())),
            ("routines", JobSpec::Routine(routine)) => Some((name, routine.id.to_string())),
            ("reminders", JobSpec::Reminder(_)) => {
                Some((truncate(&name, MAX_CHOICE), truncate(&name, MAX_CHOICE)))
            }
            (_, JobSpec::Routine(_) | JobSpec::Reminder(_)) => None,
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-11-15T14:33:20[Europe/Madrid]".parse().unwrap()
    }

    fn read(typed: &str) -> Vec<String> {
        readings(typed, &now(), &Habits::default())
            .into_iter()
            .map(|(name, value)| format!("{name} => {value}"))
            .collect()
    }

    #[test]
    fn completions_show_how_the_text_is_read() {
        assert_eq!(
            read("call the dentist tomorrow at 10"),
            ["mon 16 nov 10:00 · in 19 h 27 min · call the dentist => call the dentist tomorrow at 10"]
        );
        assert_eq!(read(""), Vec::<String>::new());
        let untimed = read("call the dentist");
        assert_eq!(
            untimed[0],
            "today 15:33 · in 1 h · call the dentist => call the dentist sun 15 nov 2026 15:33"
        );
        assert!(untimed.last().unwrap().starts_with("no time: keep it in the inbox"), "{untimed:?}");
    }

    #[test]
    fn completions_are_read_back_as_offered() {
        for (_, value) in readings("call the dentist", &now(), &Habits::default()).iter().take(3) {
            let again = readings(value, &now(), &Habits::default());
            assert!(again[0].0.ends_with("· call the dentist"), "{again:?}");
        }
        for (_, value) in day_completions("", &now(), &Habits::default()) {
            assert!(matches!(intent::parse(&value, &now(), &Habits::default()), Intent::List(_)), "{value}");
        }
    }

    /// SL-13: the completions of a value depend on the setting.
    #[test]
    fn completions_depend_on_the_setting() {
        let key = |key: &str| vec![OptionValue { name: "key".to_owned(), value: key.to_owned() }];
        let told = |offers: Vec<OptionCompletion>| {
            offers.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(told(setting_values(&key("auto_update"), "o")), "on off");
        assert_eq!(told(setting_values(&key("permission_mode"), "by")), "bypassPermissions");
        assert_eq!(told(setting_values(&[], "")), "");
    }

    /// A bare hour is completed according to the user's waking hours.
    #[test]
    fn a_bare_hour_is_completed_by_the_users_waking_hours() {
        let late = domain::attention::QuietHours::parse("4-12").unwrap().habits();
        let offered = |habits: &Habits| readings("call mum at 11", &now(), habits).remove(0).0;
        assert_ne!(offered(&late), offered(&Habits::default()));
        assert!(offered(&late).contains(" 23:00 "), "{}", offered(&late));
    }
}
