//! The greeting at start: detected values, and how to change them.

use std::io::IsTerminal;

use crate::app::Application;
use crate::greeting_facts::UserStatus;
use crate::printer::print;
use crate::settings::{
    Accounts, Backend, Discord, Integrations, MailBackend, ModelConfig, Settings, WithSource,
};

/// The width of the column of detected values.
const VALUE_WIDTH: usize = 44;

/// Prints the greeting before the first prompt.
pub fn print_greeting(settings: &Settings, house: &Application) {
    let WithSource { value: names, source: from } = settings.names_with(house.known.name.as_deref());
    let zone = settings.zone.value.iana_name().unwrap_or("UTC");
    print(&format!(
        "ollim-bot {} · {}",
        env!("CARGO_PKG_VERSION"),
        model_line(settings, house.known.model.as_deref())
    ));
    print_guess("you", &format!("{} (from {from})", names.user), "/name ...");
    print_guess("time zone", &format!("{zone} (from {})", settings.zone.source), "OLLIM_TIMEZONE");
    print_guess("quiet", &house.known.quiet, "/quiet 23-7");
    print_guess("data", &settings.paths.root().display().to_string(), "OLLIM_DATA_DIR");
    if let Some(link) = &house.page_link {
        print(&format!("  page       {link}"));
        print("             (this link works once; `ollim-bot open` makes another)");
    }
    for notice in &house.notices {
        print(&format!("  note       {notice}"));
    }
    if house.known.user == UserStatus::New && std::io::stdin().is_terminal() {
        print("\ntry:  call the dentist tomorrow at 10");
    }
}

/// Prints one detected value and what changes it.
fn print_guess(name: &str, value: &str, change: &str) {
    print(&format!("  {name:<10} {value:<VALUE_WIDTH$} change: {change}"));
}

/// Describes the model: the one the user chose, or else that of the settings file.
fn model_line(settings: &Settings, chosen: Option<&str>) -> String {
    match &settings.model {
        ModelConfig::Offline | ModelConfig::MissingKey(_) => {
            format!("no model{}", network_line(&settings.integrations))
        }
        ModelConfig::Anthropic(brain) => {
            format!("{} · what you say goes to {}", chosen.unwrap_or(&brain.model), brain.base_url)
        }
        ModelConfig::OpenAi(brain) => {
            format!("{} · what you say goes to {}", chosen.unwrap_or(&brain.model), brain.base_url)
        }
        ModelConfig::Claude(brain) => {
            let model = chosen.or(brain.runtime.model.as_deref()).unwrap_or("its own choice of model");
            format!("{model} · what you say goes where {} sends it", brain.program.display())
        }
    }
}

/// Describes which remote services are used without a model.
fn network_line(places: &Integrations) -> String {
    let Accounts { tasks, calendar, mail, .. } = &places.accounts;
    let kept_by = |at: fn(&Backend) -> bool| at(tasks) || at(calendar);
    let elsewhere = [
        ("discord", matches!(places.discord, Discord::On { .. })),
        ("your calendar server", kept_by(|keeper| matches!(keeper, Backend::CalDav(_)))),
        ("google", kept_by(|keeper| matches!(keeper, Backend::Google))),
        ("your mailbox", matches!(mail, MailBackend::Imap { .. })),
        ("who takes your metrics", places.telemetry.export_to.is_some()),
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

    fn model_text(variables: &[(&str, &str)]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().display().to_string();
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some(place.clone()),
            _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
        };
        model_line(&Settings::read(&Environment::new(known)).unwrap(), None)
    }

    #[test]
    fn chosen_model_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().display().to_string();
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some(place.clone()),
            "ANTHROPIC_API_KEY" => Some("sk-ant-test".to_owned()),
            _ => None,
        };
        let settings = Settings::read(&Environment::new(known)).unwrap();
        let told = model_line(&settings, Some("claude-opus-5-5"));
        assert!(told.starts_with("claude-opus-5-5 · what you say goes to "), "{told}");
    }

    #[test]
    fn local_only_claim_requires_no_remote_services() {
        assert_eq!(model_text(&[]), "no model, no discord · everything stays on this machine");
        let discord = ("DISCORD_TOKEN", "MTIz.abc.def");
        assert_eq!(model_text(&[discord]), "no model · i talk to nobody elsewhere but discord");
        let server = [
            ("OLLIM_CALDAV_URL", "https://cloud.example.org"),
            ("OLLIM_CALDAV_USER", "me"),
            ("OLLIM_CALDAV_PASSWORD", "x"),
        ];
        assert_eq!(
            model_text(&[&[discord][..], &server[..]].concat()),
            "no model · i talk to nobody elsewhere but discord and your calendar server"
        );
        assert!(model_text(&[("DISCORD_TOKEN", "two words")]).ends_with("everything stays on this machine"));
    }
}
