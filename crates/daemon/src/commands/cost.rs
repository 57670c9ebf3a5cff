//! `ollim-bot cost`: shows model usage and cost. Reads from the disk, so the daemon need not run.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use domain::cost::{Forecast, LOOKS_BACK, Report, Total, short};
use domain::schedule::{Reminder, Routine};
use engine::ports::Clock;
use journal::disk::Disk;
use journal::files::items::Items;
use surfaces::web::cost::CostWire;

use super::jobs::{Job, rows as job_files};
use super::{answer, in_the_shell};
use crate::cli::{CostBy, Output};
use crate::clock::SystemClock;
use crate::exit::Failed;
use crate::planned::planned;
use crate::settings::Settings;

/// Shows the totals, the list and the forecast.
pub fn show(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    days: u16,
    by: CostBy,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let failed = |error: &dyn std::fmt::Display| Failed::NotDone(error.to_string());
    let mut report = read(settings, &disk, days)?;
    report.forecast = foreseen(settings, &disk)?;
    let value = serde_json::to_value(CostWire::from(&report)).map_err(|error| failed(&error))?;
    let names = [names::<Routine>(settings, &disk), names::<Reminder>(settings, &disk)];
    let text = tell(&report, by, &names.into_iter().flatten().collect());
    answer(output, &value, &in_the_shell(&text));
    Ok(ExitCode::SUCCESS)
}

/// Shows only the forecast.
pub fn foresee(settings: &Settings, disk: Arc<dyn Disk>, output: &Output) -> Result<ExitCode, Failed> {
    let mut report = read(settings, &disk, LOOKS_BACK)?;
    report.forecast = foreseen(settings, &disk)?;
    let text = report.forecast.map_or_else(
        || "a forecast needs a whole day on which a model was called. ask again tomorrow.".to_owned(),
        |seen| seen.tell(),
    );
    let value =
        serde_json::to_value(CostWire::from(&report)).map_err(|error| Failed::NotDone(error.to_string()))?;
    answer(output, &value["forecast"], &text);
    Ok(ExitCode::SUCCESS)
}

fn foreseen(settings: &Settings, disk: &Arc<dyn Disk>) -> Result<Option<Forecast>, Failed> {
    let now = SystemClock::new(settings.zone.value.clone()).now();
    Ok(read(settings, disk, LOOKS_BACK)?.foresee(&planned(settings.paths.root(), disk, &now)))
}

/// Reads the cost report, with lists of the last `days`.
pub fn read(settings: &Settings, disk: &Arc<dyn Disk>, days: u16) -> Result<Report, Failed> {
    let failed = |error: &dyn std::fmt::Display| Failed::NotDone(error.to_string());
    let now = SystemClock::new(settings.zone.value.clone()).now();
    let (set, _) = journal::settings(&settings.paths, Arc::clone(disk));
    let limit = set.daily_limit.over(settings.spend.purse.limit);
    match journal::peek(&settings.paths).map_err(|error| failed(&error))? {
        Some(database) => database.report(&now, days, limit).map_err(|error| failed(&error)),
        None => Ok(Report::new(&now, days, limit)),
    }
}

/// Returns the names of all jobs of one kind by cost account.
fn names<K: Job>(settings: &Settings, disk: &Arc<dyn Disk>) -> BTreeMap<String, String> {
    let zone = settings.zone.value.clone();
    let items = Items::<K>::new(Arc::clone(disk), settings.paths.root(), zone);
    let rows = job_files(&items).unwrap_or_default().into_iter();
    let named = rows.filter_map(|row| {
        let name = row.job.as_ref().ok()?.name();
        Some((format!("{}:{}", K::WORD, row.id?), format!("{} · {name}", K::WORD)))
    });
    named.collect()
}

/// Returns the display name of a cost account.
fn whose(account: &str, names: &BTreeMap<String, String>) -> String {
    let words = match account {
        "main" => "the conversation",
        "fork" => "side conversations",
        "compaction" => "summaries that make room",
        "reader" => "reading words from outside",
        "search" => "web searches",
        other => return names.get(other).cloned().unwrap_or_else(|| other.replacen(':', " · ", 1)),
    };
    words.to_owned()
}

fn tell(report: &Report, by: CostBy, names: &BTreeMap<String, String>) -> String {
    let span = if report.days == 1 { "today".to_owned() } else { format!("the last {} days", report.days) };
    if report.month.calls == 0 && report.lists.days.is_empty() {
        let limit = report.allowance();
        return format!("no model was called in {span}, so nothing was spent.\n{limit}");
    }
    let totals = [("today", report.today), ("7 days", report.week), ("30 days", report.month)];
    let totals = totals.map(|(name, total)| (name.to_owned(), total));
    let list: Vec<(String, Total)> = match by {
        CostBy::Source => rows(report.lists.sources.iter())
            .into_iter()
            .map(|(name, total)| (whose(&name, names), total))
            .collect(),
        CostBy::Model => rows(report.lists.models.iter()),
        CostBy::Day => rows(report.lists.days.iter()),
    };
    let word = match by {
        CostBy::Source => "source",
        CostBy::Model => "model",
        CostBy::Day => "day",
    };
    let width = totals.iter().chain(&list).map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let lines = |rows: &[(String, Total)]| -> String { rows.iter().map(|row| line(row, width)).collect() };
    format!(
        "{}\n{span}, by {word}:\n{}\n{}{}{}{}",
        lines(&totals),
        lines(&list),
        report.allowance(),
        report.standing().map(|standing| format!("\n{standing}")).unwrap_or_default(),
        unpriced(report),
        report.forecast.map(|seen| format!("\n{}", seen.tell())).unwrap_or_default()
    )
}

fn rows<'a, N: ToString + 'a>(rows: impl Iterator<Item = (&'a N, &'a Total)>) -> Vec<(String, Total)> {
    rows.map(|(name, total)| (name.to_string(), *total)).collect()
}

fn line((name, total): &(String, Total), width: usize) -> String {
    let calls = if total.calls == 1 { "call " } else { "calls" };
    let cached = total.cached_percent().map(|percent| format!("{percent} % cached")).unwrap_or_default();
    let money = match (total.calls, total.unpriced) {
        (calls, unpriced) if calls > 0 && calls == unpriced => "no price".to_owned(),
        _ => total.cost.to_string(),
    };
    let tokens = short(total.usage.held());
    let line =
        format!("  {name:<width$}  {money:>9}  {:>6} {calls}  {tokens:>7} tokens  {cached}", total.calls);
    line.trim_end().to_owned() + "\n"
}

fn unpriced(report: &Report) -> String {
    let unpriced = report.lists.models.iter().filter(|(_, total)| total.unpriced > 0);
    let names: Vec<&str> = unpriced.map(|(name, _)| name.as_str()).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(
            "\nthe price of {} is not known: those calls are counted in tokens alone. prices.toml in the data directory sets it.",
            names.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use domain::conversation::{Branch, Usage};
    use domain::cost::{Account, Attended, Call, Limit, Micros, Source, Spent};
    use domain::turn::TurnId;
    use expect_test::expect;
    use jiff::Zoned;

    use super::*;

    fn report(limit: Limit) -> Report {
        let now: Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
        Report::new(&now, 30, limit)
    }

    fn spent(model: &str, source: Source, cost: Option<u64>) -> Spent {
        let attended = match source {
            Source::Main | Source::Fork | Source::Compaction => Attended::Waited,
            Source::Routine(_)
            | Source::Reminder(_)
            | Source::Webhook(_)
            | Source::Agent(_)
            | Source::Reader
            | Source::Search => Attended::Unattended,
        };
        let usage =
            Usage { input: 1_200, cache_read: 98_000, cache_write: 800, cache_write_1h: 0, output: 450 };
        let account = Account { source, attended };
        let call = Call { model: model.to_owned(), usage };
        let at = jiff::Timestamp::UNIX_EPOCH;
        Spent { at, branch: Branch::Main, turn: TurnId(1), account, call, cost: cost.map(Micros) }
    }

    fn told(report: &Report, by: CostBy) -> String {
        let names = BTreeMap::from([("routine:mail".to_owned(), "routine · read the mail".to_owned())]);
        tell(report, by, &names)
    }

    #[test]
    fn what_is_used_up_is_told_with_what_lets_it_go_on() {
        let mut report = report(Limit { money: Some(Micros(10_000)), tokens: None });
        report.add(&spent("m", Source::Reader, Some(40_000)), report.date);
        report.unattended.cost = Micros(40_000);
        let told = told(&report, CostBy::Source);
        assert!(told.contains("  reading words from outside "), "{told}");
        assert!(told.contains("$0.04 of $0.01.\ntoday's $0.01 is used up. routines are left out"), "{told}");
    }

    #[test]
    fn spending_reads_as_a_table_that_says_what_it_does_not_know() {
        let limit = Limit { money: Some(Micros(5_000_000)), tokens: Some(5_000_000) };
        let mut report = report(limit);
        let mail = || Source::Routine("mail".to_owned());
        report.add(&spent("anthropic:claude-opus-5-5", Source::Main, Some(1_234_000)), report.date);
        report.add(&spent("openai:qwen3", mail(), None), report.date);
        let earlier = "2026-11-10".parse().unwrap();
        report.add(&spent("anthropic:claude-opus-5-5", mail(), Some(20_000)), earlier);
        expect![[r#"
              today                        $1.23       2 calls   200.9k tokens  98 % cached
              7 days                       $1.25       3 calls   301.4k tokens  98 % cached
              30 days                      $1.25       3 calls   301.4k tokens  98 % cached

            the last 30 days, by source:
              the conversation             $1.23       1 call    100.5k tokens  98 % cached
              routine · read the mail      $0.02       2 calls   200.9k tokens  98 % cached

            work nobody waits for, today: $0.00 of $5.00, 2.5k of 5.0M tokens.
            the price of openai:qwen3 is not known: those calls are counted in tokens alone. prices.toml in the data directory sets it."#]]
        .assert_eq(&told(&report, CostBy::Source));
        assert!(told(&report, CostBy::Model).contains("  openai:qwen3                no price       1 call"));
        assert!(told(&report, CostBy::Day).contains("by day:\n  2026-11-10      $0.02"));
    }

    #[test]
    fn nothing_spent_is_a_sentence() {
        assert_eq!(
            told(&report(Limit::default()), CostBy::Source),
            "no model was called in the last 30 days, so nothing was spent.\n\
             work nobody waits for has no daily limit (`/config daily_limit` sets one)."
        );
    }
}
