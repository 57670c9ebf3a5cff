//! A program with webhooks, calls to it, and its journal.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rusqlite::Connection;
use testkit::process::{Program, RunningProgram, free_port};

pub const BINARY: &str = env!("CARGO_BIN_EXE_ollim-bot");

pub const VERBATIM_WEBHOOK: &str = "---\nid: bell\nfields:\n  type: object\n  required: [door]\n  properties:\n    door: {type: string, \
    enum: [front, garden]}\ndeliver: \"somebody rang at the {door} door\"\n---\n";
pub const CHECKED_WEBHOOK: &str = "---\nid: ci\nfields:\n  type: object\n  required: [title]\n  properties:\n    title: {type: \
    string}\nisolated: true\nupdate-main-session: freely\n---\nLook at {title}.\n";

/// A program, and its webhook port.
pub struct Rig {
    pub program: Program,
    pub port: u16,
}

impl Rig {
    pub fn new(mut program: Program) -> Self {
        let port = free_port();
        program.set_env("WEBHOOK_PORT", &port.to_string()).set_env("WEBHOOK_SECRET", "sesame");
        let rig = Self { program, port };
        rig.write("webhooks/bell.md", VERBATIM_WEBHOOK);
        rig.write("webhooks/ci.md", CHECKED_WEBHOOK);
        rig
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.program.data().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let opened =
            std::fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path);
        opened.and_then(|mut file| file.write_all(text.as_bytes())).unwrap();
    }

    /// Returns status and body of a call, or None if the connection fails.
    pub fn call(&self, id: &str, headers: &[(&str, &str)], body: &str) -> Option<(u16, String)> {
        testkit::process::call_webhook(self.port, id, headers, body)
    }

    /// Like `call`, with the secret and `number` as idempotency key.
    pub fn deliver(&self, id: &str, number: &str, body: &str) -> Option<u16> {
        let headers = [("authorization", "Bearer sesame"), ("idempotency-key", number)];
        self.call(id, &headers, body).map(|(status, _)| status)
    }

    pub fn count(&self, sql: &str) -> i64 {
        count(self.program.data(), sql)
    }

    /// Waits until all deliveries are processed.
    pub fn wait_until_idle(&self, running: &RunningProgram) {
        for _ in 0..20_000 {
            // The answer comes after all earlier decisions.
            running.command("/status").expect("it runs");
            if self.count("SELECT count(*) FROM deliveries") == 0 {
                return;
            }
        }
        panic!("it does not come to rest: {}", running.log());
    }
}

pub fn count(data: &Path, sql: &str) -> i64 {
    let journal = Connection::open(data.join("state/journal.db")).expect("a log");
    journal.query_row(sql, [], |row| row.get(0)).expect("a count")
}
