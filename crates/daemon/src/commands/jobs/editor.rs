//! Opens a copy of a job file in the user's editor, so that an invalid edit is neither applied nor
//! lost.

use std::path::Path;
use std::process::Command;

use journal::disk;

use super::{Job, JobCommands, JobRow};
use crate::exit::CommandError;

impl JobCommands<'_> {
    /// Returns the text of a file after the user edited it, if it is valid. An invalid edit is
    /// stored, and the next edit continues with it.
    pub fn edit_in_editor<K: Job>(&self, row: &JobRow, before: &str) -> Result<String, CommandError> {
        let editor = self.editor.as_deref().ok_or_else(|| {
            CommandError::Usage("EDITOR is not set. set it, or give what changes as flags.".to_owned())
        })?;
        let copy = self.settings.paths.state().join("edits").join(row.file.replace('/', "-"));
        if self.disk.file_kind(&copy)?.is_none() {
            disk::replace(&*self.disk, &copy, before.as_bytes())?;
        }
        run_editor(editor, &copy)?;
        let after = String::from_utf8_lossy(&self.disk.read(&copy)?).into_owned();
        let kept = format!("the file is as it was; your edit is kept in {}", copy.display());
        if let Err(bad) = K::read(&after, self.zone()) {
            let again = format!("to go on with it: ollim-bot {} edit {}", K::NAME, row.name());
            return Err(CommandError::Failed(format!("{}: {bad}. {kept}. {again}", row.file)));
        }
        if self.disk.read(&row.path)? != before.as_bytes() {
            let reason = "somebody changed it while you were editing";
            return Err(CommandError::Failed(format!("{}: {reason}. {kept}.", row.file)));
        }
        disk::remove(&*self.disk, &copy)?;
        Ok(after)
    }
}

/// Runs the editor through the shell, because its name may include arguments, such as `code
/// --wait`.
fn run_editor(editor: &str, copy: &Path) -> Result<(), CommandError> {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{editor} \"$1\""), "editor"]).arg(copy);
    let ended = command.status().map_err(|error| CommandError::Failed(format!("{editor}: {error}")))?;
    if ended.success() {
        Ok(())
    } else {
        Err(CommandError::Failed(format!("{editor} ended with {ended}, so nothing was changed.")))
    }
}
