//! Talking: what the human writes is answered, once and whole.

use std::time::Duration;

use expect_test::expect;
use testkit::discord::{Attached, Setup};

use crate::rig::{Rig, Speech, echo};

/// MC-1, MC-9, I13: the owner is answered, and nobody is mentioned or fetched.
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

/// ST-12, ST-14: a long answer appears as it comes, and is whole in the end.
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

/// SU-7, SU-9, SU-10: a start and a stop say nothing, and a session goes on where it was.
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

/// MC-3: a message that has to wait is marked as seen until its turn comes.
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

/// AT-1, AT-2, AT-3: pictures are seen, and what is not used is named.
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
