//! What a job asks for, and whether the human has accepted it.

use std::process::ExitCode;

use journal::{Accepted, AskedFor};
use serde_json::json;

use super::{Desk, Job, Row};
use crate::accepting;
use crate::cli::Reference;
use crate::commands::answer;
use crate::exit::Failed;

impl Desk<'_> {
    /// Lets a job have all that its file asks for.
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

    /// The human lets `after` be written in `file`, over `before` or having all of it before them.
    pub(super) fn allow(&self, file: &str, texts: (Option<&str>, &str)) -> Result<(), Failed> {
        accepting::allow(&self.settings.paths, file, texts).map_err(Failed::NotDone)
    }

    /// What is no longer there has nothing accepted any more.
    pub(super) fn forget(&self, row: &Row) -> Result<(), Failed> {
        let name = row.job.as_ref().ok().map(|planned| AskedFor::job(&planned.what).name);
        match name.filter(|_| self.settings.paths.database().exists()) {
            Some(name) => journal::refuse(&self.settings.paths, &name).map_err(Failed::NotDone),
            None => Ok(()),
        }
    }
}

/// What is told under a job that asks for more than is accepted, on a line of its own after `margin`.
pub(super) fn held(row: &Row, accepted: &Accepted, margin: &str) -> String {
    let told =
        row.job.as_ref().ok().and_then(|planned| accepting::told(&AskedFor::job(&planned.what), accepted));
    told.map(|told| format!("\n{margin}! it {told}")).unwrap_or_default()
}
