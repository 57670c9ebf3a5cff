//! The data directory: the SQLite database, the files for the user, and their git history.

mod acceptance;
pub mod db;
pub mod disk;
pub mod files;
pub mod frontmatter;
pub mod git;
mod history;
mod importing;
pub mod jobs;
mod keeper;
mod lock;
mod looking;
pub mod migration;
pub mod moving;
mod open;
mod outbox;
mod passing;
mod paths;
mod plans;
mod reports;
mod run_messages;
mod sent;
mod sessions;
mod state;
pub mod transcripts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::agent::Agent;
use domain::context::{Opening, Reference};
use domain::conversation::{Branch, Entry, EntryId, Lineage, PathEntry, SessionId};
use domain::cost::{Days, Limit, Report, Source};
use domain::explanation::{Explained, Subject};
use domain::occurrence::Occurrence;
use domain::record::Record;
use domain::report::Report as Left;
use engine::ports::{Archive, Journal as Port, Margin, Unreadable, Unwritten};
use futures_util::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

pub use acceptance::{Accepted, AskedFor, accept, accept_change, accept_whole, hash_of, refuse};
use db::{Database, PathCache};
pub use db::{Extent, KnownDevice, Mark, Number, mark_of, read_mark};
use disk::{Disk, Stamp};
use files::Found;
use files::agents::{Agents, Bundled};
use files::model_places::{ModelPlace, ModelPlaces};
use files::tool_lists::ToolLists;
use keeper::Keeper;
pub use lock::{Lock, NotLocked, Running, holder, is_in_use};
pub use open::{NotOpened, Opened, Place, Tracked, open, open_importing, open_with, peek, sweep_left};
pub use paths::Paths;
use plans::PlanFiles;
use reports::ReportFile;
pub use reports::reports;
use sent::SentFiles;
use sessions::SessionFiles;
use state::StateFiles;
pub use state::settings;

/// The journal of a data directory. One thread writes, another one reads.
pub struct Journal {
    /// Closed before the writer, so that the writer closes last and checkpoints the WAL.
    reader: Keeper<Reader>,
    writer: Keeper<Writer>,
    paths: Paths,
    disk: Arc<dyn Disk>,
    git: Arc<git::Git>,
    /// Released last, after both threads have ended.
    _lock: Lock,
}

struct Writer {
    database: Database,
    files: SessionFiles,
    state: StateFiles,
    reports: ReportFile,
    sent: SentFiles,
    plans: PlanFiles,
    look: looking::Look,
    disk: Arc<dyn Disk>,
    folding: Folding,
}

/// State of the checkpointing of the WAL.
#[derive(Default)]
struct Folding {
    /// Number of changed rows at the last check.
    seen: u64,
    /// Number of changed rows at the last checkpoint, if there was one.
    folded: Option<u64>,
}

struct Reader {
    database: Database,
    cache: PathCache,
}

impl Journal {
    /// The paths of the data directory.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Commits the written file `path` with `message`. Does not wait.
    pub fn commit(&self, path: &Path, message: String) {
        self.git.commit(path, message);
    }

    /// The pending notices about recovered journals.
    pub fn untold(&self) -> Vec<String> {
        db::untold(&self.paths.database(), self.disk.as_ref()).unwrap_or_default()
    }

    /// Removes these notices after the user has received them.
    pub fn told(&self) {
        db::told_of_rescue(&self.paths.database(), self.disk.as_ref());
    }

    pub fn disk(&self) -> Arc<dyn Disk> {
        Arc::clone(&self.disk)
    }

    /// The session of `branch`. `None` if the branch has no entries.
    pub async fn session(&self, branch: Branch) -> Result<Option<SessionId>, Unreadable> {
        self.read(move |reader| reader.database.session(&branch)).await
    }

    /// The spending report for the last `days` until `now`.
    pub async fn report(&self, now: Zoned, days: u16, limit: Limit) -> Result<Report, Unreadable> {
        self.read(move |reader| reader.database.report(&now, days, limit)).await
    }

    /// The unattended usage on the day of `now` and the days around it.
    pub async fn days(&self, now: Zoned) -> Result<Days, Unreadable> {
        self.read(move |reader| reader.database.spent_on_days(&now)).await
    }

    /// All metrics.
    pub async fn numbers(&self) -> Result<Vec<Number>, Unreadable> {
        self.read(|reader| reader.database.numbers()).await
    }

    /// The time of the first move, if there is one.
    pub async fn began(&self) -> Result<Option<Timestamp>, Unreadable> {
        self.read(|reader| Ok(reader.database.began())).await
    }

    pub async fn devices(&self) -> Result<Vec<KnownDevice>, Unreadable> {
        self.read(|reader| reader.database.devices()).await
    }

    pub async fn add_device(&self, device: KnownDevice) -> Result<(), Unwritten> {
        self.change(move |database| database.add_device(&device)).await
    }

    pub async fn remove_device(&self, id: String) -> Result<(), Unwritten> {
        self.change(move |database| database.remove_device(&id)).await
    }

    /// The positions of models with their own memory, and the damage of their file.
    pub async fn model_places(
        &self,
        now: Timestamp,
    ) -> Result<Found<BTreeMap<Branch, ModelPlace>>, Unreadable> {
        let file = self.model_places_file();
        let found = self.writer.ask(move |_| file.load(now)).await;
        found.ok_or_else(|| Unreadable(closed().0))?.map_err(|error| Unreadable(error.to_string()))
    }

    /// Replaces all positions. On `Ok` they survive a power cut.
    pub async fn keep_model_places(&self, places: BTreeMap<Branch, ModelPlace>) -> Result<(), Unwritten> {
        let mut file = self.model_places_file();
        let saved = self.writer.ask(move |_| file.save(&places)).await;
        saved.ok_or_else(closed)?.map_err(|error| Unwritten(error.to_string()))
    }

    fn model_places_file(&self) -> ModelPlaces {
        ModelPlaces::new(Arc::clone(&self.disk), &self.paths.state())
    }

    /// Backs up the database to `state/backups` if the newest backup is older than a day, and
    /// verifies the backup.
    pub async fn back_up(&self, now: Timestamp) -> Result<Option<PathBuf>, String> {
        let paths = self.paths.clone();
        let disk = Arc::clone(&self.disk);
        // Uses its own thread and connection, so that a long copy does not block others.
        let keeper = Keeper::new("backup", ()).map_err(|error| error.to_string())?;
        let done = keeper.ask(move |()| db::back_up_daily(&paths, &*disk, now)).await;
        done.unwrap_or_else(|| Err("the backup was stopped".to_owned()))
    }

    /// Checkpoints the WAL if something was written, but nothing since the last call. So an idle
    /// journal is a single file.
    pub async fn fold_when_idle(&self) -> Result<(), Unwritten> {
        match self.writer.ask(Writer::fold_when_idle).await {
            Some(folded) => folded.map_err(|error| unwritten(&error)),
            None => Err(closed()),
        }
    }

    /// Installs the bundled reference `documents` and subagents. Files edited by the user stay as
    /// they are.
    pub async fn place(&self, documents: &'static [Reference], agents: Vec<Bundled>) -> Result<(), String> {
        let paths = self.paths.clone();
        let disk = Arc::clone(&self.disk);
        let keeper = Keeper::new("placing", ()).map_err(|error| error.to_string())?;
        let placed = keeper.ask(move |()| {
            let agents = Agents::new(Arc::clone(&disk), paths.root()).place(&agents);
            files::reference::place(&*disk, paths.root(), documents).and(agents)
        });
        placed.await.unwrap_or(Ok(())).map_err(|error| error.to_string())
    }

    /// The usable subagents, including the bundled ones as they will be installed.
    pub async fn agents(&self, bundled: Vec<Bundled>) -> Result<Vec<Agent>, String> {
        let agents = Agents::new(Arc::clone(&self.disk), self.paths.root());
        let keeper = Keeper::new("subagents", ()).map_err(|error| error.to_string())?;
        let listed = keeper.ask(move |()| agents.list_with(&bundled));
        let found = listed.await.unwrap_or_else(|| Ok(Default::default()));
        found.map(|(found, _)| found).map_err(|trouble| trouble.to_string())
    }

    /// The tool lists declared in files.
    pub async fn tool_lists(&self, zone: TimeZone) -> Result<ToolLists, String> {
        let paths = self.paths.clone();
        let disk = Arc::clone(&self.disk);
        let keeper = Keeper::new("tool lists", ()).map_err(|error| error.to_string())?;
        let read = keeper.ask(move |()| files::tool_lists::tool_lists(&disk, paths.root(), &zone));
        read.await.ok_or_else(|| "the look at them was stopped".to_owned())
    }

    async fn change(
        &self,
        change: impl FnOnce(&mut Database) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), Unwritten> {
        match self.writer.ask(move |writer| change(&mut writer.database)).await {
            Some(done) => done.map_err(|error| unwritten(&error)),
            None => Err(closed()),
        }
    }
}

impl Writer {
    /// Writes `records`. Settings are stored only in their file, so that is written first and
    /// restored if the transaction fails. Then follows the database, and then the files derived
    /// from it; a failed derived file is written later, because its content is already safe.
    fn write(&mut self, records: &[Record]) -> Result<(), Unwritten> {
        self.look.journal_changed();
        let before = self.state.set(records).map_err(|error| Unwritten(error.to_string()))?;
        let reports = records.iter().any(|record| matches!(record, Record::Report(_)));
        let note = reports.then(|| self.reports.note());
        let changes = match self.database.write_with(records, note) {
            Ok(changes) => changes,
            Err(error) => {
                self.state.put_back(before);
                return Err(unwritten(&error));
            }
        };
        if reports {
            self.reports.follow(&mut self.database);
        }
        self.sent.follow(records, &mut self.database);
        self.state.follow(records);
        self.plans.follow(records, &mut self.database);
        if changes.is_empty() {
            return Ok(());
        }
        match self.files.make(&changes) {
            Ok(()) => {
                if let Err(error) = self.database.made(&changes) {
                    tracing::warn!(%error, "A change to the session files will be made again at the next start.");
                }
            }
            Err(error) => {
                tracing::warn!(%error, "The session files could not be written; the next start will.")
            }
        }
        Ok(())
    }
}

impl Writer {
    fn fold_when_idle(&mut self) -> rusqlite::Result<()> {
        let changed = self.database.rows_changed();
        let is_idle = self.folding.seen == changed;
        self.folding.seen = changed;
        if is_idle && self.folding.folded != Some(changed) && self.database.fold()? {
            self.folding.folded = Some(changed);
        }
        Ok(())
    }
}

impl Port for Journal {
    fn write(&self, records: Vec<Record>) -> BoxFuture<'_, Result<(), Unwritten>> {
        let written = self.writer.ask(move |writer| writer.write(&records));
        Box::pin(async {
            written.await.unwrap_or_else(|| Err(Unwritten("the journal is closed.".to_owned())))
        })
    }

    fn path(&self, head: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, Unreadable>> {
        self.read(move |reader| reader.database.path(head, &mut reader.cache))
    }

    fn opening(&self, root: EntryId) -> BoxFuture<'_, Result<Option<Opening>, Unreadable>> {
        self.read(move |reader| reader.database.opening(root))
    }

    fn keep_opening(&self, opening: Opening) -> BoxFuture<'_, Result<(), Unwritten>> {
        Box::pin(self.change(move |database| database.keep_opening(&opening)))
    }

    fn recent(
        &self,
        branch: Branch,
        before: Option<EntryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, Unreadable>> {
        self.read(move |reader| reader.database.recent(&branch, before, limit))
    }

    fn lineage(&self, limit: u32) -> BoxFuture<'_, Result<Lineage, Unreadable>> {
        self.read(move |reader| reader.database.lineage(limit))
    }

    fn entry(&self, id: EntryId) -> BoxFuture<'_, Result<Option<Entry>, Unreadable>> {
        self.read(move |reader| reader.database.find_entry(id))
    }

    fn beside(&self, from: EntryId, before: Option<EntryId>) -> BoxFuture<'_, Result<Margin, Unreadable>> {
        self.read(move |reader| reader.database.beside(from, before))
    }
}

impl Archive for Journal {
    fn reports(&self) -> BoxFuture<'_, Result<Vec<Left>, Unreadable>> {
        self.read(|reader| reader.database.readable())
    }

    fn spent(&self, now: Zoned, days: u16) -> BoxFuture<'_, Result<Report, Unreadable>> {
        self.read(move |reader| reader.database.report(&now, days, Limit::default()))
    }

    fn explain(
        &self,
        subject: Subject,
        zone: TimeZone,
    ) -> BoxFuture<'_, Result<Option<Explained>, Unreadable>> {
        self.read(move |reader| reader.database.explain(&subject, &zone))
    }

    fn occurrences(
        &self,
        of: Option<Source>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Occurrence>, Unreadable>> {
        self.read(move |reader| reader.database.occurrences(of.as_ref(), limit))
    }
}

impl Journal {
    fn read<R: Send + 'static>(
        &self,
        look: impl FnOnce(&mut Reader) -> rusqlite::Result<R> + Send + 'static,
    ) -> BoxFuture<'_, Result<R, Unreadable>> {
        let read = self.reader.ask(look);
        Box::pin(async {
            match read.await {
                Some(Ok(found)) => Ok(found),
                Some(Err(error)) => Err(Unreadable(error.to_string())),
                None => Err(Unreadable(closed().0)),
            }
        })
    }
}

fn closed() -> Unwritten {
    Unwritten("the journal is closed.".to_owned())
}

/// Converts an SQLite error to a text that says what the user can do.
fn unwritten(error: &rusqlite::Error) -> Unwritten {
    use rusqlite::ErrorCode::{DiskFull, ReadOnly, SystemIoFailure};
    let text = match error.sqlite_error_code() {
        Some(DiskFull) => "the disk is full. make some room, and i go on by myself.".to_owned(),
        Some(ReadOnly) => {
            "the data directory is read-only. make it writable, and i go on by myself.".to_owned()
        }
        Some(SystemIoFailure) => format!("the disk answers with an error ({error}). check the disk."),
        _ => format!("the journal answers with an error ({error})."),
    };
    Unwritten(text)
}
