//! J1: canary secrets in every place, a model that tries to read them, and a search in everything
//! written or sent.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use serde_json::json;
use testkit::kill::{Backstage, Program, contents, free_port};
use testkit::model_server::{Act, Options};

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
fn no_secret_leaves_its_place() {
    let secrets: BTreeMap<String, String> = (0..VARIABLES.len() + FILES.len())
        .map(|number| (place(number), format!("canary{number:02}zq8xwv7k3jf")))
        .collect();
    let backstage = Backstage::open_with(Options {
        key: Some(secrets["ANTHROPIC_API_KEY"].clone()),
        ..Options::default()
    });
    let mut program = Program::answered_by(BINARY, &backstage);
    program.set("OLLIM_LOG", "trace").set("WEBHOOK_PORT", &free_port().to_string());
    for (place, secret) in &secrets {
        if place.contains(['/', '.']) {
            write(&program.home().join(place), secret);
        } else {
            program.set(place, secret);
        }
    }
    let mut said = lived(&program, &backstage);
    said.extend(packed_with(&program, &secrets["data/mcp.json"]));
    said.extend(backstage.requests().into_iter().map(|request| request.body));
    let mut bytes: Vec<(PathBuf, Vec<u8>)> = contents(program.home()).into_iter().collect();
    bytes.push(("what was said".into(), said.join("\n").into_bytes()));
    assert!(said.iter().any(|text| text.contains("exit code")), "the model did not get to try");
    for (path, bytes) in bytes {
        let text = String::from_utf8_lossy(&bytes);
        let place = path.strip_prefix(program.home()).unwrap_or(&path);
        let own = secrets.get(place.to_string_lossy().as_ref());
        for secret in secrets.values().filter(|secret| Some(*secret) != own) {
            assert!(!holds(&text, secret), "{secret} is in {}", path.display());
        }
    }
}

fn place(number: usize) -> String {
    let file = |number: usize| FILES[number - VARIABLES.len()];
    VARIABLES.get(number).copied().unwrap_or_else(|| file(number)).to_owned()
}

fn write(path: &Path, secret: &str) {
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
fn lived(program: &Program, backstage: &Backstage) -> Vec<String> {
    let running = program.start();
    // Calls that need approval are refused, because no user is there.
    running.command("/permissions dontAsk").unwrap();
    let tries = COMMANDS.iter().map(|command| Act::calls("Bash", &json!({ "command": command })));
    let reads = FILES.iter().filter_map(|file| file.strip_prefix("data/"));
    let reads = reads.map(|path| Act::calls("Read", &json!({ "file_path": path })));
    let finds = [Act::calls("Grep", &json!({ "pattern": "canary" })), Act::says("i have found nothing.")];
    backstage.model().script(tries.chain(reads).chain(finds).collect::<Vec<_>>());
    running.converse("look for my keys, please").unwrap();
    backstage.model().script([Act::refuses(400, "invalid_request_error", "no such thing")]);
    let _ = running.converse("and again");
    let mut said = vec![running.log()];
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
        said.push(String::from_utf8_lossy(&output.stdout).into_owned());
        said.push(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    said.extend(unpacked(&archive));
    said.push(kept_by_git(program.data()));
    said
}

/// Returns the content of backups made while `secret` is in any place of `mcp.json` that servers
/// take one from.
fn packed_with(program: &Program, secret: &str) -> Vec<String> {
    let servers = [
        json!({ "command": "/nowhere", "args": ["--token", secret] }),
        json!({ "command": "/nowhere", "args": [secret] }),
        json!({ "url": format!("https://example.org/mcp?key={secret}") }),
        json!({ "url": format!("https://{secret}@example.org/mcp") }),
        json!({ "url": format!("https://example.org/{secret}/mcp") }),
    ];
    let packed = |server| {
        let text = json!({ "mcpServers": { "notes": server } }).to_string();
        std::fs::write(program.data().join("mcp.json"), text).unwrap();
        let archive = program.home().join("again.tar.gz");
        assert!(program.run(&["export", archive.to_str().unwrap(), "--replace"]).status.success());
        unpacked(&archive)
    };
    servers.into_iter().flat_map(packed).collect()
}

/// Returns the content of a backup.
fn unpacked(archive: &Path) -> Vec<String> {
    let output = std::process::Command::new("tar").arg("-xzOf").arg(archive).output().unwrap();
    assert!(output.status.success() && output.stdout.len() > 10_000, "there is something in it");
    vec![String::from_utf8_lossy(&output.stdout).into_owned()]
}

/// Returns the complete git history of the data directory.
fn kept_by_git(data: &Path) -> String {
    let words = ["log", "--all", "-p", "--no-color"];
    let output = std::process::Command::new("git").arg("-C").arg(data).args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns whether `text` contains `secret` in plain text, as base64 at any offset, or as hex.
fn holds(text: &str, secret: &str) -> bool {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let coded = (0..3).map(|from| BASE64_STANDARD_NO_PAD.encode(&secret.as_bytes()[from..]));
    // The last characters depend on the following bytes.
    let coded = coded.map(|coded| coded[..coded.len() - 4].to_owned());
    let forms = [secret.to_owned(), hex].into_iter().chain(coded);
    forms.into_iter().any(|form| text.contains(&form))
}
