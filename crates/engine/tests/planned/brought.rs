//! Webhook deliveries at the daily limit wait for the next day, and none is lost.

use domain::conversation::Json;
use domain::delivery::{Delivery, Kind, Value};
use domain::schedule::{Entrance, ItemId, Knowing, Prompt, Terms, WebhookSpec};
use testkit::oracle::examine;
use testkit::puppet::Line;

use crate::limits::{notices, played};
use crate::{mail, read};

/// A delivery to the webhook `ci` about `title`.
#[expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]
fn call(title: &str, kind: Kind) -> Delivery {
    let hook = WebhookSpec {
        id: ItemId::parse("ci").unwrap(),
        fields: "{}".to_owned(),
        entrance: Entrance::default(),
        knowing: Knowing::Itself,
        terms: Terms::default(),
        deliver: None,
        template: Prompt::new("Look at {title}."),
    };
    let value = Value { name: "title".to_owned(), json: Json(format!("\"{title}\"")), kind };
    Delivery { hook, values: vec![value], marks: vec![title.to_owned()] }
}

/// WH-11, E4: a delivery after the limit was reached waits for the next day, also across a restart,
/// and runs once.
#[test]
fn what_a_webhook_brings_at_the_limit_waits_and_is_done_the_next_day() {
    for kind in [Kind::Fixed, Kind::Free] {
        let mut story = played("16T08:59:50", |last| match last {
            last if last.contains("\"safe\"") => Line::says("{\"safe\": true}"),
            _ => Line::says("Done."),
        });
        story.limited(10).file("routines/mail.md", &mail("cron: 0 9 * * *")).passes("20s");
        story.is_called(call("one", kind)).is_called(call("two", kind)).passes("20m").crash().passes("20m");
        assert_eq!(story.contexts().len(), 1, "nobody was asked about it");
        assert_eq!(
            story.occurrences().matches("webhook:ci try 0 queued").count(),
            2,
            "{}",
            story.occurrences()
        );
        assert_eq!(notices(&story).len(), 1, "{}", story.told());
        story.human_commands("/why webhook:ci");
        assert!(story.told().contains("or for tomorrow if today's limit is used up"), "{}", story.told());
        story.limited(1_000).passes("1m");
        assert_eq!(
            story.occurrences().matches("webhook:ci try 1 done").count(),
            2,
            "{}",
            story.occurrences()
        );
        story.limited(10).is_called(call("three", kind)).clock("23:59").passes("30s");
        assert!(story.occurrences().ends_with("webhook:ci try 0 queued"), "{}", story.occurrences());
        let asked = story.contexts().len();
        story.passes("10m");
        assert!(read(&story, asked).contains("three"), "{}", read(&story, asked));
        assert_eq!(story.contexts().len(), asked + 1, "the new day has its limit, too");
        assert_eq!(examine(story.paths().root()), [""; 0]);
    }
}

/// WH-11, E4: a delivery whose check or run reaches the limit is restarted and not given up.
#[test]
fn a_delivery_that_meets_the_limit_on_its_way_is_begun_anew() {
    for limit in [10, 20] {
        let mut story = played("16T09:00", |last| match last {
            last if last.contains("\"safe\"") => Line::says("{\"safe\": true}"),
            last if last.contains("webhook:ci") => Line::calls("schedule", "{}"),
            _ => Line::says("Done."),
        });
        story.limited(limit).is_called(call("one", Kind::Free)).passes("3h");
        let tries = if limit == 10 { 0 } else { 1 };
        let waits = format!("webhook:ci try {tries} queued");
        assert!(story.occurrences().ends_with(&waits), "{}", story.occurrences());
        assert_eq!(notices(&story).len(), 1, "{}", story.told());
        story.limited(1_000).clock("00:00").passes("10s");
        let done = format!("webhook:ci try {} done", tries + 1);
        assert!(story.occurrences().ends_with(&done), "{}", story.occurrences());
    }
}
