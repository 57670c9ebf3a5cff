//! Tests a built binary: it prints its version, and resolves a host name.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, bail};

/// Maximum time until it connects.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The result of a host name lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameLookup {
    Yes,
    No,
}

impl NameLookup {
    /// Returns the result as a word.
    pub fn text(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "NO",
        }
    }
}

/// Returns the output of `--version`, with an empty environment.
pub fn version(binary: &Path) -> anyhow::Result<String> {
    let text = Command::new(binary).arg("--version").env_clear().output()?;
    if text.status.success() {
        Ok(String::from_utf8(text.stdout)?.trim().to_owned())
    } else {
        bail!("{} does not run: {}", binary.display(), String::from_utf8_lossy(&text.stderr))
    }
}

/// Returns whether it resolves `localhost`, which is the part of a static binary that can fail.
pub fn resolves_names(binary: &Path) -> anyhow::Result<NameLookup> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let home = std::env::temp_dir().join(format!("ollim-dist-{}", std::process::id()));
    std::fs::create_dir_all(&home)?;
    let url = format!("http://localhost:{}/v1", listener.local_addr()?.port());
    let mut child = Command::new(binary)
        .args(["chat", "--once", "hello", "--data-dir"])
        .arg(home.join("data"))
        .env_clear()
        .envs([("HOME", home.as_os_str()), ("OPENAI_BASE_URL", url.as_ref())])
        .envs([("OLLIM_MODEL", "openai:nobody"), ("OLLIM_HTTP", "127.0.0.1:0")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    let (called, connected) = mpsc::channel();
    std::thread::spawn(move || {
        let Ok((mut caller, _)) = listener.accept() else { return };
        let _ = caller.read(&mut [0; 1024]);
        let _ = caller.write_all(b"HTTP/1.1 401 no\r\ncontent-length: 0\r\n\r\n");
        let _ = called.send(());
    });
    let found =
        if connected.recv_timeout(CONNECT_TIMEOUT).is_ok() { NameLookup::Yes } else { NameLookup::No };
    // It may have exited already.
    let _ = child.kill();
    child.wait()?;
    std::fs::remove_dir_all(&home)?;
    Ok(found)
}
