//! The machine the tests run on: finds and installs programs.

use std::ffi::OsString;
use std::path::PathBuf;

use super::step::{NotRun, Outcome, Program};

/// The local machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine;

impl Machine {
    /// Returns whether a program exists and runs successfully.
    pub fn has(self, program: &str, words: &[&str]) -> bool {
        Program::new(program, words).stdout().is_some()
    }

    /// Returns the first of the programs that prints a version.
    pub fn first_available<'a>(self, programs: &[&'a str]) -> Option<&'a str> {
        programs.iter().copied().find(|program| self.has(program, &["--version"]))
    }

    /// Returns a variable of the environment.
    pub fn variable(self, wanted: &str) -> Option<OsString> {
        std::env::vars_os().find(|(name, _)| name == wanted).map(|(_, value)| value)
    }

    /// Returns a cache folder for our installations, or None without a home folder.
    pub fn cache_folder(self, place: &str) -> Option<PathBuf> {
        let caches = self.variable("XDG_CACHE_HOME").map(PathBuf::from);
        let caches = caches.or_else(|| Some(PathBuf::from(self.variable("HOME")?).join(".cache")))?;
        Some(caches.join("ollim-bot").join(place))
    }

    /// Installs system packages, if permitted.
    pub fn install(self, packages: &[&str]) -> Outcome {
        let names = packages.join(" ");
        if !self.has("apt-get", &["--version"]) {
            return not_run(format!("missing: {names}, and there is no apt-get; install by hand"));
        }
        let Some(prefix) = self.root_prefix() else {
            let remedy = format!("run `sudo apt-get install {names}` once");
            return not_run(format!("missing: {names}, and installing needs root; {remedy}"));
        };
        let updated = apt(prefix, &["update"]).run();
        if let Outcome::NotRun(..) = updated {
            return updated;
        }
        // A partial failure to update the lists may not matter.
        let mut words = vec!["install", "--yes", "--no-install-recommends"];
        words.extend(packages);
        apt(prefix, &words).run()
    }

    /// Makes sure that Python can create virtual environments.
    pub fn ensure_python(self) -> Outcome {
        if self.has("python3", &["-c", "import venv, ensurepip"]) {
            Outcome::Passed(Vec::new())
        } else {
            self.install(&["python3", "python3-venv"])
        }
    }

    /// Makes sure that Node and npm are installed.
    pub fn ensure_node(self) -> Outcome {
        if self.has("node", &["--version"]) && self.has("npm", &["--version"]) {
            Outcome::Passed(Vec::new())
        } else {
            self.install(&["nodejs", "npm"])
        }
    }

    /// Returns the prefix of a command that needs root: empty as root, None if not permitted.
    fn root_prefix(self) -> Option<&'static [&'static str]> {
        if Program::new("id", &["-u"]).stdout().as_deref() == Some("0") {
            Some(&[])
        } else if self.has("sudo", &["-n", "true"]) {
            Some(&["sudo", "-n", "-E"])
        } else {
            None
        }
    }
}

fn apt(prefix: &[&str], words: &[&str]) -> Program {
    let all: Vec<_> = prefix.iter().chain(&["apt-get", "--quiet"]).chain(words).copied().collect();
    Program::new(all[0], &all[1..]).with_variable("DEBIAN_FRONTEND", "noninteractive")
}

fn not_run(why: String) -> Outcome {
    Outcome::NotRun(NotRun::Required, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_found_by_running_it() {
        assert!(Machine.has("sh", &["-c", "exit 0"]));
        assert!(!Machine.has("sh", &["-c", "exit 1"]));
        assert_eq!(Machine.first_available(&["no-such-program-anywhere", "cargo"]), Some("cargo"));
        assert_eq!(Machine.first_available(&["no-such-program-anywhere"]), None);
    }
}
