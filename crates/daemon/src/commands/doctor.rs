//! `ollim-bot doctor`: checks everything and suggests fixes. Changes nothing without `--fix`.

mod holdings;

use std::process::ExitCode;
use std::sync::Arc;

use ::journal::Paths;
use ::journal::disk::{Disk, RealDisk};
use ::journal::files::items::{Item, Items};
use ::journal::frontmatter::slips;
use ::journal::{NotLocked, sweep_left};
use domain::schedule::{ModelName, Reminder, Routine, WebhookSpec};
use engine::ports::Clock as _;
use futures_util::future::join5;
use jiff::tz::TimeZone;
use serde_json::json;
use tools::cage::Kernel;

use super::answer;
use super::jobs::{Job, Row, rows};
use crate::accepting;
use crate::checkup::accounts::{self, Looker};
use crate::checkup::running::Running;
use crate::checkup::{
    Finding, State, aside, count, data, discord, keeping, loose, model, schedule, search, spending,
};
use crate::cli::{Care, Output};
use crate::clock::SystemClock;
use crate::exit::Failed;
use crate::hooks;
use crate::service;
use crate::settings::refused::WHERE_IT_IS_SET;
use crate::settings::{Environment, Service, Settings, Webhooks, key};
use crate::tool_lists::Check;

/// The subject of findings about webhooks.
const HOOKS: &str = "hooks";

/// Runs all checks that are possible with the given settings. Fails if something is wrong.
/// `repairs` holds the repairs that were made before the settings were read.
pub async fn examine(
    environment: &Environment,
    paths: &Paths,
    settings: Result<&Settings, &Failed>,
    care: Care,
    mut mended: Vec<String>,
    output: &Output,
) -> Result<ExitCode, Failed> {
    let unmended = if care.fix { sweep(paths, &mut mended) } else { None };
    let mut findings = match (care.lint.lint, settings) {
        (true, Ok(settings)) => lint(settings),
        (true, Err(wrong)) => unreadable(environment, wrong),
        (false, settings) => everything(environment, paths, settings).await,
    };
    findings.extend(unmended);
    let wrong = count(&findings, State::Wrong);
    let warnings = count(&findings, State::Warning);
    let mended_lines: String = mended.iter().map(|line| format!("✓ mended   {line}\n")).collect();
    let lines: String = findings.iter().map(Finding::told).collect();
    let value: Vec<_> = findings.iter().map(Finding::as_json).collect();
    // With `--lint` warnings fail too.
    let ok = wrong == 0 && !(care.lint.lint && warnings > 0);
    let value = json!({ "ok": ok, "mended": mended, "findings": value });
    let sum = match (care.lint.lint, ok) {
        (true, true) => "all files can be read and used".to_owned(),
        (true, false) => format!("{} to mend", wrong + warnings),
        (false, _) => format!("{wrong} wrong, {warnings} to look at"),
    };
    answer(output, &value, &format!("{mended_lines}{lines}{sum}"));
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn everything(
    environment: &Environment,
    paths: &Paths,
    settings: Result<&Settings, &Failed>,
) -> Vec<Finding> {
    let here = settings.map_or(TimeZone::UTC, |settings| settings.zone.value.clone());
    let now = SystemClock::new(here.clone()).now().timestamp();
    let mut findings = vec![
        data::directory(paths),
        data::journal(paths, &RealDisk, &here),
        data::disk(paths),
        data::clock(&here),
        data::cage(Kernel::look()),
        loose::look(paths),
        keeping::backups(paths, &RealDisk, now),
        keeping::history(paths, &RealDisk, now),
    ];
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    findings.insert(1, holdings::holdings(paths, &disk));
    findings.extend(aside::look(paths, &*disk));
    findings.extend(said_in_chat(paths, disk));
    let asked = Running::ask(paths).await;
    findings.push(data::running(&asked));
    let running = asked.ok().flatten();
    findings.extend(secrets(environment, paths));
    findings.push(service::look(&Service::read(environment), paths));
    match settings {
        Ok(settings) => {
            findings.extend(zone(settings, running.as_ref()));
            findings.push(planned(settings));
            findings.extend(elsewhere(settings, running.as_ref()).await);
            findings.extend(model::thinking(settings));
            let spent = super::cost::read(settings, &(Arc::new(RealDisk) as Arc<dyn Disk>), 1);
            findings.extend(spent.ok().and_then(|report| spending::look(&report)));
            findings.extend(door(settings, running.as_ref()));
            findings.extend(lint(settings));
        }
        Err(wrong) => findings.extend(unreadable(environment, wrong)),
    }
    findings
}

/// Checks the time zone, and compares it with the running daemon's.
fn zone(settings: &Settings, running: Option<&Running>) -> Vec<Finding> {
    let found = data::zone(settings);
    match running {
        Some(running) => running.zone(settings, found),
        None => vec![found],
    }
}

fn planned(settings: &Settings) -> Finding {
    let (disk, clock): (Arc<dyn Disk>, _) =
        (Arc::new(RealDisk), SystemClock::new(settings.zone.value.clone()));
    schedule::look(&settings.paths, &disk, &clock.now())
}

/// Checks all remote services concurrently, and compares them with the running daemon's.
pub async fn elsewhere(settings: &Settings, running: Option<&Running>) -> Vec<Finding> {
    let looker =
        Looker { disk: Arc::new(RealDisk), clock: Arc::new(SystemClock::new(settings.zone.value.clone())) };
    let (model, discord, calendar, tasks, mail) = join5(
        model::look(settings),
        discord::look(settings),
        accounts::calendar(settings, &looker),
        accounts::tasks(settings, &looker),
        accounts::mail(settings, &looker),
    )
    .await;
    let (model, discord) = match running {
        Some(running) => (running.model(settings, model), running.discord(settings, discord)),
        None => (vec![model], vec![discord]),
    };
    let withdrawn = accounts::withdrawn(settings, &looker);
    let kept = [calendar, tasks, mail].into_iter().chain(withdrawn);
    model.into_iter().chain(discord).chain(kept).chain([search::look(settings)]).collect()
}

/// Removes the partial files of a crash. Reports success in `repairs`, and a failure as a finding.
fn sweep(paths: &Paths, mended: &mut Vec<String>) -> Option<Finding> {
    match sweep_left(paths, &RealDisk, std::process::id()) {
        Ok(0) => None,
        Ok(swept) => {
            let files = if swept == 1 {
                "1 half-written file".to_owned()
            } else {
                format!("{swept} half-written files")
            };
            mended.push(format!("swept away what a crash left: {files}."));
            None
        }
        Err(NotLocked::Running(_)) => Some(Finding::fine(
            "sweep",
            "the assistant runs, so what is half-written is left to it; its next start sweeps what a crash left",
        )),
        Err(NotLocked::Disk(error)) => Some(Finding::new(
            "sweep",
            State::Warning,
            format!("half-written files of a crash could not be swept away: {error}"),
        )),
    }
}

/// Reports secrets that are stored but not used.
fn secrets(environment: &Environment, paths: &Paths) -> impl Iterator<Item = Finding> {
    let told = key::passed_over(environment, paths).into_iter();
    told.map(|told| Finding::new("secrets", State::Warning, told))
}

/// Reports invalid values among the settings that the user changes at runtime.
fn said_in_chat(paths: &Paths, disk: Arc<dyn Disk>) -> impl Iterator<Item = Finding> {
    let (_, wrong) = ::journal::settings(paths, disk);
    wrong.into_iter().map(|wrong| {
        Finding::new("settings", State::Warning, wrong)
            .fixed_by("ollim-bot config, which tells what can be set")
    })
}

/// Reports every rejected setting with its fix.
fn unreadable(environment: &Environment, wrong: &Failed) -> Vec<Finding> {
    let told = |why: &Failed, fix: &str| Finding::wrong("settings", why.to_string()).fixed_by(fix);
    match Settings::read_on(environment) {
        Ok((_, refused)) if !refused.is_empty() => {
            refused.iter().map(|refusal| told(&refusal.why, refusal.fix())).collect()
        }
        Ok(_) | Err(_) => vec![told(wrong, WHERE_IT_IS_SET)],
    }
}

/// Checks the files that the user writes.
fn lint(settings: &Settings) -> Vec<Finding> {
    tool_lists(settings)
        .chain(job_files::<Routine>(settings))
        .chain(job_files::<Reminder>(settings))
        .chain(webhooks(settings))
        .chain(slipped::<Routine>(settings, "jobs"))
        .chain(slipped::<Reminder>(settings, "jobs"))
        .chain(slipped::<WebhookSpec>(settings, HOOKS))
        .chain(models(settings))
        .collect()
}

/// Reports invalid lines of tool lists, which are ignored, and requests that are held back.
fn tool_lists(settings: &Settings) -> impl Iterator<Item = Finding> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let complaints = Check::new(settings).look(settings, &disk);
    let held = accepting::held(settings, &disk);
    complaints.into_iter().chain(held).map(|complaint| Finding::new("tools", State::Warning, complaint))
}

/// Reports unreadable job files. All others are used.
fn job_files<K: Job>(settings: &Settings) -> Vec<Finding> {
    let told = |row: Row| {
        let bad = row.job.err()?;
        Some(Finding::new("jobs", State::Warning, format!("{}: {bad}", row.file)))
    };
    match rows(&items::<K>(settings)) {
        Ok(rows) => rows.into_iter().filter_map(told).collect(),
        Err(trouble) => vec![Finding::wrong("jobs", trouble.to_string())],
    }
}

fn items<K: Item>(settings: &Settings) -> Items<K> {
    Items::new(Arc::new(RealDisk), settings.paths.root(), settings.zone.value.clone())
}

/// Reports unknown keys of a file that look like misspelled ones.
fn slipped<K: Item>(settings: &Settings, what: &'static str) -> Vec<Finding> {
    let items = items::<K>(settings);
    let files = items.list().map(|listing| listing.items).unwrap_or_default();
    let of_file = |path: std::path::PathBuf| {
        let text = items.text(&path).unwrap_or_default();
        let file = format!("{}/{}", K::DIRECTORY, path.file_name().unwrap_or_default().to_string_lossy());
        let told = |slip| Finding::new(what, State::Warning, format!("{file}: {slip}"));
        slips(&text, K::keys()).into_iter().map(told).collect::<Vec<_>>()
    };
    files.into_iter().flat_map(|filed| of_file(filed.path)).collect()
}

/// Reports models of jobs that are not available; the default model is used instead.
fn models(settings: &Settings) -> Vec<Finding> {
    let choices = settings.choices(&settings.brain.name());
    let asked = |row: Row| {
        let planned = row.job.ok()?;
        let bad =
            choices.read(planned.charter().written_terms().model.as_ref().map(ModelName::as_str)?).err()?;
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
fn door(settings: &Settings, running: Option<&Running>) -> Vec<Finding> {
    let door = match &settings.places.webhooks {
        Webhooks::Off => None,
        Webhooks::On(port, ..) => Some(Finding::fine(HOOKS, format!("POST http://127.0.0.1:{port}/hook/ID"))),
        Webhooks::Wrong(why) => Some(Finding::wrong(HOOKS, why.clone())),
    };
    match running {
        Some(running) => running.webhooks(settings, door),
        None => door.into_iter().collect(),
    }
}

/// Reports webhooks that cannot be called.
fn webhooks(settings: &Settings) -> impl Iterator<Item = Finding> {
    let complaints = hooks::complaints(settings, Arc::new(RealDisk)).into_iter();
    complaints.map(|complaint| Finding::new(HOOKS, State::Warning, complaint))
}
