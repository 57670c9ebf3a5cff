//! Reminder cards and approvals in the terminal, with the shortcuts that answer them.

use jiff::{SignedDuration, Timestamp, Zoned};
use serde_json::Value;
use tokio::time::Instant;

use domain::card::DROP_OPTION;
use domain::phrase::{Timing, describe};

use super::screen::NO_BREAK_SPACE;
use super::shortcuts::{ShortcutAction, Shortcuts};
use crate::client::StreamEvent;

/// Shown after a change that can be undone.
pub(super) const UNDO_HINT: &str = "[u]\u{a0}undo";

/// Text to show for a card or approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
    /// Text for the terminal's bell, if there should be one.
    pub alert: Option<String>,
}

/// Handles a card or approval: updates the shortcuts and returns the text to show.
pub fn on_event(
    shown: &StreamEvent,
    shortcuts: &mut Shortcuts,
    now: Instant,
    clock: &Zoned,
) -> Option<Notice> {
    match shown.name.as_str() {
        "card" => Some(render_card(&shown.data, shortcuts, now, clock)),
        "asked" => {
            add_approval_shortcuts(&shown.data, shortcuts, now);
            let loud = shown.data["caption"].as_str().map(|caption| format!("may i? {caption}"));
            Some(Notice { text: "  [y] yes  [n] no\n".to_owned(), alert: loud })
        }
        "hello" => {
            for approval in shown.data["approvals"].as_array().into_iter().flatten() {
                add_approval_shortcuts(approval, shortcuts, now);
            }
            None
        }
        "answered" => {
            shortcuts.remove(&format!("approval {}", shown.data["id"]));
            None
        }
        _ => None,
    }
}

fn add_approval_shortcuts(approval: &Value, shortcuts: &mut Shortcuts, now: Instant) {
    let id = &approval["id"];
    let item = format!("approval {}", approval["id"]);
    shortcuts.add('y', &item, ShortcutAction::Submit(format!("/allow {id}")), now);
    shortcuts.add('n', &item, ShortcutAction::Submit(format!("/deny {id}")), now);
}

/// Returns a recent reminder that is still open, for a terminal that was just started, unless it is
/// shown already.
pub fn recent_open_reminder(
    today: &Value,
    shortcuts: &mut Shortcuts,
    (now, clock): (Instant, &Zoned),
) -> Option<Notice> {
    let cards = today["cards"].as_array()?;
    let newest = cards.iter().find(|card| card["state"] == "open")?;
    let rang: Timestamp = newest["rang"].as_str()?.parse().ok()?;
    let recent = clock.timestamp().duration_since(rang) < RECENT;
    let offered = newest["id"].as_str().is_some_and(|id| shortcuts.is_for('m', id));
    (recent && !offered).then(|| render_card(newest, shortcuts, now, clock))
}

/// Maximum age of such a reminder.
const RECENT: SignedDuration = SignedDuration::from_mins(10);

fn render_card(data: &Value, shortcuts: &mut Shortcuts, now: Instant, clock: &Zoned) -> Notice {
    let text = |name: &str| data[name].as_str().unwrap_or_default();
    let id = text("id");
    let words = one_line(text("words"));
    let at: Option<Timestamp> = text("at").parse().ok();
    let settled = shortcuts.is_for('u', id);
    shortcuts.remove(id);
    if text("state") == "open" {
        let keys = add_card_shortcuts(data, &words, shortcuts, now);
        if settled {
            return Notice { text: format!("  taken back: {words}   {keys}\n"), alert: None };
        }
        let rang: Option<Timestamp> = text("rang").parse().ok();
        let rang = rang.map(|rang| rang.to_zoned(clock.time_zone().clone()).strftime("%H:%M ").to_string());
        let words = format!("⏰ {}{words}", rang.unwrap_or_default());
        return Notice { text: format!("{words}   {keys}\n"), alert: Some(words) };
    }
    shortcuts.add('u', id, ShortcutAction::Press(format!("act:rem_undo:{id}")), now);
    let words = match (text("state"), at) {
        ("moved", Some(to)) => {
            let to = describe(&Timing::Once(to.to_zoned(clock.time_zone().clone())), clock, &[]);
            format!("moved: {words} · {to}   {UNDO_HINT}")
        }
        (state, _) => format!("{state}: {words}   {UNDO_HINT}"),
    };
    Notice { text: format!("  {words}\n"), alert: None }
}

/// Adds the shortcuts of an open card and returns their labels.
fn add_card_shortcuts(data: &Value, words: &str, shortcuts: &mut Shortcuts, now: Instant) -> String {
    let id = data["id"].as_str().unwrap_or_default();
    let mut actions: Vec<(char, String, ShortcutAction)> = Vec::new();
    for button in data["buttons"].as_array().into_iter().flatten() {
        let (Some(label), Some(press)) = (button["label"].as_str(), button["press"].as_str()) else {
            continue;
        };
        let unknown = actions.iter().filter(|(letter, _, _)| EXTRA_LETTERS.contains(letter)).count();
        let known = KNOWN_ACTIONS.iter().find(|(act, _, _)| press.starts_with(act));
        let (letter, label) = match (known, EXTRA_LETTERS.get(unknown)) {
            (Some((_, letter, label)), _) => (*letter, (*label).to_owned()),
            (None, Some(letter)) => (*letter, label.to_lowercase()),
            (None, None) => continue,
        };
        actions.push((letter, label, ShortcutAction::Press(press.to_owned())));
    }
    if let Some(button) = data["moves"].as_str().map(str::to_owned) {
        let what = words.to_owned();
        actions.push((
            'm',
            "move".to_owned(),
            ShortcutAction::AskTime { button: button.clone(), name: what },
        ));
        actions.push(('x', "drop".to_owned(), ShortcutAction::Press(button)));
    }
    let mut keys = Vec::new();
    for (letter, label, action) in actions {
        shortcuts.add(letter, id, action, now);
        keys.push(non_breaking(&format!("[{letter}] {label}")));
    }
    keys.join("  ")
}

/// Actions with a fixed letter and label.
const KNOWN_ACTIONS: [(&str, char, &str); 3] =
    [("act:rem_done:", 'd', "done"), ("act:rem_later:", '1', "10 min"), ("act:rem_split:", 's', "smaller")];
/// Letters for all other buttons.
const EXTRA_LETTERS: [char; 4] = ['2', '3', '4', '5'];

/// Returns the text sent with a button when its shortcut is used: `x` sends the word that drops the
/// item.
pub fn press_text(button: &str) -> &'static str {
    if button.starts_with("act:rem_move:") { DROP_OPTION } else { "" }
}

/// Replaces spaces by ones at which a row is not broken.
fn non_breaking(words: &str) -> String {
    words.replace(' ', &NO_BREAK_SPACE.to_string())
}

/// Joins text into one line.
fn one_line(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn render(offers: &mut Shortcuts, data: Value) -> Notice {
        let clock: Zoned = "2026-11-15T14:36[Europe/Berlin]".parse().unwrap();
        let shown = StreamEvent { name: "card".to_owned(), data };
        let ring = on_event(&shown, offers, Instant::now(), &clock).unwrap();
        Notice { text: ring.text.replace(NO_BREAK_SPACE, " "), ..ring }
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
    fn an_unknown_button_gets_a_letter() {
        let mut offers = Shortcuts::default();
        let odd = json!([{ "label": "Pick a day", "press": "act:rem_day:7c" }, { "label": "nothing" }]);
        let ring =
            render(&mut offers, json!({ "id": "7c", "words": "leave", "state": "open", "buttons": odd }));
        assert_eq!(ring.text, "⏰ leave   [2] pick a day\n");
        assert_eq!(
            offers.get('2', Instant::now()),
            Some(&ShortcutAction::Press("act:rem_day:7c".to_owned()))
        );
    }

    #[test]
    fn a_recent_open_reminder_is_shown_at_start() {
        let clock: Zoned = "2026-11-15T14:36[Europe/Berlin]".parse().unwrap();
        let told = |rang: &str, state: &str| {
            let card = json!({ "id": "7c", "words": "leave", "rang": rang, "state": state, "moves": "act:rem_move:7c" });
            let mut offers = Shortcuts::default();
            let at = (Instant::now(), &clock);
            let first = recent_open_reminder(&json!({ "cards": [card] }), &mut offers, at);
            let again = recent_open_reminder(&json!({ "cards": [card] }), &mut offers, at);
            assert_eq!(again, None, "once is enough");
            first.map(|ring| ring.text)
        };
        let words = told("2026-11-15T13:35:00Z", "open").unwrap();
        assert!(words.starts_with("⏰ 14:35 leave   [m]"), "{words}");
        assert_eq!(told("2026-11-15T13:25:00Z", "open"), None, "that is long ago");
        assert_eq!(told("2026-11-15T13:35:00Z", "done"), None);
    }

    #[test]
    fn a_reminder_shows_its_shortcuts_and_its_outcome() {
        let mut offers = Shortcuts::default();
        let mut card = json!({
            "id": "7c1e", "words": "leave for\ndentist", "rang": "2026-11-15T13:35:00Z", "state": "open",
            "moves": "act:rem_move:7c1e", "buttons": buttons("7c1e"),
        });
        let ring = render(&mut offers, card.clone());
        assert_eq!(
            ring.text,
            "⏰ 14:35 leave for dentist   [d] done  [1] 10 min  [s] smaller  [m] move  [x] drop\n"
        );
        assert_eq!(ring.alert.as_deref(), Some("⏰ 14:35 leave for dentist"));
        let press = |button: &str| ShortcutAction::Press(button.to_owned());
        assert_eq!(offers.get('d', Instant::now()), Some(&press("act:rem_done:7c1e")));
        assert_eq!((press_text("act:rem_move:7c1e"), press_text("act:rem_done:7c1e")), (DROP_OPTION, ""));

        card["state"] = json!("moved");
        card["at"] = json!("2026-11-15T13:46:00Z");
        let ring = render(&mut offers, card.clone());
        let moved = "  moved: leave for dentist · today 14:46 · in 10 min   [u] undo\n";
        assert_eq!(ring, Notice { text: moved.to_owned(), alert: None });
        assert_eq!(offers.get('d', Instant::now()), None, "it is settled");
        assert_eq!(offers.get('u', Instant::now()), Some(&press("act:rem_undo:7c1e")));

        card["state"] = json!("open");
        let ring = render(&mut offers, card.clone());
        assert!(ring.text.starts_with("  taken back: leave for dentist   [d] done"), "{ring:?}");
        assert_eq!(ring.alert, None, "it rang already");
        card["state"] = json!("done");
        assert_eq!(render(&mut offers, card).text, "  done: leave for dentist   [u] undo\n");
    }

    #[test]
    fn an_approval_has_shortcuts_until_it_is_answered() {
        let mut offers = Shortcuts::default();
        let clock = Zoned::default();
        let shown =
            |name: &str| StreamEvent { name: name.to_owned(), data: json!({ "id": 3, "caption": "act" }) };
        let ring = on_event(&shown("asked"), &mut offers, Instant::now(), &clock).unwrap();
        assert_eq!(ring.text, "  [y] yes  [n] no\n");
        assert_eq!(offers.get('y', Instant::now()), Some(&ShortcutAction::Submit("/allow 3".to_owned())));
        assert_eq!(on_event(&shown("answered"), &mut offers, Instant::now(), &clock), None);
        assert_eq!(offers.get('y', Instant::now()), None);
    }
}
