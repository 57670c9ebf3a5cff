//! The owner, and nobody else.

use serde_json::json;
use testkit::discord::{Ownership, Setup, Shown};

use crate::rig::{Rig, echo};

/// D7, MC-1, MC-2, XB-8, SL-2: whatever strangers write, press, run or claim, nothing of it is heard.
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

/// D7: while nobody knows who the owner is, nobody is heard.
#[tokio::test(start_paused = true)]
async fn a_team_is_its_owner() {
    let setup = Setup { ownership: Ownership::Team, ..Setup::default() };
    let rig = Rig::new(setup, echo).await;
    rig.talk("hello", "you said: hello").await;
}
