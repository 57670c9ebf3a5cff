//! Acceptance of the tools and skills that a job file requests.

use std::process::ExitCode;

use journal::{Accepted, AskedFor};
use serde_json::json;

use super::{Desk, Job, Row};
use crate::accepting;
use crate::cli::Reference;
use crate::commands::answer;
use crate::exit::Failed;

impl Desk<'_> {
    /// Accepts everything that a job file requests.
    pub(super) fn accept<K: Job>(&self, which: &Reference) -> Result<ExitCode, Failed> {
        let row = self.find::<K>(which, "accept")?;
        let planned = row.job.as_ref().map_err(|bad| Failed::NotDone(format!("{}: {bad}", row.file)))?;
        let held = accepting::accept(&self.settings.paths, &AskedFor::job(&planned.what));
        let held = held.map_err(Failed::NotDone)?;
        let text = match held.as_slice() {
            [] => format!("{} asks for nothing that is not accepted.", row.name()),
            held => format!("accepted {}: {}. it holds now.", row.name(), held.join(" and ")),
        };
        let value = json!({ "ok": true, "id": row.id, "file": row.file, "accepted": held });
        answer(self.output, &value, &text);
        Ok(ExitCode::SUCCESS)
    }

    /// Accepts the edit of `file` from the first text to the second, or all of it if there is no
    /// first text.
    pub(super) fn allow(&self, file: &str, texts: (Option<&str>, &str)) -> Result<(), Failed> {
        accepting::allow(&self.settings.paths, file, texts).map_err(Failed::NotDone)
    }

    /// Removes the acceptances of a deleted job.
    pub(super) fn forget(&self, row: &Row) -> Result<(), Failed> {
        let name = row.job.as_ref().ok().map(|planned| AskedFor::job(&planned.what).name);
        match name.filter(|_| self.settings.paths.database().exists()) {
            Some(name) => journal::refuse(&self.settings.paths, &name).map_err(Failed::NotDone),
            None => Ok(()),
        }
    }
}

/// Returns the notice that follows a job in lists and details if it requests more than is accepted.
pub(super) fn held(row: &Row, accepted: &Accepted, margin: &str) -> String {
    let told =
        row.job.as_ref().ok().and_then(|planned| accepting::told(&AskedFor::job(&planned.what), accepted));
    told.map(|told| format!("\n{margin}! it {told}")).unwrap_or_default()
}
