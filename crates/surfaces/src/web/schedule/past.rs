//! Past occurrences of jobs, and whether their runs were silent.

use std::collections::BTreeMap;

use domain::conversation::EntryId;
use domain::cost::Source;
use domain::occurrence::Occurrence;
use domain::schedule::Plan;
use engine::ports::Unreadable;
use jiff::Timestamp;

use crate::web::App;
use crate::web::refusal::Refusal;

/// Number of newest occurrences read.
const NEWEST: u32 = 2_000;
/// Number of occurrences read for a job that is not among the newest.
const EACH: u32 = 5;
/// Maximum number of jobs read individually.
const ONE_BY_ONE: usize = 100;
/// Maximum number of dismissed messages read.
const PUT_AWAY: usize = 50;

/// If fewer messages than this are known, they are all that were ever sent.
const ALL_KNOWN: usize = 200;

/// Past occurrences of all jobs.
pub(in crate::web) struct Past {
    /// By job, newest first.
    pub(super) of: BTreeMap<Source, Vec<Occurrence>>,
    /// Messages that background runs sent to the user.
    pub(super) sent: Vec<Sent>,
}

/// A message of a background run.
pub(in crate::web) struct Sent {
    /// The job; unknown if the user dismissed the message.
    source: Option<Source>,
    at: Timestamp,
}

impl Sent {
    /// Returns true if `occurrence` certainly sent no message. Returns false for times before the
    /// oldest known message, unless all messages are known.
    pub(super) fn none_of(sent: &[Self], occurrence: &Occurrence) -> bool {
        let oldest = sent.iter().map(|one| one.at).min().unwrap_or(Timestamp::MIN);
        let known = sent.len() < ALL_KNOWN || oldest <= occurrence.key.due;
        let during = occurrence.key.due..=occurrence.since;
        let shown = |one: &Self| {
            let its = one.source.as_ref().is_none_or(|source| *source == occurrence.key.source);
            its && during.contains(&one.at)
        };
        known && !sent.iter().any(shown)
    }
}

impl Past {
    /// Reads the newest occurrences of all jobs, and those of the jobs in `shown` that are not
    /// among them.
    pub(super) async fn of(app: &App, shown: &[(&Source, &Plan)]) -> Result<Self, Refusal> {
        let mut past = Self::newest(app).await?;
        let known = past.of.values().map(Vec::len).sum::<usize>();
        if known < usize::try_from(NEWEST).unwrap_or(usize::MAX) {
            return Ok(past);
        }
        let unknown = shown.iter().map(|(source, _)| *source).filter(|source| !past.of.contains_key(source));
        let unknown: Vec<Source> = unknown.take(ONE_BY_ONE).cloned().collect();
        for source in unknown {
            let found = app.ports().archive.occurrences(Some(source.clone()), EACH).await.map_err(broken)?;
            past.of.insert(source, found);
        }
        Ok(past)
    }

    /// Reads the newest occurrences of all jobs.
    pub(in crate::web) async fn newest(app: &App) -> Result<Self, Refusal> {
        let newest = app.ports().archive.occurrences(None, NEWEST).await.map_err(broken)?;
        let mut of: BTreeMap<Source, Vec<Occurrence>> = BTreeMap::new();
        for occurrence in newest {
            of.entry(occurrence.key.source.clone()).or_default().push(occurrence);
        }
        Ok(Self { of, sent: sent(app).await? })
    }
}

/// Returns recent messages of background runs, including those that the user dismissed.
async fn sent(app: &App) -> Result<Vec<Sent>, Refusal> {
    let journal = &app.ports().journal;
    let margin = journal.beside(EntryId(0), None).await.map_err(broken)?;
    let shown = margin.sent.into_iter().map(|(source, entry)| Sent { source: Some(source), at: entry.at });
    let mut sent: Vec<Sent> = shown.collect();
    for id in margin.put_away.iter().rev().take(PUT_AWAY) {
        let entry = journal.entry(EntryId(id.0)).await.map_err(broken)?;
        sent.extend(entry.map(|entry| Sent { source: None, at: entry.at }));
    }
    Ok(sent)
}

fn broken(unreadable: Unreadable) -> Refusal {
    Refusal::broken(unreadable.0)
}

#[cfg(test)]
mod tests {
    use domain::occurrence::{End, Key, Stage};
    use domain::schedule::Lateness;

    use super::*;

    fn minute(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + 60 * minute).unwrap()
    }

    fn mail() -> Source {
        Source::Routine("mail".to_owned())
    }

    /// Due at minute 10, done at minute 12.
    fn occurrence() -> Occurrence {
        Occurrence {
            key: Key { source: mail(), due: minute(10) },
            name: "mail".to_owned(),
            words: String::new(),
            lateness: Lateness::OnTime,
            tries: 1,
            stage: Stage::Ended(End::Done(String::new())),
            since: minute(12),
            shown: false,
        }
    }

    #[test]
    fn a_run_is_silent_if_nothing_of_it_was_shown_while_it_went_on() {
        let sent = |source: Option<Source>, at| vec![Sent { source, at: minute(at) }];
        let silent = |sent: &[Sent]| Sent::none_of(sent, &occurrence());
        assert!(silent(&[]));
        assert!(!silent(&sent(Some(mail()), 11)));
        assert!(silent(&sent(Some(mail()), 9)) && silent(&sent(Some(mail()), 13)));
        assert!(silent(&sent(Some(Source::Routine("news".to_owned())), 11)), "another one spoke");
        assert!(!silent(&sent(None, 11)), "the human put it away");
    }

    #[test]
    fn silence_is_not_claimed_of_what_nobody_remembers() {
        let later: Vec<Sent> = (0..200).map(|_| Sent { source: Some(mail()), at: minute(20) }).collect();
        assert!(!Sent::none_of(&later, &occurrence()));
    }
}
