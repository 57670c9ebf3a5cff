//! The text and place of the systemd unit.
//!
//! Its restrictions also apply to all child processes, so they must not block what the sandbox for
//! commands, the claude program or MCP servers need: executable memory (no
//! `MemoryDenyWriteExecute`) and the user's home directory (no `ProtectHome`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use journal::Paths;

use crate::settings::ServiceSettings;

pub const UNIT_NAME: &str = "ollim-bot.service";

/// systemd's watchdog timeout. The process aborts itself after two thirds of it without an answer
/// of the event loop.
pub const WATCHDOG_SECONDS: u64 = 90;

/// The unit of one data directory.
#[derive(Clone, Debug)]
pub struct Unit {
    place: PathBuf,
    program: PathBuf,
    data: PathBuf,
    /// Environment variables of the service.
    environment: Vec<(&'static str, String)>,
}

/// The installed unit, and the data directory that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installation {
    NotInstalled,
    /// Installed for this data directory, or without naming one.
    Ours,
    /// Installed for another directory.
    Other(PathBuf),
}

/// The strictness of the unit's sandboxing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sandboxing {
    /// All restrictions.
    Full,
    /// Without those that need namespaces, which some machines do not allow to users.
    WithoutNamespaces,
}

impl Unit {
    /// Returns the unit for this program and data directory; `None` if the directory of units is
    /// unknown.
    pub fn for_directory(service: &ServiceSettings, paths: &Paths) -> Option<Self> {
        let place = service.unit_directory.clone()?.join(UNIT_NAME);
        let program = std::env::current_exe().ok()?;
        let surroundings = service.environment.clone();
        Some(Self { place, program, data: paths.root().to_owned(), environment: surroundings })
    }

    /// Returns the path of the unit file.
    pub fn place(&self) -> &Path {
        &self.place
    }

    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Returns whether the unit is installed. All data directories share one unit name, so it may
    /// belong to another one.
    pub fn installation(&self) -> Installation {
        if !self.place.exists() {
            return Installation::NotInstalled;
        }
        let text = std::fs::read_to_string(&self.place).unwrap_or_default();
        match data_directory_of(&text) {
            Some(other) if !is_same_directory(&other, &self.data) => Installation::Other(other),
            Some(_) | None => Installation::Ours,
        }
    }

    /// Returns the command of the service.
    pub fn command(&self) -> String {
        // `$` is special only in commands.
        let word = |path: &Path| quoted(&path.to_string_lossy()).replace('$', "$$");
        format!("{} --data-dir {} run --no-chat", word(&self.program), word(&self.data))
    }

    /// Returns the text of the unit file.
    pub fn text(&self, walls: Sandboxing) -> String {
        let mut text = format!(
            "# Written by `ollim-bot service install`, which also changes it.\n\
             [Unit]\n\
             Description=ollim-bot, a proactive assistant\n\
             # What may pass by itself, such as a full disk, is tried again for as long as it takes.\n\
             StartLimitIntervalSec=0\n\
             \n\
             [Service]\n\
             Type=notify\n\
             NotifyAccess=main\n\
             ExecStart={}\n\
             # What systemd should not try again: another one runs (75), a setting is wrong (78), a wrong line (2).\n\
             Restart=on-failure\n\
             RestartPreventExitStatus=2 75 78\n\
             RestartSec=10\n\
             WatchdogSec={WATCHDOG_SECONDS}\n\
             TimeoutStartSec=120\n\
             TimeoutStopSec=15\n\
             KillMode=mixed\n\
             UMask=0077\n\
             \n\
             NoNewPrivileges=yes\n\
             RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK\n\
             RestrictRealtime=yes\n\
             RestrictSUIDSGID=yes\n\
             LockPersonality=yes\n\
             SystemCallArchitectures=native\n\
             SystemCallFilter=~@mount @reboot @swap @module @raw-io @obsolete @clock @cpu-emulation\n\
             SystemCallErrorNumber=EPERM\n",
            self.command()
        );
        for (name, value) in &self.environment {
            let _ = writeln!(text, "Environment={}", quoted(&format!("{name}={value}")));
        }
        if walls == Sandboxing::Full {
            // A private /tmp would hide a data directory in /tmp.
            let own_tmp = !["/tmp", "/var/tmp"].iter().any(|tmp| self.data.starts_with(tmp));
            text.push_str(if own_tmp { "\nPrivateTmp=yes\n" } else { "\n" });
            text.push_str(
                "ProtectSystem=strict\n\
                 ProtectKernelTunables=yes\n\
                 ProtectControlGroups=yes\n\
                 ReadWritePaths=%h\n",
            );
            let _ = writeln!(text, "ReadWritePaths={}", quoted(&self.data.to_string_lossy()));
        }
        text.push_str("\n[Install]\nWantedBy=default.target\n");
        text
    }
}

/// Quotes `text` as a word of a unit file.
fn quoted(text: &str) -> String {
    let mut word = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => word.extend(['\\', letter]),
            '%' => word.push_str("%%"),
            _ => word.push(letter),
        }
    }
    word.push('"');
    word
}

/// Returns the data directory in the command of this unit.
fn data_directory_of(unit: &str) -> Option<PathBuf> {
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart="))?;
    let mut words = split_words(line)?.into_iter();
    words.find(|word| word == "--data-dir")?;
    words.next().map(PathBuf::from)
}

/// Splits a command into words; `None` if it contains specifiers or variables of systemd.
fn split_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => quoted = !quoted,
            '\\' => word.push(letters.next()?),
            '%' | '$' => word.push(letters.next().filter(|next| *next == letter)?),
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            letter => word.push(letter),
        }
    }
    words.push(word);
    Some(words)
}

/// Returns whether both paths lead to the same directory.
fn is_same_directory(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one == other || real(one) == real(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(data: &str) -> Unit {
        let surroundings = vec![("PATH", "/a b/100%:$X/bin".to_owned())];
        Unit {
            place: "/units/x".into(),
            program: "/usr/bin/true".into(),
            data: data.into(),
            environment: surroundings,
        }
    }

    /// `$` is doubled in commands, but not in lists of paths.
    #[test]
    fn paths_are_quoted_as_one_word() {
        let text = unit("/a b/\"c\"/%h/$X").text(Sandboxing::Full);
        let command = "ExecStart=\"/usr/bin/true\" --data-dir \"/a b/\\\"c\\\"/%%h/$$X\" run --no-chat";
        let path = "Environment=\"PATH=/a b/100%%:$X/bin\"";
        for line in [command, path, "ReadWritePaths=\"/a b/\\\"c\\\"/%%h/$X\""] {
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
        assert!(!unit("/x").text(Sandboxing::WithoutNamespaces).contains("PrivateTmp"));
    }

    /// A data directory below /tmp stays visible; all other restrictions apply.
    #[test]
    fn data_directory_below_tmp_stays_visible() {
        let lines = |data: &str| unit(data).text(Sandboxing::Full);
        assert!(lines("/srv/x").contains("\nPrivateTmp=yes\nProtectSystem=strict\n"));
        assert!(
            !lines("/tmp/x").contains("PrivateTmp") && lines("/tmp/x").contains("\nProtectSystem=strict\n")
        );
    }

    #[test]
    fn unit_names_its_data_directory() {
        let dir = tempfile::tempdir().unwrap();
        let at = |data: &Path| Unit { place: dir.path().join(UNIT_NAME), ..unit(data.to_str().unwrap()) };
        let real = dir.path().join("a \"b\" %h $X \\");
        let link = dir.path().join("link");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(at(&real).installation(), Installation::NotInstalled);
        std::fs::write(dir.path().join(UNIT_NAME), at(&real).text(Sandboxing::Full)).unwrap();
        for same in [&real, &link] {
            assert_eq!(at(same).installation(), Installation::Ours);
        }
        assert_eq!(at(Path::new("/elsewhere")).installation(), Installation::Other(real.clone()));
        for by_hand in ["", "ExecStart=ollim-bot run\n", "ExecStart=ollim-bot --data-dir %h/x run\n"] {
            std::fs::write(dir.path().join(UNIT_NAME), by_hand).unwrap();
            assert_eq!(at(&real).installation(), Installation::Ours, "{by_hand}");
        }
    }

    /// H2: A failing start is repeated without a limit.
    #[test]
    fn failing_start_is_repeated_without_limit() {
        let lines = unit("/x").text(Sandboxing::Full);
        for line in ["StartLimitIntervalSec=0", "Restart=on-failure", "RestartSec=10"] {
            assert!(lines.lines().any(|it| it == line), "{line}: {lines}");
        }
        assert!(!lines.contains("StartLimitBurst"), "nobody counts");
    }

    /// `systemd-analyze verify` reports nothing about the unit.
    #[test]
    #[ignore = "needs systemd-analyze (Debian: systemd)"]
    fn systemd_accepts_the_unit() {
        let dir = tempfile::tempdir().unwrap();
        for walls in [Sandboxing::Full, Sandboxing::WithoutNamespaces] {
            let place = dir.path().join(UNIT_NAME);
            std::fs::write(&place, unit("/tmp").text(walls)).unwrap();
            let analyze =
                std::process::Command::new("systemd-analyze").args(["verify", "--user"]).arg(&place).output();
            let told = analyze.expect("systemd-analyze");
            let told = String::from_utf8_lossy(&told.stderr).into_owned();
            let about_us: Vec<_> = told.lines().filter(|line| line.contains(UNIT_NAME)).collect();
            assert!(about_us.is_empty(), "{told}");
        }
    }
}
