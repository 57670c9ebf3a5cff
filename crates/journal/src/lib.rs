//! The data directory: the SQLite database, the files for the user, and their git history.

mod acceptance;
pub mod archive;
pub mod db;
pub mod disk;
mod error_class;
mod external_edits;
pub mod files;
pub mod frontmatter;
pub mod git;
mod history;
mod import;
pub mod jobs;
mod lock;
pub mod migration;
mod open;
mod outbox;
mod paths;
mod plan_files;
mod run_message_file;
mod sent_files;
mod session_files;
mod state_files;
pub mod transcripts;
mod update_file;
mod worker;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::agent::Agent;
use domain::context::{PromptPrefix, Reference};
use domain::conversation::{Branch, Entry, EntryId, Lineage, PathEntry, SessionId};
use domain::cost::{BudgetLimit, CostReport, CostSource, SpendingByDay};
use domain::explanation::{ExplanationReport, Subject};
use domain::occurrence::Occurrence;
use domain::pending_update::PendingUpdate as Left;
use domain::record::Record;
use engine::ports::{Archive, Journal as Port, ReadError, SideMessages, WriteError};
use futures_util::future::BoxFuture;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

pub use acceptance::{
    AcceptedPermissions, PermissionRequests, accept, accept_change, accept_requested, hash_of, revoke,
};
use db::{Database, PathCache};
pub use db::{Extent, Mark, Metric, PairedDevice, mark_of, read_mark};
use disk::{Disk, Stamp};
use files::FileContent;
use files::agents::{AgentDirectory, BundledAgent};
use files::model_places::{ModelPosition, ModelPositions};
use files::tool_lists::ToolLists;
pub use lock::{Lock, LockError, RunningInstance, holder, is_in_use};
pub use open::{
    HistoryMode, OpenError, OpenParams, OpenedJournal, open, open_read_only, open_with_history,
    open_with_import, remove_state_leftovers,
};
pub use paths::Paths;
use plan_files::PlanFiles;
use sent_files::SentFiles;
use session_files::SessionFiles;
use state_files::StateFiles;
pub use state_files::settings;
use update_file::UpdateFile;
pub use update_file::pending_updates;
use worker::Worker;

/// The journal of a data directory. One thread writes, another one reads.
pub struct Journal {
    /// Closed before the writer, so that the writer closes last and checkpoints the WAL.
    reader: Worker<Reader>,
    writer: Worker<Writer>,
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
    reports: UpdateFile,
    sent: SentFiles,
    plans: PlanFiles,
    edit_check: external_edits::ExternalEditCheck,
    disk: Arc<dyn Disk>,
    checkpoint: CheckpointState,
}

/// State of the checkpointing of the WAL.
#[derive(Default)]
struct CheckpointState {
    /// Number of changed rows at the last check.
    seen: u64,
    /// Number of changed rows at the last checkpoint, if there was one.
    checkpointed: Option<u64>,
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
    pub fn rescue_notices(&self) -> Vec<String> {
        db::pending_notices(&self.paths.database(), self.disk.as_ref()).unwrap_or_default()
    }

    /// Removes these notices after the user has received them.
    pub fn remove_rescue_notices(&self) {
        db::told_of_rescue(&self.paths.database(), self.disk.as_ref());
    }

    pub fn disk(&self) -> Arc<dyn Disk> {
        Arc::clone(&self.disk)
    }

    /// The session of `branch`. `None` if the branch has no entries.
    pub async fn branch_session(&self, branch: Branch) -> Result<Option<SessionId>, ReadError> {
        self.read(move |reader| reader.database.branch_session(&branch)).await
    }

    /// The spending report for the last `days` until `now`.
    pub async fn spending_report(
        &self,
        now: Zoned,
        days: u16,
        limit: BudgetLimit,
    ) -> Result<CostReport, ReadError> {
        self.read(move |reader| reader.database.spending_report(&now, days, limit)).await
    }

    /// The unattended usage on the day of `now` and the days around it.
    pub async fn unattended_days(&self, now: Zoned) -> Result<SpendingByDay, ReadError> {
        self.read(move |reader| reader.database.unattended_days(&now)).await
    }

    /// All metrics.
    pub async fn metrics(&self) -> Result<Vec<Metric>, ReadError> {
        self.read(|reader| reader.database.metrics()).await
    }

    /// The time of the first move, if there is one.
    pub async fn first_move_at(&self) -> Result<Option<Timestamp>, ReadError> {
        self.read(|reader| Ok(reader.database.first_move_at())).await
    }

    pub async fn devices(&self) -> Result<Vec<PairedDevice>, ReadError> {
        self.read(|reader| reader.database.devices()).await
    }

    pub async fn add_device(&self, device: PairedDevice) -> Result<(), WriteError> {
        self.update_database(move |database| database.add_device(&device)).await
    }

    pub async fn remove_device(&self, id: String) -> Result<(), WriteError> {
        self.update_database(move |database| database.remove_device(&id)).await
    }

    /// The positions of models with their own memory, and the damage of their file.
    pub async fn model_positions(
        &self,
        now: Timestamp,
    ) -> Result<FileContent<BTreeMap<Branch, ModelPosition>>, ReadError> {
        let file = self.model_positions_file();
        let found = self.writer.run(move |_| file.load(now)).await;
        found.ok_or_else(|| ReadError(closed_error().0))?.map_err(|error| ReadError(error.to_string()))
    }

    /// Replaces all positions. On `Ok` they survive a power cut.
    pub async fn save_model_positions(
        &self,
        places: BTreeMap<Branch, ModelPosition>,
    ) -> Result<(), WriteError> {
        let mut file = self.model_positions_file();
        let saved = self.writer.run(move |_| file.save(&places)).await;
        saved.ok_or_else(closed_error)?.map_err(|error| WriteError(error.to_string()))
    }

    fn model_positions_file(&self) -> ModelPositions {
        ModelPositions::new(Arc::clone(&self.disk), &self.paths.state())
    }

    /// Backs up the database to `state/backups` if the newest backup is older than a day, and
    /// verifies the backup.
    pub async fn back_up(&self, now: Timestamp) -> Result<Option<PathBuf>, String> {
        let paths = self.paths.clone();
        let disk = Arc::clone(&self.disk);
        // Uses its own thread and connection, so that a long copy does not block others.
        let worker = Worker::new("backup", ()).map_err(|error| error.to_string())?;
        let done = worker.run(move |()| db::back_up_daily(&paths, &*disk, now)).await;
        done.unwrap_or_else(|| Err("the backup was stopped".to_owned()))
    }

    /// Checkpoints the WAL if something was written, but nothing since the last call. So an idle
    /// journal is a single file.
    pub async fn checkpoint_when_idle(&self) -> Result<(), WriteError> {
        match self.writer.run(Writer::checkpoint_when_idle).await {
            Some(folded) => folded.map_err(|error| write_error(&error)),
            None => Err(closed_error()),
        }
    }

    /// Installs the bundled reference `documents` and subagents. Files edited by the user stay as
    /// they are.
    pub async fn install_bundled(
        &self,
        documents: &'static [Reference],
        agents: Vec<BundledAgent>,
    ) -> Result<(), String> {
        let paths = self.paths.clone();
        let disk = Arc::clone(&self.disk);
        let worker = Worker::new("placing", ()).map_err(|error| error.to_string())?;
        let placed = worker.run(move |()| {
            let agents = AgentDirectory::new(Arc::clone(&disk), paths.root()).install(&agents);
            files::reference::install(&*disk, paths.root(), documents).and(agents)
        });
        placed.await.unwrap_or(Ok(())).map_err(|error| error.to_string())
    }

    /// The usable subagents, including the bundled ones as they will be installed.
    pub async fn agents(&self, bundled: Vec<BundledAgent>) -> Result<Vec<Agent>, String> {
        let agents = AgentDirectory::new(Arc::clone(&self.disk), self.paths.root());
        let worker = Worker::new("subagents", ()).map_err(|error| error.to_string())?;
        let listed = worker.run(move |()| agents.list_after_install(&bundled));
        let found = listed.await.unwrap_or_else(|| Ok(Default::default()));
        found.map(|(found, _)| found).map_err(|trouble| trouble.to_string())
    }

    /// The tool lists declared in files.
    pub async fn tool_lists(&self, zone: TimeZone) -> Result<ToolLists, String> {
        let paths = self.paths.clone();
        let disk = Arc::clone(&self.disk);
        let worker = Worker::new("tool lists", ()).map_err(|error| error.to_string())?;
        let read = worker.run(move |()| files::tool_lists::tool_lists(&disk, paths.root(), &zone));
        read.await.ok_or_else(|| "the look at them was stopped".to_owned())
    }

    async fn update_database(
        &self,
        change: impl FnOnce(&mut Database) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), WriteError> {
        match self.writer.run(move |writer| change(&mut writer.database)).await {
            Some(done) => done.map_err(|error| write_error(&error)),
            None => Err(closed_error()),
        }
    }
}

impl Writer {
    /// Writes `records`. Settings are stored only in their file, so that is written first and
    /// restored if the transaction fails. Then follows the database, and then the files derived
    /// from it; a failed derived file is written later, because its content is already safe.
    fn write(&mut self, records: &[Record]) -> Result<(), WriteError> {
        self.edit_check.on_journal_changed();
        let before = self.state.write_settings(records).map_err(|error| WriteError(error.to_string()))?;
        let reports = records.iter().any(|record| matches!(record, Record::Update(_)));
        let note = reports.then(|| self.reports.file_hash_entry());
        let changes = match self.database.write_with_note(records, note) {
            Ok(changes) => changes,
            Err(error) => {
                self.state.restore_settings(before);
                return Err(write_error(&error));
            }
        };
        if reports {
            self.reports.apply(&mut self.database);
        }
        self.sent.apply(records, &mut self.database);
        self.state.apply(records);
        self.plans.apply(records, &mut self.database);
        if changes.is_empty() {
            return Ok(());
        }
        match self.files.apply(&changes) {
            Ok(()) => {
                if let Err(error) = self.database.remove_file_changes(&changes) {
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
    fn checkpoint_when_idle(&mut self) -> rusqlite::Result<()> {
        let changed = self.database.rows_changed();
        let is_idle = self.checkpoint.seen == changed;
        self.checkpoint.seen = changed;
        if is_idle && self.checkpoint.checkpointed != Some(changed) && self.database.checkpoint()? {
            self.checkpoint.checkpointed = Some(changed);
        }
        Ok(())
    }
}

impl Port for Journal {
    fn write(&self, records: Vec<Record>) -> BoxFuture<'_, Result<(), WriteError>> {
        let written = self.writer.run(move |writer| writer.write(&records));
        Box::pin(async {
            written.await.unwrap_or_else(|| Err(WriteError("the journal is closed.".to_owned())))
        })
    }

    fn path(&self, head: EntryId) -> BoxFuture<'_, Result<Vec<PathEntry>, ReadError>> {
        self.read(move |reader| reader.database.path(head, &mut reader.cache))
    }

    fn opening(&self, root: EntryId) -> BoxFuture<'_, Result<Option<PromptPrefix>, ReadError>> {
        self.read(move |reader| reader.database.opening(root))
    }

    fn save_opening(&self, opening: PromptPrefix) -> BoxFuture<'_, Result<(), WriteError>> {
        Box::pin(self.update_database(move |database| database.save_opening(&opening)))
    }

    fn recent_entries(
        &self,
        branch: Branch,
        before: Option<EntryId>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, ReadError>> {
        self.read(move |reader| reader.database.recent_entries(&branch, before, limit))
    }

    fn lineage(&self, limit: u32) -> BoxFuture<'_, Result<Lineage, ReadError>> {
        self.read(move |reader| reader.database.lineage(limit))
    }

    fn entry(&self, id: EntryId) -> BoxFuture<'_, Result<Option<Entry>, ReadError>> {
        self.read(move |reader| reader.database.find_entry(id))
    }

    fn side_messages(
        &self,
        from: EntryId,
        before: Option<EntryId>,
    ) -> BoxFuture<'_, Result<SideMessages, ReadError>> {
        self.read(move |reader| reader.database.side_messages(from, before))
    }
}

impl Archive for Journal {
    fn reports(&self) -> BoxFuture<'_, Result<Vec<Left>, ReadError>> {
        self.read(|reader| reader.database.updates_for_user())
    }

    fn spending(&self, now: Zoned, days: u16) -> BoxFuture<'_, Result<CostReport, ReadError>> {
        self.read(move |reader| reader.database.spending_report(&now, days, BudgetLimit::default()))
    }

    fn explain(
        &self,
        subject: Subject,
        zone: TimeZone,
    ) -> BoxFuture<'_, Result<Option<ExplanationReport>, ReadError>> {
        self.read(move |reader| reader.database.explain(&subject, &zone))
    }

    fn occurrences(
        &self,
        of: Option<CostSource>,
        limit: u32,
    ) -> BoxFuture<'_, Result<Vec<Occurrence>, ReadError>> {
        self.read(move |reader| reader.database.occurrences(of.as_ref(), limit))
    }
}

impl Journal {
    fn read<R: Send + 'static>(
        &self,
        look: impl FnOnce(&mut Reader) -> rusqlite::Result<R> + Send + 'static,
    ) -> BoxFuture<'_, Result<R, ReadError>> {
        let read = self.reader.run(look);
        Box::pin(async {
            match read.await {
                Some(Ok(found)) => Ok(found),
                Some(Err(error)) => Err(ReadError(error.to_string())),
                None => Err(ReadError(closed_error().0)),
            }
        })
    }
}

fn closed_error() -> WriteError {
    WriteError("the journal is closed.".to_owned())
}

/// Converts an SQLite error to a text that says what the user can do.
fn write_error(error: &rusqlite::Error) -> WriteError {
    use rusqlite::ErrorCode::{DiskFull, ReadOnly, SystemIoFailure};
    let text = match error.sqlite_error_code() {
        Some(DiskFull) => "the disk is full. make some room, and i go on by myself.".to_owned(),
        Some(ReadOnly) => {
            "the data directory is read-only. make it writable, and i go on by myself.".to_owned()
        }
        Some(SystemIoFailure) => format!("the disk answers with an error ({error}). check the disk."),
        _ => format!("the journal answers with an error ({error})."),
    };
    WriteError(text)
}
