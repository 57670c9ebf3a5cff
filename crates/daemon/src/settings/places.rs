//! Settings of surfaces and external services: page, Discord, terminal, accounts, search, webhooks,
//! service manager.

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

/// Settings of surfaces and external services.
#[derive(Clone, Debug)]
pub struct Places {
    /// The listen address of the page.
    pub page: SocketAddr,
    pub discord: Discord,
    /// The capabilities of the terminal.
    pub terminal: Terminal,
    pub accounts: Accounts,
    pub search: Search,
    /// The value of `PATH`.
    pub programs: Option<String>,
    /// The source of program updates.
    pub upgrade: Upgrade,
    /// The listener for webhooks.
    pub webhooks: Webhooks,
    /// The systemd service.
    pub service: Service,
    /// Export of metrics.
    pub telemetry: Telemetry,
}

/// Settings of the systemd service.
#[derive(Clone, Debug)]
pub struct Service {
    /// The directory of the user's units, if it is known.
    pub units: Option<PathBuf>,
    /// Environment variables that the unit sets.
    pub surroundings: Vec<(&'static str, String)>,
    /// The service manager that started this process, if any.
    pub notifier: Option<Notifier>,
}

/// Variables that the unit copies from the installing shell: `PATH`, proxies and certificates.
/// Child processes need them from the start, so they cannot come from the stored environment.
pub const SURROUNDINGS: [&str; 7] = [
    "PATH",
    "CLAUDE_CONFIG_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
];

/// The capabilities of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// Can only print lines.
    Dumb,
    /// Can move the cursor and draw in this style.
    Able(Look),
}

/// The Discord account.
#[derive(Clone, Debug)]
pub enum Discord {
    Off,
    On {
        token: Token,
        /// The address of the API.
        base: String,
    },
    /// The configuration is invalid; everything else still works.
    Wrong(String),
}

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

/// Returns `environment` without the variables that [`read`] may reject.
pub fn undoubted(environment: &Environment) -> Environment {
    let doubted = ["OLLIM_HTTP", "OLLIM_SEARCH", "OLLIM_SEARCH_URL", "OLLIM_METRICS", "OLLIM_OTLP_URL"];
    doubted.into_iter().fold(environment.clone(), |environment, name| environment.without(name))
}

impl Service {
    pub fn read(environment: &Environment) -> Self {
        let said = |name| Some((name, environment.said(name)?.to_owned()));
        // A value with a line break cannot be written to a unit.
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
