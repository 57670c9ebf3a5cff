//! Detects files with secrets, by name or by content.
//!
//! In doubt a file counts as secret, because an archive may be stored where a key must not be.

use serde_json::{Map, Value};

/// The configuration of MCP servers.
const SERVERS: &str = "mcp.json";

/// The environment written by the setup.
const ENVIRONMENT: &str = "state/environment";

/// Parts of the names of secret values.
const CALLED: [&str; 6] = ["key", "token", "secret", "pass", "auth", "credential"];

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
pub fn is_told_by_its_text(name: &str) -> bool {
    [SERVERS, ENVIRONMENT].contains(&name)
}

/// Returns whether `text`, the content of the file `name`, contains a secret.
pub fn holds_secrets(name: &str, text: &[u8]) -> bool {
    match name {
        SERVERS => in_servers(text),
        ENVIRONMENT => in_environment(text),
        _ => false,
    }
}

/// Returns whether a line `NAME=value` contains a secret, even if it is commented out.
fn in_environment(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return true };
    let holds = |line: &str| {
        let line = line.trim_start_matches(['#', ' ', '\t']);
        let (name, value) = line.split_once('=').unwrap_or_default();
        let names_a_file = name.trim_end().ends_with("_FILE");
        let in_address = value.contains("://") && value.contains(['@', '?', '#']);
        !value.trim().is_empty() && (in_address || (is_called_so(name) && !names_a_file))
    };
    text.lines().any(holds)
}

/// Returns whether the configuration contains secrets of servers.
fn in_servers(text: &[u8]) -> bool {
    // An unreadable file may contain anything.
    let Ok(Value::Object(file)) = serde_json::from_slice(text) else { return true };
    file.iter().any(|(key, value)| match (key.as_str(), value) {
        ("mcpServers", Value::Object(servers)) => {
            servers.values().any(|server| server.as_object().map_or(is_filled(server), in_server))
        }
        (_, other) => is_filled(other),
    })
}

fn in_server(keys: &Map<String, Value>) -> bool {
    keys.iter().any(|(key, value)| match (key.as_str(), value) {
        ("command" | "type" | "url", Value::String(word)) => could_be_one(word),
        ("args", Value::Array(words)) => words.iter().any(|word| word.as_str().is_none_or(could_be_one)),
        (_, other) => is_filled(other),
    })
}

fn is_filled(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(values) => !values.is_empty(),
    }
}

/// Returns whether a word may be or contain a secret: all but plain words, paths, package names,
/// and addresses without unguessable parts.
fn could_be_one(word: &str) -> bool {
    let odd = |letter: char| !letter.is_ascii_alphanumeric() && !"-_./@:~".contains(letter);
    let before_a_host = word.contains('@') && word.contains(':');
    let unguessable = |part: &str| {
        let has = |is: fn(char) -> bool| part.contains(is);
        (part.len() >= 6 && has(|letter| letter.is_ascii_digit()))
            || (part.len() >= 16 && has(|letter| letter.is_ascii_uppercase()))
    };
    let mut parts = word.split(['-', '_', '.', '/', '@', ':', '~']);
    is_called_so(word) || word.contains(odd) || before_a_host || parts.any(unguessable)
}

fn is_called_so(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    CALLED.iter().any(|called| name.contains(called))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_by_its_name() {
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
    fn what_was_set_up_is_secret_where_it_holds_a_key() {
        let check = |text: &str, secret: bool| {
            assert_eq!(holds_secrets("state/environment", text.as_bytes()), secret, "{text}");
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
    fn servers_are_secret_where_they_are_given_what_only_few_know() {
        let check = |server: &str, secret: bool| {
            let text = format!(r#"{{"mcpServers": {{"a": {server}}}}}"#);
            assert_eq!(holds_secrets("mcp.json", text.as_bytes()), secret, "{server}");
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
        assert!(!holds_secrets("mcp.json", b"{}"));
        assert!(holds_secrets("mcp.json", b"not json"));
    }
}
