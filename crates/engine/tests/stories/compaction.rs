//! Stories about compaction: a summary replaces the entries before it, or nothing changes.

use domain::conversation::{EntryContent, Image, Text};
use domain::failure::Failure;
use domain::turn::{ModelReply, StopReason};
use expect_test::{Expect, expect};
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::Story;

use crate::{ModelKind, story};

fn check(told: &str, expected: &Expect) {
    expected.assert_eq(told);
}

/// A reply after which the conversation has `tokens` tokens.
fn reply_with_usage(text: &str, tokens: u64) -> ModelOutcome {
    let ModelOutcome::Reply(reply) = ModelOutcome::text(text) else { panic!("a reply") };
    let usage = domain::conversation::Usage { input: tokens, ..Default::default() };
    ModelOutcome::Reply(ModelReply { usage, stop_reason: StopReason::Finished, ..reply })
}

/// Returns the entries of the n-th model call, without timestamps.
fn read(story: &Story, n: usize) -> Vec<String> {
    let words = |said: &EntryContent| match said {
        EntryContent::User(heard) => {
            let read = domain::context::user_text(heard);
            read.split_once("] ").map_or(read.clone(), |(_, words)| words.to_owned())
        }
        EntryContent::Assistant(..)
        | EntryContent::Tools(_)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => said.text(),
    };
    story.contexts()[n].entries.iter().map(|said| words(said)).collect()
}

/// Returns the preface of the last entry of the n-th call, which holds our own request.
fn last_preface(story: &Story, n: usize) -> String {
    match story.contexts()[n].entries.last().map(|said| &**said) {
        Some(EntryContent::User(heard)) => heard.preface.clone(),
        other => panic!("{other:?} is no request"),
    }
}

/// Returns the transcript without the vendor's own text about the length.
fn without_vendor_text(told: &str) -> String {
    let line = |line: &str| match (line.find("can read ("), line.find("). shorten")) {
        (Some(start), Some(end)) => format!("{}...{}\n", &line[..start + "can read (".len()], &line[end..]),
        (Some(_), None) | (None, _) => format!("{line}\n"),
    };
    told.lines().map(line).collect()
}

/// An image of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const GOOD_SUMMARY: &str = "The human flies to Lisbon with booking LH4711.";

/// CP-1, CP-3, CP-4: `/compact` produces one event, one line of statistics, and a summary that
/// replaces the entries.
pub fn summary_replaces_the_entries(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::text("Noted."),
        reply_with_usage(GOOD_SUMMARY, 4_321),
        ModelOutcome::text("LH4711."),
    ]);
    story.user("my booking to Lisbon is LH4711").clock("11:12");

    story.user_commands("/compact keep the booking").user("what was my booking?");

    check(
        &story.transcript(),
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
    let request = last_preface(&story, 1);
    assert!(request.contains("LH4711") && request.contains("keep the booking"));
    assert_eq!(read(&story, 2), [GOOD_SUMMARY, "what was my booking?"]);
    let history = std::fs::read_to_string(story.paths().state().join("session_history.jsonl"));
    let history = history.unwrap_or_default();
    assert_eq!(history.matches("\"compacted\"").count(), 1, "{history}");
}

/// A summary without the required facts is requested once more, then rejected with a notice;
/// nothing changes.
pub fn summary_without_required_facts_is_rejected(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::text("Noted."),
        ModelOutcome::text("We talked about a flight that is booked."),
        ModelOutcome::text("There was talk of a journey by plane."),
        ModelOutcome::text("LH4711."),
    ]);
    story.user("my booking is LH4711");
    let before = story.sessions();

    story.user_commands("/compact").user("what was my booking?");

    check(
        &story.transcript(),
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
    let complaint = last_preface(&story, 2);
    assert!(complaint.contains("missing from your summary: LH4711"), "{complaint}");
    assert_eq!(read(&story, 3), ["my booking is LH4711", "Noted.", "what was my booking?"]);
    assert_eq!(story.sessions().lines().last(), before.lines().last());
}

/// CP-6, CP-7, MC-7: a nearly full context window triggers a compaction. Messages wait for it and
/// are answered once, in order.
pub fn long_conversation_is_compacted_before_the_next_answer(model: ModelKind) {
    let mut story = story(model);
    story.with_context_window(10_000);
    story.script([
        reply_with_usage("Noted.", 8_500),
        ModelOutcome::text(GOOD_SUMMARY),
        ModelOutcome::text("LH4711."),
        ModelOutcome::text("At nine."),
    ]);
    story.user("my booking to Lisbon is LH4711");

    story.user_sends_at_once(&["what was my booking?", "and when?"]).wait_for_answers();

    check(
        &story.transcript(),
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
pub fn rejected_compaction_is_not_retried_at_every_message(model: ModelKind) {
    let mut story = story(model);
    story.with_context_window(10_000);
    let forgetful = || ModelOutcome::text("There was talk of a journey by plane.");
    story.script([
        reply_with_usage("Noted.", 8_100),
        forgetful(),
        forgetful(),
        reply_with_usage("Yes.", 8_200),
    ]);
    story.script([
        reply_with_usage("Still.", 8_900),
        ModelOutcome::text(GOOD_SUMMARY),
        ModelOutcome::text("Good."),
    ]);

    story.user("my booking to Lisbon is LH4711").user("still there?").user("really?").user("good?");

    let told = story.transcript();
    assert_eq!(told.matches("compacting").count(), 2, "{told}");
    assert!(told.contains("twice, so i kept our conversation"), "{told}");
    assert!(told.ends_with("human> good?\nmain> assistant: Good.\n"), "{told}");
}

/// CP-6, CP-9: a turn that no longer fits waits for the compaction and is sent to the model again,
/// once.
pub fn turn_that_no_longer_fits_is_answered_after_a_compaction(model: ModelKind) {
    let mut story = story(model);
    let full = || ModelOutcome::fail(Failure::ContextFull("213,000 tokens".to_owned()));
    story.script([
        ModelOutcome::text("Noted."),
        full(),
        ModelOutcome::text(GOOD_SUMMARY),
        ModelOutcome::text("LH4711."),
    ]);
    story.user("my booking to Lisbon is LH4711").user("what was my booking?");

    check(
        &story.transcript(),
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
    assert_eq!(read(&story, 3), [GOOD_SUMMARY, "what was my booking?"]);
}

/// A request that certainly exceeds the context window is never sent. The conversation is compacted
/// first, from as much as the model can read, and the user is notified of what the summary leaves
/// out. The reported usage is small here, as from a server that does not report it.
pub fn request_that_certainly_does_not_fit_is_never_sent(model: ModelKind) {
    let mut story = story(model);
    story.with_context_window(20_000);
    let long = |n: usize| format!("answer {n} {}", "word ".repeat(4_000));
    story.script(
        (0..6)
            .map(|n| ModelOutcome::text(&long(n)))
            .chain([ModelOutcome::text(GOOD_SUMMARY), ModelOutcome::text("LH4711.")]),
    );
    for n in 0..6 {
        story.user(&format!("question {n}"));
    }

    story.user("what was my booking?");

    let told = story.transcript();
    assert!(told.ends_with("main> assistant: LH4711.\n"), "{told}");
    assert!(told.contains("this summary leaves out its oldest"), "{told}");
    for (n, context) in story.contexts().iter().enumerate() {
        let bytes: usize = context.entries.iter().map(|said| said.text().len()).sum();
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
    assert_eq!(read(&story, 7), [GOOD_SUMMARY, "what was my booking?"]);
}

/// A message that alone exceeds the context window is truncated in the request, and complete in the
/// journal.
pub fn message_longer_than_the_window_is_truncated(model: ModelKind) {
    let mut story = story(model);
    story.with_context_window(20_000);
    story.script([ModelOutcome::text("That is long."), ModelOutcome::text("Yes.")]);
    let pasted = format!("read this: {} the end", "word ".repeat(18_000));

    story.user(&pasted).user("sure?");

    let texts: Vec<String> = (0..2).map(|n| read(&story, n)[0].clone()).collect();
    let Some((start, end)) = texts[0].split_once("characters are left out here") else { panic!("not cut") };
    assert!(start.starts_with("read this: word") && end.ends_with("word  the end"), "{}", texts[0].len());
    assert!(texts[0].len() < 31_000, "{}", texts[0].len());
    assert_eq!(texts[0], texts[1], "the next request begins with the same bytes");
    assert!(story.transcript().contains(&pasted), "the journal has all of it");
}

/// CP-9: a turn is compacted once; if it still does not fit, it fails with the reason.
pub fn turn_that_does_not_fit_after_a_compaction_fails(model: ModelKind) {
    let mut story = story(model);
    let full = || ModelOutcome::fail(Failure::ContextFull("213,000 tokens".to_owned()));
    story.script([ModelOutcome::text("Noted."), full(), ModelOutcome::text(GOOD_SUMMARY), full()]);
    story.user("my booking to Lisbon is LH4711").user("what was my booking?");
    let told = story.transcript();
    assert!(told.contains("failed: our conversation is longer than the model can read"), "{told}");
    assert_eq!(told.matches("compacting").count(), 1, "{told}");
}

/// CP-6, AT-4: an image without text survives a crash, and is sent again after a compaction, once.
pub fn image_is_sent_again_after_a_compaction(model: ModelKind) {
    let mut story = story(model);
    let full = ModelOutcome::fail(Failure::ContextFull("213,000 tokens".to_owned()));
    let sum = "The human showed a picture of the letter LH4711.";
    story.script([ModelOutcome::text("Noted."), full, ModelOutcome::text(sum), ModelOutcome::text("A cat.")]);
    story.user("my booking is LH4711");

    let Ok(picture) = Image::from_base64(PIXEL.to_owned()) else { panic!("a picture") };
    story.user_sends_image(picture, "");

    let pictures = |n: usize| {
        let said = story.contexts()[n].entries.clone();
        let shown = said
            .iter()
            .filter(|said| matches!(&***said, EntryContent::User(heard) if heard.images.len() == 1));
        shown.count()
    };
    assert_eq!((pictures(1), pictures(3)), (1, 1), "{}", story.transcript());
    assert!(story.transcript().ends_with("main> assistant: A cat.\n"), "{}", story.transcript());
}

/// A model with a small context window: the summary is written from fewer entries, and then
/// everything fits.
#[test]
fn conversation_too_long_to_summarize_is_summarized_in_part() {
    let size = |context: &domain::context::Context| -> usize {
        context.entries.iter().map(|said| said.text().len()).sum()
    };
    let reads_little = ScriptedModel::answering(move |context| {
        let asked = context.entries.last().map(|said| (**said).clone());
        let sums_up = matches!(asked, Some(EntryContent::User(heard)) if heard.preface.contains("summary"));
        match (size(context) > 20_000, sums_up) {
            (true, _) => ModelOutcome::fail(Failure::ContextFull("20,000".to_owned())),
            (false, true) => ModelOutcome::text("The human told a long story about a journey and a cat."),
            (false, false) => ModelOutcome::text("Go on."),
        }
    });
    let mut story = Story::with_model("2026-11-15T08:00[Europe/Madrid]", reads_little);
    let chapter = "and then we went on. ".repeat(400);

    story.user(&chapter).user(&chapter).user(&chapter).user("the end");

    let told = story.transcript();
    assert_eq!(told.matches("assistant: Go on.").count(), 4, "{told}");
    assert_eq!(told.matches("compacted:").count(), 1, "{told}");
}

/// An image that the model refuses is left out of every request, and the conversation continues.
#[test]
fn refused_image_does_not_end_the_conversation() {
    let blind = ScriptedModel::answering(|context| {
        let shows =
            |said: &EntryContent| matches!(said, EntryContent::User(heard) if !heard.images.is_empty());
        if context.entries.iter().any(|said| shows(said)) {
            ModelOutcome::fail(Failure::Rejected("400: could not process image".to_owned()))
        } else {
            ModelOutcome::text("I can't see it.")
        }
    });
    let mut story = Story::with_model("2026-11-15T08:00[Europe/Madrid]", blind);
    let Ok(picture) = Image::from_base64(PIXEL.to_owned()) else { panic!("a picture") };

    story.user_sends_image(picture, "what is this?").user("and now?");

    check(
        &story.transcript(),
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
pub fn new_message_waits_for_an_answer_delayed_by_a_compaction(model: ModelKind) {
    let mut story = story(model);
    let full = ModelOutcome::fail(Failure::ContextFull("213,000 tokens".to_owned()));
    story.script([
        ModelOutcome::text("Noted."),
        full,
        ModelOutcome::text(GOOD_SUMMARY),
        ModelOutcome::hang("It is"),
        ModelOutcome::text("Fine."),
    ]);
    story.user("my booking to Lisbon is LH4711").user_begins("what was my booking?");

    story.user_sends("never mind");

    assert!(!story.transcript().contains("stopped"), "{}", story.transcript());
    story.user_stops();
    assert!(
        story.transcript().ends_with("human> never mind\nmain> assistant: Fine.\n"),
        "{}",
        story.transcript()
    );
}

/// A turn that still does not fit after a compaction ends visibly, and the next message is
/// answered.
pub fn turn_that_cannot_be_made_to_fit_ends_visibly(model: ModelKind) {
    let mut story = story(model);
    let full = || ModelOutcome::fail(Failure::ContextFull("213,000 tokens".to_owned()));
    story.script([full(), full(), ModelOutcome::text("Hi.")]);
    story.user("a very long story").user("hello");
    check(
        &without_vendor_text(&story.transcript()),
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
pub fn compaction_waits_for_the_answer_and_messages_wait_for_it(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::text("Noted."),
        ModelOutcome::hang("Let me see"),
        ModelOutcome::text(GOOD_SUMMARY),
        ModelOutcome::text("Hi."),
    ]);
    story.user("my booking to Lisbon is LH4711").user_begins("think");

    story.user_begins_command("/compact").user_stops().wait_for_line("compacted:").user("hello");

    let told = story.transcript();
    let order =
        ["think", "/compact", "Let me see (cut)", "stopped", "compacting", "summary:", "hello", "Hi."];
    let found: Vec<Option<usize>> = order.iter().map(|words| told.find(words)).collect();
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{found:?} in {told}");
}

/// A crash during a compaction leaves the conversation unchanged, and the waiting message is
/// answered.
pub fn crash_during_a_compaction_changes_nothing(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::text("Noted."),
        ModelOutcome::hang("The human fl"),
        ModelOutcome::text("LH4711."),
    ]);
    story.user("my booking to Lisbon is LH4711");
    story.user_begins_command("/compact").wait_for_model_calls(2).user_sends("what was my booking?");

    story.crash().wait_for_answers();

    let told = story.transcript();
    assert!(told.ends_with("-- crash\nhuman> what was my booking?\nmain> assistant: LH4711.\n"), "{told}");
    assert_eq!(
        read(&story, 2),
        ["my booking to Lisbon is LH4711", "Noted.", "what was my booking?"],
        "every word is still there"
    );
}

/// `/undo` moves the head back, so that the model reads exactly the earlier context.
pub fn undo_restores_the_exact_earlier_context(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::text("Noted."),
        ModelOutcome::text(GOOD_SUMMARY),
        ModelOutcome::text("LH4711."),
    ]);
    story.user("my booking to Lisbon is LH4711");
    let before = story.tree();

    story.user_commands("/compact").user_commands("/undo").user("what was my booking?");

    assert_eq!(
        read(&story, 2),
        ["my booking to Lisbon is LH4711", "Noted.", "what was my booking?"],
        "{}",
        story.transcript()
    );
    assert_eq!(story.contexts()[2].entries[..2], story.contexts()[1].entries[..2], "not a word differs");
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
pub fn undo_keeps_later_entries(model: ModelKind) {
    let mut story = story(model);
    story.script([
        ModelOutcome::text("Noted."),
        ModelOutcome::text(GOOD_SUMMARY),
        ModelOutcome::text("Fine."),
        ModelOutcome::text("LH4711."),
    ]);
    story.user("my booking to Lisbon is LH4711").user_commands("/compact").user("how are you?");

    story.crash().user_commands("/undo").user("what was my booking?");

    let expected =
        ["my booking to Lisbon is LH4711", "Noted.", "how are you?", "Fine.", "what was my booking?"];
    assert_eq!(read(&story, 3), expected, "{}", story.transcript());
    story.crash().user_commands("/undo");
    assert!(story.transcript().contains("refused> there is nothing to take back"), "{}", story.transcript());
}

pub fn empty_conversation_cannot_be_compacted(model: ModelKind) {
    let mut story = story(model);
    story.user_commands("/compact").user_commands("/undo");
    check(
        &story.transcript(),
        &expect![[r#"
            human> /compact
            refused> there is nothing to compact: nothing was said yet.
            human> /undo
            refused> there is nothing to take back: in the last 30 days nothing was compacted, saved or cleared.
        "#]],
    );
}
