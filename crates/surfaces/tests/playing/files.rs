//! Job files and a calendar in memory; changes are reported to the assistant.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::assistant::{Event, Look};
use domain::schedule::{Cron, FileNews, ItemId, Planned, Prompt, Rest, Rhythm, Routine, What};
use engine::desk::Desk;
use futures_util::future::BoxFuture;
use surfaces::web::calendar::{Appointment, Calendar, Looked, Slot};
use surfaces::web::job_files::{JobFile, JobFiles, Unchanged, Version, VersionId};
use surfaces::web::notes::{Note, Noted};
use tokio::sync::watch;

/// Files with a cron expression on the first line, the name on the second, and optionally `paused`
/// on the third.
pub struct Shelf {
    pub files: watch::Sender<BTreeMap<String, String>>,
    /// All texts of all files, oldest first.
    past: watch::Sender<Vec<(String, String)>>,
    /// The appointments, or the error of the calendar.
    pub calendar: watch::Sender<Result<Vec<Appointment>, String>>,
    desk: Desk,
}

impl Shelf {
    /// Creates an empty store that reports changes to `assistant`.
    pub fn new(desk: Desk) -> Self {
        let files = watch::Sender::new(BTreeMap::new());
        let past = watch::Sender::new(Vec::new());
        Self { files, past, calendar: watch::Sender::new(Ok(Vec::new())), desk }
    }

    /// Writes a file and notifies the assistant.
    pub async fn put(&self, file: &str, text: &str) {
        self.files.send_modify(|files| drop(files.insert(file.to_owned(), text.to_owned())));
        self.past.send_modify(|past| past.push((file.to_owned(), text.to_owned())));
        let news = match planned(file, text) {
            Ok(planned) => FileNews::Plans(Arc::new(planned)),
            Err(why) => FileNews::Broken { file: file.to_owned(), source: None, why, told_before: false },
        };
        self.desk.tell(Event::Files(vec![news], Look::Again)).await;
    }

    fn find(&self, file: &JobFile) -> Result<String, Unchanged> {
        let found = self.files.borrow().get(file.as_str()).cloned();
        found.ok_or_else(|| Unchanged::Missing(file.as_str().to_owned()))
    }
}

fn planned(file: &str, text: &str) -> Result<Planned, String> {
    let mut lines = text.lines();
    let cron =
        Cron::parse(lines.next().unwrap_or_default()).map_err(|invalid| format!("line 1: {invalid}"))?;
    let name = lines.next().unwrap_or_default();
    let id = file.trim_start_matches("routines/").trim_end_matches(".md");
    let id = ItemId::parse(id).map_err(|invalid| invalid.to_string())?;
    let mut routine = Routine::new(id, Rhythm::new(cron), Prompt::new(name));
    if lines.next() == Some("paused") {
        routine.manner.rest = Rest::ForNow;
    }
    Ok(Planned { what: What::Routine(routine), file: file.to_owned() })
}

impl JobFiles for Shelf {
    fn text(&self, file: JobFile) -> BoxFuture<'_, Result<String, Unchanged>> {
        Box::pin(async move { self.find(&file) })
    }

    fn check(&self, file: JobFile, text: String) -> BoxFuture<'_, Result<What, Unchanged>> {
        Box::pin(
            async move { planned(file.as_str(), &text).map(|planned| planned.what).map_err(Unchanged::Bad) },
        )
    }

    fn rewrite(&self, file: JobFile, before: String, text: String) -> BoxFuture<'_, Result<(), Unchanged>> {
        Box::pin(async move {
            if self.find(&file)? != before {
                return Err(Unchanged::Moved(file.as_str().to_owned()));
            }
            planned(file.as_str(), &text).map_err(Unchanged::Bad)?;
            self.put(file.as_str(), &text).await;
            Ok(())
        })
    }

    fn versions(&self, file: JobFile) -> BoxFuture<'_, Result<Vec<Version>, Unchanged>> {
        Box::pin(async move {
            self.find(&file)?;
            let version = |(nth, (name, _)): (usize, &(String, String))| {
                let at = jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_mins(nth as i64);
                let id = VersionId::parse(&format!("{nth:07x}")).unwrap();
                (*name == file.as_str()).then(|| Version { id, at, what: format!("update {name}") })
            };
            Ok(self.past.borrow().iter().enumerate().filter_map(version).rev().collect())
        })
    }

    fn version(&self, file: JobFile, id: VersionId) -> BoxFuture<'_, Result<String, Unchanged>> {
        Box::pin(async move {
            let nth = usize::from_str_radix(&id.to_string(), 16).unwrap_or(usize::MAX);
            let past = self.past.borrow();
            let found = past.get(nth).filter(|(name, _)| *name == file.as_str());
            found.map(|(_, text)| text.clone()).ok_or_else(|| Unchanged::Missing(file.as_str().to_owned()))
        })
    }

    fn notes(&self) -> BoxFuture<'_, Result<Noted, Unchanged>> {
        Box::pin(async move {
            let files = self.files.borrow();
            let notes = files.iter().filter_map(|(name, text)| Some((Note::parse(name)?, text.len() as u64)));
            Ok(Noted { notes: notes.collect(), more: false })
        })
    }

    fn note(&self, note: Note) -> BoxFuture<'_, Result<String, Unchanged>> {
        Box::pin(async move {
            let found = self.files.borrow().get(note.as_str()).cloned();
            found.ok_or_else(|| Unchanged::Missing(note.as_str().to_owned()))
        })
    }

    fn rest(&self, file: JobFile, rest: Rest) -> BoxFuture<'_, Result<(), Unchanged>> {
        Box::pin(async move {
            let text = self.find(&file)?;
            let head: Vec<&str> = text.lines().take(2).collect();
            let end = if rest == Rest::Never { "" } else { "\npaused" };
            self.put(file.as_str(), &(head.join("\n") + end)).await;
            Ok(())
        })
    }
}

impl Calendar for Shelf {
    fn between(&self, from: jiff::Zoned, to: jiff::Zoned) -> BoxFuture<'_, Result<Looked, String>> {
        let inside = move |event: &Appointment| match event.when {
            Slot::Timed(start, end) => start < to.timestamp() && end > from.timestamp(),
            Slot::Days(start, end) => start < to.date() && end > from.date(),
        };
        let found = self.calendar.borrow().clone();
        let found = found.map(|all| all.into_iter().filter(inside).collect());
        Box::pin(async move { found.map(|events| Looked { events, left_out: Vec::new() }) })
    }
}
