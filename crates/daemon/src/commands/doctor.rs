//! `ollim-bot doctor`: checks everything and suggests fixes. Changes nothing without `--fix`.

mod inventory;

use std::process::ExitCode;
use std::sync::Arc;

use ::journal::Paths;
use ::journal::disk::{Disk, RealDisk};
use ::journal::files::items::{Item, ItemDirectory};
use ::journal::frontmatter::find_typos;
use ::journal::{LockError, remove_state_leftovers};
use domain::schedule::{ModelName, Reminder, Routine, WebhookSpec};
use engine::ports::Clock as _;
use futures_util::future::join5;
use jiff::tz::TimeZone;
use serde_json::json;
use tools::sandbox::Kernel;

use super::jobs::{Job, JobRow, rows};
use super::print_result;
use crate::checks::accounts::{self, CheckContext};
use crate::checks::running_daemon::RunningDaemon;
use crate::checks::{
    Finding, State, backups, budget, corrupt_files, count, data, discord, model, permissions, schedule,
    search,
};
use crate::cli::{DoctorArgs, Output};
use crate::clock::SystemClock;
use crate::consent;
use crate::exit::CommandError;
use crate::service;
use crate::settings::rejections::FIX_WHERE_SET;
use crate::settings::{Environment, ServiceSettings, Settings, WebhookSettings, secrets};
use crate::tool_lists::ToolListCheck;
use crate::webhooks;

/// The subject of findings about webhooks.
const WEBHOOKS: &str = "hooks";

/// Runs all checks that are possible with the given settings. Fails if something is wrong.
/// `repairs` holds the repairs that were made before the settings were read.
pub async fn run(
    environment: &Environment,
    paths: &Paths,
    settings: Result<&Settings, &CommandError>,
    args: DoctorArgs,
    mut repairs: Vec<String>,
    output: &Output,
) -> Result<ExitCode, CommandError> {
    let unmended = if args.fix { sweep_leftovers(paths, &mut repairs) } else { None };
    let mut findings = match (args.lint.lint, settings) {
        (true, Ok(settings)) => check_files(settings),
        (true, Err(wrong)) => rejected_settings(environment, wrong),
        (false, settings) => check_all(environment, paths, settings).await,
    };
    findings.extend(unmended);
    let wrong = count(&findings, State::Wrong);
    let warnings = count(&findings, State::Warning);
    let mended_lines: String = repairs.iter().map(|line| format!("✓ mended   {line}\n")).collect();
    let lines: String = findings.iter().map(Finding::to_text).collect();
    let value: Vec<_> = findings.iter().map(Finding::as_json).collect();
    // With `--lint` warnings fail too.
    let ok = wrong == 0 && !(args.lint.lint && warnings > 0);
    let value = json!({ "ok": ok, "mended": repairs, "findings": value });
    let sum = match (args.lint.lint, ok) {
        (true, true) => "all files can be read and used".to_owned(),
        (true, false) => format!("{} to mend", wrong + warnings),
        (false, _) => format!("{wrong} wrong, {warnings} to look at"),
    };
    print_result(output, &value, &format!("{mended_lines}{lines}{sum}"));
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn check_all(
    environment: &Environment,
    paths: &Paths,
    settings: Result<&Settings, &CommandError>,
) -> Vec<Finding> {
    let here = settings.map_or(TimeZone::UTC, |settings| settings.zone.value.clone());
    let now = SystemClock::new(here.clone()).now().timestamp();
    let mut findings = vec![
        data::directory(paths),
        data::journal(paths, &RealDisk, &here),
        data::disk(paths),
        data::clock(&here),
        data::sandbox(Kernel::probe()),
        permissions::check(paths),
        backups::backups(paths, &RealDisk, now),
        backups::history(paths, &RealDisk, now),
    ];
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    findings.insert(1, inventory::check_inventory(paths, &disk));
    findings.extend(corrupt_files::check(paths, &*disk));
    findings.extend(invalid_runtime_settings(paths, disk));
    let asked = RunningDaemon::query(paths).await;
    findings.push(data::running(&asked));
    let running = asked.ok().flatten();
    findings.extend(unused_secrets(environment, paths));
    findings.push(service::check(&ServiceSettings::read(environment), paths));
    match settings {
        Ok(settings) => {
            findings.extend(check_zone(settings, running.as_ref()));
            findings.push(check_schedule(settings));
            findings.extend(check_remote_services(settings, running.as_ref()).await);
            findings.extend(model::check_thinking(settings));
            let spent = super::cost::read_report(settings, &(Arc::new(RealDisk) as Arc<dyn Disk>), 1);
            findings.extend(spent.ok().and_then(|report| budget::check(&report)));
            findings.extend(check_webhook_listener(settings, running.as_ref()));
            findings.extend(check_files(settings));
        }
        Err(wrong) => findings.extend(rejected_settings(environment, wrong)),
    }
    findings
}

/// Checks the time zone, and compares it with the running daemon's.
fn check_zone(settings: &Settings, running: Option<&RunningDaemon>) -> Vec<Finding> {
    let found = data::zone(settings);
    match running {
        Some(running) => running.zone(settings, found),
        None => vec![found],
    }
}

fn check_schedule(settings: &Settings) -> Finding {
    let (disk, clock): (Arc<dyn Disk>, _) =
        (Arc::new(RealDisk), SystemClock::new(settings.zone.value.clone()));
    schedule::check(&settings.paths, &disk, &clock.now())
}

/// Checks all remote services concurrently, and compares them with the running daemon's.
pub async fn check_remote_services(settings: &Settings, running: Option<&RunningDaemon>) -> Vec<Finding> {
    let looker = CheckContext {
        disk: Arc::new(RealDisk),
        clock: Arc::new(SystemClock::new(settings.zone.value.clone())),
    };
    let (model, discord, calendar, tasks, mail) = join5(
        model::check(settings),
        discord::check(settings),
        accounts::calendar(settings, &looker),
        accounts::tasks(settings, &looker),
        accounts::mail(settings, &looker),
    )
    .await;
    let (model, discord) = match running {
        Some(running) => (running.model(settings, model), running.discord(settings, discord)),
        None => (vec![model], vec![discord]),
    };
    let withdrawn = accounts::withdrawn_access(settings, &looker);
    let kept = [calendar, tasks, mail].into_iter().chain(withdrawn);
    model.into_iter().chain(discord).chain(kept).chain([search::check(settings)]).collect()
}

/// Removes the partial files of a crash. Reports success in `repairs`, and a failure as a finding.
fn sweep_leftovers(paths: &Paths, repairs: &mut Vec<String>) -> Option<Finding> {
    match remove_state_leftovers(paths, &RealDisk, std::process::id()) {
        Ok(0) => None,
        Ok(swept) => {
            let files = if swept == 1 {
                "1 half-written file".to_owned()
            } else {
                format!("{swept} half-written files")
            };
            repairs.push(format!("swept away what a crash left: {files}."));
            None
        }
        Err(LockError::Running(_)) => Some(Finding::fine(
            "sweep",
            "the assistant runs, so what is half-written is left to it; its next start sweeps what a crash left",
        )),
        Err(LockError::Disk(error)) => Some(Finding::new(
            "sweep",
            State::Warning,
            format!("half-written files of a crash could not be swept away: {error}"),
        )),
    }
}

/// Reports secrets that are stored but not used.
fn unused_secrets(environment: &Environment, paths: &Paths) -> impl Iterator<Item = Finding> {
    let told = secrets::override_notices(environment, paths).into_iter();
    told.map(|told| Finding::new("secrets", State::Warning, told))
}

/// Reports invalid values among the settings that the user changes at runtime.
fn invalid_runtime_settings(paths: &Paths, disk: Arc<dyn Disk>) -> impl Iterator<Item = Finding> {
    let (_, wrong) = ::journal::settings(paths, disk);
    wrong.into_iter().map(|wrong| {
        Finding::new("settings", State::Warning, wrong)
            .with_fix("ollim-bot config, which tells what can be set")
    })
}

/// Reports every rejected setting with its fix.
fn rejected_settings(environment: &Environment, wrong: &CommandError) -> Vec<Finding> {
    let told = |why: &CommandError, fix: &str| Finding::wrong("settings", why.to_string()).with_fix(fix);
    match Settings::read_leniently(environment) {
        Ok((_, refused)) if !refused.is_empty() => {
            refused.iter().map(|refusal| told(&refusal.why, refusal.fix())).collect()
        }
        Ok(_) | Err(_) => vec![told(wrong, FIX_WHERE_SET)],
    }
}

/// Checks the files that the user writes.
fn check_files(settings: &Settings) -> Vec<Finding> {
    check_tool_lists(settings)
        .chain(unreadable_job_files::<Routine>(settings))
        .chain(unreadable_job_files::<Reminder>(settings))
        .chain(uncallable_webhooks(settings))
        .chain(misspelled_keys::<Routine>(settings, "jobs"))
        .chain(misspelled_keys::<Reminder>(settings, "jobs"))
        .chain(misspelled_keys::<WebhookSpec>(settings, WEBHOOKS))
        .chain(unavailable_models(settings))
        .collect()
}

/// Reports invalid lines of tool lists, which are ignored, and requests that are held back.
fn check_tool_lists(settings: &Settings) -> impl Iterator<Item = Finding> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let complaints = ToolListCheck::new(settings).read_problems(settings, &disk);
    let held = consent::held_back_notices(settings, &disk);
    complaints.into_iter().chain(held).map(|complaint| Finding::new("tools", State::Warning, complaint))
}

/// Reports unreadable job files. All others are used.
fn unreadable_job_files<K: Job>(settings: &Settings) -> Vec<Finding> {
    let told = |row: JobRow| {
        let bad = row.job.err()?;
        Some(Finding::new("jobs", State::Warning, format!("{}: {bad}", row.file)))
    };
    match rows(&items::<K>(settings)) {
        Ok(rows) => rows.into_iter().filter_map(told).collect(),
        Err(trouble) => vec![Finding::wrong("jobs", trouble.to_string())],
    }
}

fn items<K: Item>(settings: &Settings) -> ItemDirectory<K> {
    ItemDirectory::new(Arc::new(RealDisk), settings.paths.root(), settings.zone.value.clone())
}

/// Reports unknown keys of a file that look like misspelled ones.
fn misspelled_keys<K: Item>(settings: &Settings, what: &'static str) -> Vec<Finding> {
    let items = items::<K>(settings);
    let files = items.list().map(|listing| listing.items).unwrap_or_default();
    let of_file = |path: std::path::PathBuf| {
        let text = items.text(&path).unwrap_or_default();
        let file = format!("{}/{}", K::DIRECTORY, path.file_name().unwrap_or_default().to_string_lossy());
        let told = |slip| Finding::new(what, State::Warning, format!("{file}: {slip}"));
        find_typos(&text, K::keys()).into_iter().map(told).collect::<Vec<_>>()
    };
    files.into_iter().flat_map(|filed| of_file(filed.path)).collect()
}

/// Reports models of jobs that are not available; the default model is used instead.
fn unavailable_models(settings: &Settings) -> Vec<Finding> {
    let choices = settings.choices(&settings.model.name());
    let asked = |row: JobRow| {
        let planned = row.job.ok()?;
        let bad =
            choices.parse(planned.target().written_options().model.as_ref().map(ModelName::as_str)?).err()?;
        Some(Finding::new("jobs", State::Warning, format!("{}: `model`: {bad}", row.file)))
    };
    // Without a configured model any name may still become valid.
    if choices.is_offline() {
        Vec::new()
    } else {
        let routines = rows(&items::<Routine>(settings)).unwrap_or_default();
        let reminders = rows(&items::<Reminder>(settings)).unwrap_or_default();
        routines.into_iter().chain(reminders).filter_map(asked).collect()
    }
}

/// Checks whether the webhook listener is on, and its address.
fn check_webhook_listener(settings: &Settings, running: Option<&RunningDaemon>) -> Vec<Finding> {
    let door = match &settings.integrations.webhooks {
        WebhookSettings::Off => None,
        WebhookSettings::On(port, ..) => {
            Some(Finding::fine(WEBHOOKS, format!("POST http://127.0.0.1:{port}/hook/ID")))
        }
        WebhookSettings::Invalid(why) => Some(Finding::wrong(WEBHOOKS, why.clone())),
    };
    match running {
        Some(running) => running.webhooks(settings, door),
        None => door.into_iter().collect(),
    }
}

/// Reports webhooks that cannot be called.
fn uncallable_webhooks(settings: &Settings) -> impl Iterator<Item = Finding> {
    let complaints = webhooks::problems(settings, Arc::new(RealDisk)).into_iter();
    complaints.map(|complaint| Finding::new(WEBHOOKS, State::Warning, complaint))
}
