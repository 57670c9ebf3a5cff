//! Keys and passwords: from a file, which is read again for every call, or from the environment.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use journal::Paths;
use models::anthropic::Key;

use super::Environment;
use crate::exit::Failed;

/// Where a key or a password may be.
#[derive(Clone, Copy, Debug)]
pub struct Vendor {
    /// The variable that holds it.
    pub variable: &'static str,
    /// The variable that names the file that holds it.
    pub file_variable: &'static str,
    /// The file of the data directory that holds it.
    pub file: &'static str,
}

/// Anthropic.
pub const ANTHROPIC: Vendor =
    Vendor { variable: "ANTHROPIC_API_KEY", file_variable: "ANTHROPIC_API_KEY_FILE", file: "anthropic.key" };

/// Whoever speaks chat completions.
pub const OPENAI: Vendor =
    Vendor { variable: "OPENAI_API_KEY", file_variable: "OPENAI_API_KEY_FILE", file: "openai.key" };

/// Our account in Discord.
pub const DISCORD: Vendor =
    Vendor { variable: "DISCORD_TOKEN", file_variable: "DISCORD_TOKEN_FILE", file: "discord.token" };

/// The mailbox.
pub const IMAP: Vendor = Vendor {
    variable: "OLLIM_IMAP_PASSWORD",
    file_variable: "OLLIM_IMAP_PASSWORD_FILE",
    file: "imap.password",
};

/// A CalDAV server.
pub const CALDAV: Vendor = Vendor {
    variable: "OLLIM_CALDAV_PASSWORD",
    file_variable: "OLLIM_CALDAV_PASSWORD_FILE",
    file: "caldav.password",
};

/// Knows a secret when it is asked.
pub type Source = Box<dyn Fn() -> String + Send + Sync>;

/// The key of `vendor`, if there is one.
pub fn read(environment: &Environment, paths: &Paths, vendor: Vendor) -> Result<Option<Key>, Failed> {
    Ok(source(environment, paths, vendor)?.map(Key::kept_by))
}

/// Who knows the secret of `vendor`, if there is one. A file wins over the environment, because it can be replaced
/// while the program runs.
pub fn source(environment: &Environment, paths: &Paths, vendor: Vendor) -> Result<Option<Source>, Failed> {
    let named = environment.get(vendor.file_variable).map(PathBuf::from);
    let file = named.clone().unwrap_or_else(|| paths.state().join(vendor.file));
    let variable = environment.get(vendor.variable).unwrap_or_default().to_owned();
    let wrong = |what: String| Failed::Configuration(format!("{}: {what}", file.display()));
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
    let look = move || in_file(&file).unwrap_or_else(|| variable.clone());
    Ok((!look().is_empty()).then(|| Box::new(look) as Source))
}

fn in_file(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(dir: &Path, variables: &[(&str, &str)]) -> Result<Option<Key>, String> {
        let look_up = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let read = read(&Environment::new(look_up), &Paths::new(dir), ANTHROPIC);
        read.map_err(|failed| failed.to_string())
    }

    fn write(path: &Path, text: &str, mode: u32) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_key_comes_from_a_file_or_from_the_environment_and_others_cannot_read_it() {
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
