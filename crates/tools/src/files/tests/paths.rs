//! I9: misleading paths, and folders that are swapped during a walk.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;

use super::{Rig, SECRET};

/// Prefixes, targets and suffixes that are combined into paths.
const PREFIXES: [&str; 22] = [
    "",
    "./",
    "/",
    "//",
    "~/",
    "~/data/",
    "~root/",
    "{data}/",
    "{data}/../data/",
    "notes/",
    "notes/../",
    "notes/../../data/",
    "../data/",
    "../",
    "../../",
    "up/",
    "notes/up/",
    "./notes/./../",
    "work/../",
    "{data}//",
    "missing/../",
    "/proc/self/cwd/",
];
const TARGETS: [&str; 26] = [
    "state/secret",
    "STATE/secret",
    "State/secret",
    "state./secret",
    "state /secret",
    " state/secret",
    "ſtate/secret",
    "st\u{200b}ate/secret",
    "state\u{202e}/secret",
    "state/deep/secret",
    "state/../state/secret",
    "state",
    "state/new.md",
    ".git/config",
    ".GIT/config",
    ".git./hooks/post-commit",
    "git~1/config",
    "notes/.git/config",
    "outside/secret",
    "../outside/secret",
    "link/secret",
    "slink/secret",
    "slink/new.md",
    "notes/hard.md",
    "filelink",
    "etc/passwd",
];
const SUFFIXES: [&str; 9] = ["", "/", "/.", "\0", " ", ".", "//", "/../secret", "\n"];

/// Returns every file below `dir` with its content.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_dir() {
            let below = contents(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes));
            found.extend(below);
        } else {
            found.insert(name, fs::read(&path).unwrap_or_default());
        }
    }
    found
}

fn paths(rig: &Rig) -> Vec<String> {
    let data = rig.path("data");
    let mut paths = Vec::new();
    for front in PREFIXES {
        for place in TARGETS {
            for back in SUFFIXES {
                paths.push(format!("{front}{place}{back}").replace("{data}", data.to_str().unwrap()));
            }
        }
    }
    paths
}

fn rig_with_links() -> Rig {
    let rig = Rig::new();
    symlink("../outside", rig.path("data/link")).unwrap();
    symlink("state", rig.path("data/slink")).unwrap();
    symlink("..", rig.path("data/up")).unwrap();
    symlink("../..", rig.path("data/notes/up")).unwrap();
    symlink("state/secret", rig.path("data/filelink")).unwrap();
    fs::hard_link(rig.path("data/state/secret"), rig.path("data/notes/hard.md")).unwrap();
    rig
}

/// Calls every tool with `path`: the tool functions themselves, since the runtime would slow the
/// race down.
fn call_every_tool(rig: &Rig, path: &str) -> Vec<Result<String, String>> {
    let edit = json!({"file_path": path, "old_string": SECRET, "new_string": "PWNED"});
    let grep = json!({"pattern": ".", "path": path, "output_mode": "content"});
    let folder = path.trim_end_matches("/secret");
    vec![
        rig.files.read(path, 1, 10),
        rig.files.edit(&serde_json::from_value(edit).unwrap()),
        rig.files.write(path, "PWNED"),
        rig.files.grep(serde_json::from_value(grep).unwrap()),
        rig.files.glob(path, ""),
        rig.files.glob("*", folder),
    ]
}

/// I9: 5,000 paths through every tool; nothing outside and nothing of the program is read or written.
#[test]
fn no_path_leads_outside_or_into_closed_folders() {
    let rig = rig_with_links();
    let closed = || ["data/state", "data/.git", "outside"].map(|dir| contents(&rig.path(dir)));
    let before = closed();
    let paths = paths(&rig);
    assert!(paths.len() >= 5_000, "{}", paths.len());
    let mut opened = 0;
    for path in &paths {
        for text in call_every_tool(&rig, path) {
            opened += usize::from(text.is_ok());
            let text = text.unwrap_or_else(|refused| refused);
            // Created files are deleted, otherwise searching takes longer and longer.
            if let Some((name, _)) = text.strip_prefix("made `").and_then(|text| text.rsplit_once("`: ")) {
                fs::remove_file(rig.path("data").join(name)).unwrap();
            }
            assert!(!text.contains(SECRET), "{path:?} told the secret");
            assert!(!text.contains("root:x:"), "{path:?} led to another file of the machine");
        }
    }
    assert!(opened > 100, "only {opened} calls worked: the paths prove little");
    assert_eq!(closed(), before);
    let beside: Vec<_> =
        fs::read_dir(rig.dir.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(beside.len(), 2, "{beside:?}");
}

/// I9: a folder is swapped for a link 10,000 times during the walks.
#[test]
fn folder_swapped_for_a_link_is_refused() {
    let rig = Rig::new();
    fs::write(rig.path("data/notes/secret"), "nothing special").unwrap();
    symlink("../outside", rig.path("data/out")).unwrap();
    symlink("state", rig.path("data/in")).unwrap();
    let closed = || ["data/state", "outside"].map(|dir| contents(&rig.path(dir)));
    let before = closed();
    let enough = AtomicBool::new(false);
    let mut worked = 0;
    let mut refused = 0;
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            for turn in 0.. {
                let real = rig.path("data/notes");
                let trap = rig.path(["data/out", "data/in"][turn / 2 % 2]);
                renameat_with(CWD, &real, CWD, &trap, RenameFlags::EXCHANGE).unwrap();
                if turn >= 10_000 && enough.load(Ordering::Acquire) {
                    return;
                }
            }
        });
        while !swapper.is_finished() {
            for result in call_every_tool(&rig, "notes/secret") {
                match result {
                    Ok(result) => {
                        assert!(!result.contains(SECRET) && !result.contains("deep"), "{result}");
                        worked += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
            enough.store(worked + refused >= 2_000, Ordering::Release);
        }
    });
    assert!(worked > 0 && refused > 0, "{worked} worked, {refused} were refused");
    assert_eq!(closed(), before);
}
