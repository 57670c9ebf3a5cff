//! Builds the environment of the tools: files, shell, web, MCP servers, skills; with a reason for
//! each part that is off.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::label::{Label, Realm};
use domain::permission::{OUTSIDE_DIR, own_command};
use engine::ports::VendorSearch;
use futures_util::future::BoxFuture;
use journal::Journal;
use journal::disk::Disk;
use tools::files::{BaseDirs, FileHistory as FileKeeper, Files};
use tools::mcp::{AcceptedOffers, Servers};
use tools::sandbox::Kernel;
use tools::shell::{NetworkRule, OwnCommands, Shell};
use tools::web::{PageFetcher, PublicAddresses, SystemResolver, WebSearch};
use tools::{Availability, ToolEnv};

use crate::consent;
use crate::in_process_cli;
use crate::mcp_servers;
use crate::sandbox;
use crate::settings::web::{self, SearchProvider};
use crate::settings::{Backend, Settings};
use crate::skills::SkillStore;
use crate::skills::commands::SandboxedCommands;

/// The directory in which commands run. It is excluded from the git history.
const WORK_DIR: &str = "work";

/// Builds all parts. Problems are added to `notices`.
pub fn build(
    settings: &Settings,
    journal: &Arc<Journal>,
    disk: &Arc<dyn Disk>,
    vendor: Option<Arc<dyn VendorSearch>>,
    notices: &mut Vec<String>,
) -> ToolEnv {
    let shell = shell(settings, Kernel::probe());
    if let Availability::Unavailable(why) = &shell {
        notices.push(format!("i cannot run commands here: {why}."));
    }
    let own: Arc<dyn OwnCommands> = Arc::new(LabelledCommands::new(settings, Arc::clone(disk)));
    let skills = Availability::Available(skills(settings, journal, &shell));
    let fetch =
        Availability::Available(PageFetcher::new(Arc::new(SystemResolver), Arc::new(PublicAddresses)));
    ToolEnv {
        files: files(settings, journal),
        shell,
        own_commands: Availability::Available(own),
        page_fetcher: fetch,
        web_search: search(settings, vendor),
        mcp_servers: servers(settings, disk, notices),
        skills,
    }
}

/// Configures the MCP servers; they are started when they are called.
fn servers(settings: &Settings, disk: &Arc<dyn Disk>, notices: &mut Vec<String>) -> Availability<Servers> {
    let (named, wrong) = mcp_servers::configured_servers(settings, &**disk);
    notices.extend(wrong);
    if named.is_empty() {
        return Availability::Unavailable("no server is named in mcp.json".to_owned());
    }
    let pins: Arc<dyn AcceptedOffers> = Arc::new(mcp_servers::DiskPins(settings.paths.clone()));
    Availability::Available(mcp_servers::servers(named, settings, disk, &pins))
}

fn search(settings: &Settings, vendor: Option<Arc<dyn VendorSearch>>) -> Availability<WebSearch> {
    match (web::search_provider(settings), vendor) {
        (SearchProvider::Engine(engine), _) => Availability::Available(WebSearch::with_engine(engine)),
        (SearchProvider::Vendor(_), Some(vendor)) => Availability::Available(WebSearch::Vendor(vendor)),
        (SearchProvider::Vendor(model), None) => {
            Availability::Unavailable(format!("{model} is not connected"))
        }
        (SearchProvider::Off(why), _) => Availability::Unavailable(why),
    }
}

/// Configures the shell, if this kernel supports the sandbox.
fn shell(settings: &Settings, kernel: Kernel) -> Availability<Shell> {
    if let Some(why) = sandbox::unavailable_reason(kernel) {
        return Availability::Unavailable(why);
    }
    let data = settings.paths.root().to_owned();
    let work = data.join(WORK_DIR);
    match DirBuilder::new().recursive(true).mode(0o700).create(&work) {
        Ok(()) => Availability::Available(Shell {
            sandbox_command: sandbox::command_prefix(),
            data,
            // Hidden from commands: text from outside must be read with `Read`, which labels it,
            // and files that commands leave have no known origin.
            // no label.
            closed: vec![OUTSIDE_DIR.to_owned(), WORK_DIR.to_owned()],
            work_dir: work,
            time_zone: settings.zone.value.iana_name().unwrap_or("UTC").to_owned(),
            network: NetworkRule::WhenAsked,
        }),
        Err(error) => Availability::Unavailable(format!("{} cannot be made ({error})", work.display())),
    }
}

fn skills(
    settings: &Settings,
    journal: &Arc<Journal>,
    shell: &Availability<Shell>,
) -> Arc<dyn tools::skill::SkillStore> {
    let shell = match shell {
        Availability::Available(shell) => Availability::Available(shell.clone()),
        Availability::Unavailable(why) => Availability::Unavailable(why.clone()),
    };
    let commands = SandboxedCommands { in_process: LabelledCommands::new(settings, journal.disk()), shell };
    Arc::new(SkillStore::new(Arc::clone(journal), Arc::new(commands)))
}

fn files(settings: &Settings, journal: &Arc<Journal>) -> Availability<Arc<Files>> {
    let folders =
        BaseDirs { data: settings.paths.root().to_owned(), home: settings.home.as_ref().map(PathBuf::from) };
    match Files::open(folders, vec![WORK_DIR.to_owned()], Arc::new(JournalCommitter(Arc::clone(journal)))) {
        Ok(files) => Availability::Available(Arc::new(files)),
        Err(error) => Availability::Unavailable(format!("the data directory cannot be opened ({error})")),
    }
}

/// DD-14: Commits files that tools write to the git history of the data directory.
struct JournalCommitter(Arc<Journal>);

impl FileKeeper for JournalCommitter {
    fn record_write(&self, path: &Path, message: String) {
        self.0.commit(path, message);
    }

    /// Edits of job files arrive here only after the user approved exactly this text.
    fn permit_write(&self, shown: &str, before: Option<&str>, after: &str) {
        if let Err(why) = consent::accept_edit(self.0.paths(), shown, (before, after)) {
            tracing::warn!(file = shown, "what it asks for is not accepted: {why}");
        }
    }
}

/// Returns the label of the calendar: only a local file is written by the user alone.
fn calendar_label(settings: &Settings) -> Label {
    match settings.integrations.accounts.calendar {
        Backend::Local => Label::private(Realm::Calendar),
        Backend::CalDav(_) | Backend::Google | Backend::Invalid(_) => Label::both(Realm::Calendar),
    }
}

/// Runs our own commands for the shell and the skills, with their labels.
pub struct LabelledCommands {
    commands: in_process_cli::InProcessCli,
    calendar: Label,
}

impl LabelledCommands {
    pub fn new(settings: &Settings, disk: Arc<dyn Disk>) -> Self {
        Self {
            commands: in_process_cli::InProcessCli::new(settings, disk),
            calendar: calendar_label(settings),
        }
    }
}

impl OwnCommands for LabelledCommands {
    fn run<'a>(&'a self, words: &'a [String]) -> BoxFuture<'a, Result<tools::LabelledText, String>> {
        self.commands.run(words)
    }

    fn label(&self, words: &[String]) -> Label {
        if words.first().is_some_and(|first| first == "cal") {
            self.calendar
        } else {
            own_command::capability(words).1
        }
    }
}
