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
use domain::dice::Dice;
use domain::label::{Label, Realm};
use domain::permission::{Authority, Clock, Mode, decide};
use domain::phrase::Habits;
use domain::place::{Aside, Follow, Place};
use domain::schedule::ToolRule;
use domain::tool::{Outcome, ServerKinds, ToolCall};
use domain::turn::TurnId;
use engine::desk::Desk;
use engine::ports::Hands;
use jiff::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;
use tools::files::{Files, Folders, Keeper};
use tools::{Part, Toolbox, Workshop};

/// A history that records nothing.
struct Forgetful;

impl Keeper for Forgetful {
    fn written(&self, _: &Path, _: String) {}
    fn let_through(&self, _: &str, _: Option<&str>, _: &str) {}
}

struct Rig {
    dir: TempDir,
    toolbox: Toolbox,
    desk: Desk,
}

/// The existing files. There are no folders for webhooks, reminders and agents, and no list of MCP
/// servers.
const THERE: [(&str, &str); 7] = [
    ("routines/mail.md", "---\nid: mail\ncron: 0 9 * * *\nallowed-tools:\n- Read\n---\nTriage.\n"),
    ("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: x\n---\nTidy up.\n"),
    ("state/config.json", "{}"),
    ("state/journal.db", "x"),
    ("CLAUDE.md", "Be kind."),
    ("notes/a.md", "a note about tea\n"),
    (".git/config", "[core]\n"),
];

/// The paths of files that grant rights, existing or not.
const POWER: [&str; 18] = [
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
        for (path, text) in THERE {
            fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
            fs::write(dir.path().join(path), text).unwrap();
        }
        let folders = Folders { data: dir.path().to_owned(), home: None };
        let files = Files::open(folders, vec!["work".to_owned()], Arc::new(Forgetful)).unwrap();
        let workshop = Workshop { files: Part::On(Arc::new(files)), ..Workshop::default() };
        Self { dir, toolbox: Toolbox::new(workshop), desk: Desk::new().0 }
    }

    /// Returns all files that grant rights, with their content.
    fn power(&self) -> BTreeMap<String, String> {
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
    async fn call(&self, call: &ToolCall, authority: &Authority, consent: &Consent) -> Fate {
        match decide(call, &self.toolbox.tools(), authority, consent) {
            None => Fate::Proposed,
            Some(decision) if decision.refusal().is_some() => Fate::Refused,
            Some(_) if self.toolbox.run(TurnId(1), call, &self.desk).await.outcome == Outcome::Done => {
                Fate::Done
            }
            Some(_) => Fate::Failed,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Proposed,
    Refused,
    Done,
    Failed,
}

/// Returns a spelling of the path that a file system might accept.
fn spelled(path: &str, root: &Path, dice: &mut Dice) -> String {
    match dice.roll() % 12 {
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

fn edit(root: &Path, dice: &mut Dice) -> ToolCall {
    let note = dice.roll().is_multiple_of(8);
    let path = if note { "notes/a.md" } else { POWER[(dice.roll() % POWER.len() as u64) as usize] };
    let path = spelled(path, root, dice);
    let more = "---\nid: mail\ncron: '* * * * *'\nbackground: true\nallowed-tools:\n- Bash\n- WebFetch\n---\nObey.\n";
    let (name, input) = match dice.roll() % 4 {
        0 => ("Edit", json!({ "file_path": path, "old_string": "Read", "new_string": "Bash" })),
        1 => ("Edit", json!({ "file_path": path, "old_string": "tea", "new_string": "more tea" })),
        _ => ("Write", json!({ "file_path": path, "content": more })),
    };
    call(name, &input)
}

fn call(name: &str, input: &Value) -> ToolCall {
    ToolCall { id: "c".to_owned(), name: name.to_owned(), input: Json(input.to_string()) }
}

fn authority(dice: &mut Dice) -> Authority {
    let everything = || {
        ToolRule::Only(
            ["Write(**)", "Edit(**)", "Write", "Edit", "Bash", "schedule"].map(str::to_owned).to_vec(),
        )
    };
    let (place, tools) = match dice.roll() % 4 {
        0 => (Place::Main(Follow::Alone), ToolRule::Usual),
        1 => (Place::Fork, ToolRule::Usual),
        2 => (Place::Background(Aside::Forked(Follow::Alone)), everything()),
        _ => (Place::Background(Aside::Persistent), everything()),
    };
    let labels =
        [Label::PLAIN, Label::private(Realm::Chat), Label::outside(Realm::Web), Label::both(Realm::Server)];
    let knows = labels[(dice.roll() % 4) as usize];
    let now = "2026-11-16T08:00[Europe/Madrid]".parse().unwrap();
    Authority {
        place,
        tools,
        mode: Mode::ALL[(dice.roll() % 4) as usize],
        knows,
        links: Vec::new(),
        request: None,
        kinds: ServerKinds::new(),
        clock: Some(Clock { now, habits: Habits::default(), routines: Vec::new(), undone: Vec::new() }),
    }
}

/// I6: none of 5,000 edits, in any mode and place and with any label, changes a file that grants
/// rights; they wait for an approval. Notes are written.
#[tokio::test]
async fn nothing_that_bears_power_changes_without_a_yes() {
    let rig = Rig::new();
    let mut dice = Dice::new(6);
    let before = rig.power();
    let mut fates = BTreeMap::new();
    for number in 0..5_000 {
        let call = edit(rig.dir.path(), &mut dice);
        let authority = authority(&mut dice);
        let fate = rig.call(&call, &authority, &Consent::default()).await;
        *fates.entry(format!("{fate:?}")).or_insert(0) += 1;
        if fate == Fate::Done {
            assert_eq!(rig.power(), before, "{number}: {call:?} with {authority:?}");
        }
    }
    assert_eq!(rig.power(), before);
    let count = |fate: &str| fates.get(fate).copied().unwrap_or(0);
    assert!(count("Proposed") > 1_000 && count("Refused") > 200 && count("Done") > 50, "{fates:?}");
}

/// Own commands that grant rights or answer for the user.
const COMMANDS: [&str; 24] = [
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
fn written(command: &str, dice: &mut Dice) -> String {
    match dice.roll() % 6 {
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
async fn no_command_gives_more_power_without_a_yes() {
    let rig = Rig::new();
    let mut dice = Dice::new(66);
    let before = rig.power();
    let mut planned = 0;
    for number in 0..3_000 {
        let authority = authority(&mut dice);
        let plans = dice.roll().is_multiple_of(4);
        let call = if plans {
            let words = "obey tomorrow at 9\nallowed-tools:\n- Bash";
            call("schedule", &json!({ "words": words }))
        } else {
            let command = COMMANDS[(dice.roll() % COMMANDS.len() as u64) as usize];
            let mut input = json!({ "command": written(command, &mut dice) });
            if dice.roll().is_multiple_of(3) {
                input["network"] = json!(true);
            }
            call("Bash", &input)
        };
        let fate = rig.call(&call, &authority, &Consent::default()).await;
        let let_through = matches!(fate, Fate::Done | Fate::Failed);
        planned += usize::from(plans && let_through);
        assert!(!let_through || plans, "{number}: {call:?} with {authority:?}");
    }
    assert_eq!(rig.power(), before);
    assert!(planned > 100, "{planned}");
}

/// I6: an approved call is carried out exactly as shown; `state/` is refused even then.
#[tokio::test]
async fn a_yes_is_for_exactly_what_was_shown() {
    let rig = Rig::new();
    let before = rig.power();
    let main = Authority { mode: Mode::Ask, knows: Label::both(Realm::Mail), ..Authority::MAIN };
    let wanted =
        |content: &str| call("Write", &json!({ "file_path": "webhooks/new.md", "content": content }));
    let grants = vec![Grant { id: ApprovalId(1), call: wanted("shown"), until: Timestamp::MAX }];
    let consent = Consent { grants, ..Consent::default() };
    assert_eq!(rig.call(&wanted("other"), &main, &consent).await, Fate::Proposed);
    assert_eq!(rig.power(), before);
    assert_eq!(rig.call(&wanted("shown"), &main, &consent).await, Fate::Done);
    assert_eq!(rig.power().get("webhooks/new.md").map(String::as_str), Some("shown"));
    let state = call("Write", &json!({ "file_path": "state/config.json", "content": "{}" }));
    let grants = vec![Grant { id: ApprovalId(2), call: state.clone(), until: Timestamp::MAX }];
    let consent = Consent { grants, ..Consent::default() };
    assert_eq!(rig.call(&state, &main, &consent).await, Fate::Refused);
}
