//! The unit: what systemd is told about us, and where.
//!
//! What is shut off here is shut off for everything we start, so nothing may be that our own cage for commands, the
//! claude program or servers of others need: they make their own memory executable (no `MemoryDenyWriteExecute`), and
//! they live in the human's home (no `ProtectHome`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use journal::Paths;

use crate::settings::Service;

/// What it is called.
pub const NAME: &str = "ollim-bot.service";

/// How long systemd waits for a sign of life. After two thirds of it without a beat of the loop we end ourselves.
pub const WATCHDOG_SECONDS: u64 = 90;

/// A unit, and where it belongs.
#[derive(Clone, Debug)]
pub struct Unit {
    place: PathBuf,
    program: PathBuf,
    data: PathBuf,
    /// Variables that it begins with.
    surroundings: Vec<(&'static str, String)>,
}

/// Whether a service is installed, and whose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// There is none.
    No,
    /// There is one for our data directory, or one that does not say for which.
    Ours,
    /// There is one for this other directory.
    Other(PathBuf),
}

/// How much of the machine is shut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walls {
    /// All that can be.
    Whole,
    /// What needs no namespaces, for machines on which people may not make those.
    WithoutNamespaces,
}

impl Unit {
    /// The unit for this program and this data directory; nothing, if nobody knows where such things are kept.
    pub fn of(service: &Service, paths: &Paths) -> Option<Self> {
        let place = service.units.clone()?.join(NAME);
        let program = std::env::current_exe().ok()?;
        let surroundings = service.surroundings.clone();
        Some(Self { place, program, data: paths.root().to_owned(), surroundings })
    }

    /// Where it is.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Whether it is there: all directories share one name for it, so the one that is there may be another's.
    pub fn installed(&self) -> Installed {
        if !self.place.exists() {
            return Installed::No;
        }
        let text = std::fs::read_to_string(&self.place).unwrap_or_default();
        match data_of(&text) {
            Some(other) if !is_same(&other, &self.data) => Installed::Other(other),
            Some(_) | None => Installed::Ours,
        }
    }

    /// The command that a service runs.
    pub fn command(&self) -> String {
        // Only in a command a dollar means something.
        let word = |path: &Path| quoted(&path.to_string_lossy()).replace('$', "$$");
        format!("{} --data-dir {} run --no-chat", word(&self.program), word(&self.data))
    }

    /// What systemd reads.
    pub fn text(&self, walls: Walls) -> String {
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
        for (name, value) in &self.surroundings {
            let _ = writeln!(text, "Environment={}", quoted(&format!("{name}={value}")));
        }
        if walls == Walls::Whole {
            // With a /tmp of its own it would not see a directory that lies there.
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

/// `text` as a word of a unit.
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

/// The data directory that the command of this unit names.
fn data_of(unit: &str) -> Option<PathBuf> {
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart="))?;
    let mut words = words(line)?.into_iter();
    words.find(|word| word == "--data-dir")?;
    words.next().map(PathBuf::from)
}

/// The words of a command; nothing, if there is anything in it that only systemd knows the meaning of.
fn words(line: &str) -> Option<Vec<String>> {
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

/// Whether both are the same directory, by whichever way one comes there.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one == other || real(one) == real(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(data: &str) -> Unit {
        let surroundings = vec![("PATH", "/a b/100%:$X/bin".to_owned())];
        Unit { place: "/units/x".into(), program: "/usr/bin/true".into(), data: data.into(), surroundings }
    }

    /// A dollar means something in a command, and nothing in a list of paths.
    #[test]
    fn a_path_is_one_word_whatever_is_in_it() {
        let text = unit("/a b/\"c\"/%h/$X").text(Walls::Whole);
        let command = "ExecStart=\"/usr/bin/true\" --data-dir \"/a b/\\\"c\\\"/%%h/$$X\" run --no-chat";
        let path = "Environment=\"PATH=/a b/100%%:$X/bin\"";
        for line in [command, path, "ReadWritePaths=\"/a b/\\\"c\\\"/%%h/$X\""] {
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
        assert!(!unit("/x").text(Walls::WithoutNamespaces).contains("PrivateTmp"));
    }

    /// Whoever lies in the directory for what is fleeting keeps it, with all other walls.
    #[test]
    fn a_directory_below_tmp_is_seen_by_the_service() {
        let lines = |data: &str| unit(data).text(Walls::Whole);
        assert!(lines("/srv/x").contains("\nPrivateTmp=yes\nProtectSystem=strict\n"));
        assert!(
            !lines("/tmp/x").contains("PrivateTmp") && lines("/tmp/x").contains("\nProtectSystem=strict\n")
        );
    }

    #[test]
    fn a_unit_says_for_which_directory_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let at = |data: &Path| Unit { place: dir.path().join(NAME), ..unit(data.to_str().unwrap()) };
        let real = dir.path().join("a \"b\" %h $X \\");
        let link = dir.path().join("link");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(at(&real).installed(), Installed::No);
        std::fs::write(dir.path().join(NAME), at(&real).text(Walls::Whole)).unwrap();
        for same in [&real, &link] {
            assert_eq!(at(same).installed(), Installed::Ours);
        }
        assert_eq!(at(Path::new("/elsewhere")).installed(), Installed::Other(real.clone()));
        for by_hand in ["", "ExecStart=ollim-bot run\n", "ExecStart=ollim-bot --data-dir %h/x run\n"] {
            std::fs::write(dir.path().join(NAME), by_hand).unwrap();
            assert_eq!(at(&real).installed(), Installed::Ours, "{by_hand}");
        }
    }

    /// H2: whatever may pass by itself, the service waits for it, however long that takes.
    #[test]
    fn a_start_that_fails_is_tried_again_for_ever_and_in_peace() {
        let lines = unit("/x").text(Walls::Whole);
        for line in ["StartLimitIntervalSec=0", "Restart=on-failure", "RestartSec=10"] {
            assert!(lines.lines().any(|it| it == line), "{line}: {lines}");
        }
        assert!(!lines.contains("StartLimitBurst"), "nobody counts");
    }

    /// What systemd itself says about the unit is nothing.
    #[test]
    #[ignore = "needs systemd-analyze (Debian: systemd)"]
    fn systemd_has_nothing_to_say_against_the_unit() {
        let dir = tempfile::tempdir().unwrap();
        for walls in [Walls::Whole, Walls::WithoutNamespaces] {
            let place = dir.path().join(NAME);
            std::fs::write(&place, unit("/tmp").text(walls)).unwrap();
            let analyze =
                std::process::Command::new("systemd-analyze").args(["verify", "--user"]).arg(&place).output();
            let told = analyze.expect("systemd-analyze");
            let told = String::from_utf8_lossy(&told.stderr).into_owned();
            let about_us: Vec<_> = told.lines().filter(|line| line.contains(NAME)).collect();
            assert!(about_us.is_empty(), "{told}");
        }
    }
}
