//! Renders cards: on delivery, as follow-up, in a group, and in the digest menu.

use std::collections::BTreeSet;

use jiff::Zoned;

use super::plan::label;
use super::{Act, Card, CardId, DONE, DROP, KEEP, PICK, SNOOZES, State};
use crate::attention::{HeldFor, Telling};
use crate::cost::Source;
use crate::embed::{Action, Button, Style};
use crate::post::{Menu, OPTIONS, Sheet};
use crate::schedule::ItemId;

/// Added to a reminder that was snoozed often.
const KEEPS_MOVING: &str = "this one keeps moving.";
/// Templates of follow-ups, each suggesting a smaller task.
const SMALLER: [&str; 5] = [
    "smaller version: just open what you need for \"{}\". 2 minutes.",
    "smaller version: only the first step of \"{}\". stopping after it is fine.",
    "smaller version: two minutes of \"{}\". the rest can wait.",
    "smaller version: put what \"{}\" needs in front of you. that is all.",
    "smaller version: find one thing about \"{}\" that takes a minute.",
];
/// The separator between action and card in a menu option.
const BETWEEN: &str = " · ";
/// The maximum length of a card's text in a menu, in characters.
const NAMED: usize = 70;

/// The message of a reminder that the model did not phrase.
pub fn as_written(words: &str) -> String {
    format!("⏰ {words}")
}

/// The follow-up text of an unanswered card; the template depends on its text.
pub fn put_otherwise(card: &Card) -> String {
    let sum: usize = card.words.bytes().map(usize::from).sum();
    let template = SMALLER.get(sum % SMALLER.len()).copied().unwrap_or_default();
    template.replace("{}", &card.words)
}

/// The text of several reminders delivered together.
pub fn together(words: &[String]) -> String {
    let lines = words.iter().enumerate().map(|(place, words)| format!("{}. {words}", place + 1));
    let head = format!("⏰ {} things for now", words.len());
    [head].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// Renders a group of cards; `last` is the card whose action can be undone.
pub fn together_sheet(cards: &[&Card], last: Option<&CardId>) -> Sheet {
    let lines: Vec<String> = cards.iter().map(|card| card.line()).collect();
    let words = together(&lines);
    let open = cards.iter().enumerate().filter(|(_, card)| card.state == State::Open);
    let options: Vec<String> =
        open.clone().take(OPTIONS).map(|(place, card)| numbered(DONE, place + 1, &card.words)).collect();
    let first = open.map(|(_, card)| card).next();
    let menu = first.map(|first| picking(&first.id, "Which is done?", options));
    let tonight = first.map(|first| first.button("All to tonight", Style::Secondary, Act::Tonight));
    let last = cards.iter().find(|card| Some(&card.id) == last && card.state != State::Open);
    let buttons = tonight.into_iter().chain(last.map(|card| card.undo())).collect();
    Sheet { words, buttons, menu, ..Sheet::default() }
}

/// The menu for the unanswered reminders of a digest.
pub fn digest_menu(telling: &Telling) -> Option<Menu> {
    let asked: Vec<(CardId, String)> = telling
        .held
        .iter()
        .filter(|held| held.why == HeldFor::Unanswered)
        .filter_map(|held| {
            let Source::Reminder(id) = &held.source else { return None };
            Some((CardId(ItemId::parse(id).ok()?), named(&held.words)))
        })
        .take(OPTIONS / 3)
        .collect();
    // Menu options must be distinct.
    let mut told = BTreeSet::new();
    let asked: Vec<_> = asked.into_iter().filter(|(_, words)| told.insert(words.clone())).collect();
    let acts = ["tomorrow 09:00", DROP, KEEP];
    let options =
        asked.iter().flat_map(|(_, words)| acts.map(|act| format!("{act}{BETWEEN}{words}"))).collect();
    asked.first().map(|(id, _)| picking(id, "Keep, move or drop…", options))
}

/// Parses an option of a digest or card menu into an action and a predicate for its card.
pub fn chosen(option: &str) -> Option<(&str, impl Fn(&Card) -> bool)> {
    let (act, words) = option.split_once(BETWEEN)?;
    Some((act, move |card: &Card| named(&card.words) == words))
}

/// Parses an option of a group menu into an action and an open card.
pub fn chosen_of<'a>(option: &'a str, cards: &[&Card]) -> Option<(&'a str, CardId)> {
    let (act, rest) = option.split_once(BETWEEN)?;
    let (number, _) = rest.split_once(". ")?;
    let card = cards.get(number.parse::<usize>().ok()?.checked_sub(1)?)?;
    let same = option == numbered(act, number.parse().ok()?, &card.words);
    (same && card.state == State::Open).then(|| (act, card.id.clone()))
}

/// A group option with the position of its card, because several may have the same text.
fn numbered(act: &str, number: usize, words: &str) -> String {
    format!("{act}{BETWEEN}{number}. {}", named(words))
}

fn picking(id: &CardId, label: &str, options: Vec<String>) -> Menu {
    let press = Action::Card(id.clone(), Act::Pick(String::new())).press().unwrap_or_default();
    Menu { label: label.to_owned(), press, options }
}

fn named(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(NAMED).collect()
}

impl Card {
    /// Renders the card in its current state.
    pub fn sheet(&self, now: &Zoned) -> Sheet {
        self.suggestion_sheet().unwrap_or_else(|| self.reminder_sheet(now))
    }

    fn reminder_sheet(&self, now: &Zoned) -> Sheet {
        match &self.state {
            State::Open if self.snoozes >= SNOOZES => Sheet {
                words: format!("{}\n{KEEPS_MOVING}", self.said),
                buttons: vec![
                    self.button("Make it smaller", Style::Primary, Act::Split),
                    self.button("Pick a day", Style::Secondary, Act::Move(String::new())),
                    self.button("Drop it", Style::Secondary, Act::Drop),
                ],
                menu: Some(picking(
                    &self.id,
                    "Or…",
                    [DONE, "in 1 hour", "tomorrow 09:00"].map(|act| self.option(act)).to_vec(),
                )),
                ..Sheet::default()
            },
            State::Open => Sheet {
                words: self.said.clone(),
                buttons: vec![
                    self.button("Done", Style::Success, Act::Done),
                    self.button("In 10 min", Style::Secondary, Act::Later),
                    match self.plan() {
                        Some(cue) => self.button(&label(&cue), Style::Secondary, Act::Plan),
                        None => self.button("Break it down", Style::Secondary, Act::Split),
                    },
                ],
                menu: Some(self.times(now)),
                ..Sheet::default()
            },
            State::Moved(to, _) => Sheet {
                words: format!("{} · moved to", self.words),
                when: Some(*to),
                buttons: vec![self.undo()],
                ..Sheet::default()
            },
            State::Planned(_) => Sheet {
                words: format!("{} · {}", self.words, self.planned_for()),
                buttons: vec![self.undo()],
                ..Sheet::default()
            },
            State::Done(at) => {
                let at = at.to_zoned(now.time_zone().clone());
                let words = format!("~~{}~~ done {}", self.words, at.strftime("%H:%M"));
                Sheet { words, buttons: vec![self.undo()], ..Sheet::default() }
            }
            State::Dropped => {
                let words = format!("~~{}~~ dropped", self.words);
                Sheet { words, buttons: vec![self.undo()], ..Sheet::default() }
            }
        }
    }

    /// Renders the follow-up of the card.
    pub fn otherwise_sheet(&self, now: &Zoned) -> Sheet {
        match self.state {
            State::Open => Sheet {
                words: put_otherwise(self),
                buttons: vec![
                    self.button("Done", Style::Success, Act::Done),
                    self.button("Not today", Style::Secondary, Act::NotToday),
                ],
                ..Sheet::default()
            },
            State::Done(_) | State::Moved(..) | State::Planned(_) | State::Dropped => self.sheet(now),
        }
    }

    /// The byte offsets of its line in a group message; several if the text occurs more than once.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        let is_line = |at: usize| {
            let before = &self.said[..at];
            let after = &self.said[at + self.words.len()..];
            let number = before.rsplit('\n').next().unwrap_or_default().strip_suffix(". ");
            let ends = after.is_empty() || after.starts_with('\n') || after.starts_with(BETWEEN);
            ends && number.is_some_and(|number| number.parse::<usize>().is_ok())
        };
        self.said.match_indices(&self.words).map(|(at, _)| at).filter(move |at| is_line(*at))
    }

    /// The line of the card in a group.
    fn line(&self) -> String {
        let words = &self.words;
        match &self.state {
            State::Open => words.clone(),
            State::Done(_) => format!("~~{words}~~ done"),
            State::Moved(..) | State::Planned(_) => format!("{words} · moved"),
            State::Dropped => format!("~~{words}~~ dropped"),
        }
    }

    fn option(&self, act: &str) -> String {
        format!("{act}{BETWEEN}{}", named(&self.words))
    }

    pub(super) fn button(&self, label: &str, style: Style, act: Act) -> Button {
        let label = label.to_owned();
        let action = Action::Card(self.id.clone(), act);
        Button { label, style, action }
    }

    pub(super) fn undo(&self) -> Button {
        self.button("Undo", Style::Secondary, Act::Undo)
    }

    /// The menu of common times; those of today only while they are in the future.
    fn times(&self, now: &Zoned) -> Menu {
        let tonight = (now.hour() < 19).then_some("tonight 20:00");
        let times = ["in 1 hour", "in 3 hours"].into_iter().chain(tonight);
        let days = ["tomorrow 09:00", "saturday 10:00", "next monday 09:00", PICK, DROP];
        let options = times.chain(days).map(str::to_owned).collect();
        let press = Action::Card(self.id.clone(), Act::Move(String::new())).press().unwrap_or_default();
        Menu { label: "Move to…".to_owned(), press, options }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::{Held, HeldId, pressing};
    use crate::card::Chase;
    use crate::phrase::Cue;
    use crate::post::PostKey;

    fn card(id: &str, state: State, snoozes: u32) -> Card {
        Card {
            id: CardId(ItemId::parse(id).unwrap()),
            words: format!("call the dentist about {id}"),
            said: format!("⏰ call the dentist about {id}"),
            rang: jiff::Timestamp::UNIX_EPOCH,
            state,
            snoozes,
            chase: Chase::Once,
            followed: None,
        }
    }

    fn now() -> Zoned {
        "2026-11-16T10:00[Europe/Madrid]".parse().unwrap()
    }

    /// All messages that can be rendered for reminders.
    fn sheets() -> Vec<Sheet> {
        let at = now().timestamp();
        let moved = State::Moved(at, Source::Reminder("b1".to_owned()));
        let planned = State::Planned(Source::Reminder("b1".to_owned()));
        let states = [State::Open, State::Done(at), moved, planned, State::Dropped];
        let all: Vec<Card> = states
            .iter()
            .flat_map(|state| [0, 2].map(|snoozes| card(&format!("a{snoozes}"), state.clone(), snoozes)))
            .collect();
        let held = |card: &Card| Held {
            id: HeldId(1),
            at,
            source: card.source(),
            name: "reminder".to_owned(),
            words: card.words.clone(),
            why: HeldFor::Unanswered,
            label: crate::label::Label::PLAIN,
        };
        let telling = Telling::of(all.iter().map(held).collect(), at, now().time_zone());
        let digest = Sheet { menu: digest_menu(&telling), ..Sheet::of(&telling.text) };
        let together = together_sheet(&all.iter().collect::<Vec<_>>(), Some(&all[1].id));
        let rehearsed = |cue: &Cue, state: &State| {
            let card = card("a1", state.clone(), 1);
            Card { said: format!("{}\n{}", card.said, super::super::rehearsed(cue, &card.words)), ..card }
        };
        let cues = [Cue::After("standup".to_owned()), Cue::NextTalk];
        let all: Vec<Card> = all
            .into_iter()
            .chain(cues.iter().flat_map(|cue| states.each_ref().map(|state| rehearsed(cue, state))))
            .collect();
        let each = all.iter().flat_map(|card| [card.sheet(&now()), card.otherwise_sheet(&now())]);
        each.chain([digest, together]).collect()
    }

    /// A message has at most three buttons and one menu, all with distinct actions.
    #[test]
    fn a_sheet_has_at_most_three_buttons_and_one_menu() {
        for sheet in sheets() {
            assert!(sheet.buttons.len() <= 3, "{sheet:?}");
            let presses = sheet.buttons.iter().filter_map(|button| button.action.press());
            let presses: Vec<String> =
                presses.chain(sheet.menu.iter().map(|menu| menu.press.clone())).collect();
            let distinct: BTreeSet<&String> = presses.iter().collect();
            assert_eq!(distinct.len(), presses.len(), "{sheet:?}");
            let most = sheet.menu.as_ref().map_or(0, |menu| menu.options.len());
            assert!(most <= OPTIONS, "{sheet:?}");
        }
    }

    /// Texts of the program contain no pressuring words.
    #[test]
    fn our_own_words_never_press() {
        for sheet in sheets() {
            assert_eq!(pressing(&sheet.words), None, "{}", sheet.words);
            let labels = sheet.buttons.iter().map(|button| button.label.as_str());
            for words in labels.chain(sheet.menu.iter().map(|menu| menu.label.as_str())) {
                assert_eq!(pressing(words), None, "{words}");
            }
        }
        for line in SMALLER.into_iter().chain(crate::attention::Cheers::LINES) {
            assert_eq!(pressing(line), None, "{line}");
        }
        for why in HeldFor::ALL {
            assert_eq!(pressing(why.tell()), None, "{why:?}");
        }
    }

    /// Follow-ups differ from the original message, and use all templates.
    #[test]
    fn a_second_word_is_another_one() {
        let said: BTreeSet<String> = (0..40)
            .map(|nth| {
                let card = card(&format!("x{nth}"), State::Open, 0);
                let text = put_otherwise(&card);
                assert_ne!(text, card.said);
                text.replace(&card.words, "")
            })
            .collect();
        assert_eq!(said.len(), SMALLER.len(), "{said:?}");
    }

    /// A menu option identifies its card, however long the text is.
    #[test]
    fn a_choice_names_its_card() {
        let long = Card { words: "x · ".repeat(60), ..card("a1", State::Open, 0) };
        let option = long.option(DONE);
        let (act, is) = chosen(&option).unwrap();
        assert!(
            act == DONE && is(&long) && !is(&card("a1", State::Open, 0)) && option.chars().count() <= 100
        );
        assert!(chosen("nothing").is_none());
    }

    /// Cards of a group keep their positions, cards with the same text have distinct options, and
    /// the last action can be undone.
    #[test]
    fn things_that_ring_together_keep_their_numbers() {
        let rang = |id: &str, words: &str| {
            let said = together(&["call mum", "call", "a. b · call", "call"].map(str::to_owned));
            Card { words: words.to_owned(), said, ..card(id, State::Open, 0) }
        };
        let cards =
            vec![rang("d1", "call mum"), rang("c1", "call"), rang("b1", "a. b · call"), rang("a1", "call")];
        let post = PostKey("together".to_owned());
        let mut kept = crate::card::Cards::new(cards.into_iter().map(|card| (card, post.clone())).collect());
        let ids = |kept: &crate::card::Cards| -> Vec<String> {
            kept.under(&post).iter().map(|card| card.id.to_string()).collect()
        };
        assert_eq!(ids(&kept), ["d1", "a1", "b1", "c1"]);
        let menu = together_sheet(&kept.under(&post), None).menu.unwrap();
        assert_eq!(
            menu.options,
            ["done · 1. call mum", "done · 2. call", "done · 3. a. b · call", "done · 4. call"]
        );
        for (option, id) in menu.options.iter().zip(["d1", "a1", "b1", "c1"]) {
            let (act, chosen) = chosen_of(option, &kept.under(&post)).unwrap();
            assert_eq!((act, chosen.to_string().as_str()), (DONE, id));
        }
        let done = Card { state: State::Done(now().timestamp()), ..kept.under(&post)[1].clone() };
        kept.keep(done.clone(), post.clone());
        assert_eq!(ids(&kept), ["d1", "a1", "b1", "c1"]);
        let sheet = together_sheet(&kept.under(&post), Some(&done.id));
        assert!(sheet.words.ends_with("\n2. ~~call~~ done\n3. a. b · call\n4. call"), "{}", sheet.words);
        assert_eq!(sheet.buttons.last().map(|button| button.action.clone()), Some(done.undo().action));
        assert!(chosen_of("done · 2. call", &kept.under(&post)).is_none(), "it is settled");
    }
}
