//! Past occurrences of jobs, and whether their runs were silent.

use std::collections::BTreeMap;

use domain::conversation::EntryId;
use domain::cost::CostSource;
use domain::occurrence::Occurrence;
use domain::schedule::Plan;
use engine::ports::ReadError;
use jiff::Timestamp;

use crate::web::App;
use crate::web::api_error::ApiError;

/// Number of newest occurrences read.
const MAX_NEWEST: u32 = 2_000;
/// Number of occurrences read for a job that is not among the newest.
const MAX_PER_JOB: u32 = 5;
/// Maximum number of jobs read individually.
const MAX_INDIVIDUAL_JOBS: usize = 100;
/// Maximum number of dismissed messages read.
const MAX_DISMISSED: usize = 50;

/// If fewer messages than this are known, they are all that were ever sent.
const COMPLETE_BELOW: usize = 200;

/// Past occurrences of all jobs.
pub(in crate::web) struct OccurrenceHistory {
    /// By job, newest first.
    pub(super) by_source: BTreeMap<CostSource, Vec<Occurrence>>,
    /// Messages that background runs sent to the user.
    pub(super) sent: Vec<SentMessage>,
}

/// A message of a background run.
pub(in crate::web) struct SentMessage {
    /// The job; unknown if the user dismissed the message.
    source: Option<CostSource>,
    at: Timestamp,
}

impl SentMessage {
    /// Returns true if `occurrence` certainly sent no message. Returns false for times before the
    /// oldest known message, unless all messages are known.
    pub(super) fn none_during(sent: &[Self], occurrence: &Occurrence) -> bool {
        let oldest = sent.iter().map(|one| one.at).min().unwrap_or(Timestamp::MIN);
        let known = sent.len() < COMPLETE_BELOW || oldest <= occurrence.key.due;
        let during = occurrence.key.due..=occurrence.since;
        let shown = |one: &Self| {
            let its = one.source.as_ref().is_none_or(|source| *source == occurrence.key.source);
            its && during.contains(&one.at)
        };
        known && !sent.iter().any(shown)
    }
}

impl OccurrenceHistory {
    /// Reads the newest occurrences of all jobs, and those of the jobs in `shown` that are not
    /// among them.
    pub(super) async fn by_source(app: &App, shown: &[(&CostSource, &Plan)]) -> Result<Self, ApiError> {
        let mut past = Self::fetch_newest(app).await?;
        let known = past.by_source.values().map(Vec::len).sum::<usize>();
        if known < usize::try_from(MAX_NEWEST).unwrap_or(usize::MAX) {
            return Ok(past);
        }
        let unknown =
            shown.iter().map(|(source, _)| *source).filter(|source| !past.by_source.contains_key(source));
        let unknown: Vec<CostSource> = unknown.take(MAX_INDIVIDUAL_JOBS).cloned().collect();
        for source in unknown {
            let found = app
                .ports()
                .archive
                .occurrences(Some(source.clone()), MAX_PER_JOB)
                .await
                .map_err(unreadable_error)?;
            past.by_source.insert(source, found);
        }
        Ok(past)
    }

    /// Reads the newest occurrences of all jobs.
    pub(in crate::web) async fn fetch_newest(app: &App) -> Result<Self, ApiError> {
        let newest = app.ports().archive.occurrences(None, MAX_NEWEST).await.map_err(unreadable_error)?;
        let mut of: BTreeMap<CostSource, Vec<Occurrence>> = BTreeMap::new();
        for occurrence in newest {
            of.entry(occurrence.key.source.clone()).or_default().push(occurrence);
        }
        Ok(Self { by_source: of, sent: fetch_sent(app).await? })
    }
}

/// Returns recent messages of background runs, including those that the user dismissed.
async fn fetch_sent(app: &App) -> Result<Vec<SentMessage>, ApiError> {
    let journal = &app.ports().journal;
    let margin = journal.side_messages(EntryId(0), None).await.map_err(unreadable_error)?;
    let shown =
        margin.sent.into_iter().map(|(source, entry)| SentMessage { source: Some(source), at: entry.at });
    let mut sent: Vec<SentMessage> = shown.collect();
    for id in margin.put_away.iter().rev().take(MAX_DISMISSED) {
        let entry = journal.entry(EntryId(id.0)).await.map_err(unreadable_error)?;
        sent.extend(entry.map(|entry| SentMessage { source: None, at: entry.at }));
    }
    Ok(sent)
}

fn unreadable_error(unreadable: ReadError) -> ApiError {
    ApiError::internal(unreadable.0)
}

#[cfg(test)]
mod tests {
    use domain::occurrence::{OccurrenceEnd, OccurrenceKey, OccurrenceState};
    use domain::schedule::Lateness;

    use super::*;

    fn minute(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + 60 * minute).unwrap()
    }

    fn mail() -> CostSource {
        CostSource::Routine("mail".to_owned())
    }

    /// Due at minute 10, done at minute 12.
    fn occurrence() -> Occurrence {
        Occurrence {
            key: OccurrenceKey { source: mail(), due: minute(10) },
            name: "mail".to_owned(),
            prompt: String::new(),
            lateness: Lateness::OnTime,
            tries: 1,
            state: OccurrenceState::Ended(OccurrenceEnd::Done(String::new())),
            since: minute(12),
            shown_verbatim: false,
        }
    }

    #[test]
    fn a_run_is_silent_if_it_sent_nothing() {
        let sent = |source: Option<CostSource>, at| vec![SentMessage { source, at: minute(at) }];
        let silent = |sent: &[SentMessage]| SentMessage::none_during(sent, &occurrence());
        assert!(silent(&[]));
        assert!(!silent(&sent(Some(mail()), 11)));
        assert!(silent(&sent(Some(mail()), 9)) && silent(&sent(Some(mail()), 13)));
        assert!(silent(&sent(Some(CostSource::Routine("news".to_owned())), 11)), "another one spoke");
        assert!(!silent(&sent(None, 11)), "the human put it away");
    }

    #[test]
    fn a_run_before_the_known_messages_is_not_called_silent() {
        let later: Vec<SentMessage> =
            (0..200).map(|_| SentMessage { source: Some(mail()), at: minute(20) }).collect();
        assert!(!SentMessage::none_during(&later, &occurrence()));
    }
}
