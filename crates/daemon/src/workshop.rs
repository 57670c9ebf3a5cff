//! Builds the environment of the tools: files, shell, web, MCP servers, skills; with a reason for
//! each part that is off.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::label::{Label, Realm};
use domain::permission::{OUTSIDE, own_command};
use engine::ports::VendorSearch;
use futures_util::future::BoxFuture;
use journal::Journal;
use journal::disk::Disk;
use tools::cage::Kernel;
use tools::files::{Files, Folders, Keeper as FileKeeper};
use tools::mcp::{Pins, Servers};
use tools::shell::{NetworkRule, OwnCommands, Shell};
use tools::web::{Fetch, Public, Search, System};
use tools::{Part, Workshop};

use crate::accepting;
use crate::cage;
use crate::lenders;
use crate::own;
use crate::settings::web::{self, SearchWay};
use crate::settings::{Keeper, Settings};
use crate::skills::SkillShelf;
use crate::skills::running::InTheCage;

/// The directory in which commands run. It is excluded from the git history.
const WORK: &str = "work";

/// Builds all parts. Problems are added to `notices`.
pub fn workshop(
    settings: &Settings,
    journal: &Arc<Journal>,
    disk: &Arc<dyn Disk>,
    vendor: Option<Arc<dyn VendorSearch>>,
    notices: &mut Vec<String>,
) -> Workshop {
    let shell = shell(settings, Kernel::look());
    if let Part::Off(why) = &shell {
        notices.push(format!("i cannot run commands here: {why}."));
    }
    let own: Arc<dyn OwnCommands> = Arc::new(Ours::new(settings, Arc::clone(disk)));
    let skills = Part::On(skills(settings, journal, &shell));
    let fetch = Part::On(Fetch::new(Arc::new(System), Arc::new(Public)));
    Workshop {
        files: files(settings, journal),
        shell,
        own: Part::On(own),
        fetch,
        search: search(settings, vendor),
        servers: servers(settings, disk, notices),
        skills,
    }
}

/// Configures the MCP servers; they are started when they are called.
fn servers(settings: &Settings, disk: &Arc<dyn Disk>, notices: &mut Vec<String>) -> Part<Servers> {
    let (named, wrong) = lenders::named(settings, &**disk);
    notices.extend(wrong);
    if named.is_empty() {
        return Part::Off("no server is named in mcp.json".to_owned());
    }
    let pins: Arc<dyn Pins> = Arc::new(lenders::OnDisk(settings.paths.clone()));
    Part::On(lenders::servers(named, settings, disk, &pins))
}

fn search(settings: &Settings, vendor: Option<Arc<dyn VendorSearch>>) -> Part<Search> {
    match (web::way(settings), vendor) {
        (SearchWay::Engine(engine), _) => Part::On(Search::engine(engine)),
        (SearchWay::Vendor(_), Some(vendor)) => Part::On(Search::Vendor(vendor)),
        (SearchWay::Vendor(model), None) => Part::Off(format!("{model} is not connected")),
        (SearchWay::Off(why), _) => Part::Off(why),
    }
}

/// Configures the shell, if this kernel supports the sandbox.
fn shell(settings: &Settings, kernel: Kernel) -> Part<Shell> {
    if let Some(why) = cage::missing(kernel) {
        return Part::Off(why);
    }
    let data = settings.paths.root().to_owned();
    let work = data.join(WORK);
    match DirBuilder::new().recursive(true).mode(0o700).create(&work) {
        Ok(()) => Part::On(Shell {
            cage: cage::words(),
            data,
            // Hidden from commands: text from outside must be read with `Read`, which labels it,
            // and files that commands leave have no known origin.
            // no label.
            shut: vec![OUTSIDE.to_owned(), WORK.to_owned()],
            work,
            zone: settings.zone.value.iana_name().unwrap_or("UTC").to_owned(),
            network: NetworkRule::WhenAsked,
        }),
        Err(error) => Part::Off(format!("{} cannot be made ({error})", work.display())),
    }
}

fn skills(settings: &Settings, journal: &Arc<Journal>, shell: &Part<Shell>) -> Arc<dyn tools::skill::Skills> {
    let shell = match shell {
        Part::On(shell) => Part::On(shell.clone()),
        Part::Off(why) => Part::Off(why.clone()),
    };
    let commands = InTheCage { own: Ours::new(settings, journal.disk()), shell };
    Arc::new(SkillShelf::new(Arc::clone(journal), Arc::new(commands)))
}

fn files(settings: &Settings, journal: &Arc<Journal>) -> Part<Arc<Files>> {
    let folders =
        Folders { data: settings.paths.root().to_owned(), home: settings.home.as_ref().map(PathBuf::from) };
    match Files::open(folders, vec![WORK.to_owned()], Arc::new(InHistory(Arc::clone(journal)))) {
        Ok(files) => Part::On(Arc::new(files)),
        Err(error) => Part::Off(format!("the data directory cannot be opened ({error})")),
    }
}

/// DD-14: Commits files that tools write to the git history of the data directory.
struct InHistory(Arc<Journal>);

impl FileKeeper for InHistory {
    fn written(&self, path: &Path, message: String) {
        self.0.commit(path, message);
    }

    /// Edits of job files arrive here only after the user approved exactly this text.
    fn let_through(&self, shown: &str, before: Option<&str>, after: &str) {
        if let Err(why) = accepting::allow(self.0.paths(), shown, (before, after)) {
            tracing::warn!(file = shown, "what it asks for is not accepted: {why}");
        }
    }
}

/// Returns the label of the calendar: only a local file is written by the user alone.
fn calendar(settings: &Settings) -> Label {
    match settings.places.accounts.calendar {
        Keeper::Local => Label::private(Realm::Calendar),
        Keeper::CalDav(_) | Keeper::Google | Keeper::Wrong(_) => Label::both(Realm::Calendar),
    }
}

/// Runs our own commands for the shell and the skills, with their labels.
pub struct Ours {
    commands: own::OwnCommands,
    calendar: Label,
}

impl Ours {
    pub fn new(settings: &Settings, disk: Arc<dyn Disk>) -> Self {
        Self { commands: own::OwnCommands::new(settings, disk), calendar: calendar(settings) }
    }
}

impl OwnCommands for Ours {
    fn run<'a>(&'a self, words: &'a [String]) -> BoxFuture<'a, Result<tools::Labelled, String>> {
        self.commands.run(words)
    }

    fn label(&self, words: &[String]) -> Label {
        if words.first().is_some_and(|first| first == "cal") {
            self.calendar
        } else {
            own_command::power(words).1
        }
    }
}
