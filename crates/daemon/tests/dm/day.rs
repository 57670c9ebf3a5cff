//! A whole day in the direct messages, compared with a stored transcript.

use expect_test::expect_file;
use testkit::discord::{Setup, Trouble, Upset};

use crate::rig::{Rig, Speech};

const MAIL: &str = "---\nid: mail\ncron: 30 9 * * *\nbackground: true\n---\nlook at the mail\n";
const DENTIST: &str = "---\nid: a1b2c3d4\nrun-at: 2026-11-16T11:00:00+01:00\n---\ncall the dentist\n";

/// The model of the day.
fn speaks(words: &str) -> Speech {
    let says = |text: &str| Speech::of(text);
    if words.contains("[reminder") {
        says("⏰ call the dentist")
    } else if words.contains("[system]") {
        Speech::calls("report_updates", r#"{"message":"the flat has to be decided by noon."}"#)
    } else if words.contains("[routine-bg:mail]") {
        Speech::calls("ping_user", r#"{"message":"the landlord wants an answer until noon."}"#)
    } else if words.contains("what did he write") {
        says("he asks whether you take the flat.")
    } else if words.contains("good morning") {
        says("good morning, julius.")
    } else if words.contains("keep the milk") {
        Speech::calls("inbox_add", r#"{"text":"milk"}"#)
    } else if words.contains("take out the milk") {
        Speech::calls("inbox_remove", r#"{"number":1}"#)
    } else {
        says("fine.")
    }
}

/// D1, XB-16, MT-9: a day with a ping, a reply into its run, a report, a reminder that is moved
/// after a kill, an approval and many reconnects. Each message appears once.
#[tokio::test(start_paused = true)]
async fn a_day_in_the_direct_messages() {
    let mut rig = Rig::new(Setup::default(), speaks).await;
    rig.file("routines/mail.md", MAIL).await;
    rig.file("reminders/dentist.md", DENTIST).await;
    rig.talk("good morning", "good morning, julius.").await;

    rig.passes(25 * 60).await;
    let ping = rig.sees("the landlord wants").await;
    rig.passes(30).await;
    // MT-1, DD-51: the file contains the Discord ids and exactly its four keys.
    let file = std::fs::read_to_string(rig.dir.path().join("state/fork_messages.json")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&file).unwrap();
    assert_eq!(file[0]["message_id"], ping.id.0, "{file}");
    let keys: Vec<&String> = file[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["fork_session_id", "message_id", "parent_session_id", "ts"]);
    rig.human().replies(ping.id, "what did he write?");
    rig.sees("whether you take the flat").await;
    let banner = rig.sees("Forked Session").await;
    rig.passes(3).await;
    rig.human().clicks(banner.id, "Report").unwrap();
    rig.sees("summary queued").await;

    rig.passes(85 * 60).await;
    let card = rig.sees("call the dentist").await;
    rig.passes(5).await;
    rig.killed().await;
    rig.start().await;
    rig.passes(5).await;
    rig.human().clicks(card.id, "In 10 min").unwrap();
    rig.sees("moved to").await;

    rig.talk("/permissions default", "default").await;
    rig.human().types("keep the milk in mind");
    rig.passes(10).await;
    rig.human().types("take out the milk");
    let asks = rig.sees("may i run").await;
    rig.passes(3).await;
    rig.human().clicks(asks.id, "Yes").unwrap();
    rig.sees("allowed").await;
    rig.passes(10).await;

    for _ in 0..20 {
        rig.discord.trouble(Trouble::Gateway(Upset::Drop));
        rig.passes(20).await;
        rig.discord.trouble(Trouble::Gateway(Upset::Reconnect));
        rig.passes(20).await;
    }
    rig.talk("still there?", "fine.").await;
    rig.passes(600).await;
    expect_file!["day.txt"].assert_eq(&rig.discord.transcript());
    assert!(rig.discord.ledger().embargo_breaches.is_empty());
    assert!(rig.discord.ledger().identifies.len() <= rig.bridge.invalidations() + 1, "a restart resumes");
    assert_eq!(rig.all("call the dentist").len(), 2);
    assert_eq!(rig.all("the landlord wants").len(), 1);
}
