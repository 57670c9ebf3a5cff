//! Keys and passwords, from the environment or from a file that is read again for every call.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use journal::Paths;
use models::anthropic::ApiKey;

use super::{Environment, ModelConfig};
use crate::exit::CommandError;

/// The places of one secret.
#[derive(Clone, Copy, Debug)]
pub struct SecretPlaces {
    /// The variable with the secret.
    pub variable: &'static str,
    /// The variable with the path of a file that contains the secret.
    pub file_variable: &'static str,
    /// The file in `state` that contains the secret.
    pub file: &'static str,
}

pub const ANTHROPIC: SecretPlaces = SecretPlaces {
    variable: "ANTHROPIC_API_KEY",
    file_variable: "ANTHROPIC_API_KEY_FILE",
    file: "anthropic.key",
};

/// OpenAI-compatible servers.
pub const OPENAI: SecretPlaces =
    SecretPlaces { variable: "OPENAI_API_KEY", file_variable: "OPENAI_API_KEY_FILE", file: "openai.key" };

/// The Discord account.
pub const DISCORD: SecretPlaces =
    SecretPlaces { variable: "DISCORD_TOKEN", file_variable: "DISCORD_TOKEN_FILE", file: "discord.token" };

pub const IMAP: SecretPlaces = SecretPlaces {
    variable: "OLLIM_IMAP_PASSWORD",
    file_variable: "OLLIM_IMAP_PASSWORD_FILE",
    file: "imap.password",
};

pub const CALDAV: SecretPlaces = SecretPlaces {
    variable: "OLLIM_CALDAV_PASSWORD",
    file_variable: "OLLIM_CALDAV_PASSWORD_FILE",
    file: "caldav.password",
};

/// The search engine.
pub const SEARCH: SecretPlaces =
    SecretPlaces { variable: "OLLIM_SEARCH_KEY", file_variable: "OLLIM_SEARCH_KEY_FILE", file: "search.key" };

/// Callers of webhooks.
pub const WEBHOOK: SecretPlaces =
    SecretPlaces { variable: "WEBHOOK_SECRET", file_variable: "WEBHOOK_SECRET_FILE", file: "webhook.secret" };

const ALL_SECRETS: [SecretPlaces; 7] = [ANTHROPIC, OPENAI, DISCORD, IMAP, CALDAV, SEARCH, WEBHOOK];

/// Returns the secret whose variable is `name`, if any.
pub fn secret_of_variable(name: &str) -> Option<SecretPlaces> {
    ALL_SECRETS.into_iter().find(|vendor| vendor.variable == name)
}

/// Returns whether `name` is a variable of a secret that is stored in `state`.
pub fn is_stored(paths: &Paths, name: &str) -> bool {
    let about = |vendor: &&SecretPlaces| [vendor.variable, vendor.file_variable].contains(&name);
    ALL_SECRETS.iter().find(about).is_some_and(|vendor| paths.state().join(vendor.file).exists())
}

/// Returns whether `name` is the key of the Claude Code program and that program answers. It reads
/// the key from its environment, never from our files, so the key must be stored as a variable.
pub fn is_claude_key(name: &str, model: &ModelConfig) -> bool {
    matches!(model, ModelConfig::Claude(_)) && name == ANTHROPIC.variable
}

/// Returns whether the stored file name of a secret leads to a missing file.
pub fn named_file_is_missing(environment: &Environment, vendor: SecretPlaces) -> bool {
    let named = environment.get(vendor.file_variable);
    environment.said(vendor.file_variable).is_none() && named.is_some_and(|file| !Path::new(file).exists())
}

/// Returns the current value of a secret.
pub type SecretReader = Box<dyn Fn() -> String + Send + Sync>;

/// Returns the key of `vendor`, if there is one.
pub fn read_key(
    environment: &Environment,
    paths: &Paths,
    vendor: SecretPlaces,
) -> Result<Option<ApiKey>, CommandError> {
    Ok(secret_reader(environment, paths, vendor)?.map(ApiKey::from_source))
}

/// Returns a reader of the secret of `vendor`, if there is one. Precedence: a named file, because
/// it can be replaced at runtime; a variable of this environment; the file in `state`; a stored
/// variable.
pub fn secret_reader(
    environment: &Environment,
    paths: &Paths,
    vendor: SecretPlaces,
) -> Result<Option<SecretReader>, CommandError> {
    let named = environment.get(vendor.file_variable).map(PathBuf::from);
    if let (None, Some(said)) = (&named, environment.said(vendor.variable)) {
        let said = said.to_owned();
        return Ok(Some(Box::new(move || said.clone())));
    }
    let file = named.clone().unwrap_or_else(|| paths.state().join(vendor.file));
    let variable = environment.get(vendor.variable).unwrap_or_default().to_owned();
    let wrong = |what: String| CommandError::Configuration(format!("{}: {what}", file.display()));
    match std::fs::metadata(&file) {
        Ok(found) if found.permissions().mode() & 0o077 != 0 => {
            return Err(wrong("others can read this secret. make it yours alone: chmod 600".to_owned()));
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => {}
        Err(error) if error.kind() == ErrorKind::NotADirectory && named.is_none() => {}
        Err(error) => {
            return Err(wrong(format!(
                "{error}. {} names a file that holds the secret.",
                vendor.file_variable
            )));
        }
    }
    let look = move || read_file(&file).unwrap_or_else(|| variable.clone());
    Ok((!look().is_empty()).then(|| Box::new(look) as SecretReader))
}

/// Returns a sentence for each stored secret that a variable of this shell overrides.
pub fn override_notices(environment: &Environment, paths: &Paths) -> Vec<String> {
    let told = |vendor: &SecretPlaces| {
        let kept = read_file(&paths.state().join(vendor.file))?;
        let named = environment.said(vendor.file_variable).map(|_| vendor.file_variable);
        let winner = named.or_else(|| {
            environment.said(vendor.variable).filter(|said| *said != kept).map(|_| vendor.variable)
        })?;
        Some(override_notice(winner, vendor.file))
    };
    ALL_SECRETS.iter().filter_map(told).collect()
}

/// Explains that `variable` overrides a file, and how to end that.
pub fn override_notice(variable: &str, file: &str) -> String {
    format!("{variable} is set in this shell, and wins over state/{file} while it is. unset {variable}")
}

fn read_file(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(dir: &Path, variables: &[(&str, &str)]) -> Result<Option<ApiKey>, String> {
        let look_up = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let read = read_key(&Environment::new(look_up), &Paths::new(dir), ANTHROPIC);
        read.map_err(|failed| failed.to_string())
    }

    fn write(path: &Path, text: &str, mode: u32) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// ENV-1: Variables of the environment override stored secrets, with a notice; stored variables
    /// do not.
    #[test]
    fn environment_overrides_stored_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::new(dir.path());
        write(&paths.state().join("anthropic.key"), "sk-kept\n", 0o600);
        let place = dir.path().display().to_string();
        let environment = |variables: &[(&str, &str)]| {
            let known = |name: &str| match name {
                "OLLIM_DATA_DIR" => Some(place.clone()),
                _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
            };
            Environment::new(known).with_stored().unwrap()
        };
        let known =
            |environment: &Environment| secret_reader(environment, &paths, ANTHROPIC).unwrap().unwrap()();
        let said = environment(&[("ANTHROPIC_API_KEY", "sk-said")]);
        assert_eq!(known(&said), "sk-said");
        let told = "ANTHROPIC_API_KEY is set in this shell, and wins over state/anthropic.key while it is. unset ANTHROPIC_API_KEY";
        assert_eq!(override_notices(&said, &paths), [told]);
        assert!(override_notices(&environment(&[("ANTHROPIC_API_KEY", "sk-kept")]), &paths).is_empty());
        let named = dir.path().join("named");
        write(&named, "sk-named", 0o600);
        let line = format!("ANTHROPIC_API_KEY=sk-line\nANTHROPIC_API_KEY_FILE={}\n", named.display());
        write(&paths.state().join("environment"), "ANTHROPIC_API_KEY=sk-line\n", 0o600);
        assert_eq!(known(&environment(&[])), "sk-kept");
        write(&paths.state().join("environment"), &line, 0o600);
        assert_eq!(known(&environment(&[])), "sk-named");
        assert_eq!(known(&environment(&[("ANTHROPIC_API_KEY", "sk-said")])), "sk-said");
    }

    #[test]
    fn key_comes_from_environment_or_private_file() {
        let dir = tempfile::tempdir().unwrap();
        let has = |variables: &[(&str, &str)]| key(dir.path(), variables).map(|key| key.is_some());
        assert_eq!(has(&[]), Ok(false));
        assert_eq!(has(&[("ANTHROPIC_API_KEY", "sk-1")]), Ok(true));
        let elsewhere = dir.path().join("elsewhere");
        let named = [("ANTHROPIC_API_KEY_FILE", elsewhere.to_str().unwrap())];
        assert!(has(&named).unwrap_err().contains("ANTHROPIC_API_KEY_FILE names a file"));
        write(&elsewhere, "sk-2\n", 0o600);
        assert_eq!(has(&named), Ok(true));
        write(&dir.path().join("state/anthropic.key"), "sk-3", 0o644);
        assert!(has(&[]).unwrap_err().contains("chmod 600"));
        write(&dir.path().join("state/anthropic.key"), "sk-3", 0o600);
        assert_eq!(has(&[]), Ok(true));
    }
}
