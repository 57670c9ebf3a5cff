//! Talking: what the human writes is answered, once and whole.

use std::time::Duration;

use expect_test::expect;
use testkit::discord::Setup;

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
