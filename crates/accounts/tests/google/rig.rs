//! A Google account with a fake server, files in memory and a fixed clock.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accounts::google::{Addresses, File, Google, Keep};
use engine::ports::Clock;
use jiff::Zoned;
use serde_json::{Value, json};
use testkit::google::{CLIENT, CLIENT_SECRET, Fault, GoogleServer};

/// The initially valid refresh token.
pub const REFRESH: &str = "1//refresh-canary";
/// The initially valid access token.
pub const ACCESS: &str = "ya29.access-canary";

pub struct Rig {
    pub server: GoogleServer,
    pub files: Arc<Files>,
    pub google: Google,
}

pub struct Still;

impl Clock for Still {
    fn now(&self) -> Zoned {
        "2026-11-16T08:00[Europe/Madrid]".parse().unwrap()
    }

    fn boot(&self) -> Duration {
        Duration::ZERO
    }
}

#[derive(Default)]
pub struct Files(Mutex<BTreeMap<&'static str, Vec<u8>>>);

impl Files {
    pub fn get(&self, file: File) -> Option<String> {
        let bytes = self.0.lock().unwrap().get(file.name()).cloned()?;
        Some(String::from_utf8(bytes).unwrap())
    }

    pub fn put(&self, file: File, text: &str) {
        self.0.lock().unwrap().insert(file.name(), text.as_bytes().to_vec());
    }

    pub fn token(&self) -> Value {
        serde_json::from_str(&self.get(File::Token).expect("a token")).unwrap()
    }
}

impl Keep for Files {
    fn read(&self, file: File) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap().get(file.name()).cloned())
    }

    fn replace(&self, file: File, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().insert(file.name(), bytes.to_vec());
        Ok(())
    }

    fn remove(&self, file: File) -> io::Result<()> {
        self.0.lock().unwrap().remove(file.name());
        Ok(())
    }

    fn place(&self, file: File) -> PathBuf {
        PathBuf::from("state").join(file.name())
    }
}

impl Rig {
    /// An unconnected account with a client that could connect it.
    pub async fn apart() -> Self {
        let server = GoogleServer::start().await.expect("a port");
        let files = Arc::new(Files::default());
        let client = json!({ "installed": { "client_id": CLIENT, "client_secret": CLIENT_SECRET,
            "token_uri": "https://elsewhere.example/token" } });
        files.put(File::Credentials, &client.to_string());
        let keep: Arc<dyn Keep> = Arc::<Files>::clone(&files);
        let addresses = Addresses::played_at(&server.url()).unwrap();
        let google = Google::new(addresses, keep, Arc::new(Still)).unwrap();
        Self { server, files, google }
    }

    /// A connected account with a token that is valid for an hour.
    pub async fn connected() -> Self {
        let rig = Self::apart().await;
        rig.server.world().access.push(ACCESS.to_owned());
        rig.server.world().refresh.push(REFRESH.to_owned());
        rig.hold("2026-11-16T08:00:00Z");
        rig
    }

    /// Stores a token that expires at `expiry`.
    pub fn hold(&self, expiry: &str) {
        let token = json!({ "token": ACCESS, "refresh_token": REFRESH, "client_id": CLIENT,
            "client_secret": CLIENT_SECRET, "scopes": ["a"], "expiry": expiry });
        self.files.put(File::Token, &token.to_string());
    }

    /// Makes the next request to a path containing `path` fail.
    pub fn fail(&self, path: &'static str, status: u16, body: &str) {
        let fault = Fault { path, status, retry_after: None, body: body.to_owned() };
        self.server.world().faults.push_back(fault);
    }

    /// Returns the requested paths, oldest first.
    pub fn asked(&self) -> Vec<String> {
        self.server
            .world()
            .requests
            .iter()
            .map(|request| format!("{} {}", request.method, request.path))
            .collect()
    }
}
