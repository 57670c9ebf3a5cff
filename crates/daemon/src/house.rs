//! The application: opens the data directory and wires all components together.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use domain::assistant::{Assistant, Event, Look};
use domain::context::{HUMAN, Names, instructions_with_skills};
use domain::dice::Dice;
use engine::desk::{Desk, Errand, Letter, SigningIn};
use engine::drive::World;
use engine::places::Places;
use engine::ports::{Clock, Model, Outbox};
use engine::run::House as Engine;
use journal::disk::Disk;
use journal::jobs::{self, JobBook};
use journal::{Journal, Opened};
use surfaces::client::Client;
use surfaces::discord::dm;
use surfaces::discord::dm::line::{self, Line};
use surfaces::discord::wire::net::Net;
use surfaces::stage::Stage;
use surfaces::web::door::{Unbound, bind, bind_file, serve_tcp, serve_unix};
use surfaces::web::secret::Digest;
use surfaces::web::vitals::Health;
use surfaces::web::{App, Limits, Ports};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tools::Toolbox;

use crate::accepting;
use crate::appointments::Appointments;
use crate::beginning;
use crate::brain::{self, Built, Surroundings};
use crate::chores;
use crate::clock::SystemClock;
use crate::commands::accounts::keepers;
use crate::exit::Failed;
use crate::heart::{self, Watch};
use crate::hooks;
use crate::job_files::Shelf;
use crate::known::Known;
use crate::pairing::KeptDevices;
use crate::settings::{Discord, Settings};
use crate::signing_in::{self, Signer};
use crate::skills::accepted_skills;
use crate::telemetry;
use crate::tool_lists::Check;
use crate::updating::{self, Attendant, attend};
use crate::vitals::Pulse;
use crate::workshop;

/// Time limits of a shutdown: for all tasks, and then for the model.
const ENDING: Duration = Duration::from_secs(6);
const ENDING_MODEL: Duration = Duration::from_secs(2);

/// The control socket in the `state` directory.
pub const SOCKET: &str = "control.sock";

/// Which endpoints are open, and whether the assistant acts on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doors {
    /// Only the control socket, and no activity of its own: enough to plan or look up something.
    Asked,
    /// Only the control socket: enough for one question.
    Local,
    /// Also the page, Discord and webhooks.
    LocalAndPage,
}

/// The assistant and its services, running in this process.
pub struct House {
    /// A client of the control socket.
    pub client: Client,
    /// A one-time link that opens the page, if the page is served.
    pub link: Option<String>,
    /// Notices for the user.
    pub notices: Vec<String>,
    /// Facts about the user at the start, for the greeting.
    pub known: Known,
    /// The handle of the event loop.
    pub desk: Desk,
    model: Arc<dyn Model>,
    renewed: Arc<Notify>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl House {
    /// Opens the data directory and starts everything.
    pub async fn open(settings: &Settings, disk: Arc<dyn Disk>, doors: Doors) -> Result<Self, Failed> {
        let clock = Arc::new(SystemClock::new(settings.zone.value.clone()));
        Self::open_by(clock, settings, Vec::new(), disk, doors).await
    }

    /// Starts the daemon in full mode. `repairs` holds notices of repairs made before.
    pub async fn start(
        settings: &Settings,
        disk: Arc<dyn Disk>,
        mended: Vec<String>,
    ) -> Result<Self, Failed> {
        let clock = Arc::new(SystemClock::new(settings.zone.value.clone()));
        Self::open_by(clock, settings, mended, disk, Doors::LocalAndPage).await
    }

    /// Opens it with the given clock.
    pub async fn open_by(
        clock: Arc<dyn Clock>,
        settings: &Settings,
        mended: Vec<String>,
        disk: Arc<dyn Disk>,
        doors: Doors,
    ) -> Result<Self, Failed> {
        brain::check(settings)?;
        let now = clock.now().timestamp();
        let Opened { journal, mut memory, mut notices } = beginning::open(settings, &disk, now)?;
        let journal = Arc::new(journal);
        let stage = Arc::new(Stage::default());
        let around =
            Surroundings { journal: journal.clone(), surface: stage.clone(), now, clock: clock.clone() };
        let Built { model, search, notice } = brain::brain(settings, around).await?;
        notices.extend(settings.spend.price_file_problem.clone());
        notices.extend(mended.into_iter().chain(beginning::found_at_start(settings, doors)).chain(notice));
        let ((desk, pile), errands) = Errands::with_a_desk(settings);
        let names = settings.names_with(memory.chosen.settings.name.as_deref()).value;
        let world = World {
            model: Arc::clone(&model),
            hands: Arc::new(Toolbox::new(workshop::workshop(
                settings,
                &journal,
                &disk,
                search,
                &mut notices,
            ))),
            journal: journal.clone(),
            surface: stage.clone(),
            instructions: instructions_with_skills(
                &Names { human: HUMAN.to_owned(), ..names.clone() },
                &accepted_skills(&journal).await,
            ),
            patience: settings.manners.patience,
            limits: settings.spend.turn,
            calls: Arc::new(Places::new(model.most_calls())),
        };
        let purse = beginning::purse(settings, &journal, clock.now()).await?;
        let bundle = beginning::bundle(&names, doors);
        memory.chosen.agents = beginning::subagents(&journal, &bundle).await;
        let choices = beginning::choices(settings, model.name(), &mut memory, &mut notices);
        let known = Known::of(&memory, &choices);
        let dice = Dice::new(beginning::seed()?);
        let assistant = Assistant::new(memory, world.hands.tools(), settings.manners.room, dice);
        let assistant = beginning::reaching(assistant.minding(purse).choosing_from(choices), settings, doors);
        let engine = Engine::new(assistant, world, clock.clone(), (desk.clone(), pile));
        let mut house = Self {
            client: Client::new(&settings.paths.state(), SOCKET),
            link: None,
            notices,
            known,
            model: Arc::clone(&model),
            desk: desk.clone(),
            renewed: Arc::default(),
            stop: CancellationToken::new(),
            tasks: JoinSet::new(),
        };
        house.tasks.spawn(engine.run(house.stop.clone()));
        // Interrupted work continues before the endpoints accept anything new.
        if doors != Doors::Asked {
            desk.tell(Event::Started).await;
        }
        chores::take_state_files(&journal, &desk, true, now).await;
        if doors != Doors::Asked {
            house.spawn(chores::follow_state_files(journal.clone(), desk.clone(), clock.clone()));
        }
        house.follow_jobs(settings, &journal, &disk, &desk, &clock).await?;
        let ports = Wiring {
            desk: desk.clone(),
            journal: journal.clone(),
            stage: stage.clone(),
            clock: clock.clone(),
            disk,
            brain: model.name().to_owned(),
            discord: None,
        };
        house.attend(settings, doors, &ports, errands);
        beginning::keep_settings(settings, &*ports.disk, doors);
        house.open_doors(settings, ports, doors).await?;
        beginning::hand_over(&house.notices, &stage, &desk, &journal, settings, doors).await;
        house.spawn(chores::fold_when_idle(journal.clone()));
        let chores = chores::back_up_daily(journal.clone(), clock, stage);
        house.spawn(chores::once_placed(bundle, Check::new(settings), journal, chores));
        Ok(house)
    }

    /// Reports all job files to the assistant, and watches them for changes.
    async fn follow_jobs(
        &mut self,
        settings: &Settings,
        journal: &Arc<Journal>,
        disk: &Arc<dyn Disk>,
        desk: &Desk,
        clock: &Arc<dyn Clock>,
    ) -> Result<(), Failed> {
        let book = JobBook::open(Arc::clone(disk), &settings.paths, settings.zone.value.clone());
        let mut book = book.remembering();
        let now = clock.now().timestamp();
        let news = accepting::first_look(&mut book, settings, journal, disk, now).await?;
        desk.tell(Event::Files(news, Look::First)).await;
        let watched = jobs::watch(book, Arc::clone(clock), jobs::LOOKS_EVERY);
        let (news, watch) =
            watched.map_err(|error| Failed::NotDone(format!("the job files cannot be followed: {error}")))?;
        self.spawn(chores::follow(news, watch, desk.clone()));
        Ok(())
    }

    /// Handles update and restart requests in full mode, and links the skills for other programs.
    fn attend(&mut self, settings: &Settings, doors: Doors, wiring: &Wiring, errands: Errands) {
        if doors != Doors::LocalAndPage {
            return;
        }
        beginning::link_skills(settings.paths.root());
        let around = (wiring.journal.clone() as Arc<dyn Outbox>, wiring.clock.clone());
        let signer = Signer::new(settings, wiring.desk.clone(), around);
        if let (Some(signer), Some(sign_ins)) = (signer, errands.sign_ins) {
            self.spawn(signing_in::attend(signer, sign_ins));
        }
        let attendant = Attendant {
            desk: wiring.desk.clone(),
            settings: settings.clone(),
            disk: wiring.disk.clone(),
            clock: wiring.clock.clone(),
            renewed: Arc::clone(&self.renewed),
        };
        self.spawn(attend(attendant, errands.renewals));
    }

    /// Waits until the process should start again.
    pub fn renewed(&self) -> impl Future<Output = ()> + use<> {
        let renewed = Arc::clone(&self.renewed);
        async move { renewed.notified().await }
    }

    /// Connects to Discord, if there is a token.
    fn enter_discord(
        &mut self,
        settings: &Settings,
        doors: Doors,
        wiring: &Wiring,
    ) -> Result<Option<line::Read>, Failed> {
        let (token, base) = match &settings.places.discord {
            _ if doors != Doors::LocalAndPage => return Ok(None),
            Discord::Off => return Ok(None),
            Discord::Wrong(why) => {
                self.notices.push(why.clone());
                return Ok(Some(line::Told::new(Line::Left(why.clone())).subscribe()));
            }
            Discord::On { token, base } => (token.clone(), base),
        };
        let wire = Net::new(base, &token).map_err(|wrong| Failed::Configuration(wrong.to_string()))?;
        let line = line::Told::new(Line::Connecting);
        let read = line.subscribe();
        let ports = dm::Ports {
            desk: wiring.desk.clone(),
            journal: wiring.journal.clone(),
            archive: wiring.journal.clone(),
            outbox: wiring.journal.clone(),
            stage: wiring.stage.clone(),
            clock: wiring.clock.clone(),
            google: crate::google::connector(settings, wiring.disk.clone(), &wiring.clock),
            line,
        };
        let seed = beginning::seed()?;
        self.tasks.spawn(dm::live(Arc::new(wire), token, ports, seed, self.stop.clone()));
        Ok(Some(read))
    }

    /// Spawns a task that is cancelled at shutdown.
    fn spawn(&mut self, chores: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move { stop.run_until_cancelled(chores).await.unwrap_or_default() });
    }

    /// Reports readiness to the service manager, and starts the watchdog if it wants one.
    pub fn watched_over(&mut self, settings: &Settings) -> Option<Watch> {
        let notifier = settings.places.service.notifier.clone()?;
        notifier.ready();
        let watched = notifier.watched()?;
        let (pulse, beating) = heart::heartbeat(self.desk.clone());
        self.spawn(beating);
        Some(Watch::begin(notifier, watched, pulse, &settings.paths.state()))
    }

    /// H3: Asks all tasks to end and waits for a limited time. Open work is on disk and continues
    /// at the next start.
    pub async fn close(mut self) {
        self.stop.cancel();
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(ENDING, ended).await.is_err() {
            tracing::warn!("Something did not end when it was asked to, and is left.");
            self.tasks.abort_all();
        }
        if tokio::time::timeout(ENDING_MODEL, self.model.close()).await.is_err() {
            tracing::warn!("The model did not end when it was asked to, and is left.");
        }
    }

    /// Waits until a task ends unexpectedly.
    pub async fn fell(&mut self) {
        self.tasks.join_next().await;
    }

    async fn open_doors(&mut self, settings: &Settings, wiring: Wiring, doors: Doors) -> Result<(), Failed> {
        let wiring = Wiring { discord: self.enter_discord(settings, doors, &wiring)?, ..wiring };
        if let (Some(address), Doors::LocalAndPage) = (&settings.places.telemetry.sent_to, doors) {
            self.spawn(telemetry::export(address.clone(), wiring.journal.clone(), wiring.clock.clone()));
        }
        let port = match doors {
            Doors::LocalAndPage => match bind(settings.places.page).await {
                Ok(port) => Some(port),
                Err(refused @ Unbound::NotLoopback(_)) => {
                    return Err(Failed::Configuration(refused.to_string()));
                }
                // Everything else works without the page.
                Err(unbound @ (Unbound::Taken(_) | Unbound::Denied(..))) => {
                    self.notices.push(format!("The page is off, and everything else works: {unbound}"));
                    None
                }
            },
            Doors::Asked | Doors::Local => None,
        };
        if doors == Doors::LocalAndPage {
            self.notices.extend(updating::told(&*wiring.disk, &settings.paths));
        }
        let page = port.as_ref().map(|port| port.page()).unwrap_or_default();
        let around = (wiring.desk.clone(), wiring.disk.clone(), wiring.clock.clone());
        let tasks = (&mut self.tasks, &self.stop);
        let hooks = hooks::serve((settings, doors), around, &mut self.notices, tasks).await;
        let token = telemetry::token_if_served(settings, &wiring.disk, &mut self.notices);
        let app = wiring.app(settings, page.clone(), hooks, token, self.notices.clone()).await?;
        let file = bind_file(&settings.paths.state(), SOCKET)?;
        self.tasks.spawn(serve_unix(file, app.clone(), self.stop.clone()));
        if let Some(port) = port {
            let link = app.pairing().link(&page).map_err(|error| Failed::NotDone(error.to_string()))?;
            self.link = Some(link);
            self.tasks.spawn(serve_tcp(port, app, self.stop.clone()));
        }
        Ok(())
    }
}

/// Requests about the program itself: restart, update and sign-in.
struct Errands {
    renewals: mpsc::Receiver<Errand>,
    sign_ins: Option<mpsc::Receiver<SigningIn>>,
}

impl Errands {
    /// Creates the event loop's handle and queue together with these channels.
    fn with_a_desk(settings: &Settings) -> ((Desk, mpsc::Receiver<Letter>), Self) {
        let (desk, pile) = Desk::new();
        let (desk, renewals) = desk.with_errands();
        let (desk, sign_ins) = signing_in::offered(desk, settings);
        ((desk, pile), Self { renewals, sign_ins })
    }
}

/// Dependencies of the endpoints.
struct Wiring {
    desk: Desk,
    journal: Arc<Journal>,
    stage: Arc<Stage>,
    clock: Arc<dyn Clock>,
    disk: Arc<dyn Disk>,
    brain: String,
    discord: Option<line::Read>,
}

impl Wiring {
    async fn app(
        self,
        settings: &Settings,
        page: String,
        hooks: Option<SocketAddr>,
        token: Option<Digest>,
        notices: Vec<String>,
    ) -> Result<App, Failed> {
        let discord = self.discord.as_ref().map(|_| "discord".to_owned());
        let hooks = hooks.map(|address| format!("webhooks http://{address}/hook/"));
        let surfaces =
            ["terminal", "page"].map(str::to_owned).into_iter().chain(discord).chain(hooks).collect();
        let fixed = Health {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            brain: self.brain,
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
        let devices = KeptDevices::load(self.journal.clone()).await;
        let calendar = keepers::calendar(settings, Arc::clone(&self.disk), &self.clock);
        let ports = Ports {
            desk: self.desk.clone(),
            journal: self.journal.clone(),
            archive: self.journal.clone(),
            history: self.journal.clone(),
            stage: self.stage,
            vitals: Arc::new(Pulse {
                fixed,
                discord: self.discord,
                journal: self.journal,
                began: self.clock.boot(),
                clock: self.clock.clone(),
                desk: self.desk.clone(),
                token,
            }),
            devices: Arc::new(devices.map_err(|error| Failed::NotDone(error.to_string()))?),
            calendar: Arc::new(Appointments(calendar)),
            job_files: Arc::new(Shelf { disk: self.disk, root, zone }),
            clock: self.clock,
        };
        Ok(App::new(ports, Limits::HOUSE))
    }
}
