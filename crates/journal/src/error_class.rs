//! Classifies disk errors by whether they may pass or need a change by the user.
//!
//! A service manager restarts the daemon only for errors that may pass. Unknown errors count as
//! such: a needless restart is harmless, but a missing one stops the assistant for good.

use std::io::{self, ErrorKind};

use rusqlite::ErrorCode;

/// Class of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// May pass once there is free space.
    DiskFull,
    /// May pass by itself.
    Temporary,
    /// Needs a change by the user.
    Permanent,
}

pub fn classify_io(error: &io::Error) -> ErrorClass {
    use ErrorKind::{
        AlreadyExists, FileTooLarge, InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound,
        PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull, Unsupported,
    };
    let kind = error.kind();
    let chosen_wrongly = matches!(kind, NotADirectory | IsADirectory | AlreadyExists | NotFound)
        || matches!(kind, InvalidInput | InvalidFilename | Unsupported);
    if matches!(kind, StorageFull | QuotaExceeded | FileTooLarge) {
        ErrorClass::DiskFull
    } else if chosen_wrongly || matches!(kind, ReadOnlyFilesystem | PermissionDenied) {
        ErrorClass::Permanent
    } else {
        ErrorClass::Temporary
    }
}

/// Classifies an SQLite error code.
pub fn classify_sqlite(code: Option<ErrorCode>) -> ErrorClass {
    use ErrorCode::{
        DatabaseBusy, DatabaseLocked, DiskFull, FileLockingProtocolFailed, OutOfMemory, SystemIoFailure,
    };
    let held = matches!(code, Some(DatabaseBusy | DatabaseLocked | FileLockingProtocolFailed));
    if code == Some(DiskFull) {
        ErrorClass::DiskFull
    } else if held || matches!(code, Some(OutOfMemory | SystemIoFailure)) {
        ErrorClass::Temporary
    } else {
        ErrorClass::Permanent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H2: errors of a full, slow or failing disk may pass; errors of a wrong path are permanent.
    #[test]
    fn temporary_errors_are_distinguished_from_permanent_ones() {
        use rustix::io::Errno;
        let disk = |errno: Errno| classify_io(&errno.into());
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::FBIG] {
            assert_eq!(disk(errno), ErrorClass::DiskFull, "{errno}");
        }
        for errno in [Errno::IO, Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN, Errno::STALE] {
            assert_eq!(disk(errno), ErrorClass::Temporary, "{errno}");
        }
        for errno in [Errno::ROFS, Errno::ACCESS, Errno::PERM, Errno::NOTDIR, Errno::EXIST, Errno::NOENT] {
            assert_eq!(disk(errno), ErrorClass::Permanent, "{errno}");
        }
        let journal = |code| classify_sqlite(Some(code));
        assert_eq!(journal(ErrorCode::DiskFull), ErrorClass::DiskFull);
        assert_eq!(journal(ErrorCode::DatabaseBusy), ErrorClass::Temporary);
        assert_eq!(journal(ErrorCode::SystemIoFailure), ErrorClass::Temporary);
        assert_eq!(journal(ErrorCode::ReadOnly), ErrorClass::Permanent);
        assert_eq!(journal(ErrorCode::CannotOpen), ErrorClass::Permanent);
        assert_eq!(classify_sqlite(None), ErrorClass::Permanent);
    }
}
