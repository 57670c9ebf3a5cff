//! The greeting: what was guessed, and how to change it. Nothing is asked, and one thing is offered.

use std::io::IsTerminal;

use crate::house::House;
use crate::known::Acquaintance;
use crate::settings::{Brain, Discord, Guessed, Settings};
use crate::voice::print;

/// How wide the column is that says what was guessed.
const WIDE: usize = 44;

/// Greets the human before the first prompt.
pub fn greet(settings: &Settings, house: &House) {
    let Guessed { value: names, from } = settings.names_with(house.known.name.as_deref());
    let zone = settings.zone.value.iana_name().unwrap_or("UTC");
    print(&format!("ollim-bot {} · {}", env!("CARGO_PKG_VERSION"), brain(settings)));
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

/// One guess, and what changes it.
fn guess(name: &str, value: &str, change: &str) {
    print(&format!("  {name:<10} {value:<WIDE$} change: {change}"));
}

fn brain(settings: &Settings) -> String {
    let discord = match &settings.places.discord {
        Discord::Off => ", no discord",
        Discord::On { .. } | Discord::Wrong(_) => "",
    };
    match &settings.brain {
        Brain::Offline => format!("no model{discord} · everything stays on this machine"),
        Brain::Anthropic(brain) => format!("{} · what you say goes to {}", brain.model, brain.base_url),
        Brain::OpenAi(brain) => format!("{} · what you say goes to {}", brain.model, brain.base_url),
        Brain::Claude(brain) => {
            let model = brain.choices.model.as_deref().unwrap_or("its own choice of model");
            format!("{model} · what you say goes where {} sends it", brain.program.display())
        }
    }
}
