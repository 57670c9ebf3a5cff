//! Reads and edits job files for the page. The daemon notices the changes through its file watcher.

mod notes;

use std::path::PathBuf;
use std::sync::Arc;

use domain::schedule::{Reminder, Rest, Routine, What};
use futures_util::future::BoxFuture;
use jiff::tz::TimeZone;
use journal::Paths;
use journal::disk::{Disk, Seen, replace};
use journal::files::items::Item;
use journal::frontmatter::{BadText, Change, Value, edit};
use journal::git::{self, Committed, Git};
use surfaces::web::job_files::{JobFile, JobFiles, Unchanged, Version, VersionId};
use surfaces::web::notes::{Note, Noted};

use crate::accepting;

/// The greatest size of a file that users edit.
const LARGEST: u64 = 1 << 20;

#[derive(Clone)]
pub struct Shelf {
    pub disk: Arc<dyn Disk>,
    pub root: PathBuf,
    /// The zone of times without an offset.
    pub zone: TimeZone,
}

impl Shelf {
    /// Runs `work` on a file on the blocking pool, because disk calls block.
    async fn aside<T: Send + 'static>(
        &self,
        file: JobFile,
        work: impl FnOnce(&Sheet) -> Result<T, Unchanged> + Send + 'static,
    ) -> Result<T, Unchanged> {
        let sheet = Sheet { shelf: self.clone(), file };
        away(move || work(&sheet)).await
    }
}

/// Runs `work` on the blocking pool.
async fn away<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Unchanged> + Send + 'static,
) -> Result<T, Unchanged> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Unchanged::Failed("i could not get to the file. try again.".to_owned())))
}

impl JobFiles for Shelf {
    fn text(&self, file: JobFile) -> BoxFuture<'_, Result<String, Unchanged>> {
        Box::pin(self.aside(file, Sheet::text))
    }

    fn check(&self, file: JobFile, text: String) -> BoxFuture<'_, Result<What, Unchanged>> {
        Box::pin(self.aside(file, move |sheet| sheet.check(&text).map_err(|bad| sheet.bad(&bad))))
    }

    fn rewrite(&self, file: JobFile, before: String, text: String) -> BoxFuture<'_, Result<(), Unchanged>> {
        Box::pin(self.aside(file, move |sheet| {
            if sheet.text()? != before {
                return Err(Unchanged::Moved(sheet.name()));
            }
            // Saving implies that the user has seen the whole text.
            let paths = Paths::new(&sheet.shelf.root);
            accepting::allow(&paths, sheet.file.as_str(), (None, &text)).map_err(Unchanged::Failed)?;
            sheet.write(&text)
        }))
    }

    fn versions(&self, file: JobFile) -> BoxFuture<'_, Result<Vec<Version>, Unchanged>> {
        Box::pin(self.aside(file, |sheet| {
            let versions = git::versions(&sheet.shelf.root, sheet.file.as_str(), "git").into_iter();
            let version = |Committed { id, at, message }| {
                VersionId::parse(&id).map(|id| Version { id, at, what: message })
            };
            Ok(versions.filter_map(version).collect())
        }))
    }

    fn version(&self, file: JobFile, id: VersionId) -> BoxFuture<'_, Result<String, Unchanged>> {
        Box::pin(self.aside(file, move |sheet| {
            let text = git::version(&sheet.shelf.root, sheet.file.as_str(), &id.to_string(), "git");
            text.ok_or_else(|| Unchanged::Missing(format!("{} as it was then", sheet.name())))
        }))
    }

    fn notes(&self) -> BoxFuture<'_, Result<Noted, Unchanged>> {
        let shelf = self.clone();
        Box::pin(async move { away(move || Ok(shelf.all_notes())).await })
    }

    fn note(&self, note: Note) -> BoxFuture<'_, Result<String, Unchanged>> {
        let shelf = self.clone();
        Box::pin(async move { away(move || shelf.note_text(&note)).await })
    }

    fn rest(&self, file: JobFile, rest: Rest) -> BoxFuture<'_, Result<(), Unchanged>> {
        Box::pin(self.aside(file, move |sheet| {
            let change = match rest {
                Rest::Never => Change::Remove,
                Rest::Until(moment) => Change::Set(Value::Text(moment.to_string())),
                Rest::ForNow => Change::Set(Value::Flag(true)),
            };
            let text = edit(&sheet.text()?, "paused", &change).map_err(|bad| sheet.bad(&bad))?;
            sheet.write(&text)
        }))
    }
}

/// A job file in the store.
struct Sheet {
    shelf: Shelf,
    file: JobFile,
}

impl Sheet {
    fn name(&self) -> String {
        self.file.as_str().to_owned()
    }

    fn path(&self) -> PathBuf {
        self.shelf.root.join(self.file.as_str())
    }

    fn text(&self) -> Result<String, Unchanged> {
        let failed = |why: &dyn std::fmt::Display| Unchanged::Failed(format!("{}: {why}.", self.name()));
        let path = self.path();
        match self.shelf.disk.look(&path).map_err(|error| failed(&error))? {
            Some(Seen::File(..=LARGEST)) => {}
            Some(Seen::File(_)) => {
                return Err(failed(&"it is larger than 1 MB, which is too much for a job"));
            }
            Some(Seen::Directory | Seen::Strange) => return Err(failed(&"it is no file to read")),
            None => return Err(Unchanged::Missing(self.name())),
        }
        let bytes = self.shelf.disk.read(&path).map_err(|error| failed(&error))?;
        String::from_utf8(bytes).map_err(|_| failed(&"it is not text (UTF-8); open it with another editor"))
    }

    /// Writes a valid text to the file and commits it.
    fn write(&self, text: &str) -> Result<(), Unchanged> {
        if text.len() as u64 > LARGEST {
            return Err(Unchanged::Bad("that is larger than 1 MB, which is too much for a job.".to_owned()));
        }
        self.check(text).map_err(|bad| self.bad(&bad))?;
        let path = self.path();
        let written = replace(&*self.shelf.disk, &path, text.as_bytes());
        written.map_err(|error| Unchanged::Failed(format!("{} cannot be written: {error}.", self.name())))?;
        let git = Git::start("git");
        git.commit(&path, format!("update {}", self.name()));
        git.finish();
        Ok(())
    }

    fn check(&self, text: &str) -> Result<What, BadText> {
        if self.file.as_str().starts_with(Routine::DIRECTORY) {
            Routine::read(text, &self.shelf.zone).map(What::Routine)
        } else {
            Reminder::read(text, &self.shelf.zone).map(What::Reminder)
        }
    }

    fn bad(&self, bad: &BadText) -> Unchanged {
        Unchanged::Bad(bad.to_string())
    }
}

#[cfg(test)]
mod tests {
    use domain::schedule::Moment;
    use journal::disk::RealDisk;

    use super::*;

    const MAIL: &str = "---\nid: mail # my own note\ncron: 0 9 * * *\n---\nTriage my mail.\n";

    fn shelf() -> (tempfile::TempDir, Shelf, JobFile) {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().to_owned();
        std::fs::create_dir(root.join("routines")).unwrap();
        std::fs::write(root.join("routines/mail.md"), MAIL).unwrap();
        let shelf = Shelf { disk: Arc::new(RealDisk), root, zone: TimeZone::UTC };
        (home, shelf, JobFile::parse("routines/mail.md").unwrap())
    }

    #[tokio::test]
    async fn a_job_rests_by_a_line_in_its_file_and_goes_on_without_it() {
        let (_home, shelf, file) = shelf();
        shelf.rest(file.clone(), Rest::ForNow).await.unwrap();
        let paused = shelf.text(file.clone()).await.unwrap();
        assert_eq!(paused, MAIL.replace("* * *\n", "* * *\npaused: true\n"));
        let friday = Moment::parse("2026-11-20T09:00Z", &TimeZone::UTC).unwrap();
        shelf.rest(file.clone(), Rest::Until(friday)).await.unwrap();
        assert!(shelf.text(file.clone()).await.unwrap().contains("2026-11-20T09:00:00+00:00"));
        shelf.rest(file.clone(), Rest::Never).await.unwrap();
        assert_eq!(shelf.text(file).await.unwrap(), MAIL, "all else stays as the human wrote it");
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_never_written() {
        let (_home, shelf, file) = shelf();
        let wrong = MAIL.replace("0 9", "99 9");
        let told = shelf.rewrite(file.clone(), MAIL.to_owned(), wrong).await.unwrap_err().to_string();
        assert!(told.starts_with("line 3: `cron`"), "{told}");
        let late = shelf.rewrite(file.clone(), "another".to_owned(), MAIL.replace("0 9", "0 8")).await;
        assert_eq!(late, Err(Unchanged::Moved("routines/mail.md".to_owned())));
        assert_eq!(shelf.text(file.clone()).await.unwrap(), MAIL);
        shelf.rewrite(file.clone(), MAIL.to_owned(), MAIL.replace("0 9", "0 8")).await.unwrap();
        assert!(shelf.text(file).await.unwrap().contains("cron: 0 8"));
        let other = JobFile::parse("routines/other.md").unwrap();
        let missing = shelf.rewrite(other, String::new(), MAIL.to_owned()).await;
        assert_eq!(missing, Err(Unchanged::Missing("routines/other.md".to_owned())), "none is made here");
    }

    /// I6: Saving a file accepts what it requests; pausing a job does not.
    #[tokio::test]
    async fn only_whoever_saves_a_file_accepts_what_it_asks_for() {
        let (_home, shelf, file) = shelf();
        let paths = Paths::new(&shelf.root);
        let now = jiff::Timestamp::UNIX_EPOCH;
        let disk = Arc::clone(&shelf.disk);
        let zone = TimeZone::UTC;
        let place = journal::Place { paths: paths.clone(), disk, zone, now, pid: 1 };
        let journal = journal::open(place).unwrap().journal;
        journal.accept_the_first(Vec::new(), now).await.unwrap();
        let asks = MAIL.replace("* * *\n", "* * *\nbackground: true\nallowed-tools:\n- Read\n");
        std::fs::write(shelf.root.join(file.as_str()), &asks).unwrap();
        let held = |text: &str| {
            let asked = journal::AskedFor::of(file.as_str(), text).unwrap();
            journal::Accepted::look(&paths).held(&asked)
        };
        shelf.rest(file.clone(), Rest::ForNow).await.unwrap();
        let paused = shelf.text(file.clone()).await.unwrap();
        assert_eq!(held(&paused), ["\"Read\""]);
        shelf.rewrite(file.clone(), paused.clone(), asks.clone()).await.unwrap();
        assert_eq!(held(&asks), [""; 0]);
    }

    /// Earlier versions of a file can be read and restored.
    #[tokio::test]
    async fn a_file_can_say_what_it_said_before() {
        let (home, shelf, file) = shelf();
        assert_eq!(shelf.versions(file.clone()).await.unwrap(), [], "nobody keeps a history yet");
        journal::git::track(&RealDisk, home.path(), "git");
        let later = MAIL.replace("0 9", "0 8");
        shelf.rewrite(file.clone(), MAIL.to_owned(), MAIL.replace("Triage", "Sort")).await.unwrap();
        shelf.rewrite(file.clone(), MAIL.replace("Triage", "Sort"), later.clone()).await.unwrap();
        let versions = shelf.versions(file.clone()).await.unwrap();
        assert_eq!(versions.len(), 2, "{versions:?}");
        assert_eq!(versions[0].what, "update routines/mail.md");
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
