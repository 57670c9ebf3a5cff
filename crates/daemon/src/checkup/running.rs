//! State of the running daemon, and how it differs from what this shell would start.
//!
//! The daemon read its settings at its start, in its own environment. Those of the shell may be
//! newer, older or incomplete.

use journal::Paths;
use serde_json::Value;
use surfaces::client::{Client, Unanswered};

use super::{Finding, State};
use crate::house::SOCKET;
use crate::settings::{Brain, Discord, Settings, Webhooks};

/// The command that makes the daemon read its settings again.
pub const AGAIN: &str = "ollim-bot restart";

/// The status texts of a working Discord connection and of one that is not retried (see
/// `surfaces::discord::dm::line`).
const CONNECTED: &str = "connected";
const LEFT: &str = "not connected:";

/// The state that the running daemon reports.
#[derive(Clone, Debug)]
pub struct Running {
    /// The answer of `/api/health`.
    pub health: Value,
    brain: String,
    /// The status of the Discord connection, if Discord is set up.
    discord: Option<String>,
    /// The address for webhooks, such as `http://127.0.0.1:8787/hook/`.
    pub hooks: Option<String>,
}

impl Running {
    /// Queries the daemon that runs on the directory at `paths`, if there is one.
    pub async fn ask(paths: &Paths) -> Result<Option<Self>, Unanswered> {
        match Client::new(&paths.state(), SOCKET).get_soon("/api/health").await {
            Ok(health) => Ok(Some(Self::read(health))),
            Err(Unanswered::NotRunning) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(health: Value) -> Self {
        let word = |name: &str| health[name].as_str().map(str::to_owned);
        let mut surfaces = health["surfaces"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let hooks = surfaces.find_map(|surface| surface.strip_prefix("webhooks ")).map(str::to_owned);
        Self { brain: word("brain").unwrap_or_default(), discord: word("discord"), hooks, health }
    }

    /// Completes `found`, the model check of this shell, with the daemon's model.
    pub fn model(&self, settings: &Settings, found: Finding) -> Vec<Finding> {
        match (&settings.brain, self.brain == settings.brain.name()) {
            (_, true) => vec![found],
            (Brain::Offline | Brain::Keyless(_), false) => {
                vec![Finding::fine("model", self.other(&self.brain, "no model"))]
            }
            (Brain::Anthropic(_) | Brain::OpenAi(_) | Brain::Claude(_), false) => {
                vec![found, apart("model", &self.brain)]
            }
        }
    }

    /// Completes `found`, the Discord check of this shell, with the daemon's connection.
    pub fn discord(&self, settings: &Settings, found: Finding) -> Vec<Finding> {
        match (&settings.places.discord, &self.discord) {
            (Discord::Off | Discord::Wrong(_), Some(line)) => {
                vec![Finding::new("discord", state(line), self.other(line, "no token"))]
            }
            (Discord::On { .. }, None) => vec![found, apart("discord", "no discord")],
            // A token that works here does not prove that the daemon is connected.
            (Discord::On { .. }, Some(line)) if line != CONNECTED => vec![found, broken(line)],
            (Discord::On { .. }, Some(_)) | (Discord::Off | Discord::Wrong(_), None) => vec![found],
        }
    }

    /// Completes `found`, the zone of this shell, with the daemon's zone.
    pub fn zone(&self, settings: &Settings, found: Finding) -> Vec<Finding> {
        let here = settings.zone.value.iana_name().unwrap_or("UTC");
        match self.health["zone"].as_str() {
            Some(there) if there != here => vec![found, apart("zone", there)],
            Some(_) | None => vec![found],
        }
    }

    /// Completes `found`, the webhook check of this shell, with the daemon's listener.
    pub fn webhooks(&self, settings: &Settings, found: Option<Finding>) -> Vec<Finding> {
        let here = match &settings.places.webhooks {
            Webhooks::On(port, ..) => Some(format!("http://127.0.0.1:{port}/hook/")),
            Webhooks::Off | Webhooks::Wrong(_) => None,
        };
        match (here, &self.hooks) {
            (here, there) if here == *there => found.into_iter().collect(),
            (None, Some(there)) => {
                let text = self.other(&format!("POST {there}ID"), "no webhooks");
                vec![Finding::fine("hooks", text)]
            }
            (_, there) => {
                let there = there.as_deref().unwrap_or("no webhooks");
                found.into_iter().chain([apart("hooks", there)]).collect()
            }
        }
    }

    fn other(&self, there: &str, here: &str) -> String {
        format!(
            "{there}, which the assistant that runs (pid {}) has; this shell sees {here}",
            self.health["pid"]
        )
    }
}

/// Reports that the daemon has no Discord connection, with its own status text.
fn broken(line: &str) -> Finding {
    let found = Finding::new("discord", state(line), format!("the assistant that runs is {line}"));
    match found.state {
        State::Wrong => found.fixed_by(AGAIN),
        State::Fine | State::Absent | State::Warning => found,
    }
}

/// Converts the status text of a connection to a state.
fn state(line: &str) -> State {
    match line {
        CONNECTED => State::Fine,
        line if line.starts_with(LEFT) => State::Wrong,
        _ => State::Warning,
    }
}

/// Reports that the daemon uses `there` until it is restarted.
fn apart(what: &'static str, there: &str) -> Finding {
    let text = format!("the assistant that runs has {there}; it reads this when it starts again");
    Finding::new(what, State::Warning, text).fixed_by(AGAIN)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use surfaces::discord::dm::line::Line;

    use super::*;
    use crate::settings::Environment;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        let known = |name: &str| match name {
            "OLLIM_DATA_DIR" => Some("/nowhere".to_owned()),
            _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
        };
        Settings::read(&Environment::new(known)).unwrap()
    }

    fn told(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(|found| format!("{} {}", found.state.mark(), found.text)).collect()
    }

    const SERVED: [(&str, &str); 2] = [("WEBHOOK_PORT", "8787"), ("WEBHOOK_SECRET", "sesame")];

    #[test]
    fn what_the_running_one_has_is_told_where_this_shell_sees_less() {
        let running = Running::read(json!({
            "pid": 7, "brain": "anthropic:x", "discord": "connected",
            "surfaces": ["terminal", "webhooks http://127.0.0.1:8787/hook/"],
        }));
        let here = settings(&[]);
        let absent = || Finding::absent("x", "absent");
        let seen =
            [running.model(&here, absent()), running.discord(&here, absent()), running.webhooks(&here, None)];
        let has = "which the assistant that runs (pid 7) has; this shell sees no";
        assert_eq!(
            told(&seen.concat()),
            [
                format!("✓ anthropic:x, {has} model"),
                format!("✓ connected, {has} token"),
                format!("✓ POST http://127.0.0.1:8787/hook/ID, {has} webhooks"),
            ]
        );
        assert_eq!(told(&running.webhooks(&settings(&SERVED), Some(absent()))), ["– absent"]);
    }

    /// D2: A lost connection is reported even if this shell's token works. One that is not retried
    /// is an error.
    #[test]
    fn a_line_of_the_running_one_that_is_down_is_told() {
        let here = settings(&[("DISCORD_TOKEN", "MTIz.a.b")]);
        let seen = |line: &Line| {
            let running = Running::read(json!({ "pid": 7, "brain": "x", "discord": line.to_string() }));
            running.discord(&here, Finding::fine("discord", "the token works"))
        };
        let works = "✓ the token works";
        assert_eq!(told(&seen(&Line::Connected)), [works]);
        let left = seen(&Line::Left("Discord does not accept the token".to_owned()));
        let refused = "✗ the assistant that runs is not connected: Discord does not accept the token";
        assert_eq!(told(&left), [works, refused]);
        assert_eq!(left[1].fix.as_deref(), Some("ollim-bot restart"));
        for (line, words) in [
            (Line::Connecting, "connecting"),
            (Line::Away("the gateway is gone".to_owned()), "away, trying again: the gateway is gone"),
        ] {
            assert_eq!(
                told(&seen(&line)),
                [works.to_owned(), format!("! the assistant that runs is {words}")]
            );
        }
    }

    #[test]
    fn what_is_newer_than_the_running_one_is_told_with_what_makes_it_hold() {
        let running = Running::read(json!({ "pid": 7, "brain": "offline", "surfaces": ["terminal"] }));
        let variables = [&SERVED[..], &[("ANTHROPIC_API_KEY", "sk"), ("DISCORD_TOKEN", "MTIz.a.b")]].concat();
        let here = settings(&variables);
        let fine = || Finding::fine("x", "fine");
        for (findings, has) in [
            (running.model(&here, fine()), "offline"),
            (running.discord(&here, fine()), "no discord"),
            (running.webhooks(&here, Some(fine())), "no webhooks"),
        ] {
            let newer = format!("! the assistant that runs has {has}; it reads this when it starts again");
            assert_eq!(told(&findings), ["✓ fine".to_owned(), newer]);
            assert_eq!(findings[1].fix.as_deref(), Some("ollim-bot restart"));
        }
        assert_eq!(told(&running.model(&settings(&[]), fine())), ["✓ fine"]);
    }
}
