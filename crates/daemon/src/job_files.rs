//! Reads and edits job files for the page. The daemon notices the changes through its file watcher.

mod notes;

use std::path::PathBuf;
use std::sync::Arc;

use domain::schedule::{JobSpec, PauseState, Reminder, Routine};
use futures_util::future::BoxFuture;
use jiff::tz::TimeZone;
use journal::Paths;
use journal::disk::{Disk, FileKind, replace};
use journal::files::items::Item;
use journal::frontmatter::{BadText, Change, Value, edit};
use journal::git::{self, FileVersion, Git};
use surfaces::web::job_files::{JobFile, JobFileError, JobFiles, Version, VersionId};
use surfaces::web::notes::{Note, NoteList};

use crate::consent;

/// The greatest size of a file that users edit.
const MAX_FILE_BYTES: u64 = 1 << 20;

#[derive(Clone)]
pub struct JobFileStore {
    pub disk: Arc<dyn Disk>,
    pub root: PathBuf,
    /// The zone of times without an offset.
    pub zone: TimeZone,
}

impl JobFileStore {
    /// Runs `work` on a file on the blocking pool, because disk calls block.
    async fn with_file<T: Send + 'static>(
        &self,
        file: JobFile,
        work: impl FnOnce(&StoredFile) -> Result<T, JobFileError> + Send + 'static,
    ) -> Result<T, JobFileError> {
        let sheet = StoredFile { store: self.clone(), file };
        run_blocking(move || work(&sheet)).await
    }
}

/// Runs `work` on the blocking pool.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, JobFileError> + Send + 'static,
) -> Result<T, JobFileError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(JobFileError::Io("i could not get to the file. try again.".to_owned())))
}

impl JobFiles for JobFileStore {
    fn text(&self, file: JobFile) -> BoxFuture<'_, Result<String, JobFileError>> {
        Box::pin(self.with_file(file, StoredFile::text))
    }

    fn check(&self, file: JobFile, text: String) -> BoxFuture<'_, Result<JobSpec, JobFileError>> {
        Box::pin(self.with_file(file, move |sheet| sheet.check(&text).map_err(|bad| sheet.invalid(&bad))))
    }

    fn rewrite(
        &self,
        file: JobFile,
        before: String,
        text: String,
    ) -> BoxFuture<'_, Result<(), JobFileError>> {
        Box::pin(self.with_file(file, move |sheet| {
            if sheet.text()? != before {
                return Err(JobFileError::Conflict(sheet.name()));
            }
            // Saving implies that the user has seen the whole text.
            let paths = Paths::new(&sheet.store.root);
            consent::accept_edit(&paths, sheet.file.as_str(), (None, &text)).map_err(JobFileError::Io)?;
            sheet.write(&text)
        }))
    }

    fn versions(&self, file: JobFile) -> BoxFuture<'_, Result<Vec<Version>, JobFileError>> {
        Box::pin(self.with_file(file, |sheet| {
            let versions = git::versions(&sheet.store.root, sheet.file.as_str(), "git").into_iter();
            let version = |FileVersion { id, at, message }| {
                VersionId::parse(&id).map(|id| Version { id, at, change: message })
            };
            Ok(versions.filter_map(version).collect())
        }))
    }

    fn version(&self, file: JobFile, id: VersionId) -> BoxFuture<'_, Result<String, JobFileError>> {
        Box::pin(self.with_file(file, move |sheet| {
            let text = git::version(&sheet.store.root, sheet.file.as_str(), &id.to_string(), "git");
            text.ok_or_else(|| JobFileError::Missing(format!("{} as it was then", sheet.name())))
        }))
    }

    fn notes(&self) -> BoxFuture<'_, Result<NoteList, JobFileError>> {
        let shelf = self.clone();
        Box::pin(async move { run_blocking(move || Ok(shelf.all_notes())).await })
    }

    fn note(&self, note: Note) -> BoxFuture<'_, Result<String, JobFileError>> {
        let shelf = self.clone();
        Box::pin(async move { run_blocking(move || shelf.note_text(&note)).await })
    }

    fn set_pause(&self, file: JobFile, rest: PauseState) -> BoxFuture<'_, Result<(), JobFileError>> {
        Box::pin(self.with_file(file, move |sheet| {
            let change = match rest {
                PauseState::Active => Change::Remove,
                PauseState::Until(moment) => Change::Set(Value::Text(moment.to_string())),
                PauseState::Indefinite => Change::Set(Value::Flag(true)),
            };
            let text = edit(&sheet.text()?, "paused", &change).map_err(|bad| sheet.invalid(&bad))?;
            sheet.write(&text)
        }))
    }
}

/// A job file in the store.
struct StoredFile {
    store: JobFileStore,
    file: JobFile,
}

impl StoredFile {
    fn name(&self) -> String {
        self.file.as_str().to_owned()
    }

    fn path(&self) -> PathBuf {
        self.store.root.join(self.file.as_str())
    }

    fn text(&self) -> Result<String, JobFileError> {
        let failed = |why: &dyn std::fmt::Display| JobFileError::Io(format!("{}: {why}.", self.name()));
        let path = self.path();
        match self.store.disk.file_kind(&path).map_err(|error| failed(&error))? {
            Some(FileKind::File(..=MAX_FILE_BYTES)) => {}
            Some(FileKind::File(_)) => {
                return Err(failed(&"it is larger than 1 MB, which is too much for a job"));
            }
            Some(FileKind::Directory | FileKind::Other) => return Err(failed(&"it is no file to read")),
            None => return Err(JobFileError::Missing(self.name())),
        }
        let bytes = self.store.disk.read(&path).map_err(|error| failed(&error))?;
        String::from_utf8(bytes).map_err(|_| failed(&"it is not text (UTF-8); open it with another editor"))
    }

    /// Writes a valid text to the file and commits it.
    fn write(&self, text: &str) -> Result<(), JobFileError> {
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(JobFileError::Invalid(
                "that is larger than 1 MB, which is too much for a job.".to_owned(),
            ));
        }
        self.check(text).map_err(|bad| self.invalid(&bad))?;
        let path = self.path();
        let written = replace(&*self.store.disk, &path, text.as_bytes());
        written.map_err(|error| JobFileError::Io(format!("{} cannot be written: {error}.", self.name())))?;
        let git = Git::start("git");
        git.commit(&path, format!("update {}", self.name()));
        git.finish();
        Ok(())
    }

    fn check(&self, text: &str) -> Result<JobSpec, BadText> {
        if self.file.as_str().starts_with(Routine::DIRECTORY) {
            Routine::read(text, &self.store.zone).map(JobSpec::Routine)
        } else {
            Reminder::read(text, &self.store.zone).map(JobSpec::Reminder)
        }
    }

    fn invalid(&self, bad: &BadText) -> JobFileError {
        JobFileError::Invalid(bad.to_string())
    }
}

#[cfg(test)]
mod tests {
    use domain::schedule::Moment;
    use journal::disk::RealDisk;

    use super::*;

    const MAIL: &str = "---\nid: mail # my own note\ncron: 0 9 * * *\n---\nTriage my mail.\n";

    fn store() -> (tempfile::TempDir, JobFileStore, JobFile) {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().to_owned();
        std::fs::create_dir(root.join("routines")).unwrap();
        std::fs::write(root.join("routines/mail.md"), MAIL).unwrap();
        let shelf = JobFileStore { disk: Arc::new(RealDisk), root, zone: TimeZone::UTC };
        (home, shelf, JobFile::parse("routines/mail.md").unwrap())
    }

    #[tokio::test]
    async fn pausing_changes_only_the_paused_line() {
        let (_home, shelf, file) = store();
        shelf.set_pause(file.clone(), PauseState::Indefinite).await.unwrap();
        let paused = shelf.text(file.clone()).await.unwrap();
        assert_eq!(paused, MAIL.replace("* * *\n", "* * *\npaused: true\n"));
        let friday = Moment::parse("2026-11-20T09:00Z", &TimeZone::UTC).unwrap();
        shelf.set_pause(file.clone(), PauseState::Until(friday)).await.unwrap();
        assert!(shelf.text(file.clone()).await.unwrap().contains("2026-11-20T09:00:00+00:00"));
        shelf.set_pause(file.clone(), PauseState::Active).await.unwrap();
        assert_eq!(shelf.text(file).await.unwrap(), MAIL, "all else stays as the human wrote it");
    }

    #[tokio::test]
    async fn invalid_text_is_never_written() {
        let (_home, shelf, file) = store();
        let wrong = MAIL.replace("0 9", "99 9");
        let told = shelf.rewrite(file.clone(), MAIL.to_owned(), wrong).await.unwrap_err().to_string();
        assert!(told.starts_with("line 3: `cron`"), "{told}");
        let late = shelf.rewrite(file.clone(), "another".to_owned(), MAIL.replace("0 9", "0 8")).await;
        assert_eq!(late, Err(JobFileError::Conflict("routines/mail.md".to_owned())));
        assert_eq!(shelf.text(file.clone()).await.unwrap(), MAIL);
        shelf.rewrite(file.clone(), MAIL.to_owned(), MAIL.replace("0 9", "0 8")).await.unwrap();
        assert!(shelf.text(file).await.unwrap().contains("cron: 0 8"));
        let other = JobFile::parse("routines/other.md").unwrap();
        let missing = shelf.rewrite(other, String::new(), MAIL.to_owned()).await;
        assert_eq!(missing, Err(JobFileError::Missing("routines/other.md".to_owned())), "none is made here");
    }

    /// I6: Saving a file accepts what it requests; pausing a job does not.
    #[tokio::test]
    async fn saving_a_file_accepts_its_requests() {
        let (_home, shelf, file) = store();
        let paths = Paths::new(&shelf.root);
        let now = jiff::Timestamp::UNIX_EPOCH;
        let disk = Arc::clone(&shelf.disk);
        let zone = TimeZone::UTC;
        let place = journal::OpenParams { paths: paths.clone(), disk, zone, now, pid: 1 };
        let journal = journal::open(place).unwrap().journal;
        journal.accept_initial_jobs(Vec::new(), now).await.unwrap();
        let asks = MAIL.replace("* * *\n", "* * *\nbackground: true\nallowed-tools:\n- Read\n");
        std::fs::write(shelf.root.join(file.as_str()), &asks).unwrap();
        let held = |text: &str| {
            let asked = journal::PermissionRequests::parse_file(file.as_str(), text).unwrap();
            journal::AcceptedPermissions::load(&paths).withheld(&asked)
        };
        shelf.set_pause(file.clone(), PauseState::Indefinite).await.unwrap();
        let paused = shelf.text(file.clone()).await.unwrap();
        assert_eq!(held(&paused), ["\"Read\""]);
        shelf.rewrite(file.clone(), paused.clone(), asks.clone()).await.unwrap();
        assert_eq!(held(&asks), [""; 0]);
    }

    /// Earlier versions of a file can be read and restored.
    #[tokio::test]
    async fn earlier_versions_can_be_read_and_restored() {
        let (home, shelf, file) = store();
        assert_eq!(shelf.versions(file.clone()).await.unwrap(), [], "nobody keeps a history yet");
        journal::git::ensure_repository(&RealDisk, home.path(), "git");
        let later = MAIL.replace("0 9", "0 8");
        shelf.rewrite(file.clone(), MAIL.to_owned(), MAIL.replace("Triage", "Sort")).await.unwrap();
        shelf.rewrite(file.clone(), MAIL.replace("Triage", "Sort"), later.clone()).await.unwrap();
        let versions = shelf.versions(file.clone()).await.unwrap();
        assert_eq!(versions.len(), 2, "{versions:?}");
        assert_eq!(versions[0].change, "update routines/mail.md");
        let texts = [&versions[0], &versions[1]].map(|version| version.id.clone());
        assert_eq!(shelf.version(file.clone(), texts[0].clone()).await.unwrap(), later);
        assert_eq!(
            shelf.version(file.clone(), texts[1].clone()).await.unwrap(),
            MAIL.replace("Triage", "Sort")
        );
        let other = JobFile::parse("routines/other.md").unwrap();
        assert!(shelf.version(other, texts[0].clone()).await.is_err());
        assert!(shelf.version(file, VersionId::parse("0123456789").unwrap()).await.is_err());
    }
}
