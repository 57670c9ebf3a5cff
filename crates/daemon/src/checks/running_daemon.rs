//! State of the running daemon, and how it differs from what this shell would start.
//!
//! The daemon read its settings at its start, in its own environment. Those of the shell may be
//! newer, older or incomplete.

use journal::Paths;
use serde_json::Value;
use surfaces::client::{Client, ClientError};

use super::{Finding, State};
use crate::app::SOCKET;
use crate::settings::{Discord, ModelConfig, Settings, WebhookSettings};

/// The command that makes the daemon read its settings again.
pub const RESTART_COMMAND: &str = "ollim-bot restart";

/// The status texts of a working Discord connection and of one that is not retried (see
/// `surfaces::discord::dm::line`).
const CONNECTED: &str = "connected";
const NOT_CONNECTED: &str = "not connected:";

/// The state that the running daemon reports.
#[derive(Clone, Debug)]
pub struct RunningDaemon {
    /// The answer of `/api/health`.
    pub health: Value,
    model: String,
    /// The status of the Discord connection, if Discord is set up.
    discord: Option<String>,
    /// The address for webhooks, such as `http://127.0.0.1:8787/hook/`.
    pub webhooks: Option<String>,
}

impl RunningDaemon {
    /// Queries the daemon that runs on the directory at `paths`, if there is one.
    pub async fn query(paths: &Paths) -> Result<Option<Self>, ClientError> {
        match Client::new(&paths.state(), SOCKET).get_health("/api/health").await {
            Ok(health) => Ok(Some(Self::from_health(health))),
            Err(ClientError::NotRunning) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn from_health(health: Value) -> Self {
        let word = |name: &str| health[name].as_str().map(str::to_owned);
        let mut surfaces = health["surfaces"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let hooks = surfaces.find_map(|surface| surface.strip_prefix("webhooks ")).map(str::to_owned);
        Self { model: word("brain").unwrap_or_default(), discord: word("discord"), webhooks: hooks, health }
    }

    /// Completes `found`, the model check of this shell, with the daemon's model.
    pub fn model(&self, settings: &Settings, found: Finding) -> Vec<Finding> {
        match (&settings.model, self.model == settings.model.name()) {
            (_, true) => vec![found],
            (ModelConfig::Offline | ModelConfig::MissingKey(_), false) => {
                vec![Finding::fine("model", self.difference_text(&self.model, "no model"))]
            }
            (ModelConfig::Anthropic(_) | ModelConfig::OpenAi(_) | ModelConfig::Claude(_), false) => {
                vec![found, restart_needed("model", &self.model)]
            }
        }
    }

    /// Completes `found`, the Discord check of this shell, with the daemon's connection.
    pub fn discord(&self, settings: &Settings, found: Finding) -> Vec<Finding> {
        match (&settings.integrations.discord, &self.discord) {
            (Discord::Off | Discord::Invalid(_), Some(line)) => {
                vec![Finding::new("discord", connection_state(line), self.difference_text(line, "no token"))]
            }
            (Discord::On { .. }, None) => vec![found, restart_needed("discord", "no discord")],
            // A token that works here does not prove that the daemon is connected.
            (Discord::On { .. }, Some(line)) if line != CONNECTED => vec![found, connection_problem(line)],
            (Discord::On { .. }, Some(_)) | (Discord::Off | Discord::Invalid(_), None) => vec![found],
        }
    }

    /// Completes `found`, the zone of this shell, with the daemon's zone.
    pub fn zone(&self, settings: &Settings, found: Finding) -> Vec<Finding> {
        let here = settings.zone.value.iana_name().unwrap_or("UTC");
        match self.health["zone"].as_str() {
            Some(there) if there != here => vec![found, restart_needed("zone", there)],
            Some(_) | None => vec![found],
        }
    }

    /// Completes `found`, the webhook check of this shell, with the daemon's listener.
    pub fn webhooks(&self, settings: &Settings, found: Option<Finding>) -> Vec<Finding> {
        let here = match &settings.integrations.webhooks {
            WebhookSettings::On(port, ..) => Some(format!("http://127.0.0.1:{port}/hook/")),
            WebhookSettings::Off | WebhookSettings::Invalid(_) => None,
        };
        match (here, &self.webhooks) {
            (here, there) if here == *there => found.into_iter().collect(),
            (None, Some(there)) => {
                let text = self.difference_text(&format!("POST {there}ID"), "no webhooks");
                vec![Finding::fine("hooks", text)]
            }
            (_, there) => {
                let there = there.as_deref().unwrap_or("no webhooks");
                found.into_iter().chain([restart_needed("hooks", there)]).collect()
            }
        }
    }

    fn difference_text(&self, there: &str, here: &str) -> String {
        format!(
            "{there}, which the assistant that runs (pid {}) has; this shell sees {here}",
            self.health["pid"]
        )
    }
}

/// Reports that the daemon has no Discord connection, with its own status text.
fn connection_problem(line: &str) -> Finding {
    let found = Finding::new("discord", connection_state(line), format!("the assistant that runs is {line}"));
    match found.state {
        State::Wrong => found.with_fix(RESTART_COMMAND),
        State::Fine | State::Absent | State::Warning => found,
    }
}

/// Converts the status text of a connection to a state.
fn connection_state(line: &str) -> State {
    match line {
        CONNECTED => State::Fine,
        line if line.starts_with(NOT_CONNECTED) => State::Wrong,
        _ => State::Warning,
    }
}

/// Reports that the daemon uses `there` until it is restarted.
fn restart_needed(what: &'static str, there: &str) -> Finding {
    let text = format!("the assistant that runs has {there}; it reads this when it starts again");
    Finding::new(what, State::Warning, text).with_fix(RESTART_COMMAND)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use surfaces::discord::dm::connection_status::ConnectionStatus;

    use super::*;
    use crate::settings::Environment;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some("/nowhere".to_owned()),
            _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
        };
        Settings::read(&Environment::new(known)).unwrap()
    }

    fn lines(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(|found| format!("{} {}", found.state.symbol(), found.text)).collect()
    }

    const WEBHOOK_VARIABLES: [(&str, &str); 2] = [("WEBHOOK_PORT", "8787"), ("WEBHOOK_SECRET", "sesame")];

    #[test]
    fn settings_missing_in_this_shell_are_reported() {
        let running = RunningDaemon::from_health(json!({
            "pid": 7, "brain": "anthropic:x", "discord": "connected",
            "surfaces": ["terminal", "webhooks http://127.0.0.1:8787/hook/"],
        }));
        let here = settings(&[]);
        let absent = || Finding::absent("x", "absent");
        let seen =
            [running.model(&here, absent()), running.discord(&here, absent()), running.webhooks(&here, None)];
        let has = "which the assistant that runs (pid 7) has; this shell sees no";
        assert_eq!(
            lines(&seen.concat()),
            [
                format!("✓ anthropic:x, {has} model"),
                format!("✓ connected, {has} token"),
                format!("✓ POST http://127.0.0.1:8787/hook/ID, {has} webhooks"),
            ]
        );
        assert_eq!(lines(&running.webhooks(&settings(&WEBHOOK_VARIABLES), Some(absent()))), ["– absent"]);
    }

    /// D2: A lost connection is reported even if this shell's token works. One that is not retried
    /// is an error.
    #[test]
    fn lost_discord_connection_of_the_daemon_is_reported() {
        let here = settings(&[("DISCORD_TOKEN", "MTIz.a.b")]);
        let seen = |line: &ConnectionStatus| {
            let running =
                RunningDaemon::from_health(json!({ "pid": 7, "brain": "x", "discord": line.to_string() }));
            running.discord(&here, Finding::fine("discord", "the token works"))
        };
        let works = "✓ the token works";
        assert_eq!(lines(&seen(&ConnectionStatus::Connected)), [works]);
        let left = seen(&ConnectionStatus::Failed("Discord does not accept the token".to_owned()));
        let refused = "✗ the assistant that runs is not connected: Discord does not accept the token";
        assert_eq!(lines(&left), [works, refused]);
        assert_eq!(left[1].fix.as_deref(), Some("ollim-bot restart"));
        for (line, words) in [
            (ConnectionStatus::Connecting, "connecting"),
            (
                ConnectionStatus::Reconnecting("the gateway is gone".to_owned()),
                "away, trying again: the gateway is gone",
            ),
        ] {
            assert_eq!(
                lines(&seen(&line)),
                [works.to_owned(), format!("! the assistant that runs is {words}")]
            );
        }
    }

    #[test]
    fn settings_newer_than_the_daemon_suggest_a_restart() {
        let running =
            RunningDaemon::from_health(json!({ "pid": 7, "brain": "offline", "surfaces": ["terminal"] }));
        let variables =
            [&WEBHOOK_VARIABLES[..], &[("ANTHROPIC_API_KEY", "sk"), ("DISCORD_TOKEN", "MTIz.a.b")]].concat();
        let here = settings(&variables);
        let fine = || Finding::fine("x", "fine");
        for (findings, has) in [
            (running.model(&here, fine()), "offline"),
            (running.discord(&here, fine()), "no discord"),
            (running.webhooks(&here, Some(fine())), "no webhooks"),
        ] {
            let newer = format!("! the assistant that runs has {has}; it reads this when it starts again");
            assert_eq!(lines(&findings), ["✓ fine".to_owned(), newer]);
            assert_eq!(findings[1].fix.as_deref(), Some("ollim-bot restart"));
        }
        assert_eq!(lines(&running.model(&settings(&[]), fine())), ["✓ fine"]);
    }
}
