//! `ollim-bot cost`: shows model usage and cost. Reads from the disk, so the daemon need not run.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use domain::cost::{CostReport, Forecast, LOOKBACK_DAYS, Total, short_count};
use domain::schedule::{Reminder, Routine};
use engine::ports::Clock;
use journal::disk::Disk;
use journal::files::items::ItemDirectory;
use surfaces::web::cost::CostDto;

use super::jobs::{Job, rows as job_files};
use super::{print_result, with_shell_commands};
use crate::cli::{CostBy, Output};
use crate::clock::SystemClock;
use crate::exit::CommandError;
use crate::settings::Settings;
use crate::upcoming_runs::upcoming_runs;

/// Shows the totals, the list and the forecast.
pub fn show(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    days: u16,
    by: CostBy,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::Failed(error.to_string());
    let mut report = read_report(settings, &disk, days)?;
    report.forecast = compute_forecast(settings, &disk)?;
    let value = serde_json::to_value(CostDto::from(&report)).map_err(|error| failed(&error))?;
    let names = [job_names::<Routine>(settings, &disk), job_names::<Reminder>(settings, &disk)];
    let text = to_text(&report, by, &names.into_iter().flatten().collect());
    print_result(output, &value, &with_shell_commands(&text));
    Ok(ExitCode::SUCCESS)
}

/// Shows only the forecast.
pub fn show_forecast(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let mut report = read_report(settings, &disk, LOOKBACK_DAYS)?;
    report.forecast = compute_forecast(settings, &disk)?;
    let text = report.forecast.map_or_else(
        || "a forecast needs a whole day on which a model was called. ask again tomorrow.".to_owned(),
        |seen| seen.summary(),
    );
    let value = serde_json::to_value(CostDto::from(&report))
        .map_err(|error| CommandError::Failed(error.to_string()))?;
    print_result(output, &value["forecast"], &text);
    Ok(ExitCode::SUCCESS)
}

fn compute_forecast(settings: &Settings, disk: &Arc<dyn Disk>) -> Result<Option<Forecast>, CommandError> {
    let now = SystemClock::new(settings.zone.value.clone()).now();
    Ok(read_report(settings, disk, LOOKBACK_DAYS)?.compute_forecast(&upcoming_runs(
        settings.paths.root(),
        disk,
        &now,
    )))
}

/// Reads the cost report, with lists of the last `days`.
pub fn read_report(settings: &Settings, disk: &Arc<dyn Disk>, days: u16) -> Result<CostReport, CommandError> {
    let failed = |error: &dyn std::fmt::Display| CommandError::Failed(error.to_string());
    let now = SystemClock::new(settings.zone.value.clone()).now();
    let (set, _) = journal::settings(&settings.paths, Arc::clone(disk));
    let limit = set.daily_limit.resolve(settings.spend.budget.limit);
    match journal::open_read_only(&settings.paths).map_err(|error| failed(&error))? {
        Some(database) => database.spending_report(&now, days, limit).map_err(|error| failed(&error)),
        None => Ok(CostReport::new(&now, days, limit)),
    }
}

/// Returns the names of all jobs of one kind by cost account.
fn job_names<K: Job>(settings: &Settings, disk: &Arc<dyn Disk>) -> BTreeMap<String, String> {
    let zone = settings.zone.value.clone();
    let items = ItemDirectory::<K>::new(Arc::clone(disk), settings.paths.root(), zone);
    let rows = job_files(&items).unwrap_or_default().into_iter();
    let named = rows.filter_map(|row| {
        let name = row.job.as_ref().ok()?.display_name();
        Some((format!("{}:{}", K::NAME, row.id?), format!("{} · {name}", K::NAME)))
    });
    named.collect()
}

/// Returns the display name of a cost account.
fn account_name(account: &str, names: &BTreeMap<String, String>) -> String {
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

fn to_text(report: &CostReport, by: CostBy, names: &BTreeMap<String, String>) -> String {
    let span = if report.days == 1 { "today".to_owned() } else { format!("the last {} days", report.days) };
    if report.month.calls == 0 && report.breakdown.days.is_empty() {
        let limit = report.limit_line();
        return format!("no model was called in {span}, so nothing was spent.\n{limit}");
    }
    let totals = [("today", report.today), ("7 days", report.week), ("30 days", report.month)];
    let totals = totals.map(|(name, total)| (name.to_owned(), total));
    let list: Vec<(String, Total)> = match by {
        CostBy::Source => rows(report.breakdown.sources.iter())
            .into_iter()
            .map(|(name, total)| (account_name(&name, names), total))
            .collect(),
        CostBy::Model => rows(report.breakdown.models.iter()),
        CostBy::Day => rows(report.breakdown.days.iter()),
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
        report.limit_line(),
        report.limit_notice().map(|standing| format!("\n{standing}")).unwrap_or_default(),
        unpriced(report),
        report.forecast.map(|seen| format!("\n{}", seen.summary())).unwrap_or_default()
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
    let tokens = short_count(total.usage.total());
    let line =
        format!("  {name:<width$}  {money:>9}  {:>6} {calls}  {tokens:>7} tokens  {cached}", total.calls);
    line.trim_end().to_owned() + "\n"
}

fn unpriced(report: &CostReport) -> String {
    let unpriced = report.breakdown.models.iter().filter(|(_, total)| total.unpriced > 0);
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
    use domain::cost::{Account, Attendance, BudgetLimit, CostSource, LedgerEntry, Micros, ModelCall};
    use domain::turn::TurnId;
    use expect_test::expect;
    use jiff::Zoned;

    use super::*;

    fn report(limit: BudgetLimit) -> CostReport {
        let now: Zoned = "2026-11-15T08:00[Europe/Madrid]".parse().unwrap();
        CostReport::new(&now, 30, limit)
    }

    fn spent(model: &str, source: CostSource, cost: Option<u64>) -> LedgerEntry {
        let attended = match source {
            CostSource::Main | CostSource::Fork | CostSource::Compaction => Attendance::Attended,
            CostSource::Routine(_)
            | CostSource::Reminder(_)
            | CostSource::Webhook(_)
            | CostSource::Agent(_)
            | CostSource::Reader
            | CostSource::Search => Attendance::Unattended,
        };
        let usage =
            Usage { input: 1_200, cache_read: 98_000, cache_write: 800, cache_write_1h: 0, output: 450 };
        let account = Account { source, attended };
        let call = ModelCall { model: model.to_owned(), usage };
        let at = jiff::Timestamp::UNIX_EPOCH;
        LedgerEntry { at, branch: Branch::Main, turn: TurnId(1), account, call, cost: cost.map(Micros) }
    }

    fn text(report: &CostReport, by: CostBy) -> String {
        let names = BTreeMap::from([("routine:mail".to_owned(), "routine · read the mail".to_owned())]);
        to_text(report, by, &names)
    }

    #[test]
    fn used_up_limit_is_shown_with_its_consequence() {
        let mut report = report(BudgetLimit { money: Some(Micros(10_000)), tokens: None });
        report.add(&spent("m", CostSource::Reader, Some(40_000)), report.date);
        report.unattended.cost = Micros(40_000);
        let told = text(&report, CostBy::Source);
        assert!(told.contains("  reading words from outside "), "{told}");
        assert!(told.contains("$0.04 of $0.01.\ntoday's $0.01 is used up. routines are left out"), "{told}");
    }

    #[test]
    fn table_reports_models_without_a_price() {
        let limit = BudgetLimit { money: Some(Micros(5_000_000)), tokens: Some(5_000_000) };
        let mut report = report(limit);
        let mail = || CostSource::Routine("mail".to_owned());
        report.add(&spent("anthropic:claude-opus-5-5", CostSource::Main, Some(1_234_000)), report.date);
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
        .assert_eq(&text(&report, CostBy::Source));
        assert!(text(&report, CostBy::Model).contains("  openai:qwen3                no price       1 call"));
        assert!(text(&report, CostBy::Day).contains("by day:\n  2026-11-10      $0.02"));
    }

    #[test]
    fn empty_report_is_one_sentence() {
        assert_eq!(
            text(&report(BudgetLimit::default()), CostBy::Source),
            "no model was called in the last 30 days, so nothing was spent.\n\
             work nobody waits for has no daily limit (`/config daily_limit` sets one)."
        );
    }
}
