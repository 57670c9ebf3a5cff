//! Start-up: what is read before the assistant is built, and the notices that are published
//! afterwards.

use std::path::Path;
use std::sync::Arc;

use domain::agent::Agent;
use domain::assistant::{Answer, Assistant, Request, State, Update};
use domain::context::{Names, REFERENCES, Reference, agents};
use domain::cost::Budget;
use domain::model::ModelChoices;
use engine::handle::AssistantHandle;
use engine::ports::Surface;
use jiff::{Timestamp, Zoned};
use journal::disk::{Disk, replace};
use journal::{HistoryMode, Journal, OpenParams, OpenedJournal};
use surfaces::event_hub::EventHub;

use crate::app::Mode;
use crate::checks::permissions::{self, Repairs};
use crate::exit::CommandError;
use crate::settings::{Discord, LAST_GOOD, Settings};
use crate::watchdog;

/// Opens the data directory.
pub fn open(
    settings: &Settings,
    disk: &Arc<dyn Disk>,
    now: Timestamp,
) -> Result<OpenedJournal, CommandError> {
    let paths = settings.paths.clone();
    let zone = settings.zone.value.clone();
    let place = OpenParams { paths, disk: Arc::clone(disk), zone, now, pid: std::process::id() };
    Ok(journal::open_with_import(place, HistoryMode::Git, settings.transcripts_dir.as_deref())?)
}

/// Returns the configured budget with the amounts spent on the day of `now` and the days around it.
pub async fn budget(settings: &Settings, journal: &Journal, now: Zoned) -> Result<Budget, CommandError> {
    let days = journal.unattended_days(now).await.map_err(|error| CommandError::Failed(error.to_string()))?;
    Ok(Budget { days, ..settings.spend.budget.clone() })
}

/// Files that ship with the program and are placed in the data directory.
#[derive(Default)]
pub struct Bundle {
    /// Documents that the model can read.
    pub documents: &'static [Reference],
    /// Subagents, by name and text.
    pub agents: Vec<(&'static str, String)>,
}

/// SA-1: Returns the files for a long-running process. A process for a single question gets none,
/// because it must not wait for them.
pub fn bundle(names: &Names, doors: Mode) -> Bundle {
    match doors {
        Mode::Full => Bundle { documents: &REFERENCES, agents: agents::bundled(names) },
        Mode::Passive | Mode::Local => Bundle::default(),
    }
}

/// SA-3: Returns the available subagents, including those of the `bundle`.
pub async fn subagents(journal: &Journal, bundle: &Bundle) -> Arc<[Agent]> {
    let found = journal.agents(bundle.agents.clone()).await;
    found
        .inspect_err(|problem| {
            tracing::warn!(problem, "The subagents could not be read; the next start tries again.")
        })
        .unwrap_or_default()
        .into()
}

/// SU-6, SK-4: Links our skills to the place where other programs look for them. An existing
/// directory there stays; a dangling link is replaced.
pub fn link_skills(root: &Path) {
    let skills = root.join("skills");
    let link = root.join(".claude/skills");
    if !skills.is_dir() || link.exists() {
        return;
    }
    let made = std::fs::create_dir_all(root.join(".claude")).and_then(|()| {
        if link.is_symlink() {
            std::fs::remove_file(&link)?;
        }
        std::os::unix::fs::symlink("../skills", &link)
    });
    if let Err(error) = made {
        tracing::warn!(%error, "Other programs will not find the skills: the link to them could not be made.");
    }
}

/// Returns the available models. RC-10: configured models that are not available are replaced by
/// the default model, with a line in `notices`.
pub fn choices(
    settings: &Settings,
    usual: &str,
    memory: &mut State,
    notices: &mut Vec<String>,
) -> ModelChoices {
    let choices = settings.choices(usual);
    let wrong = choices.replace_invalid(&mut memory.choices.settings);
    notices.extend(wrong.iter().map(|wrong| format!("state/config.json: {wrong} the usual model is used.")));
    choices
}

/// Configures whether the assistant may reach the user through Discord.
pub fn configure_reach(assistant: Assistant, settings: &Settings, doors: Mode) -> Assistant {
    match (&settings.integrations.discord, doors) {
        (_, Mode::Passive) => assistant.on_request_only(),
        (Discord::On { .. }, Mode::Full) => assistant.with_messages(),
        (Discord::On { .. } | Discord::Off | Discord::Invalid(_), _) => assistant,
    }
}

/// Saves the text of the settings file, which was just read without errors, for a start at which
/// the file is broken. An empty or missing file, as an editor leaves when it is killed during a
/// save, does not replace a copy that has settings.
pub fn save_last_good_settings(settings: &Settings, disk: &dyn Disk, doors: Mode) {
    let Some(text) = settings.file_text.as_ref().filter(|_| doors == Mode::Full) else { return };
    let place = settings.paths.state().join(LAST_GOOD);
    let is_empty = |text: &[u8]| text.trim_ascii().is_empty();
    let is_kept = |kept: &[u8]| kept == text.as_bytes() || (is_empty(text.as_bytes()) && !is_empty(kept));
    if disk.read(&place).is_ok_and(|kept| is_kept(&kept)) {
        return;
    }
    if let Err(error) = replace(disk, &place, text.as_bytes()) {
        tracing::warn!(%error, "The settings that work could not be kept for later starts.");
    }
}

/// Returns a random seed for this start.
pub fn random_seed() -> Result<u64, CommandError> {
    getrandom::u64()
        .map_err(|error| CommandError::Failed(format!("the system gives no random numbers: {error}")))
}

/// Returns notices of this start: files that others could read, and how the last process ended.
pub fn startup_notices(settings: &Settings, doors: Mode) -> Vec<String> {
    match doors {
        Mode::Full => {
            let ended = watchdog::last_exit_notice(&settings.paths.state());
            let Repairs { repaired: mended, failed: unmended } =
                permissions::repair_at_start(&settings.paths);
            mended.into_iter().chain(unmended).chain(ended).collect()
        }
        Mode::Passive | Mode::Local => Vec::new(),
    }
}

/// Shows `notices` on the surfaces and announces the recovery of a damaged journal in the
/// conversation.
pub async fn publish_notices(
    notices: &[String],
    hub: &EventHub,
    assistant: &AssistantHandle,
    journal: &Journal,
    settings: &Settings,
    doors: Mode,
) {
    notices.iter().for_each(|notice| hub.show(&Update::Notice(notice.clone())));
    match (&settings.integrations.discord, doors) {
        (_, Mode::Full) => announce_recovery(journal, assistant).await,
        // With Discord, the long-running process announces it there; here the caller prints it with
        // the answer.
        (Discord::On { .. }, Mode::Passive | Mode::Local) => {}
        (Discord::Off | Discord::Invalid(_), Mode::Passive | Mode::Local) => journal.remove_rescue_notices(),
    }
}

/// A recovery counts as announced only once all of it is in the journal. Until then each start
/// tries again.
async fn announce_recovery(journal: &Journal, assistant: &AssistantHandle) {
    for words in journal.rescue_notices() {
        if let Answer::Refused(why) = assistant.ask(Request::Announce(words)).await {
            return tracing::warn!(
                why,
                "What was done about a damaged journal is told again at the next start."
            );
        }
    }
    journal.remove_rescue_notices();
}

#[cfg(test)]
mod tests {
    use engine::handle::Input;
    use journal::disk::RealDisk;
    use tempfile::TempDir;

    use super::*;
    use crate::settings::Environment;

    /// A data directory whose journal replaced a damaged one.
    struct RecoveredDirectory {
        home: TempDir,
        journal: Journal,
    }

    impl RecoveredDirectory {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let disk: Arc<dyn Disk> = Arc::new(RealDisk);
            let journal =
                open(&settings(&home, UserLocation::Discord), &disk, Timestamp::UNIX_EPOCH).unwrap().journal;
            std::fs::write(home.path().join("state/journal.db.untold-corrupt-1"), "it was damaged.").unwrap();
            Self { home, journal }
        }

        /// Returns what is still unannounced after the notices were published and the assistant
        /// gave this answer.
        async fn unannounced_after(
            &self,
            at: UserLocation,
            doors: Mode,
            answer: Option<Answer>,
        ) -> Vec<String> {
            let (desk, mut pile) = AssistantHandle::new();
            let stage = EventHub::default();
            let settings = settings(&self.home, at);
            let answering = async move {
                while let (Some(letter), Some(answer)) = (pile.recv().await, &answer) {
                    if let Input::Request(_, reply) = letter {
                        let _ = reply.send(answer.clone());
                    }
                }
            };
            let handing = async {
                publish_notices(&[], &stage, &desk, &self.journal, &settings, doors).await;
                drop(desk);
            };
            tokio::join!(handing, answering);
            self.journal.rescue_notices()
        }
    }

    /// The surface on which the user can be reached.
    #[derive(Clone, Copy)]
    enum UserLocation {
        Terminal,
        Discord,
    }

    fn settings(home: &TempDir, at: UserLocation) -> Settings {
        let root = home.path().to_string_lossy().into_owned();
        let known = move |name: &str| match (name, at) {
            ("OLLIM_DATA_DIR", _) => Some(root.clone()),
            ("OLLIM_MODEL", _) => Some("offline".to_owned()),
            ("DISCORD_TOKEN", UserLocation::Discord) => Some("a.played.token".to_owned()),
            _ => None,
        };
        Settings::read(&Environment::new(known)).unwrap()
    }

    const UNANNOUNCED: [&str; 1] = ["it was damaged."];

    /// B5: A recovery counts as announced once its message is written. After a full disk or a crash
    /// in between, the next start announces it again.
    #[tokio::test]
    async fn failed_announcement_of_a_recovery_is_repeated() {
        let rescued = RecoveredDirectory::new();
        let full = Answer::Refused("i can't write that down: the disk is full.".to_owned());
        for refused in [Some(full), None] {
            assert_eq!(
                rescued.unannounced_after(UserLocation::Discord, Mode::Full, refused).await,
                UNANNOUNCED
            );
        }
        let left = rescued.unannounced_after(UserLocation::Discord, Mode::Full, Some(Answer::Done)).await;
        assert!(left.is_empty(), "{left:?}");
    }

    /// B5: A process for one question prints the notice and leaves the announcement to the
    /// long-running process, if Discord is set up.
    #[tokio::test]
    async fn single_question_leaves_the_announcement_to_the_daemon() {
        let rescued = RecoveredDirectory::new();
        for doors in [Mode::Passive, Mode::Local] {
            assert_eq!(
                rescued.unannounced_after(UserLocation::Discord, doors, Some(Answer::Done)).await,
                UNANNOUNCED
            );
        }
        let left = rescued.unannounced_after(UserLocation::Terminal, Mode::Passive, Some(Answer::Done)).await;
        assert!(left.is_empty(), "{left:?}");
    }
    /// An empty settings file does not take the place of settings that worked.
    #[test]
    fn empty_settings_file_keeps_the_last_good_settings() {
        let home = tempfile::tempdir().unwrap();
        let known = |name: &str| (name == "OLLIM_DATA_DIR").then(|| home.path().display().to_string());
        let kept_after = |text: &str| {
            std::fs::write(home.path().join("settings.toml"), text).unwrap();
            let settings = Settings::read(&Environment::new(known)).unwrap();
            save_last_good_settings(&settings, &RealDisk, Mode::Full);
            std::fs::read_to_string(settings.paths.state().join(LAST_GOOD)).unwrap()
        };
        assert_eq!(kept_after(""), "");
        assert_eq!(kept_after("[model]\ntries = 2\n"), "[model]\ntries = 2\n");
        assert_eq!(kept_after("\n"), "[model]\ntries = 2\n");
        assert_eq!(kept_after("[model]\ntries = 3\n"), "[model]\ntries = 3\n");
    }
}
