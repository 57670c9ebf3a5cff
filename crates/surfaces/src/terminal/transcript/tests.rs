//! Tests of the output for events, including lost ones.

use serde_json::json;

use super::*;

fn shown(name: &str, data: Value) -> StreamEvent {
    StreamEvent { name: name.to_owned(), data }
}

fn answer(pieces: &[&str], whole: &str) -> Vec<StreamEvent> {
    let mut all = vec![shown("began", json!({ "turn": 7, "answers": 3 }))];
    all.extend(pieces.iter().map(|text| shown("delta", json!({ "turn": 7, "text": text }))));
    all.push(shown("said", json!({ "entry": { "by": "assistant", "text": whole } })));
    all.push(shown("ended", json!({ "turn": 7, "how": "finished" })));
    all
}

fn output(mut telling: Transcript, all: &[StreamEvent]) -> String {
    all.iter().map(|shown| telling.on_event(shown)).collect()
}

#[test]
fn text_is_written_once_even_if_deltas_are_lost() {
    let check = |pieces: &[&str], whole: &str, expected: &str| {
        assert_eq!(output(Transcript::for_message(3), &answer(pieces, whole)), expected);
    };
    check(&["good ", "morning"], "good morning", "good morning\n");
    check(&["good "], "good morning", "good morning\n");
    check(&[], "good morning", "good morning\n");
    check(&["morning"], "good morning", "morning\ngood morning\n");
}

#[test]
fn only_the_answer_to_the_given_message_is_shown() {
    let mut all = answer(&["for you"], "for you");
    all.insert(1, shown("delta", json!({ "turn": 8, "text": "for somebody else" })));
    assert_eq!(output(Transcript::for_message(3), &all), "for you\n");
    assert_eq!(output(Transcript::for_message(4), &all), "");
}

#[test]
fn interactive_output_is_indented_and_includes_other_surfaces() {
    let mut telling = Transcript::for_all();
    telling.expect_echo("mine");
    let human = |text: &str| shown("said", json!({ "entry": { "by": "human", "text": text } }));
    let mut all = vec![human("mine"), human("theirs")];
    all.extend(answer(&["a\nb"], "a\nb"));
    assert_eq!(output(telling, &all), "\n  (you, elsewhere) theirs\n  a\n  b\n");
}

#[test]
fn joining_during_an_answer_shows_its_beginning() {
    let running = json!({ "turn": 7, "answers": 3, "text": "good " });
    let all = [
        shown("hello", json!({ "running": [running] })),
        shown("delta", json!({ "turn": 7, "text": "morning" })),
        shown("said", json!({ "entry": { "by": "assistant", "text": "good morning" } })),
    ];
    assert_eq!(output(Transcript::for_all(), &all), "  good morning\n");
}

#[test]
fn a_missed_end_is_reported() {
    let mut telling = Transcript::for_message(3);
    telling.on_event(&shown("began", json!({ "turn": 7, "answers": 3 })));
    let running = json!({ "turn": 7, "answers": 3, "text": "" });
    telling.on_event(&shown("reload", json!({ "running": [running] })));
    assert_eq!(telling.outcome(), None);
    telling.on_event(&shown("reload", json!({ "running": [] })));
    assert_eq!(telling.outcome(), Some(AnswerOutcome::Missed));
}

#[test]
fn tool_calls_and_embeds_are_shown() {
    let results = json!([{ "text": "Embed sent.", "embed": { "title": "Today" } }, { "text": "kept" }]);
    let all = [
        shown("began", json!({ "turn": 7, "answers": 3 })),
        shown("working", json!({ "turn": 7, "tool": "discord_embed" })),
        shown("said", json!({ "entry": { "by": "tools", "results": results } })),
    ];
    assert_eq!(output(Transcript::for_all(), &all), "  (discord_embed)\n  ┌ Today\n  └\n");
    assert_eq!(output(Transcript::for_message(3), &all), "┌ Today\n└\n");
}

#[test]
fn a_program_sees_only_its_own_approvals() {
    let asked = |turn: u64| shown("asked", json!({ "id": 1, "turn": turn, "caption": "act", "waits": true }));
    let all = |turn| [shown("began", json!({ "turn": 7, "answers": 3 })), asked(turn)];
    assert!(output(Transcript::for_message(3), &all(7)).starts_with("┌ may i? approval 1: act\n"));
    assert_eq!(output(Transcript::for_message(3), &all(8)), "");
    assert!(output(Transcript::for_all(), &all(8)).starts_with("  ┌ may i? approval 1: act\n"));
    let open = json!({ "running": [], "approvals": [asked(8).data] });
    assert!(
        output(Transcript::for_all(), &[shown("hello", open)]).contains("/allow 1 · /deny 1 · /always 1")
    );
}

#[test]
fn a_background_runs_text_is_hidden_and_its_messages_are_shown() {
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
    let told_all = output(Transcript::for_all(), &all);
    assert_eq!(told_all, "  (routine:mail; to answer: /reply 17 ...)\n  two mails\n  hello");
    assert_eq!(output(Transcript::for_message(3), &all), "hello");
}

/// A reminder is shown as a card; text that says more is shown below it at once.
#[test]
fn unprompted_text_is_shown_at_once_and_not_twice() {
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
    assert_eq!(output(Transcript::for_all(), &rings("⏰ stretch")), "");
    assert_eq!(output(Transcript::for_all(), &rings("up you get.")), "  up you get.\n");
    assert_eq!(output(Transcript::for_all(), &rings("⏰ stretch")[..4]), "", "until it is known how it ends");
    assert_eq!(output(Transcript::for_all(), &[shown("notice", json!({ "text": "⏰ stretch" }))]), "");
    assert_eq!(output(Transcript::for_all(), &answer(&["for you"], "for you")), "  for you\n");
}

#[test]
fn an_undoable_change_shows_its_shortcut() {
    let all = answer(&["✓ mon 10:00", " · call\n(10 = 10:00)"], "✓ mon 10:00 · call\n(10 = 10:00)");
    let with_keys = output(Transcript::for_all().interactive(), &all);
    assert_eq!(with_keys, format!("  ✓ mon 10:00 · call   {UNDO_HINT}\n  (10 = 10:00)\n"));
    assert_eq!(output(Transcript::for_all(), &all), "  ✓ mon 10:00 · call\n  (10 = 10:00)\n");
}

#[test]
fn a_failure_ends_the_line_and_is_reported() {
    let mut telling = Transcript::for_message(3);
    let all = [
        shown("began", json!({ "turn": 7, "answers": 3 })),
        shown("delta", json!({ "turn": 7, "text": "half" })),
        shown("ended", json!({ "turn": 7, "how": "failed", "why": "it broke." })),
    ];
    let words: String = all.iter().map(|shown| telling.on_event(shown)).collect();
    assert_eq!(
        (words.as_str(), telling.outcome()),
        ("half\n", Some(AnswerOutcome::Failed("it broke.".to_owned())))
    );
}
