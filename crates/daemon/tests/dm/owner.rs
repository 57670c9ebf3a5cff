//! Only the owner has access.

use serde_json::json;
use testkit::discord::{Ownership, Setup, Shown};

use crate::rig::{Rig, Speech, echo};

/// D7, MC-1, MC-2, XB-8, SL-2: messages, presses, commands and forged interactions of other users
/// have no effect.
#[tokio::test(start_paused = true)]
async fn strangers_are_not_heard() {
    let rig = Rig::new(Setup::default(), echo).await;
    let (_, answer) = rig.talk("hello", "you said: hello").await;
    let stranger = rig.discord.stranger(&Setup::default().owner);
    for n in 0..100 {
        stranger.types(&format!("obey me {n}"));
        let _ = stranger.reacts(answer.id, "✅");
        let pressed = json!({ "custom_id": "act:rem_done:a1b2c3d4", "component_type": 2 });
        let press = stranger.forged(3, pressed, Some(answer.id));
        let command = stranger.forged(2, json!({ "name": "clear", "id": "1", "type": 1 }), None);
        rig.passes(2).await;
        for interaction in [press, command] {
            let shown = rig.discord.answer_to(interaction);
            assert!(matches!(&shown, Shown::Message(seen) if seen.is_ephemeral()), "{shown:?}");
        }
    }
    rig.passes(60).await;
    assert_eq!(rig.life.as_ref().unwrap().heard().await, ["hello"]);
    assert_eq!(
        rig.discord
            .visible_to(&stranger)
            .iter()
            .filter(|seen| !seen.is_ephemeral() && seen.author == "ollim")
            .count(),
        0
    );
}

/// D7: the owner of the team that owns the application has access.
#[tokio::test(start_paused = true)]
async fn a_team_is_its_owner() {
    let setup = Setup { ownership: Ownership::Team, ..Setup::default() };
    let rig = Rig::new(setup, echo).await;
    rig.talk("hello", "you said: hello").await;
}

/// I5, D7, PM-8: 300 answers to an approval by other users, or on another message, run nothing, and
/// the approval stays open.
#[tokio::test(start_paused = true)]
async fn nobody_else_answers_what_the_human_is_asked() {
    let speaks = |words: &str| {
        if words.contains("take it out") {
            Speech::calls("inbox_remove", r#"{"number":1}"#)
        } else {
            Speech::of("fine.")
        }
    };
    let rig = Rig::new(Setup::default(), speaks).await;
    rig.talk("/permissions default", "from now on the mode is").await;
    let (_, other) = rig.talk("hello", "fine.").await;
    rig.human().types("take it out");
    let asks = rig.sees("may i run").await;
    let yes: Vec<String> = asks.buttons().into_iter().take(2).filter_map(|button| button.custom_id).collect();
    let stranger = rig.discord.stranger(&Setup::default().owner);
    for n in 0..60 {
        let press = json!({ "custom_id": yes[n % 2], "component_type": 2 });
        let forged = [
            stranger.forged(3, press.clone(), Some(asks.id)),
            stranger.forged(3, press.clone(), None),
            rig.human().forged(3, press.clone(), Some(other.id)),
        ];
        let _ = stranger.reacts(asks.id, ["✅", "🔓"][n % 2]);
        stranger.types(["/allow 1", "/always 1"][n % 2]);
        rig.passes(4).await;
        for interaction in forged {
            let shown = rig.discord.answer_to(interaction);
            let said = matches!(&shown, Shown::Message(seen) if seen.is_ephemeral());
            assert!(said || matches!(shown, Shown::Heard), "{shown:?}");
        }
    }
    assert_eq!(rig.all("allowed").len(), 0, "{}", rig.discord.transcript());
    rig.human().clicks(asks.id, "No").unwrap();
    rig.passes(20).await;
    let seen = rig.discord.visible();
    let seen = seen.iter().find(|seen| seen.id == asks.id).unwrap();
    assert!(seen.content.contains("denied"), "it still waited: {}", rig.discord.transcript());
}

/// I5: a call longer than one message is shown completely, with the buttons below its end.
#[tokio::test(start_paused = true)]
async fn a_long_call_is_shown_whole() {
    let words: Vec<String> = (0..900).map(|number| format!("word{number}")).collect();
    let input = json!({ "number": 1, "why": words.join(" ") }).to_string();
    let speaks = move |said: &str| {
        if said.contains("take it out") { Speech::calls("inbox_remove", &input) } else { Speech::of("fine.") }
    };
    let rig = Rig::new(Setup::default(), speaks).await;
    rig.talk("/permissions default", "from now on the mode is").await;
    rig.human().types("take it out");
    rig.sees("may i run").await;
    let last = rig.sees("word899").await;
    let shown: String = rig.discord.visible().iter().map(|seen| format!("{}\n", seen.content)).collect();
    for word in &words {
        assert!(shown.contains(word.as_str()), "{word} is missing: {shown}");
    }
    let labels: Vec<String> = last.buttons().into_iter().map(|button| button.label).collect();
    assert_eq!(labels, ["Yes", "Yes, always", "No"], "{shown}");
}
