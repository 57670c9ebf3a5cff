//! Slash commands: registered once, acknowledged in time, and executed once.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::fake_discord::{
    DiscordFault, GatewayFault, InteractionView, MessageView, RequestFault, RequestFilter, Setup,
};

use crate::rig::{Rig, ScriptedReply, echo};

impl Rig {
    /// Runs a command as the user, and returns what is shown once it is settled.
    pub async fn run_command(&self, command: &str, options: &[(&str, Value)]) -> InteractionView {
        let interaction = self.user().run_command(command, options).unwrap();
        let settled = |discord: &testkit::fake_discord::FakeDiscord| {
            Some(discord.interaction_view(interaction))
                .filter(|shown| !matches!(shown, InteractionView::Pending | InteractionView::Thinking))
        };
        self.discord.wait_for(Duration::from_secs(30), settled).await.unwrap_or(InteractionView::Failed)
    }

    /// Runs a command whose response is a message.
    pub async fn command_reply(&self, command: &str, options: &[(&str, Value)]) -> MessageView {
        let shown = self.run_command(command, options).await;
        let InteractionView::Message(seen) = shown else {
            panic!("{command} came to {shown:?}:\n{}", self.discord.transcript())
        };
        *seen
    }

    /// Waits until `message` was edited to contain `words`.
    pub async fn wait_for_edit(&self, message: &MessageView, words: &str) -> MessageView {
        let changed = |discord: &testkit::fake_discord::FakeDiscord| {
            discord.visible().into_iter().find(|seen| seen.id == message.id && seen.content.contains(words))
        };
        match self.discord.wait_for(Duration::from_secs(30), changed).await {
            Some(seen) => seen,
            None => panic!("it never said `{words}`:\n{}", self.discord.transcript()),
        }
    }
}

fn registration_count(rig: &Rig) -> usize {
    rig.discord.log().matching("PUT", "/applications/*/commands").count()
}

/// SL-1: commands are registered only when they differ from the registered ones.
#[tokio::test(start_paused = true)]
async fn commands_are_registered_once() {
    let mut rig = Rig::new(Setup::default(), echo).await;
    rig.advance(5).await;
    let commands = rig.discord.registered_commands();
    assert!(commands.len() > 25, "{}", commands.len());
    let about = commands.iter().find(|command| command["name"] == "Remind me about this").unwrap();
    assert_eq!((&about["type"], &about["contexts"]), (&json!(3), &json!([0, 1, 2])));
    rig.kill().await;
    rig.start().await;
    rig.advance(5).await;
    assert_eq!(registration_count(&rig), 1);
}

/// SL-1: a failed registration is repeated at the next start.
#[tokio::test(start_paused = true)]
async fn failed_registration_is_repeated_at_the_next_start() {
    let failure = DiscordFault::Request(
        RequestFilter::next("PUT", "/applications/*/commands"),
        RequestFault::Code(50035),
    );
    let mut rig = Rig::with_fault(Setup::default(), echo, failure).await;
    rig.advance(5).await;
    assert_eq!(rig.discord.registered_commands().len(), 0);
    rig.exchange("hello", "you said: hello").await;
    rig.kill().await;
    rig.start().await;
    rig.advance(5).await;
    assert!(rig.discord.registered_commands().len() > 25);
}

/// SL-2: only the owner can run commands.
#[tokio::test(start_paused = true)]
async fn stranger_is_not_authorized() {
    let rig = Rig::new(Setup::default(), echo).await;
    let stranger = rig.discord.other_user("mallory");
    let interaction = stranger.run_command("/remind", &[("text", json!("steal in 5 min"))]).unwrap();
    let InteractionView::Message(seen) = rig.discord.wait_for_answer(interaction).await else {
        panic!("no answer")
    };
    assert!(seen.is_ephemeral() && seen.content.contains("not authorized"), "{}", seen.content);
    let choices = stranger.complete_option("/remind", "text", "steal").await.unwrap();
    assert_eq!(choices, []);
    assert!(rig.command_reply("/reminders", &[]).await.content.contains("no reminder waits"));
}

/// SL-6, SL-8, SL-9, SL-11, SL-12, SL-13: the response of a query is ephemeral.
#[tokio::test(start_paused = true)]
async fn query_responses_are_ephemeral() {
    let rig = Rig::new(Setup::default(), echo).await;
    rig.exchange("hello", "you said: hello").await;
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
        let seen = rig.command_reply(command, &[]).await;
        assert!(seen.is_ephemeral(), "{command}");
        assert!(seen.content.contains(words), "{command}: {}", seen.content);
    }
    let one = rig.command_reply("/config", &[("key", json!("model.main"))]).await;
    assert!(one.is_ephemeral() && one.content.starts_with("**model.main**"), "{}", one.content);
}

/// SL-9, SL-11, SL-12, SL-13: the response of a change is permanent; that of an invalid value is
/// ephemeral.
#[tokio::test(start_paused = true)]
async fn change_responses_stay_and_error_responses_are_ephemeral() {
    let rig = Rig::new(Setup::default(), echo).await;
    let mode = rig.command_reply("/permissions", &[("mode", json!("acceptEdits"))]).await;
    assert!(!mode.is_ephemeral() && mode.content.contains("`acceptEdits`"), "{}", mode.content);
    let hour = [("key", json!("auto_update_hour")), ("value", json!("7"))];
    let set = rig.command_reply("/config", &hour).await;
    assert_eq!((set.is_ephemeral(), set.content.as_str()), (false, "**auto_update_hour**: 7:00"));
    let slower =
        rig.command_reply("/ping-budget", &[("refill_rate", json!(30)), ("capacity", json!(3))]).await;
    assert!(!slower.is_ephemeral() && slower.content.contains("3 of 3 left"), "{}", slower.content);
    rig.user().run_command("/config", &[("key", json!("auto_update_hour")), ("value", json!("25"))]).unwrap();
    let wrong = rig.wait_for_message("use an hour from 0 to 23").await;
    assert!(wrong.is_ephemeral() && wrong.content.starts_with("auto_update_hour: "), "{}", wrong.content);
    rig.advance(5).await;
    assert!(rig.discord.visible().iter().all(|seen| !seen.is_loading()), "{}", rig.discord.transcript());
}

/// SL-4: `/clear` asks for confirmation, and can be undone.
#[tokio::test(start_paused = true)]
async fn clear_asks_for_confirmation_and_can_be_undone() {
    let rig = Rig::new(Setup::default(), echo).await;
    rig.exchange("hello", "you said: hello").await;
    let confirmation = rig.command_reply("/clear", &[]).await;
    rig.user().click(confirmation.id, "Keep").unwrap();
    let stored = rig.wait_for_edit(&confirmation, "kept").await;
    assert_eq!(stored.buttons(), []);
    let confirmation = rig.command_reply("/clear", &[]).await;
    rig.user().click(confirmation.id, "Clear").unwrap();
    let cleared = rig.wait_for_edit(&confirmation, "cleared:").await;
    rig.user().click(cleared.id, "Undo").unwrap();
    rig.wait_for_edit(&confirmation, "back").await;
}

/// SL-5: the result of a compaction is sent without a request.
#[tokio::test(start_paused = true)]
async fn compaction_sends_its_result() {
    let rig = Rig::new(Setup::default(), echo).await;
    rig.exchange("hello", "you said: hello").await;
    let begun = rig.command_reply("/compact", &[("instructions", json!("mind the jokes"))]).await;
    assert!(!begun.is_ephemeral());
    let result = rig.wait_for_message("compact").await;
    assert!(!result.notifies(), "{}", result.content);
}

/// SL-7: a fork sends its card and first answer, and the command response is removed.
#[tokio::test(start_paused = true)]
async fn fork_sends_its_card_and_first_answer() {
    let rig = Rig::new(Setup::default(), |_: &str| ScriptedReply::text("let us talk about taxes")).await;
    rig.exchange("hello", "taxes").await;
    assert_eq!(rig.run_command("/fork", &[("topic", json!("taxes"))]).await, InteractionView::Deleted);
    let card = rig.wait_for_message("Topic: taxes").await;
    assert_eq!(card.buttons().len(), 3);
    rig.advance(5).await;
    assert_eq!(rig.messages_with("let us talk about taxes").len(), 2, "{}", rig.discord.transcript());
    assert_eq!(rig.run_command("/exit", &[]).await, InteractionView::Deleted);
    rig.wait_for_message("Fork Ended").await;
    let none = rig.command_reply("/exit", &[]).await;
    assert!(none.is_ephemeral() && none.content.contains("not in a side conversation"), "{}", none.content);
}

/// SL-7: a user who was active on another surface gets the fork where the command was run.
#[tokio::test(start_paused = true)]
async fn fork_is_answered_where_it_was_requested() {
    use domain::assistant::{Request, UserMessage};
    use domain::record::SurfaceName;
    let rig = Rig::new(Setup::default(), |_: &str| ScriptedReply::text("here i am")).await;
    let assistant = rig.daemon.as_ref().unwrap().assistant.clone();
    assistant.ask(Request::Say(UserMessage::from_text(SurfaceName::Page, "hello"))).await;
    rig.advance(5).await;
    assert_eq!(rig.messages_with("here i am").len(), 0, "the page is open");
    rig.run_command("/fork", &[]).await;
    assert!(rig.wait_for_message("Forked Session").await.notifies());
    rig.wait_for_message("here i am").await;
}

/// SL-10: stopping leaves no response, under both command names.
#[tokio::test(start_paused = true)]
async fn stop_leaves_no_response() {
    let slow = |_: &str| ScriptedReply::streamed(&"word ".repeat(200), (5, Duration::from_millis(500)));
    let rig = Rig::new(Setup::default(), slow).await;
    for command in ["/stop", "/interrupt"] {
        rig.user().send_text("tell me a story");
        rig.wait_for_message("word word").await;
        assert_eq!(rig.run_command(command, &[]).await, InteractionView::Deleted);
        rig.wait_for_message("stopped").await;
        rig.advance(10).await;
    }
    let idle = rig.command_reply("/stop", &[]).await;
    assert!(idle.is_ephemeral() && idle.content.contains("nothing is running"), "{}", idle.content);
}

/// XB-10: every command is acknowledged in time, with and without options.
#[tokio::test(start_paused = true)]
async fn every_command_is_acknowledged_in_time() {
    let rig = Rig::new(Setup::default(), echo).await;
    for command in rig.discord.registered_commands().iter().filter(|command| command["type"] == 1) {
        let name = command["name"].as_str().unwrap();
        let options = command["options"].as_array().unwrap();
        let value = |option: &Value| match (&option["choices"][0]["value"], &option["type"]) {
            (Value::Null, kind) if kind == 4 => json!(4),
            (Value::Null, _) => json!("🙂 `tomorrow` <@1> at 9"),
            (choice, _) => choice.clone(),
        };
        let options_given: Vec<(&str, Value)> =
            options.iter().map(|option| (option["name"].as_str().unwrap(), value(option))).collect();
        let required = options_given.iter().zip(options).filter(|(_, option)| option["required"] == true);
        let required: Vec<(&str, Value)> = required.map(|(options_given, _)| options_given.clone()).collect();
        for options_given in [required, options_given] {
            let interaction = rig.user().run_command(name, &options_given).unwrap();
            let seen = rig.discord.wait_for_answer(interaction).await;
            assert_ne!(
                seen,
                InteractionView::Failed,
                "/{name} {options_given:?}:\n{}",
                rig.discord.transcript()
            );
            rig.advance(10).await;
            assert_ne!(
                rig.discord.interaction_view(interaction),
                InteractionView::Thinking,
                "/{name} {options_given:?}"
            );
        }
    }
}

/// XB-10: a command that Discord delivers twice is executed once.
#[tokio::test(start_paused = true)]
async fn duplicate_command_is_executed_once() {
    let rig = Rig::new(Setup::default(), echo).await;
    rig.discord.inject_fault(DiscordFault::Gateway(GatewayFault::Duplicate));
    rig.command_reply("/remind", &[("text", json!("call mum in 2 hours"))]).await;
    rig.advance(10).await;
    let list = rig.command_reply("/reminders", &[]).await;
    assert_eq!(list.content.matches("call mum").count(), 1, "{}", list.content);
}

/// SL-3: a failure is reported in a short ephemeral sentence.
#[tokio::test(start_paused = true)]
async fn failure_is_reported_in_one_sentence() {
    let rig = Rig::new(Setup::default(), echo).await;
    let callback = RequestFilter::next("POST", "/interactions/*/*/callback");
    rig.discord.inject_fault(DiscordFault::Request(callback, RequestFault::Code(50035)));
    let seen = rig.command_reply("/now", &[]).await;
    assert!(seen.is_ephemeral() && seen.content.contains("something broke on my side"), "{}", seen.content);
    rig.discord.inject_fault(DiscordFault::Request(
        RequestFilter::next("PATCH", "/webhooks/*/*/messages"),
        RequestFault::Code(50035),
    ));
    rig.user().run_command("/remind", &[("text", json!("tea in 4 min"))]).unwrap();
    rig.advance(5).await;
    assert_eq!(rig.messages_with("something broke on my side").len(), 2, "{}", rig.discord.transcript());
}
