//! A data directory with secrets in and around it, and a toolbox whose shell runs in a real
//! sandbox.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::conversation::Json;
use domain::tool::{Outcome, ToolCall};
use domain::turn::TurnId;
use engine::handle::AssistantHandle;
use engine::ports::ToolRunner;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tools::shell::{NetworkRule, OwnCommands, Shell};
use tools::{Availability, LabelledText, ToolEnv, Toolbox};

/// The content that no command may read.
pub const SECRET: &str = "the-secret-of-the-house";

/// Returns its arguments as text.
struct EchoCommands;

impl OwnCommands for EchoCommands {
    fn run<'a>(&'a self, words: &'a [String]) -> BoxFuture<'a, Result<LabelledText, String>> {
        let text = format!("own: {}", words.join("|"));
        Box::pin(async move { Ok(LabelledText { text, label: domain::label::Label::PLAIN }) })
    }
}

pub struct Rig {
    dir: TempDir,
    toolbox: Toolbox,
    assistant: AssistantHandle,
    runtime: Runtime,
}

impl Rig {
    pub fn new() -> Self {
        let sandbox = vec![env!("CARGO_BIN_EXE_ollim-bot").to_owned(), "cage".to_owned()];
        Self::with_sandbox(sandbox, NetworkRule::Never)
    }

    pub fn with_network() -> Self {
        let sandbox = vec![env!("CARGO_BIN_EXE_ollim-bot").to_owned(), "cage".to_owned()];
        Self::with_sandbox(sandbox, NetworkRule::WhenAsked)
    }

    /// Creates a rig with another program in place of the sandbox.
    pub fn with_sandbox(sandbox: Vec<String>, network: NetworkRule) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path_of = |path: &str| dir.path().join(path);
        for folder in ["data/notes", "data/state", "data/.git/hooks", "data/work", "home/.ssh"] {
            fs::create_dir_all(path_of(folder)).unwrap();
        }
        for secret_file in ["data/state/secret", "data/.git/config", "home/.ssh/id", "data/shut"] {
            fs::write(path_of(secret_file), SECRET).unwrap();
        }
        fs::write(path_of("data/notes/n.md"), "a note\nsecond line\n").unwrap();
        let data = path_of("data");
        let work = path_of("data/work");
        let zone = "Europe/Madrid".to_owned();
        let shell = Shell {
            sandbox_command: sandbox,
            data,
            closed: vec!["shut".to_owned()],
            work_dir: work,
            time_zone: zone,
            network,
        };
        let tool_env = ToolEnv {
            shell: Availability::Available(shell),
            own_commands: Availability::Available(Arc::new(EchoCommands)),
            ..ToolEnv::default()
        };
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Self { dir, toolbox: Toolbox::new(tool_env), assistant: AssistantHandle::new().0, runtime }
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub fn work(&self) -> PathBuf {
        self.data().join("work")
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub fn bash(&self, command: &str) -> Result<String, String> {
        self.call(json!({ "command": command }))
    }

    /// Returns the result of a `Bash` call as the model reads it.
    pub fn call(&self, input: Value) -> Result<String, String> {
        self.runtime.block_on(self.call_bash(input))
    }

    async fn call_bash(&self, input: Value) -> Result<String, String> {
        let call = ToolCall { id: "c".to_owned(), name: "Bash".to_owned(), input: Json(input.to_string()) };
        let result = self.toolbox.run(TurnId(1), &call, &self.assistant).await;
        if result.outcome == Outcome::Done { Ok(result.text) } else { Err(result.text) }
    }

    /// Runs `command`, which must create the file `ready` and then wait for `go`. Calls `inspect`
    /// with its processes in between.
    pub fn with_running(&self, command: &str, inspect: impl FnOnce(&[PathBuf])) -> Result<String, String> {
        let inspection = async {
            let work_dir = loop {
                if let Some(work_dir) = self.work_dirs().find(|work_dir| work_dir.join("ready").exists()) {
                    break work_dir;
                }
                tokio::task::yield_now().await;
            };
            inspect(&self.processes());
            fs::write(work_dir.join("go"), "").unwrap();
        };
        let calling = self.call_bash(json!({ "command": command }));
        self.runtime.block_on(async {
            let mut calling = std::pin::pin!(calling);
            tokio::select! {
                // The command should still wait; its output shows why it did not.
                ended = &mut calling => panic!("it did not wait: {ended:?}"),
                () = inspection => calling.await,
            }
        })
    }

    /// The working folders of the commands that run now.
    fn work_dirs(&self) -> impl Iterator<Item = PathBuf> {
        fs::read_dir(self.work()).unwrap().flatten().map(|entry| entry.path())
    }

    /// The processes whose working directory is in our folder.
    pub fn processes(&self) -> Vec<PathBuf> {
        let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        all.filter(|path| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(self.work())))
            .collect()
    }

    /// Waits until no process works in our folder: the kernel needs a moment to reap killed
    /// processes.
    pub fn wait_for_no_processes(&self) {
        let end = std::time::Instant::now() + testkit::TEST_TIMEOUT;
        while !self.processes().is_empty() {
            assert!(std::time::Instant::now() < end, "these go on: {:?}", self.processes());
            std::thread::yield_now();
        }
    }

    /// Returns mode and content of all files that a command must not change.
    pub fn protected_files(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.dir.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap().flatten().filter(|entry| entry.path() != self.work())
            {
                let meta = entry.metadata().unwrap();
                if meta.is_dir() {
                    folders.push(entry.path());
                }
                found.insert(
                    entry.path(),
                    (meta.permissions().mode(), fs::read(entry.path()).unwrap_or_default()),
                );
            }
        }
        found
    }

    /// Removes the files that a command run without sandbox left in the working folder.
    pub fn clear_work(&self) {
        for entry in fs::read_dir(self.work()).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                fs::remove_dir_all(entry.path()).unwrap()
            } else {
                fs::remove_file(entry.path()).unwrap()
            }
        }
    }
}

/// Listens on loopback. Returns the port, and a function that counts the connections.
pub fn listen() -> (u16, impl Fn() -> usize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(b"hello\n");
        }
    });
    (port, move || connections.load(Ordering::SeqCst))
}

/// Returns whether `path` is an empty folder.
pub fn is_empty(path: &Path) -> bool {
    fs::read_dir(path).unwrap().next().is_none()
}
