//! Classifies disk errors by whether they may pass or need a change by the user.
//!
//! A service manager restarts the daemon only for errors that may pass. Unknown errors count as
//! such: a needless restart is harmless, but a missing one stops the assistant for good.

use std::io::{self, ErrorKind};

use rusqlite::ErrorCode;

/// Class of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// May pass once there is free space.
    UntilThereIsRoom,
    /// May pass by itself.
    ForAWhile,
    /// Needs a change by the user.
    UntilItIsChanged,
}

pub fn of_disk(error: &io::Error) -> Lasts {
    use ErrorKind::{
        AlreadyExists, FileTooLarge, InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound,
        PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull, Unsupported,
    };
    let kind = error.kind();
    let chosen_wrongly = matches!(kind, NotADirectory | IsADirectory | AlreadyExists | NotFound)
        || matches!(kind, InvalidInput | InvalidFilename | Unsupported);
    if matches!(kind, StorageFull | QuotaExceeded | FileTooLarge) {
        Lasts::UntilThereIsRoom
    } else if chosen_wrongly || matches!(kind, ReadOnlyFilesystem | PermissionDenied) {
        Lasts::UntilItIsChanged
    } else {
        Lasts::ForAWhile
    }
}

/// Classifies an SQLite error code.
pub fn of_journal(code: Option<ErrorCode>) -> Lasts {
    use ErrorCode::{
        DatabaseBusy, DatabaseLocked, DiskFull, FileLockingProtocolFailed, OutOfMemory, SystemIoFailure,
    };
    let held = matches!(code, Some(DatabaseBusy | DatabaseLocked | FileLockingProtocolFailed));
    if code == Some(DiskFull) {
        Lasts::UntilThereIsRoom
    } else if held || matches!(code, Some(OutOfMemory | SystemIoFailure)) {
        Lasts::ForAWhile
    } else {
        Lasts::UntilItIsChanged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H2: errors of a full, slow or failing disk may pass; errors of a wrong path are permanent.
    #[test]
    fn what_may_pass_is_told_from_what_must_be_changed() {
        use rustix::io::Errno;
        let disk = |errno: Errno| of_disk(&errno.into());
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::FBIG] {
            assert_eq!(disk(errno), Lasts::UntilThereIsRoom, "{errno}");
        }
        for errno in [Errno::IO, Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN, Errno::STALE] {
            assert_eq!(disk(errno), Lasts::ForAWhile, "{errno}");
        }
        for errno in [Errno::ROFS, Errno::ACCESS, Errno::PERM, Errno::NOTDIR, Errno::EXIST, Errno::NOENT] {
            assert_eq!(disk(errno), Lasts::UntilItIsChanged, "{errno}");
        }
        let journal = |code| of_journal(Some(code));
        assert_eq!(journal(ErrorCode::DiskFull), Lasts::UntilThereIsRoom);
        assert_eq!(journal(ErrorCode::DatabaseBusy), Lasts::ForAWhile);
        assert_eq!(journal(ErrorCode::SystemIoFailure), Lasts::ForAWhile);
        assert_eq!(journal(ErrorCode::ReadOnly), Lasts::UntilItIsChanged);
        assert_eq!(journal(ErrorCode::CannotOpen), Lasts::UntilItIsChanged);
        assert_eq!(of_journal(None), Lasts::UntilItIsChanged);
    }
}
