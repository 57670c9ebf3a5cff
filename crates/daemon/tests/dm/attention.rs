//! The human's attention in Discord: what waited comes without a sound, once.

use testkit::discord::Setup;

use crate::rig::{Rig, Speech};

const MAIL: &str = "---\nid: mail\ncron: \"30 9 * * *\"\nbackground: true\ndescription: my mail\n\
                    update-main-session: freely\n---\nlook at my mail\n";

fn pings(words: &str) -> Speech {
    match words.contains("look at my mail") {
        true => Speech::calls("ping_user", r#"{"message":"two mails need an answer"}"#),
        false => Speech::of("ok"),
    }
}

/// What a run wanted to say in quiet hours comes in the evening, without a sound, also after a kill.
#[tokio::test(start_paused = true)]
async fn what_waited_comes_without_a_sound() {
    let mut rig = Rig::new(Setup::default(), pings).await;
    rig.talk("/quiet 8-17", "quiet hours are 08:00-17:00").await;
    rig.file("routines/mail.md", MAIL).await;
    rig.passes(3 * 3_600).await;
    assert_eq!(rig.all("two mails").len(), 0, "{}", rig.discord.transcript());
    rig.killed().await;
    rig.start().await;
    rig.passes(6 * 3_600).await;
    let digest = rig.sees("my mail: two mails need an answer").await;
    assert!(!digest.buzzes(), "{}", rig.discord.transcript());
    rig.passes(24 * 3_600).await;
    assert_eq!(rig.all("two mails need an answer (09:30").len(), 2, "{}", rig.discord.transcript());
}
