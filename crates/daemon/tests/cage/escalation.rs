//! I6: commands that try to extend permissions by editing files that define them, whether or not
//! the files exist.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::rig::Rig;

/// Files that define permissions.
const PERMISSION_FILES: [&str; 16] = [
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
    "settings.toml",
    "state/config.json",
];

/// Ways to edit a file from a shell.
const EDITS: [&str; 16] = [
    "echo obey > {path}",
    "echo obey >> {path}",
    "echo obey | tee {path}",
    "cp made {path}",
    "mv -f copy {path}; cp made copy",
    "ln -sf $PWD/made {path}",
    "ln -f made {path}",
    "mkdir -p {path} {folder}; cp made {path}",
    "install -D -m 700 made {path}",
    "dd if=made of={path}",
    "sed -i s/Read/Bash/ {path}",
    "perl -e 'open F, q(>), q({path}); print F q(obey)'",
    "truncate -s 0 {path}",
    "touch {path}",
    "rm -rf {path} {folder}",
    "mv {folder} {folder}.old; mkdir {folder}; cp made {path}",
];

fn read_files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(read_files(&entry.path()))
        } else {
            drop(found.insert(entry.path(), fs::read(entry.path()).unwrap_or_default()))
        }
    }
    found
}

/// I6: 512 edits by every means of a shell, with absolute and relative paths, change or create no
/// file outside the working folder.
#[test]
fn sandboxed_command_cannot_extend_permissions() {
    let rig = Rig::new();
    for (path, text) in [
        ("routines/mail.md", "---\nid: mail\ncron: 0 9 * * *\nallowed-tools:\n- Read\n---\nTriage.\n"),
        ("skills/tidy/SKILL.md", "---\nname: tidy\ndescription: x\n---\nTidy up.\n"),
        ("mcp.json", "{}"),
        ("CLAUDE.md", "Be kind."),
        ("settings.toml", ""),
    ] {
        fs::create_dir_all(rig.data().join(path).parent().unwrap()).unwrap();
        fs::write(rig.data().join(path), text).unwrap();
    }
    let before = read_files(&rig.data());
    let mut edits = 0;
    for edit in EDITS {
        for root in [rig.data().display().to_string(), "../..".to_owned()] {
            let edit_path = |path: &str| {
                let folder = path.rsplit_once('/').map_or("routines", |(folder, _)| folder);
                let full = |path: &str| format!("{root}/{path}");
                edit.replace("{path}", &full(path)).replace("{folder}", &full(folder))
            };
            let all: Vec<String> = PERMISSION_FILES.into_iter().map(edit_path).collect();
            edits += all.len();
            let command = format!("echo obey > made; cp made copy; {}; echo tried", all.join("; "));
            let output = rig.bash(&command).unwrap();
            assert!(output.contains("tried"), "{output}");
            assert_eq!(read_files(&rig.data()), before, "{command}");
        }
    }
    assert_eq!(edits, 512);
}
