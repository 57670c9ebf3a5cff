//! Acceptance of the tools and skills that a job file requests.

use std::process::ExitCode;

use journal::{AcceptedPermissions, PermissionRequests};
use serde_json::json;

use super::{Job, JobCommands, JobRow};
use crate::cli::JobReference;
use crate::commands::print_result;
use crate::consent;
use crate::exit::CommandError;

impl JobCommands<'_> {
    /// Accepts everything that a job file requests.
    pub(super) fn accept<K: Job>(&self, which: &JobReference) -> Result<ExitCode, CommandError> {
        let row = self.find_row::<K>(which, "accept")?;
        let planned = row.job.as_ref().map_err(|bad| CommandError::Failed(format!("{}: {bad}", row.file)))?;
        let held = consent::accept_all(&self.settings.paths, &PermissionRequests::for_job(&planned.spec));
        let held = held.map_err(CommandError::Failed)?;
        let text = match held.as_slice() {
            [] => format!("{} asks for nothing that is not accepted.", row.name()),
            held => format!("accepted {}: {}. it holds now.", row.name(), held.join(" and ")),
        };
        let value = json!({ "ok": true, "id": row.id, "file": row.file, "accepted": held });
        print_result(self.output, &value, &text);
        Ok(ExitCode::SUCCESS)
    }

    /// Accepts the edit of `file` from the first text to the second, or all of it if there is no
    /// first text.
    pub(super) fn accept_edit(&self, file: &str, texts: (Option<&str>, &str)) -> Result<(), CommandError> {
        consent::accept_edit(&self.settings.paths, file, texts).map_err(CommandError::Failed)
    }

    /// Removes the acceptances of a deleted job.
    pub(super) fn remove_acceptance(&self, row: &JobRow) -> Result<(), CommandError> {
        let name = row.job.as_ref().ok().map(|planned| PermissionRequests::for_job(&planned.spec).name);
        match name.filter(|_| self.settings.paths.database().exists()) {
            Some(name) => journal::revoke(&self.settings.paths, &name).map_err(CommandError::Failed),
            None => Ok(()),
        }
    }
}

/// Returns the notice that follows a job in lists and details if it requests more than is accepted.
pub(super) fn held_back_line(row: &JobRow, accepted: &AcceptedPermissions, margin: &str) -> String {
    let told =
        row.job.as_ref().ok().and_then(|planned| {
            consent::held_back_notice(&PermissionRequests::for_job(&planned.spec), accepted)
        });
    told.map(|told| format!("\n{margin}! it {told}")).unwrap_or_default()
}
