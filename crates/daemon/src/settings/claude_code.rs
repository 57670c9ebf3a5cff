//! Settings of the Claude Code program: its path, and the environment variables it gets.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use domain::model::SHORT_NAMES;
use journal::Paths;
use models::claude::{Environment as Known, ProgramTimeouts, RuntimeSettings, Settings};

use super::environment::Environment;
use super::file::SettingsFile;
use crate::parent_death::wrapper;

/// The variables that are forwarded: credentials, proxies and its own directories.
pub const FORWARDED_VARIABLES: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "TMPDIR",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
];

/// The program's own short names, which select the newest model of each kind.
pub fn aliases() -> BTreeMap<String, String> {
    SHORT_NAMES.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect()
}

/// Returns the directory of the program's transcripts, in `CLAUDE_CONFIG_DIR` or `~/.claude`.
pub fn transcripts(environment: &Environment) -> Option<PathBuf> {
    let set = environment.get("CLAUDE_CONFIG_DIR").filter(|set| !set.is_empty()).map(PathBuf::from);
    let place = set.or_else(|| Some(PathBuf::from(environment.get("HOME")?).join(".claude")));
    place.map(|place| place.join("projects"))
}

/// Returns the settings of the program, with `model` if one is named.
pub fn settings(
    environment: &Environment,
    file: &SettingsFile,
    paths: &Paths,
    model: Option<&str>,
) -> Settings {
    let mut known = Known::default();
    for name in FORWARDED_VARIABLES {
        if let Some(value) = environment.get(name) {
            known.set(name, value);
        }
    }
    Settings {
        program: environment.get("OLLIM_CLAUDE").unwrap_or("claude").into(),
        working_dir: paths.root().to_owned(),
        environment: known,
        runtime: RuntimeSettings { model: model.map(str::to_owned), ..RuntimeSettings::default() },
        own_tools: Vec::new(),
        timeouts: ProgramTimeouts {
            stall: Duration::from_secs(file.model.silence_seconds),
            total: Duration::from_secs(file.model.reply_seconds),
            ..ProgramTimeouts::default()
        },
        parent_death: wrapper(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{ModelConfig, Settings};

    /// RC-3: Another model can be chosen at runtime by the program's short names.
    #[test]
    fn program_models_can_be_chosen() {
        let known = |name: &str| match name {
            "OLLIM_MODEL" => Some("claude".to_owned()),
            "OLLIM_DATA_DIR" => Some("/nowhere".to_owned()),
            _ => None,
        };
        let choices = Settings::read(&Environment::new(known)).unwrap().choices("claude");
        assert_eq!(choices.id(choices.parse("Opus").unwrap().as_deref()), Some("opus"));
        assert_eq!(
            choices.parse("gpt").unwrap_err(),
            "I don't know a model called `gpt`. Choose fable, haiku, opus, sonnet, a full id such as \
             `claude-haiku-4-5`, or `default`."
        );
    }
    /// The settings file limits silence and duration of replies.
    #[test]
    fn settings_file_limits_program_replies() {
        let dir = tempfile::tempdir().unwrap();
        let text = "[model]\nuse = \"claude\"\nsilence_seconds = 7\nreply_seconds = 70\n";
        std::fs::write(dir.path().join("settings.toml"), text).unwrap();
        let known = |name: &str| (name == "OLLIM_DATA_DIR").then(|| dir.path().display().to_string());
        let ModelConfig::Claude(program) = Settings::read(&Environment::new(known)).unwrap().model else {
            panic!("another model")
        };
        assert_eq!([program.timeouts.stall, program.timeouts.total], [7, 70].map(Duration::from_secs));
    }
}
