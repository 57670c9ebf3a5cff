//! A real Dovecot server on loopback, with a mailbox in a temporary directory.
//!
//! It runs unprivileged: as the user who runs the test, or as the system user `nobody` if that is
//! root, because Dovecot does not serve mail to root. The mailbox consists of plain files, so a
//! test sees what a client has changed.

#![expect(
    clippy::expect_used,
    reason = "a fixture that cannot be made stops the test at once, with its reason"
)]

use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes};
use std::net::TcpStream;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use rustix::process::{Pid, Signal, getgid, getuid, kill_process};
use tempfile::TempDir;

use crate::process::{block_on, free_port};

/// The user name of the mailbox.
pub const USER: &str = "ann@example.org";
/// The password of the mailbox.
pub const PASSWORD: &str = "c0rrect \"hörse\" canary";

/// The usual paths of the program; Debian's is not in every `PATH`.
const PROGRAM_PATHS: [&str; 3] = ["/usr/sbin/dovecot", "/usr/local/sbin/dovecot", "/usr/bin/dovecot"];
/// The id of the system user `nobody`, used when the test runs as root.
const NOBODY_ID: u32 = 65_534;

/// A running Dovecot. Dropping it stops the process.
pub struct Dovecot {
    dir: TempDir,
    child: Child,
    /// The port for plain connections and STARTTLS.
    pub port: u16,
    /// The port for TLS connections.
    pub tls_port: u16,
}

impl Dovecot {
    /// Starts a server whose mailbox was filled by `fill`.
    ///
    /// # Panics
    /// If Dovecot is not installed: the tests cannot pass without it.
    pub fn start(fill: impl FnOnce(&Maildir)) -> Self {
        let dir = tempfile::tempdir().expect("a place");
        let program = PROGRAM_PATHS.iter().find(|dir| Path::new(dir).exists());
        let program = program.expect("Dovecot (Debian: dovecot-imapd); `cargo xtask test` installs it");
        let port = free_port();
        let tls_port = free_port();
        create_certificate(dir.path());
        let maildir = Maildir(dir.path().join("mail"));
        maildir.create_folder("");
        fill(&maildir);
        let config = dir.path().join("dovecot.conf");
        let (user, group) = user_and_group();
        fs::write(&config, config_text(dir.path(), &user, &group, port, tls_port)).expect("a file");
        fs::write(dir.path().join("users"), format!("{USER}:{{PLAIN}}{PASSWORD}::::::\n")).expect("a file");
        let mut command = Command::new(program);
        command.arg("-F").arg("-c").arg(&config).stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(File::create(dir.path().join("stderr")).expect("a file"));
        if getuid().is_root() {
            chown_recursively(dir.path());
            command.uid(NOBODY_ID).gid(NOBODY_ID);
        }
        let child = command.spawn().expect("Dovecot starts");
        let mut dovecot = Self { dir, child, port, tls_port };
        dovecot.wait_until_ready();
        dovecot
    }

    pub fn maildir(&self) -> Maildir {
        Maildir(self.dir.path().join("mail"))
    }

    /// Returns the path of the server's certificate.
    pub fn certificate(&self) -> PathBuf {
        self.dir.path().join("cert.pem")
    }

    /// Waits until the port accepts connections.
    fn wait_until_ready(&mut self) {
        block_on(async {
            while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
                if let Ok(Some(status)) = self.child.try_wait() {
                    let stderr = fs::read_to_string(self.dir.path().join("stderr")).unwrap_or_default();
                    let log = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
                    panic!("Dovecot ended with {status}: {stderr}{log}");
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
    }
}

impl Drop for Dovecot {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

/// A mailbox in the file system.
pub struct Maildir(PathBuf);

impl Maildir {
    /// Creates a folder by its IMAP name; an empty name is the inbox.
    ///
    /// # Panics
    /// If the directory cannot be created.
    pub fn create_folder(&self, folder: &str) {
        for part in ["cur", "new", "tmp"] {
            fs::create_dir_all(self.folder(folder).join(part)).expect("a folder");
        }
    }

    /// Adds an unread message to a folder, dated `seconds` after the beginning of 2026.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn add_message(&self, folder: &str, name: &str, seconds: u64, message: &[u8]) {
        let path = self.folder(folder).join(name);
        fs::write(&path, message).expect("a letter");
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600 + seconds);
        let file = File::options().write(true).open(&path).expect("a letter");
        file.set_times(FileTimes::new().set_modified(at)).expect("a date");
    }

    /// Returns the files of all messages; their names contain the flags.
    pub fn message_files(&self) -> BTreeSet<PathBuf> {
        let mut files = BTreeSet::new();
        collect_message_files(&self.0, &mut files);
        files
    }

    fn folder(&self, folder: &str) -> PathBuf {
        match folder {
            "" => self.0.clone(),
            folder => self.0.join(format!(".{folder}")),
        }
    }
}

fn collect_message_files(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let inside = path.parent().is_some_and(|above| above.ends_with("cur") || above.ends_with("new"));
        match path.is_dir() {
            true => collect_message_files(&path, files),
            false if inside => drop(files.insert(path)),
            false => {}
        }
    }
}

/// Returns the names of the user and group that run the server.
fn user_and_group() -> (String, String) {
    let (user, group) =
        if getuid().is_root() { (NOBODY_ID, NOBODY_ID) } else { (getuid().as_raw(), getgid().as_raw()) };
    let name = |database: &str, id: u32| {
        let output = Command::new("getent").args([database, &id.to_string()]).output().expect("getent");
        let line = String::from_utf8_lossy(&output.stdout).into_owned();
        line.split(':').next().unwrap_or_default().to_owned()
    };
    (name("passwd", user), name("group", group))
}

/// Changes the owner of a directory tree to `nobody`.
fn chown_recursively(place: &Path) {
    chown(place, Some(NOBODY_ID), Some(NOBODY_ID)).expect("root may");
    if place.is_dir() {
        for entry in fs::read_dir(place).expect("a folder").flatten() {
            chown_recursively(&entry.path());
        }
    }
}

/// Creates a self-signed certificate for localhost.
fn create_certificate(place: &Path) {
    let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
                 -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE \
                 -keyout key.pem -out cert.pem";
    let made = Command::new("openssl").args(arguments.split_whitespace()).current_dir(place).output();
    let made = made.expect("openssl, which comes with Dovecot");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

fn config_text(place: &Path, user: &str, group: &str, port: u16, tls_port: u16) -> String {
    let place = place.display();
    format!(
        "base_dir = {place}/run
state_dir = {place}/state
log_path = {place}/log
protocols = imap
listen = 127.0.0.1
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
mail_location = maildir:{place}/mail
first_valid_uid = 1
ssl = yes
ssl_cert = <{place}/cert.pem
ssl_key = <{place}/key.pem
passdb {{
  driver = passwd-file
  args = {place}/users
}}
userdb {{
  driver = static
  args = uid={user} gid={group} home={place}/home
}}
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Trash {{
    special_use = \\Trash
  }}
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
}}
"
    )
}
