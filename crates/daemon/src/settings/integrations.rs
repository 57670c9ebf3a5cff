//! Settings of surfaces and external services: page, Discord, terminal, accounts, search, webhooks,
//! service manager.

use std::net::SocketAddr;
use std::path::PathBuf;

use journal::Paths;
use surfaces::discord::Token;
use surfaces::discord::transport::net::{API_BASE, NetworkTransport};
use surfaces::terminal::screen::TextStyle;

use super::Environment;
use super::accounts::{self, Accounts};
use super::file::SettingsFile;
use super::secrets;
use super::upgrade::{self, Upgrade};
use super::web::{self, SearchSettings};
use super::webhooks::{self, WebhookSettings};
use crate::exit::CommandError;
use crate::notify::Notifier;
use crate::telemetry::TelemetrySettings;

/// Settings of surfaces and external services.
#[derive(Clone, Debug)]
pub struct Integrations {
    /// The listen address of the page.
    pub page: SocketAddr,
    pub discord: Discord,
    /// The capabilities of the terminal.
    pub terminal: Terminal,
    pub accounts: Accounts,
    pub search: SearchSettings,
    /// The value of `PATH`.
    pub program_path: Option<String>,
    /// The source of program updates.
    pub upgrade: Upgrade,
    /// The listener for webhooks.
    pub webhooks: WebhookSettings,
    /// The systemd service.
    pub service: ServiceSettings,
    /// Export of metrics.
    pub telemetry: TelemetrySettings,
}

/// Settings of the systemd service.
#[derive(Clone, Debug)]
pub struct ServiceSettings {
    /// The directory of the user's units, if it is known.
    pub unit_directory: Option<PathBuf>,
    /// Environment variables that the unit sets.
    pub environment: Vec<(&'static str, String)>,
    /// The service manager that started this process, if any.
    pub notifier: Option<Notifier>,
}

/// Variables that the unit copies from the installing shell: `PATH`, proxies and certificates.
/// Child processes need them from the start, so they cannot come from the stored environment.
pub const SERVICE_VARIABLES: [&str; 7] = [
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
    Interactive(TextStyle),
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
    Invalid(String),
}

pub fn read(
    environment: &Environment,
    file: &SettingsFile,
    paths: &Paths,
) -> Result<Integrations, CommandError> {
    let page = environment.get("OLLIM_HTTP").unwrap_or(&file.page.address);
    let page = page.parse().map_err(|_| {
        CommandError::Configuration(format!(
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
    let service = ServiceSettings::read(environment);
    let telemetry = TelemetrySettings::read(environment)?;
    Ok(Integrations {
        page,
        discord,
        terminal,
        accounts,
        search,
        program_path: programs,
        upgrade,
        webhooks,
        service,
        telemetry,
    })
}

/// Returns `environment` without the variables that [`read`] may reject.
pub fn without_fallible(environment: &Environment) -> Environment {
    let doubted = ["OLLIM_HTTP", "OLLIM_SEARCH", "OLLIM_SEARCH_URL", "OLLIM_METRICS", "OLLIM_OTLP_URL"];
    doubted.into_iter().fold(environment.clone(), |environment, name| environment.without(name))
}

impl ServiceSettings {
    pub fn read(environment: &Environment) -> Self {
        let said = |name| Some((name, environment.said(name)?.to_owned()));
        // A value with a line break cannot be written to a unit.
        let surroundings = SERVICE_VARIABLES.into_iter().filter_map(said);
        let surroundings = surroundings.filter(|(_, value)| !value.contains(char::is_control)).collect();
        Self {
            unit_directory: unit_directory(environment),
            environment: surroundings,
            notifier: Notifier::from_environment(environment),
        }
    }
}

fn unit_directory(environment: &Environment) -> Option<PathBuf> {
    let set = environment.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|place| place.is_absolute());
    let place = set.or_else(|| Some(PathBuf::from(environment.get("HOME")?).join(".config")));
    place.map(|place| place.join("systemd/user"))
}

fn terminal(environment: &Environment) -> Terminal {
    match (environment.get("TERM"), environment.get("NO_COLOR")) {
        (None | Some("dumb"), _) => Terminal::Dumb,
        (Some(_), None) => Terminal::Interactive(TextStyle::Styled),
        (Some(_), Some(_)) => Terminal::Interactive(TextStyle::Plain),
    }
}

fn discord(environment: &Environment, paths: &Paths) -> Discord {
    let token = match secrets::secret_reader(environment, paths, secrets::DISCORD) {
        Ok(Some(token)) => token(),
        Ok(None) => return Discord::Off,
        Err(wrong) => return Discord::Invalid(wrong.to_string()),
    };
    let base = environment.get("DISCORD_API_BASE").unwrap_or(API_BASE).to_owned();
    match Token::parse(&token) {
        Ok(token) => match NetworkTransport::new(&base, &token) {
            Ok(_) => Discord::On { token, base },
            Err(wrong) => Discord::Invalid(format!("discord: {wrong}.")),
        },
        Err(wrong) => Discord::Invalid(format!("DISCORD_TOKEN: {wrong}.")),
    }
}
