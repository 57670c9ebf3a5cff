//! Slash commands: registered once, acknowledged in time, and executed once.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::discord::{Mishap, On, Seen, Setup, Shown, Trouble, Upset};

use crate::rig::{Rig, Speech, echo};

impl Rig {
    /// Runs a command as the user, and returns what is shown once it is settled.
    pub async fn runs(&self, command: &str, options: &[(&str, Value)]) -> Shown {
        let interaction = self.human().runs(command, options).unwrap();
        let settled = |discord: &testkit::discord::Discord| {
            Some(discord.answer_to(interaction))
                .filter(|shown| !matches!(shown, Shown::Nothing | Shown::Thinking))
        };
        self.discord.wait_for(Duration::from_secs(30), settled).await.unwrap_or(Shown::Failed)
    }

    /// Runs a command whose response is a message.
    pub async fn told(&self, command: &str, options: &[(&str, Value)]) -> Seen {
        let shown = self.runs(command, options).await;
        let Shown::Message(seen) = shown else {
            panic!("{command} came to {shown:?}:\n{}", self.discord.transcript())
        };
        *seen
    }

    /// Waits until `message` was edited to contain `words`.
    pub async fn becomes(&self, message: &Seen, words: &str) -> Seen {
        let changed = |discord: &testkit::discord::Discord| {
            discord.visible().into_iter().find(|seen| seen.id == message.id && seen.content.contains(words))
        };
        match self.discord.wait_for(Duration::from_secs(30), changed).await {
            Some(seen) => seen,
            None => panic!("it never said `{words}`:\n{}", self.discord.transcript()),
        }
    }
}

fn puts(rig: &Rig) -> usize {
    rig.discord.ledger().of("PUT", "/applications/*/commands").count()
}

/// SL-1: commands are registered only when they differ from the registered ones.
#[tokio::test(start_paused = true)]
async fn commands_are_registered_once() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.passes(5).await;
    let commands = rig.discord.commands();
    assert!(commands.len() > 25, "{}", commands.len());
    let about = commands.iter().find(|command| command["name"] == "Remind me about this").unwrap();
    assert_eq!((&about["type"], &about["contexts"]), (&json!(3), &json!([0, 1, 2])));
    rig.killed().await;
    rig.start().await;
    rig.passes(5).await;
    assert_eq!(puts(&rig), 1);
}

/// SL-1: a failed registration is repeated at the next start.
#[tokio::test(start_paused = true)]
async fn commands_that_were_refused_are_registered_at_the_next_start() {
    let discord_is_angry = Trouble::Call(On::next("PUT", "/applications/*/commands"), Mishap::Code(50035));
    let mut rig = Rig::troubled(Setup::default(), echo, discord_is_angry).await;
    rig.passes(5).await;
    assert_eq!(rig.discord.commands().len(), 0);
    rig.talk("hello", "you said: hello").await;
    rig.killed().await;
    rig.start().await;
    rig.passes(5).await;
    assert!(rig.discord.commands().len() > 25);
}

/// SL-2: only the owner can run commands.
#[tokio::test(start_paused = true)]
async fn a_stranger_is_not_authorized() {
    let rig = Rig::new(Setup::default(), echo).await;
    let stranger = rig.discord.stranger("mallory");
    let interaction = stranger.runs("/remind", &[("text", json!("steal in 5 min"))]).unwrap();
    let Shown::Message(seen) = rig.discord.sees_answer(interaction).await else { panic!("no answer") };
    assert!(seen.is_ephemeral() && seen.content.contains("not authorized"), "{}", seen.content);
    let choices = stranger.asks_completion("/remind", "text", "steal").await.unwrap();
    assert_eq!(choices, []);
    assert!(rig.told("/reminders", &[]).await.content.contains("no reminder waits"));
}

/// SL-6, SL-8, SL-9, SL-11, SL-12, SL-13: the response of a query is ephemeral.
#[tokio::test(start_paused = true)]
async fn a_glance_is_for_the_human_alone() {
    let rig = Rig::new(Setup::default(), echo).await;
    rig.talk("hello", "you said: hello").await;
    for (command, words) in [
        ("/status", "inbox: 0"),
        ("/help", "your own words"),
        ("/cost", "today"),
        ("/why", "hello"),
        ("/config", "permission_mode"),
        ("/model", "Model: "),
        ("/thinking", "Thinking is"),
        ("/permissions", "the mode is `default`"),
        ("/ping-budget", "pings ● ● ● ● ●  5 of 5 left"),
    ] {
        let seen = rig.told(command, &[]).await;
        assert!(seen.is_ephemeral(), "{command}");
        assert!(seen.content.contains(words), "{command}: {}", seen.content);
    }
    let one = rig.told("/config", &[("key", json!("model.main"))]).await;
    assert!(one.is_ephemeral() && one.content.starts_with("**model.main**"), "{}", one.content);
}

/// SL-9, SL-11, SL-12, SL-13: the response of a change is permanent; that of an invalid value is
/// ephemeral.
#[tokio::test(start_paused = true)]
async fn a_change_stays_and_a_mistake_does_not() {
    let rig = Rig::new(Setup::default(), echo).await;
    let mode = rig.told("/permissions", &[("mode", json!("acceptEdits"))]).await;
    assert!(!mode.is_ephemeral() && mode.content.contains("`acceptEdits`"), "{}", mode.content);
    let hour = [("key", json!("auto_update_hour")), ("value", json!("7"))];
    let set = rig.told("/config", &hour).await;
    assert_eq!((set.is_ephemeral(), set.content.as_str()), (false, "**auto_update_hour**: 7:00"));
    let slower = rig.told("/ping-budget", &[("refill_rate", json!(30)), ("capacity", json!(3))]).await;
    assert!(!slower.is_ephemeral() && slower.content.contains("3 of 3 left"), "{}", slower.content);
    rig.human().runs("/config", &[("key", json!("auto_update_hour")), ("value", json!("25"))]).unwrap();
    let wrong = rig.sees("use an hour from 0 to 23").await;
    assert!(wrong.is_ephemeral() && wrong.content.starts_with("auto_update_hour: "), "{}", wrong.content);
    rig.passes(5).await;
    assert!(rig.discord.visible().iter().all(|seen| !seen.is_awaited()), "{}", rig.discord.transcript());
}

/// SL-4: `/clear` asks for confirmation, and can be undone.
#[tokio::test(start_paused = true)]
async fn clearing_asks_once_and_can_be_taken_back() {
    let rig = Rig::new(Setup::default(), echo).await;
    rig.talk("hello", "you said: hello").await;
    let asked = rig.told("/clear", &[]).await;
    rig.human().clicks(asked.id, "Keep").unwrap();
    let kept = rig.becomes(&asked, "kept").await;
    assert_eq!(kept.buttons(), []);
    let asked = rig.told("/clear", &[]).await;
    rig.human().clicks(asked.id, "Clear").unwrap();
    let cleared = rig.becomes(&asked, "cleared:").await;
    rig.human().clicks(cleared.id, "Undo").unwrap();
    rig.becomes(&asked, "back").await;
}

/// SL-5: the result of a compaction is sent without a request.
#[tokio::test(start_paused = true)]
async fn a_compaction_tells_what_came_of_it() {
    let rig = Rig::new(Setup::default(), echo).await;
    rig.talk("hello", "you said: hello").await;
    let begun = rig.told("/compact", &[("instructions", json!("mind the jokes"))]).await;
    assert!(!begun.is_ephemeral());
    let told = rig.sees("compact").await;
    assert!(!told.buzzes(), "{}", told.content);
}

/// SL-7: a fork sends its card and first answer, and the command response is removed.
#[tokio::test(start_paused = true)]
async fn a_fork_shows_itself() {
    let rig = Rig::new(Setup::default(), |_: &str| Speech::of("let us talk about taxes")).await;
    rig.talk("hello", "taxes").await;
    assert_eq!(rig.runs("/fork", &[("topic", json!("taxes"))]).await, Shown::Gone);
    let card = rig.sees("Topic: taxes").await;
    assert_eq!(card.buttons().len(), 3);
    rig.passes(5).await;
    assert_eq!(rig.all("let us talk about taxes").len(), 2, "{}", rig.discord.transcript());
    assert_eq!(rig.runs("/exit", &[]).await, Shown::Gone);
    rig.sees("Fork Ended").await;
    let none = rig.told("/exit", &[]).await;
    assert!(none.is_ephemeral() && none.content.contains("not in a side conversation"), "{}", none.content);
}

/// SL-7: a user who was active on another surface gets the fork where the command was run.
#[tokio::test(start_paused = true)]
async fn a_fork_is_answered_where_it_was_asked_for() {
    use domain::assistant::{Request, Saying};
    use domain::record::SurfaceName;
    let rig = Rig::new(Setup::default(), |_: &str| Speech::of("here i am")).await;
    let desk = rig.life.as_ref().unwrap().desk.clone();
    desk.ask(Request::Say(Saying::words(SurfaceName::Page, "hello"))).await;
    rig.passes(5).await;
    assert_eq!(rig.all("here i am").len(), 0, "the page is open");
    rig.runs("/fork", &[]).await;
    assert!(rig.sees("Forked Session").await.buzzes());
    rig.sees("here i am").await;
}

/// SL-10: stopping leaves no response, under both command names.
#[tokio::test(start_paused = true)]
async fn stopping_leaves_no_trace() {
    let slow = |_: &str| Speech::slowly(&"word ".repeat(200), (5, Duration::from_millis(500)));
    let rig = Rig::new(Setup::default(), slow).await;
    for command in ["/stop", "/interrupt"] {
        rig.human().types("tell me a story");
        rig.sees("word word").await;
        assert_eq!(rig.runs(command, &[]).await, Shown::Gone);
        rig.sees("stopped").await;
        rig.passes(10).await;
    }
    let idle = rig.told("/stop", &[]).await;
    assert!(idle.is_ephemeral() && idle.content.contains("nothing is running"), "{}", idle.content);
}

/// XB-10: every command is acknowledged in time, with and without options.
#[tokio::test(start_paused = true)]
async fn every_command_is_acknowledged_in_time() {
    let rig = Rig::new(Setup::default(), echo).await;
    for command in rig.discord.commands().iter().filter(|command| command["type"] == 1) {
        let name = command["name"].as_str().unwrap();
        let options = command["options"].as_array().unwrap();
        let value = |option: &Value| match (&option["choices"][0]["value"], &option["type"]) {
            (Value::Null, kind) if kind == 4 => json!(4),
            (Value::Null, _) => json!("🙂 `tomorrow` <@1> at 9"),
            (choice, _) => choice.clone(),
        };
        let given: Vec<(&str, Value)> =
            options.iter().map(|option| (option["name"].as_str().unwrap(), value(option))).collect();
        let required = given.iter().zip(options).filter(|(_, option)| option["required"] == true);
        let required: Vec<(&str, Value)> = required.map(|(given, _)| given.clone()).collect();
        for given in [required, given] {
            let interaction = rig.human().runs(name, &given).unwrap();
            let seen = rig.discord.sees_answer(interaction).await;
            assert_ne!(seen, Shown::Failed, "/{name} {given:?}:\n{}", rig.discord.transcript());
            rig.passes(10).await;
            assert_ne!(rig.discord.answer_to(interaction), Shown::Thinking, "/{name} {given:?}");
        }
    }
}

/// XB-10: a command that Discord delivers twice is executed once.
#[tokio::test(start_paused = true)]
async fn a_command_that_comes_twice_is_done_once() {
    let rig = Rig::new(Setup::default(), echo).await;
    rig.discord.trouble(Trouble::Gateway(Upset::Duplicate));
    rig.told("/remind", &[("text", json!("call mum in 2 hours"))]).await;
    rig.passes(10).await;
    let list = rig.told("/reminders", &[]).await;
    assert_eq!(list.content.matches("call mum").count(), 1, "{}", list.content);
}

/// SL-3: a failure is reported in a short ephemeral sentence.
#[tokio::test(start_paused = true)]
async fn trouble_is_told_in_a_sentence() {
    let rig = Rig::new(Setup::default(), echo).await;
    let callback = On::next("POST", "/interactions/*/*/callback");
    rig.discord.trouble(Trouble::Call(callback, Mishap::Code(50035)));
    let seen = rig.told("/now", &[]).await;
    assert!(seen.is_ephemeral() && seen.content.contains("something broke on my side"), "{}", seen.content);
    rig.discord.trouble(Trouble::Call(On::next("PATCH", "/webhooks/*/*/messages"), Mishap::Code(50035)));
    rig.human().runs("/remind", &[("text", json!("tea in 4 min"))]).unwrap();
    rig.passes(5).await;
    assert_eq!(rig.all("something broke on my side").len(), 2, "{}", rig.discord.transcript());
}
