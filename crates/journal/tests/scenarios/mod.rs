//! Scenarios with typical changes of each kind of file, and the visible state afterwards.
#![expect(clippy::unwrap_used, reason = "an unreadable scenario is an error in the test")]

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::conversation::SessionId;
use domain::ping_budget::PingBudget;
use domain::schedule::{Cron, ItemId, Moment, Prompt, Recurrence, Routine};
use domain::sent_messages::{MessageOrigin, SentId, StoredPrompt, StoredPromptId};
use domain::settings::{Setting, TimeoutSetting};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Zoned};
use journal::db::DatabaseError;
use journal::disk::{self, Disk};
use journal::files::config::ConfigFile;
use journal::files::fork_messages::ForkMessages;
use journal::files::inquiries::InquiriesFile;
use journal::files::items::ItemDirectory;
use journal::files::pending_updates::{FileUpdate, PendingUpdatesFile};
use journal::files::ping_budget::PingBudgetFile;
use journal::files::routine_sessions::RoutineSessions;
use journal::files::session_history::{EventKind, SessionEvent, SessionHistory};
use journal::files::sessions::{MainSessionFile, SaveReason};
use journal::files::{FileContent, FileError};
use journal::frontmatter::{Change, Value};
use journal::{Paths, migration};

pub type Shared = Arc<dyn Disk>;
type Done = Result<(), FileError>;
type Step = Box<dyn Fn(&Shared) -> Done>;

/// Some steps, and a function that returns the visible state. It fails if a file is damaged.
pub struct Scenario {
    pub name: &'static str,
    pub steps: Vec<Step>,
    pub visible_state: fn(&Shared) -> Result<String, String>,
}

pub fn all() -> Vec<Scenario> {
    vec![
        Scenario { name: "sessions", steps: session_steps(), visible_state: session_state },
        Scenario { name: "history", steps: session_steps(), visible_state: history_state },
        Scenario {
            name: "torn history",
            steps: truncated_history_steps(),
            visible_state: truncated_history_state,
        },
        Scenario { name: "pending updates", steps: update_steps(), visible_state: updates_state },
        Scenario { name: "fork messages", steps: message_steps(), visible_state: messages_state },
        Scenario { name: "inquiries", steps: inquiry_steps(), visible_state: inquiries_state },
        Scenario { name: "budget", steps: budget_steps(), visible_state: budget_state },
        Scenario { name: "config", steps: config_steps(), visible_state: config_state },
        Scenario {
            name: "routine sessions",
            steps: routine_session_steps(),
            visible_state: routine_sessions_state,
        },
        Scenario { name: "routines", steps: routine_steps(), visible_state: routines_state },
        Scenario { name: "set aside", steps: set_aside_steps(), visible_state: set_aside_state },
    ]
}

pub fn state() -> &'static Path {
    Path::new("/data/state")
}

pub fn now(minutes: i64) -> Zoned {
    let start: Zoned = "2026-03-05T08:00:01.000012[America/Los_Angeles]".parse().unwrap();
    start.checked_add(SignedDuration::from_mins(minutes)).unwrap()
}

pub fn session(n: i64) -> SessionId {
    SessionId::parse(&format!("5f0c0000-0000-4000-8000-{n:012}")).unwrap()
}

fn undamaged<T: Debug>(found: Result<FileContent<T>, FileError>) -> Result<String, String> {
    let found = found.map_err(|trouble| trouble.to_string())?;
    match found.damage {
        None => Ok(format!("{:?}", found.value)),
        Some(damage) => Err(damage.to_string()),
    }
}

fn step(does: impl Fn(&Shared) -> Done + 'static) -> Step {
    Box::new(does)
}

fn history(disk: &Shared) -> Result<SessionHistory, FileError> {
    Ok(SessionHistory::open(disk.clone(), state(), now(0).timestamp())?.value)
}

fn session_steps() -> Vec<Step> {
    let save = |n: i64, why: SaveReason, at: i64| {
        step(move |disk| {
            let mut sessions = MainSessionFile::new(disk.clone(), state());
            sessions.save(&session(n), why, &mut history(disk)?, &now(at))
        })
    };
    let delete = || step(|disk| MainSessionFile::new(disk.clone(), state()).delete());
    let mut steps = vec![save(1, SaveReason::AfterTurn, 1), save(1, SaveReason::AfterTurn, 2)];
    steps.extend((2..8).map(|n| save(n, SaveReason::AfterTurn, n)));
    steps.extend([save(9, SaveReason::Swap, 9), delete(), save(10, SaveReason::AfterTurn, 10), delete()]);
    steps
}

fn session_state(disk: &Shared) -> Result<String, String> {
    undamaged(MainSessionFile::new(disk.clone(), state()).load(now(0).timestamp()))
}

/// A line cut off by a crash is not damage to acknowledged data.
fn history_state(disk: &Shared) -> Result<String, String> {
    let history = history(disk).map_err(|trouble| trouble.to_string())?;
    let told = history.read_all().map_err(|trouble| trouble.to_string())?;
    let lines = told.events.iter().map(|event| format!("{} {}", event.kind.as_str(), event.session));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

const PARTIAL_LINE: &[u8] = b"{\"session_id\": \"5f0c\", \"eve";

fn truncated_history_steps() -> Vec<Step> {
    let event = |n: i64| SessionEvent {
        session: session(n),
        kind: EventKind::BgFork,
        at: Moment::of(&now(n)),
        parent: Some(session(0)),
    };
    let append = move |n: i64| step(move |disk| history(disk)?.append(&event(n)).map(|_| ()));
    let tear = step(|disk| {
        let path = state().join("session_history.jsonl");
        // Not one of our protocols: simulates the leftover of another program's crash in one step.
        let bytes =
            disk.read(&path).map_err(|source| FileError::Unreadable { path: path.clone(), source })?;
        if bytes.ends_with(PARTIAL_LINE) {
            Ok(())
        } else {
            replace_file(disk, &path, &[&bytes, PARTIAL_LINE].concat())
        }
    });
    vec![append(1), append(2), tear, step(|disk| history(disk).map(|_| ())), append(3), append(4), append(4)]
}

fn replace_file(disk: &Shared, path: &Path, bytes: &[u8]) -> Done {
    disk::replace(&**disk, path, bytes)
        .map_err(|source| FileError::Unwritable { path: path.to_owned(), source })
}

fn truncated_history_state(disk: &Shared) -> Result<String, String> {
    history_state(disk)
}

fn update_steps() -> Vec<Step> {
    let update = |n: i64| {
        let message = format!("update {n}: \"two mails\" need answers today, says fork {n} 🙂");
        FileUpdate::new(Moment::of(&now(n)), message)
    };
    let on = |change: fn(&mut PendingUpdatesFile, FileUpdate) -> Done, n: i64| {
        step(move |disk| change(&mut PendingUpdatesFile::new(disk.clone(), state()), update(n)))
    };
    let append: fn(&mut PendingUpdatesFile, FileUpdate) -> Done =
        |file, update| file.append(update, now(0).timestamp()).map(|_| ());
    let forget: fn(&mut PendingUpdatesFile, FileUpdate) -> Done =
        |file, update| file.remove_taken(&[update], now(0).timestamp()).map(|_| ());
    let put_back: fn(&mut PendingUpdatesFile, FileUpdate) -> Done =
        |file, update| file.restore(&[update], now(0).timestamp()).map(|_| ());
    let take: fn(&mut PendingUpdatesFile, FileUpdate) -> Done =
        |file, _| file.take(now(0).timestamp()).map(|_| ());
    let clear: fn(&mut PendingUpdatesFile, FileUpdate) -> Done = |file, _| file.clear();
    let mut steps: Vec<Step> = (0..12).map(|n| on(append, n)).collect();
    steps.extend([on(forget, 3), on(put_back, 3), on(take, 0), on(append, 20), on(append, 21), on(clear, 0)]);
    steps.extend([on(append, 22), on(forget, 22)]);
    steps
}

fn updates_state(disk: &Shared) -> Result<String, String> {
    undamaged(PendingUpdatesFile::new(disk.clone(), state()).load(now(0).timestamp()))
}

fn message_steps() -> Vec<Step> {
    let origin = |n: i64| {
        let (session, parent) = (session(n), (n % 2 == 0).then(|| session(0)));
        MessageOrigin { id: SentId(n as u64 * 10), session, parent, at: now(n * 1440).timestamp(), end: None }
    };
    let replace = |n: i64| {
        step(move |disk| {
            let file = ForkMessages::new(disk.clone(), state());
            file.load(now(0).timestamp())?;
            file.replace(&(n..n + 5).map(origin).collect::<Vec<_>>()).map(drop)
        })
    };
    (1..12).map(replace).collect()
}

fn messages_state(disk: &Shared) -> Result<String, String> {
    undamaged(ForkMessages::new(disk.clone(), state()).load(now(0).timestamp()))
}

fn inquiry_steps() -> Vec<Step> {
    let inquiry = |n: i64| {
        let id = StoredPromptId(format!("0000000{n}"));
        let prompt = format!("what about number {n}?");
        StoredPrompt { id, prompt, at: now(n).timestamp(), label: domain::label::Label::PLAIN }
    };
    let replace = |first: i64, last: i64| {
        step(move |disk| {
            let mut file = InquiriesFile::new(disk.clone(), state());
            file.load(now(0).timestamp())?;
            file.replace(&(first..last).map(inquiry).collect::<Vec<_>>())
        })
    };
    (1..9).map(|n| replace(1, n + 1)).chain((2..9).map(|n| replace(n, 9))).collect()
}

fn inquiries_state(disk: &Shared) -> Result<String, String> {
    undamaged(InquiriesFile::new(disk.clone(), state()).load(now(0).timestamp()))
}

fn budget_steps() -> Vec<Step> {
    let save = |n: u32| {
        step(move |disk| {
            let mut budget = PingBudget::full(&now(0));
            (budget.used.count, budget.available) = (n, f64::from(n) / 3.0);
            PingBudgetFile::new(disk.clone(), state(), TimeZone::UTC).save(&budget)
        })
    };
    (0..12).map(save).collect()
}

fn budget_state(disk: &Shared) -> Result<String, String> {
    undamaged(PingBudgetFile::new(disk.clone(), state(), TimeZone::UTC).load(now(0).timestamp()))
}

fn config_steps() -> Vec<Step> {
    let save = |n: i64| {
        step(move |disk| {
            let mut file = ConfigFile::new(disk.clone(), state());
            let mut config = file.load(now(0).timestamp())?.value;
            Setting::Timeout(TimeoutSetting::BgFork)
                .set(&mut config.settings, &(60 + n).to_string())
                .unwrap();
            file.save(&config)
        })
    };
    (0..12).map(save).collect()
}

fn config_state(disk: &Shared) -> Result<String, String> {
    let found = ConfigFile::new(disk.clone(), state()).load(now(0).timestamp());
    let found = found.map_err(|trouble| trouble.to_string())?;
    match (found.damage, found.warnings.is_empty()) {
        (None, true) => Ok(format!("{:?}", found.value)),
        (damage, _) => Err(format!("{damage:?} {:?}", found.warnings)),
    }
}

fn routine_id(n: i64) -> ItemId {
    ItemId::parse(&format!("a1b2c3d{n}")).unwrap()
}

fn routine_session_steps() -> Vec<Step> {
    let save = |n: i64, held: i64| {
        step(move |disk| RoutineSessions::new(disk.clone(), state()).save(&routine_id(n), &session(held)))
    };
    let delete = |n: i64| {
        step(move |disk| RoutineSessions::new(disk.clone(), state()).delete(&routine_id(n)).map(|_| ()))
    };
    vec![save(1, 1), save(2, 2), save(1, 3), delete(2), save(1, 4), delete(1), delete(1), save(2, 5)]
}

fn routine_sessions_state(disk: &Shared) -> Result<String, String> {
    let file = RoutineSessions::new(disk.clone(), state());
    let sessions = (1..4).map(|n| undamaged(file.load(&routine_id(n), now(0).timestamp())));
    Ok(sessions.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

fn routines(disk: &Shared) -> ItemDirectory<Routine> {
    ItemDirectory::new(disk.clone(), Path::new("/data"), TimeZone::UTC)
}

fn routine_steps() -> Vec<Step> {
    let add = |n: i64, words: &'static str| {
        step(move |disk| {
            let routine = Routine::new(
                routine_id(n),
                Recurrence::new(Cron::parse("0 9 * * 1-5").unwrap()),
                Prompt::new(words),
            );
            routines(disk).add_or_replace(&routine).map(|_| ())
        })
    };
    let edit = |n: i64, text: &'static str| {
        let change = Change::Set(Value::Text(text.to_owned()));
        step(move |disk| routines(disk).edit(routine_id(n).as_str(), "description", &change).map(|_| ()))
    };
    let remove = |n: i64| {
        step(move |disk| {
            let mut routines = routines(disk);
            routines.find(routine_id(n).as_str())?.map_or(Ok(()), |path| routines.remove(&path))
        })
    };
    vec![
        add(1, "Check the mail."),
        add(2, "Check the mail!"),
        edit(2, "the second"),
        add(3, "水"),
        edit(1, "the first"),
        remove(1),
        add(4, "Check the mail and the calendar, and say what is new."),
        remove(2),
        edit(4, "all of it"),
        remove(3),
        remove(3),
    ]
}

fn routines_state(disk: &Shared) -> Result<String, String> {
    let listing = routines(disk).list().map_err(|trouble| trouble.to_string())?;
    match listing.bad.first() {
        None => Ok(format!("{:?}", listing.items)),
        Some(bad) => Err(bad.to_string()),
    }
}

const DAMAGED: &[u8] = b"{\"00000001\": {\"prompt\": \"what ab";

fn set_aside_steps() -> Vec<Step> {
    let damage = || step(|disk| replace_file(disk, &state().join("inquiries.json"), DAMAGED));
    let read = || step(|disk| InquiriesFile::new(disk.clone(), state()).load(now(0).timestamp()).map(|_| ()));
    vec![damage(), read(), read()]
}

/// The damaged content is always preserved under some name.
fn set_aside_state(disk: &Shared) -> Result<String, String> {
    let listed = disk.list(state()).unwrap_or_default();
    let kept = listed.iter().filter(|name| name.path.extension().is_none_or(|end| end != "tmp"));
    let kept = kept.filter(|name| disk.read(&name.path).is_ok_and(|bytes| bytes == DAMAGED)).count();
    Ok(format!("kept: {}", kept > 0))
}

/// A journal of a newer format with its WAL, and the copy from before the migration.
pub struct NewerJournal {
    pub paths: Paths,
    older: PathBuf,
}

impl NewerJournal {
    pub fn create(disk: &dyn Disk) -> Self {
        let paths = Paths::new("/data");
        let kept = paths.before_migration().join("journal-20260305T160000Z-format-6.db");
        let log = state().join("journal.db-wal");
        for (path, text) in [(&kept, "the one from before"), (&paths.database(), "newer"), (&log, "its log")]
        {
            disk::replace(disk, path, text.as_bytes()).unwrap();
        }
        Self { paths, older: kept }
    }

    /// Restores the older journal.
    pub fn restore_older(&self, disk: &dyn Disk) -> Result<(), DatabaseError> {
        let aside = migration::restore_copy(&self.paths, disk, &self.older, now(0).timestamp())?;
        assert_eq!(aside, Some(migration::replaced_journal_path(&self.paths, now(0).timestamp())));
        Ok(())
    }

    /// Completes the replacement and returns whether the older journal is in place. Checks that
    /// nothing is lost in either case.
    pub fn is_older_restored(&self, disk: &dyn Disk) -> bool {
        let laid = migration::finish_replacement(&self.paths, disk).unwrap();
        let aside = migration::replaced_journal_path(&self.paths, now(0).timestamp());
        let at = |path: &Path, end: &str| {
            let bytes = disk.read(&PathBuf::from(format!("{}{end}", path.display()))).ok()?;
            Some(String::from_utf8(bytes).unwrap())
        };
        let journal = self.paths.database();
        let found = [at(&journal, ""), at(&journal, "-wal"), at(&aside, ""), at(&aside, "-wal")];
        let found = found.each_ref().map(Option::as_deref);
        let back = found == [Some("the one from before"), None, Some("newer"), Some("its log")];
        assert!(back || found == [Some("newer"), Some("its log"), None, None], "{found:?}");
        assert!(
            laid.is_none_or(|laid| back && laid.old_path == Some(aside)),
            "it tells where the newer one is"
        );
        back
    }
}
