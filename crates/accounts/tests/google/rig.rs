//! A Google account with a fake server, files in memory and a fixed clock.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accounts::google::{Endpoints, Google, GoogleFile, GoogleFileStore};
use engine::ports::Clock;
use jiff::Zoned;
use serde_json::{Value, json};
use testkit::google::{CLIENT, CLIENT_SECRET, GoogleFault, GoogleServer};

/// The initially valid refresh token.
pub const REFRESH: &str = "1//refresh-canary";
/// The initially valid access token.
pub const ACCESS: &str = "ya29.access-canary";

pub struct Rig {
    pub server: GoogleServer,
    pub files: Arc<MemoryFiles>,
    pub google: Google,
}

pub struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Zoned {
        "2026-11-16T08:00[Europe/Madrid]".parse().unwrap()
    }

    fn since_boot(&self) -> Duration {
        Duration::ZERO
    }
}

#[derive(Default)]
pub struct MemoryFiles(Mutex<BTreeMap<&'static str, Vec<u8>>>);

impl MemoryFiles {
    pub fn get(&self, file: GoogleFile) -> Option<String> {
        let bytes = self.0.lock().unwrap().get(file.name()).cloned()?;
        Some(String::from_utf8(bytes).unwrap())
    }

    pub fn put(&self, file: GoogleFile, text: &str) {
        self.0.lock().unwrap().insert(file.name(), text.as_bytes().to_vec());
    }

    pub fn token(&self) -> Value {
        serde_json::from_str(&self.get(GoogleFile::Token).expect("a token")).unwrap()
    }
}

impl GoogleFileStore for MemoryFiles {
    fn read(&self, file: GoogleFile) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap().get(file.name()).cloned())
    }

    fn replace(&self, file: GoogleFile, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().insert(file.name(), bytes.to_vec());
        Ok(())
    }

    fn remove(&self, file: GoogleFile) -> io::Result<()> {
        self.0.lock().unwrap().remove(file.name());
        Ok(())
    }

    fn display_path(&self, file: GoogleFile) -> PathBuf {
        PathBuf::from("state").join(file.name())
    }
}

impl Rig {
    /// An unconnected account with a client that could connect it.
    pub async fn disconnected() -> Self {
        let server = GoogleServer::start().await.expect("a port");
        let files = Arc::new(MemoryFiles::default());
        let client = json!({ "installed": { "client_id": CLIENT, "client_secret": CLIENT_SECRET,
            "token_uri": "https://elsewhere.example/token" } });
        files.put(GoogleFile::Credentials, &client.to_string());
        let keep: Arc<dyn GoogleFileStore> = Arc::<MemoryFiles>::clone(&files);
        let addresses = Endpoints::fake_at(&server.url()).unwrap();
        let google = Google::new(addresses, keep, Arc::new(FixedClock)).unwrap();
        Self { server, files, google }
    }

    /// A connected account with a token that is valid for an hour.
    pub async fn connected() -> Self {
        let rig = Self::disconnected().await;
        rig.server.account().access_tokens.push(ACCESS.to_owned());
        rig.server.account().refresh_tokens.push(REFRESH.to_owned());
        rig.store_token("2026-11-16T08:00:00Z");
        rig
    }

    /// Stores a token that expires at `expiry`.
    pub fn store_token(&self, expiry: &str) {
        let token = json!({ "token": ACCESS, "refresh_token": REFRESH, "client_id": CLIENT,
            "client_secret": CLIENT_SECRET, "scopes": ["a"], "expiry": expiry });
        self.files.put(GoogleFile::Token, &token.to_string());
    }

    /// Makes the next request to a path containing `path` fail.
    pub fn fail(&self, path: &'static str, status: u16, body: &str) {
        let fault = GoogleFault { path, status, retry_after: None, body: body.to_owned() };
        self.server.account().faults.push_back(fault);
    }

    /// Returns the requested paths, oldest first.
    pub fn request_paths(&self) -> Vec<String> {
        self.server
            .account()
            .requests
            .iter()
            .map(|request| format!("{} {}", request.method, request.path))
            .collect()
    }
}
