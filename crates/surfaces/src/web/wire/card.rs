//! A reminder that rang, on its way to the page and the terminal.

use domain::card::{Card, State};
use domain::post::Sheet;
use jiff::Zoned;
use serde::Serialize;

use super::embed::ButtonWire;
use crate::web::sessions::moment;

/// A card.
#[derive(Serialize)]
pub struct CardWire {
    pub id: String,
    pub words: String,
    pub rang: String,
    /// `open`, `done`, `moved` or `dropped`.
    pub state: &'static str,
    /// What it says now.
    pub says: String,
    /// A time that it speaks of.
    pub when: Option<String>,
    pub buttons: Vec<ButtonWire>,
    pub menu: Option<MenuWire>,
}

/// Something to choose from: what is chosen is sent with `press`.
#[derive(Serialize)]
pub struct MenuWire {
    pub label: String,
    pub press: String,
    pub options: Vec<String>,
}

impl CardWire {
    /// The card as it stands at `now`.
    pub fn new(card: &Card, now: &Zoned) -> Self {
        let Sheet { words, buttons, menu, when, .. } = card.sheet(now);
        let menu = menu.map(|menu| MenuWire { label: menu.label, press: menu.press, options: menu.options });
        Self {
            id: card.id.to_string(),
            words: card.words.clone(),
            rang: moment(card.rang, now.time_zone()),
            state: state(&card.state),
            says: words,
            when: when.map(|when| moment(when, now.time_zone())),
            buttons: buttons.iter().map(ButtonWire::from).collect(),
            menu,
        }
    }
}

fn state(state: &State) -> &'static str {
    match state {
        State::Open => "open",
        State::Done(_) => "done",
        State::Moved(..) => "moved",
        State::Dropped => "dropped",
    }
}
