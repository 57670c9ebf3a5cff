//! The program with an account at a fake Google server.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use serde_json::json;
use testkit::google::{BackgroundGoogleServer, CLIENT, CLIENT_SECRET};
use testkit::process::Program;

pub const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");
pub const ACCESS: &str = "ya29.access-canary";
pub const REFRESH: &str = "1//refresh-canary";

/// Writes a private file into `state/`.
pub fn write_state_file(program: &Program, name: &str, text: &str) {
    let state = program.data().join("state");
    DirBuilder::new().recursive(true).mode(0o700).create(&state).expect("a directory");
    write_private_file(&state.join(name), text);
}

pub fn write_private_file(path: &Path, text: &str) {
    let file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).expect("a file");
}

/// Creates a program with a client file but no token.
pub fn with_client_only() -> (BackgroundGoogleServer, Program) {
    let google = BackgroundGoogleServer::start();
    let mut program = Program::offline(BINARY);
    program.set_env("OLLIM_GOOGLE_BASE", &google.server().url());
    let client = json!({ "installed": { "client_id": CLIENT, "client_secret": CLIENT_SECRET } });
    write_state_file(&program, "credentials.json", &client.to_string());
    (google, program)
}

/// Creates a program with a client file and a valid token.
pub fn connected_account() -> (BackgroundGoogleServer, Program) {
    let (google, program) = with_client_only();
    google.server().account().access_tokens.push(ACCESS.to_owned());
    google.server().account().refresh_tokens.push(REFRESH.to_owned());
    let token = json!({ "token": ACCESS, "refresh_token": REFRESH, "expiry": "2100-01-01T00:00:00Z" });
    write_state_file(&program, "token.json", &token.to_string());
    (google, program)
}
