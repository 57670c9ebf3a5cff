//! Tests of the output for events, including lost ones.

use serde_json::json;

use super::*;

fn shown(name: &str, data: Value) -> Shown {
    Shown { name: name.to_owned(), data }
}

fn answer(pieces: &[&str], whole: &str) -> Vec<Shown> {
    let mut all = vec![shown("began", json!({ "turn": 7, "answers": 3 }))];
    all.extend(pieces.iter().map(|text| shown("delta", json!({ "turn": 7, "text": text }))));
    all.push(shown("said", json!({ "entry": { "by": "assistant", "text": whole } })));
    all.push(shown("ended", json!({ "turn": 7, "how": "finished" })));
    all
}

fn told(mut telling: Telling, all: &[Shown]) -> String {
    all.iter().map(|shown| telling.hear(shown)).collect()
}

#[test]
fn every_word_is_written_once_whatever_was_lost_on_the_way() {
    let check = |pieces: &[&str], whole: &str, expected: &str| {
        assert_eq!(told(Telling::of(3), &answer(pieces, whole)), expected);
    };
    check(&["good ", "morning"], "good morning", "good morning\n");
    check(&["good "], "good morning", "good morning\n");
    check(&[], "good morning", "good morning\n");
    check(&["morning"], "good morning", "morning\ngood morning\n");
}

#[test]
fn only_the_answer_to_ones_own_words_is_told() {
    let mut all = answer(&["for you"], "for you");
    all.insert(1, shown("delta", json!({ "turn": 8, "text": "for somebody else" })));
    assert_eq!(told(Telling::of(3), &all), "for you\n");
    assert_eq!(told(Telling::of(4), &all), "");
}

#[test]
fn a_person_sees_a_margin_and_what_was_said_elsewhere() {
    let mut telling = Telling::of_all();
    telling.expect("mine");
    let human = |text: &str| shown("said", json!({ "entry": { "by": "human", "text": text } }));
    let mut all = vec![human("mine"), human("theirs")];
    all.extend(answer(&["a\nb"], "a\nb"));
    assert_eq!(told(telling, &all), "\n  (you, elsewhere) theirs\n  a\n  b\n");
}

#[test]
fn who_joins_while_somebody_speaks_hears_the_beginning_too() {
    let running = json!({ "turn": 7, "answers": 3, "text": "good " });
    let all = [
        shown("hello", json!({ "running": [running] })),
        shown("delta", json!({ "turn": 7, "text": "morning" })),
        shown("said", json!({ "entry": { "by": "assistant", "text": "good morning" } })),
    ];
    assert_eq!(told(Telling::of_all(), &all), "  good morning\n");
}

#[test]
fn who_misses_the_end_is_told_that_it_came() {
    let mut telling = Telling::of(3);
    telling.hear(&shown("began", json!({ "turn": 7, "answers": 3 })));
    let running = json!({ "turn": 7, "answers": 3, "text": "" });
    telling.hear(&shown("reload", json!({ "running": [running] })));
    assert_eq!(telling.ended(), None);
    telling.hear(&shown("reload", json!({ "running": [] })));
    assert_eq!(telling.ended(), Some(Ended::Unseen));
}

#[test]
fn what_tools_do_and_show_is_told() {
    let results = json!([{ "text": "Embed sent.", "embed": { "title": "Today" } }, { "text": "kept" }]);
    let all = [
        shown("began", json!({ "turn": 7, "answers": 3 })),
        shown("working", json!({ "turn": 7, "tool": "discord_embed" })),
        shown("said", json!({ "entry": { "by": "tools", "results": results } })),
    ];
    assert_eq!(told(Telling::of_all(), &all), "  (discord_embed)\n  ┌ Today\n  └\n");
    assert_eq!(told(Telling::of(3), &all), "┌ Today\n└\n");
}

#[test]
fn a_program_hears_of_its_own_approvals_and_a_person_of_all() {
    let asked = |turn: u64| shown("asked", json!({ "id": 1, "turn": turn, "caption": "act", "waits": true }));
    let all = |turn| [shown("began", json!({ "turn": 7, "answers": 3 })), asked(turn)];
    assert!(told(Telling::of(3), &all(7)).starts_with("┌ may i? approval 1: act\n"));
    assert_eq!(told(Telling::of(3), &all(8)), "");
    assert!(told(Telling::of_all(), &all(8)).starts_with("  ┌ may i? approval 1: act\n"));
    let open = json!({ "running": [], "approvals": [asked(8).data] });
    assert!(told(Telling::of_all(), &[shown("hello", open)]).contains("/allow 1 · /deny 1 · /always 1"));
}

#[test]
fn what_a_background_run_says_is_not_told_but_what_it_sends_is() {
    let run = "fork/1f2e3d4c";
    let results = json!([{ "text": "Message sent.", "words": "two mails" }]);
    let entry = json!({ "id": 17, "by": "tools", "from": "routine:mail", "results": results });
    let all = [
        shown("began", json!({ "turn": 7, "branch": "main", "answers": 3 })),
        shown("began", json!({ "turn": 8, "branch": run, "answers": 4 })),
        shown("delta", json!({ "turn": 8, "text": "thinking" })),
        shown("said", json!({ "branch": run, "entry": { "by": "assistant", "text": "thinking" } })),
        shown("said", json!({ "branch": run, "entry": entry })),
        shown("sent", json!({ "entry": entry })),
        shown("delta", json!({ "turn": 7, "text": "hello" })),
    ];
    let told_all = told(Telling::of_all(), &all);
    assert_eq!(told_all, "  (routine:mail; to answer: /reply 17 ...)\n  two mails\n  hello");
    assert_eq!(told(Telling::of(3), &all), "hello");
}

/// A reminder is shown as a card; text that says more is shown below it at once.
#[test]
fn words_that_nobody_asked_for_are_told_whole_and_not_twice() {
    let rings = |said: &str| {
        let ours = json!({ "entry": { "by": "human", "text": "", "images": 0 } });
        vec![
            shown("said", ours),
            shown("began", json!({ "turn": 7, "answers": 3 })),
            shown("delta", json!({ "turn": 7, "text": said })),
            shown("said", json!({ "entry": { "by": "assistant", "text": said } })),
            shown("card", json!({ "words": "stretch", "said": said, "state": "open" })),
            shown("ended", json!({ "turn": 7, "how": "finished" })),
        ]
    };
    assert_eq!(told(Telling::of_all(), &rings("⏰ stretch")), "");
    assert_eq!(told(Telling::of_all(), &rings("up you get.")), "  up you get.\n");
    assert_eq!(told(Telling::of_all(), &rings("⏰ stretch")[..4]), "", "until it is known how it ends");
    assert_eq!(told(Telling::of_all(), &[shown("notice", json!({ "text": "⏰ stretch" }))]), "");
    assert_eq!(told(Telling::of_all(), &answer(&["for you"], "for you")), "  for you\n");
}

#[test]
fn what_can_be_taken_back_says_so_to_who_has_keys() {
    let all = answer(&["✓ mon 10:00", " · call\n(10 = 10:00)"], "✓ mon 10:00 · call\n(10 = 10:00)");
    let with_keys = told(Telling::of_all().with_keys(), &all);
    assert_eq!(with_keys, format!("  ✓ mon 10:00 · call   {UNDO}\n  (10 = 10:00)\n"));
    assert_eq!(told(Telling::of_all(), &all), "  ✓ mon 10:00 · call\n  (10 = 10:00)\n");
}

#[test]
fn a_failure_ends_the_line_and_is_told() {
    let mut telling = Telling::of(3);
    let all = [
        shown("began", json!({ "turn": 7, "answers": 3 })),
        shown("delta", json!({ "turn": 7, "text": "half" })),
        shown("ended", json!({ "turn": 7, "how": "failed", "why": "it broke." })),
    ];
    let words: String = all.iter().map(|shown| telling.hear(shown)).collect();
    assert_eq!((words.as_str(), telling.ended()), ("half\n", Some(Ended::Not("it broke.".to_owned()))));
}
