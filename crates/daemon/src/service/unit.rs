//! The unit: what systemd is told about us, and where.
//!
//! What is shut off here is shut off for everything we start, so nothing may be that our own cage for commands, the
//! claude program or servers of others need: they make their own memory executable (no `MemoryDenyWriteExecute`), and
//! they live in the human's home (no `ProtectHome`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::settings::Settings;

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
    pub fn of(settings: &Settings) -> Option<Self> {
        let place = settings.places.service.units.clone()?.join(NAME);
        let program = std::env::current_exe().ok()?;
        Some(Self { place, program, data: settings.paths.root().to_owned() })
    }

    /// Where it is.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Whether it is there.
    pub fn is_installed(&self) -> bool {
        self.place.exists()
    }

    /// The command that a service runs.
    pub fn command(&self) -> String {
        format!("{} --data-dir {} run --no-chat", quoted(&self.program), quoted(&self.data))
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
        if walls == Walls::Whole {
            text.push_str(
                "\n\
                 PrivateTmp=yes\n\
                 ProtectSystem=strict\n\
                 ProtectKernelTunables=yes\n\
                 ProtectControlGroups=yes\n\
                 ReadWritePaths=%h\n",
            );
            let _ = writeln!(text, "ReadWritePaths={}", quoted(&self.data));
        }
        text.push_str("\n[Install]\nWantedBy=default.target\n");
        text
    }
}

/// `path` as a word of a unit.
fn quoted(path: &Path) -> String {
    let mut word = String::from("\"");
    for letter in path.to_string_lossy().chars() {
        match letter {
            '"' | '\\' => word.extend(['\\', letter]),
            '%' | '$' => word.extend([letter, letter]),
            _ => word.push(letter),
        }
    }
    word.push('"');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(data: &str) -> Unit {
        Unit { place: "/units/x".into(), program: "/usr/bin/true".into(), data: data.into() }
    }

    #[test]
    fn a_path_is_one_word_whatever_is_in_it() {
        assert_eq!(quoted(Path::new("/a b/\"c\"/%h/$X")), "\"/a b/\\\"c\\\"/%%h/$$X\"");
        let text = unit("/a b/c").text(Walls::Whole);
        assert!(text.contains("ExecStart=\"/usr/bin/true\" --data-dir \"/a b/c\" run --no-chat\n"), "{text}");
        assert!(!unit("/x").text(Walls::WithoutNamespaces).contains("PrivateTmp"));
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
