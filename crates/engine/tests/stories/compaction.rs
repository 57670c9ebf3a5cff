//! Stories about compaction: a summary replaces the entries before it, or nothing changes.

use domain::conversation::{Image, Said, Text};
use domain::failure::Failure;
use domain::turn::{Reply, Stop};
use expect_test::{Expect, expect};
use testkit::puppet::{Line, Puppet};
use testkit::story::Story;

use crate::{Teller, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// A reply after which the conversation has `tokens` tokens.
fn filling(text: &str, tokens: u64) -> Line {
    let Line::Reply(reply) = Line::says(text) else { panic!("a reply") };
    let usage = domain::conversation::Usage { input: tokens, ..Default::default() };
    Line::Reply(Reply { usage, stop: Stop::Said, ..reply })
}

/// Returns the entries of the n-th model call, without timestamps.
fn read(story: &Story, n: usize) -> Vec<String> {
    let words = |said: &Said| match said {
        Said::Human(heard) => {
            let read = domain::context::heard(heard);
            read.split_once("] ").map_or(read.clone(), |(_, words)| words.to_owned())
        }
        Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_) => said.text(),
    };
    story.contexts()[n].said.iter().map(|said| words(said)).collect()
}

/// Returns the preface of the last entry of the n-th call, which holds our own request.
fn last_words(story: &Story, n: usize) -> String {
    match story.contexts()[n].said.last().map(|said| &**said) {
        Some(Said::Human(heard)) => heard.preface.clone(),
        other => panic!("{other:?} is no request"),
    }
}

/// Returns the transcript without the vendor's own text about the length.
fn in_our_words(told: &str) -> String {
    let line = |line: &str| match (line.find("can read ("), line.find("). shorten")) {
        (Some(start), Some(end)) => format!("{}...{}\n", &line[..start + "can read (".len()], &line[end..]),
        (Some(_), None) | (None, _) => format!("{line}\n"),
    };
    told.lines().map(line).collect()
}

/// An image of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const GOOD: &str = "The human flies to Lisbon with booking LH4711.";

/// CP-1, CP-3, CP-4: `/compact` produces one event, one line of statistics, and a summary that
/// replaces the entries.
pub fn a_summary_stands_for_what_was_said(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("Noted."), filling(GOOD, 4_321), Line::says("LH4711.")]);
    story.human("my booking to Lisbon is LH4711").clock("11:12");

    story.human_commands("/compact keep the booking").human("what was my booking?");

    check(
        &story.told(),
        &expect![[r#"
            human> my booking to Lisbon is LH4711
            main> assistant: Noted.
            -- 11:12
            human> /compact keep the booking
            main> compacting 15 tokens
            main> summary: The human flies to Lisbon with booking LH4711.
            main> compacted: 1 turns · 3h 12m · 4k tokens compacted
            human> what was my booking?
            main> assistant: LH4711.
        "#]],
    );
    let request = last_words(&story, 1);
    assert!(request.contains("LH4711") && request.contains("keep the booking"));
    assert_eq!(read(&story, 2), [GOOD, "what was my booking?"]);
    let history = std::fs::read_to_string(story.paths().state().join("session_history.jsonl"));
    let history = history.unwrap_or_default();
    assert_eq!(history.matches("\"compacted\"").count(), 1, "{history}");
}

/// A summary without the required facts is requested once more, then rejected with a notice;
/// nothing changes.
pub fn a_forgetful_summary_is_refused_and_nothing_changes(told_by: Teller) {
    let mut story = story(told_by);
    story.model([
        Line::says("Noted."),
        Line::says("We talked about a flight that is booked."),
        Line::says("There was talk of a journey by plane."),
        Line::says("LH4711."),
    ]);
    story.human("my booking is LH4711");
    let before = story.sessions();

    story.human_commands("/compact").human("what was my booking?");

    check(
        &story.told(),
        &expect![[r#"
            human> my booking is LH4711
            main> assistant: Noted.
            human> /compact
            main> compacting 15 tokens
            main> not compacted. the summary left out what matters (LH4711), twice, so i kept our conversation as it is.
            human> what was my booking?
            main> assistant: LH4711.
        "#]],
    );
    let complaint = last_words(&story, 2);
    assert!(complaint.contains("missing from your summary: LH4711"), "{complaint}");
    assert_eq!(read(&story, 3), ["my booking is LH4711", "Noted.", "what was my booking?"]);
    assert_eq!(story.sessions().lines().last(), before.lines().last());
}

/// CP-6, CP-7, MC-7: a nearly full context window triggers a compaction. Messages wait for it and
/// are answered once, in order.
pub fn a_long_conversation_is_compacted_before_the_next_answer(told_by: Teller) {
    let mut story = story(told_by);
    story.room(10_000);
    story.model([filling("Noted.", 8_500), Line::says(GOOD), Line::says("LH4711."), Line::says("At nine.")]);
    story.human("my booking to Lisbon is LH4711");

    story.human_adds_at_once(&["what was my booking?", "and when?"]).settle();

    check(
        &story.told(),
        &expect![[r#"
            human> my booking to Lisbon is LH4711
            main> assistant: Noted.
            main> compacting 8500 tokens
            main> summary: The human flies to Lisbon with booking LH4711.
            main> compacted: 1 turns · < 1m · 0k tokens compacted
            human> what was my booking?
            main> assistant: LH4711.
            human> and when?
            main> assistant: At nine.
        "#]],
    );
}

/// A rejected compaction is not retried at once; the conversation continues.
pub fn a_refused_compaction_does_not_come_back_at_every_message(told_by: Teller) {
    let mut story = story(told_by);
    story.room(10_000);
    let forgetful = || Line::says("There was talk of a journey by plane.");
    story.model([filling("Noted.", 8_100), forgetful(), forgetful(), filling("Yes.", 8_200)]);
    story.model([filling("Still.", 8_900), Line::says(GOOD), Line::says("Good.")]);

    story.human("my booking to Lisbon is LH4711").human("still there?").human("really?").human("good?");

    let told = story.told();
    assert_eq!(told.matches("compacting").count(), 2, "{told}");
    assert!(told.contains("twice, so i kept our conversation"), "{told}");
    assert!(told.ends_with("human> good?\nmain> assistant: Good.\n"), "{told}");
}

/// CP-6, CP-9: a turn that no longer fits waits for the compaction and is sent to the model again,
/// once.
pub fn a_turn_that_no_longer_fits_is_answered_after_a_compaction(told_by: Teller) {
    let mut story = story(told_by);
    let full = || Line::fails(Failure::Full("213,000 tokens".to_owned()));
    story.model([Line::says("Noted."), full(), Line::says(GOOD), Line::says("LH4711.")]);
    story.human("my booking to Lisbon is LH4711").human("what was my booking?");

    check(
        &story.told(),
        &expect![[r#"
            human> my booking to Lisbon is LH4711
            main> assistant: Noted.
            human> what was my booking?
            main> compacting 15 tokens
            main> summary: The human flies to Lisbon with booking LH4711.
            main> compacted: 2 turns · < 1m · 0k tokens compacted
            main> assistant: LH4711.
        "#]],
    );
    assert_eq!(read(&story, 3), [GOOD, "what was my booking?"]);
}

/// A request that certainly exceeds the context window is never sent. The conversation is compacted
/// first, from as much as the model can read, and the user is notified of what the summary leaves
/// out. The reported usage is small here, as from a server that does not report it.
pub fn a_request_that_certainly_does_not_fit_is_never_sent(told_by: Teller) {
    let mut story = story(told_by);
    story.room(20_000);
    let long = |n: usize| format!("answer {n} {}", "word ".repeat(4_000));
    story.model((0..6).map(|n| Line::says(&long(n))).chain([Line::says(GOOD), Line::says("LH4711.")]));
    for n in 0..6 {
        story.human(&format!("question {n}"));
    }

    story.human("what was my booking?");

    let told = story.told();
    assert!(told.ends_with("main> assistant: LH4711.\n"), "{told}");
    assert!(told.contains("this summary leaves out its oldest"), "{told}");
    for (n, context) in story.contexts().iter().enumerate() {
        let bytes: usize = context.said.iter().map(|said| said.text().len()).sum();
        assert!(bytes < 120_000, "request {n} has {bytes} bytes");
    }
    assert_eq!(story.contexts().len(), 8);
    let summed = read(&story, 6);
    assert!(
        summed.first().is_some_and(|note| note.contains("older entries are left out here")),
        "{}",
        summed[0]
    );
    assert!(summed.iter().any(|text| text.starts_with("answer 5")), "{summed:?}");
    assert_eq!(read(&story, 7), [GOOD, "what was my booking?"]);
}

/// A message that alone exceeds the context window is truncated in the request, and complete in the
/// journal.
pub fn a_message_longer_than_the_window_is_cut_with_a_note(told_by: Teller) {
    let mut story = story(told_by);
    story.room(20_000);
    story.model([Line::says("That is long."), Line::says("Yes.")]);
    let pasted = format!("read this: {} the end", "word ".repeat(18_000));

    story.human(&pasted).human("sure?");

    let texts: Vec<String> = (0..2).map(|n| read(&story, n)[0].clone()).collect();
    let Some((start, end)) = texts[0].split_once("characters are left out here") else { panic!("not cut") };
    assert!(start.starts_with("read this: word") && end.ends_with("word  the end"), "{}", texts[0].len());
    assert!(texts[0].len() < 31_000, "{}", texts[0].len());
    assert_eq!(texts[0], texts[1], "the next request begins with the same bytes");
    assert!(story.told().contains(&pasted), "the journal has all of it");
}

/// CP-9: a turn is compacted once; if it still does not fit, it fails with the reason.
pub fn a_turn_that_does_not_fit_after_a_compaction_either_says_so(told_by: Teller) {
    let mut story = story(told_by);
    let full = || Line::fails(Failure::Full("213,000 tokens".to_owned()));
    story.model([Line::says("Noted."), full(), Line::says(GOOD), full()]);
    story.human("my booking to Lisbon is LH4711").human("what was my booking?");
    let told = story.told();
    assert!(told.contains("failed: our conversation is longer than the model can read"), "{told}");
    assert_eq!(told.matches("compacting").count(), 1, "{told}");
}

/// CP-6, AT-4: an image without text survives a crash, and is sent again after a compaction, once.
pub fn a_picture_is_shown_again_after_a_compaction(told_by: Teller) {
    let mut story = story(told_by);
    let full = Line::fails(Failure::Full("213,000 tokens".to_owned()));
    let sum = "The human showed a picture of the letter LH4711.";
    story.model([Line::says("Noted."), full, Line::says(sum), Line::says("A cat.")]);
    story.human("my booking is LH4711");

    let Ok(picture) = Image::read(PIXEL.to_owned()) else { panic!("a picture") };
    story.human_shows(picture, "");

    let pictures = |n: usize| {
        let said = story.contexts()[n].said.clone();
        let shown =
            said.iter().filter(|said| matches!(&***said, Said::Human(heard) if heard.images.len() == 1));
        shown.count()
    };
    assert_eq!((pictures(1), pictures(3)), (1, 1), "{}", story.told());
    assert!(story.told().ends_with("main> assistant: A cat.\n"), "{}", story.told());
}

/// A model with a small context window: the summary is written from fewer entries, and then
/// everything fits.
#[test]
fn a_conversation_that_is_too_long_even_to_be_summed_up_is_summed_up_from_less() {
    let size = |context: &domain::context::Context| -> usize {
        context.said.iter().map(|said| said.text().len()).sum()
    };
    let reads_little = Puppet::answering(move |context| {
        let asked = context.said.last().map(|said| (**said).clone());
        let sums_up = matches!(asked, Some(Said::Human(heard)) if heard.preface.contains("summary"));
        match (size(context) > 20_000, sums_up) {
            (true, _) => Line::fails(Failure::Full("20,000".to_owned())),
            (false, true) => Line::says("The human told a long story about a journey and a cat."),
            (false, false) => Line::says("Go on."),
        }
    });
    let mut story = Story::played_by("2026-11-15T08:00[Europe/Madrid]", reads_little);
    let chapter = "and then we went on. ".repeat(400);

    story.human(&chapter).human(&chapter).human(&chapter).human("the end");

    let told = story.told();
    assert_eq!(told.matches("assistant: Go on.").count(), 4, "{told}");
    assert_eq!(told.matches("compacted:").count(), 1, "{told}");
}

/// An image that the model refuses is left out of every request, and the conversation continues.
#[test]
fn a_picture_that_the_model_refuses_does_not_end_the_conversation() {
    let blind = Puppet::answering(|context| {
        let shows = |said: &Said| matches!(said, Said::Human(heard) if !heard.images.is_empty());
        if context.said.iter().any(|said| shows(said)) {
            Line::fails(Failure::Rejected("400: could not process image".to_owned()))
        } else {
            Line::says("I can't see it.")
        }
    });
    let mut story = Story::played_by("2026-11-15T08:00[Europe/Madrid]", blind);
    let Ok(picture) = Image::read(PIXEL.to_owned()) else { panic!("a picture") };

    story.human_shows(picture, "what is this?").human("and now?");

    check(
        &story.told(),
        &expect![[r#"
            human> what is this?
            notice> the model could not take a picture, so i ask it again without pictures.
            main> assistant: I can't see it.
            human> and now?
            notice> the model could not take a picture, so i ask it again without pictures.
            main> assistant: I can't see it.
        "#]],
    );
}

/// CP-7, MC-7: an answer that waited for a compaction is not interrupted by a new message.
pub fn new_words_wait_for_the_answer_that_waited_for_a_compaction(told_by: Teller) {
    let mut story = story(told_by);
    let full = Line::fails(Failure::Full("213,000 tokens".to_owned()));
    story.model([Line::says("Noted."), full, Line::says(GOOD), Line::holds("It is"), Line::says("Fine.")]);
    story.human("my booking to Lisbon is LH4711").human_begins("what was my booking?");

    story.human_adds("never mind");

    assert!(!story.told().contains("stopped"), "{}", story.told());
    story.human_stops();
    assert!(story.told().ends_with("human> never mind\nmain> assistant: Fine.\n"), "{}", story.told());
}

/// A turn that still does not fit after a compaction ends visibly, and the next message is
/// answered.
pub fn a_turn_that_no_longer_fits_and_cannot_be_helped_says_so(told_by: Teller) {
    let mut story = story(told_by);
    let full = || Line::fails(Failure::Full("213,000 tokens".to_owned()));
    story.model([full(), full(), Line::says("Hi.")]);
    story.human("a very long story").human("hello");
    check(
        &in_our_words(&story.told()),
        &expect![[r#"
            human> a very long story
            main> compacting
            main> summary: (the model has no more lines)
            main> compacted: 1 turns · < 1m · 0k tokens compacted
            main> assistant: (the model has no more lines)
            human> hello
            main> assistant: (the model has no more lines)
        "#]],
    );
}

/// MC-7, MC-16: a compaction waits for the running answer and is not interrupted by messages.
pub fn a_compaction_waits_for_the_answer_and_words_wait_for_the_compaction(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("Noted."), Line::holds("Let me see"), Line::says(GOOD), Line::says("Hi.")]);
    story.human("my booking to Lisbon is LH4711").human_begins("think");

    story.human_begins_command("/compact").human_stops().hears("compacted:").human("hello");

    let told = story.told();
    let order =
        ["think", "/compact", "Let me see (cut)", "stopped", "compacting", "summary:", "hello", "Hi."];
    let found: Vec<Option<usize>> = order.iter().map(|words| told.find(words)).collect();
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{found:?} in {told}");
}

/// A crash during a compaction leaves the conversation unchanged, and the waiting message is
/// answered.
pub fn a_compaction_that_dies_changes_nothing(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("Noted."), Line::holds("The human fl"), Line::says("LH4711.")]);
    story.human("my booking to Lisbon is LH4711");
    story.human_begins_command("/compact").asked(2).human_adds("what was my booking?");

    story.crash().settle();

    let told = story.told();
    assert!(told.ends_with("-- crash\nhuman> what was my booking?\nmain> assistant: LH4711.\n"), "{told}");
    assert_eq!(
        read(&story, 2),
        ["my booking to Lisbon is LH4711", "Noted.", "what was my booking?"],
        "every word is still there"
    );
}

/// `/undo` moves the head back, so that the model reads exactly the earlier context.
pub fn undo_restores_the_exact_earlier_context(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("Noted."), Line::says(GOOD), Line::says("LH4711.")]);
    story.human("my booking to Lisbon is LH4711");
    let before = story.tree();

    story.human_commands("/compact").human_commands("/undo").human("what was my booking?");

    assert_eq!(
        read(&story, 2),
        ["my booking to Lisbon is LH4711", "Noted.", "what was my booking?"],
        "{}",
        story.told()
    );
    assert_eq!(story.contexts()[2].said[..2], story.contexts()[1].said[..2], "not a word differs");
    assert!(before.contains("Noted.  <- main"));
    check(
        &story.sessions(),
        &expect![[r#"
            ●  main · now · 63cbe1e4 · 4 entries
            ↶  undone 2026-11-15 08:00 · back to 63cbe1e4 · 1 entry left behind · took the compaction back
            ◆  compacted 2026-11-15 08:00 · 63cbe1e4 → 73d33b66 · 2 entries summed up
            ○  created 2026-11-15 08:00 · 63cbe1e4
        "#]],
    );
}

/// `/undo` keeps the entries since the compaction, after the original ones; also across a restart.
pub fn undo_after_more_was_said_keeps_what_was_said(told_by: Teller) {
    let mut story = story(told_by);
    story.model([Line::says("Noted."), Line::says(GOOD), Line::says("Fine."), Line::says("LH4711.")]);
    story.human("my booking to Lisbon is LH4711").human_commands("/compact").human("how are you?");

    story.crash().human_commands("/undo").human("what was my booking?");

    let expected =
        ["my booking to Lisbon is LH4711", "Noted.", "how are you?", "Fine.", "what was my booking?"];
    assert_eq!(read(&story, 3), expected, "{}", story.told());
    story.crash().human_commands("/undo");
    assert!(story.told().contains("refused> there is nothing to take back"), "{}", story.told());
}

pub fn nothing_is_compacted_where_nothing_was_said(told_by: Teller) {
    let mut story = story(told_by);
    story.human_commands("/compact").human_commands("/undo");
    check(
        &story.told(),
        &expect![[r#"
            human> /compact
            refused> there is nothing to compact: nothing was said yet.
            human> /undo
            refused> there is nothing to take back: in the last 30 days nothing was compacted, saved or cleared.
        "#]],
    );
}
