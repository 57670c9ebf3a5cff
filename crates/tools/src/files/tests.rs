//! Tests of the file tools: their results and their limits.

mod paths;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::{Arc, Mutex};

use domain::conversation::Json;
use domain::tool::{Outcome, ToolCall};
use domain::turn::TurnId;
use engine::handle::AssistantHandle;
use engine::ports::ToolRunner;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use super::{BaseDirs, FileHistory, Files};
use crate::{Availability, ToolEnv, Toolbox};

/// The content of files that no tool may read.
const SECRET: &str = "the-secret-of-the-house";

/// Records what is sent to the history.
#[derive(Default)]
struct RecordingHistory(Mutex<Vec<String>>);

impl FileHistory for RecordingHistory {
    fn record_write(&self, path: &Path, message: String) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        self.0.lock().unwrap().push(format!("{name}: {message}"));
    }

    fn permit_write(&self, _: &str, _: Option<&str>, _: &str) {}
}

/// A data directory with files, and a folder beside it.
struct Rig {
    dir: TempDir,
    history: Arc<RecordingHistory>,
    files: Arc<Files>,
    toolbox: Toolbox,
    assistant: AssistantHandle,
    runtime: Runtime,
}

impl Rig {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for folder in ["data/notes", "data/state/deep", "data/.git", "data/work", "outside"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::write(at("data/notes/a.md"), "one\ntwo\nthree\n").unwrap();
        for closed in ["data/state/secret", "data/state/deep/secret", "data/.git/config", "outside/secret"] {
            fs::write(at(closed), SECRET).unwrap();
        }
        let kept = Arc::new(RecordingHistory::default());
        let folders = BaseDirs { data: at("data"), home: Some(dir.path().to_owned()) };
        let files = Arc::new(Files::open(folders, vec!["work".to_owned()], kept.clone()).unwrap());
        let toolbox =
            Toolbox::new(ToolEnv { files: Availability::Available(files.clone()), ..ToolEnv::default() });
        let runtime = Builder::new_current_thread().build().unwrap();
        Self { dir, history: kept, files, toolbox, assistant: AssistantHandle::new().0, runtime }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.dir.path().join(path)
    }

    /// The text for the model after a call, as an error if the call failed.
    fn call(&self, name: &str, input: Value) -> Result<String, String> {
        let call = ToolCall { id: "c".to_owned(), name: name.to_owned(), input: Json(input.to_string()) };
        let result = self.runtime.block_on(self.toolbox.run(TurnId(1), &call, &self.assistant));
        if result.outcome == Outcome::Done { Ok(result.text) } else { Err(result.text) }
    }

    fn read(&self, path: &str) -> Result<String, String> {
        self.call("Read", json!({"file_path": path}))
    }

    fn write(&self, path: &str, content: &str) -> Result<String, String> {
        self.call("Write", json!({"file_path": path, "content": content}))
    }

    fn history(&self) -> Vec<String> {
        std::mem::take(&mut *self.history.0.lock().unwrap())
    }
}

#[test]
fn a_file_is_read_with_its_line_numbers() {
    let rig = Rig::new();
    let whole = "1\tone\n2\ttwo\n3\tthree\n";
    for path in ["notes/a.md", "./notes//a.md", "~/data/notes/a.md", "notes/../notes/a.md"] {
        assert_eq!(rig.read(path).as_deref(), Ok(whole), "{path}");
    }
    assert_eq!(rig.read(rig.path("data/notes/a.md").to_str().unwrap()).as_deref(), Ok(whole));
    let part = rig.call("Read", json!({"file_path": "notes/a.md", "offset": 2, "limit": 1}));
    assert_eq!(part.as_deref(), Ok("2\ttwo\n(1 more lines; read on with offset 3)\n"));
    let beyond = rig.call("Read", json!({"file_path": "notes/a.md", "offset": 9}));
    assert_eq!(beyond, Err("Error: `notes/a.md` has only 3 lines.".to_owned()));
    fs::write(rig.path("data/empty"), "").unwrap();
    assert_eq!(rig.read("empty").as_deref(), Ok("`empty` is empty."));
    let missing = rig.read("notes/b.md").unwrap_err();
    assert!(missing.contains("there is no `notes/b.md`"), "{missing}");
}

#[test]
fn long_files_are_truncated_and_binary_files_are_refused() {
    let rig = Rig::new();
    fs::write(rig.path("data/long"), "x\n".repeat(5_000)).unwrap();
    let told = rig.read("long").unwrap();
    assert!(told.ends_with("2000\tx\n(3000 more lines; read on with offset 2001)\n"), "{told}");
    fs::write(rig.path("data/wide"), format!("{}\nend", "ä".repeat(10_000_000))).unwrap();
    let told = rig.read("wide").unwrap();
    assert!(told.len() < 5_000 && told.ends_with("(this line goes on)\n2\tend\n"));
    fs::write(rig.path("data/big"), format!("{}\n", "y".repeat(1_900)).repeat(1_000)).unwrap();
    let told = rig.read("big").unwrap();
    assert!(told.len() < 300_000 && told.contains("more lines; read on with offset"), "{}", told.len());
    fs::write(rig.path("data/picture"), b"\x89PNG\0\0").unwrap();
    assert_eq!(rig.read("picture"), Err("Error: `picture` is not text (6 bytes).".to_owned()));
    fs::write(rig.path("data/latin"), b"caf\xe9").unwrap();
    assert_eq!(rig.read("latin").as_deref(), Ok("1\tcaf\u{fffd}\n"));
    let told = rig.write("huge.md", &"z".repeat(1024 * 1024 + 1)).unwrap_err();
    assert!(told.contains("write it in several files"), "{told}");
}

/// DD-14, DD-15: only notes that tools write go into the history.
#[test]
fn written_notes_go_into_the_history() {
    let rig = Rig::new();
    assert_eq!(
        rig.write("notes/new/b.md", "hello\n").as_deref(),
        Ok("made `notes/new/b.md`: 1 lines, 6 bytes.")
    );
    assert_eq!(rig.write("./notes/a.md", "x").as_deref(), Ok("replaced `notes/a.md`: 1 lines, 1 bytes."));
    let edit = json!({"file_path": "notes/a.md", "old_string": "x", "new_string": "y"});
    assert_eq!(rig.call("Edit", edit).as_deref(), Ok("changed `notes/a.md` in 1 place."));
    assert_eq!(
        rig.history(),
        ["b.md: auto: write notes/new/b.md", "a.md: auto: write notes/a.md", "a.md: auto: edit notes/a.md"]
    );
    assert_eq!(fs::read_to_string(rig.path("data/notes/a.md")).unwrap(), "y");
    rig.write("notes/list.txt", "no note").unwrap();
    rig.write("work/c.md", "made by a command").unwrap();
    rig.write("state/c.md", "refused").unwrap_err();
    assert_eq!(rig.history(), Vec::<String>::new());
}

#[test]
fn edit_reports_the_number_of_matches() {
    let rig = Rig::new();
    rig.write("b.md", "tea tea milk").unwrap();
    let edit = |old: &str, new: &str, all: bool| {
        let input = json!({"file_path": "b.md", "old_string": old, "new_string": new, "replace_all": all});
        rig.call("Edit", input)
    };
    assert!(edit("tea", "rum", false).unwrap_err().contains("is in it 2 times"));
    assert!(edit("gin", "rum", true).unwrap_err().contains("is not in it"));
    assert!(edit("", "rum", false).unwrap_err().contains("is empty"));
    assert!(edit("tea", "tea", false).unwrap_err().contains("the same"));
    assert_eq!(edit("tea", "rum", true).as_deref(), Ok("changed `b.md` in 2 places."));
    assert_eq!(edit("milk", "", false).as_deref(), Ok("changed `b.md` in 1 place."));
    assert_eq!(fs::read_to_string(rig.path("data/b.md")).unwrap(), "rum rum ");
    fs::write(rig.path("data/latin"), b"caf\xe9").unwrap();
    let odd = json!({"file_path": "latin", "old_string": "a", "new_string": "b"});
    assert!(rig.call("Edit", odd).unwrap_err().contains("not plain text"));
}

#[test]
fn files_are_found_by_name_and_by_content() {
    let rig = Rig::new();
    rig.write("notes/deep/b.md", "zero\nTwo\nthree").unwrap();
    rig.write("c.txt", "two").unwrap();
    let glob = |input: Value| rig.call("Glob", input).unwrap();
    assert_eq!(glob(json!({"pattern": "**/*.md"})), "notes/a.md\nnotes/deep/b.md");
    assert_eq!(glob(json!({"pattern": "*", "path": "notes"})), "notes/a.md");
    assert_eq!(glob(json!({"pattern": rig.path("data/notes/*.md").to_str().unwrap()})), "notes/a.md");
    assert_eq!(glob(json!({"pattern": "**"})), "c.txt\nnotes/a.md\nnotes/deep/b.md");
    assert_eq!(glob(json!({"pattern": "*.rs"})), "(no file matches)");
    let grep = |input: Value| rig.call("Grep", input).unwrap();
    assert_eq!(grep(json!({"pattern": "two"})), "c.txt\nnotes/a.md");
    assert_eq!(grep(json!({"pattern": "two", "-i": true, "glob": "*.md"})), "notes/a.md\nnotes/deep/b.md");
    assert_eq!(
        grep(json!({"pattern": "t", "output_mode": "count", "path": "notes"})),
        "notes/a.md:2\nnotes/deep/b.md:1"
    );
    let around = json!({"pattern": "two", "output_mode": "content", "-C": 1, "path": "notes/a.md"});
    assert_eq!(grep(around), "notes/a.md-1-one\nnotes/a.md:2:two\nnotes/a.md-3-three");
    assert_eq!(grep(json!({"pattern": "nobody"})), "(nothing found)");
    assert_eq!(grep(json!({"pattern": SECRET})), "(nothing found)");
    assert!(rig.call("Grep", json!({"pattern": "("})).unwrap_err().contains("not a regular expression"));
}

#[test]
fn results_are_bounded_with_a_notice() {
    let rig = Rig::new();
    fs::create_dir(rig.path("data/many")).unwrap();
    for n in 0..1_200 {
        fs::write(rig.path(&format!("data/many/{n:04}")), "line\n").unwrap();
    }
    let told = rig.call("Glob", json!({"pattern": "many/*"})).unwrap();
    assert_eq!(told.lines().count(), 1_001);
    assert!(told.ends_with("(more than 1000 match; these are the first)"), "{told}");
    for mode in ["content", "files_with_matches", "count"] {
        let told = rig.call("Grep", json!({"pattern": "line", "output_mode": mode})).unwrap();
        assert_eq!(told.lines().count(), 501, "{mode}");
        assert!(told.ends_with("(more than 500 found; these are the first)"), "{mode}");
    }
    let few = json!({"pattern": "line", "output_mode": "content", "head_limit": 3, "-A": 1});
    assert_eq!(rig.call("Grep", few).unwrap().lines().filter(|line| line.contains(":line")).count(), 3);
}

/// J2: created files and folders are private to the user from the first moment, regardless of the
/// umask.
#[test]
fn created_files_are_private_to_the_user() {
    let rig = Rig::new();
    rustix::process::umask(rustix::fs::Mode::empty());
    rig.write("fresh/deep/a.md", "x").unwrap();
    let mode = |path: &str| fs::metadata(rig.path(path)).unwrap().mode() & 0o777;
    assert_eq!((mode("data/fresh"), mode("data/fresh/deep")), (0o700, 0o700));
    assert_eq!(mode("data/fresh/deep/a.md"), 0o600);
    fs::set_permissions(rig.path("data/notes/a.md"), fs::Permissions::from_mode(0o644)).unwrap();
    rig.write("notes/a.md", "x").unwrap();
    assert_eq!(mode("data/notes/a.md"), 0o600, "a file that others could read is not so again");
}

/// I9: special files are not opened and do not block.
#[test]
fn only_files_are_opened() {
    let rig = Rig::new();
    let pipe = rig.path("data/pipe");
    let fifo = rustix::fs::FileType::Fifo;
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(rig.path("data/socket")).unwrap();
    symlink("notes/a.md", rig.path("data/link")).unwrap();
    for (path, why) in [("pipe", "a pipe"), ("socket", "a socket"), ("notes", "a folder"), ("link", "a link")]
    {
        assert!(rig.read(path).unwrap_err().contains(why), "{path}");
        assert!(rig.write(path, "x").unwrap_err().contains(why), "{path}");
    }
    assert!(rig.read(".").unwrap_err().contains("the data directory"));
    assert_eq!(rig.call("Grep", json!({"pattern": "two"})).as_deref(), Ok("notes/a.md"));
}

/// I9: a hard link to a file of the program is closed; one to a file of the user is not.
#[test]
fn hard_links_do_not_open_program_files() {
    let rig = Rig::new();
    fs::hard_link(rig.path("data/state/deep/secret"), rig.path("data/notes/hard.md")).unwrap();
    fs::hard_link(rig.path("data/notes/a.md"), rig.path("data/notes/twin.md")).unwrap();
    assert!(rig.read("notes/hard.md").unwrap_err().contains("is closed"));
    assert!(rig.write("notes/hard.md", "x").unwrap_err().contains("is closed"));
    assert_eq!(rig.call("Grep", json!({"pattern": SECRET})).as_deref(), Ok("(nothing found)"));
    assert!(rig.read("notes/twin.md").is_ok());
}

#[test]
fn tools_without_an_environment_report_that_they_are_off() {
    let rig = Rig { toolbox: Toolbox::default(), ..Rig::new() };
    let told = rig.read("notes/a.md").unwrap_err();
    assert_eq!(told, "Error: `Read` is off: nothing was set up for it here. go on without it.");
}
