//! The event loop is blocked for a while; afterwards every occurrence that became due is run or
//! reported.

use std::time::Duration;

use domain::conversation::EntryContent;
use domain::occurrence::{OccurrenceEnd, OccurrenceState};
use jiff::{SignedDuration, Timestamp};
use testkit::oracle::find_violations;
use testkit::scripted_model::{ModelOutcome, ScriptedModel};
use testkit::story::{JournalFault, Story};

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
fn model() -> ScriptedModel {
    ScriptedModel::answering(|context| {
        let told = match context.entries.last().map(|said| &**said) {
            Some(EntryContent::User(heard)) => heard.preface.clone(),
            Some(
                EntryContent::Assistant(..)
                | EntryContent::Tools(_)
                | EntryContent::Summary(_)
                | EntryContent::SummaryRecalled(_),
            )
            | None => String::new(),
        };
        match told.rsplit_once("\n\nmind ") {
            Some((_, number)) => ModelOutcome::text(&format!("Mind {number}")),
            None => ModelOutcome::text("Seen."),
        }
    })
}

/// Returns the due times of the routine of every fourth minute and of the routine at quarter past
/// and to, from nine until `now`.
fn due_times(now: Timestamp) -> impl Iterator<Item = (&'static str, Timestamp)> {
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
fn no_occurrence_is_lost_while_the_loop_is_blocked() {
    for blocked in [30, 5 * 60, 60 * 60] {
        for nth in 1..=3 {
            let told = format!("{blocked} s at writing {nth}");
            let mut story = Story::with_model("2026-11-16T08:59:50[Europe/Madrid]", model());
            story.write_file_unnoticed(
                "routines/minutes.md",
                &routine("minutes", "cron: \"*/4 * * * *\"\nbackground: true"),
            );
            story.write_file_unnoticed(
                "routines/quarters.md",
                &routine("quarters", "cron: 15,45 * * * *\nif-missed: once"),
            );
            for (number, minute) in [0, 1, 3, 4, 20, 45].into_iter().enumerate() {
                let number = u32::try_from(number).unwrap();
                story.write_file_unnoticed(&format!("reminders/m{number}.md"), &reminder(number, minute));
            }
            story
                .advance_time("1s")
                .inject_journal_fault(nth, JournalFault::Delay(Duration::from_secs(blocked)));
            story.user_sends("hello").advance_time("100m").wait_until_idle();
            let now = story.now();
            let occurrences = story.all_occurrences();
            for (source, due) in due_times(now - SignedDuration::from_mins(1)) {
                let covers = occurrences.iter().filter(|occurrence| {
                    let last = match &occurrence.state {
                        OccurrenceState::Ended(OccurrenceEnd::Missed { last, .. }) => *last,
                        OccurrenceState::Ended(_) => occurrence.key.due,
                        OccurrenceState::Running(_)
                        | OccurrenceState::SentToMain(_)
                        | OccurrenceState::Retrying(_)
                        | OccurrenceState::Queued => {
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
                let seen = if number % 2 == 0 { story.transcript() } else { story.tree() };
                let rang = seen.matches(&alone).count() + seen.matches(&with).count();
                assert_eq!(rang, 1, "{told}: reminder {number}\n{}", story.transcript());
                assert!(!story.has_file(&format!("reminders/m{number}.md")), "{told}");
            }
            story.stop();
            assert_eq!(find_violations(story.paths().root()), [""; 0], "{told}");
        }
    }
}
