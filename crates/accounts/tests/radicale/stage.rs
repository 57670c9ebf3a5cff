//! A Radicale server per test: on a free local port, with a temporary folder, stopped with the
//! test.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use accounts::caldav::{CalDavCalendar, CalDavSettings, CalDavTasks, Limits, PasswordSource};
use engine::ports::Clock;
use jiff::Zoned;
use reqwest::{Client, Method};
use tempfile::TempDir;

/// A server with one user.
pub struct RadicaleServer {
    server: Child,
    url: String,
    client: Client,
    folder: TempDir,
}

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Zoned {
        "2026-11-16T12:00[Europe/Berlin]".parse().unwrap()
    }

    fn since_boot(&self) -> Duration {
        Duration::ZERO
    }
}

#[expect(clippy::disallowed_methods, reason = "only the environment contains the location")]
fn python() -> PathBuf {
    match std::env::var_os("OLLIM_TEST_RADICALE") {
        Some(path) => path.into(),
        None => panic!("set OLLIM_TEST_RADICALE to a python that has radicale, or run `cargo xtask test`"),
    }
}

impl RadicaleServer {
    /// Starts a server with two calendars for events and one for tasks.
    pub async fn new() -> Self {
        // In memory if possible, because Radicale syncs every file to disk.
        let memory = Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        std::fs::write(folder.path().join("users"), "me:secret\n").unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let mut server = Command::new(python())
            .args(["-m", "radicale", "--config", "", "--logging-level", "info"])
            .args(["--server-hosts", &format!("127.0.0.1:{port}")])
            .args(["--storage-filesystem-folder", &path("data"), "--auth-type", "htpasswd"])
            .args(["--auth-htpasswd-filename", &path("users"), "--auth-htpasswd-encryption", "plain"])
            .args(["--server-max-content-length", "100000000", "--auth-delay", "0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(server.stderr.take().unwrap()).lines();
        let ready = log.by_ref().any(|line| line.unwrap().contains("server ready"));
        assert!(ready, "Radicale ended before it listened");
        // The log must be read, or the server would block on it.
        std::thread::spawn(move || log.count());
        let url = format!("http://127.0.0.1:{port}");
        let client = wire::build_client(&url.parse().unwrap(), |builder| builder).unwrap();
        let stage = Self { server, url, client, folder };
        for (folder, name, kind) in
            [("yonder", "Empty", "VEVENT"), ("work", "My work", "VEVENT"), ("todo", "To do", "VTODO")]
        {
            stage.make_calendar(folder, name, kind).await;
        }
        stage
    }

    async fn make_calendar(&self, folder: &str, name: &str, kind: &str) {
        let body = format!(
            "<C:mkcalendar xmlns:D=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:caldav\"><D:set><D:prop>\
             <D:displayname>{name}</D:displayname><C:supported-calendar-component-set><C:comp name=\"{kind}\"/>\
             </C:supported-calendar-component-set></D:prop></D:set></C:mkcalendar>"
        );
        self.send("MKCALENDAR", &format!("{folder}/"), &body).await;
    }

    /// Sends a request as another client.
    async fn send(&self, method: &str, path: &str, body: &str) -> String {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request =
            self.client.request(method, format!("{}/me/{path}", self.url)).basic_auth("me", Some("secret"));
        let response =
            request.header("Content-Type", "text/calendar").body(body.to_owned()).send().await.unwrap();
        assert!(response.status().is_success(), "{path}: {}", response.status());
        response.text().await.unwrap()
    }

    /// Puts an object as another client.
    pub async fn put_object(&self, path: &str, object: &str) {
        self.send("PUT", path, object).await;
    }

    /// Writes many objects directly to the storage.
    pub fn write_objects(&self, calendar: &str, objects: impl Iterator<Item = (String, String)>) {
        let place = self.folder.path().join("data/collection-root/me").join(calendar);
        for (name, object) in objects {
            std::fs::write(place.join(name), object).unwrap();
        }
    }

    /// Reads an object as another client.
    pub async fn get_object(&self, path: &str) -> String {
        self.send("GET", path, "").await
    }

    fn settings(&self, path: &str, name: Option<&str>) -> CalDavSettings {
        CalDavSettings {
            url: format!("{}{path}", self.url),
            user: "me".into(),
            password: PasswordSource::from_fn(|| "secret".into()),
            name: name.map(str::to_owned),
            limits: Limits { timeout: Duration::from_secs(600), ..Limits::DEFAULT },
        }
    }

    /// Creates a client of the calendar `work`.
    pub fn calendar(&self) -> CalDavCalendar {
        self.calendar_at("", Some("work"))
    }

    pub fn calendar_at(&self, path: &str, name: Option<&str>) -> CalDavCalendar {
        CalDavCalendar::new(self.settings(path, name), Arc::new(FixedClock)).unwrap()
    }

    /// Creates a client with this response limit.
    pub fn calendar_with_limit(&self, max_response_bytes: usize) -> CalDavCalendar {
        let mut settings = self.settings("", Some("work"));
        settings.limits.max_response_bytes = max_response_bytes;
        CalDavCalendar::new(settings, Arc::new(FixedClock)).unwrap()
    }

    /// Creates a client with a wrong password.
    pub fn calendar_with_wrong_password(&self) -> CalDavCalendar {
        let settings = CalDavSettings {
            password: PasswordSource::from_fn(|| "guess".into()),
            ..self.settings("", None)
        };
        CalDavCalendar::new(settings, Arc::new(FixedClock)).unwrap()
    }

    pub fn tasks(&self) -> CalDavTasks {
        CalDavTasks::new(self.settings("", None), Arc::new(FixedClock)).unwrap()
    }
}

impl Drop for RadicaleServer {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
