//! The socket file in the data directory, used by the command line.
//!
//! The path of a socket is limited to 107 bytes. For a deeper directory, the socket is addressed
//! through the directory's open file descriptor.

use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// Temporary directory in which the socket is created before it is renamed.
const TEMP_DIRECTORY: &str = ".door";
/// Maximum length of a socket path that all systems accept, in bytes.
const MAX_PATH_BYTES: usize = 100;

/// A socket file that only its owner can open; deleted when dropped.
#[derive(Debug)]
pub struct SocketFileListener {
    pub(super) listener: UnixListener,
    path: PathBuf,
}

impl Drop for SocketFileListener {
    fn drop(&mut self) {
        // If this fails, the next start replaces the file.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Creates the socket `name` in `directory`, replacing one of an earlier run. The caller holds the
/// lock of the data directory, so the old one is not in use.
pub fn bind_file(directory: &Path, name: &str) -> io::Result<SocketFileListener> {
    let path = directory.join(name);
    if path.symlink_metadata().is_ok_and(|found| !found.file_type().is_socket()) {
        let message = format!("{} is in the way: it is not a socket; move it elsewhere", path.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    let temp_directory = directory.join(TEMP_DIRECTORY);
    remove_temp_directory(&temp_directory);
    DirBuilder::new().mode(0o700).create(&temp_directory)?;
    let made = temp_directory.join(name);
    let listener = with_short_path(&temp_directory, name, |address| UnixListener::bind(address))?;
    std::fs::set_permissions(&made, Permissions::from_mode(0o600))?;
    std::fs::rename(&made, &path)?;
    remove_temp_directory(&temp_directory);
    Ok(SocketFileListener { listener, path })
}

/// Connects to the socket `name` in `directory`.
pub async fn connect_file(directory: &Path, name: &str) -> io::Result<UnixStream> {
    let path = directory.join(name);
    if path.as_os_str().len() <= MAX_PATH_BYTES {
        return UnixStream::connect(path).await;
    }
    let open = File::open(directory)?;
    UnixStream::connect(descriptor_path(&open, name)).await
}

fn with_short_path<T>(
    directory: &Path,
    name: &str,
    bind: impl FnOnce(PathBuf) -> io::Result<T>,
) -> io::Result<T> {
    let path = directory.join(name);
    if path.as_os_str().len() <= MAX_PATH_BYTES {
        return bind(path);
    }
    let open = File::open(directory)?;
    bind(descriptor_path(&open, name))
}

fn descriptor_path(open: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd())).join(name)
}

/// Deletes the leftovers of a crashed run.
fn remove_temp_directory(temp_directory: &Path) {
    for left in std::fs::read_dir(temp_directory).into_iter().flatten().flatten() {
        let _ = std::fs::remove_file(left.path());
    }
    let _ = std::fs::remove_dir(temp_directory);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_owner_can_open_the_socket_however_deep_it_is() {
        let home = tempfile::tempdir().unwrap();
        for directory in [home.path().join("a"), home.path().join("d".repeat(100)).join("e".repeat(100))] {
            std::fs::create_dir_all(&directory).unwrap();
            for _ in 0..2 {
                let door = bind_file(&directory, "ollim.sock").unwrap();
                let mode = std::fs::metadata(directory.join("ollim.sock")).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600);
                connect_file(&directory, "ollim.sock").await.unwrap();
                std::mem::forget(door);
            }
            assert!(!directory.join(TEMP_DIRECTORY).exists());
        }
    }

    #[tokio::test]
    async fn a_file_that_is_not_a_socket_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("ollim.sock"), "mine").unwrap();
        assert!(bind_file(home.path(), "ollim.sock").is_err());
        assert_eq!(std::fs::read_to_string(home.path().join("ollim.sock")).unwrap(), "mine");
    }
}
