//! The vendor clients, configured for a local server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::Model;
use models::anthropic::{self, Anthropic};
use models::claude::{
    self as program, Callbacks, Claude, Environment, InMemorySessions, ParentDeathGuard, ProgramTimeouts,
    RuntimeSettings,
};
use models::openai::{self, OpenAi};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(600);

/// Creates our client of the Messages API.
pub fn anthropic(url: &str) -> Arc<dyn Model> {
    let model = Anthropic::new(anthropic::Settings {
        base_url: url.to_owned(),
        key: anthropic::ApiKey::new("sk-test"),
        model: "claude-test-1".to_owned(),
        max_tokens: 1024,
        connect: CONNECT_TIMEOUT,
        stall: STALL_TIMEOUT,
        total: TOTAL_TIMEOUT,
        store: None,
    });
    Arc::new(model.expect("a client"))
}

/// Creates our client of chat completions.
pub fn openai(url: &str) -> Arc<dyn Model> {
    let model = OpenAi::new(openai::Settings {
        base_url: url.to_owned(),
        key: openai::ApiKey::new("sk-test"),
        model: "test-1".to_owned(),
        max_tokens: 1024,
        connect: CONNECT_TIMEOUT,
        stall: STALL_TIMEOUT,
        total: TOTAL_TIMEOUT,
    });
    Arc::new(model.expect("a client"))
}

/// Runs the Claude Code program with its own home directory. Its session data survives a simulated
/// crash, as on disk.
pub fn claude() -> impl Fn(&str) -> Arc<dyn Model> {
    let home = tempfile::tempdir().expect("a home");
    let sessions = Arc::new(InMemorySessions::default());
    move |url| {
        let mut environment = Environment::default();
        environment.set("PATH", "/usr/bin:/bin");
        environment.set("HOME", home.path().display().to_string());
        environment.set("ANTHROPIC_BASE_URL", url);
        environment.set("ANTHROPIC_API_KEY", "sk-test");
        // The story decides about retries.
        environment.set("CLAUDE_CODE_MAX_RETRIES", "0");
        let model = Some("claude-test-1".to_owned());
        let settings = program::Settings {
            program: program_path(),
            working_dir: home.path().to_owned(),
            environment,
            runtime: RuntimeSettings { model, ..RuntimeSettings::default() },
            own_tools: Vec::new(),
            timeouts: ProgramTimeouts::default(),
            parent_death: ParentDeathGuard::None,
        };
        let company = Callbacks { sessions: sessions.clone(), ..Callbacks::default() };
        Arc::new(Claude::new(settings, company).expect("a program"))
    }
}

/// Returns the program's path, which `cargo xtask test` sets.
#[expect(clippy::disallowed_methods, reason = "the path is known only from the environment")]
fn program_path() -> PathBuf {
    match std::env::var_os("OLLIM_TEST_CLAUDE") {
        Some(path) => path.into(),
        None => panic!("set OLLIM_TEST_CLAUDE to the claude program, or run `cargo xtask test`"),
    }
}
