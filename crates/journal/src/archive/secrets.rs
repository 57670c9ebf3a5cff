//! Detects files with secrets, by name or by content.
//!
//! In doubt a file counts as secret, because an archive may be stored where a key must not be.

use serde_json::{Map, Value};

/// The configuration of MCP servers.
const MCP_FILE: &str = "mcp.json";

/// The environment written by the setup.
const ENVIRONMENT_FILE: &str = "state/environment";

/// Parts of the names of secret values.
const SECRET_NAME_PARTS: [&str; 6] = ["key", "token", "secret", "pass", "auth", "credential"];

/// Returns whether the file `name` allows its owner to act as the user.
pub fn is_secret(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let ends = [".key", ".password", ".token", ".secret", ".env", ".pem"];
    match name.split_once('/') {
        Some(("state", "token.json" | "credentials.json")) => true,
        Some(("state", inner)) => {
            // The last prefix is that of values which the setup is still trying.
            let begins = ["secrets", "webhook-secrets", ".tried-"].iter().any(|it| inner.starts_with(it));
            begins || ends.iter().any(|end| last.ends_with(end))
        }
        Some(_) | None => last == ".env",
    }
}

/// Returns whether the content of the file `name` decides whether it is secret.
pub fn depends_on_content(name: &str) -> bool {
    [MCP_FILE, ENVIRONMENT_FILE].contains(&name)
}

/// Returns whether `text`, the content of the file `name`, contains a secret.
pub fn contains_secret(name: &str, text: &[u8]) -> bool {
    match name {
        MCP_FILE => servers_have_secret(text),
        ENVIRONMENT_FILE => environment_has_secret(text),
        _ => false,
    }
}

/// Returns whether a line `NAME=value` contains a secret, even if it is commented out.
fn environment_has_secret(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return true };
    let holds = |line: &str| {
        let line = line.trim_start_matches(['#', ' ', '\t']);
        let (name, value) = line.split_once('=').unwrap_or_default();
        let names_a_file = name.trim_end().ends_with("_FILE");
        let in_address = value.contains("://") && value.contains(['@', '?', '#']);
        !value.trim().is_empty() && (in_address || (has_secret_name(name) && !names_a_file))
    };
    text.lines().any(holds)
}

/// Returns whether the configuration contains secrets of servers.
fn servers_have_secret(text: &[u8]) -> bool {
    // An unreadable file may contain anything.
    let Ok(Value::Object(file)) = serde_json::from_slice(text) else { return true };
    file.iter().any(|(key, value)| match (key.as_str(), value) {
        ("mcpServers", Value::Object(servers)) => {
            servers.values().any(|server| server.as_object().map_or(is_non_empty(server), server_has_secret))
        }
        (_, other) => is_non_empty(other),
    })
}

fn server_has_secret(keys: &Map<String, Value>) -> bool {
    keys.iter().any(|(key, value)| match (key.as_str(), value) {
        ("command" | "type" | "url", Value::String(word)) => may_be_secret(word),
        ("args", Value::Array(words)) => words.iter().any(|word| word.as_str().is_none_or(may_be_secret)),
        (_, other) => is_non_empty(other),
    })
}

fn is_non_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(values) => !values.is_empty(),
    }
}

/// Returns whether a word may be or contain a secret: all but plain words, paths, package names,
/// and addresses without unguessable parts.
fn may_be_secret(word: &str) -> bool {
    let odd = |letter: char| !letter.is_ascii_alphanumeric() && !"-_./@:~".contains(letter);
    let before_a_host = word.contains('@') && word.contains(':');
    let unguessable = |part: &str| {
        let has = |is: fn(char) -> bool| part.contains(is);
        (part.len() >= 6 && has(|letter| letter.is_ascii_digit()))
            || (part.len() >= 16 && has(|letter| letter.is_ascii_uppercase()))
    };
    let mut parts = word.split(['-', '_', '.', '/', '@', ':', '~']);
    has_secret_name(word) || word.contains(odd) || before_a_host || parts.any(unguessable)
}

fn has_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAME_PARTS.iter().any(|called| name.contains(called))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_files_are_detected_by_name() {
        for name in [
            "state/anthropic.key",
            "state/imap.password",
            "state/token.json",
            "state/secrets/x",
            "state/webhook-secrets/ci",
            "state/.tried-Xy12Zw",
            "skills/a/.env",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["state/sessions.json", "routines/token.json.md", "skills/a/secret.md"] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn an_environment_file_is_secret_if_it_contains_a_key() {
        let check = |text: &str, secret: bool| {
            assert_eq!(contains_secret("state/environment", text.as_bytes()), secret, "{text}");
        };
        check("OLLIM_MODEL=offline\n# mine\nANTHROPIC_API_KEY=sk-1\n", true);
        check("export DISCORD_TOKEN = \"x\"\n", true);
        check("WEBHOOK_SECRET=x", true);
        check("OLLIM_IMAP_PASSWORD=x", true);
        check("# OPENAI_API_KEY=sk-1", true);
        check("HTTPS_PROXY=http://me:word@proxy.example.org", true);
        check("OLLIM_SEARCH_URL=https://example.org/?q=1", true);
        check("OPENAI_API_KEY=\nOLLIM_MODEL=claude\n", false);
        check("ANTHROPIC_API_KEY_FILE=/run/x\nOLLIM_USER_NAME=Ann\nOLLIM_CALDAV_URL=https://d.org/\n", false);
        check("", false);
    }

    #[test]
    fn a_server_configuration_is_secret_if_it_may_contain_a_secret() {
        let check = |server: &str, secret: bool| {
            let text = format!(r#"{{"mcpServers": {{"a": {server}}}}}"#);
            assert_eq!(contains_secret("mcp.json", text.as_bytes()), secret, "{server}");
        };
        check(r#"{"command": "x", "env": {"TOKEN": "1"}}"#, true);
        check(r#"{"url": "x", "headers": {"Authorization": "1"}}"#, true);
        check(r#"{"command": "x", "args": ["--api-key", "word"]}"#, true);
        check(r#"{"command": "x", "args": ["--token=word"]}"#, true);
        check(r#"{"command": "x", "args": ["ghp_a1B2c3D4"]}"#, true);
        check(r#"{"command": "x", "args": ["postgres://me:word@db/notes"]}"#, true);
        check(r#"{"command": "sh -c 'A=b notes'"}"#, true);
        check(r#"{"url": "https://w.org/mcp?k=v"}"#, true);
        check(r#"{"url": "https://word@w.org/mcp"}"#, true);
        check(r#"{"url": "https://w.org/s/a8f3e2d1c4/mcp"}"#, true);
        check(r#"{"command": "x", "oauth": {"client": "y"}}"#, true);
        check(r#""word""#, true);
        check(r#"{"command": "npx", "args": ["-y", "@scope/server-files@1.2.3", "/srv/Ann/notes"]}"#, false);
        check(r#"{"command": "x", "args": [], "env": {}, "timeout": 5}"#, false);
        check(r#"{"type": "http", "url": "http://127.0.0.1:8080/v1/mcp", "headers": {}}"#, false);
        assert!(!contains_secret("mcp.json", b"{}"));
        assert!(contains_secret("mcp.json", b"not json"));
    }
}
