//! Explains why a job did or did not reach the user, from the rows written during its runs.

use std::collections::BTreeSet;

use domain::attention::DeferredId;
use domain::conversation::{EntryContent, EntryId};
use domain::cost::CostSource;
use domain::explanation::{
    ExplanationReport, JobExplanation, ShownPing, Subject, TurnExplanation, parse_time,
};
use domain::occurrence::{Occurrence, OccurrenceState};
use domain::record::PingCharge;
use domain::schedule::slug;
use domain::tool::{Outcome, ShownContent, ToolResult};
use domain::turn::TurnId;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension, Row, params};

use super::plans::{OCCURRENCE_COLUMNS, read_occurrence};
use super::read::{invalid_column, source_in, time_in};
use super::{Database, body};

/// The most occurrences of a job that are explained.
const OCCURRENCE_LIMIT: u32 = 10;
/// The number of entries after its message in which a turn's results are searched.
const ENTRY_SCAN_RANGE: u64 = 10_000;

/// Identifies a run: its branch, or the message with which it was put to main.
type RunKey = (Option<String>, Option<u64>);

impl Database {
    /// Explains `subject`. Times in it are read in `zone`.
    pub fn explain(&self, subject: &Subject, zone: &TimeZone) -> rusqlite::Result<Option<ExplanationReport>> {
        let answer = |turn: Option<TurnId>| {
            Ok(self.explain_turn(turn)?.map(|found| ExplanationReport::Answer(Box::new(found))))
        };
        match subject {
            Subject::Last => answer(None),
            Subject::Answer(turn) => answer(Some(*turn)),
            Subject::Ping(entry) => self.explain_ping(*entry),
            Subject::Deferred(id) => self.explain_deferred(*id),
            Subject::Number(number) => match self.explain_ping(EntryId(*number))? {
                Some(found) => Ok(Some(found)),
                None => answer(Some(TurnId(*number))),
            },
            Subject::Job(name) => {
                let Some(source) = self.find_job(name)? else { return Ok(None) };
                let works =
                    self.occurrences_between(&source, (Timestamp::MIN, Timestamp::MAX), OCCURRENCE_LIMIT)?;
                Ok((!works.is_empty()).then_some(ExplanationReport::Job(works)))
            }
            Subject::Occurrence(name, time) => {
                let Some(source) = self.find_job(name)? else { return Ok(None) };
                let due = parse_time(time, zone).map_err(|error| invalid_column(1, error))?;
                // A time without seconds covers its whole minute.
                let until = due + SignedDuration::from_micros(59_999_999);
                let found = self.occurrences_between(&source, (due, until), 1)?.pop();
                Ok(found.map(|work| ExplanationReport::Work(Box::new(work))))
            }
        }
    }

    /// Finds a job by its source, id or name.
    fn find_job(&self, name: &str) -> rusqlite::Result<Option<CostSource>> {
        let sql = "SELECT source, name, max(since) FROM occurrences GROUP BY source ORDER BY max(since) DESC";
        let known = |row: &Row<'_>| Ok((source_in(row, 0)?, row.get::<_, String>(1)?));
        let known = self.connection.prepare(sql)?.query_map([], known)?.collect::<Result<Vec<_>, _>>()?;
        let exactly = |(source, _): &&(CostSource, String)| {
            let text = source.to_string();
            text == name || text.split_once(':').is_some_and(|(_, id)| id == name)
        };
        let named = |(_, called): &&(CostSource, String)| slug(called) == slug(name);
        let found = known.iter().find(exactly).or_else(|| known.iter().find(named));
        Ok(found.map(|(source, _)| source.clone()))
    }

    fn explain_ping(&self, entry: EntryId) -> rusqlite::Result<Option<ExplanationReport>> {
        let sql = "SELECT source, branch FROM sent WHERE entry = ?";
        let sent = |row: &Row<'_>| Ok((source_in(row, 0)?, row.get::<_, String>(1)?));
        let Some((source, branch)) = self.connection.query_row(sql, [entry.0], sent).optional()? else {
            return Ok(None);
        };
        let sql = format!("SELECT {OCCURRENCE_COLUMNS}, began FROM occurrences WHERE branch = ?");
        let due = |row: &Row<'_>| Ok((read_occurrence(row)?, time_in(row, 14)?));
        let due = self.connection.query_row(&sql, [&branch], due).optional()?;
        let work = self.with_occurrence(due, self.run_work(source, (Some(branch), None))?)?;
        Ok(Some(ExplanationReport::Work(Box::new(work))))
    }

    /// The occurrence during which a message was deferred.
    fn explain_deferred(&self, id: DeferredId) -> rusqlite::Result<Option<ExplanationReport>> {
        let sql = "SELECT held.source, (SELECT due FROM occurrences WHERE occurrences.source = held.source AND began <= \
                   held.at ORDER BY began DESC LIMIT 1) FROM held WHERE id = ?";
        let held = |row: &Row<'_>| Ok((source_in(row, 0)?, row.get::<_, Option<i64>>(1)?));
        let Some((source, Some(due))) = self.connection.query_row(sql, [id.0], held).optional()? else {
            return Ok(None);
        };
        let due = Timestamp::from_microsecond(due).map_err(|error| invalid_column(1, error))?;
        let found = self.occurrences_between(&source, (due, due), 1)?.pop();
        Ok(found.map(|work| ExplanationReport::Work(Box::new(work))))
    }

    /// The newest occurrences of `source` in a span, newest first.
    fn occurrences_between(
        &self,
        source: &CostSource,
        span: (Timestamp, Timestamp),
        limit: u32,
    ) -> rusqlite::Result<Vec<JobExplanation>> {
        let sql = format!(
            "SELECT {OCCURRENCE_COLUMNS}, began FROM occurrences WHERE source = ?1 AND due BETWEEN ?2 AND ?3 ORDER BY due DESC \
             LIMIT ?4"
        );
        let row = params![source.to_string(), span.0.as_microsecond(), span.1.as_microsecond(), limit];
        let found = |row: &Row<'_>| {
            let due = (read_occurrence(row)?, time_in(row, 14)?);
            Ok((due, (row.get(8)?, row.get(9)?)))
        };
        let rows = self.connection.prepare(&sql)?.query_map(row, found)?.collect::<Result<Vec<_>, _>>()?;
        let work = |(due, found)| self.with_occurrence(Some(due), self.run_work(source.clone(), found)?);
        rows.into_iter().map(work).collect()
    }

    /// Adds the occurrence to `work`, with the messages deferred and the card shown during it.
    fn with_occurrence(
        &self,
        due: Option<(Occurrence, Timestamp)>,
        work: JobExplanation,
    ) -> rusqlite::Result<JobExplanation> {
        let Some((occurrence, began)) = &due else { return Ok(work) };
        let until = match &occurrence.state {
            OccurrenceState::Ended(_) => occurrence.since,
            OccurrenceState::Running(_)
            | OccurrenceState::SentToMain(_)
            | OccurrenceState::Retrying(_)
            | OccurrenceState::Queued => Timestamp::MAX,
        };
        let held = self.deferred_between(&work.source, *began, until)?;
        let card = match &work.source {
            CostSource::Reminder(id) => self.card_by_id(id)?,
            CostSource::Main
            | CostSource::Fork
            | CostSource::Compaction
            | CostSource::Routine(_)
            | CostSource::Webhook(_)
            | CostSource::Agent(_)
            | CostSource::Reader
            | CostSource::Search => None,
        };
        Ok(JobExplanation { due, deferred: held, card, ..work })
    }

    /// The work done by the turns of a run.
    fn run_work(&self, source: CostSource, found: RunKey) -> rusqlite::Result<JobExplanation> {
        let (branch, message) = &found;
        let sql = match branch {
            Some(_) => "SELECT id FROM turns WHERE branch = ?1 ORDER BY id",
            None => "SELECT id FROM turns WHERE ?1 IS NULL AND message = ?2 ORDER BY id",
        };
        let mut prepared = self.connection.prepare_cached(sql)?;
        let with: &[&dyn rusqlite::ToSql] = if branch.is_some() { &[branch] } else { &[branch, message] };
        let ids = prepared.query_map(with, |row| row.get(0).map(TurnId))?;
        let ids = ids.collect::<Result<Vec<_>, _>>()?;
        let turns: Vec<TurnExplanation> = ids
            .into_iter()
            .filter_map(|turn| self.explain_turn(Some(turn)).transpose())
            .collect::<Result<_, _>>()?;
        let pings = branch.as_deref().map_or(Ok(Vec::new()), |branch| self.pings_on(branch))?;
        let mut refused = Vec::new();
        for turn in &turns {
            refused.extend(self.failed_calls(turn.turn)?);
        }
        Ok(JobExplanation { source, due: None, turns, pings, refused, deferred: Vec::new(), card: None })
    }

    fn pings_on(&self, branch: &str) -> rusqlite::Result<Vec<ShownPing>> {
        let sql = "SELECT sent.entry, entries.body, before, after FROM sent JOIN entries ON entries.id = sent.entry \
                   LEFT JOIN charges ON charges.entry = sent.entry WHERE sent.branch = ? ORDER BY sent.entry";
        let ping = |row: &Row<'_>| {
            let entry = EntryId(row.get(0)?);
            let results = parse_results(&row.get::<_, String>(1)?)?;
            let charge = match (row.get(2)?, row.get(3)?) {
                (Some(before), Some(after)) => Some(PingCharge { entry, before, after }),
                (_, _) => None,
            };
            Ok(ShownPing { entry, text: shown_text(&results), charge })
        };
        self.connection.prepare(sql)?.query_map([branch], ping)?.collect()
    }

    /// The calls of `turn` that failed or were denied, each with the error that the model got.
    fn failed_calls(&self, turn: TurnId) -> rusqlite::Result<Vec<(String, String)>> {
        let sql = "SELECT call, tool FROM decisions WHERE turn = ? ORDER BY id";
        let call = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?));
        let mut prepared = self.connection.prepare_cached(sql)?;
        let calls = prepared.query_map([turn.0], call)?.collect::<Result<Vec<_>, _>>()?;
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let sql = "SELECT body FROM entries WHERE kind = 'tools' AND id > (SELECT entry FROM messages JOIN turns ON \
                   messages.id = turns.message WHERE turns.id = ?1) AND id <= (SELECT entry FROM messages JOIN turns ON \
                   messages.id = turns.message WHERE turns.id = ?1) + ?2 ORDER BY id";
        let mut prepared = self.connection.prepare_cached(sql)?;
        let bodies = prepared.query_map(params![turn.0, ENTRY_SCAN_RANGE], |row| row.get::<_, String>(0))?;
        let mut refused = Vec::new();
        let mut left = calls.iter().map(|(id, _)| id.as_str()).collect::<BTreeSet<_>>();
        for body in bodies {
            for result in parse_results(&body?)? {
                if left.remove(result.call.as_str())
                    && matches!(result.outcome, Outcome::Failed | Outcome::Denied)
                    && let Some((_, tool)) = calls.iter().find(|(id, _)| *id == result.call)
                {
                    let why = result.text.strip_prefix("Error: ").unwrap_or(&result.text);
                    refused.push((tool.clone(), why.to_owned()));
                }
            }
            if left.is_empty() {
                break;
            }
        }
        Ok(refused)
    }
}

/// The text that the results show to the user.
pub(super) fn shown_text(results: &[ToolResult]) -> String {
    let shown = results.iter().filter_map(|result| match &result.outcome {
        Outcome::Shown(ShownContent::Text(words)) => Some(words.as_str()),
        Outcome::Shown(ShownContent::Embed(embed)) => Some(embed.title.as_str()),
        Outcome::Done | Outcome::Failed | Outcome::Denied => None,
    });
    shown.collect::<Vec<_>>().join(" / ")
}

pub(super) fn parse_results(text: &str) -> rusqlite::Result<Vec<ToolResult>> {
    match body::read("tools", text).map_err(|error| invalid_column(0, error))? {
        EntryContent::Tools(results) => Ok(results),
        EntryContent::User(_)
        | EntryContent::Assistant(..)
        | EntryContent::Summary(_)
        | EntryContent::SummaryRecalled(_) => Ok(Vec::new()),
    }
}
