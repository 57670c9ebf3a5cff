//! Conversation: each message is answered once and completely.

use std::time::Duration;

use domain::assistant::{Event, ExitCommand, ForkCommand, Query, Request, ToolPhase, Update, UserMessage};
use domain::failure::Failure;
use domain::record::SurfaceName;
use engine::ports::Surface as _;
use expect_test::expect;
use testkit::fake_discord::{DiscordFault, RequestFault, RequestFilter, Setup, Upload};

use crate::rig::{Rig, ScriptedReply, echo};

/// MC-1, MC-9, I13: the owner is answered, without mentions and link previews.
#[tokio::test(start_paused = true)]
async fn user_message_is_answered() {
    let rig = Rig::new(Setup::default(), echo).await;
    let (_, seen) = rig.exchange("good morning", "you said: good morning").await;
    assert!(seen.notifies());
    assert_eq!(rig.discord.allowed_mentions(seen.id)["parse"], serde_json::json!([]));
    rig.advance(20).await;
    expect![[r#"
        owner: good morning
        ollim: you said: good morning
    "#]]
    .assert_eq(&rig.discord.transcript());
    assert!(rig.discord.log().premature_requests.is_empty());
}

/// A message sent while the first start is still connecting is answered once.
#[tokio::test(start_paused = true)]
async fn message_during_the_first_start_is_answered() {
    for away in [0, 300] {
        let mut rig = Rig::not_started(Setup::default(), echo);
        if away > 0 {
            rig.discord
                .inject_fault(DiscordFault::Down { after: Duration::ZERO, lasts: Duration::from_secs(away) });
        }
        rig.start().await;
        rig.user().send_text("first words");
        rig.wait_for_message("you said: first words").await;
        rig.exchange("and more", "you said: and more").await;
        rig.advance(20).await;
        assert_eq!(rig.messages_with("you said: first words").len(), 1, "{}", rig.discord.transcript());
    }
}

/// ST-12, ST-14: a long answer is shown while it is streamed, and is complete at the end.
#[tokio::test(start_paused = true)]
async fn long_answer_is_shown_while_streaming() {
    let text: String = (0..900).map(|n| format!("word{n} ")).collect();
    let whole = text.clone();
    let model = move |_: &str| ScriptedReply::streamed(&whole, (60, Duration::from_millis(200)));
    let rig = Rig::new(Setup::default(), model).await;
    rig.user().send_text("tell me a long story");
    let early = rig.wait_for_message("word5 ").await;
    assert!(!early.content.contains("word899"), "it is shown before it is finished");
    rig.wait_for_message("word899").await;
    rig.advance(30).await;
    let parts: Vec<String> = rig.messages_with("word").into_iter().map(|seen| seen.content).collect();
    assert_eq!(parts.len(), 4);
    let letters = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(letters(&parts.join(" ")), letters(&text));
}

/// An answer of half a megabyte is four messages and a file, streamed or not, so that it delays no
/// reminder with hundreds of messages.
#[tokio::test(start_paused = true)]
async fn very_long_answer_is_a_file_after_its_beginning() {
    let text: String = (0..60_000).map(|n| format!("word{n} ")).collect();
    let whole = text.clone();
    let at_once = text.clone();
    let model = move |words: &str| {
        if words.contains("slowly") {
            ScriptedReply::streamed(&whole, (3_000, Duration::from_millis(100)))
        } else {
            ScriptedReply::text(&at_once)
        }
    };
    let rig = Rig::new(Setup::default(), model).await;
    for (question, already) in [("tell me slowly", 0), ("tell me", 4)] {
        rig.user().send_text(question);
        if already == 0 {
            rig.wait_for_message("word5 ").await;
            assert!(rig.messages_with("word").len() <= 4, "the beginning is shown while it comes");
        }
        rig.advance(120).await;
        let shown =
            rig.messages_with("").into_iter().filter(|seen| seen.author == "ollim").collect::<Vec<_>>();
        let [first, .., last] = &shown[already..] else { panic!("{} messages", shown.len()) };
        assert_eq!(shown.len(), already + 4);
        assert!(first.content.starts_with("word0 word1 "), "{}", first.content);
        let notice = format!("All {} characters are in the file.", text.chars().count());
        assert!(last.content.contains(&notice), "{}", last.content);
        assert_eq!(
            (last.attachments.len(), last.attachments[0]["size"].as_u64()),
            (1, Some(text.len() as u64))
        );
        assert!(shown[already..already + 3].iter().all(|seen| seen.attachments.is_empty()));
    }
}

/// SU-7, SU-9, SU-10: start and stop send nothing, and the gateway session is resumed.
#[tokio::test(start_paused = true)]
async fn start_and_stop_send_nothing() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.exchange("hello", "you said: hello").await;
    for _ in 0..3 {
        rig.advance(20).await;
        rig.stop().await;
        rig.advance(5).await;
        rig.start().await;
        rig.advance(20).await;
    }
    assert_eq!(rig.discord.visible().len(), 2, "{}", rig.discord.transcript());
    let ledger = rig.discord.log();
    assert_eq!((ledger.identifies.len(), ledger.resumes.len()), (1, 3));
    rig.exchange("still here?", "you said: still here?").await;
}

/// UP-7: announcements of the program are sent, also if it ends immediately afterwards.
#[tokio::test(start_paused = true)]
async fn announcement_of_the_program_is_sent() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    let assistant = rig.daemon.as_ref().unwrap().assistant.clone();
    assistant.send_event(Event::Announced("updated; i restart.\n- 1a2b3c4 make it new".to_owned())).await;
    assistant.ask(Request::Query(Query::Numbers)).await;
    rig.kill().await;
    rig.start().await;
    rig.advance(20).await;
    assert_eq!(rig.messages_with("make it new").len(), 1, "{}", rig.discord.transcript());
}

/// MC-3: a queued message is marked with a reaction until it is processed.
#[tokio::test(start_paused = true)]
async fn queued_message_is_marked_with_a_reaction() {
    let mut calls = 0;
    let model = move |_: &str| {
        calls += 1;
        match calls {
            1 => ScriptedReply::text("hello to you."),
            2 => ScriptedReply::streamed("a summary of all that was said", (3, Duration::from_secs(2))),
            _ => ScriptedReply::text("here i am."),
        }
    };
    let rig = Rig::new(Setup::default(), model).await;
    rig.user().send_text("hello");
    rig.wait_for_message("hello to you.").await;
    rig.advance(60).await;
    rig.user().send_text("/compact");
    rig.advance(1).await;
    let waiting = rig.user().send_text("are you there?");
    rig.advance(4).await;
    let marks = |rig: &Rig| {
        let seen = rig.discord.visible().into_iter().find(|seen| seen.id == waiting);
        seen.map(|seen| seen.reactions).unwrap_or_default()
    };
    assert_eq!(marks(&rig).len(), 1, "{}", rig.discord.transcript());
    rig.wait_for_message("here i am.").await;
    rig.advance(10).await;
    assert!(marks(&rig).is_empty(), "{}", rig.discord.transcript());
}

/// AT-1, AT-2, AT-3: the model sees images, and unusable attachments are named.
#[tokio::test(start_paused = true)]
async fn images_are_used_and_other_attachments_are_named() {
    let rig = Rig::new(Setup::default(), echo).await;
    let picture = Upload::new("cat.txt", *b"\x89PNG\r\n\x1a\n and more");
    let not_an_image = Upload::new("dog.png", *b"not a picture");
    rig.user().send_with_files("look", vec![picture, not_an_image]);
    rig.wait_for_message("you said: look").await;
    rig.wait_for_message("not used: dog.png (no picture i can see)").await;
    let entries = rig.daemon.as_ref().unwrap().image_types().await;
    assert_eq!(entries, ["image/png"]);
}

/// AT-3: a voice message is answered with a notice, and neither downloaded nor given to the model.
#[tokio::test(start_paused = true)]
async fn voice_message_is_answered_with_a_notice() {
    let rig = Rig::new(Setup::default(), echo).await;
    rig.user().send_voice_message();
    rig.wait_for_message("I got a voice message, but I can't listen to voice messages yet.").await;
    rig.exchange("hello", "you said: hello").await;
    assert_eq!(rig.daemon.as_ref().unwrap().user_messages().await, ["hello"]);
    assert!(rig.messages_with("not used:").is_empty(), "{}", rig.discord.transcript());
}

/// MC-5: for a reply with an image, the model gets the image and a quote of the original message.
#[tokio::test(start_paused = true)]
async fn reply_with_an_image_keeps_image_and_quote() {
    let rig = Rig::new(Setup::default(), echo).await;
    let (_, answer) = rig.exchange("the red one", "you said: the red one").await;
    rig.advance(5).await;
    let picture = Upload::new("other.png", *b"\x89PNG\r\n\x1a\n and more");
    rig.user().reply_with_files(answer.id, "this one, i meant", vec![picture]);
    rig.wait_for_message("this one, i meant").await;
    let daemon = rig.daemon.as_ref().unwrap();
    assert_eq!(daemon.user_messages().await, ["the red one", "this one, i meant"]);
    assert_eq!(daemon.image_types().await, ["image/png"]);
    assert!(daemon.last_preface().await.contains("you said: the red one"), "{}", daemon.last_preface().await);
}

/// ST-16: an empty answer of the model is reported.
#[tokio::test(start_paused = true)]
async fn empty_answer_is_reported() {
    let rig = Rig::new(Setup::default(), |_: &str| ScriptedReply::default()).await;
    rig.exchange("hello?", "the model answered nothing").await;
    rig.advance(60).await;
    assert_eq!(rig.discord.visible().len(), 2, "{}", rig.discord.transcript());
}

/// ST-18, MC-10, MC-11: a partial answer stays, and the failure is reported once.
#[tokio::test(start_paused = true)]
async fn partial_answer_stays_and_the_failure_is_reported() {
    let why = Failure::Stopped("the model broke off.".to_owned());
    let speech = ScriptedReply {
        failure: Some(why),
        ..ScriptedReply::streamed("once upon a time", (4, Duration::from_secs(3)))
    };
    let rig = Rig::new(Setup::default(), move |_: &str| speech.clone()).await;
    rig.user().send_text("a story, please");
    rig.wait_for_message("the model broke off").await;
    rig.advance(60).await;
    assert_eq!(rig.messages_with("once upon a time").len(), 1, "{}", rig.discord.transcript());
    assert_eq!(rig.messages_with("the model broke off").len(), 1, "{}", rig.discord.transcript());
}

/// ST-8, ST-9, ST-10, ST-17: long work has a silent status line, which is removed when the answer
/// arrives.
#[tokio::test(start_paused = true)]
async fn long_work_has_a_silent_status_line() {
    let model = |_: &str| ScriptedReply {
        words: vec![(Duration::from_secs(40), "found it.".to_owned())],
        ..ScriptedReply::default()
    };
    let rig = Rig::new(Setup::default(), model).await;
    rig.user().send_text("search everything");
    rig.advance(2).await;
    assert!(rig.discord.is_typing());
    let hub = &rig.daemon.as_ref().unwrap().hub;
    let turn = *hub.subscribe().snapshot().running.keys().next().unwrap();
    hub.show(&Update::ToolProgress {
        turn,
        tool: "reading your calendar".to_owned(),
        phase: ToolPhase::Running,
    });
    let line = rig.wait_for_message("reading your calendar").await;
    assert!(!line.notifies() && line.content.starts_with("-# "), "{line:?}");
    rig.discord
        .inject_fault(DiscordFault::Request(RequestFilter::edit().times(2), RequestFault::Status(500)));
    let answer = rig.wait_for_message("found it.").await;
    assert!(answer.notifies());
    rig.advance(30).await;
    assert!(rig.messages_with("reading your calendar").is_empty(), "{}", rig.discord.transcript());
}

/// A model that first says a few words and calls `inbox_list`, and then replies with `after`.
fn model_with_tool_call(after: ScriptedReply) -> impl FnMut(&str) -> ScriptedReply {
    let mut calls = 0;
    move |_: &str| {
        calls += 1;
        match calls {
            1 => ScriptedReply {
                calls: vec![("inbox_list", "{}".to_owned())],
                ..ScriptedReply::text("one moment.")
            },
            _ => after.clone(),
        }
    }
}

fn delayed(seconds: u64, words: &str) -> ScriptedReply {
    ScriptedReply {
        words: vec![(Duration::from_secs(seconds), words.to_owned())],
        ..ScriptedReply::default()
    }
}

/// The status line of the call.
const STATUS_LINE: &str = "-# inbox\\_list…";

/// ST-2, ST-4, ST-5: text before a tool call is sent at once. A long call has a silent status line,
/// which is removed with the answer.
#[tokio::test(start_paused = true)]
async fn text_before_a_call_stays_and_the_call_has_a_status_line() {
    let rig = Rig::new(Setup::default(), model_with_tool_call(delayed(40, "two things."))).await;
    rig.user().send_text("what did i keep?");
    rig.wait_for_message("one moment.").await;
    assert!(rig.messages_with(STATUS_LINE).is_empty(), "what is quick needs no line");
    let line = rig.wait_for_message(STATUS_LINE).await;
    assert!(!line.notifies(), "{line:?}");
    rig.wait_for_message("two things.").await;
    rig.advance(10).await;
    expect![[r#"
        owner: what did i keep?
        ollim: one moment.
        ollim: two things.
    "#]]
    .assert_eq(&rig.discord.transcript());
}

/// ST-5: the status line of a call is removed when the model fails.
#[tokio::test(start_paused = true)]
async fn status_line_is_removed_when_the_model_fails() {
    let fails = Some(Failure::Stopped("the model broke off.".to_owned()));
    let rig =
        Rig::new(Setup::default(), model_with_tool_call(ScriptedReply { failure: fails, ..delayed(20, "") }))
            .await;
    rig.user().send_text("what did i keep?");
    rig.wait_for_message(STATUS_LINE).await;
    rig.wait_for_message("the model broke off.").await;
    rig.advance(10).await;
    assert!(rig.messages_with(STATUS_LINE).is_empty(), "{}", rig.discord.transcript());
    assert_eq!(rig.messages_with("one moment.").len(), 1, "{}", rig.discord.transcript());
}

/// ST-5: the status line of a call that a crash left behind is removed at the next start, and the
/// answer follows.
#[tokio::test(start_paused = true)]
async fn status_line_is_removed_after_a_crash() {
    let mut rig = Rig::new(Setup::default(), model_with_tool_call(delayed(40, "two things."))).await;
    rig.user().send_text("what did i keep?");
    rig.wait_for_message(STATUS_LINE).await;
    rig.kill().await;
    assert_eq!(rig.messages_with(STATUS_LINE).len(), 1, "nobody was there to take it away");
    rig.start().await;
    rig.advance(5).await;
    assert!(rig.messages_with(STATUS_LINE).is_empty(), "{}", rig.discord.transcript());
    rig.wait_for_message("two things.").await;
    rig.advance(10).await;
    assert!(rig.messages_with(STATUS_LINE).is_empty(), "{}", rig.discord.transcript());
}

/// ST-9, ST-20: a repeated status keeps its timer, a new one restarts it, and markup in the
/// arguments is escaped.
#[tokio::test(start_paused = true)]
async fn each_status_has_its_own_timer() {
    let rig = Rig::new(Setup::default(), |_: &str| delayed(90, "found it.")).await;
    rig.user().send_text("search everything");
    rig.advance(2).await;
    let hub = &rig.daemon.as_ref().unwrap().hub;
    let turn = *hub.subscribe().snapshot().running.keys().next().unwrap();
    let show_status = |tool: &str| {
        hub.show(&Update::ToolProgress { turn, tool: tool.to_owned(), phase: ToolPhase::Running });
    };
    show_status("Read(my_*day*.md)");
    rig.wait_for_message("-# Read(my\\_\\*day\\*.md)… 12 s").await;
    show_status("Read(my_*day*.md)");
    rig.wait_for_message("Read(my\\_\\*day\\*.md)… 17 s").await;
    show_status("Grep(day)");
    let line = rig.wait_for_message("Grep(day)… ").await;
    assert!(
        ["Grep(day)… 4 s", "Grep(day)… 5 s"].iter().any(|output| line.content.contains(output)),
        "{line:?}"
    );
    rig.wait_for_message("found it.").await;
}

/// A model that sends `notes`, calls `inbox_list`, and answers after 40 seconds.
fn model_with_progress_notes(notes: Vec<&'static str>) -> impl FnMut(&str) -> ScriptedReply {
    let mut calls = 0;
    move |_: &str| {
        calls += 1;
        match calls {
            1 => ScriptedReply { notes: notes.clone(), ..ScriptedReply::calls("inbox_list", "{}") },
            2 => ScriptedReply { notes: vec!["", "Two of them ", "are done."], ..delayed(40, "two things.") },
            _ => ScriptedReply::text("yes."),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn progress_notes_are_a_silent_status_line_that_the_answer_replaces() {
    let rig =
        Rig::new(Setup::default(), model_with_progress_notes(vec!["", "Looking into the ", "inbox."])).await;
    rig.user().send_text("what did i keep?");
    let line = rig.wait_for_message("Two of them are done.").await;
    assert!(!line.notifies() && line.content.starts_with("-# "), "{line:?}");
    assert_eq!(rig.messages_with("Two of them").len(), 1, "{}", rig.discord.transcript());
    rig.wait_for_message("two things.").await;
    rig.advance(10).await;
    expect![[r#"
        owner: what did i keep?
        ollim: two things.
    "#]]
    .assert_eq(&rig.discord.transcript());
    let edits = request_times(&rig, "PATCH", "/channels/*/messages");
    assert!(edits.len() <= 8 && shortest_interval(&edits) >= Duration::from_secs(5), "{edits:?}");
}

#[tokio::test(start_paused = true)]
async fn hostile_text_in_a_progress_note_is_shown_as_plain_text() {
    let note = "hi @everyone <@1> **bold** [a](https://evil.example)\n# title \u{202e}\u{1b}[31m `code";
    let rig = Rig::new(Setup::default(), move |_: &str| ScriptedReply {
        notes: vec!["", note, "x".repeat(9_000).leak()],
        ..delayed(40, "done.")
    })
    .await;
    rig.user().send_text("go");
    let line = rig.wait_for_message("everyone").await;
    let safe = "-# hi \\@everyone \\<\\@1\\> \\*\\*bold\\*\\* \\[a\\]\\(https\\://evil.example\\) \\# title \\[31m \\`codexx";
    assert!(line.content.starts_with(safe), "{line:?}");
    assert!(line.content.chars().count() < 400 && line.content.ends_with('…'), "{line:?}");
    rig.wait_for_message("done.").await;
    rig.advance(10).await;
    assert!(rig.messages_with("everyone").is_empty(), "{}", rig.discord.transcript());
}

/// Returns the times of the requests to one route.
fn request_times(rig: &Rig, method: &str, route: &str) -> Vec<Duration> {
    rig.discord.log().matching(method, route).map(|request| request.at).collect()
}

/// Returns the shortest interval between two times.
fn shortest_interval(times: &[Duration]) -> Duration {
    times.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(Duration::MAX)
}

/// ST-11: a short answer is sent once and is not edited.
#[tokio::test(start_paused = true)]
async fn short_answer_is_sent_at_once() {
    let model = |_: &str| ScriptedReply::streamed("three words only", (6, Duration::from_millis(200)));
    let rig = Rig::new(Setup::default(), model).await;
    rig.exchange("say three words", "three words only").await;
    rig.advance(20).await;
    assert_eq!(request_times(&rig, "POST", "/channels/*/messages").len(), 1);
    assert!(request_times(&rig, "PATCH", "/channels/*/messages").is_empty());
}

/// ST-11: the typing indicator is shown first. A long answer is sent with its first sentence and
/// then edited at a limited rate, only while text arrives.
#[tokio::test(start_paused = true)]
async fn long_answer_is_edited_at_a_limited_rate() {
    let second = Duration::from_secs(1);
    let piece = |pause: Duration| (pause, "and then some more. ".to_owned());
    let mut words = vec![piece(18 * second)];
    words.extend((0..7).map(|_| piece(second)));
    words.push(piece(10 * second));
    words.extend((0..10).map(|_| piece(second / 2)));
    let model = move |_: &str| ScriptedReply { words: words.clone(), ..ScriptedReply::default() };
    let rig = Rig::new(Setup::default(), model).await;
    rig.user().send_text("a long story");
    rig.advance(60).await;
    let typing = request_times(&rig, "POST", "/channels/*/typing");
    let [shown] = request_times(&rig, "POST", "/channels/*/messages")[..] else {
        panic!("{}", rig.discord.transcript())
    };
    assert!(typing.len() == 3 && shortest_interval(&typing) >= 8 * second, "{typing:?}");
    assert!(typing.iter().all(|typed| *typed < shown), "{typing:?} {shown:?}");
    let first_text = typing[0] + 18 * second;
    assert!(shown >= first_text && shown < first_text + second / 5, "{first_text:?} {shown:?}");
    let edits = request_times(&rig, "PATCH", "/channels/*/messages");
    // The last edit is the final answer, which is sent without delay.
    let (_, unfinished) = edits.split_last().unwrap();
    assert!(
        unfinished.len() > 4 && shortest_interval(unfinished) >= Duration::from_millis(1_200),
        "{unfinished:?}"
    );
    let silent = first_text + 7 * second + Duration::from_millis(1_300)..first_text + 17 * second;
    assert!(!unfinished.iter().any(|at| silent.contains(at)), "{unfinished:?} {silent:?}");
}

/// Streams an answer of `pieces`, the first after a second and the others at `pace`. Returns the
/// text that is sent first, and its delay after the first piece.
async fn first_message(pieces: Vec<&'static str>, pace: Duration) -> (String, Duration) {
    let second = Duration::from_secs(1);
    let mut words: Vec<(Duration, String)> = pieces.iter().map(|piece| (pace, (*piece).to_owned())).collect();
    words[0].0 = second;
    let model = move |_: &str| ScriptedReply { words: words.clone(), ..ScriptedReply::default() };
    let rig = Rig::new(Setup::default(), model).await;
    rig.user().send_text("what is on today?");
    let seen = rig.wait_for_message(pieces[0].trim()).await;
    let typing = request_times(&rig, "POST", "/channels/*/typing")[0];
    let sent = request_times(&rig, "POST", "/channels/*/messages")[0];
    rig.advance(30).await;
    let whole: String = pieces.concat();
    assert_eq!(rig.messages_with(whole.trim()).len(), 1, "{}", rig.discord.transcript());
    assert_eq!(request_times(&rig, "POST", "/channels/*/messages").len(), 1);
    (seen.content, sent - (typing + second))
}

/// A push notification shows the text at the time of sending.
#[tokio::test(start_paused = true)]
async fn first_sentence_is_sent_when_complete() {
    let pieces = vec![
        "You have ",
        "three appointments",
        " today. The first",
        " one is at ten. ",
        "Then there is lunch.",
    ];
    let (sent, after) = first_message(pieces, Duration::from_millis(100)).await;
    assert_eq!(sent, "You have three appointments today.");
    assert!(after < Duration::from_millis(250), "{after:?}");
}

/// The stream of `cargo xtask bench`: 300 characters in six seconds.
#[tokio::test(start_paused = true)]
async fn first_words_of_a_six_second_answer_are_sent_within_a_second() {
    let text = "Tomorrow looks busy, and most of it is before lunch. The dentist is at nine, the call with Marta at \
                half past ten, and the train to Sevilla leaves at ten past one from Atocha. I would pack tonight, \
                because there is no time between the call and the train. Shall I remind you at eight? Sleep well. 12";
    let pieces: Vec<&'static str> =
        (0..text.len()).step_by(5).map(|at| &text[at..(at + 5).min(text.len())]).collect();
    assert_eq!(pieces.len(), 60);
    let (sent, after) = first_message(pieces, Duration::from_millis(100)).await;
    println!("first words of an answer of 6 s in Discord: {} ns", after.as_nanos());
    assert_eq!(sent, "Tomorrow looks busy, and most of it is");
    assert!(after < Duration::from_secs(1), "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn eighty_characters_are_sent_without_a_complete_sentence() {
    let pieces = vec![
        "the dentist and then ",
        "lunch with your mother and then ",
        "the long train to Sevilla and",
        " then",
        " bed",
    ];
    let (sent, after) = first_message(pieces, Duration::from_millis(100)).await;
    assert_eq!(sent, "the dentist and then lunch with your mother and then the long train to Sevilla");
    assert!(after < Duration::from_millis(250), "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn first_message_is_sent_after_a_delay_in_whole_words() {
    let pieces = vec!["well, let me", " think", " about it", " for", " a", " while"];
    let (sent, after) = first_message(pieces, Duration::from_millis(390)).await;
    assert_eq!(sent, "well, let me think about");
    let expected = Duration::from_millis(800);
    assert!((expected..expected + Duration::from_millis(50)).contains(&after), "{after:?}");
}

/// A crash occurs after Discord accepted the first sentence and before we received its response.
/// Discord has forgotten the nonce when the answer continues.
#[tokio::test(start_paused = true)]
async fn first_sentence_appears_once_after_a_crash_before_the_response() {
    let mut calls = 0;
    let model = move |_: &str| {
        calls += 1;
        let text =
            if calls == 1 { "First this. And then that, and more." } else { "Then another answer. The end." };
        ScriptedReply::streamed(text, (6, Duration::from_millis(400)))
    };
    let mut rig = Rig::new(Setup::default(), model).await;
    rig.discord.inject_fault(DiscordFault::Request(
        RequestFilter::send(),
        RequestFault::Slow(Duration::from_secs(5)),
    ));
    rig.user().send_text("what first?");
    rig.wait_for_message("First this.").await;
    rig.kill().await;
    rig.advance(600).await;
    rig.start().await;
    rig.wait_for_message("The end.").await;
    rig.advance(30).await;
    expect![[r#"
        owner: what first?
        ollim (edited once): Then another answer. The end.
    "#]]
    .assert_eq(&rig.discord.transcript());
}

/// Like the previous test without a crash: the response is lost, and the nonce expires before the
/// next send.
#[tokio::test(start_paused = true)]
async fn first_sentence_appears_once_after_a_lost_response() {
    let model =
        |_: &str| ScriptedReply::streamed("First this. And then that.", (6, Duration::from_millis(100)));
    let rig = Rig::new(Setup::default(), model).await;
    rig.discord.inject_fault(DiscordFault::Request(RequestFilter::send(), RequestFault::LostAfter));
    rig.user().send_text("what first?");
    rig.wait_for_message("First this.").await;
    rig.discord.inject_fault(DiscordFault::Down { after: Duration::ZERO, lasts: Duration::from_secs(600) });
    rig.advance(900).await;
    let sent = rig.messages_with("First this.");
    assert_eq!(sent.len(), 1, "{}", rig.discord.transcript());
    assert!(sent[0].content.starts_with("First this. And then that."), "{sent:?}");
}

/// ST-15: a compaction leaves one small silent note.
#[tokio::test(start_paused = true)]
async fn compaction_leaves_a_small_note() {
    let rig = Rig::new(Setup::default(), |_: &str| ScriptedReply::text("what was said, in short.")).await;
    rig.exchange("hello", "what was said").await;
    rig.user().send_text("/compact");
    rig.advance(30).await;
    let notes: Vec<_> =
        rig.discord.visible().into_iter().filter(|seen| seen.content.starts_with("-# ")).collect();
    assert_eq!(notes.len(), 1, "{}", rig.discord.transcript());
    assert!(!notes[0].notifies());
}

/// ST-14, MC-21: a partial answer is deleted when its turn is discarded.
#[tokio::test(start_paused = true)]
async fn partial_answer_is_deleted_by_clear() {
    let mut calls = 0;
    let model = move |_: &str| {
        calls += 1;
        match calls {
            1 => ScriptedReply::streamed("once upon a time there was nobody", (2, Duration::from_secs(2))),
            _ => ScriptedReply::text("a fresh start."),
        }
    };
    let rig = Rig::new(Setup::default(), model).await;
    rig.user().send_text("a story, please");
    rig.wait_for_message("once").await;
    rig.user().send_text("/clear");
    rig.advance(60).await;
    assert!(rig.messages_with("once").is_empty(), "{}", rig.discord.transcript());
    rig.exchange("hello", "a fresh start.").await;
}

/// Activity on the page sends nothing to Discord, except reminders.
#[tokio::test(start_paused = true)]
async fn page_activity_sends_nothing_to_discord() {
    let mut rig = Rig::new(Setup::default(), |words: &str| {
        if words.contains("[reminder") {
            ScriptedReply::text("⏰ tea")
        } else {
            ScriptedReply::text("fine.")
        }
    })
    .await;
    let assistant = rig.daemon.as_ref().unwrap().assistant.clone();
    assistant.ask(Request::Say(UserMessage::from_text(SurfaceName::Page, "hello from the page"))).await;
    assistant.ask(Request::Fork(ForkCommand::Enter("taxes".to_owned()))).await;
    rig.advance(30).await;
    assistant.ask(Request::Fork(ForkCommand::Exit(ExitCommand::Drop))).await;
    rig.advance(30).await;
    assert!(rig.discord.visible().is_empty(), "{}", rig.discord.transcript());
    let tea = "---\nid: a1b2c3d4\nrun-at: 2026-11-16T09:05:00+01:00\n---\ntea\n";
    rig.write_job_file("reminders/tea.md", tea).await;
    rig.wait_for_message("⏰ tea").await;
}

/// During an outage of the model, everything that needs none is still answered.
#[tokio::test(start_paused = true)]
async fn offline_requests_are_answered_during_an_outage() {
    let unavailable_model =
        |_: &str| ScriptedReply { failure: Some(Failure::Overloaded(Some(600))), ..ScriptedReply::default() };
    let rig = Rig::new(Setup::default(), unavailable_model).await;
    rig.exchange("call mum tomorrow at 17:00", "call mum").await;
    rig.exchange("dentist tomorrow at 10:00", "dentist").await;
    rig.user().send_text("what should i cook?");
    rig.advance(5).await;
    rig.exchange("move dentist to thursday 11:00", "11:00").await;
}
