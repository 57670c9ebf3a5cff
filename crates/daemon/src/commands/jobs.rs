//! `ollim-bot routine` and `ollim-bot reminder`: edits job files, whether or not the daemon runs. A
//! running daemon notices the changes itself.

mod accepting;
mod changing;
mod costing;
mod editor;
pub mod finding;
mod rows;
mod telling;
mod times;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::CommandFactory;
use domain::cost::Source;
use domain::dice::Dice;
use domain::phrase::Habits;
use domain::schedule::{Chain, ItemId, Moment, Reminder, Routine, What};
use engine::ports::Clock;
use jiff::{Timestamp, Zoned};
use journal::Accepted;
use journal::disk::Disk;
use journal::files::Trouble;
use journal::files::items::{Item, Items};
use journal::frontmatter::{BadText, Change, Value};
use journal::git::Git;
use serde_json::json;

use super::answer;
use crate::cli::{
    Cli, EditReminder, EditRoutine, Next, Output, Pause, Reference, ReminderAction, ReminderKeys,
    RoutineAction, RoutineKeys,
};
use crate::clock::SystemClock;
use crate::exit::Failed;
use crate::reach::Reached;
use crate::settings::Settings;
use accepting::held;
use changing::Changes;
use costing::Costs;
pub use rows::{Row, rows};
pub use times::{day_and_time, fires, pause, paused};

/// A kind of job file.
pub trait Job: Item {
    /// The name of the kind, such as `routine`.
    const WORD: &'static str;
    /// The text of an empty list.
    const NONE: &'static str;
    /// Converts it to the enum of all kinds.
    fn what(self) -> What;
}

impl Job for Routine {
    const WORD: &'static str = "routine";
    const NONE: &'static str = "no routines";

    fn what(self) -> What {
        What::Routine(self)
    }
}

impl Job for Reminder {
    const WORD: &'static str = "reminder";
    const NONE: &'static str = "no pending reminders";

    fn what(self) -> What {
        What::Reminder(self)
    }
}

/// The outcome of a command.
pub enum Wanted {
    Done(ExitCode),
    /// The caller must run this job now.
    Run(Source),
}

/// The `routine` and `reminder` commands.
pub struct Desk<'a> {
    settings: &'a Settings,
    disk: Arc<dyn Disk>,
    output: &'a Output,
    editor: Option<String>,
    now: Zoned,
}

impl<'a> Desk<'a> {
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

    pub async fn routine(&self, action: Option<RoutineAction>) -> Result<Wanted, Failed> {
        let done = match action {
            Some(RoutineAction::Run(which)) => {
                let row = self.find::<Routine>(&which, "run")?;
                row.job.as_ref().map_err(|bad| unread(&row, bad))?;
                return Ok(Wanted::Run(row.source(Source::Routine)));
            }
            None => self.usage(Routine::WORD),
            Some(RoutineAction::Add(keys)) => self.add_routine(&keys),
            Some(RoutineAction::List) => self.list::<Routine>(),
            Some(RoutineAction::Show(which)) => self.show::<Routine>(&which),
            Some(RoutineAction::Edit(edit)) => {
                let EditRoutine { which, keys } = *edit;
                self.edit::<Routine>(&which, &changing::routine(&keys))
            }
            Some(RoutineAction::Cancel(which)) => self.cancel::<Routine>(&which).await,
            Some(RoutineAction::Pause(pause)) => self.pause(&pause),
            Some(RoutineAction::Resume(which)) => self.resume(&which),
            Some(RoutineAction::Next(next)) => self.next(&next),
            Some(RoutineAction::Accept(which)) => self.accept::<Routine>(&which),
        };
        done.map(Wanted::Done)
    }

    pub async fn reminder(&self, action: Option<ReminderAction>) -> Result<Wanted, Failed> {
        let done = match action {
            Some(ReminderAction::Run(which)) => {
                let row = self.find::<Reminder>(&which, "run")?;
                row.job.as_ref().map_err(|bad| unread(&row, bad))?;
                return Ok(Wanted::Run(row.source(Source::Reminder)));
            }
            None => self.usage(Reminder::WORD),
            Some(ReminderAction::Add(keys)) => self.add_reminder(&keys),
            Some(ReminderAction::List) => self.list::<Reminder>(),
            Some(ReminderAction::Show(which)) => self.show::<Reminder>(&which),
            Some(ReminderAction::Edit(edit)) => {
                let EditReminder { which, keys } = *edit;
                let run_at = self.due(&keys)?;
                self.edit::<Reminder>(&which, &changing::reminder(&keys, run_at))
            }
            Some(ReminderAction::Cancel(which)) => self.cancel::<Reminder>(&which).await,
            Some(ReminderAction::Accept(which)) => self.accept::<Reminder>(&which),
        };
        done.map(Wanted::Done)
    }

    fn add_routine(&self, keys: &RoutineKeys) -> Result<ExitCode, Failed> {
        let told = keys.job.message.as_deref().ok_or_else(|| missing("--message"))?;
        if keys.cron.is_none() && keys.every.is_none() {
            return Err(missing("--cron"));
        }
        let id = new_id()?;
        let routine = changing::routine(keys).fresh::<Routine>(&id, told, self.zone())?;
        self.add(routine)
    }

    fn add_reminder(&self, keys: &ReminderKeys) -> Result<ExitCode, Failed> {
        let told = keys.job.message.as_deref().ok_or_else(|| missing("--message"))?;
        let run_at = self.due(keys)?.ok_or_else(|| missing("--delay or --at"))?;
        let id = new_id()?;
        let mut reminder =
            changing::reminder(keys, Some(run_at)).fresh::<Reminder>(&id, told, self.zone())?;
        let Chain { depth, max, parent } = reminder.chain;
        reminder.chain =
            Chain::begin(depth, max, parent, &id).map_err(|invalid| Failed::NotDone(invalid.to_string()))?;
        self.add(reminder)
    }

    /// Returns the due time that the flags give.
    fn due(&self, keys: &ReminderKeys) -> Result<Option<Moment>, Failed> {
        let now = self.now.round(jiff::Unit::Second).unwrap_or_else(|_| self.now.clone());
        match (keys.delay, keys.at.as_deref()) {
            (Some(minutes), _) => {
                Moment::after(&now, minutes).map(Some).map_err(|invalid| Failed::NotDone(invalid.to_string()))
            }
            (None, Some(at)) => times::when(at, &now, &self.habits()).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Returns the settings that affect the meaning of phrases about times, as in the chat.
    fn habits(&self) -> Habits {
        journal::settings(&self.settings.paths, Arc::clone(&self.disk)).0.habits()
    }

    fn add<K: Job>(&self, job: K) -> Result<ExitCode, Failed> {
        let id = job.id().clone();
        // Accept first: the daemon may read the new file at once.
        self.allow(&format!("{}/{id}.md", K::DIRECTORY), (None, &job.to_text()))?;
        let path = self.items::<K>().add(&job).map_err(not_done)?;
        self.commit(&path, format!("add {} {id}", K::WORD));
        let row = Row::good(path, job);
        let zone = self.zone();
        let now = self.now.timestamp();
        answer(self.output, &row.to_json(now, zone), &format!("scheduled {id}: {}", row.scheduled(zone)));
        Ok(ExitCode::SUCCESS)
    }

    fn list<K: Job>(&self) -> Result<ExitCode, Failed> {
        let mut rows = self.rows::<K>()?;
        rows.sort_by_key(Row::comes);
        let zone = self.zone();
        let now = self.now.timestamp();
        let accepted = Accepted::look(&self.settings.paths);
        let costs = Costs::look(self.settings, &self.disk);
        let line =
            |row: &Row| row.line(now, zone) + &costs.told(K::WORD, row) + &held(row, &accepted, "    ");
        let lines: Vec<String> = rows.iter().map(line).collect();
        let text = if lines.is_empty() { K::NONE.to_owned() } else { lines.join("\n") };
        let (good, bad): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.job.is_ok());
        let value = |row: &Row| costs.put(K::WORD, row, row.to_json(now, zone));
        let json = |rows: Vec<&Row>| rows.into_iter().map(value).collect::<Vec<_>>();
        answer(self.output, &json!({ K::DIRECTORY: json(good), "invalid": json(bad) }), &text);
        Ok(ExitCode::SUCCESS)
    }

    fn show<K: Job>(&self, which: &Reference) -> Result<ExitCode, Failed> {
        let row = self.find::<K>(which, "show")?;
        let text = self.items::<K>().text(&row.path).unwrap_or_default();
        let zone = self.zone();
        let now = self.now.timestamp();
        let mut value = row.to_json(now, zone);
        value["text"] = text.clone().into();
        let held = held(&row, &Accepted::look(&self.settings.paths), "");
        answer(self.output, &value, &format!("{}{held}\n\n{text}", row.head(now, zone)));
        Ok(ExitCode::SUCCESS)
    }

    fn edit<K: Job>(&self, which: &Reference, changes: &Changes) -> Result<ExitCode, Failed> {
        let row = self.find::<K>(which, "edit")?;
        let mut items = self.items::<K>();
        let before = items.text(&row.path).map_err(not_done)?;
        // A user who edits the whole file accepts all of it; one who sets flags accepts only that
        // change.
        let (seen, after) = if changes.is_empty() {
            (None, self.in_editor::<K>(&row, &before)?)
        } else {
            (Some(before.as_str()), changes.apply(&before).map_err(|bad| refused(&row, &bad))?)
        };
        let Some(after) = (after != before).then_some(after) else {
            return self.done(&row, "unchanged");
        };
        // Omit the line number: it refers to a text that is not written.
        K::read(&after, self.zone()).map_err(|bad| refused(&row, &BadText { line: None, ..bad }))?;
        self.allow(&row.file, (seen, &after))?;
        items.rewrite(&row.path, &after).map_err(not_done)?;
        self.commit(&row.path, format!("edit {} {}", K::WORD, row.name()));
        self.done(&row, "changed")
    }

    async fn cancel<K: Job>(&self, which: &Reference) -> Result<ExitCode, Failed> {
        let row = self.find::<K>(which, "cancel")?;
        let told = self.tell_of_cancel(&row).await;
        // If the daemon could not cancel it, the daemon will notice that the file is gone.
        journal::disk::remove(&*self.disk, &row.path)?;
        if told.is_none() {
            self.forget(&row)?;
        }
        let git = Git::start("git");
        git.commit_removal(&row.path, format!("remove {} {}", K::WORD, row.name()));
        git.finish();
        self.done(&row, "cancelled")
    }

    /// Cancels it through the running daemon, so that `undo` can restore it with its acceptances.
    async fn tell_of_cancel(&self, row: &Row) -> Option<()> {
        let id = row.job.as_ref().ok().and(row.id.as_ref())?;
        let reached = Reached::new(self.settings, Arc::clone(&self.disk)).await.ok()?;
        let cancelled = reached.capture(&format!("cancel {id}")).await;
        reached.leave().await;
        cancelled.ok().map(drop)
    }

    fn pause(&self, pause: &Pause) -> Result<ExitCode, Failed> {
        let until =
            pause.until.as_deref().map(|until| times::when(until, &self.now, &self.habits())).transpose()?;
        let value = until.map_or(Value::Flag(true), |until| Value::Text(until.to_string()));
        let row = self.find::<Routine>(&pause.which, "pause")?;
        self.rest(&row, &Change::Set(value), "pause")?;
        let done = until.map_or("paused".to_owned(), |until| format!("paused until {}", times::short(until)));
        self.done(&row, &done)
    }

    fn resume(&self, which: &Reference) -> Result<ExitCode, Failed> {
        let row = self.find::<Routine>(which, "resume")?;
        self.rest(&row, &Change::Remove, "resume")?;
        self.done(&row, "resumed")
    }

    fn rest(&self, row: &Row, change: &Change, verb: &str) -> Result<(), Failed> {
        let mut items = self.items::<Routine>();
        let before = items.text(&row.path).map_err(not_done)?;
        let after =
            journal::frontmatter::edit(&before, "paused", change).map_err(|bad| refused(row, &bad))?;
        items.rewrite(&row.path, &after).map_err(not_done)?;
        self.commit(&row.path, format!("{verb} routine {}", row.name()));
        Ok(())
    }

    fn next(&self, next: &Next) -> Result<ExitCode, Failed> {
        let row = self.find::<Routine>(&next.which, "next")?;
        let planned = row.job.as_ref().map_err(|bad| unread(&row, bad))?;
        let zone = self.zone();
        let now = self.now.timestamp();
        let fires: Vec<Timestamp> =
            times::fires(&planned.what, row.pause, now, zone).take(usize::from(next.count)).collect();
        let iso = fires.iter().map(|fire| Moment::of(&fire.to_zoned(zone.clone())).to_string());
        let iso: Vec<String> = iso.collect();
        let text: Vec<String> = fires.iter().map(|fire| times::day_and_time(*fire, now, zone)).collect();
        let text = if text.is_empty() { times::never(planned, row.pause) } else { text.join("\n") };
        if let Some(paused) = paused(row.pause, now, zone).filter(|_| !fires.is_empty()) {
            self.output.voice.note(&format!("all that repeats is {paused}: ollim-bot resume ends that."));
        }
        answer(self.output, &json!(iso), &text);
        Ok(ExitCode::SUCCESS)
    }

    /// Prints what was done with a job, such as `cancelled 7f3a9c21`.
    fn done(&self, row: &Row, done: &str) -> Result<ExitCode, Failed> {
        let (verb, rest) =
            done.split_once(' ').map_or((done, String::new()), |(verb, rest)| (verb, format!(" {rest}")));
        let value = json!({ "ok": true, "done": done, "id": row.id, "file": row.file });
        answer(self.output, &value, &format!("{verb} {}{rest}", row.name()));
        Ok(ExitCode::SUCCESS)
    }

    fn find<K: Job>(&self, which: &Reference, verb: &str) -> Result<Row, Failed> {
        let rows = self.rows::<K>()?;
        finding::find(rows, &which.id.join(" "), K::WORD, verb, (&self.now, self.zone()))
    }

    fn rows<K: Job>(&self) -> Result<Vec<Row>, Failed> {
        let pause = pause(&self.settings.paths);
        let rows = rows(&self.items::<K>()).map_err(not_done)?;
        Ok(rows.into_iter().map(|row| row.during(pause)).collect())
    }

    fn items<K: Job>(&self) -> Items<K> {
        Items::new(Arc::clone(&self.disk), self.settings.paths.root(), self.zone().clone())
    }

    /// CL-4: a group without an action prints its usage.
    fn usage(&self, word: &str) -> Result<ExitCode, Failed> {
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

fn missing(flag: &str) -> Failed {
    Failed::Usage(format!("{flag} is missing. `--help` shows how it is written."))
}

fn not_done(trouble: Trouble) -> Failed {
    Failed::NotDone(trouble.to_string())
}

fn unread(row: &Row, bad: &BadText) -> Failed {
    Failed::NotDone(format!("{}: {bad}", row.file))
}

fn refused(row: &Row, bad: &BadText) -> Failed {
    Failed::NotDone(format!("{}: {bad}. the file is as it was.", row.file))
}

fn new_id() -> Result<ItemId, Failed> {
    let seed = getrandom::u64();
    let seed =
        seed.map_err(|error| Failed::NotDone(format!("the system gives no random numbers: {error}")))?;
    ItemId::parse(&Dice::new(seed).id8()).map_err(|invalid| Failed::NotDone(invalid.to_string()))
}
