//! J1: canary secrets in every place, a model that tries to read them, and a search in everything
//! written or sent.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use serde_json::json;
use testkit::model_server::{Options, ScriptedReply};
use testkit::process::{BackgroundModelServer, Program, free_port, read_tree};

use crate::rig::BINARY;

/// Variables that contain a secret.
const VARIABLES: [&str; 9] = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "WEBHOOK_SECRET",
    "OLLIM_IMAP_PASSWORD",
    "OLLIM_CALDAV_PASSWORD",
    "GITHUB_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "SSH_PASSPHRASE",
    "DATABASE_URL",
];

/// Files that contain a secret.
const FILES: [&str; 13] = [
    "data/state/openai.key",
    "data/state/search.key",
    "data/state/imap.password",
    "data/state/caldav.password",
    "data/state/webhook-secrets/ci",
    "data/state/token.json",
    "data/state/environment",
    // Left by an interrupted setup.
    "data/state/.tried-Xy12Zw",
    "data/.env",
    "data/mcp.json",
    ".env",
    ".netrc",
    ".ssh/id_ed25519",
];

/// Commands with which a model could try to read them.
const COMMANDS: [&str; 5] = [
    "env; cat /proc/self/environ; set",
    "cat $DATA/state/* $DATA/state/*/* $DATA/mcp.json $DATA/.env",
    "cat /proc/$PPID/environ /proc/1/environ; ls -laR $DATA/state",
    "cat ~/.netrc ~/.ssh/* ../../../.netrc ../../../.env ../../../.ssh/id_ed25519",
    "grep -rs canary $DATA /etc | head; exit 3",
];

/// J1: after conversations, tool calls, failures, commands, a backup and a crash, no secret is in
/// the log, the journal, the history, model requests, backups or any output, neither in plain text
/// nor encoded.
#[test]
fn secrets_appear_only_in_their_places() {
    let secrets: BTreeMap<String, String> = (0..VARIABLES.len() + FILES.len())
        .map(|number| (place_name(number), format!("canary{number:02}zq8xwv7k3jf")))
        .collect();
    let model_server = BackgroundModelServer::start_with(Options {
        key: Some(secrets["ANTHROPIC_API_KEY"].clone()),
        ..Options::default()
    });
    let mut program = Program::with_model(BINARY, &model_server);
    program.set_env("OLLIM_LOG", "trace").set_env("WEBHOOK_PORT", &free_port().to_string());
    for (place, secret) in &secrets {
        if place.contains(['/', '.']) {
            write_secret(&program.home().join(place), secret);
        } else {
            program.set_env(place, secret);
        }
    }
    let mut output = run_session(&program, &model_server);
    output.extend(backups_with(&program, &secrets["data/mcp.json"]));
    output.extend(model_server.requests().into_iter().map(|request| request.body));
    let mut bytes: Vec<(PathBuf, Vec<u8>)> = read_tree(program.home()).into_iter().collect();
    bytes.push(("what was said".into(), output.join("\n").into_bytes()));
    assert!(output.iter().any(|text| text.contains("exit code")), "the model did not get to try");
    for (path, bytes) in bytes {
        let text = String::from_utf8_lossy(&bytes);
        let place = path.strip_prefix(program.home()).unwrap_or(&path);
        let own = secrets.get(place.to_string_lossy().as_ref());
        for secret in secrets.values().filter(|secret| Some(*secret) != own) {
            assert!(!contains_secret(&text, secret), "{secret} is in {}", path.display());
        }
    }
}

fn place_name(number: usize) -> String {
    let file = |number: usize| FILES[number - VARIABLES.len()];
    VARIABLES.get(number).copied().unwrap_or_else(|| file(number)).to_owned()
}

fn write_secret(path: &Path, secret: &str) {
    let text = match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") if path.ends_with("mcp.json") => {
            json!({ "mcpServers": { "notes": { "command": "/nowhere", "env": { "KEY": secret } } } })
                .to_string()
        }
        Some("json") => json!({ "refresh_token": secret }).to_string(),
        None if path.ends_with("environment") => format!("WEBHOOK_SECRET={secret}\n"),
        Some(_) | None => format!("KEY={secret}\n"),
    };
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Runs a session. Returns all output that is not in files.
fn run_session(program: &Program, model_server: &BackgroundModelServer) -> Vec<String> {
    let running = program.start();
    // Calls that need approval are refused, because no user is there.
    running.command("/permissions dontAsk").unwrap();
    let attempts =
        COMMANDS.iter().map(|command| ScriptedReply::tool_call("Bash", &json!({ "command": command })));
    let reads = FILES.iter().filter_map(|file| file.strip_prefix("data/"));
    let reads = reads.map(|path| ScriptedReply::tool_call("Read", &json!({ "file_path": path })));
    let finds = [
        ScriptedReply::tool_call("Grep", &json!({ "pattern": "canary" })),
        ScriptedReply::text("i have found nothing."),
    ];
    model_server.model().script(attempts.chain(reads).chain(finds).collect::<Vec<_>>());
    running.send_and_wait("look for my keys, please").unwrap();
    model_server.model().script([ScriptedReply::refusal(400, "invalid_request_error", "no such thing")]);
    let _ = running.send_and_wait("and again");
    let mut text = vec![running.log()];
    running.kill();
    let archive = program.home().join("backup.tar.gz");
    let commands: [&[&str]; 9] = [
        &["export", archive.to_str().unwrap()],
        &["status", "--json"],
        &["doctor", "--json"],
        &["config", "--json"],
        &["history", "export"],
        &["webhook", "list"],
        &["mcp-servers", "list"],
        &["mail", "unread"],
        &["sessions", "tree"],
    ];
    for words in commands {
        let output = program.run(words);
        text.push(String::from_utf8_lossy(&output.stdout).into_owned());
        text.push(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    text.extend(unpack(&archive));
    text.push(git_history(program.data()));
    text
}

/// Returns the content of backups made while `secret` is in any place of `mcp.json` that servers
/// take one from.
fn backups_with(program: &Program, secret: &str) -> Vec<String> {
    let servers = [
        json!({ "command": "/nowhere", "args": ["--token", secret] }),
        json!({ "command": "/nowhere", "args": [secret] }),
        json!({ "url": format!("https://example.org/mcp?key={secret}") }),
        json!({ "url": format!("https://{secret}@example.org/mcp") }),
        json!({ "url": format!("https://example.org/{secret}/mcp") }),
    ];
    let back_up = |server| {
        let text = json!({ "mcpServers": { "notes": server } }).to_string();
        std::fs::write(program.data().join("mcp.json"), text).unwrap();
        let archive = program.home().join("again.tar.gz");
        assert!(program.run(&["export", archive.to_str().unwrap(), "--replace"]).status.success());
        unpack(&archive)
    };
    servers.into_iter().flat_map(back_up).collect()
}

/// Returns the content of a backup.
fn unpack(archive: &Path) -> Vec<String> {
    let output = std::process::Command::new("tar").arg("-xzOf").arg(archive).output().unwrap();
    assert!(output.status.success() && output.stdout.len() > 10_000, "there is something in it");
    vec![String::from_utf8_lossy(&output.stdout).into_owned()]
}

/// Returns the complete git history of the data directory.
fn git_history(data: &Path) -> String {
    let words = ["log", "--all", "-p", "--no-color"];
    let output = std::process::Command::new("git").arg("-C").arg(data).args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns whether `text` contains `secret` in plain text, as base64 at any offset, or as hex.
fn contains_secret(text: &str, secret: &str) -> bool {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let encoded = (0..3).map(|from| BASE64_STANDARD_NO_PAD.encode(&secret.as_bytes()[from..]));
    // The last characters depend on the following bytes.
    let encoded = encoded.map(|encoded| encoded[..encoded.len() - 4].to_owned());
    let forms = [secret.to_owned(), hex].into_iter().chain(encoded);
    forms.into_iter().any(|form| text.contains(&form))
}
