//! Signs the program in: it prints a URL, the user signs in there and returns with a code.

use std::process::Stdio;
use std::time::Duration;

use domain::failure::Failure;
use domain::signing_in::Code;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::process::hear;
use super::settings::{Environment, Settings};
use super::{Claude, refusal};
use crate::presentable::presentable_text;

/// The most bytes of output that are stored.
const HEARD: usize = 16 * 1024;

/// The time to wait for output that was written before the exit.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// The program's prompt for a code, without a line end. Its next output may follow on the same
/// line.
const PROMPT: &str = "Paste code here if prompted >";

/// The program's reaction to an invalid code; it then waits for another one.
const INVALID: &str = "invalid code";

impl Claude {
    /// SU-3: starts the sign-in. No browser is opened: the user may sign in on another device.
    pub async fn sign_in(&self) -> Result<SigningIn, Failure> {
        let settings = &self.shared.settings;
        let name = settings.program.display().to_string();
        let mut signing = SigningIn::start(settings).map_err(|error| refusal::unstarted(&name, &error))?;
        let found = timeout(settings.patience.start, signing.find_address()).await;
        match found {
            Ok(Ok(address)) => {
                signing.address = address;
                Ok(signing)
            }
            Ok(Err(why)) => Err(refusal::gone(&why)),
            Err(_) => Err(Failure::Unreachable(format!("`{name} auth login` tells no address"))),
        }
    }
}

/// A program that waits for the user to sign in. It is killed on drop.
pub struct SigningIn {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    complaints: Option<ChildStderr>,
    heard: String,
    address: String,
    code: Option<Code>,
    environment: Environment,
}

/// An event of the sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The code was rejected; the program waits for another one.
    Refused,
    /// The sign-in ended, with the program's last line on failure.
    Over(Result<(), String>),
}

impl SigningIn {
    fn start(settings: &Settings) -> std::io::Result<Self> {
        let mut command = settings.program();
        command.args(["auth", "login"]).env("BROWSER", "").kill_on_drop(true);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take();
        let complaints = child.stderr.take();
        Ok(Self {
            child,
            input,
            output,
            complaints,
            heard: String::new(),
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
    pub async fn bring(&mut self, code: Code) {
        self.heard.clear();
        if let Some(input) = &mut self.input {
            let line = format!("{}\n", code.reveal());
            // A failed write means that the program has ended, which `next_event` reports.
            let _ = input.write_all(line.as_bytes()).await;
            let _ = input.flush().await;
        }
        self.code = Some(code);
    }

    /// Waits for the next event. Cancel-safe.
    pub async fn next(&mut self) -> Told {
        loop {
            if self.code.is_some() && self.heard.to_lowercase().contains(INVALID) {
                self.heard.clear();
                return Told::Refused;
            }
            match self.hear().await {
                None => {}
                Some(true) => return Told::Over(Ok(())),
                Some(false) => return Told::Over(Err(self.last_words())),
            }
        }
    }

    /// Ends the program. It has exited when this returns.
    pub async fn end(mut self) {
        // It may have exited just now.
        let _ = self.child.kill().await;
    }

    async fn find_address(&mut self) -> Result<String, String> {
        loop {
            if let Some(address) = address(&self.heard) {
                return Ok(address.to_owned());
            }
            if self.hear().await.is_some() {
                return Err(self.last_words());
            }
        }
    }

    /// Reads more output. Returns whether the program succeeded, once it has ended.
    async fn hear(&mut self) -> Option<bool> {
        let Self { child, output, complaints, .. } = self;
        let bytes = tokio::select! {
            biased;
            bytes = some(output, complaints) => bytes,
            ended = child.wait() => {
                // A child of the program may hold its streams open indefinitely.
                let rest = async {
                    while self.output.is_some() || self.complaints.is_some() {
                        let bytes = some(&mut self.output, &mut self.complaints).await;
                        self.remember(&bytes);
                    }
                };
                let _ = timeout(LAST_WORDS, rest).await;
                return Some(ended.is_ok_and(|status| status.success()));
            }
        };
        self.remember(&bytes);
        None
    }

    fn remember(&mut self, bytes: &[u8]) {
        self.heard.push_str(&String::from_utf8_lossy(bytes));
        let too_many = self.heard.len().saturating_sub(HEARD);
        self.heard.drain(..self.heard.ceil_char_boundary(too_many));
    }

    /// Returns the last line of output, safe to show.
    fn last_words(&self) -> String {
        let lines = self.heard.lines().flat_map(|line| line.split(PROMPT));
        let last = lines.map(str::trim).filter(|line| !line.is_empty()).last();
        let last = self.environment.hide(last.unwrap_or_default());
        presentable_text(last, self.code.as_ref().map_or("", Code::reveal))
    }
}

/// Reads some bytes of either stream.
async fn some(output: &mut Option<ChildStdout>, complaints: &mut Option<ChildStderr>) -> Vec<u8> {
    tokio::select! {
        bytes = hear(output) => bytes,
        bytes = hear(complaints) => bytes,
    }
}

/// Returns the first URL in `output`, once it is terminated. It may be enclosed in terminal escape
/// sequences.
fn address(heard: &str) -> Option<&str> {
    let rest = &heard[heard.find("https://")?..];
    let end = rest.find(|letter: char| letter.is_whitespace() || letter.is_control())?;
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SU-3: the first complete URL is found, whatever surrounds it.
    #[test]
    fn the_first_whole_address_is_the_one() {
        let check = |heard: &str, expected: Option<&str>| assert_eq!(address(heard), expected, "{heard:?}");
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
