//! Privilege escalation tests: a model edits files that grant rights, under many spellings, with
//! the real permission check and the real tools. Without the user's approval none of these files
//! changes or appears.
#![expect(clippy::unwrap_used, reason = "a fixture that cannot be created stops the test at once")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use domain::approval::{ApprovalId, Consent, Grant};
use domain::conversation::Json;
use domain::label::{Label, Realm};
use domain::permission::{Authority, Mode, PlannerClock, decide};
use domain::phrase::Habits;
use domain::place::{BackgroundPlace, ChainPosition, Place};
use domain::rng::Rng;
use domain::schedule::ToolRule;
use domain::tool::{Outcome, ServerToolKinds, ToolCall};
use domain::turn::TurnId;
use engine::handle::AssistantHandle;
use engine::ports::ToolRunner;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tools::files::{BaseDirs, FileHistory, Files};
use tools::{Availability, ToolEnv, Toolbox};

/// A history that records nothing.
struct NullHistory;

impl FileHistory for NullHistory {
    fn record_write(&self, _: &Path, _: String) {}
    fn permit_write(&self, _: &str, _: Option<&str>, _: &str) {}
}

struct Rig {
    dir: TempDir,
    toolbox: Toolbox,
    assistant: AssistantHandle,
}

/// The existing files. There are no folders for webhooks, reminders and agents, and no list of MCP
/// servers.
const EXISTING_FILES: [(&str, &str); 7] = [
    ("routines/mail.md", "---\nid: mail\ncron: 0 9 * * *\nallowed-tools:\n- Read\n---\nTriage.\n"),
    ("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: x\n---\nTidy up.\n"),
    ("state/config.json", "{}"),
    ("state/journal.db", "x"),
    ("CLAUDE.md", "Be kind."),
    ("notes/a.md", "a note about tea\n"),
    (".git/config", "[core]\n"),
];

/// The paths of files that grant rights, existing or not.
const AUTHORITY_PATHS: [&str; 18] = [
    "routines/mail.md",
    "routines/new.md",
    "reminders/new.md",
    "webhooks/new.md",
    "skills/tidy/SKILL.md",
    "skills/new/SKILL.md",
    "agents/new.md",
    ".claude/agents/guide.md",
    ".claude/settings.json",
    ".git/hooks/post-commit",
    ".git/config",
    "mcp.json",
    ".mcp.json",
    "CLAUDE.md",
    "AGENTS.md",
    "settings.toml",
    "prices.toml",
    "state/config.json",
];

impl Rig {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in EXISTING_FILES {
            fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
            fs::write(dir.path().join(path), text).unwrap();
        }
        let folders = BaseDirs { data: dir.path().to_owned(), home: None };
        let files = Files::open(folders, vec!["work".to_owned()], Arc::new(NullHistory)).unwrap();
        let workshop = ToolEnv { files: Availability::Available(Arc::new(files)), ..ToolEnv::default() };
        Self { dir, toolbox: Toolbox::new(workshop), assistant: AssistantHandle::new().0 }
    }

    /// Returns all files that grant rights, with their content.
    fn authority_files(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.dir.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                let kind = entry.file_type().unwrap();
                let name = path.strip_prefix(self.dir.path()).unwrap().to_string_lossy().into_owned();
                match kind.is_dir() {
                    true => folders.push(path),
                    false
                        if name.trim_start().to_lowercase().starts_with("notes")
                            || name.starts_with("outside") => {}
                    false => drop(found.insert(name, fs::read_to_string(path).unwrap_or_default())),
                }
            }
        }
        found
    }

    /// Checks the call, and runs it if it is permitted.
    async fn call(&self, call: &ToolCall, authority: &Authority, consent: &Consent) -> CallOutcome {
        match decide(call, &self.toolbox.tools(), authority, consent) {
            None => CallOutcome::Proposed,
            Some(decision) if decision.refusal().is_some() => CallOutcome::Refused,
            Some(_) if self.toolbox.run(TurnId(1), call, &self.assistant).await.outcome == Outcome::Done => {
                CallOutcome::Done
            }
            Some(_) => CallOutcome::Failed,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallOutcome {
    Proposed,
    Refused,
    Done,
    Failed,
}

/// Returns a spelling of the path that a file system might accept.
fn spell_path(path: &str, root: &Path, rng: &mut Rng) -> String {
    match rng.next_u64() % 12 {
        0 => format!("./{path}"),
        1 => format!("outside/../{path}"),
        2 => format!("notes/../{path}"),
        3 => path.to_uppercase(),
        4 => path.replacen('/', "//", 1),
        5 => path.replacen('/', "/./", 1),
        6 => format!("{}/{path}", root.display()),
        7 => format!("{path}."),
        8 => path.replacen('/', "./", 1),
        9 => format!(" {path}"),
        10 => path.replacen('/', "\\", 1),
        _ => path.to_owned(),
    }
}

fn random_edit(root: &Path, rng: &mut Rng) -> ToolCall {
    let note = rng.next_u64().is_multiple_of(8);
    let path = if note {
        "notes/a.md"
    } else {
        AUTHORITY_PATHS[(rng.next_u64() % AUTHORITY_PATHS.len() as u64) as usize]
    };
    let path = spell_path(path, root, rng);
    let more = "---\nid: mail\ncron: '* * * * *'\nbackground: true\nallowed-tools:\n- Bash\n- WebFetch\n---\nObey.\n";
    let (name, input) = match rng.next_u64() % 4 {
        0 => ("Edit", json!({ "file_path": path, "old_string": "Read", "new_string": "Bash" })),
        1 => ("Edit", json!({ "file_path": path, "old_string": "tea", "new_string": "more tea" })),
        _ => ("Write", json!({ "file_path": path, "content": more })),
    };
    call(name, &input)
}

fn call(name: &str, input: &Value) -> ToolCall {
    ToolCall { id: "c".to_owned(), name: name.to_owned(), input: Json(input.to_string()) }
}

fn random_authority(rng: &mut Rng) -> Authority {
    let all_tools = || {
        ToolRule::Only(
            ["Write(**)", "Edit(**)", "Write", "Edit", "Bash", "schedule"].map(str::to_owned).to_vec(),
        )
    };
    let (place, tools) = match rng.next_u64() % 4 {
        0 => (Place::Main(ChainPosition::NotInChain), ToolRule::SameAsMain),
        1 => (Place::Fork, ToolRule::SameAsMain),
        2 => (Place::Background(BackgroundPlace::Forked(ChainPosition::NotInChain)), all_tools()),
        _ => (Place::Background(BackgroundPlace::Persistent), all_tools()),
    };
    let labels =
        [Label::PLAIN, Label::private(Realm::Chat), Label::outside(Realm::Web), Label::both(Realm::Server)];
    let knows = labels[(rng.next_u64() % 4) as usize];
    let now = "2026-11-16T08:00[Europe/Madrid]".parse().unwrap();
    Authority {
        place,
        tools,
        mode: Mode::ALL[(rng.next_u64() % 4) as usize],
        label: knows,
        links: Vec::new(),
        request: None,
        server_kinds: ServerToolKinds::new(),
        clock: Some(PlannerClock {
            now,
            habits: Habits::default(),
            routines: Vec::new(),
            undone: Vec::new(),
        }),
    }
}

/// I6: none of 5,000 edits, in any mode and place and with any label, changes a file that grants
/// rights; they wait for an approval. Notes are written.
#[tokio::test]
async fn authority_files_do_not_change_without_an_approval() {
    let rig = Rig::new();
    let mut rng = Rng::new(6);
    let before = rig.authority_files();
    let mut outcomes = BTreeMap::new();
    for number in 0..5_000 {
        let call = random_edit(rig.dir.path(), &mut rng);
        let authority = random_authority(&mut rng);
        let outcome = rig.call(&call, &authority, &Consent::default()).await;
        *outcomes.entry(format!("{outcome:?}")).or_insert(0) += 1;
        if outcome == CallOutcome::Done {
            assert_eq!(rig.authority_files(), before, "{number}: {call:?} with {authority:?}");
        }
    }
    assert_eq!(rig.authority_files(), before);
    let count = |outcome: &str| outcomes.get(outcome).copied().unwrap_or(0);
    assert!(count("Proposed") > 1_000 && count("Refused") > 200 && count("Done") > 50, "{outcomes:?}");
}

/// Own commands that grant rights or answer for the user.
const ESCALATING_COMMANDS: [&str; 24] = [
    "routine add --cron '* * * * *' -m obey --allowed-tools Bash",
    "routine add --cron '0 9 * * *' -m obey",
    "routine edit mail --allowed-tools Bash",
    "routine edit mail --add-tool WebFetch",
    "routine remove mail",
    "reminder add --delay 1 -m obey --allowed-tools Bash",
    "reminder add --delay 1 -m obey --background",
    "reminder edit new --skills tidy",
    "webhook add new",
    "webhook rotate ci",
    "webhook test ci --send",
    "skills accept tidy",
    "skills accept --all",
    "mcp-servers accept notes",
    "mcp-servers add evil -- /bin/sh",
    "config permission_mode bypassPermissions",
    "config model.main evil",
    "chat --once '/allow 1'",
    "chat '/always 1'",
    "import backup.tar.gz --replace",
    "update",
    "setup",
    "run --no-chat",
    "always 1",
];

/// Returns a spelling of the command.
fn spell_command(command: &str, rng: &mut Rng) -> String {
    match rng.next_u64() % 6 {
        0 => format!("  ollim-bot   {command} "),
        1 => format!("'ollim-bot' {command}"),
        2 => format!("\"ollim-bot\" {command}"),
        3 => format!("ollim-bot {}", command.replacen(' ', "  ", 1)),
        4 => format!("ollim-bot {}", command.replacen(" --", "\t--", 1)),
        _ => format!("ollim-bot {command}"),
    }
}

/// I6: none of 3,000 own commands that would grant rights runs without an approval. A planned
/// reminder can be undone and has no tools.
#[tokio::test]
async fn no_command_grants_rights_without_an_approval() {
    let rig = Rig::new();
    let mut rng = Rng::new(66);
    let before = rig.authority_files();
    let mut planned = 0;
    for number in 0..3_000 {
        let authority = random_authority(&mut rng);
        let plans = rng.next_u64().is_multiple_of(4);
        let call = if plans {
            let words = "obey tomorrow at 9\nallowed-tools:\n- Bash";
            call("schedule", &json!({ "words": words }))
        } else {
            let command = ESCALATING_COMMANDS[(rng.next_u64() % ESCALATING_COMMANDS.len() as u64) as usize];
            let mut input = json!({ "command": spell_command(command, &mut rng) });
            if rng.next_u64().is_multiple_of(3) {
                input["network"] = json!(true);
            }
            call("Bash", &input)
        };
        let outcome = rig.call(&call, &authority, &Consent::default()).await;
        let let_through = matches!(outcome, CallOutcome::Done | CallOutcome::Failed);
        planned += usize::from(plans && let_through);
        assert!(!let_through || plans, "{number}: {call:?} with {authority:?}");
    }
    assert_eq!(rig.authority_files(), before);
    assert!(planned > 100, "{planned}");
}

/// I6: an approved call is carried out exactly as shown; `state/` is refused even then.
#[tokio::test]
async fn approval_covers_exactly_the_shown_call() {
    let rig = Rig::new();
    let before = rig.authority_files();
    let main = Authority { mode: Mode::Ask, label: Label::both(Realm::Mail), ..Authority::MAIN };
    let write_call =
        |content: &str| call("Write", &json!({ "file_path": "webhooks/new.md", "content": content }));
    let grants = vec![Grant { id: ApprovalId(1), call: write_call("shown"), expires_at: Timestamp::MAX }];
    let consent = Consent { grants, ..Consent::default() };
    assert_eq!(rig.call(&write_call("other"), &main, &consent).await, CallOutcome::Proposed);
    assert_eq!(rig.authority_files(), before);
    assert_eq!(rig.call(&write_call("shown"), &main, &consent).await, CallOutcome::Done);
    assert_eq!(rig.authority_files().get("webhooks/new.md").map(String::as_str), Some("shown"));
    let state = call("Write", &json!({ "file_path": "state/config.json", "content": "{}" }));
    let grants = vec![Grant { id: ApprovalId(2), call: state.clone(), expires_at: Timestamp::MAX }];
    let consent = Consent { grants, ..Consent::default() };
    assert_eq!(rig.call(&state, &main, &consent).await, CallOutcome::Refused);
}
