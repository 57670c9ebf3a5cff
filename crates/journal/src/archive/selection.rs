//! Selects the files of a data directory for an archive.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::disk::is_temporary;
use crate::git::is_temporary_pack;

/// Selects whether an archive includes keys and paired browsers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    Exclude,
    /// Included at the user's request.
    Include,
}

/// Selects whether an archive includes the git history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitHistory {
    /// Excluded, for example for a copy used only for tests.
    Exclude,
    Include,
}

/// Why a file is not in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExclusionReason {
    /// It allows its owner to act as the user.
    Secret,
    /// It belongs to the running program.
    Running,
    /// It is specific to this machine, and could cause programs to run on another one.
    Machine,
    /// It is a copy of the journal, which is included.
    Copy,
    /// It is a link to an included file, and is recreated.
    Link,
    /// It is not a regular file, or its name is not valid.
    Strange,
    /// It disappeared during the export.
    Gone,
    /// It is the git history, which was not requested.
    History,
}

impl ExclusionReason {
    /// A description for the user.
    pub fn description(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Running => "belongs to the running program",
            Self::Machine => "of this machine alone",
            Self::Copy => "copies of the journal, which is inside",
            Self::Link => "a link, made again at the next start",
            Self::Strange => "no plain file with a name that can be written down",
            Self::Gone => "gone before i came to it",
            Self::History => "the history of the files, for which nobody asked",
        }
    }
}

/// Directories with copies of the journal; the last one is created by Litestream.
const JOURNAL_COPIES: [&str; 3] = ["backups", "before-migration", ".journal.db-litestream"];

/// Why the file `name` is always excluded; `None` if it may be included.
pub fn exclusion(name: &str) -> Option<ExclusionReason> {
    let last = name.rsplit('/').next().unwrap_or(name);
    let running = ["state/bot.lock", "state/bot.pid", "state/control.sock", "state/accounts.lock"];
    let beside =
        ["state/journal.db-wal", "state/journal.db-shm", "state/journal.db-journal", "state/journal.mark"];
    if running.contains(&name) || beside.contains(&name) {
        return Some(ExclusionReason::Running);
    }
    match name.split_once('/') {
        Some((".git", inner)) => git_exclusion(inner),
        Some(("state", inner)) if is_temporary(Path::new(last)) || inner.ends_with(".sock") => {
            Some(ExclusionReason::Running)
        }
        Some(("state", inner)) if JOURNAL_COPIES.contains(&inner.split('/').next().unwrap_or(inner)) => {
            Some(ExclusionReason::Copy)
        }
        Some(("routines" | "reminders" | "webhooks", _)) | None if last.ends_with(".tmp") => {
            Some(ExclusionReason::Running)
        }
        Some(_) | None => None,
    }
}

/// Why the file `name` is ignored in both directions, although archives of earlier versions contain
/// it. On another machine it would be mistaken for local state: the update record, the crash
/// marker, a pending replacement of the journal, or notices about another journal's damage.
/// Temporary packs are never read by git.
pub fn ignored_reason(name: &str) -> Option<ExclusionReason> {
    match name {
        // It would take effect there as soon as `settings.toml` is invalid.
        "state/update.json" | "state/settings.last-good.toml" => Some(ExclusionReason::Machine),
        "state/watched" => Some(ExclusionReason::Running),
        _ if name.starts_with("state/journal.db.instead-") => Some(ExclusionReason::Running),
        _ if name.starts_with("state/journal.db.untold-") => Some(ExclusionReason::Machine),
        _ if is_temporary_pack(name.strip_prefix(".git/objects/pack/").unwrap_or_default()) => {
            Some(ExclusionReason::Running)
        }
        _ => None,
    }
}

/// Includes commits and refs of a repository. Excludes configuration and hooks, which can run
/// programs.
fn git_exclusion(inner: &str) -> Option<ExclusionReason> {
    let first = inner.split('/').next().unwrap_or(inner);
    let alternates = ["objects/info/alternates", "objects/info/http-alternates"];
    match first {
        _ if inner.ends_with(".lock") || inner.contains("tmp_obj_") => Some(ExclusionReason::Running),
        _ if alternates.contains(&inner) => Some(ExclusionReason::Machine),
        "HEAD" | "ORIG_HEAD" | "packed-refs" | "index" | "refs" | "objects" | "logs" | "description" => None,
        "info" if inner == "info" || inner == "info/exclude" => None,
        "COMMIT_EDITMSG" => None,
        _ => Some(ExclusionReason::Machine),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_and_machine_specific_files_are_excluded() {
        for (name, why) in [
            ("state/bot.lock", ExclusionReason::Running),
            ("state/control.sock", ExclusionReason::Running),
            ("state/journal.db-wal", ExclusionReason::Running),
            ("state/journal.mark", ExclusionReason::Running),
            ("state/config.json.0.tmp", ExclusionReason::Running),
            ("state/export-7.tmp-journal", ExclusionReason::Running),
            ("routines/a.md.0.tmp", ExclusionReason::Running),
            ("state/backups", ExclusionReason::Copy),
            ("state/backups/journal-20261115T000000Z.db", ExclusionReason::Copy),
            ("state/.journal.db-litestream/ltx/0/1-1.ltx", ExclusionReason::Copy),
            (".git/hooks/pre-commit", ExclusionReason::Machine),
            (".git/config", ExclusionReason::Machine),
            (".git/modules/x/config", ExclusionReason::Machine),
            (".git/objects/info/alternates", ExclusionReason::Machine),
            (".git/index.lock", ExclusionReason::Running),
        ] {
            assert_eq!(exclusion(name), Some(why), "{name}");
        }
        for name in [
            "state/journal.db",
            "state/sessions.json",
            "state/routine_sessions/mail",
            "state/journal.db.corrupt-20261115T000000Z",
            "skills/a/notes.tmp",
            "settings.toml",
            ".git/HEAD",
            ".git/objects/ab/cdef",
            ".git/refs/heads/main",
        ] {
            assert_eq!(exclusion(name), None, "{name}");
        }
    }
}
