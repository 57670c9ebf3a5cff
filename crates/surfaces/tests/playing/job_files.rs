//! Job files and a calendar in memory; changes are reported to the assistant.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::assistant::{Event, FileScan};
use domain::schedule::{
    Cron, ItemId, JobFileChange, JobSpec, PauseState, PlannedJob, Prompt, Recurrence, Routine,
};
use engine::handle::AssistantHandle;
use futures_util::future::BoxFuture;
use surfaces::web::calendar::{Appointment, AppointmentTime, Calendar, CalendarEvents};
use surfaces::web::job_files::{JobFile, JobFileError, JobFiles, Version, VersionId};
use surfaces::web::notes::{Note, NoteList};
use tokio::sync::watch;

/// Files with a cron expression on the first line, the name on the second, and optionally `paused`
/// on the third.
pub struct FakeJobFiles {
    pub files: watch::Sender<BTreeMap<String, String>>,
    /// All texts of all files, oldest first.
    versions: watch::Sender<Vec<(String, String)>>,
    /// The appointments, or the error of the calendar.
    pub calendar: watch::Sender<Result<Vec<Appointment>, String>>,
    assistant: AssistantHandle,
}

impl FakeJobFiles {
    /// Creates an empty store that reports changes to `assistant`.
    pub fn new(assistant: AssistantHandle) -> Self {
        let files = watch::Sender::new(BTreeMap::new());
        let past = watch::Sender::new(Vec::new());
        Self { files, versions: past, calendar: watch::Sender::new(Ok(Vec::new())), assistant }
    }

    /// Writes a file and notifies the assistant.
    pub async fn put(&self, file: &str, text: &str) {
        self.files.send_modify(|files| drop(files.insert(file.to_owned(), text.to_owned())));
        self.versions.send_modify(|past| past.push((file.to_owned(), text.to_owned())));
        let news = match parse_plan(file, text) {
            Ok(planned) => JobFileChange::Planned(Arc::new(planned)),
            Err(why) => JobFileChange::Invalid {
                file: file.to_owned(),
                source: None,
                reason: why,
                reported_before: false,
            },
        };
        self.assistant.send_event(Event::FilesChanged(vec![news], FileScan::Later)).await;
    }

    fn find(&self, file: &JobFile) -> Result<String, JobFileError> {
        let found = self.files.borrow().get(file.as_str()).cloned();
        found.ok_or_else(|| JobFileError::Missing(file.as_str().to_owned()))
    }
}

fn parse_plan(file: &str, text: &str) -> Result<PlannedJob, String> {
    let mut lines = text.lines();
    let cron =
        Cron::parse(lines.next().unwrap_or_default()).map_err(|invalid| format!("line 1: {invalid}"))?;
    let name = lines.next().unwrap_or_default();
    let id = file.trim_start_matches("routines/").trim_end_matches(".md");
    let id = ItemId::parse(id).map_err(|invalid| invalid.to_string())?;
    let mut routine = Routine::new(id, Recurrence::new(cron), Prompt::new(name));
    if lines.next() == Some("paused") {
        routine.firing_policy.pause = PauseState::Indefinite;
    }
    Ok(PlannedJob { spec: JobSpec::Routine(routine), file: file.to_owned() })
}

impl JobFiles for FakeJobFiles {
    fn text(&self, file: JobFile) -> BoxFuture<'_, Result<String, JobFileError>> {
        Box::pin(async move { self.find(&file) })
    }

    fn check(&self, file: JobFile, text: String) -> BoxFuture<'_, Result<JobSpec, JobFileError>> {
        Box::pin(async move {
            parse_plan(file.as_str(), &text).map(|planned| planned.spec).map_err(JobFileError::Invalid)
        })
    }

    fn rewrite(
        &self,
        file: JobFile,
        before: String,
        text: String,
    ) -> BoxFuture<'_, Result<(), JobFileError>> {
        Box::pin(async move {
            if self.find(&file)? != before {
                return Err(JobFileError::Conflict(file.as_str().to_owned()));
            }
            parse_plan(file.as_str(), &text).map_err(JobFileError::Invalid)?;
            self.put(file.as_str(), &text).await;
            Ok(())
        })
    }

    fn versions(&self, file: JobFile) -> BoxFuture<'_, Result<Vec<Version>, JobFileError>> {
        Box::pin(async move {
            self.find(&file)?;
            let version = |(nth, (name, _)): (usize, &(String, String))| {
                let at = jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_mins(nth as i64);
                let id = VersionId::parse(&format!("{nth:07x}")).unwrap();
                (*name == file.as_str()).then(|| Version { id, at, change: format!("update {name}") })
            };
            Ok(self.versions.borrow().iter().enumerate().filter_map(version).rev().collect())
        })
    }

    fn version(&self, file: JobFile, id: VersionId) -> BoxFuture<'_, Result<String, JobFileError>> {
        Box::pin(async move {
            let nth = usize::from_str_radix(&id.to_string(), 16).unwrap_or(usize::MAX);
            let past = self.versions.borrow();
            let found = past.get(nth).filter(|(name, _)| *name == file.as_str());
            found.map(|(_, text)| text.clone()).ok_or_else(|| JobFileError::Missing(file.as_str().to_owned()))
        })
    }

    fn notes(&self) -> BoxFuture<'_, Result<NoteList, JobFileError>> {
        Box::pin(async move {
            let files = self.files.borrow();
            let notes = files.iter().filter_map(|(name, text)| Some((Note::parse(name)?, text.len() as u64)));
            Ok(NoteList { notes: notes.collect(), truncated: false })
        })
    }

    fn note(&self, note: Note) -> BoxFuture<'_, Result<String, JobFileError>> {
        Box::pin(async move {
            let found = self.files.borrow().get(note.as_str()).cloned();
            found.ok_or_else(|| JobFileError::Missing(note.as_str().to_owned()))
        })
    }

    fn set_pause(&self, file: JobFile, rest: PauseState) -> BoxFuture<'_, Result<(), JobFileError>> {
        Box::pin(async move {
            let text = self.find(&file)?;
            let head: Vec<&str> = text.lines().take(2).collect();
            let end = if rest == PauseState::Active { "" } else { "\npaused" };
            self.put(file.as_str(), &(head.join("\n") + end)).await;
            Ok(())
        })
    }
}

impl Calendar for FakeJobFiles {
    fn between(&self, from: jiff::Zoned, to: jiff::Zoned) -> BoxFuture<'_, Result<CalendarEvents, String>> {
        let inside = move |event: &Appointment| match event.when {
            AppointmentTime::Timed(start, end) => start < to.timestamp() && end > from.timestamp(),
            AppointmentTime::Days(start, end) => start < to.date() && end > from.date(),
        };
        let found = self.calendar.borrow().clone();
        let found = found.map(|all| all.into_iter().filter(inside).collect());
        Box::pin(async move { found.map(|events| CalendarEvents { events, notes: Vec::new() }) })
    }
}
