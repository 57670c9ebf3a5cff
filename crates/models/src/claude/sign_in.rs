//! Signs the program in: it prints a URL, the user signs in there and returns with a code.

use std::process::Stdio;
use std::time::Duration;

use domain::failure::Failure;
use domain::sign_in::SignInCode;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::process::read_some;
use super::settings::{Environment, Settings};
use super::{Claude, refusal};
use crate::sanitizer::sanitize_text;

/// The most bytes of output that are stored.
const MAX_OUTPUT_BYTES: usize = 16 * 1024;

/// The time to wait for output that was written before the exit.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// The program's prompt for a code, without a line end. Its next output may follow on the same
/// line.
const PROMPT: &str = "Paste code here if prompted >";

/// The program's reaction to an invalid code; it then waits for another one.
const INVALID_CODE: &str = "invalid code";

impl Claude {
    /// SU-3: starts the sign-in. No browser is opened: the user may sign in on another device.
    pub async fn sign_in(&self) -> Result<SignInProcess, Failure> {
        let settings = &self.shared.settings;
        let name = settings.program.display().to_string();
        let mut process =
            SignInProcess::start(settings).map_err(|error| refusal::start_failure(&name, &error))?;
        let result = timeout(settings.timeouts.start, process.find_address()).await;
        match result {
            Ok(Ok(address)) => {
                process.address = address;
                Ok(process)
            }
            Ok(Err(why)) => Err(refusal::exit_failure(&why)),
            Err(_) => Err(Failure::Unreachable(format!("`{name} auth login` tells no address"))),
        }
    }
}

/// A program that waits for the user to sign in. It is killed on drop.
pub struct SignInProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    text: String,
    address: String,
    code: Option<SignInCode>,
    environment: Environment,
}

/// An event of the sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignInEvent {
    /// The code was rejected; the program waits for another one.
    CodeRejected,
    /// The sign-in ended, with the program's last line on failure.
    Ended(Result<(), String>),
}

impl SignInProcess {
    fn start(settings: &Settings) -> std::io::Result<Self> {
        let mut command = settings.program();
        command.args(["auth", "login"]).env("BROWSER", "").kill_on_drop(true);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take();
        let stderr = child.stderr.take();
        Ok(Self {
            child,
            input,
            output,
            stderr,
            text: String::new(),
            address: String::new(),
            code: None,
            environment: settings.environment.clone(),
        })
    }

    /// Returns the URL where the user signs in.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends the user's code to the program. `next_event` returns its reaction.
    pub async fn send_code(&mut self, code: SignInCode) {
        self.text.clear();
        if let Some(input) = &mut self.input {
            let line = format!("{}\n", code.reveal());
            // A failed write means that the program has ended, which `next_event` reports.
            let _ = input.write_all(line.as_bytes()).await;
            let _ = input.flush().await;
        }
        self.code = Some(code);
    }

    /// Waits for the next event. Cancel-safe.
    pub async fn next_event(&mut self) -> SignInEvent {
        loop {
            if self.code.is_some() && self.text.to_lowercase().contains(INVALID_CODE) {
                self.text.clear();
                return SignInEvent::CodeRejected;
            }
            match self.read_more().await {
                None => {}
                Some(true) => return SignInEvent::Ended(Ok(())),
                Some(false) => return SignInEvent::Ended(Err(self.last_line())),
            }
        }
    }

    /// Ends the program. It has exited when this returns.
    pub async fn stop(mut self) {
        // It may have exited just now.
        let _ = self.child.kill().await;
    }

    async fn find_address(&mut self) -> Result<String, String> {
        loop {
            if let Some(address) = find_url(&self.text) {
                return Ok(address.to_owned());
            }
            if self.read_more().await.is_some() {
                return Err(self.last_line());
            }
        }
    }

    /// Reads more output. Returns whether the program succeeded, once it has ended.
    async fn read_more(&mut self) -> Option<bool> {
        let Self { child, output, stderr, .. } = self;
        let bytes = tokio::select! {
            biased;
            bytes = read_either(output, stderr) => bytes,
            ended = child.wait() => {
                // A child of the program may hold its streams open indefinitely.
                let rest = async {
                    while self.output.is_some() || self.stderr.is_some() {
                        let bytes = read_either(&mut self.output, &mut self.stderr).await;
                        self.append_text(&bytes);
                    }
                };
                let _ = timeout(DRAIN_TIMEOUT, rest).await;
                return Some(ended.is_ok_and(|status| status.success()));
            }
        };
        self.append_text(&bytes);
        None
    }

    fn append_text(&mut self, bytes: &[u8]) {
        self.text.push_str(&String::from_utf8_lossy(bytes));
        let too_many = self.text.len().saturating_sub(MAX_OUTPUT_BYTES);
        self.text.drain(..self.text.ceil_char_boundary(too_many));
    }

    /// Returns the last line of output, safe to show.
    fn last_line(&self) -> String {
        let lines = self.text.lines().flat_map(|line| line.split(PROMPT));
        let last = lines.map(str::trim).filter(|line| !line.is_empty()).last();
        let last = self.environment.redact(last.unwrap_or_default());
        sanitize_text(last, self.code.as_ref().map_or("", SignInCode::reveal))
    }
}

/// Reads some bytes of either stream.
async fn read_either(output: &mut Option<ChildStdout>, stderr: &mut Option<ChildStderr>) -> Vec<u8> {
    tokio::select! {
        bytes = read_some(output) => bytes,
        bytes = read_some(stderr) => bytes,
    }
}

/// Returns the first URL in `output`, once it is terminated. It may be enclosed in terminal escape
/// sequences.
fn find_url(output: &str) -> Option<&str> {
    let rest = &output[output.find("https://")?..];
    let end = rest.find(|c: char| c.is_whitespace() || c.is_control())?;
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SU-3: the first complete URL is found, whatever surrounds it.
    #[test]
    fn first_complete_url_is_found() {
        let check = |heard: &str, expected: Option<&str>| assert_eq!(find_url(heard), expected, "{heard:?}");
        check(
            "visit: https://a.example/x?y=1&z=2\nor https://b.example\n",
            Some("https://a.example/x?y=1&z=2"),
        );
        check("\u{1b}]8;;https://a.example/x\u{7}here\u{1b}]8;;\u{7}", Some("https://a.example/x"));
        check("visit https://a.example/x\u{1b}[0m", Some("https://a.example/x"));
        check("visit: https://a.exam", None);
        check("nothing here\n", None);
    }
}
