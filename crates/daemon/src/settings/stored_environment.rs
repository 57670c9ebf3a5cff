//! Stored variables: lines like `NAME=value` in `state/environment`, used where the environment has
//! none.
//!
//! A service does not have the user's shell environment, so `ollim-bot setup` stores values here.
//! Tools cannot write to `state`, because this file decides which programs run and where keys are
//! sent.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use journal::Paths;

use super::environment::{Environment, KNOWN};
use super::integrations::SERVICE_VARIABLES;
use super::rejections::UNREADABLE;
use super::{ModelConfig, secrets};
use crate::exit::CommandError;

/// The name of the file in `state`.
pub const FILE_NAME: &str = "environment";

/// Variables of one terminal or process, which are never stored.
const NEVER_STORED: [&str; 9] = [
    "TERM",
    "NO_COLOR",
    "VISUAL",
    "EDITOR",
    "OLLIM_DATA_DIR",
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "XDG_CONFIG_HOME",
];

/// Forwarded variables that may be stored too.
const EXTRA_VARIABLES: [&str; 8] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
];

/// Returns the path of the file.
pub fn file_path(paths: &Paths) -> PathBuf {
    paths.state().join(FILE_NAME)
}

/// Reads all stored variables.
pub fn read(paths: &Paths) -> Result<Vec<(&'static str, String)>, CommandError> {
    let file = file_path(paths);
    let wrong = |what: &str| CommandError::Configuration(format!("{}: {what}", file.display()));
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        // The user wrote invalid text, which is to be fixed in the file.
        Err(error) if error.kind() == ErrorKind::InvalidData => return Err(wrong(&format!("{error}."))),
        Err(error) => return Err(wrong(&format!("{UNREADABLE}: {error}."))),
    };
    match std::fs::metadata(&file) {
        Ok(found) if found.permissions().mode() & 0o077 != 0 => {
            return Err(wrong("others can read or change it. make it yours alone: chmod 600"));
        }
        Ok(_) | Err(_) => {}
    }
    let lines = text.lines().enumerate().map(|(number, line)| {
        parse_line(line).map_err(|what| wrong(&format!("line {}: {what}", number + 1)))
    });
    Ok(lines.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// Returns the variables of this shell that a service with this model would not have, because they
/// are neither stored nor in the unit. Excludes secrets that this shell overrides with a file.
pub fn unstored_variables(
    environment: &Environment,
    paths: &Paths,
    model: &ModelConfig,
) -> Vec<&'static str> {
    let kept = read(paths).unwrap_or_default();
    let in_file = |name: &str| {
        let named =
            secrets::secret_of_variable(name).and_then(|vendor| environment.said(vendor.file_variable));
        !secrets::is_claude_key(name, model) && (named.is_some() || secrets::is_stored(paths, name))
    };
    let is_unknown = |name: &&'static str| {
        let known = |said: &str| kept.iter().any(|(known, value)| known == name && value == said);
        environment.said(name).is_some_and(|said| !known(said) && !in_file(name))
    };
    let keepable = KNOWN.iter().chain(&EXTRA_VARIABLES).copied();
    keepable
        .filter(|name| !NEVER_STORED.contains(name) && !SERVICE_VARIABLES.contains(name))
        .filter(is_unknown)
        .collect()
}

/// Returns `text` with variables set or removed; all other lines stay as they are.
pub fn with_changes(text: &str, changes: &[(&str, Option<&str>)]) -> String {
    let is_changed = |line: &str| changes.iter().any(|(name, _)| variable_name(line) == Some(*name));
    let mut lines: String =
        text.lines().filter(|line| !is_changed(line)).fold(String::new(), |mut all, line| {
            let _ = writeln!(all, "{line}");
            all
        });
    for (name, value) in changes {
        if let Some(value) = value {
            let _ = writeln!(lines, "{name}={value}");
        }
    }
    lines
}

fn variable_name(line: &str) -> Option<&str> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line);
    line.split_once('=').map(|(name, _)| name.trim()).filter(|_| !line.starts_with('#'))
}

/// Parses a line; `None` for empty lines, comments and unknown variables.
fn parse_line(line: &str) -> Result<Option<(&'static str, String)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let line = line.strip_prefix("export ").unwrap_or(line);
    let Some((name, value)) = line.split_once('=') else {
        return Err("a line is NAME=value.".to_owned());
    };
    let name = name.trim();
    let value = unquote(value.trim());
    let known = KNOWN.iter().chain(&EXTRA_VARIABLES).find(|known| **known == name);
    match known {
        Some(name) if NEVER_STORED.contains(name) => Ok(None),
        Some(_) if value.is_empty() => Ok(None),
        Some(name) => Ok(Some((*name, value.to_owned()))),
        None if name.starts_with("OLLIM_") => Err(format!("there is no setting called {name}.")),
        None => Ok(None),
    }
}

fn unquote(value: &str) -> &str {
    let within = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;

    fn store(text: &str, mode: u32) -> (tempfile::TempDir, Paths) {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        std::fs::create_dir(paths.state()).unwrap();
        std::fs::write(file_path(&paths), text).unwrap();
        std::fs::set_permissions(file_path(&paths), std::fs::Permissions::from_mode(mode)).unwrap();
        (dir, paths)
    }

    /// ENV-1: Stored variables are used only where the environment has none.
    #[test]
    fn environment_overrides_stored_variables() {
        let text =
            "# mine\nexport OLLIM_USER_NAME=\"Julius\"\nOLLIM_BOT_NAME = Ollim\nOTHER=1\n\nTERM=vt100\n";
        let (dir, _paths) = store(text, 0o600);
        let known = |name: &str| match name {
            "OLLIM_BOT_NAME" => Some("Robin".to_owned()),
            "OLLIM_DATA_DIR" => Some(dir.path().display().to_string()),
            _ => None,
        };
        let all = Environment::new(known).with_stored().unwrap();
        assert_eq!(all.get("OLLIM_USER_NAME"), Some("Julius"));
        assert_eq!(all.get("OLLIM_BOT_NAME"), Some("Robin"));
        assert_eq!(all.get("TERM"), None, "a terminal is never kept");
    }

    /// ENV-1: Errors name the line, and a file that others can change is rejected.
    #[test]
    fn invalid_lines_are_reported() {
        let told = |text: &str, mode: u32| read(&store(text, mode).1).unwrap_err().to_string();
        assert!(told("A=1\nOLLIM_NMAE=x", 0o600).ends_with("line 2: there is no setting called OLLIM_NMAE."));
        assert!(told("hello", 0o600).ends_with("line 1: a line is NAME=value."));
        assert!(told("A=1", 0o644).contains("chmod 600"));
        assert!(read(&Paths::new("/nowhere")).unwrap().is_empty());
    }

    /// A service knows variables that are stored or in its unit; all others are reported.
    #[test]
    fn variables_unknown_to_a_service_are_found() {
        let (_dir, paths) = store("OLLIM_TIMEZONE=UTC\nOLLIM_MODEL=offline\n", 0o600);
        std::fs::write(paths.state().join("discord.token"), "t").unwrap();
        let said = [
            ("OLLIM_TIMEZONE", "UTC"),
            ("OLLIM_MODEL", "claude"),
            ("DISCORD_TOKEN", "t"),
            ("ANTHROPIC_API_KEY", "sk"),
            ("PATH", "/bin"),
            ("HTTPS_PROXY", "http://proxy"),
            ("HOME", "/"),
            ("TERM", "vt100"),
        ];
        let known =
            |name: &str| said.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned());
        let only =
            |environment: &Environment, brain: &ModelConfig| unstored_variables(environment, &paths, brain);
        let environment = Environment::new(known);
        assert_eq!(only(&environment, &ModelConfig::Offline), ["OLLIM_MODEL", "ANTHROPIC_API_KEY"]);
        std::fs::write(paths.state().join("anthropic.key"), "sk").unwrap();
        assert_eq!(only(&environment, &ModelConfig::Offline), ["OLLIM_MODEL"]);
        let claude = |name: &str| match name {
            "OLLIM_MODEL" => Some("claude".to_owned()),
            "OLLIM_DATA_DIR" => Some("/nowhere".to_owned()),
            _ => None,
        };
        let brain = Settings::read(&Environment::new(claude)).unwrap().model;
        assert_eq!(only(&environment, &brain), ["OLLIM_MODEL", "ANTHROPIC_API_KEY"], "it reads no file");
        let named = Environment::new(|name: &str| match name {
            "OPENAI_API_KEY" | "OPENAI_API_KEY_FILE" => Some("/some/file".to_owned()),
            _ => None,
        });
        assert_eq!(
            only(&named, &ModelConfig::Offline),
            ["OPENAI_API_KEY_FILE"],
            "the file wins in this shell"
        );
    }

    #[test]
    fn change_keeps_all_other_lines() {
        let text = "# mine\nOLLIM_MODEL=offline\nexport OLLIM_TIMEZONE=UTC\n";
        let changes =
            [("OLLIM_MODEL", Some("claude")), ("OLLIM_TIMEZONE", None), ("OLLIM_USER_NAME", Some("Ann"))];
        assert_eq!(with_changes(text, &changes), "# mine\nOLLIM_MODEL=claude\nOLLIM_USER_NAME=Ann\n");
    }
}
