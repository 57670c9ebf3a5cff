//! A whole day in the direct messages, compared with a stored transcript.

use expect_test::expect_file;
use testkit::fake_discord::{DiscordFault, GatewayFault, Setup};

use crate::rig::{Rig, ScriptedReply};

const MAIL: &str = "---\nid: mail\ncron: 30 9 * * *\nbackground: true\n---\nlook at the mail\n";
const DENTIST: &str = "---\nid: a1b2c3d4\nrun-at: 2026-11-16T11:00:00+01:00\n---\ncall the dentist\n";

/// The model of the day.
fn day_model(words: &str) -> ScriptedReply {
    let reply = |text: &str| ScriptedReply::text(text);
    if words.contains("[reminder") {
        reply("⏰ call the dentist")
    } else if words.contains("[system]") {
        ScriptedReply::calls("report_updates", r#"{"message":"the flat has to be decided by noon."}"#)
    } else if words.contains("[routine-bg:mail]") {
        ScriptedReply::calls("ping_user", r#"{"message":"the landlord wants an answer until noon."}"#)
    } else if words.contains("what did he write") {
        reply("he asks whether you take the flat.")
    } else if words.contains("good morning") {
        reply("good morning, julius.")
    } else if words.contains("keep the milk") {
        ScriptedReply::calls("inbox_add", r#"{"text":"milk"}"#)
    } else if words.contains("take out the milk") {
        ScriptedReply::calls("inbox_remove", r#"{"number":1}"#)
    } else {
        reply("fine.")
    }
}

/// D1, XB-16, MT-9: a day with a ping, a reply into its run, a report, a reminder that is moved
/// after a kill, an approval and many reconnects. Each message appears once.
#[tokio::test(start_paused = true)]
async fn day_in_the_direct_messages() {
    let mut rig = Rig::new(Setup::default(), day_model).await;
    rig.write_job_file("routines/mail.md", MAIL).await;
    rig.write_job_file("reminders/dentist.md", DENTIST).await;
    rig.exchange("good morning", "good morning, julius.").await;

    rig.advance(25 * 60).await;
    let ping = rig.wait_for_message("the landlord wants").await;
    rig.advance(30).await;
    // MT-1, DD-51: the file contains the Discord ids and exactly its four keys.
    let file = std::fs::read_to_string(rig.dir.path().join("state/fork_messages.json")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&file).unwrap();
    assert_eq!(file[0]["message_id"], ping.id.0, "{file}");
    let keys: Vec<&String> = file[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["fork_session_id", "message_id", "parent_session_id", "ts"]);
    rig.user().reply(ping.id, "what did he write?");
    rig.wait_for_message("whether you take the flat").await;
    let banner = rig.wait_for_message("Forked Session").await;
    rig.advance(3).await;
    rig.user().click(banner.id, "Report").unwrap();
    rig.wait_for_message("summary queued").await;

    rig.advance(85 * 60).await;
    let card = rig.wait_for_message("call the dentist").await;
    rig.advance(5).await;
    rig.kill().await;
    rig.start().await;
    rig.advance(5).await;
    rig.user().click(card.id, "In 10 min").unwrap();
    rig.wait_for_message("moved to").await;

    rig.exchange("/permissions default", "default").await;
    rig.user().send_text("keep the milk in mind");
    rig.advance(10).await;
    rig.user().send_text("take out the milk");
    let approval = rig.wait_for_message("may i run").await;
    rig.advance(3).await;
    rig.user().click(approval.id, "Yes").unwrap();
    rig.wait_for_message("allowed").await;
    rig.advance(10).await;

    for _ in 0..20 {
        rig.discord.inject_fault(DiscordFault::Gateway(GatewayFault::Drop));
        rig.advance(20).await;
        rig.discord.inject_fault(DiscordFault::Gateway(GatewayFault::Reconnect));
        rig.advance(20).await;
    }
    rig.exchange("still there?", "fine.").await;
    rig.advance(600).await;
    expect_file!["day.txt"].assert_eq(&rig.discord.transcript());
    assert!(rig.discord.log().premature_requests.is_empty());
    assert!(rig.discord.log().identifies.len() <= rig.bridge.invalidations() + 1, "a restart resumes");
    assert_eq!(rig.messages_with("call the dentist").len(), 2);
    assert_eq!(rig.messages_with("the landlord wants").len(), 1);
}
