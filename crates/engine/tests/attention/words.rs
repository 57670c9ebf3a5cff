//! Pings with pressing words: the run is asked once to rephrase them.

use testkit::puppet::{Line, Puppet};

use crate::{at, count, mail, words};

/// A model whose runs send these pings, one after the other.
fn says(pings: &'static [&'static str]) -> Puppet {
    let mut next = pings.iter();
    Puppet::answering(move |context| {
        let last = context.said.last().map(|said| words(said)).unwrap_or_default();
        let asked = last.contains("[routine-bg:") || last.contains("Nothing was sent: ");
        match next.next().filter(|_| asked) {
            Some(ping) => Line::calls("ping_user", &format!(r#"{{"message":"{ping}"}}"#)),
            None => Line::says("Done."),
        }
    })
}

/// A ping with pressing words is refused; the rephrased one is sent.
#[test]
fn words_that_blame_are_put_otherwise() {
    let mut story =
        at("16T09:59", says(&["your taxes are overdue!", "the taxes can be done in two minutes"]));
    story.file("routines/mail.md", &mail("0 10")).passes("5m");
    assert!(story.told().contains("Nothing was sent: `!` presses the human."), "{}", story.told());
    assert_eq!(count(&story, "to the human> the taxes can be done"), 1, "{}", story.told());
    assert_eq!(count(&story, "to the human>"), 1, "{}", story.told());
}

/// A second attempt is sent even if its words still press, so that no ping is lost.
#[test]
fn a_run_that_insists_is_let_through() {
    let mut story = at("16T09:59", says(&["your backup failed", "your backup failed, look at the disk"]));
    story.file("routines/mail.md", &mail("0 10")).passes("5m");
    assert_eq!(count(&story, "to the human> your backup failed, look at the disk"), 1, "{}", story.told());
}
