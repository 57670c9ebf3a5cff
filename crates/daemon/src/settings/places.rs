//! Where the human can be: the address of the page, Discord if there is a token; and who keeps their tasks and
//! calendar.

use std::net::SocketAddr;
use std::path::PathBuf;

use journal::Paths;
use surfaces::discord::Token;
use surfaces::discord::wire::net::{DISCORD, Net};
use surfaces::terminal::screen::Look;

use super::Environment;
use super::accounts::{self, Accounts};
use super::file::File;
use super::key;
use super::upgrade::{self, Upgrade};
use super::web::{self, Search};
use super::webhooks::{self, Webhooks};
use crate::exit::Failed;
use crate::notify::Notifier;
use crate::telemetry::Telemetry;

/// Where the human can be, and what they keep elsewhere.
#[derive(Clone, Debug)]
pub struct Places {
    /// Where the page listens.
    pub page: SocketAddr,
    /// The direct messages of Discord.
    pub discord: Discord,
    /// The terminal before us.
    pub terminal: Terminal,
    /// The tasks and the calendar.
    pub accounts: Accounts,
    /// The way to search the web.
    pub search: Search,
    /// Where programs are found, if that is known.
    pub programs: Option<String>,
    /// Where a newer program comes from.
    pub upgrade: Upgrade,
    /// Whether other programs can call.
    pub webhooks: Webhooks,
    /// The service that we are or could be.
    pub service: Service,
    /// Who watches from outside.
    pub telemetry: Telemetry,
}

/// What a service manager and we know of each other.
#[derive(Clone, Debug)]
pub struct Service {
    /// Where the human's services are described, if that is known.
    pub units: Option<PathBuf>,
    /// What a service is told of this shell.
    pub surroundings: Vec<(&'static str, String)>,
    /// Who started us and wants to hear how we are.
    pub notifier: Option<Notifier>,
}

/// What a service is told of the shell that installs it: where programs are, and the way out of this machine. The
/// programs that we start need it from the first moment, so it cannot be kept with everything else.
pub const SURROUNDINGS: [&str; 7] = [
    "PATH",
    "CLAUDE_CONFIG_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
];

/// What the terminal before us can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// Write lines.
    Dumb,
    /// Write anywhere, and words may look so.
    Able(Look),
}

/// The direct messages of Discord.
#[derive(Clone, Debug)]
pub enum Discord {
    /// There is no token.
    Off,
    /// Our account there.
    On {
        /// Who we are.
        token: Token,
        /// The way to Discord.
        base: String,
    },
    /// What was said about it cannot work. Everything else goes on.
    Wrong(String),
}

/// Reads all of them.
pub fn read(environment: &Environment, file: &File, paths: &Paths) -> Result<Places, Failed> {
    let page = environment.get("OLLIM_HTTP").unwrap_or(&file.page.address);
    let page = page.parse().map_err(|_| {
        Failed::Configuration(format!(
            "OLLIM_HTTP: `{page}` is not an address. write it like 127.0.0.1:7645."
        ))
    })?;
    let accounts = accounts::read(environment, paths);
    let search = web::read(environment, file, paths)?;
    let discord = discord(environment, paths);
    let terminal = terminal(environment);
    let programs = environment.get("PATH").map(str::to_owned);
    let upgrade = upgrade::read(file);
    let webhooks = webhooks::read(environment, &file.webhooks.address_header, paths);
    let service = Service::read(environment);
    let telemetry = Telemetry::read(environment)?;
    Ok(Places { page, discord, terminal, accounts, search, programs, upgrade, webhooks, service, telemetry })
}

/// `environment` without all that can be refused here.
pub fn undoubted(environment: &Environment) -> Environment {
    let doubted = ["OLLIM_HTTP", "OLLIM_SEARCH", "OLLIM_SEARCH_URL", "OLLIM_METRICS", "OLLIM_OTLP_URL"];
    doubted.into_iter().fold(environment.clone(), |environment, name| environment.without(name))
}

impl Service {
    /// What `environment` says of it.
    pub fn read(environment: &Environment) -> Self {
        let said = |name| Some((name, environment.said(name)?.to_owned()));
        // A line of a unit is a line.
        let surroundings = SURROUNDINGS.into_iter().filter_map(said);
        let surroundings = surroundings.filter(|(_, value)| !value.contains(char::is_control)).collect();
        Self { units: units(environment), surroundings, notifier: Notifier::read(environment) }
    }
}

fn units(environment: &Environment) -> Option<PathBuf> {
    let set = environment.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|place| place.is_absolute());
    let place = set.or_else(|| Some(PathBuf::from(environment.get("HOME")?).join(".config")));
    place.map(|place| place.join("systemd/user"))
}

fn terminal(environment: &Environment) -> Terminal {
    match (environment.get("TERM"), environment.get("NO_COLOR")) {
        (None | Some("dumb"), _) => Terminal::Dumb,
        (Some(_), None) => Terminal::Able(Look::Shaded),
        (Some(_), Some(_)) => Terminal::Able(Look::Plain),
    }
}

fn discord(environment: &Environment, paths: &Paths) -> Discord {
    let token = match key::source(environment, paths, key::DISCORD) {
        Ok(Some(token)) => token(),
        Ok(None) => return Discord::Off,
        Err(wrong) => return Discord::Wrong(wrong.to_string()),
    };
    let base = environment.get("DISCORD_API_BASE").unwrap_or(DISCORD).to_owned();
    match Token::read(&token) {
        Ok(token) => match Net::new(&base, &token) {
            Ok(_) => Discord::On { token, base },
            Err(wrong) => Discord::Wrong(format!("discord: {wrong}.")),
        },
        Err(wrong) => Discord::Wrong(format!("DISCORD_TOKEN: {wrong}.")),
    }
}
