//! `ollim-bot routine` and `ollim-bot reminder`: edits job files, whether or not the daemon runs. A
//! running daemon notices the changes itself.

mod changes;
mod consent;
mod costs;
mod display;
mod editor;
pub mod lookup;
mod rows;
mod times;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::CommandFactory;
use domain::cost::CostSource;
use domain::phrase::Habits;
use domain::rng::Rng;
use domain::schedule::{Chain, ItemId, JobSpec, Moment, Reminder, Routine};
use engine::ports::Clock;
use jiff::{Timestamp, Zoned};
use journal::AcceptedPermissions;
use journal::disk::Disk;
use journal::files::FileError;
use journal::files::items::{Item, ItemDirectory};
use journal::frontmatter::{BadText, Change, Value};
use journal::git::Git;
use serde_json::json;

use super::print_result;
use crate::cli::{
    Cli, EditReminderArgs, EditRoutineArgs, JobReference, NextArgs, Output, PauseArgs, ReminderAction,
    ReminderKeys, RoutineAction, RoutineKeys,
};
use crate::clock::SystemClock;
use crate::connection::Connection;
use crate::exit::CommandError;
use crate::settings::Settings;
use changes::Changes;
use consent::held_back_line;
use costs::Costs;
pub use rows::{JobRow, rows};
pub use times::{due_times, format_time, global_pause, paused_text};

/// A kind of job file.
pub trait Job: Item {
    /// The name of the kind, such as `routine`.
    const NAME: &'static str;
    /// The text of an empty list.
    const EMPTY_TEXT: &'static str;
    /// Converts it to the enum of all kinds.
    fn into_job(self) -> JobSpec;
}

impl Job for Routine {
    const NAME: &'static str = "routine";
    const EMPTY_TEXT: &'static str = "no routines";

    fn into_job(self) -> JobSpec {
        JobSpec::Routine(self)
    }
}

impl Job for Reminder {
    const NAME: &'static str = "reminder";
    const EMPTY_TEXT: &'static str = "no pending reminders";

    fn into_job(self) -> JobSpec {
        JobSpec::Reminder(self)
    }
}

/// The outcome of a command.
pub enum JobOutcome {
    Done(ExitCode),
    /// The caller must run this job now.
    Run(CostSource),
}

/// The `routine` and `reminder` commands.
pub struct JobCommands<'a> {
    settings: &'a Settings,
    disk: Arc<dyn Disk>,
    output: &'a Output,
    editor: Option<String>,
    now: Zoned,
}

impl<'a> JobCommands<'a> {
    /// Creates the commands for one invocation. `editor` is the user's editor, if there is a
    /// terminal.
    pub fn new(
        settings: &'a Settings,
        disk: Arc<dyn Disk>,
        output: &'a Output,
        editor: Option<String>,
    ) -> Self {
        let now = SystemClock::new(settings.zone.value.clone()).now();
        Self { settings, disk, output, editor, now }
    }

    pub async fn run_routine_command(
        &self,
        action: Option<RoutineAction>,
    ) -> Result<JobOutcome, CommandError> {
        let done = match action {
            Some(RoutineAction::Run(which)) => {
                let row = self.find_row::<Routine>(&which, "run")?;
                row.job.as_ref().map_err(|bad| unreadable(&row, bad))?;
                return Ok(JobOutcome::Run(row.source(CostSource::Routine)));
            }
            None => self.usage(Routine::NAME),
            Some(RoutineAction::Add(keys)) => self.add_routine(&keys),
            Some(RoutineAction::List) => self.list::<Routine>(),
            Some(RoutineAction::Show(which)) => self.show::<Routine>(&which),
            Some(RoutineAction::Edit(edit)) => {
                let EditRoutineArgs { which, keys } = *edit;
                self.edit::<Routine>(&which, &changes::routine_changes(&keys))
            }
            Some(RoutineAction::Cancel(which)) => self.cancel::<Routine>(&which).await,
            Some(RoutineAction::Pause(pause)) => self.pause(&pause),
            Some(RoutineAction::Resume(which)) => self.resume(&which),
            Some(RoutineAction::Next(next)) => self.show_next(&next),
            Some(RoutineAction::Accept(which)) => self.accept::<Routine>(&which),
        };
        done.map(JobOutcome::Done)
    }

    pub async fn run_reminder_command(
        &self,
        action: Option<ReminderAction>,
    ) -> Result<JobOutcome, CommandError> {
        let done = match action {
            Some(ReminderAction::Run(which)) => {
                let row = self.find_row::<Reminder>(&which, "run")?;
                row.job.as_ref().map_err(|bad| unreadable(&row, bad))?;
                return Ok(JobOutcome::Run(row.source(CostSource::Reminder)));
            }
            None => self.usage(Reminder::NAME),
            Some(ReminderAction::Add(keys)) => self.add_reminder(&keys),
            Some(ReminderAction::List) => self.list::<Reminder>(),
            Some(ReminderAction::Show(which)) => self.show::<Reminder>(&which),
            Some(ReminderAction::Edit(edit)) => {
                let EditReminderArgs { which, keys } = *edit;
                let run_at = self.due_time(&keys)?;
                self.edit::<Reminder>(&which, &changes::reminder_changes(&keys, run_at))
            }
            Some(ReminderAction::Cancel(which)) => self.cancel::<Reminder>(&which).await,
            Some(ReminderAction::Accept(which)) => self.accept::<Reminder>(&which),
        };
        done.map(JobOutcome::Done)
    }

    fn add_routine(&self, keys: &RoutineKeys) -> Result<ExitCode, CommandError> {
        let told = keys.job.message.as_deref().ok_or_else(|| missing_flag("--message"))?;
        if keys.cron.is_none() && keys.every.is_none() {
            return Err(missing_flag("--cron"));
        }
        let id = new_id()?;
        let routine = changes::routine_changes(keys).new_job::<Routine>(&id, told, self.zone())?;
        self.add(routine)
    }

    fn add_reminder(&self, keys: &ReminderKeys) -> Result<ExitCode, CommandError> {
        let told = keys.job.message.as_deref().ok_or_else(|| missing_flag("--message"))?;
        let run_at = self.due_time(keys)?.ok_or_else(|| missing_flag("--delay or --at"))?;
        let id = new_id()?;
        let mut reminder =
            changes::reminder_changes(keys, Some(run_at)).new_job::<Reminder>(&id, told, self.zone())?;
        let Chain { depth, max, parent } = reminder.chain;
        reminder.chain = Chain::new(depth, max, parent, &id)
            .map_err(|invalid| CommandError::Failed(invalid.to_string()))?;
        self.add(reminder)
    }

    /// Returns the due time that the flags give.
    fn due_time(&self, keys: &ReminderKeys) -> Result<Option<Moment>, CommandError> {
        let now = self.now.round(jiff::Unit::Second).unwrap_or_else(|_| self.now.clone());
        match (keys.delay, keys.at.as_deref()) {
            (Some(minutes), _) => Moment::minutes_after(&now, minutes)
                .map(Some)
                .map_err(|invalid| CommandError::Failed(invalid.to_string())),
            (None, Some(at)) => times::parse_future(at, &now, &self.habits()).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Returns the settings that affect the meaning of phrases about times, as in the chat.
    fn habits(&self) -> Habits {
        journal::settings(&self.settings.paths, Arc::clone(&self.disk)).0.habits()
    }

    fn add<K: Job>(&self, job: K) -> Result<ExitCode, CommandError> {
        let id = job.id().clone();
        // Accept first: the daemon may read the new file at once.
        self.accept_edit(&format!("{}/{id}.md", K::DIRECTORY), (None, &job.to_text()))?;
        let path = self.items::<K>().add(&job).map_err(not_done)?;
        self.commit(&path, format!("add {} {id}", K::NAME));
        let row = JobRow::readable(path, job);
        let zone = self.zone();
        let now = self.now.timestamp();
        print_result(
            self.output,
            &row.to_json(now, zone),
            &format!("scheduled {id}: {}", row.created_text(zone)),
        );
        Ok(ExitCode::SUCCESS)
    }

    fn list<K: Job>(&self) -> Result<ExitCode, CommandError> {
        let mut rows = self.rows::<K>()?;
        rows.sort_by_key(JobRow::sort_key);
        let zone = self.zone();
        let now = self.now.timestamp();
        let accepted = AcceptedPermissions::load(&self.settings.paths);
        let costs = Costs::read(self.settings, &self.disk);
        let line = |row: &JobRow| {
            row.line(now, zone) + &costs.suffix(K::NAME, row) + &held_back_line(row, &accepted, "    ")
        };
        let lines: Vec<String> = rows.iter().map(line).collect();
        let text = if lines.is_empty() { K::EMPTY_TEXT.to_owned() } else { lines.join("\n") };
        let (good, bad): (Vec<&JobRow>, Vec<&JobRow>) = rows.iter().partition(|row| row.job.is_ok());
        let value = |row: &JobRow| costs.add_to_json(K::NAME, row, row.to_json(now, zone));
        let json = |rows: Vec<&JobRow>| rows.into_iter().map(value).collect::<Vec<_>>();
        print_result(self.output, &json!({ K::DIRECTORY: json(good), "invalid": json(bad) }), &text);
        Ok(ExitCode::SUCCESS)
    }

    fn show<K: Job>(&self, which: &JobReference) -> Result<ExitCode, CommandError> {
        let row = self.find_row::<K>(which, "show")?;
        let text = self.items::<K>().text(&row.path).unwrap_or_default();
        let zone = self.zone();
        let now = self.now.timestamp();
        let mut value = row.to_json(now, zone);
        value["text"] = text.clone().into();
        let held = held_back_line(&row, &AcceptedPermissions::load(&self.settings.paths), "");
        print_result(self.output, &value, &format!("{}{held}\n\n{text}", row.header(now, zone)));
        Ok(ExitCode::SUCCESS)
    }

    fn edit<K: Job>(&self, which: &JobReference, changes: &Changes) -> Result<ExitCode, CommandError> {
        let row = self.find_row::<K>(which, "edit")?;
        let mut items = self.items::<K>();
        let before = items.text(&row.path).map_err(not_done)?;
        // A user who edits the whole file accepts all of it; one who sets flags accepts only that
        // change.
        let (seen, after) = if changes.is_empty() {
            (None, self.edit_in_editor::<K>(&row, &before)?)
        } else {
            (Some(before.as_str()), changes.apply(&before).map_err(|bad| rejected_change(&row, &bad))?)
        };
        let Some(after) = (after != before).then_some(after) else {
            return self.print_done(&row, "unchanged");
        };
        // Omit the line number: it refers to a text that is not written.
        K::read(&after, self.zone()).map_err(|bad| rejected_change(&row, &BadText { line: None, ..bad }))?;
        self.accept_edit(&row.file, (seen, &after))?;
        items.rewrite(&row.path, &after).map_err(not_done)?;
        self.commit(&row.path, format!("edit {} {}", K::NAME, row.name()));
        self.print_done(&row, "changed")
    }

    async fn cancel<K: Job>(&self, which: &JobReference) -> Result<ExitCode, CommandError> {
        let row = self.find_row::<K>(which, "cancel")?;
        let told = self.cancel_in_daemon(&row).await;
        // If the daemon could not cancel it, the daemon will notice that the file is gone.
        journal::disk::remove(&*self.disk, &row.path)?;
        if told.is_none() {
            self.remove_acceptance(&row)?;
        }
        let git = Git::start("git");
        git.commit_removal(&row.path, format!("remove {} {}", K::NAME, row.name()));
        git.finish();
        self.print_done(&row, "cancelled")
    }

    /// Cancels it through the running daemon, so that `undo` can restore it with its acceptances.
    async fn cancel_in_daemon(&self, row: &JobRow) -> Option<()> {
        let id = row.job.as_ref().ok().and(row.id.as_ref())?;
        let reached = Connection::new(self.settings, Arc::clone(&self.disk)).await.ok()?;
        let cancelled = reached.change(&format!("cancel {id}")).await;
        reached.close().await;
        cancelled.ok().map(drop)
    }

    fn pause(&self, pause: &PauseArgs) -> Result<ExitCode, CommandError> {
        let until = pause
            .until
            .as_deref()
            .map(|until| times::parse_future(until, &self.now, &self.habits()))
            .transpose()?;
        let value = until.map_or(Value::Flag(true), |until| Value::Text(until.to_string()));
        let row = self.find_row::<Routine>(&pause.which, "pause")?;
        self.set_paused(&row, &Change::Set(value), "pause")?;
        let done = until
            .map_or("paused".to_owned(), |until| format!("paused until {}", times::format_minute(until)));
        self.print_done(&row, &done)
    }

    fn resume(&self, which: &JobReference) -> Result<ExitCode, CommandError> {
        let row = self.find_row::<Routine>(which, "resume")?;
        self.set_paused(&row, &Change::Remove, "resume")?;
        self.print_done(&row, "resumed")
    }

    fn set_paused(&self, row: &JobRow, change: &Change, verb: &str) -> Result<(), CommandError> {
        let mut items = self.items::<Routine>();
        let before = items.text(&row.path).map_err(not_done)?;
        let after = journal::frontmatter::edit(&before, "paused", change)
            .map_err(|bad| rejected_change(row, &bad))?;
        items.rewrite(&row.path, &after).map_err(not_done)?;
        self.commit(&row.path, format!("{verb} routine {}", row.name()));
        Ok(())
    }

    fn show_next(&self, next: &NextArgs) -> Result<ExitCode, CommandError> {
        let row = self.find_row::<Routine>(&next.which, "next")?;
        let planned = row.job.as_ref().map_err(|bad| unreadable(&row, bad))?;
        let zone = self.zone();
        let now = self.now.timestamp();
        let fires: Vec<Timestamp> =
            times::due_times(&planned.spec, row.pause, now, zone).take(usize::from(next.count)).collect();
        let iso = fires.iter().map(|fire| Moment::of(&fire.to_zoned(zone.clone())).to_string());
        let iso: Vec<String> = iso.collect();
        let text: Vec<String> = fires.iter().map(|fire| times::format_time(*fire, now, zone)).collect();
        let text = if text.is_empty() { times::never_text(planned, row.pause) } else { text.join("\n") };
        if let Some(paused) = paused_text(row.pause, now, zone).filter(|_| !fires.is_empty()) {
            self.output.voice.note(&format!("all that repeats is {paused}: ollim-bot resume ends that."));
        }
        print_result(self.output, &json!(iso), &text);
        Ok(ExitCode::SUCCESS)
    }

    /// Prints what was done with a job, such as `cancelled 7f3a9c21`.
    fn print_done(&self, row: &JobRow, done: &str) -> Result<ExitCode, CommandError> {
        let (verb, rest) =
            done.split_once(' ').map_or((done, String::new()), |(verb, rest)| (verb, format!(" {rest}")));
        let value = json!({ "ok": true, "done": done, "id": row.id, "file": row.file });
        print_result(self.output, &value, &format!("{verb} {}{rest}", row.name()));
        Ok(ExitCode::SUCCESS)
    }

    fn find_row<K: Job>(&self, which: &JobReference, verb: &str) -> Result<JobRow, CommandError> {
        let rows = self.rows::<K>()?;
        lookup::find(rows, &which.id.join(" "), K::NAME, verb, (&self.now, self.zone()))
    }

    fn rows<K: Job>(&self) -> Result<Vec<JobRow>, CommandError> {
        let pause = global_pause(&self.settings.paths);
        let rows = rows(&self.items::<K>()).map_err(not_done)?;
        Ok(rows.into_iter().map(|row| row.with_pause(pause)).collect())
    }

    fn items<K: Job>(&self) -> ItemDirectory<K> {
        ItemDirectory::new(Arc::clone(&self.disk), self.settings.paths.root(), self.zone().clone())
    }

    /// CL-4: a group without an action prints its usage.
    fn usage(&self, word: &str) -> Result<ExitCode, CommandError> {
        let mut cli = Cli::command();
        cli.build();
        if let Some(group) = cli.find_subcommand_mut(word) {
            self.output.voice.print(group.render_help().to_string().trim_end());
        }
        Ok(ExitCode::FAILURE)
    }

    fn commit(&self, path: &Path, message: String) {
        let git = Git::start("git");
        git.commit(path, message);
        git.finish();
    }

    fn zone(&self) -> &jiff::tz::TimeZone {
        &self.settings.zone.value
    }
}

fn missing_flag(flag: &str) -> CommandError {
    CommandError::Usage(format!("{flag} is missing. `--help` shows how it is written."))
}

fn not_done(trouble: FileError) -> CommandError {
    CommandError::Failed(trouble.to_string())
}

fn unreadable(row: &JobRow, bad: &BadText) -> CommandError {
    CommandError::Failed(format!("{}: {bad}", row.file))
}

fn rejected_change(row: &JobRow, bad: &BadText) -> CommandError {
    CommandError::Failed(format!("{}: {bad}. the file is as it was.", row.file))
}

fn new_id() -> Result<ItemId, CommandError> {
    let seed = getrandom::u64();
    let seed =
        seed.map_err(|error| CommandError::Failed(format!("the system gives no random numbers: {error}")))?;
    ItemId::parse(&Rng::new(seed).short_id()).map_err(|invalid| CommandError::Failed(invalid.to_string()))
}
