//! Only the owner has access.

use serde_json::json;
use testkit::fake_discord::{InteractionView, Ownership, Setup};

use crate::rig::{Rig, ScriptedReply, echo};

/// D7, MC-1, MC-2, XB-8, SL-2: messages, presses, commands and forged interactions of other users
/// have no effect.
#[tokio::test(start_paused = true)]
async fn strangers_have_no_access() {
    let rig = Rig::new(Setup::default(), echo).await;
    let (_, answer) = rig.exchange("hello", "you said: hello").await;
    let stranger = rig.discord.other_user(&Setup::default().owner);
    for n in 0..100 {
        stranger.send_text(&format!("obey me {n}"));
        let _ = stranger.add_reaction(answer.id, "✅");
        let pressed = json!({ "custom_id": "act:rem_done:a1b2c3d4", "component_type": 2 });
        let press = stranger.send_forged_interaction(3, pressed, Some(answer.id));
        let command =
            stranger.send_forged_interaction(2, json!({ "name": "clear", "id": "1", "type": 1 }), None);
        rig.advance(2).await;
        for interaction in [press, command] {
            let shown = rig.discord.interaction_view(interaction);
            assert!(matches!(&shown, InteractionView::Message(seen) if seen.is_ephemeral()), "{shown:?}");
        }
    }
    rig.advance(60).await;
    assert_eq!(rig.daemon.as_ref().unwrap().user_messages().await, ["hello"]);
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
async fn team_owner_has_access() {
    let setup = Setup { ownership: Ownership::Team, ..Setup::default() };
    let rig = Rig::new(setup, echo).await;
    rig.exchange("hello", "you said: hello").await;
}

/// I5, D7, PM-8: 300 answers to an approval by other users, or on another message, run nothing, and
/// the approval stays open.
#[tokio::test(start_paused = true)]
async fn only_the_owner_answers_an_approval() {
    let model = |words: &str| {
        if words.contains("take it out") {
            ScriptedReply::calls("inbox_remove", r#"{"number":1}"#)
        } else {
            ScriptedReply::text("fine.")
        }
    };
    let rig = Rig::new(Setup::default(), model).await;
    rig.exchange("/permissions default", "from now on the mode is").await;
    let (_, other) = rig.exchange("hello", "fine.").await;
    rig.user().send_text("take it out");
    let approval = rig.wait_for_message("may i run").await;
    let yes: Vec<String> =
        approval.buttons().into_iter().take(2).filter_map(|button| button.custom_id).collect();
    let stranger = rig.discord.other_user(&Setup::default().owner);
    for n in 0..60 {
        let press = json!({ "custom_id": yes[n % 2], "component_type": 2 });
        let forged = [
            stranger.send_forged_interaction(3, press.clone(), Some(approval.id)),
            stranger.send_forged_interaction(3, press.clone(), None),
            rig.user().send_forged_interaction(3, press.clone(), Some(other.id)),
        ];
        let _ = stranger.add_reaction(approval.id, ["✅", "🔓"][n % 2]);
        stranger.send_text(["/allow 1", "/always 1"][n % 2]);
        rig.advance(4).await;
        for interaction in forged {
            let shown = rig.discord.interaction_view(interaction);
            let is_ephemeral_reply = matches!(&shown, InteractionView::Message(seen) if seen.is_ephemeral());
            assert!(is_ephemeral_reply || matches!(shown, InteractionView::Acknowledged), "{shown:?}");
        }
    }
    assert_eq!(rig.messages_with("allowed").len(), 0, "{}", rig.discord.transcript());
    rig.user().click(approval.id, "No").unwrap();
    rig.advance(20).await;
    let seen = rig.discord.visible();
    let seen = seen.iter().find(|seen| seen.id == approval.id).unwrap();
    assert!(seen.content.contains("denied"), "it still waited: {}", rig.discord.transcript());
}

/// I5: a call longer than one message is shown completely, with the buttons below its end.
#[tokio::test(start_paused = true)]
async fn long_call_is_shown_completely() {
    let words: Vec<String> = (0..900).map(|number| format!("word{number}")).collect();
    let input = json!({ "number": 1, "why": words.join(" ") }).to_string();
    let model = move |output: &str| {
        if output.contains("take it out") {
            ScriptedReply::calls("inbox_remove", &input)
        } else {
            ScriptedReply::text("fine.")
        }
    };
    let rig = Rig::new(Setup::default(), model).await;
    rig.exchange("/permissions default", "from now on the mode is").await;
    rig.user().send_text("take it out");
    rig.wait_for_message("may i run").await;
    let last = rig.wait_for_message("word899").await;
    let shown: String = rig.discord.visible().iter().map(|seen| format!("{}\n", seen.content)).collect();
    for word in &words {
        assert!(shown.contains(word.as_str()), "{word} is missing: {shown}");
    }
    let labels: Vec<String> = last.buttons().into_iter().map(|button| button.label).collect();
    assert_eq!(labels, ["Yes", "Yes, always", "No"], "{shown}");
}
