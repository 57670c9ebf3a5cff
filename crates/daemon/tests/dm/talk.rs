//! Conversation: each message is answered once and completely.

use std::time::Duration;

use domain::assistant::{Doing, Event, Question, Request, Saying, Shown, Step, Way};
use domain::failure::Failure;
use domain::record::SurfaceName;
use engine::ports::Surface as _;
use expect_test::expect;
use testkit::discord::{Attached, Mishap, On, Setup, Trouble};

use crate::rig::{Rig, Speech, echo};

/// MC-1, MC-9, I13: the owner is answered, without mentions and link previews.
#[tokio::test(start_paused = true)]
async fn what_the_human_writes_is_answered() {
    let rig = Rig::new(Setup::default(), echo).await;
    let (_, seen) = rig.talk("good morning", "you said: good morning").await;
    assert!(seen.buzzes());
    assert_eq!(rig.discord.allowed_mentions(seen.id)["parse"], serde_json::json!([]));
    rig.passes(20).await;
    expect![[r#"
        owner: good morning
        ollim: you said: good morning
    "#]]
    .assert_eq(&rig.discord.transcript());
    assert!(rig.discord.ledger().embargo_breaches.is_empty());
}

/// A message sent while the first start is still connecting is answered once.
#[tokio::test(start_paused = true)]
async fn what_is_written_during_the_first_start_is_answered() {
    for away in [0, 300] {
        let mut rig = Rig::before(Setup::default(), echo);
        if away > 0 {
            rig.discord.trouble(Trouble::Down { after: Duration::ZERO, lasts: Duration::from_secs(away) });
        }
        rig.start().await;
        rig.human().types("first words");
        rig.sees("you said: first words").await;
        rig.talk("and more", "you said: and more").await;
        rig.passes(20).await;
        assert_eq!(rig.all("you said: first words").len(), 1, "{}", rig.discord.transcript());
    }
}

/// ST-12, ST-14: a long answer is shown while it is streamed, and is complete at the end.
#[tokio::test(start_paused = true)]
async fn a_long_answer_appears_as_it_comes() {
    let text: String = (0..900).map(|n| format!("word{n} ")).collect();
    let whole = text.clone();
    let speaks = move |_: &str| Speech::slowly(&whole, (60, Duration::from_millis(200)));
    let rig = Rig::new(Setup::default(), speaks).await;
    rig.human().types("tell me a long story");
    let early = rig.sees("word5 ").await;
    assert!(!early.content.contains("word899"), "it is shown before it is finished");
    rig.sees("word899").await;
    rig.passes(30).await;
    let parts: Vec<String> = rig.all("word").into_iter().map(|seen| seen.content).collect();
    assert_eq!(parts.len(), 4);
    let letters = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(letters(&parts.join(" ")), letters(&text));
}

/// An answer of half a megabyte is four messages and a file, streamed or not, so that it delays no
/// reminder with hundreds of messages.
#[tokio::test(start_paused = true)]
async fn a_very_long_answer_is_a_file_with_its_beginning_before_it() {
    let text: String = (0..60_000).map(|n| format!("word{n} ")).collect();
    let whole = text.clone();
    let at_once = text.clone();
    let speaks = move |words: &str| {
        if words.contains("slowly") {
            Speech::slowly(&whole, (3_000, Duration::from_millis(100)))
        } else {
            Speech::of(&at_once)
        }
    };
    let rig = Rig::new(Setup::default(), speaks).await;
    for (asked, already) in [("tell me slowly", 0), ("tell me", 4)] {
        rig.human().types(asked);
        if already == 0 {
            rig.sees("word5 ").await;
            assert!(rig.all("word").len() <= 4, "the beginning is shown while it comes");
        }
        rig.passes(120).await;
        let shown = rig.all("").into_iter().filter(|seen| seen.author == "ollim").collect::<Vec<_>>();
        let [first, .., last] = &shown[already..] else { panic!("{} messages", shown.len()) };
        assert_eq!(shown.len(), already + 4);
        assert!(first.content.starts_with("word0 word1 "), "{}", first.content);
        let told = format!("All {} characters are in the file.", text.chars().count());
        assert!(last.content.contains(&told), "{}", last.content);
        assert_eq!(
            (last.attachments.len(), last.attachments[0]["size"].as_u64()),
            (1, Some(text.len() as u64))
        );
        assert!(shown[already..already + 3].iter().all(|seen| seen.attachments.is_empty()));
    }
}

/// SU-7, SU-9, SU-10: start and stop send nothing, and the gateway session is resumed.
#[tokio::test(start_paused = true)]
async fn starts_and_stops_are_silent() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.talk("hello", "you said: hello").await;
    for _ in 0..3 {
        rig.passes(20).await;
        rig.stopped().await;
        rig.passes(5).await;
        rig.start().await;
        rig.passes(20).await;
    }
    assert_eq!(rig.discord.visible().len(), 2, "{}", rig.discord.transcript());
    let ledger = rig.discord.ledger();
    assert_eq!((ledger.identifies.len(), ledger.resumes.len()), (1, 3));
    rig.talk("still here?", "you said: still here?").await;
}

/// UP-7: announcements of the program are sent, also if it ends immediately afterwards.
#[tokio::test(start_paused = true)]
async fn what_the_program_says_of_itself_arrives() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    let desk = rig.life.as_ref().unwrap().desk.clone();
    desk.tell(Event::Told("updated; i restart.\n- 1a2b3c4 make it new".to_owned())).await;
    desk.ask(Request::Tell(Question::Numbers)).await;
    rig.killed().await;
    rig.start().await;
    rig.passes(20).await;
    assert_eq!(rig.all("make it new").len(), 1, "{}", rig.discord.transcript());
}

/// MC-3: a queued message is marked with a reaction until it is processed.
#[tokio::test(start_paused = true)]
async fn a_message_that_waits_is_marked_as_seen() {
    let mut calls = 0;
    let speaks = move |_: &str| {
        calls += 1;
        match calls {
            1 => Speech::of("hello to you."),
            2 => Speech::slowly("a summary of all that was said", (3, Duration::from_secs(2))),
            _ => Speech::of("here i am."),
        }
    };
    let rig = Rig::new(Setup::default(), speaks).await;
    rig.human().types("hello");
    rig.sees("hello to you.").await;
    rig.passes(60).await;
    rig.human().types("/compact");
    rig.passes(1).await;
    let waiting = rig.human().types("are you there?");
    rig.passes(4).await;
    let marks = |rig: &Rig| {
        let seen = rig.discord.visible().into_iter().find(|seen| seen.id == waiting);
        seen.map(|seen| seen.reactions).unwrap_or_default()
    };
    assert_eq!(marks(&rig).len(), 1, "{}", rig.discord.transcript());
    rig.sees("here i am.").await;
    rig.passes(10).await;
    assert!(marks(&rig).is_empty(), "{}", rig.discord.transcript());
}

/// AT-1, AT-2, AT-3: the model sees images, and unusable attachments are named.
#[tokio::test(start_paused = true)]
async fn pictures_are_seen_and_the_rest_is_named() {
    let rig = Rig::new(Setup::default(), echo).await;
    let picture = Attached::new("cat.txt", *b"\x89PNG\r\n\x1a\n and more");
    let lie = Attached::new("dog.png", *b"not a picture");
    rig.human().types_with("look", vec![picture, lie]);
    rig.sees("you said: look").await;
    rig.sees("not used: dog.png (no picture i can see)").await;
    let entries = rig.life.as_ref().unwrap().pictures().await;
    assert_eq!(entries, ["image/png"]);
}

/// AT-3: a voice message is answered with a notice, and neither downloaded nor given to the model.
#[tokio::test(start_paused = true)]
async fn a_voice_message_is_called_a_voice_message() {
    let rig = Rig::new(Setup::default(), echo).await;
    rig.human().sends_voice();
    rig.sees("I got a voice message, but I can't listen to voice messages yet.").await;
    rig.talk("hello", "you said: hello").await;
    assert_eq!(rig.life.as_ref().unwrap().heard().await, ["hello"]);
    assert!(rig.all("not used:").is_empty(), "{}", rig.discord.transcript());
}

/// MC-5: for a reply with an image, the model gets the image and a quote of the original message.
#[tokio::test(start_paused = true)]
async fn a_reply_with_a_picture_is_heard_whole() {
    let rig = Rig::new(Setup::default(), echo).await;
    let (_, answer) = rig.talk("the red one", "you said: the red one").await;
    rig.passes(5).await;
    let picture = Attached::new("other.png", *b"\x89PNG\r\n\x1a\n and more");
    rig.human().replies_with(answer.id, "this one, i meant", vec![picture]);
    rig.sees("this one, i meant").await;
    let life = rig.life.as_ref().unwrap();
    assert_eq!(life.heard().await, ["the red one", "this one, i meant"]);
    assert_eq!(life.pictures().await, ["image/png"]);
    assert!(life.preface().await.contains("you said: the red one"), "{}", life.preface().await);
}

/// ST-16: an empty answer of the model is reported.
#[tokio::test(start_paused = true)]
async fn who_gets_no_answer_is_told_so() {
    let rig = Rig::new(Setup::default(), |_: &str| Speech::default()).await;
    rig.talk("hello?", "the model answered nothing").await;
    rig.passes(60).await;
    assert_eq!(rig.discord.visible().len(), 2, "{}", rig.discord.transcript());
}

/// ST-18, MC-10, MC-11: a partial answer stays, and the failure is reported once.
#[tokio::test(start_paused = true)]
async fn half_an_answer_stays_and_what_went_wrong_is_told() {
    let why = Failure::Stopped("the model broke off.".to_owned());
    let speech =
        Speech { fails: Some(why), ..Speech::slowly("once upon a time", (4, Duration::from_secs(3))) };
    let rig = Rig::new(Setup::default(), move |_: &str| speech.clone()).await;
    rig.human().types("a story, please");
    rig.sees("the model broke off").await;
    rig.passes(60).await;
    assert_eq!(rig.all("once upon a time").len(), 1, "{}", rig.discord.transcript());
    assert_eq!(rig.all("the model broke off").len(), 1, "{}", rig.discord.transcript());
}

/// ST-8, ST-9, ST-10, ST-17: long work has a silent status line, which is removed when the answer
/// arrives.
#[tokio::test(start_paused = true)]
async fn long_work_has_a_silent_line_that_goes() {
    let speaks = |_: &str| Speech {
        words: vec![(Duration::from_secs(40), "found it.".to_owned())],
        ..Speech::default()
    };
    let rig = Rig::new(Setup::default(), speaks).await;
    rig.human().types("search everything");
    rig.passes(2).await;
    assert!(rig.discord.is_typing());
    let stage = &rig.life.as_ref().unwrap().stage;
    let turn = *stage.subscribe().scene().running.keys().next().unwrap();
    stage.show(&Shown::Working { turn, tool: "reading your calendar".to_owned(), doing: Doing::Runs });
    let line = rig.sees("reading your calendar").await;
    assert!(!line.buzzes() && line.content.starts_with("-# "), "{line:?}");
    rig.discord.trouble(Trouble::Call(On::edit().times(2), Mishap::Status(500)));
    let answer = rig.sees("found it.").await;
    assert!(answer.buzzes());
    rig.passes(30).await;
    assert!(rig.all("reading your calendar").is_empty(), "{}", rig.discord.transcript());
}

/// A model that first says a few words and calls `inbox_list`, and then replies with `after`.
fn looks_it_up(after: Speech) -> impl FnMut(&str) -> Speech {
    let mut calls = 0;
    move |_: &str| {
        calls += 1;
        match calls {
            1 => Speech { calls: vec![("inbox_list", "{}".to_owned())], ..Speech::of("one moment.") },
            _ => after.clone(),
        }
    }
}

fn after(seconds: u64, words: &str) -> Speech {
    Speech { words: vec![(Duration::from_secs(seconds), words.to_owned())], ..Speech::default() }
}

/// The status line of the call.
const LOOKS: &str = "-# inbox\\_list…";

/// ST-2, ST-4, ST-5: text before a tool call is sent at once. A long call has a silent status line,
/// which is removed with the answer.
#[tokio::test(start_paused = true)]
async fn what_is_said_before_a_call_stands_and_the_call_has_a_line() {
    let rig = Rig::new(Setup::default(), looks_it_up(after(40, "two things."))).await;
    rig.human().types("what did i keep?");
    rig.sees("one moment.").await;
    assert!(rig.all(LOOKS).is_empty(), "what is quick needs no line");
    let line = rig.sees(LOOKS).await;
    assert!(!line.buzzes(), "{line:?}");
    rig.sees("two things.").await;
    rig.passes(10).await;
    expect![[r#"
        owner: what did i keep?
        ollim: one moment.
        ollim: two things.
    "#]]
    .assert_eq(&rig.discord.transcript());
}

/// ST-5: the status line of a call is removed when the model fails.
#[tokio::test(start_paused = true)]
async fn the_line_about_a_call_goes_when_the_model_breaks_off() {
    let fails = Some(Failure::Stopped("the model broke off.".to_owned()));
    let rig = Rig::new(Setup::default(), looks_it_up(Speech { fails, ..after(20, "") })).await;
    rig.human().types("what did i keep?");
    rig.sees(LOOKS).await;
    rig.sees("the model broke off.").await;
    rig.passes(10).await;
    assert!(rig.all(LOOKS).is_empty(), "{}", rig.discord.transcript());
    assert_eq!(rig.all("one moment.").len(), 1, "{}", rig.discord.transcript());
}

/// ST-5: the status line of a call that a crash left behind is removed at the next start, and the
/// answer follows.
#[tokio::test(start_paused = true)]
async fn the_line_about_a_call_goes_after_a_crash() {
    let mut rig = Rig::new(Setup::default(), looks_it_up(after(40, "two things."))).await;
    rig.human().types("what did i keep?");
    rig.sees(LOOKS).await;
    rig.killed().await;
    assert_eq!(rig.all(LOOKS).len(), 1, "nobody was there to take it away");
    rig.start().await;
    rig.passes(5).await;
    assert!(rig.all(LOOKS).is_empty(), "{}", rig.discord.transcript());
    rig.sees("two things.").await;
    rig.passes(10).await;
    assert!(rig.all(LOOKS).is_empty(), "{}", rig.discord.transcript());
}

/// ST-9, ST-20: a repeated status keeps its timer, a new one restarts it, and markup in the
/// arguments is escaped.
#[tokio::test(start_paused = true)]
async fn each_tool_is_counted_from_its_own_beginning() {
    let rig = Rig::new(Setup::default(), |_: &str| after(90, "found it.")).await;
    rig.human().types("search everything");
    rig.passes(2).await;
    let stage = &rig.life.as_ref().unwrap().stage;
    let turn = *stage.subscribe().scene().running.keys().next().unwrap();
    let works = |tool: &str| {
        stage.show(&Shown::Working { turn, tool: tool.to_owned(), doing: Doing::Runs });
    };
    works("Read(my_*day*.md)");
    rig.sees("-# Read(my\\_\\*day\\*.md)… 12 s").await;
    works("Read(my_*day*.md)");
    rig.sees("Read(my\\_\\*day\\*.md)… 17 s").await;
    works("Grep(day)");
    let line = rig.sees("Grep(day)… ").await;
    assert!(["Grep(day)… 4 s", "Grep(day)… 5 s"].iter().any(|told| line.content.contains(told)), "{line:?}");
    rig.sees("found it.").await;
}

/// A model that sends `notes`, calls `inbox_list`, and answers after 40 seconds.
fn notes_its_work(notes: Vec<&'static str>) -> impl FnMut(&str) -> Speech {
    let mut calls = 0;
    move |_: &str| {
        calls += 1;
        match calls {
            1 => Speech { notes: notes.clone(), ..Speech::calls("inbox_list", "{}") },
            2 => Speech { notes: vec!["", "Two of them ", "are done."], ..after(40, "two things.") },
            _ => Speech::of("yes."),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn progress_notes_are_a_silent_status_line_that_the_answer_replaces() {
    let rig = Rig::new(Setup::default(), notes_its_work(vec!["", "Looking into the ", "inbox."])).await;
    rig.human().types("what did i keep?");
    let line = rig.sees("Two of them are done.").await;
    assert!(!line.buzzes() && line.content.starts_with("-# "), "{line:?}");
    assert_eq!(rig.all("Two of them").len(), 1, "{}", rig.discord.transcript());
    rig.sees("two things.").await;
    rig.passes(10).await;
    expect![[r#"
        owner: what did i keep?
        ollim: two things.
    "#]]
    .assert_eq(&rig.discord.transcript());
    let edits = times(&rig, "PATCH", "/channels/*/messages");
    assert!(edits.len() <= 8 && pace(&edits) >= Duration::from_secs(5), "{edits:?}");
}

#[tokio::test(start_paused = true)]
async fn hostile_text_in_a_progress_note_is_shown_as_plain_text() {
    let note = "hi @everyone <@1> **bold** [a](https://evil.example)\n# title \u{202e}\u{1b}[31m `code";
    let rig = Rig::new(Setup::default(), move |_: &str| Speech {
        notes: vec!["", note, "x".repeat(9_000).leak()],
        ..after(40, "done.")
    })
    .await;
    rig.human().types("go");
    let line = rig.sees("everyone").await;
    let safe = "-# hi \\@everyone \\<\\@1\\> \\*\\*bold\\*\\* \\[a\\]\\(https\\://evil.example\\) \\# title \\[31m \\`codexx";
    assert!(line.content.starts_with(safe), "{line:?}");
    assert!(line.content.chars().count() < 400 && line.content.ends_with('…'), "{line:?}");
    rig.sees("done.").await;
    rig.passes(10).await;
    assert!(rig.all("everyone").is_empty(), "{}", rig.discord.transcript());
}

/// Returns the times of the requests to one route.
fn times(rig: &Rig, method: &str, route: &str) -> Vec<Duration> {
    rig.discord.ledger().of(method, route).map(|request| request.at).collect()
}

/// Returns the shortest interval between two times.
fn pace(times: &[Duration]) -> Duration {
    times.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(Duration::MAX)
}

/// ST-11: a short answer is sent once and is not edited.
#[tokio::test(start_paused = true)]
async fn a_short_answer_is_sent_whole() {
    let speaks = |_: &str| Speech::slowly("three words only", (6, Duration::from_millis(200)));
    let rig = Rig::new(Setup::default(), speaks).await;
    rig.talk("say three words", "three words only").await;
    rig.passes(20).await;
    assert_eq!(times(&rig, "POST", "/channels/*/messages").len(), 1);
    assert!(times(&rig, "PATCH", "/channels/*/messages").is_empty());
}

/// ST-11: the typing indicator is shown first. A long answer is sent with its first sentence and
/// then edited at a limited rate, only while text arrives.
#[tokio::test(start_paused = true)]
async fn a_long_answer_grows_at_a_pace_while_words_come() {
    let second = Duration::from_secs(1);
    let piece = |pause: Duration| (pause, "and then some more. ".to_owned());
    let mut words = vec![piece(18 * second)];
    words.extend((0..7).map(|_| piece(second)));
    words.push(piece(10 * second));
    words.extend((0..10).map(|_| piece(second / 2)));
    let speaks = move |_: &str| Speech { words: words.clone(), ..Speech::default() };
    let rig = Rig::new(Setup::default(), speaks).await;
    rig.human().types("a long story");
    rig.passes(60).await;
    let typing = times(&rig, "POST", "/channels/*/typing");
    let [shown] = times(&rig, "POST", "/channels/*/messages")[..] else {
        panic!("{}", rig.discord.transcript())
    };
    assert!(typing.len() == 3 && pace(&typing) >= 8 * second, "{typing:?}");
    assert!(typing.iter().all(|typed| *typed < shown), "{typing:?} {shown:?}");
    let spoke = typing[0] + 18 * second;
    assert!(shown >= spoke && shown < spoke + second / 5, "{spoke:?} {shown:?}");
    let grows = times(&rig, "PATCH", "/channels/*/messages");
    // The last edit is the final answer, which is sent without delay.
    let (_, unfinished) = grows.split_last().unwrap();
    assert!(unfinished.len() > 4 && pace(unfinished) >= Duration::from_millis(1_200), "{unfinished:?}");
    let silent = spoke + 7 * second + Duration::from_millis(1_300)..spoke + 17 * second;
    assert!(!unfinished.iter().any(|at| silent.contains(at)), "{unfinished:?} {silent:?}");
}

/// Streams an answer of `pieces`, the first after a second and the others at `pace`. Returns the
/// text that is sent first, and its delay after the first piece.
async fn first_message(pieces: Vec<&'static str>, pace: Duration) -> (String, Duration) {
    let second = Duration::from_secs(1);
    let mut words: Vec<(Duration, String)> = pieces.iter().map(|piece| (pace, (*piece).to_owned())).collect();
    words[0].0 = second;
    let speaks = move |_: &str| Speech { words: words.clone(), ..Speech::default() };
    let rig = Rig::new(Setup::default(), speaks).await;
    rig.human().types("what is on today?");
    let seen = rig.sees(pieces[0].trim()).await;
    let typing = times(&rig, "POST", "/channels/*/typing")[0];
    let sent = times(&rig, "POST", "/channels/*/messages")[0];
    rig.passes(30).await;
    let whole: String = pieces.concat();
    assert_eq!(rig.all(whole.trim()).len(), 1, "{}", rig.discord.transcript());
    assert_eq!(times(&rig, "POST", "/channels/*/messages").len(), 1);
    (seen.content, sent - (typing + second))
}

/// A push notification shows the text at the time of sending.
#[tokio::test(start_paused = true)]
async fn the_first_sentence_of_an_answer_is_sent_when_it_is_complete() {
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
async fn the_first_words_of_an_answer_of_six_seconds_are_sent_within_a_second() {
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
async fn eighty_characters_are_sent_without_a_sentence() {
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
async fn what_there_is_after_a_moment_is_sent_in_whole_words() {
    let pieces = vec!["well, let me", " think", " about it", " for", " a", " while"];
    let (sent, after) = first_message(pieces, Duration::from_millis(390)).await;
    assert_eq!(sent, "well, let me think about");
    let expected = Duration::from_millis(800);
    assert!((expected..expected + Duration::from_millis(50)).contains(&after), "{after:?}");
}

/// A crash occurs after Discord accepted the first sentence and before we received its response.
/// Discord has forgotten the nonce when the answer continues.
#[tokio::test(start_paused = true)]
async fn a_first_sentence_whose_receipt_a_crash_lost_is_there_once() {
    let mut calls = 0;
    let speaks = move |_: &str| {
        calls += 1;
        let text =
            if calls == 1 { "First this. And then that, and more." } else { "Then another answer. The end." };
        Speech::slowly(text, (6, Duration::from_millis(400)))
    };
    let mut rig = Rig::new(Setup::default(), speaks).await;
    rig.discord.trouble(Trouble::Call(On::send(), Mishap::Slow(Duration::from_secs(5))));
    rig.human().types("what first?");
    rig.sees("First this.").await;
    rig.killed().await;
    rig.passes(600).await;
    rig.start().await;
    rig.sees("The end.").await;
    rig.passes(30).await;
    expect![[r#"
        owner: what first?
        ollim (edited once): Then another answer. The end.
    "#]]
    .assert_eq(&rig.discord.transcript());
}

/// Like the previous test without a crash: the response is lost, and the nonce expires before the
/// next send.
#[tokio::test(start_paused = true)]
async fn a_first_sentence_of_which_nobody_knows_whether_it_arrived_is_there_once() {
    let speaks = |_: &str| Speech::slowly("First this. And then that.", (6, Duration::from_millis(100)));
    let rig = Rig::new(Setup::default(), speaks).await;
    rig.discord.trouble(Trouble::Call(On::send(), Mishap::LostAfter));
    rig.human().types("what first?");
    rig.sees("First this.").await;
    rig.discord.trouble(Trouble::Down { after: Duration::ZERO, lasts: Duration::from_secs(600) });
    rig.passes(900).await;
    let told = rig.all("First this.");
    assert_eq!(told.len(), 1, "{}", rig.discord.transcript());
    assert!(told[0].content.starts_with("First this. And then that."), "{told:?}");
}

/// ST-15: a compaction leaves one small silent note.
#[tokio::test(start_paused = true)]
async fn a_compaction_leaves_a_small_note() {
    let rig = Rig::new(Setup::default(), |_: &str| Speech::of("what was said, in short.")).await;
    rig.talk("hello", "what was said").await;
    rig.human().types("/compact");
    rig.passes(30).await;
    let notes: Vec<_> =
        rig.discord.visible().into_iter().filter(|seen| seen.content.starts_with("-# ")).collect();
    assert_eq!(notes.len(), 1, "{}", rig.discord.transcript());
    assert!(!notes[0].buzzes());
}

/// ST-14, MC-21: a partial answer is deleted when its turn is discarded.
#[tokio::test(start_paused = true)]
async fn half_an_answer_goes_with_the_conversation() {
    let mut calls = 0;
    let speaks = move |_: &str| {
        calls += 1;
        match calls {
            1 => Speech::slowly("once upon a time there was nobody", (2, Duration::from_secs(2))),
            _ => Speech::of("a fresh start."),
        }
    };
    let rig = Rig::new(Setup::default(), speaks).await;
    rig.human().types("a story, please");
    rig.sees("once").await;
    rig.human().types("/clear");
    rig.passes(60).await;
    assert!(rig.all("once").is_empty(), "{}", rig.discord.transcript());
    rig.talk("hello", "a fresh start.").await;
}

/// Activity on the page sends nothing to Discord, except reminders.
#[tokio::test(start_paused = true)]
async fn what_is_said_on_the_page_stays_there() {
    let mut rig = Rig::new(Setup::default(), |words: &str| {
        if words.contains("[reminder") { Speech::of("⏰ tea") } else { Speech::of("fine.") }
    })
    .await;
    let desk = rig.life.as_ref().unwrap().desk.clone();
    desk.ask(Request::Say(Saying::words(SurfaceName::Page, "hello from the page"))).await;
    desk.ask(Request::Step(Step::Aside("taxes".to_owned()))).await;
    rig.passes(30).await;
    desk.ask(Request::Step(Step::Back(Way::Drop))).await;
    rig.passes(30).await;
    assert!(rig.discord.visible().is_empty(), "{}", rig.discord.transcript());
    let tea = "---\nid: a1b2c3d4\nrun-at: 2026-11-16T09:05:00+01:00\n---\ntea\n";
    rig.file("reminders/tea.md", tea).await;
    rig.sees("⏰ tea").await;
}

/// During an outage of the model, everything that needs none is still answered.
#[tokio::test(start_paused = true)]
async fn what_needs_no_model_is_answered_while_it_is_away() {
    let away = |_: &str| Speech { fails: Some(Failure::Busy(Some(600))), ..Speech::default() };
    let rig = Rig::new(Setup::default(), away).await;
    rig.talk("call mum tomorrow at 17:00", "call mum").await;
    rig.talk("dentist tomorrow at 10:00", "dentist").await;
    rig.human().types("what should i cook?");
    rig.passes(5).await;
    rig.talk("move dentist to thursday 11:00", "11:00").await;
}
