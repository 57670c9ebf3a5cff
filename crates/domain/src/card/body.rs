//! Renders cards: on delivery, as follow-up, in a group, and in the digest menu.

use std::collections::BTreeSet;

use jiff::Zoned;

use super::rehearsed_plan::button_label;
use super::{
    Card, CardAction, CardId, CardState, DONE_OPTION, DROP_OPTION, KEEP_OPTION, MANY_SNOOZES,
    PICK_TIME_OPTION,
};
use crate::attention::{DeferReason, Digest};
use crate::cost::CostSource;
use crate::embed::{Button, ButtonAction, ButtonStyle};
use crate::outbox::{MAX_MENU_OPTIONS, Menu, MessageBody};
use crate::schedule::ItemId;

/// Added to a reminder that was snoozed often.
const KEEPS_MOVING: &str = "this one keeps moving.";
/// Templates of follow-ups, each suggesting a smaller task.
const FOLLOW_UP_TEMPLATES: [&str; 5] = [
    "smaller version: just open what you need for \"{}\". 2 minutes.",
    "smaller version: only the first step of \"{}\". stopping after it is fine.",
    "smaller version: two minutes of \"{}\". the rest can wait.",
    "smaller version: put what \"{}\" needs in front of you. that is all.",
    "smaller version: find one thing about \"{}\" that takes a minute.",
];
/// The separator between action and card in a menu option.
const OPTION_SEPARATOR: &str = " · ";
/// The maximum length of a card's text in a menu, in characters.
const MAX_OPTION_CHARS: usize = 70;

/// The message of a reminder that the model did not phrase.
pub fn verbatim_text(words: &str) -> String {
    format!("⏰ {words}")
}

/// The follow-up text of an unanswered card; the template depends on its text.
pub fn follow_up_text(card: &Card) -> String {
    let sum: usize = card.task.bytes().map(usize::from).sum();
    let template = FOLLOW_UP_TEMPLATES.get(sum % FOLLOW_UP_TEMPLATES.len()).copied().unwrap_or_default();
    template.replace("{}", &card.task)
}

/// The text of several reminders delivered together.
pub fn group_text(words: &[String]) -> String {
    let lines = words.iter().enumerate().map(|(place, words)| format!("{}. {words}", place + 1));
    let head = format!("⏰ {} things for now", words.len());
    [head].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// Renders a group of cards; `last` is the card whose action can be undone.
pub fn group_body(cards: &[&Card], last: Option<&CardId>) -> MessageBody {
    let lines: Vec<String> = cards.iter().map(|card| card.status_line()).collect();
    let words = group_text(&lines);
    let open = cards.iter().enumerate().filter(|(_, card)| card.state == CardState::Open);
    let options: Vec<String> = open
        .clone()
        .take(MAX_MENU_OPTIONS)
        .map(|(place, card)| numbered_option(DONE_OPTION, place + 1, &card.task))
        .collect();
    let first = open.map(|(_, card)| card).next();
    let menu = first.map(|first| pick_menu(&first.id, "Which is done?", options));
    let tonight =
        first.map(|first| first.button("All to tonight", ButtonStyle::Secondary, CardAction::Tonight));
    let last = cards.iter().find(|card| Some(&card.id) == last && card.state != CardState::Open);
    let buttons = tonight.into_iter().chain(last.map(|card| card.undo_button())).collect();
    MessageBody { text: words, buttons, menu, ..MessageBody::default() }
}

/// The menu for the unanswered reminders of a digest.
pub fn digest_menu(telling: &Digest) -> Option<Menu> {
    let unanswered: Vec<(CardId, String)> = telling
        .items
        .iter()
        .filter(|held| held.reason == DeferReason::Unanswered)
        .filter_map(|held| {
            let CostSource::Reminder(id) = &held.source else { return None };
            Some((CardId(ItemId::parse(id).ok()?), option_text(&held.text)))
        })
        .take(MAX_MENU_OPTIONS / 3)
        .collect();
    // Menu options must be distinct.
    let mut told = BTreeSet::new();
    let unanswered: Vec<_> = unanswered.into_iter().filter(|(_, words)| told.insert(words.clone())).collect();
    let acts = ["tomorrow 09:00", DROP_OPTION, KEEP_OPTION];
    let options = unanswered
        .iter()
        .flat_map(|(_, words)| acts.map(|act| format!("{act}{OPTION_SEPARATOR}{words}")))
        .collect();
    unanswered.first().map(|(id, _)| pick_menu(id, "Keep, move or drop…", options))
}

/// Parses an option of a digest or card menu into an action and a predicate for its card.
pub fn parse_option(option: &str) -> Option<(&str, impl Fn(&Card) -> bool)> {
    let (act, words) = option.split_once(OPTION_SEPARATOR)?;
    Some((act, move |card: &Card| option_text(&card.task) == words))
}

/// Parses an option of a group menu into an action and an open card.
pub fn parse_group_option<'a>(option: &'a str, cards: &[&Card]) -> Option<(&'a str, CardId)> {
    let (act, rest) = option.split_once(OPTION_SEPARATOR)?;
    let (number, _) = rest.split_once(". ")?;
    let card = cards.get(number.parse::<usize>().ok()?.checked_sub(1)?)?;
    let same = option == numbered_option(act, number.parse().ok()?, &card.task);
    (same && card.state == CardState::Open).then(|| (act, card.id.clone()))
}

/// A group option with the position of its card, because several may have the same text.
fn numbered_option(act: &str, number: usize, words: &str) -> String {
    format!("{act}{OPTION_SEPARATOR}{number}. {}", option_text(words))
}

fn pick_menu(id: &CardId, label: &str, options: Vec<String>) -> Menu {
    let press =
        ButtonAction::Card(id.clone(), CardAction::Pick(String::new())).button_id().unwrap_or_default();
    Menu { label: label.to_owned(), action_id: press, options }
}

fn option_text(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_OPTION_CHARS).collect()
}

impl Card {
    /// Renders the card in its current state.
    pub fn body(&self, now: &Zoned) -> MessageBody {
        self.suggestion_body().unwrap_or_else(|| self.reminder_body(now))
    }

    fn reminder_body(&self, now: &Zoned) -> MessageBody {
        match &self.state {
            CardState::Open if self.snoozes >= MANY_SNOOZES => MessageBody {
                text: format!("{}\n{KEEPS_MOVING}", self.text),
                buttons: vec![
                    self.button("Make it smaller", ButtonStyle::Primary, CardAction::Split),
                    self.button("Pick a day", ButtonStyle::Secondary, CardAction::Move(String::new())),
                    self.button("Drop it", ButtonStyle::Secondary, CardAction::Drop),
                ],
                menu: Some(pick_menu(
                    &self.id,
                    "Or…",
                    [DONE_OPTION, "in 1 hour", "tomorrow 09:00"].map(|act| self.option(act)).to_vec(),
                )),
                ..MessageBody::default()
            },
            CardState::Open => MessageBody {
                text: self.text.clone(),
                buttons: vec![
                    self.button("Done", ButtonStyle::Success, CardAction::Done),
                    self.button("In 10 min", ButtonStyle::Secondary, CardAction::Later),
                    match self.planned_cue() {
                        Some(cue) => {
                            self.button(&button_label(&cue), ButtonStyle::Secondary, CardAction::Plan)
                        }
                        None => self.button("Break it down", ButtonStyle::Secondary, CardAction::Split),
                    },
                ],
                menu: Some(self.time_menu(now)),
                ..MessageBody::default()
            },
            CardState::Moved(to, _) => MessageBody {
                text: format!("{} · moved to", self.task),
                time: Some(*to),
                buttons: vec![self.undo_button()],
                ..MessageBody::default()
            },
            CardState::Planned(_) => MessageBody {
                text: format!("{} · {}", self.task, self.plan_description()),
                buttons: vec![self.undo_button()],
                ..MessageBody::default()
            },
            CardState::Done(at) => {
                let at = at.to_zoned(now.time_zone().clone());
                let words = format!("~~{}~~ done {}", self.task, at.strftime("%H:%M"));
                MessageBody { text: words, buttons: vec![self.undo_button()], ..MessageBody::default() }
            }
            CardState::Dropped => {
                let words = format!("~~{}~~ dropped", self.task);
                MessageBody { text: words, buttons: vec![self.undo_button()], ..MessageBody::default() }
            }
        }
    }

    /// Renders the follow-up of the card.
    pub fn follow_up_body(&self, now: &Zoned) -> MessageBody {
        match self.state {
            CardState::Open => MessageBody {
                text: follow_up_text(self),
                buttons: vec![
                    self.button("Done", ButtonStyle::Success, CardAction::Done),
                    self.button("Not today", ButtonStyle::Secondary, CardAction::NotToday),
                ],
                ..MessageBody::default()
            },
            CardState::Done(_) | CardState::Moved(..) | CardState::Planned(_) | CardState::Dropped => {
                self.body(now)
            }
        }
    }

    /// The byte offsets of its line in a group message; several if the text occurs more than once.
    pub(super) fn list_positions(&self) -> impl Iterator<Item = usize> {
        let is_line = |at: usize| {
            let before = &self.text[..at];
            let after = &self.text[at + self.task.len()..];
            let number = before.rsplit('\n').next().unwrap_or_default().strip_suffix(". ");
            let ends = after.is_empty() || after.starts_with('\n') || after.starts_with(OPTION_SEPARATOR);
            ends && number.is_some_and(|number| number.parse::<usize>().is_ok())
        };
        self.text.match_indices(&self.task).map(|(at, _)| at).filter(move |at| is_line(*at))
    }

    /// The line of the card in a group.
    fn status_line(&self) -> String {
        let words = &self.task;
        match &self.state {
            CardState::Open => words.clone(),
            CardState::Done(_) => format!("~~{words}~~ done"),
            CardState::Moved(..) | CardState::Planned(_) => format!("{words} · moved"),
            CardState::Dropped => format!("~~{words}~~ dropped"),
        }
    }

    fn option(&self, act: &str) -> String {
        format!("{act}{OPTION_SEPARATOR}{}", option_text(&self.task))
    }

    pub(super) fn button(&self, label: &str, style: ButtonStyle, act: CardAction) -> Button {
        let label = label.to_owned();
        let action = ButtonAction::Card(self.id.clone(), act);
        Button { label, style, action }
    }

    pub(super) fn undo_button(&self) -> Button {
        self.button("Undo", ButtonStyle::Secondary, CardAction::Undo)
    }

    /// The menu of common times; those of today only while they are in the future.
    fn time_menu(&self, now: &Zoned) -> Menu {
        let tonight = (now.hour() < 19).then_some("tonight 20:00");
        let times = ["in 1 hour", "in 3 hours"].into_iter().chain(tonight);
        let days = ["tomorrow 09:00", "saturday 10:00", "next monday 09:00", PICK_TIME_OPTION, DROP_OPTION];
        let options = times.chain(days).map(str::to_owned).collect();
        let press = ButtonAction::Card(self.id.clone(), CardAction::Move(String::new()))
            .button_id()
            .unwrap_or_default();
        Menu { label: "Move to…".to_owned(), action_id: press, options }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::{Deferred, DeferredId, find_pressure};
    use crate::card::FollowUpState;
    use crate::outbox::OutboxKey;
    use crate::phrase::Cue;

    fn card(id: &str, state: CardState, snoozes: u32) -> Card {
        Card {
            id: CardId(ItemId::parse(id).unwrap()),
            task: format!("call the dentist about {id}"),
            text: format!("⏰ call the dentist about {id}"),
            rang_at: jiff::Timestamp::UNIX_EPOCH,
            state,
            snoozes,
            follow_up: FollowUpState::AskedOnce,
            follow_up_post: None,
        }
    }

    fn now() -> Zoned {
        "2026-11-16T10:00[Europe/Madrid]".parse().unwrap()
    }

    /// All messages that can be rendered for reminders.
    fn all_bodies() -> Vec<MessageBody> {
        let at = now().timestamp();
        let moved = CardState::Moved(at, CostSource::Reminder("b1".to_owned()));
        let planned = CardState::Planned(CostSource::Reminder("b1".to_owned()));
        let states = [CardState::Open, CardState::Done(at), moved, planned, CardState::Dropped];
        let all: Vec<Card> = states
            .iter()
            .flat_map(|state| [0, 2].map(|snoozes| card(&format!("a{snoozes}"), state.clone(), snoozes)))
            .collect();
        let held = |card: &Card| Deferred {
            id: DeferredId(1),
            at,
            source: card.source(),
            name: "reminder".to_owned(),
            text: card.task.clone(),
            reason: DeferReason::Unanswered,
            label: crate::label::Label::PLAIN,
        };
        let telling = Digest::new(all.iter().map(held).collect(), at, now().time_zone());
        let digest = MessageBody { menu: digest_menu(&telling), ..MessageBody::from_text(&telling.text) };
        let together = group_body(&all.iter().collect::<Vec<_>>(), Some(&all[1].id));
        let rehearsed = |cue: &Cue, state: &CardState| {
            let card = card("a1", state.clone(), 1);
            Card { text: format!("{}\n{}", card.text, super::super::rehearsed_plan(cue, &card.task)), ..card }
        };
        let cues = [Cue::After("standup".to_owned()), Cue::NextTalk];
        let all: Vec<Card> = all
            .into_iter()
            .chain(cues.iter().flat_map(|cue| states.each_ref().map(|state| rehearsed(cue, state))))
            .collect();
        let each = all.iter().flat_map(|card| [card.body(&now()), card.follow_up_body(&now())]);
        each.chain([digest, together]).collect()
    }

    /// A message has at most three buttons and one menu, all with distinct actions.
    #[test]
    fn a_body_has_at_most_three_buttons_and_one_menu() {
        for sheet in all_bodies() {
            assert!(sheet.buttons.len() <= 3, "{sheet:?}");
            let presses = sheet.buttons.iter().filter_map(|button| button.action.button_id());
            let presses: Vec<String> =
                presses.chain(sheet.menu.iter().map(|menu| menu.action_id.clone())).collect();
            let distinct: BTreeSet<&String> = presses.iter().collect();
            assert_eq!(distinct.len(), presses.len(), "{sheet:?}");
            let most = sheet.menu.as_ref().map_or(0, |menu| menu.options.len());
            assert!(most <= MAX_MENU_OPTIONS, "{sheet:?}");
        }
    }

    /// Texts of the program contain no pressuring words.
    #[test]
    fn program_texts_contain_no_pressure() {
        for sheet in all_bodies() {
            assert_eq!(find_pressure(&sheet.text), None, "{}", sheet.text);
            let labels = sheet.buttons.iter().map(|button| button.label.as_str());
            for words in labels.chain(sheet.menu.iter().map(|menu| menu.label.as_str())) {
                assert_eq!(find_pressure(words), None, "{words}");
            }
        }
        for line in FOLLOW_UP_TEMPLATES.into_iter().chain(crate::attention::Encouragements::LINES) {
            assert_eq!(find_pressure(line), None, "{line}");
        }
        for why in DeferReason::ALL {
            assert_eq!(find_pressure(why.describe()), None, "{why:?}");
        }
    }

    /// Follow-ups differ from the original message, and use all templates.
    #[test]
    fn follow_ups_differ_from_the_original_text() {
        let said: BTreeSet<String> = (0..40)
            .map(|nth| {
                let card = card(&format!("x{nth}"), CardState::Open, 0);
                let text = follow_up_text(&card);
                assert_ne!(text, card.text);
                text.replace(&card.task, "")
            })
            .collect();
        assert_eq!(said.len(), FOLLOW_UP_TEMPLATES.len(), "{said:?}");
    }

    /// A menu option identifies its card, however long the text is.
    #[test]
    fn an_option_identifies_its_card() {
        let long = Card { task: "x · ".repeat(60), ..card("a1", CardState::Open, 0) };
        let option = long.option(DONE_OPTION);
        let (act, is) = parse_option(&option).unwrap();
        assert!(
            act == DONE_OPTION
                && is(&long)
                && !is(&card("a1", CardState::Open, 0))
                && option.chars().count() <= 100
        );
        assert!(parse_option("nothing").is_none());
    }

    /// Cards of a group keep their positions, cards with the same text have distinct options, and
    /// the last action can be undone.
    #[test]
    fn cards_of_a_group_keep_their_positions() {
        let rang = |id: &str, words: &str| {
            let said = group_text(&["call mum", "call", "a. b · call", "call"].map(str::to_owned));
            Card { task: words.to_owned(), text: said, ..card(id, CardState::Open, 0) }
        };
        let cards =
            vec![rang("d1", "call mum"), rang("c1", "call"), rang("b1", "a. b · call"), rang("a1", "call")];
        let post = OutboxKey("together".to_owned());
        let mut kept =
            crate::card::CardStore::new(cards.into_iter().map(|card| (card, post.clone())).collect());
        let ids = |kept: &crate::card::CardStore| -> Vec<String> {
            kept.group_of(&post).iter().map(|card| card.id.to_string()).collect()
        };
        assert_eq!(ids(&kept), ["d1", "a1", "b1", "c1"]);
        let menu = group_body(&kept.group_of(&post), None).menu.unwrap();
        assert_eq!(
            menu.options,
            ["done · 1. call mum", "done · 2. call", "done · 3. a. b · call", "done · 4. call"]
        );
        for (option, id) in menu.options.iter().zip(["d1", "a1", "b1", "c1"]) {
            let (act, chosen) = parse_group_option(option, &kept.group_of(&post)).unwrap();
            assert_eq!((act, chosen.to_string().as_str()), (DONE_OPTION, id));
        }
        let done = Card { state: CardState::Done(now().timestamp()), ..kept.group_of(&post)[1].clone() };
        kept.insert(done.clone(), post.clone());
        assert_eq!(ids(&kept), ["d1", "a1", "b1", "c1"]);
        let sheet = group_body(&kept.group_of(&post), Some(&done.id));
        assert!(sheet.text.ends_with("\n2. ~~call~~ done\n3. a. b · call\n4. call"), "{}", sheet.text);
        assert_eq!(sheet.buttons.last().map(|button| button.action.clone()), Some(done.undo_button().action));
        assert!(parse_group_option("done · 2. call", &kept.group_of(&post)).is_none(), "it is settled");
    }
}
