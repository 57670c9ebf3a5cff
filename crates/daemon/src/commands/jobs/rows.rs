//! The job files of one kind, those that cannot be read among them.

use std::path::{Path, PathBuf};

use domain::cost::Source;
use domain::schedule::{Planned, Rest, What};
use journal::files::Trouble;
use journal::files::items::Items;
use journal::frontmatter::BadText;

use super::Job;

/// One job file.
pub struct Row {
    /// Where it is.
    pub path: PathBuf,
    /// What it is called from the data directory on.
    pub file: String,
    /// Who it says it is.
    pub id: Option<String>,
    /// What it says, or why that cannot be read.
    pub job: Result<Planned, BadText>,
    /// How long it rests with all that repeats.
    pub pause: Rest,
}

impl Row {
    /// Whose it is.
    pub fn source(&self, kind: fn(String) -> Source) -> Source {
        kind(self.id.clone().unwrap_or_default())
    }
}

/// All job files of one kind, by name.
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
    /// A file that can be read.
    pub fn good<K: Job>(path: PathBuf, job: K) -> Self {
        let file = file::<K>(&path);
        let id = Some(job.id().to_string());
        let job = Ok(Planned { what: job.what(), file: file.clone() });
        Self { path, file, id, job, pause: Rest::Never }
    }

    /// It, while all that repeats rests for so long. Reminders ring all the same.
    pub fn during(self, pause: Rest) -> Self {
        match self.job.as_ref().map(|planned| &planned.what) {
            Ok(What::Routine(_)) => Self { pause, ..self },
            Ok(What::Reminder(_)) | Err(_) => self,
        }
    }

    /// What it is called: by its id, or else by its file.
    pub fn name(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.file)
    }

    /// The name of its file, without the end.
    pub fn stem(&self) -> &str {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        name.strip_suffix(".md").unwrap_or(name)
    }

    /// All words that are known of it.
    pub fn words(&self) -> String {
        match &self.job {
            Ok(planned) => format!("{} {}", planned.description(), planned.message()),
            Err(_) => self.file.clone(),
        }
    }

    /// One line about it.
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
