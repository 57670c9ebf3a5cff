//! Rings: reminders and questions as they stand between the human's lines, with the letters that answer them.

use jiff::{Timestamp, Zoned};
use serde_json::Value;
use tokio::time::Instant;

use domain::card::DROP;
use domain::phrase::{When, tell};

use super::offers::{Deed, Offers};
use super::screen::TOGETHER;
use crate::client::Shown;

/// What is offered after a change that can be taken back.
pub(super) const UNDO: &str = "[u]\u{a0}undo";

/// Something to tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    /// The line.
    pub words: String,
    /// What to ring with, where terminals can: nothing, if it need not be heard.
    pub loud: Option<String>,
}

/// Takes note of a card or a question, and gives what to tell of it.
pub fn hear(shown: &Shown, offers: &mut Offers, (now, clock): (Instant, &Zoned)) -> Option<Ring> {
    match shown.name.as_str() {
        "card" => Some(card(&shown.data, offers, (now, clock))),
        "asked" => {
            let (id, of) = (&shown.data["id"], format!("approval {}", shown.data["id"]));
            offers.make('y', &of, Deed::Give(format!("/allow {id}")), now);
            offers.make('n', &of, Deed::Give(format!("/deny {id}")), now);
            let loud = shown.data["caption"].as_str().map(|caption| format!("may i? {caption}"));
            Some(Ring { words: "  [y] yes  [n] no\n".to_owned(), loud })
        }
        "answered" => {
            offers.withdraw(&format!("approval {}", shown.data["id"]));
            None
        }
        _ => None,
    }
}

fn card(data: &Value, offers: &mut Offers, (now, clock): (Instant, &Zoned)) -> Ring {
    let text = |name: &str| data[name].as_str().unwrap_or_default();
    let (id, words) = (text("id"), one_line(text("words")));
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

/// Offers what can be done with a card, and gives it in words.
fn open(data: &Value, words: &str, offers: &mut Offers, now: Instant) -> String {
    let id = data["id"].as_str().unwrap_or_default();
    let press = |act: &str| Deed::Press(format!("act:{act}:{id}"));
    let mut deeds = vec![('d', "done", press("rem_done")), ('1', "10 min", press("rem_later"))];
    if let Some(button) = data["moves"].as_str().map(str::to_owned) {
        let what = words.to_owned();
        deeds.push(('m', "move", Deed::When { button: button.clone(), what }));
        deeds.push(('x', "drop", Deed::Press(button)));
    }
    let mut keys = Vec::new();
    for (letter, label, deed) in deeds {
        offers.make(letter, id, deed, now);
        keys.push(together(&format!("[{letter}] {label}")));
    }
    keys.join("  ")
}

/// What is sent along with a button: `x` drops what it could move.
pub fn words_for(button: &str) -> &'static str {
    if button.starts_with("act:rem_move:") { DROP } else { "" }
}

/// Words that stay on one row.
fn together(words: &str) -> String {
    words.replace(' ', &TOGETHER.to_string())
}

/// Words on one line.
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
        let ring = hear(&shown, offers, (Instant::now(), &clock)).unwrap();
        Ring { words: ring.words.replace(TOGETHER, " "), ..ring }
    }

    #[test]
    fn a_reminder_rings_with_its_letters_and_tells_what_became_of_it() {
        let mut offers = Offers::default();
        let mut card = json!({
            "id": "7c1e", "words": "leave for\ndentist", "rang": "2026-11-15T13:35:00Z", "state": "open",
            "moves": "act:rem_move:7c1e",
        });
        let ring = told(&mut offers, card.clone());
        assert_eq!(ring.words, "⏰ 14:35 leave for dentist   [d] done  [1] 10 min  [m] move  [x] drop\n");
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
        let (mut offers, clock) = (Offers::default(), Zoned::default());
        let shown = |name: &str| Shown { name: name.to_owned(), data: json!({ "id": 3, "caption": "act" }) };
        let ring = hear(&shown("asked"), &mut offers, (Instant::now(), &clock)).unwrap();
        assert_eq!(ring.words, "  [y] yes  [n] no\n");
        assert_eq!(offers.get('y', Instant::now()), Some(&Deed::Give("/allow 3".to_owned())));
        assert_eq!(hear(&shown("answered"), &mut offers, (Instant::now(), &clock)), None);
        assert_eq!(offers.get('y', Instant::now()), None);
    }
}
