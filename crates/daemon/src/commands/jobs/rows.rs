//! The job files of one kind, including unreadable ones.

use std::path::{Path, PathBuf};

use domain::cost::Source;
use domain::schedule::{Planned, Rest, What};
use journal::files::Trouble;
use journal::files::items::Items;
use journal::frontmatter::BadText;

use super::Job;

pub struct Row {
    pub path: PathBuf,
    /// The path relative to the data directory.
    pub file: String,
    /// The id in the file.
    pub id: Option<String>,
    /// The parsed file, or why it cannot be read.
    pub job: Result<Planned, BadText>,
    /// The pause of all routines.
    pub pause: Rest,
}

impl Row {
    /// Returns the cost account of the job.
    pub fn source(&self, kind: fn(String) -> Source) -> Source {
        kind(self.id.clone().unwrap_or_default())
    }
}

/// Returns all job files of one kind, sorted by path.
pub fn rows<K: Job>(items: &Items<K>) -> Result<Vec<Row>, Trouble> {
    let listing = items.list()?;
    let good = listing.items.into_iter().map(|filed| Row::good(filed.path, filed.item));
    let bad = listing.bad.into_iter().map(|bad| Row {
        file: file::<K>(&bad.path),
        id: items.id_of(&bad.path),
        job: Err(bad.bad),
        path: bad.path,
        pause: Rest::Never,
    });
    let mut rows: Vec<Row> = good.chain(bad).collect();
    rows.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(rows)
}

impl Row {
    /// Creates a row for a readable file.
    pub fn good<K: Job>(path: PathBuf, job: K) -> Self {
        let file = file::<K>(&path);
        let id = Some(job.id().to_string());
        let job = Ok(Planned { what: job.what(), file: file.clone() });
        Self { path, file, id, job, pause: Rest::Never }
    }

    /// Applies a pause of all routines. Reminders are not affected.
    pub fn during(self, pause: Rest) -> Self {
        match self.job.as_ref().map(|planned| &planned.what) {
            Ok(What::Routine(_)) => Self { pause, ..self },
            Ok(What::Reminder(_)) | Err(_) => self,
        }
    }

    /// Returns the id, or the file if there is none.
    pub fn name(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.file)
    }

    /// Returns the name of the file without its extension.
    pub fn stem(&self) -> &str {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        name.strip_suffix(".md").unwrap_or(name)
    }

    /// Returns the text that a search by words looks in.
    pub fn words(&self) -> String {
        match &self.job {
            Ok(planned) => format!("{} {}", planned.description(), planned.message()),
            Err(_) => self.file.clone(),
        }
    }

    /// Returns a one-line summary.
    pub fn summary(&self) -> String {
        match &self.job {
            Ok(planned) => planned.name(),
            Err(_) => self.file.clone(),
        }
    }
}

fn file<K: Job>(path: &Path) -> String {
    format!("{}/{}", K::DIRECTORY, path.file_name().unwrap_or_default().to_string_lossy())
}
