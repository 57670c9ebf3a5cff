//! The greeting at start: detected values, and how to change them.

use std::io::IsTerminal;

use crate::house::House;
use crate::known::Acquaintance;
use crate::settings::{Accounts, Brain, Discord, Guessed, Keeper, Mail, Places, Settings};
use crate::voice::print;

/// The width of the column of detected values.
const WIDE: usize = 44;

/// Prints the greeting before the first prompt.
pub fn greet(settings: &Settings, house: &House) {
    let Guessed { value: names, from } = settings.names_with(house.known.name.as_deref());
    let zone = settings.zone.value.iana_name().unwrap_or("UTC");
    print(&format!(
        "ollim-bot {} · {}",
        env!("CARGO_PKG_VERSION"),
        brain(settings, house.known.model.as_deref())
    ));
    guess("you", &format!("{} (from {from})", names.human), "/name ...");
    guess("time zone", &format!("{zone} (from {})", settings.zone.from), "OLLIM_TIMEZONE");
    guess("quiet", &house.known.quiet, "/quiet 23-7");
    guess("data", &settings.paths.root().display().to_string(), "OLLIM_DATA_DIR");
    if let Some(link) = &house.link {
        print(&format!("  page       {link}"));
        print("             (this link works once; `ollim-bot open` makes another)");
    }
    for notice in &house.notices {
        print(&format!("  note       {notice}"));
    }
    if house.known.human == Acquaintance::New && std::io::stdin().is_terminal() {
        print("\ntry:  call the dentist tomorrow at 10");
    }
}

/// Prints one detected value and what changes it.
fn guess(name: &str, value: &str, change: &str) {
    print(&format!("  {name:<10} {value:<WIDE$} change: {change}"));
}

/// Describes the model: the one the user chose, or else that of the settings file.
fn brain(settings: &Settings, chosen: Option<&str>) -> String {
    match &settings.brain {
        Brain::Offline | Brain::Keyless(_) => format!("no model{}", leaving(&settings.places)),
        Brain::Anthropic(brain) => {
            format!("{} · what you say goes to {}", chosen.unwrap_or(&brain.model), brain.base_url)
        }
        Brain::OpenAi(brain) => {
            format!("{} · what you say goes to {}", chosen.unwrap_or(&brain.model), brain.base_url)
        }
        Brain::Claude(brain) => {
            let model = chosen.or(brain.choices.model.as_deref()).unwrap_or("its own choice of model");
            format!("{model} · what you say goes where {} sends it", brain.program.display())
        }
    }
}

/// Describes which remote services are used without a model.
fn leaving(places: &Places) -> String {
    let Accounts { tasks, calendar, mail, .. } = &places.accounts;
    let kept_by = |at: fn(&Keeper) -> bool| at(tasks) || at(calendar);
    let elsewhere = [
        ("discord", matches!(places.discord, Discord::On { .. })),
        ("your calendar server", kept_by(|keeper| matches!(keeper, Keeper::CalDav(_)))),
        ("google", kept_by(|keeper| matches!(keeper, Keeper::Google))),
        ("your mailbox", matches!(mail, Mail::Imap { .. })),
        ("who takes your metrics", places.telemetry.sent_to.is_some()),
    ];
    let elsewhere: Vec<&str> = elsewhere.into_iter().filter(|(_, is)| *is).map(|(who, _)| who).collect();
    match elsewhere.as_slice() {
        [] => ", no discord · everything stays on this machine".to_owned(),
        [only] => format!(" · i talk to nobody elsewhere but {only}"),
        [others @ .., last] => format!(" · i talk to nobody elsewhere but {} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Environment;

    fn told(variables: &[(&str, &str)]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().display().to_string();
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some(place.clone()),
            _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
        };
        brain(&Settings::read(&Environment::new(known)).unwrap(), None)
    }

    #[test]
    fn the_model_that_was_chosen_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().display().to_string();
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some(place.clone()),
            "ANTHROPIC_API_KEY" => Some("sk-ant-test".to_owned()),
            _ => None,
        };
        let settings = Settings::read(&Environment::new(known)).unwrap();
        let told = brain(&settings, Some("claude-opus-5-5"));
        assert!(told.starts_with("claude-opus-5-5 · what you say goes to "), "{told}");
    }

    #[test]
    fn that_everything_stays_here_is_said_only_where_it_is_true() {
        assert_eq!(told(&[]), "no model, no discord · everything stays on this machine");
        let discord = ("DISCORD_TOKEN", "MTIz.abc.def");
        assert_eq!(told(&[discord]), "no model · i talk to nobody elsewhere but discord");
        let server = [
            ("OLLIM_CALDAV_URL", "https://cloud.example.org"),
            ("OLLIM_CALDAV_USER", "me"),
            ("OLLIM_CALDAV_PASSWORD", "x"),
        ];
        assert_eq!(
            told(&[&[discord][..], &server[..]].concat()),
            "no model · i talk to nobody elsewhere but discord and your calendar server"
        );
        assert!(told(&[("DISCORD_TOKEN", "two words")]).ends_with("everything stays on this machine"));
    }
}
