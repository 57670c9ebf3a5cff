//! Autocompletion of command options, above all how a text with a time is read.

use domain::assistant::Plans;
use domain::brain::{self, Meant};
use domain::effort::Effort;
use domain::model::SHORT_NAMES;
use domain::permission::Mode;
use domain::phrase::{self, Habits, Reading, When, tell, tell_exact};
use domain::schedule::What;
use domain::settings::{CalmSetting, Setting, Wait};
use jiff::{ToSpan, Unit, Zoned};

use super::asking::{habits, plans};
use super::table::CHOICES;
use super::written::cut;
use crate::discord::dm::Shared;
use crate::discord::events::Given;

/// Maximum length of the label or value of a choice, in characters.
const LONGEST: usize = 100;

/// Label and value of a choice.
type Offer = (String, String);

/// Returns the completions for the option `focused` of the command `name`.
pub(super) async fn offers(shared: &Shared, name: &str, given: &[Given], focused: &Given) -> Vec<Offer> {
    let now = shared.ports.clock.now();
    let typed = focused.value.trim();
    let all = match (name, focused.name.as_str()) {
        ("remind", _) => readings(typed, &now, &habits(shared).await),
        ("today", _) => days(typed, &now, &habits(shared).await),
        ("pause", _) => ends(typed, &now, &habits(shared).await),
        ("config", "value") => values(given, typed),
        ("reminders" | "routines" | "why", _) => match plans(shared).await {
            Ok(plans) => names(&plans, name, typed),
            Err(_) => Vec::new(),
        },
        _ => Vec::new(),
    };
    let fits =
        |(name, value): &Offer| !name.trim().is_empty() && !value.is_empty() && length(value) <= LONGEST;
    let fitted = |(name, value): Offer| (cut(&name, LONGEST), value);
    all.into_iter().filter(fits).map(fitted).take(CHOICES).collect()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Shows how the text is read, such as `mon 16 nov 10:00 · in 19 h · call the dentist`, and the
/// alternative reading if there is one.
fn readings(typed: &str, now: &Zoned, habits: &Habits) -> Vec<Offer> {
    if typed.is_empty() {
        return Vec::new();
    }
    let mut reading = phrase::read(typed, now, habits);
    if let Meant::Plan(meant) = brain::read(typed, now, habits)
        && meant.when.is_some()
    {
        reading = meant;
    }
    let Reading { what, when, other, notes } = reading;
    let offer = |when: &When, value: String| (format!("{} · {what}", tell(when, now, &[])), value);
    let Some(when) = when else {
        if let Some(trouble) = notes.iter().find(|note| note.is_trouble()) {
            return vec![(trouble.to_string(), typed.to_owned())];
        }
        let quick = habits.quick(now).into_iter();
        return quick.map(|quick| exact(typed, &quick.at, now)).chain([kept(typed)]).collect();
    };
    let other = other.and_then(|other| match &other {
        When::Once(at) => Some(exact(&what, at, now)),
        When::Lead { .. } | When::Repeats(_) | When::Cue(_) => None,
    });
    [offer(&when, typed.to_owned())].into_iter().chain(other).collect()
}

/// Returns the completion of `what` at exactly this time.
fn exact(what: &str, at: &Zoned, now: &Zoned) -> Offer {
    let here = whole_minute(at.with_time_zone(now.time_zone().clone()));
    let told = tell(&When::Once(here.clone()), now, &[]);
    (format!("{told} · {what}"), format!("{what} {}", tell_exact(&here)))
}

/// Rounds to a whole minute.
fn whole_minute(at: Zoned) -> Zoned {
    at.round(Unit::Minute).unwrap_or(at)
}

fn kept(typed: &str) -> Offer {
    (cut(&format!("no time: keep it in the inbox · {typed}"), LONGEST), typed.to_owned())
}

fn days(typed: &str, now: &Zoned, habits: &Habits) -> Vec<Offer> {
    let name = |ahead: i64| {
        let day = now.date().checked_add(ahead.days()).ok()?;
        Some((day.strftime("%A %-d %b").to_string().to_lowercase(), day.strftime("%-d %b %Y").to_string()))
    };
    let near = [("today".to_owned(), "today".to_owned()), ("tomorrow".to_owned(), "tomorrow".to_owned())];
    let days = near.into_iter().chain((2..=7).filter_map(name));
    let typed = typed.to_lowercase();
    let found: Vec<Offer> = days.filter(|(name, _)| name.contains(&typed)).collect();
    match (found.is_empty(), brain::read(&typed, now, habits)) {
        (true, Meant::List(_)) => vec![(typed.clone(), typed)],
        (_, _) => found,
    }
}

fn ends(typed: &str, now: &Zoned, habits: &Habits) -> Vec<Offer> {
    let quick = habits.quick(now).into_iter().map(|quick| {
        let here = whole_minute(quick.at.with_time_zone(now.time_zone().clone()));
        (tell(&When::Once(here.clone()), now, &[]), tell_exact(&here))
    });
    match (typed, phrase::read(typed, now, habits).when) {
        ("", _) => quick.collect(),
        (_, Some(when @ When::Once(_))) => vec![(tell(&when, now, &[]), typed.to_owned())],
        (_, _) => Vec::new(),
    }
}

/// Returns the known values of the chosen setting.
fn values(given: &[Given], typed: &str) -> Vec<Offer> {
    let key = given.iter().find(|given| given.name == "key").map(|given| given.value.as_str());
    let Some(setting) = key.and_then(|key| Setting::named(key).ok()) else { return Vec::new() };
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
        Setting::Timeout(Wait::BgFork) => vec!["600", "1800", "3600"],
        Setting::Timeout(Wait::ForkIdle) => vec!["10", "30", "60"],
        Setting::AutoUpdateInterval => vec!["60", "360", "1440"],
        Setting::AutoUpdateHour => vec!["3", "6", "12"],
        Setting::Calm(CalmSetting::Quiet) => vec!["22-8", "23-7", "off"],
        Setting::Calm(CalmSetting::Digest) => vec!["8:30 17:30", "18:00", "off"],
        Setting::Calm(CalmSetting::PingCaps) => vec!["6 45", "3 90", "off"],
        Setting::Calm(CalmSetting::FollowUp) => vec!["10", "20", "60", "off"],
        Setting::DailyLimit => vec!["2", "5", "10", "5M", "off", "default"],
        Setting::Name => vec!["default"],
    };
    let begins = |known: &&str| known.to_lowercase().starts_with(&typed.to_lowercase());
    known.into_iter().filter(begins).map(|known| (known.to_owned(), known.to_owned())).collect()
}

/// Returns the plans whose names contain the typed text.
fn names(plans: &Plans, command: &str, typed: &str) -> Vec<Offer> {
    let typed = typed.to_lowercase();
    let all = plans.agenda.plans().filter(|(_, plan)| plan.planned.name().to_lowercase().contains(&typed));
    all.filter_map(|(source, plan)| {
        let name = plan.planned.name();
        match (command, &plan.planned.what) {
            ("why", _) => Some((name, source.to_string())),
            ("routines", What::Routine(routine)) => Some((name, routine.id.to_string())),
            ("reminders", What::Reminder(_)) => Some((cut(&name, LONGEST), cut(&name, LONGEST))),
            (_, What::Routine(_) | What::Reminder(_)) => None,
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
    fn words_are_read_back_while_they_are_typed() {
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
    fn what_is_offered_means_what_it_says() {
        for (_, value) in readings("call the dentist", &now(), &Habits::default()).iter().take(3) {
            let again = readings(value, &now(), &Habits::default());
            assert!(again[0].0.ends_with("· call the dentist"), "{again:?}");
        }
        for (_, value) in days("", &now(), &Habits::default()) {
            assert!(matches!(brain::read(&value, &now(), &Habits::default()), Meant::List(_)), "{value}");
        }
    }

    /// SL-13: the completions of a value depend on the setting.
    #[test]
    fn a_setting_offers_what_it_can_be() {
        let key = |key: &str| vec![Given { name: "key".to_owned(), value: key.to_owned() }];
        let told =
            |offers: Vec<Offer>| offers.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ");
        assert_eq!(told(values(&key("auto_update"), "o")), "on off");
        assert_eq!(told(values(&key("permission_mode"), "by")), "bypassPermissions");
        assert_eq!(told(values(&[], "")), "");
    }

    /// A bare hour is completed according to the user's waking hours.
    #[test]
    fn a_bare_hour_is_read_by_the_hours_of_this_human() {
        let late = domain::attention::Quiet::read("4-12").unwrap().habits();
        let offered = |habits: &Habits| readings("call mum at 11", &now(), habits).remove(0).0;
        assert_ne!(offered(&late), offered(&Habits::default()));
        assert!(offered(&late).contains(" 23:00 "), "{}", offered(&late));
    }
}
