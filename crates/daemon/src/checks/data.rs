//! Checks the machine and the data directory: permissions, free space, journal, clock, zone,
//! sandbox.

use std::path::Path;

use jiff::tz::TimeZone;
use journal::db::{Database, DatabaseError, FIRST_COMMIT};
use journal::disk::Disk;
use journal::{Extent, Mark, Paths};
use surfaces::client::ClientError;
use tools::sandbox::Kernel;

use super::running_daemon::RunningDaemon;
use super::{Finding, State};
use crate::sandbox;
use crate::settings::Settings;

/// Least free bytes without a warning, and least free bytes for operation.
const FREE_SPACE_FINE: u64 = 500 * 1024 * 1024;
const FREE_SPACE_REQUIRED: u64 = 50 * 1024 * 1024;

pub fn directory(paths: &Paths) -> Finding {
    let root = paths.root();
    match root.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => creatable_directory(root),
        Err(error) => {
            Finding::wrong("data", format!("{}: {error}. choose another with --data-dir", root.display()))
        }
        Ok(found) if !found.is_dir() => Finding::wrong(
            "data",
            format!("{} is not a directory. choose another with --data-dir", root.display()),
        ),
        Ok(_) if rustix::fs::access(root, rustix::fs::Access::WRITE_OK).is_err() => {
            Finding::wrong("data", format!("{} cannot be written to. make it writable", root.display()))
        }
        Ok(_) => Finding::fine("data", root.display().to_string()),
    }
}

/// Checks whether a missing directory can be created.
fn creatable_directory(root: &Path) -> Finding {
    let wrong = |why: String| {
        let text = format!(
            "{} cannot be made: {why}. choose another with --data-dir or OLLIM_DATA_DIR",
            root.display()
        );
        Finding::wrong("data", text)
    };
    let there = root.ancestors().find(|place| place.symlink_metadata().is_ok()).unwrap_or(Path::new("/"));
    match there.metadata() {
        Err(_) => wrong(format!("{} leads nowhere", there.display())),
        Ok(found) if !found.is_dir() => wrong(format!("{} is not a directory", there.display())),
        Ok(_) if rustix::fs::access(there, rustix::fs::Access::WRITE_OK).is_err() => {
            wrong(format!("you may not write in {}", there.display()))
        }
        Ok(_) => Finding::fine("data", format!("{} will be made at the first start", root.display())),
    }
}

/// Checks the journal against its mark file.
pub fn journal(paths: &Paths, disk: &dyn Disk, zone: &TimeZone) -> Finding {
    // Read the mark first: if the journal grows in between, the mark must not appear to be ahead of
    // it.
    let mark = ::journal::read_mark(&paths.database(), disk);
    let found = ::journal::open_read_only(paths);
    match &mark {
        Ok(mark) => {
            if let Some(cut_short) = truncated_journal(mark, &found, zone) {
                return cut_short;
            }
        }
        Err(error) => {
            let path = ::journal::mark_of(&paths.database());
            return Finding::wrong("journal", format!("{} can't be read: {error}", path.display()));
        }
    }
    match found {
        Ok(None) => Finding::fine("journal", "nothing was said yet"),
        Ok(Some(database)) if database.is_sound() => {
            let size = paths.database().metadata().map(|found| found.len()).unwrap_or_default();
            Finding::fine("journal", format!("sound, {} KB", size / 1024))
        }
        Ok(Some(_)) => Finding::wrong(
            "journal",
            "damaged. the next start keeps it aside and goes on from the newest backup",
        )
        .with_fix("ollim-bot, or ollim-bot restart if it runs"),
        Err(error) => Finding::wrong("journal", error.to_string()),
    }
}

/// Checks whether the journal is shorter than its mark, or has no mark to compare with.
fn truncated_journal(
    mark: &Mark,
    found: &Result<Option<Database>, DatabaseError>,
    zone: &TimeZone,
) -> Option<Finding> {
    let fix = "ollim-bot, or ollim-bot restart if it runs";
    let extent = match found {
        Ok(Some(database)) => database.extent().ok()?,
        Ok(None) => Extent::default(),
        // Other damage is reported by the caller.
        Err(_) => return None,
    };
    match mark {
        Mark::At(reached) => {
            let missing = reached.missing_from(&extent, zone)?;
            let text = format!(
                "its end is missing: {missing}. the next start keeps the files aside, restores what it can from them \
                 and the backups, and says what is still missing"
            );
            Some(Finding::wrong("journal", text).with_fix(fix))
        }
        Mark::Missing if extent.commits <= FIRST_COMMIT => None,
        Mark::Missing | Mark::Damaged => {
            let state = if *mark == Mark::Missing { "missing" } else { "damaged" };
            let text = format!(
                "state/journal.mark is {state}, so nothing tells whether the journal is complete. the next start writes \
                 a new one"
            );
            Some(Finding::new("journal", State::Warning, text).with_fix(fix))
        }
    }
}

pub fn disk(paths: &Paths) -> Finding {
    let place = paths.root().ancestors().find(|path| path.exists());
    let Some(found) = place.and_then(|path| rustix::fs::statvfs(path).ok()) else {
        return Finding::new("disk", State::Warning, "its free space cannot be read");
    };
    let free = found.f_bavail * found.f_frsize;
    let text = free_space_text(free);
    match free {
        free if free >= FREE_SPACE_FINE => Finding::fine("disk", text),
        free if free >= FREE_SPACE_REQUIRED => {
            Finding::new("disk", State::Warning, format!("only {text}. make some room soon"))
        }
        _ => {
            Finding::wrong("disk", format!("only {text}. make some room: i can't write things down without"))
        }
    }
}

/// Formats a number of free bytes.
fn free_space_text(free: u64) -> String {
    match free / 1024 / 1024 {
        few @ 0..10_240 => format!("{few} MB free"),
        many => format!("{} GB free", many / 1024),
    }
}

/// Checks whether commands of the model can be sandboxed; without a sandbox none is run.
pub fn sandbox(kernel: Kernel) -> Finding {
    match sandbox::unavailable_reason(kernel) {
        None => Finding::fine("cage", "commands run, and are kept in"),
        Some(why) => {
            Finding::new("cage", State::Warning, format!("no command can be run: {why}. all else works"))
        }
    }
}

pub fn zone(settings: &Settings) -> Finding {
    let name = settings.zone.value.iana_name().unwrap_or("UTC");
    let text = format!("{name} (from {})", settings.zone.source);
    match settings.zone.source {
        "a guess" => Finding::new("zone", State::Warning, format!("{text}. set OLLIM_TIMEZONE to yours"))
            .with_fix("ollim-bot setup you"),
        _ => Finding::fine("zone", text),
    }
}

/// Checks the clock. A time before this code was written is certainly wrong.
#[expect(clippy::disallowed_methods, reason = "the doctor looks at the machine's own clock")]
pub fn clock(zone: &TimeZone) -> Finding {
    let now = jiff::Timestamp::now();
    if now.as_second() > 1_793_000_000 {
        Finding::fine("clock", now.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M %Z").to_string())
    } else {
        Finding::wrong("clock", format!("it says {now}, which is long past. set the clock"))
    }
}

pub fn running(asked: &Result<Option<RunningDaemon>, ClientError>) -> Finding {
    match asked {
        Ok(Some(RunningDaemon { health, .. })) => Finding::fine(
            "running",
            format!("pid {}, page {}", health["pid"], health["page"].as_str().unwrap_or("none")),
        ),
        Ok(None) => Finding::absent("running", "no. start it: ollim-bot"),
        Err(ClientError::NoAnswer(seconds)) => {
            Finding::wrong("running", format!("it did not answer within {seconds} s: it stands still"))
                .with_fix(RESTART_HINT)
        }
        Err(error) => Finding::wrong("running", error.to_string()).with_fix(RESTART_HINT),
    }
}

/// The fix for an assistant that does not respond.
const RESTART_HINT: &str = "ollim-bot service restart; without a service: end it, and start it again";

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tools::sandbox::{CallFilter, FileRules};

    use super::*;

    /// A hung assistant is reported as not responding, with a fix, after a bounded wait.
    #[tokio::test(start_paused = true)]
    async fn hung_assistant_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        std::fs::create_dir(paths.state()).unwrap();
        let _deaf = std::os::unix::net::UnixListener::bind(paths.state().join(crate::app::SOCKET)).unwrap();
        let found = running(&RunningDaemon::query(&paths).await);
        assert_eq!(found.state, State::Wrong);
        assert_eq!(found.text, "it did not answer within 5 s: it stands still");
        assert!(found.fix.is_some_and(|fix| fix.starts_with("ollim-bot service restart")));
    }

    #[test]
    fn free_space_and_clock_are_readable() {
        assert_eq!(free_space_text(700 * 1024 * 1024), "700 MB free");
        assert_eq!(free_space_text(64_080 * 1024 * 1024), "62 GB free");
        let zone = TimeZone::get("Asia/Kolkata").unwrap();
        assert!(clock(&zone).text.ends_with(" IST"), "{}", clock(&zone).text);
    }

    /// Without a sandbox no command runs, and the check reports that.
    #[test]
    fn machine_without_sandbox_is_reported() {
        let files = FileRules::None;
        let calls = CallFilter::Present;
        let told = sandbox(Kernel { files, calls }).to_text();
        assert!(told.starts_with("! cage     no command can be run: this kernel has no Landlock"), "{told}");
        assert_eq!(sandbox(Kernel { files: FileRules::FilesAndSignals, calls }).state, State::Fine);
    }

    #[test]
    fn uncreatable_directory_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let told = |place: &str| directory(&Paths::new(dir.path().join(place)));
        assert_eq!(told("new/data").state, State::Fine);
        std::os::unix::fs::symlink("/no/such/place", dir.path().join("link")).unwrap();
        assert!(told("link").text.contains("link leads nowhere"));
        std::fs::create_dir(dir.path().join("theirs")).unwrap();
        std::fs::set_permissions(dir.path().join("theirs"), std::fs::Permissions::from_mode(0o555)).unwrap();
        // Permissions do not restrict root.
        if !rustix::process::geteuid().is_root() {
            assert!(told("theirs/data").text.contains("you may not write in"));
        }
    }
}
