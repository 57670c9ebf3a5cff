//! Cards: a reminder rings, and is answered with a button, also after a restart.

use testkit::discord::Setup;

use crate::rig::{Rig, Speech};

const DENTIST: &str = "---\nid: a1b2c3d4\nrun-at: 2026-11-16T09:05:00+01:00\n---\ncall the dentist\n";

fn reminds(words: &str) -> Speech {
    match words.contains("dentist") {
        true => Speech::of("⏰ call the dentist"),
        false => Speech::of("ok"),
    }
}

/// XB-7, A12: a reminder is moved by a button after the program was killed, and rings again at that time.
#[tokio::test(start_paused = true)]
async fn a_reminder_is_moved_by_a_button_after_a_kill() {
    let mut rig = Rig::new(Setup::default(), reminds).await;
    rig.file("reminders/dentist.md", DENTIST).await;
    let card = rig.sees("call the dentist").await;
    assert!(card.buzzes());
    assert_eq!(
        card.buttons().iter().map(|b| b.label.clone()).collect::<Vec<_>>(),
        ["Done", "In 10 min", "Break it down"]
    );
    rig.killed().await;
    rig.start().await;
    rig.passes(5).await;
    rig.human().clicks(card.id, "In 10 min").unwrap();
    rig.sees("moved to").await;
    rig.passes(11 * 60).await;
    assert_eq!(rig.all("call the dentist").len(), 2, "{}", rig.discord.transcript());
}
