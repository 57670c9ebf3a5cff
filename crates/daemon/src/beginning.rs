//! Start-up: what is read before the assistant is built, and the notices that are published
//! afterwards.

use std::path::Path;
use std::sync::Arc;

use domain::agent::Agent;
use domain::assistant::{Answer, Assistant, Memory, Request, Shown};
use domain::context::{Names, REFERENCES, Reference, agents};
use domain::cost::Purse;
use domain::model::Choices;
use engine::desk::Desk;
use engine::ports::Surface;
use jiff::{Timestamp, Zoned};
use journal::disk::{Disk, replace};
use journal::{Journal, Opened, Place, Tracked};
use surfaces::stage::Stage;

use crate::checkup::loose::{self, Tightened};
use crate::exit::Failed;
use crate::heart;
use crate::house::Doors;
use crate::settings::{Discord, LAST_GOOD, Settings};

/// Opens the data directory.
pub fn open(settings: &Settings, disk: &Arc<dyn Disk>, now: Timestamp) -> Result<Opened, Failed> {
    let paths = settings.paths.clone();
    let zone = settings.zone.value.clone();
    let place = Place { paths, disk: Arc::clone(disk), zone, now, pid: std::process::id() };
    Ok(journal::open_importing(place, Tracked::ByGit, settings.transcripts.as_deref())?)
}

/// Returns the configured budget with the amounts spent on the day of `now` and the days around it.
pub async fn purse(settings: &Settings, journal: &Journal, now: Zoned) -> Result<Purse, Failed> {
    let days = journal.days(now).await.map_err(|error| Failed::NotDone(error.to_string()))?;
    Ok(Purse { days, ..settings.spend.purse.clone() })
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
pub fn bundle(names: &Names, doors: Doors) -> Bundle {
    match doors {
        Doors::LocalAndPage => Bundle { documents: &REFERENCES, agents: agents::bundled(names) },
        Doors::Asked | Doors::Local => Bundle::default(),
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
pub fn choices(settings: &Settings, usual: &str, memory: &mut Memory, notices: &mut Vec<String>) -> Choices {
    let choices = settings.choices(usual);
    let wrong = choices.admit(&mut memory.chosen.settings);
    notices.extend(wrong.iter().map(|wrong| format!("state/config.json: {wrong} the usual model is used.")));
    choices
}

/// Configures whether the assistant may reach the user through Discord.
pub fn reaching(assistant: Assistant, settings: &Settings, doors: Doors) -> Assistant {
    match (&settings.places.discord, doors) {
        (_, Doors::Asked) => assistant.only_asked(),
        (Discord::On { .. }, Doors::LocalAndPage) => assistant.reaching(),
        (Discord::On { .. } | Discord::Off | Discord::Wrong(_), _) => assistant,
    }
}

/// Saves the text of the settings file, which was just read without errors, for a start at which
/// the file is broken. An empty or missing file, as an editor leaves when it is killed during a
/// save, does not replace a copy that has settings.
pub fn keep_settings(settings: &Settings, disk: &dyn Disk, doors: Doors) {
    let Some(text) = settings.file_text.as_ref().filter(|_| doors == Doors::LocalAndPage) else { return };
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
pub fn seed() -> Result<u64, Failed> {
    getrandom::u64().map_err(|error| Failed::NotDone(format!("the system gives no random numbers: {error}")))
}

/// Returns notices of this start: files that others could read, and how the last process ended.
pub fn found_at_start(settings: &Settings, doors: Doors) -> Vec<String> {
    match doors {
        Doors::LocalAndPage => {
            let ended = heart::last_end(&settings.paths.state());
            let Tightened { mended, unmended } = loose::mend_at_start(&settings.paths);
            mended.into_iter().chain(unmended).chain(ended).collect()
        }
        Doors::Asked | Doors::Local => Vec::new(),
    }
}

/// Shows `notices` on the surfaces and announces the recovery of a damaged journal in the
/// conversation.
pub async fn hand_over(
    notices: &[String],
    stage: &Stage,
    desk: &Desk,
    journal: &Journal,
    settings: &Settings,
    doors: Doors,
) {
    notices.iter().for_each(|notice| stage.show(&Shown::Notice(notice.clone())));
    match (&settings.places.discord, doors) {
        (_, Doors::LocalAndPage) => announce(journal, desk).await,
        // With Discord, the long-running process announces it there; here the caller prints it with
        // the answer.
        (Discord::On { .. }, Doors::Asked | Doors::Local) => {}
        (Discord::Off | Discord::Wrong(_), Doors::Asked | Doors::Local) => journal.told(),
    }
}

/// A recovery counts as announced only once all of it is in the journal. Until then each start
/// tries again.
async fn announce(journal: &Journal, desk: &Desk) {
    for words in journal.untold() {
        if let Answer::Refused(why) = desk.ask(Request::Announce(words)).await {
            return tracing::warn!(
                why,
                "What was done about a damaged journal is told again at the next start."
            );
        }
    }
    journal.told();
}

#[cfg(test)]
mod tests {
    use engine::desk::Letter;
    use journal::disk::RealDisk;
    use tempfile::TempDir;

    use super::*;
    use crate::settings::Environment;

    /// A data directory whose journal replaced a damaged one.
    struct Rescued {
        home: TempDir,
        journal: Journal,
    }

    impl Rescued {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let disk: Arc<dyn Disk> = Arc::new(RealDisk);
            let journal =
                open(&settings(&home, Door::Discord), &disk, Timestamp::UNIX_EPOCH).unwrap().journal;
            std::fs::write(home.path().join("state/journal.db.untold-corrupt-1"), "it was damaged.").unwrap();
            Self { home, journal }
        }

        /// Returns what is still unannounced after the notices were published and the assistant
        /// gave this answer.
        async fn left_after(&self, at: Door, doors: Doors, answer: Option<Answer>) -> Vec<String> {
            let (desk, mut pile) = Desk::new();
            let stage = Stage::default();
            let settings = settings(&self.home, at);
            let answering = async move {
                while let (Some(letter), Some(answer)) = (pile.recv().await, &answer) {
                    if let Letter::Asked(_, reply) = letter {
                        let _ = reply.send(answer.clone());
                    }
                }
            };
            let handing = async {
                hand_over(&[], &stage, &desk, &self.journal, &settings, doors).await;
                drop(desk);
            };
            tokio::join!(handing, answering);
            self.journal.untold()
        }
    }

    /// The surface on which the user can be reached.
    #[derive(Clone, Copy)]
    enum Door {
        Terminal,
        Discord,
    }

    fn settings(home: &TempDir, at: Door) -> Settings {
        let root = home.path().to_string_lossy().into_owned();
        let known = move |name: &str| match (name, at) {
            ("OLLIM_DATA_DIR", _) => Some(root.clone()),
            ("OLLIM_MODEL", _) => Some("offline".to_owned()),
            ("DISCORD_TOKEN", Door::Discord) => Some("a.played.token".to_owned()),
            _ => None,
        };
        Settings::read(&Environment::new(known)).unwrap()
    }

    const UNTOLD: [&str; 1] = ["it was damaged."];

    /// B5: A recovery counts as announced once its message is written. After a full disk or a crash
    /// in between, the next start announces it again.
    #[tokio::test]
    async fn a_rescue_that_could_not_be_told_is_told_again() {
        let rescued = Rescued::new();
        let full = Answer::Refused("i can't write that down: the disk is full.".to_owned());
        for refused in [Some(full), None] {
            assert_eq!(rescued.left_after(Door::Discord, Doors::LocalAndPage, refused).await, UNTOLD);
        }
        let left = rescued.left_after(Door::Discord, Doors::LocalAndPage, Some(Answer::Noted)).await;
        assert!(left.is_empty(), "{left:?}");
    }

    /// B5: A process for one question prints the notice and leaves the announcement to the
    /// long-running process, if Discord is set up.
    #[tokio::test]
    async fn a_question_leaves_a_rescue_to_who_can_send_it() {
        let rescued = Rescued::new();
        for doors in [Doors::Asked, Doors::Local] {
            assert_eq!(rescued.left_after(Door::Discord, doors, Some(Answer::Noted)).await, UNTOLD);
        }
        let left = rescued.left_after(Door::Terminal, Doors::Asked, Some(Answer::Noted)).await;
        assert!(left.is_empty(), "{left:?}");
    }
    /// An empty settings file does not take the place of settings that worked.
    #[test]
    fn an_empty_settings_file_leaves_the_last_good_settings() {
        let home = tempfile::tempdir().unwrap();
        let known = |name: &str| (name == "OLLIM_DATA_DIR").then(|| home.path().display().to_string());
        let kept_after = |text: &str| {
            std::fs::write(home.path().join("settings.toml"), text).unwrap();
            let settings = Settings::read(&Environment::new(known)).unwrap();
            keep_settings(&settings, &RealDisk, Doors::LocalAndPage);
            std::fs::read_to_string(settings.paths.state().join(LAST_GOOD)).unwrap()
        };
        assert_eq!(kept_after(""), "");
        assert_eq!(kept_after("[model]\ntries = 2\n"), "[model]\ntries = 2\n");
        assert_eq!(kept_after("\n"), "[model]\ntries = 2\n");
        assert_eq!(kept_after("[model]\ntries = 3\n"), "[model]\ntries = 3\n");
    }
}
