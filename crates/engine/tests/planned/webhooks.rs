//! Webhook deliveries at the daily limit wait for the next day, and none is lost.

use domain::conversation::Json;
use domain::delivery::{Delivery, Value, ValueKind};
use domain::schedule::{InitialContext, ItemId, Prompt, RunOptions, WebhookIntake, WebhookSpec};
use testkit::oracle::find_violations;
use testkit::scripted_model::ModelOutcome;

use crate::daily_limit::{notices, scripted_story};
use crate::{mail_routine, read_in_request};

/// A delivery to the webhook `ci` about `title`.
#[expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
fn call(title: &str, kind: ValueKind) -> Delivery {
    let hook = WebhookSpec {
        id: ItemId::parse("ci").unwrap(),
        fields: "{}".to_owned(),
        intake: WebhookIntake::default(),
        context: InitialContext::PromptOnly,
        options: RunOptions::default(),
        deliver: None,
        template: Prompt::new("Look at {title}."),
    };
    let value = Value { name: "title".to_owned(), json: Json(format!("\"{title}\"")), kind };
    Delivery { webhook: hook, values: vec![value], marks: vec![title.to_owned()] }
}

/// WH-11, E4: a delivery after the limit was reached waits for the next day, also across a restart,
/// and runs once.
#[test]
fn delivery_at_the_limit_waits_for_the_next_day() {
    for kind in [ValueKind::Fixed, ValueKind::Free] {
        let mut story = scripted_story("16T08:59:50", |last| match last {
            last if last.contains("\"safe\"") => ModelOutcome::text("{\"safe\": true}"),
            _ => ModelOutcome::text("Done."),
        });
        story
            .with_daily_limit(10)
            .write_file("routines/mail.md", &mail_routine("cron: 0 9 * * *"))
            .advance_time("20s");
        story
            .deliver_webhook(call("one", kind))
            .deliver_webhook(call("two", kind))
            .advance_time("20m")
            .crash()
            .advance_time("20m");
        assert_eq!(story.contexts().len(), 1, "nobody was asked about it");
        assert_eq!(
            story.occurrences().matches("webhook:ci try 0 queued").count(),
            2,
            "{}",
            story.occurrences()
        );
        assert_eq!(notices(&story).len(), 1, "{}", story.transcript());
        story.user_commands("/why webhook:ci");
        assert!(
            story.transcript().contains("or for tomorrow if today's limit is used up"),
            "{}",
            story.transcript()
        );
        story.with_daily_limit(1_000).advance_time("1m");
        assert_eq!(
            story.occurrences().matches("webhook:ci try 1 done").count(),
            2,
            "{}",
            story.occurrences()
        );
        story.with_daily_limit(10).deliver_webhook(call("three", kind)).clock("23:59").advance_time("30s");
        assert!(story.occurrences().ends_with("webhook:ci try 0 queued"), "{}", story.occurrences());
        let asked = story.contexts().len();
        story.advance_time("10m");
        assert!(read_in_request(&story, asked).contains("three"), "{}", read_in_request(&story, asked));
        assert_eq!(story.contexts().len(), asked + 1, "the new day has its limit, too");
        assert_eq!(find_violations(story.paths().root()), [""; 0]);
    }
}

/// WH-11, E4: a delivery whose check or run reaches the limit is restarted and not given up.
#[test]
fn delivery_that_reaches_the_limit_is_restarted() {
    for limit in [10, 20] {
        let mut story = scripted_story("16T09:00", |last| match last {
            last if last.contains("\"safe\"") => ModelOutcome::text("{\"safe\": true}"),
            last if last.contains("webhook:ci") => ModelOutcome::tool_call("schedule", "{}"),
            _ => ModelOutcome::text("Done."),
        });
        story.with_daily_limit(limit).deliver_webhook(call("one", ValueKind::Free)).advance_time("3h");
        let tries = if limit == 10 { 0 } else { 1 };
        let waits = format!("webhook:ci try {tries} queued");
        assert!(story.occurrences().ends_with(&waits), "{}", story.occurrences());
        assert_eq!(notices(&story).len(), 1, "{}", story.transcript());
        story.with_daily_limit(1_000).clock("00:00").advance_time("10s");
        let done = format!("webhook:ci try {} done", tries + 1);
        assert!(story.occurrences().ends_with(&done), "{}", story.occurrences());
    }
}
