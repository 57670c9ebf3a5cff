//! The job files of one kind, including unreadable ones.

use std::path::{Path, PathBuf};

use domain::cost::CostSource;
use domain::schedule::{JobSpec, PauseState, PlannedJob};
use journal::files::FileError;
use journal::files::items::ItemDirectory;
use journal::frontmatter::BadText;

use super::Job;

pub struct JobRow {
    pub path: PathBuf,
    /// The path relative to the data directory.
    pub file: String,
    /// The id in the file.
    pub id: Option<String>,
    /// The parsed file, or why it cannot be read.
    pub job: Result<PlannedJob, BadText>,
    /// The pause of all routines.
    pub pause: PauseState,
}

impl JobRow {
    /// Returns the cost account of the job.
    pub fn source(&self, kind: fn(String) -> CostSource) -> CostSource {
        kind(self.id.clone().unwrap_or_default())
    }
}

/// Returns all job files of one kind, sorted by path.
pub fn rows<K: Job>(items: &ItemDirectory<K>) -> Result<Vec<JobRow>, FileError> {
    let listing = items.list()?;
    let good = listing.items.into_iter().map(|filed| JobRow::readable(filed.path, filed.item));
    let bad = listing.bad.into_iter().map(|bad| JobRow {
        file: relative_path::<K>(&bad.path),
        id: items.id_of(&bad.path),
        job: Err(bad.bad),
        path: bad.path,
        pause: PauseState::Active,
    });
    let mut rows: Vec<JobRow> = good.chain(bad).collect();
    rows.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(rows)
}

impl JobRow {
    /// Creates a row for a readable file.
    pub fn readable<K: Job>(path: PathBuf, job: K) -> Self {
        let file = relative_path::<K>(&path);
        let id = Some(job.id().to_string());
        let job = Ok(PlannedJob { spec: job.into_job(), file: file.clone() });
        Self { path, file, id, job, pause: PauseState::Active }
    }

    /// Applies a pause of all routines. Reminders are not affected.
    pub fn with_pause(self, pause: PauseState) -> Self {
        match self.job.as_ref().map(|planned| &planned.spec) {
            Ok(JobSpec::Routine(_)) => Self { pause, ..self },
            Ok(JobSpec::Reminder(_)) | Err(_) => self,
        }
    }

    /// Returns the id, or the file if there is none.
    pub fn name(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.file)
    }

    /// Returns the name of the file without its extension.
    pub fn file_stem(&self) -> &str {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        name.strip_suffix(".md").unwrap_or(name)
    }

    /// Returns the text that a search by words looks in.
    pub fn search_text(&self) -> String {
        match &self.job {
            Ok(planned) => format!("{} {}", planned.description(), planned.prompt()),
            Err(_) => self.file.clone(),
        }
    }

    /// Returns a one-line summary.
    pub fn summary(&self) -> String {
        match &self.job {
            Ok(planned) => planned.display_name(),
            Err(_) => self.file.clone(),
        }
    }
}

fn relative_path<K: Job>(path: &Path) -> String {
    format!("{}/{}", K::DIRECTORY, path.file_name().unwrap_or_default().to_string_lossy())
}
