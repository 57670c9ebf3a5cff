//! The vendor clients, configured for a local server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::Model;
use models::anthropic::{self, Anthropic};
use models::claude::{self as program, Choices, Claude, Company, Environment, Leash, Patience, Remembered};
use models::openai::{self, OpenAi};

const CONNECT: Duration = Duration::from_secs(10);
const STALL: Duration = Duration::from_secs(60);
const TOTAL: Duration = Duration::from_secs(600);

/// Creates our client of the Messages API.
pub fn anthropic(url: &str) -> Arc<dyn Model> {
    let model = Anthropic::new(anthropic::Settings {
        base_url: url.to_owned(),
        key: anthropic::Key::new("sk-test"),
        model: "claude-test-1".to_owned(),
        max_tokens: 1024,
        connect: CONNECT,
        stall: STALL,
        total: TOTAL,
        store: None,
    });
    Arc::new(model.expect("a client"))
}

/// Creates our client of chat completions.
pub fn openai(url: &str) -> Arc<dyn Model> {
    let model = OpenAi::new(openai::Settings {
        base_url: url.to_owned(),
        key: openai::Key::new("sk-test"),
        model: "test-1".to_owned(),
        max_tokens: 1024,
        connect: CONNECT,
        stall: STALL,
        total: TOTAL,
    });
    Arc::new(model.expect("a client"))
}

/// Runs the Claude Code program with its own home directory. Its session data survives a simulated
/// crash, as on disk.
pub fn claude() -> impl Fn(&str) -> Arc<dyn Model> {
    let home = tempfile::tempdir().expect("a home");
    let sessions = Arc::new(Remembered::default());
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
            folder: home.path().to_owned(),
            environment,
            choices: Choices { model, ..Choices::default() },
            own_tools: Vec::new(),
            patience: Patience::default(),
            leash: Leash::None,
        };
        let company = Company { sessions: sessions.clone(), ..Company::default() };
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
