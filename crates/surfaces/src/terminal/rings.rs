//! Reminder cards and approvals in the terminal, with the shortcuts that answer them.

use jiff::{SignedDuration, Timestamp, Zoned};
use serde_json::Value;
use tokio::time::Instant;

use domain::card::DROP;
use domain::phrase::{When, tell};

use super::offers::{Deed, Offers};
use super::screen::TOGETHER;
use crate::client::Shown;

/// Shown after a change that can be undone.
pub(super) const UNDO: &str = "[u]\u{a0}undo";

/// Text to show for a card or approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    pub words: String,
    /// Text for the terminal's bell, if there should be one.
    pub loud: Option<String>,
}

/// Handles a card or approval: updates the shortcuts and returns the text to show.
pub fn hear(shown: &Shown, offers: &mut Offers, now: Instant, clock: &Zoned) -> Option<Ring> {
    match shown.name.as_str() {
        "card" => Some(card(&shown.data, offers, now, clock)),
        "asked" => {
            asked(&shown.data, offers, now);
            let loud = shown.data["caption"].as_str().map(|caption| format!("may i? {caption}"));
            Some(Ring { words: "  [y] yes  [n] no\n".to_owned(), loud })
        }
        "hello" => {
            for approval in shown.data["approvals"].as_array().into_iter().flatten() {
                asked(approval, offers, now);
            }
            None
        }
        "answered" => {
            offers.withdraw(&format!("approval {}", shown.data["id"]));
            None
        }
        _ => None,
    }
}

fn asked(approval: &Value, offers: &mut Offers, now: Instant) {
    let id = &approval["id"];
    let of = format!("approval {}", approval["id"]);
    offers.make('y', &of, Deed::Give(format!("/allow {id}")), now);
    offers.make('n', &of, Deed::Give(format!("/deny {id}")), now);
}

/// Returns a recent reminder that is still open, for a terminal that was just started, unless it is
/// shown already.
pub fn open_still(today: &Value, offers: &mut Offers, (now, clock): (Instant, &Zoned)) -> Option<Ring> {
    let cards = today["cards"].as_array()?;
    let newest = cards.iter().find(|card| card["state"] == "open")?;
    let rang: Timestamp = newest["rang"].as_str()?.parse().ok()?;
    let recent = clock.timestamp().duration_since(rang) < RECENT;
    let offered = newest["id"].as_str().is_some_and(|id| offers.is_about('m', id));
    (recent && !offered).then(|| card(newest, offers, now, clock))
}

/// Maximum age of such a reminder.
const RECENT: SignedDuration = SignedDuration::from_mins(10);

fn card(data: &Value, offers: &mut Offers, now: Instant, clock: &Zoned) -> Ring {
    let text = |name: &str| data[name].as_str().unwrap_or_default();
    let id = text("id");
    let words = one_line(text("words"));
    let at: Option<Timestamp> = text("at").parse().ok();
    let settled = offers.is_about('u', id);
    offers.withdraw(id);
    if text("state") == "open" {
        let keys = open(data, &words, offers, now);
        if settled {
            return Ring { words: format!("  taken back: {words}   {keys}\n"), loud: None };
        }
        let rang: Option<Timestamp> = text("rang").parse().ok();
        let rang = rang.map(|rang| rang.to_zoned(clock.time_zone().clone()).strftime("%H:%M ").to_string());
        let words = format!("⏰ {}{words}", rang.unwrap_or_default());
        return Ring { words: format!("{words}   {keys}\n"), loud: Some(words) };
    }
    offers.make('u', id, Deed::Press(format!("act:rem_undo:{id}")), now);
    let words = match (text("state"), at) {
        ("moved", Some(to)) => {
            let to = tell(&When::Once(to.to_zoned(clock.time_zone().clone())), clock, &[]);
            format!("moved: {words} · {to}   {UNDO}")
        }
        (state, _) => format!("{state}: {words}   {UNDO}"),
    };
    Ring { words: format!("  {words}\n"), loud: None }
}

/// Adds the shortcuts of an open card and returns their labels.
fn open(data: &Value, words: &str, offers: &mut Offers, now: Instant) -> String {
    let id = data["id"].as_str().unwrap_or_default();
    let mut deeds: Vec<(char, String, Deed)> = Vec::new();
    for button in data["buttons"].as_array().into_iter().flatten() {
        let (Some(label), Some(press)) = (button["label"].as_str(), button["press"].as_str()) else {
            continue;
        };
        let unknown = deeds.iter().filter(|(letter, _, _)| FURTHER.contains(letter)).count();
        let known = KNOWN.iter().find(|(act, _, _)| press.starts_with(act));
        let (letter, label) = match (known, FURTHER.get(unknown)) {
            (Some((_, letter, label)), _) => (*letter, (*label).to_owned()),
            (None, Some(letter)) => (*letter, label.to_lowercase()),
            (None, None) => continue,
        };
        deeds.push((letter, label, Deed::Press(press.to_owned())));
    }
    if let Some(button) = data["moves"].as_str().map(str::to_owned) {
        let what = words.to_owned();
        deeds.push(('m', "move".to_owned(), Deed::When { button: button.clone(), what }));
        deeds.push(('x', "drop".to_owned(), Deed::Press(button)));
    }
    let mut keys = Vec::new();
    for (letter, label, deed) in deeds {
        offers.make(letter, id, deed, now);
        keys.push(together(&format!("[{letter}] {label}")));
    }
    keys.join("  ")
}

/// Actions with a fixed letter and label.
const KNOWN: [(&str, char, &str); 3] =
    [("act:rem_done:", 'd', "done"), ("act:rem_later:", '1', "10 min"), ("act:rem_split:", 's', "smaller")];
/// Letters for all other buttons.
const FURTHER: [char; 4] = ['2', '3', '4', '5'];

/// Returns the text sent with a button when its shortcut is used: `x` sends the word that drops the
/// item.
pub fn words_for(button: &str) -> &'static str {
    if button.starts_with("act:rem_move:") { DROP } else { "" }
}

/// Replaces spaces by ones at which a row is not broken.
fn together(words: &str) -> String {
    words.replace(' ', &TOGETHER.to_string())
}

/// Joins text into one line.
fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(offers: &mut Offers, data: Value) -> Ring {
        let clock: Zoned = "2026-11-15T14:36[Europe/Berlin]".parse().unwrap();
        let shown = Shown { name: "card".to_owned(), data };
        let ring = hear(&shown, offers, Instant::now(), &clock).unwrap();
        Ring { words: ring.words.replace(TOGETHER, " "), ..ring }
    }

    fn buttons(id: &str) -> Value {
        let button = |label: &str, act: &str| json!({ "label": label, "press": format!("act:{act}:{id}") });
        json!([
            button("Done", "rem_done"),
            button("In 10 min", "rem_later"),
            button("Break it down", "rem_split")
        ])
    }

    #[test]
    fn a_button_that_is_new_has_a_letter_too() {
        let mut offers = Offers::default();
        let odd = json!([{ "label": "Pick a day", "press": "act:rem_day:7c" }, { "label": "nothing" }]);
        let ring =
            told(&mut offers, json!({ "id": "7c", "words": "leave", "state": "open", "buttons": odd }));
        assert_eq!(ring.words, "⏰ leave   [2] pick a day\n");
        assert_eq!(offers.get('2', Instant::now()), Some(&Deed::Press("act:rem_day:7c".to_owned())));
    }

    #[test]
    fn who_has_just_come_sees_the_reminder_that_rang_a_moment_ago() {
        let clock: Zoned = "2026-11-15T14:36[Europe/Berlin]".parse().unwrap();
        let told = |rang: &str, state: &str| {
            let card = json!({ "id": "7c", "words": "leave", "rang": rang, "state": state, "moves": "act:rem_move:7c" });
            let mut offers = Offers::default();
            let at = (Instant::now(), &clock);
            let first = open_still(&json!({ "cards": [card] }), &mut offers, at);
            let again = open_still(&json!({ "cards": [card] }), &mut offers, at);
            assert_eq!(again, None, "once is enough");
            first.map(|ring| ring.words)
        };
        let words = told("2026-11-15T13:35:00Z", "open").unwrap();
        assert!(words.starts_with("⏰ 14:35 leave   [m]"), "{words}");
        assert_eq!(told("2026-11-15T13:25:00Z", "open"), None, "that is long ago");
        assert_eq!(told("2026-11-15T13:35:00Z", "done"), None);
    }

    #[test]
    fn a_reminder_rings_with_its_letters_and_tells_what_became_of_it() {
        let mut offers = Offers::default();
        let mut card = json!({
            "id": "7c1e", "words": "leave for\ndentist", "rang": "2026-11-15T13:35:00Z", "state": "open",
            "moves": "act:rem_move:7c1e", "buttons": buttons("7c1e"),
        });
        let ring = told(&mut offers, card.clone());
        assert_eq!(
            ring.words,
            "⏰ 14:35 leave for dentist   [d] done  [1] 10 min  [s] smaller  [m] move  [x] drop\n"
        );
        assert_eq!(ring.loud.as_deref(), Some("⏰ 14:35 leave for dentist"));
        let press = |button: &str| Deed::Press(button.to_owned());
        assert_eq!(offers.get('d', Instant::now()), Some(&press("act:rem_done:7c1e")));
        assert_eq!((words_for("act:rem_move:7c1e"), words_for("act:rem_done:7c1e")), (DROP, ""));

        card["state"] = json!("moved");
        card["at"] = json!("2026-11-15T13:46:00Z");
        let ring = told(&mut offers, card.clone());
        let moved = "  moved: leave for dentist · today 14:46 · in 10 min   [u] undo\n";
        assert_eq!(ring, Ring { words: moved.to_owned(), loud: None });
        assert_eq!(offers.get('d', Instant::now()), None, "it is settled");
        assert_eq!(offers.get('u', Instant::now()), Some(&press("act:rem_undo:7c1e")));

        card["state"] = json!("open");
        let ring = told(&mut offers, card.clone());
        assert!(ring.words.starts_with("  taken back: leave for dentist   [d] done"), "{ring:?}");
        assert_eq!(ring.loud, None, "it rang already");
        card["state"] = json!("done");
        assert_eq!(told(&mut offers, card).words, "  done: leave for dentist   [u] undo\n");
    }

    #[test]
    fn a_question_can_be_answered_with_a_letter_until_somebody_answered_it() {
        let mut offers = Offers::default();
        let clock = Zoned::default();
        let shown = |name: &str| Shown { name: name.to_owned(), data: json!({ "id": 3, "caption": "act" }) };
        let ring = hear(&shown("asked"), &mut offers, Instant::now(), &clock).unwrap();
        assert_eq!(ring.words, "  [y] yes  [n] no\n");
        assert_eq!(offers.get('y', Instant::now()), Some(&Deed::Give("/allow 3".to_owned())));
        assert_eq!(hear(&shown("answered"), &mut offers, Instant::now(), &clock), None);
        assert_eq!(offers.get('y', Instant::now()), None);
    }
}
