//! The application: opens the data directory and wires all components together.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Assistant, Event, FileScan};
use domain::context::{Names, USER_PLACEHOLDER, instructions_with_skills};
use domain::rng::Rng;
use engine::call_slots::CallSlots;
use engine::driver::Services;
use engine::event_loop::EventLoop as Engine;
use engine::handle::{AssistantHandle, Input, SignInRequest, UpdateRequest};
use engine::ports::{Clock, Model, Outbox};
use journal::disk::Disk;
use journal::jobs::{self, JobFileScanner};
use journal::{Journal, OpenedJournal};
use surfaces::client::Client;
use surfaces::discord::dm;
use surfaces::discord::dm::connection_status::{self, ConnectionStatus};
use surfaces::discord::transport::net::NetworkTransport;
use surfaces::event_hub::EventHub;
use surfaces::web::health::Health;
use surfaces::web::listener::{BindError, bind, bind_file, serve_tcp, serve_unix};
use surfaces::web::secret::Digest;
use surfaces::web::{App, WebLimits, WebPorts};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tools::Toolbox;

use crate::appointments::Appointments;
use crate::claude_sign_in::{self, ClaudeSignIn};
use crate::clock::SystemClock;
use crate::commands::accounts::backends;
use crate::consent;
use crate::exit::CommandError;
use crate::greeting_facts::GreetingFacts;
use crate::health::DaemonHealth;
use crate::job_files::JobFileStore;
use crate::model::{self, BuiltModel, ModelDependencies};
use crate::pairing::JournalDeviceStore;
use crate::periodic;
use crate::settings::{Discord, Settings};
use crate::skills::accepted_skills;
use crate::startup;
use crate::telemetry;
use crate::tool_env;
use crate::tool_lists::ToolListCheck;
use crate::update::{self, UpdateHandler, run_update_handler};
use crate::watchdog::{self, Watchdog};
use crate::webhooks;

/// Time limits of a shutdown: for all tasks, and then for the model.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(6);
const MODEL_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// The control socket in the `state` directory.
pub const SOCKET: &str = "control.sock";

/// Which endpoints are open, and whether the assistant acts on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Only the control socket, and no activity of its own: enough to plan or look up something.
    Passive,
    /// Only the control socket: enough for one question.
    Local,
    /// Also the page, Discord and webhooks.
    Full,
}

/// The assistant and its services, running in this process.
pub struct Application {
    /// A client of the control socket.
    pub client: Client,
    /// A one-time link that opens the page, if the page is served.
    pub page_link: Option<String>,
    /// Notices for the user.
    pub notices: Vec<String>,
    /// Facts about the user at the start, for the greeting.
    pub known: GreetingFacts,
    /// The handle of the event loop.
    pub assistant: AssistantHandle,
    model: Arc<dyn Model>,
    renewed: Arc<Notify>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Application {
    /// Opens the data directory and starts everything.
    pub async fn open(settings: &Settings, disk: Arc<dyn Disk>, doors: Mode) -> Result<Self, CommandError> {
        let clock = Arc::new(SystemClock::new(settings.zone.value.clone()));
        Self::open_with_clock(clock, settings, Vec::new(), disk, doors).await
    }

    /// Starts the daemon in full mode. `repairs` holds notices of repairs made before.
    pub async fn start(
        settings: &Settings,
        disk: Arc<dyn Disk>,
        repairs: Vec<String>,
    ) -> Result<Self, CommandError> {
        let clock = Arc::new(SystemClock::new(settings.zone.value.clone()));
        Self::open_with_clock(clock, settings, repairs, disk, Mode::Full).await
    }

    /// Opens it with the given clock.
    pub async fn open_with_clock(
        clock: Arc<dyn Clock>,
        settings: &Settings,
        repairs: Vec<String>,
        disk: Arc<dyn Disk>,
        doors: Mode,
    ) -> Result<Self, CommandError> {
        model::check(settings)?;
        let now = clock.now().timestamp();
        let OpenedJournal { journal, state: mut memory, mut notices } = startup::open(settings, &disk, now)?;
        let journal = Arc::new(journal);
        let stage = Arc::new(EventHub::default());
        let around =
            ModelDependencies { journal: journal.clone(), surface: stage.clone(), now, clock: clock.clone() };
        let BuiltModel { model, search, notice } = model::build(settings, around).await?;
        notices.extend(settings.spend.price_file_problem.clone());
        notices.extend(repairs.into_iter().chain(startup::startup_notices(settings, doors)).chain(notice));
        let ((desk, pile), errands) = RequestChannels::create(settings);
        let names = settings.names_with(memory.choices.settings.name.as_deref()).value;
        let world = Services {
            model: Arc::clone(&model),
            tools: Arc::new(Toolbox::new(tool_env::build(settings, &journal, &disk, search, &mut notices))),
            journal: journal.clone(),
            surface: stage.clone(),
            instructions: instructions_with_skills(
                &Names { user: USER_PLACEHOLDER.to_owned(), ..names.clone() },
                &accepted_skills(&journal).await,
            ),
            retry_limits: settings.model_policy.retries,
            limits: settings.spend.turn,
            call_slots: Arc::new(CallSlots::new(model.max_concurrent_calls())),
        };
        let purse = startup::budget(settings, &journal, clock.now()).await?;
        let bundle = startup::bundle(&names, doors);
        memory.choices.agents = startup::subagents(&journal, &bundle).await;
        let choices = startup::choices(settings, model.name(), &mut memory, &mut notices);
        let known = GreetingFacts::of(&memory, &choices);
        let dice = Rng::new(startup::random_seed()?);
        let assistant =
            Assistant::new(memory, world.tools.tools(), settings.model_policy.context_window, dice);
        let assistant =
            startup::configure_reach(assistant.with_budget(purse).with_models(choices), settings, doors);
        let engine = Engine::new(assistant, world, clock.clone(), (desk.clone(), pile));
        let mut house = Self {
            client: Client::new(&settings.paths.state(), SOCKET),
            page_link: None,
            notices,
            known,
            model: Arc::clone(&model),
            assistant: desk.clone(),
            renewed: Arc::default(),
            stop: CancellationToken::new(),
            tasks: JoinSet::new(),
        };
        house.tasks.spawn(engine.run(house.stop.clone()));
        // Interrupted work continues before the endpoints accept anything new.
        if doors != Mode::Passive {
            desk.send_event(Event::Started).await;
        }
        periodic::apply_state_file_edits(&journal, &desk, true, now).await;
        if doors != Mode::Passive {
            house.spawn(periodic::watch_state_files(journal.clone(), desk.clone(), clock.clone()));
        }
        house.watch_job_files(settings, &journal, &disk, &desk, &clock).await?;
        let ports = EndpointDependencies {
            assistant: desk.clone(),
            journal: journal.clone(),
            hub: stage.clone(),
            clock: clock.clone(),
            disk,
            model: model.name().to_owned(),
            discord: None,
        };
        house.start_update_handler(settings, doors, &ports, errands);
        startup::save_last_good_settings(settings, &*ports.disk, doors);
        house.open_endpoints(settings, ports, doors).await?;
        startup::publish_notices(&house.notices, &stage, &desk, &journal, settings, doors).await;
        house.spawn(periodic::checkpoint_when_idle(journal.clone()));
        let chores = periodic::back_up_daily(journal.clone(), clock, stage);
        house.spawn(periodic::run_after_placing(bundle, ToolListCheck::new(settings), journal, chores));
        Ok(house)
    }

    /// Reports all job files to the assistant, and watches them for changes.
    async fn watch_job_files(
        &mut self,
        settings: &Settings,
        journal: &Arc<Journal>,
        disk: &Arc<dyn Disk>,
        desk: &AssistantHandle,
        clock: &Arc<dyn Clock>,
    ) -> Result<(), CommandError> {
        let book = JobFileScanner::open(Arc::clone(disk), &settings.paths, settings.zone.value.clone());
        let mut book = book.with_stored_notices();
        let now = clock.now().timestamp();
        let news = consent::initial_scan(&mut book, settings, journal, disk, now).await?;
        desk.send_event(Event::FilesChanged(news, FileScan::First)).await;
        let watched = jobs::watch(book, Arc::clone(clock), jobs::SCAN_INTERVAL);
        let (news, watch) = watched
            .map_err(|error| CommandError::Failed(format!("the job files cannot be followed: {error}")))?;
        self.spawn(periodic::watch_job_files(news, watch, desk.clone()));
        Ok(())
    }

    /// Handles update and restart requests in full mode, and links the skills for other programs.
    fn start_update_handler(
        &mut self,
        settings: &Settings,
        doors: Mode,
        wiring: &EndpointDependencies,
        errands: RequestChannels,
    ) {
        if doors != Mode::Full {
            return;
        }
        startup::link_skills(settings.paths.root());
        let around = (wiring.journal.clone() as Arc<dyn Outbox>, wiring.clock.clone());
        let signer = ClaudeSignIn::new(settings, wiring.assistant.clone(), around);
        if let (Some(signer), Some(sign_ins)) = (signer, errands.sign_ins) {
            self.spawn(claude_sign_in::run(signer, sign_ins));
        }
        let attendant = UpdateHandler {
            assistant: wiring.assistant.clone(),
            settings: settings.clone(),
            disk: wiring.disk.clone(),
            clock: wiring.clock.clone(),
            restart_requested: Arc::clone(&self.renewed),
        };
        self.spawn(run_update_handler(attendant, errands.updates));
    }

    /// Waits until the process should start again.
    pub fn renewed(&self) -> impl Future<Output = ()> + use<> {
        let renewed = Arc::clone(&self.renewed);
        async move { renewed.notified().await }
    }

    /// Connects to Discord, if there is a token.
    fn connect_discord(
        &mut self,
        settings: &Settings,
        doors: Mode,
        wiring: &EndpointDependencies,
    ) -> Result<Option<connection_status::StatusReceiver>, CommandError> {
        let (token, base) = match &settings.integrations.discord {
            _ if doors != Mode::Full => return Ok(None),
            Discord::Off => return Ok(None),
            Discord::Invalid(why) => {
                self.notices.push(why.clone());
                return Ok(Some(
                    connection_status::StatusSender::new(ConnectionStatus::Failed(why.clone())).subscribe(),
                ));
            }
            Discord::On { token, base } => (token.clone(), base),
        };
        let wire = NetworkTransport::new(base, &token)
            .map_err(|wrong| CommandError::Configuration(wrong.to_string()))?;
        let line = connection_status::StatusSender::new(ConnectionStatus::Connecting);
        let read = line.subscribe();
        let ports = dm::DiscordPorts {
            assistant: wiring.assistant.clone(),
            journal: wiring.journal.clone(),
            archive: wiring.journal.clone(),
            outbox: wiring.journal.clone(),
            event_hub: wiring.hub.clone(),
            clock: wiring.clock.clone(),
            google: crate::google::connector(settings, wiring.disk.clone(), &wiring.clock),
            status: line,
        };
        let seed = startup::random_seed()?;
        self.tasks.spawn(dm::serve(Arc::new(wire), token, ports, seed, self.stop.clone()));
        Ok(Some(read))
    }

    /// Spawns a task that is cancelled at shutdown.
    fn spawn(&mut self, chores: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move { stop.run_until_cancelled(chores).await.unwrap_or_default() });
    }

    /// Reports readiness to the service manager, and starts the watchdog if it wants one.
    pub fn start_watchdog(&mut self, settings: &Settings) -> Option<Watchdog> {
        let notifier = settings.integrations.service.notifier.clone()?;
        notifier.ready();
        let watched = notifier.watched()?;
        let (pulse, beating) = watchdog::heartbeat_task(self.assistant.clone());
        self.spawn(beating);
        Some(Watchdog::start(notifier, watched, pulse, &settings.paths.state()))
    }

    /// H3: Asks all tasks to end and waits for a limited time. Open work is on disk and continues
    /// at the next start.
    pub async fn close(mut self) {
        self.stop.cancel();
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await.is_err() {
            tracing::warn!("Something did not end when it was asked to, and is left.");
            self.tasks.abort_all();
        }
        if tokio::time::timeout(MODEL_SHUTDOWN_TIMEOUT, self.model.close()).await.is_err() {
            tracing::warn!("The model did not end when it was asked to, and is left.");
        }
    }

    /// Waits until a task ends unexpectedly.
    pub async fn task_ended(&mut self) {
        self.tasks.join_next().await;
    }

    async fn open_endpoints(
        &mut self,
        settings: &Settings,
        wiring: EndpointDependencies,
        doors: Mode,
    ) -> Result<(), CommandError> {
        let wiring =
            EndpointDependencies { discord: self.connect_discord(settings, doors, &wiring)?, ..wiring };
        if let (Some(address), Mode::Full) = (&settings.integrations.telemetry.export_to, doors) {
            self.spawn(telemetry::export(address.clone(), wiring.journal.clone(), wiring.clock.clone()));
        }
        let port = match doors {
            Mode::Full => match bind(settings.integrations.page).await {
                Ok(port) => Some(port),
                Err(refused @ BindError::NotLoopback(_)) => {
                    return Err(CommandError::Configuration(refused.to_string()));
                }
                // Everything else works without the page.
                Err(unbound @ (BindError::InUse(_) | BindError::Denied(..))) => {
                    self.notices.push(format!("The page is off, and everything else works: {unbound}"));
                    None
                }
            },
            Mode::Passive | Mode::Local => None,
        };
        if doors == Mode::Full {
            self.notices.extend(update::startup_notice(&*wiring.disk, &settings.paths));
        }
        let page = port.as_ref().map(|port| port.page_url()).unwrap_or_default();
        let around = (wiring.assistant.clone(), wiring.disk.clone(), wiring.clock.clone());
        let tasks = (&mut self.tasks, &self.stop);
        let hooks = webhooks::serve((settings, doors), around, &mut self.notices, tasks).await;
        let token = telemetry::metrics_token(settings, &wiring.disk, &mut self.notices);
        let app = wiring.web_app(settings, page.clone(), hooks, token, self.notices.clone()).await?;
        let file = bind_file(&settings.paths.state(), SOCKET)?;
        self.tasks.spawn(serve_unix(file, app.clone(), self.stop.clone()));
        if let Some(port) = port {
            let link =
                app.pairing().create_link(&page).map_err(|error| CommandError::Failed(error.to_string()))?;
            self.page_link = Some(link);
            self.tasks.spawn(serve_tcp(port, app, self.stop.clone()));
        }
        Ok(())
    }
}

/// Requests about the program itself: restart, update and sign-in.
struct RequestChannels {
    updates: mpsc::Receiver<UpdateRequest>,
    sign_ins: Option<mpsc::Receiver<SignInRequest>>,
}

impl RequestChannels {
    /// Creates the event loop's handle and queue together with these channels.
    fn create(settings: &Settings) -> ((AssistantHandle, mpsc::Receiver<Input>), Self) {
        let (desk, pile) = AssistantHandle::new();
        let (desk, renewals) = desk.with_update_requests();
        let (desk, sign_ins) = claude_sign_in::with_sign_in_channel(desk, settings);
        ((desk, pile), Self { updates: renewals, sign_ins })
    }
}

/// Dependencies of the endpoints.
struct EndpointDependencies {
    assistant: AssistantHandle,
    journal: Arc<Journal>,
    hub: Arc<EventHub>,
    clock: Arc<dyn Clock>,
    disk: Arc<dyn Disk>,
    model: String,
    discord: Option<connection_status::StatusReceiver>,
}

impl EndpointDependencies {
    async fn web_app(
        self,
        settings: &Settings,
        page: String,
        hooks: Option<SocketAddr>,
        token: Option<Digest>,
        notices: Vec<String>,
    ) -> Result<App, CommandError> {
        let discord = self.discord.as_ref().map(|_| "discord".to_owned());
        let hooks = hooks.map(|address| format!("webhooks http://{address}/hook/"));
        let surfaces =
            ["terminal", "page"].map(str::to_owned).into_iter().chain(discord).chain(hooks).collect();
        let fixed = Health {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            model: self.model,
            zone: settings.zone.value.iana_name().unwrap_or("UTC").to_owned(),
            data_dir: settings.paths.root().display().to_string(),
            page,
            surfaces,
            discord: None,
            session: None,
            notices,
        };
        let root = settings.paths.root().to_owned();
        let zone = settings.zone.value.clone();
        let devices = JournalDeviceStore::load(self.journal.clone()).await;
        let calendar = backends::calendar(settings, Arc::clone(&self.disk), &self.clock);
        let ports = WebPorts {
            assistant: self.assistant.clone(),
            journal: self.journal.clone(),
            archive: self.journal.clone(),
            history: self.journal.clone(),
            event_hub: self.hub,
            health_source: Arc::new(DaemonHealth {
                fixed,
                discord: self.discord,
                journal: self.journal,
                began: self.clock.since_boot(),
                clock: self.clock.clone(),
                assistant: self.assistant.clone(),
                token,
            }),
            devices: Arc::new(devices.map_err(|error| CommandError::Failed(error.to_string()))?),
            calendar: Arc::new(Appointments(calendar)),
            job_files: Arc::new(JobFileStore { disk: self.disk, root, zone }),
            clock: self.clock,
        };
        Ok(App::new(ports, WebLimits::DEFAULT))
    }
}
