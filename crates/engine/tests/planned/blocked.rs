//! The event loop is blocked for a while; afterwards every occurrence that became due is run or
//! reported.

use std::time::Duration;

use domain::conversation::Said;
use domain::occurrence::{End, Stage};
use jiff::{SignedDuration, Timestamp};
use testkit::oracle::examine;
use testkit::puppet::{Line, Puppet};
use testkit::story::{Story, Trouble};

/// A numbered reminder, due `minute` minutes after nine.
fn reminder(number: u32, minute: u32) -> String {
    let aside = ["", "background: true\n"][usize::from(number % 2 == 1)];
    format!("---\nid: m{number}\nrun-at: 2026-11-16T09:{minute:02}:00+01:00\n{aside}---\nmind {number}.\n")
}

/// A routine with these front matter lines.
fn routine(id: &str, head: &str) -> String {
    format!("---\nid: {id}\n{head}\n---\nlook at {id}.\n")
}

/// A model that replies to a reminder with its number, and to anything else with "Seen.".
fn puppet() -> Puppet {
    Puppet::answering(|context| {
        let told = match context.said.last().map(|said| &**said) {
            Some(Said::Human(heard)) => heard.preface.clone(),
            Some(Said::Assistant(..) | Said::Tools(_) | Said::Summary(_) | Said::Recalled(_)) | None => {
                String::new()
            }
        };
        match told.rsplit_once("\n\nmind ") {
            Some((_, number)) => Line::says(&format!("Mind {number}")),
            None => Line::says("Seen."),
        }
    })
}

/// Returns the due times of the routine of every fourth minute and of the routine at quarter past
/// and to, from nine until `now`.
fn times(now: Timestamp) -> impl Iterator<Item = (&'static str, Timestamp)> {
    let nine = Timestamp::constant(1_794_816_000, 0);
    let minutes = (0_i64..).map(move |minute| (minute, nine + SignedDuration::from_mins(minute)));
    minutes.take_while(move |(_, due)| *due <= now).flat_map(|(minute, due)| {
        let quarter = (minute % 30 == 15).then_some(("routine:quarters", due));
        let fourth = (minute % 4 == 0).then_some(("routine:minutes", due));
        fourth.into_iter().chain(quarter)
    })
}

/// A5: no occurrence is lost while the loop is blocked: each is done or reported as missed, and
/// every reminder rings exactly once.
#[test]
fn no_time_is_dropped_while_the_loop_is_blocked() {
    for blocked in [30, 5 * 60, 60 * 60] {
        for nth in 1..=3 {
            let told = format!("{blocked} s at writing {nth}");
            let mut story = Story::played_by("2026-11-16T08:59:50[Europe/Madrid]", puppet());
            story.file_unseen(
                "routines/minutes.md",
                &routine("minutes", "cron: \"*/4 * * * *\"\nbackground: true"),
            );
            story.file_unseen(
                "routines/quarters.md",
                &routine("quarters", "cron: 15,45 * * * *\nif-missed: once"),
            );
            for (number, minute) in [0, 1, 3, 4, 20, 45].into_iter().enumerate() {
                let number = u32::try_from(number).unwrap();
                story.file_unseen(&format!("reminders/m{number}.md"), &reminder(number, minute));
            }
            story.passes("1s").trouble(nth, Trouble::Stalls(Duration::from_secs(blocked)));
            story.human_adds("hello").passes("100m").rest();
            let now = story.now();
            let occurrences = story.all_occurrences();
            for (source, due) in times(now - SignedDuration::from_mins(1)) {
                let covers = occurrences.iter().filter(|occurrence| {
                    let last = match &occurrence.stage {
                        Stage::Ended(End::Missed { last, .. }) => *last,
                        Stage::Ended(_) => occurrence.key.due,
                        Stage::Running(_) | Stage::Asked(_) | Stage::Again(_) | Stage::Queued => {
                            return false;
                        }
                    };
                    occurrence.key.source.to_string() == source && (occurrence.key.due..=last).contains(&due)
                });
                assert_eq!(covers.count(), 1, "{told}: {source} at {due}\n{}", story.occurrences());
            }
            for number in 0..6_usize {
                // The reminder is shown alone, or grouped with others.
                let alone = ["⏰ mind", "Mind"][number % 2];
                let alone = format!("{alone} {number}.");
                let with = format!(". mind {number}.");
                let seen = if number % 2 == 0 { story.told() } else { story.tree() };
                let rang = seen.matches(&alone).count() + seen.matches(&with).count();
                assert_eq!(rang, 1, "{told}: reminder {number}\n{}", story.told());
                assert!(!story.has_file(&format!("reminders/m{number}.md")), "{told}");
            }
            story.die();
            assert_eq!(examine(story.paths().root()), [""; 0], "{told}");
        }
    }
}
