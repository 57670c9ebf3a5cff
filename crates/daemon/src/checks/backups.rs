//! Checks the file history (git) and the backups of the journal.

use jiff::{SignedDuration, Timestamp};
use journal::db::newest_backup;
use journal::disk::{Disk, FileKind};
use journal::{Paths, git};

use super::{Finding, State};

/// The greatest age of the newest backup. One is made every day, and a machine may be off for a
/// weekend.
const MAX_BACKUP_AGE: SignedDuration = SignedDuration::from_hours(4 * 24);

/// The age at which a git lock is reported.
const LOCK_WARNING_AGE: SignedDuration = SignedDuration::from_secs(10);

pub fn backups(paths: &Paths, disk: &dyn Disk, now: Timestamp) -> Finding {
    let what = "backups";
    let is_old = |time: Timestamp| now.duration_since(time) > MAX_BACKUP_AGE;
    let began = journal::open_read_only(paths).ok().flatten().and_then(|log| log.first_move_at());
    let day = |time: Timestamp| time.strftime("%Y-%m-%d").to_string();
    let late = |text: String| {
        let fix = "ollim-bot status tells whether i run; ollim-bot service logs why none was made";
        Finding::new(what, State::Warning, format!("{text}. one is made every day while i run")).with_fix(fix)
    };
    match newest_backup(paths, disk, now) {
        Some(made) if is_old(made) => late(format!("the newest copy of the journal is from {}", day(made))),
        Some(made) => Finding::fine(what, format!("the journal was copied on {}", day(made))),
        None if began.is_some_and(is_old) => late("there is no copy of the journal".to_owned()),
        None => Finding::absent(what, "the journal is copied for the first time soon after the next start"),
    }
}

pub fn history(paths: &Paths, disk: &dyn Disk, now: Timestamp) -> Finding {
    let what = "history";
    let root = paths.root();
    if !matches!(disk.file_kind(&root.join(".git")), Ok(Some(FileKind::Directory))) {
        return Finding::absent(what, "git keeps no history of your files yet");
    }
    // Our own commits hold the lock for less than a second.
    match git::find_locks(disk, root).into_iter().find(|lock| lock.age(now) >= LOCK_WARNING_AGE) {
        None => Finding::fine(what, "git keeps what your files said before"),
        Some(lock) => {
            let path = lock.path.display();
            let fix = if lock.is_stale(now) {
                format!("close whatever uses git there; then restart me, or rm {path}")
            } else {
                format!(
                    "close whatever uses git there; I try again every 30 s. If nothing uses it: rm {path}"
                )
            };
            let text = format!("{path} is there, so no changes are recorded");
            Finding::new(what, State::Warning, text).with_fix(fix)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::conversation::{Branch, SessionId};
    use domain::record::Record;
    use engine::ports::Journal as _;
    use jiff::tz::TimeZone;
    use journal::OpenParams;
    use journal::disk::{RealDisk, replace};

    use super::*;

    /// B5: The doctor shows the date of the newest backup, and warns if it is old or missing
    /// although there was time to make one. Backups dated in the future are ignored.
    #[tokio::test]
    async fn doctor_warns_about_missing_and_old_backups() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        let day = |day: i64| Timestamp::constant(1_800_000_000, 0) + SignedDuration::from_hours(24 * day);
        let look = |now| backups(&paths, &RealDisk, now);
        assert_eq!(look(day(0)).state, State::Absent, "nothing is there yet");

        let zone = TimeZone::UTC;
        let disk = Arc::new(RealDisk);
        let place = OpenParams { paths: paths.clone(), disk, zone, now: day(0), pid: 1 };
        let journal::OpenedJournal { journal, state: mut memory, .. } = journal::open(place).unwrap();
        let session = SessionId::parse("first-session").unwrap();
        let moved = memory.conversation.create(Branch::Main, session, day(0));
        journal.write(vec![Record::BranchMoved(moved)]).await.unwrap();
        journal.back_up(day(4_000)).await.unwrap();
        assert_eq!(look(day(1)).state, State::Absent);
        assert!(
            look(day(9)).to_text().starts_with("! backups  there is no copy of the journal. one is made")
        );
        journal.back_up(day(9)).await.unwrap();
        assert!(look(day(10)).to_text().starts_with("✓ backups  the journal was copied on 2027-01-24"));
        let late = "! backups  the newest copy of the journal is from 2027-01-24. one is made";
        assert!(look(day(14)).to_text().starts_with(late), "{}", look(day(14)).to_text());
    }

    /// B13: A git lock that blocks commits is reported with a fix; the lock of a running commit is
    /// not.
    #[test]
    fn doctor_reports_a_stale_git_lock() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        let lock = dir.path().join(".git/index.lock");
        let look = |now| history(&paths, &RealDisk, now);
        assert_eq!(look(Timestamp::MAX).state, State::Absent);
        replace(&RealDisk, &lock, b"").unwrap();
        let made = RealDisk.stamp(&lock).unwrap().unwrap().changed;
        assert_eq!(look(made + SignedDuration::from_secs(1)).state, State::Fine);
        let young = look(made + SignedDuration::from_mins(1)).to_text();
        assert!(
            young.contains("is there, so no changes are recorded") && young.contains("every 30 s"),
            "{young}"
        );
        let told = look(made + SignedDuration::from_hours(1)).to_text();
        let named = lock.display();
        let expected = format!(
            "! history  {named} is there, so no changes are recorded\n    \
             fix: close whatever uses git there; then restart me, or rm {named}\n"
        );
        assert_eq!(told, expected);
    }
}
