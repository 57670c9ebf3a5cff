//! Prompts on the terminal: lines, and secrets without echo. Without a terminal nothing is asked.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use surfaces::terminal::strip_control;

use crate::exit::CommandError;

const MAX_SECRET_BYTES: u64 = 64 * 1024;

/// The number of wrong answers after which the section ends.
const MAX_ATTEMPTS: usize = 3;

#[derive(Debug)]
pub enum SectionError {
    /// Cancelled by the user, which is not a failure.
    Cancelled,
    Failed(CommandError),
}

impl From<CommandError> for SectionError {
    fn from(failed: CommandError) -> Self {
        Self::Failed(failed)
    }
}

/// Counts wrong answers.
#[derive(Debug, Default)]
pub struct Attempts(usize);

impl Attempts {
    /// Reports why an answer was wrong, so that the caller can ask again. Returns an error if the
    /// answer was not typed or was wrong too often.
    pub fn retry(
        &mut self,
        asker: &Prompter,
        given: SecretSource<'_>,
        why: &str,
    ) -> Result<(), SectionError> {
        self.0 += 1;
        let why = end_sentence(&with_input_names(why));
        if given.is_given() || !asker.can_ask() || self.0 >= MAX_ATTEMPTS {
            return Err(CommandError::Failed(format!("{why} Nothing was changed.")).into());
        }
        asker.print(&format!("✗ {}\n  once more, or q to leave.", why.trim_end()));
        Ok(())
    }
}

/// Returns the error of a section whose service cannot be reached. A new secret would not help;
/// `anew` names the flags that set up another service anyway.
pub fn not_reachable(why: &str, anew: &str) -> SectionError {
    let why = end_sentence(why);
    CommandError::Failed(format!("{why} Nothing was changed. To set up another one now, give it: {anew}"))
        .into()
}

/// Replacements for names of variables in error messages, because the user typed a value instead.
const INPUT_NAMES: [(&str, &str); 4] = [
    ("OLLIM_IMAP_URL", "the address"),
    ("OLLIM_CALDAV_URL", "the address"),
    ("put the key into ANTHROPIC_API_KEY instead", "give the key alone, with --key-file FILE"),
    ("put the key into OPENAI_API_KEY instead", "give the key alone, with --key-file FILE"),
];

/// Returns `why` in terms of what the user typed.
fn with_input_names(why: &str) -> String {
    INPUT_NAMES.iter().fold(why.to_owned(), |why, (name, typed)| why.replace(name, typed))
}

/// Ends `why` with a full stop. After an address it adds a line break instead, so that terminals
/// can open the address.
fn end_sentence(why: &str) -> String {
    match why.rsplit(' ').next() {
        Some(word) if word.starts_with("https://") => format!("{why}\n "),
        _ if why.ends_with('.') => why.to_owned(),
        _ => format!("{why}."),
    }
}

/// Prompts on the terminal.
pub struct Prompter {
    interactive: bool,
}

/// The source of a secret, according to the flags.
#[derive(Clone, Copy, Debug)]
pub enum SecretSource<'a> {
    File(&'a Path),
    Stdin,
    /// No flag: the user is asked.
    Prompt,
}

impl<'a> SecretSource<'a> {
    pub fn new((file, stdin): (Option<&'a Path>, bool)) -> Self {
        match (file, stdin) {
            (Some(file), _) => Self::File(file),
            (None, true) => Self::Stdin,
            (None, false) => Self::Prompt,
        }
    }

    pub fn is_given(self) -> bool {
        !matches!(self, Self::Prompt)
    }
}

impl Prompter {
    /// Creates prompts that ask if stdin and stderr are a terminal.
    pub fn new() -> Self {
        Self { interactive: io::stdin().is_terminal() && io::stderr().is_terminal() }
    }

    /// Creates prompts that never ask.
    pub fn silent() -> Self {
        Self { interactive: false }
    }

    pub fn can_ask(&self) -> bool {
        self.interactive
    }

    /// Prints text to stderr.
    pub fn print(&self, text: &str) {
        for line in text.lines() {
            let _ = writeln!(io::stderr(), "{}", strip_control(line));
        }
    }

    /// Prints text to stderr if the user can be asked.
    pub fn print_if_interactive(&self, text: &str) {
        if self.interactive {
            self.print(text);
        }
    }

    /// Reads a trimmed line. Returns `None` at end of input.
    pub fn line(&self, question: &str) -> Result<Option<String>, CommandError> {
        if !self.interactive {
            return Ok(None);
        }
        let _ = write!(io::stderr(), "{question}");
        let _ = io::stderr().flush();
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line)? {
            0 => Ok(None),
            _ => Ok(Some(line.trim().to_owned())),
        }
    }

    /// Returns the given value or reads one. `missing` is the error without a terminal.
    pub fn text(&self, given: Option<&str>, question: &str, missing: &str) -> Result<String, SectionError> {
        if let Some(given) = given.map(str::trim).filter(|given| !given.is_empty()) {
            return Ok(given.to_owned());
        }
        if !self.interactive {
            return Err(CommandError::Usage(missing.to_owned()).into());
        }
        self.line(question)?.filter(|answer| !is_cancel(answer)).ok_or(SectionError::Cancelled)
    }

    /// Like [`Prompter::text`], and validates the value before the next question.
    pub fn address(
        &self,
        given: Option<&str>,
        question: &str,
        missing: &str,
        check: fn(&str) -> Result<(), String>,
    ) -> Result<String, SectionError> {
        let mut tries = Attempts::default();
        loop {
            let address = self.text(given, question, missing)?;
            let asked = if given.is_some() { SecretSource::Stdin } else { SecretSource::Prompt };
            match check(&address) {
                Ok(()) => return Ok(address),
                Err(why) => tries.retry(self, asked, &why)?,
            }
        }
    }

    /// Reads a secret from its source, or without echo from the terminal.
    pub fn secret(
        &self,
        given: SecretSource<'_>,
        question: &str,
        missing: &str,
    ) -> Result<String, SectionError> {
        let text = match given {
            SecretSource::File(file) => from_file(file)?,
            SecretSource::Stdin => read_all(io::stdin().lock(), "stdin")?,
            SecretSource::Prompt if self.interactive => {
                return self.prompt_hidden(question)?.ok_or(SectionError::Cancelled);
            }
            SecretSource::Prompt => return Err(CommandError::Usage(missing.to_owned()).into()),
        };
        match text.trim() {
            "" => Err(CommandError::Usage(format!("that was empty. {missing}")).into()),
            secret if secret.lines().count() > 1 => Err(CommandError::Usage(
                "that has more than one line, and no secret has. copy it alone.".to_owned(),
            )
            .into()),
            secret => Ok(secret.to_owned()),
        }
    }

    /// Reads a secret without echo. Returns `None` for an empty line.
    pub fn prompt_hidden(&self, question: &str) -> Result<Option<String>, SectionError> {
        match read_hidden_line(question)?.trim() {
            "" => Ok(None),
            answer if is_cancel(answer) => Err(SectionError::Cancelled),
            secret => Ok(Some(secret.to_owned())),
        }
    }
}

/// Returns whether an answer cancels the section.
pub fn is_cancel(answer: &str) -> bool {
    matches!(answer, "" | "q" | "quit" | "exit")
}

fn from_file(file: &Path) -> Result<String, CommandError> {
    let opened = std::fs::File::open(file);
    let opened = opened.map_err(|error| CommandError::Usage(format!("{}: {error}", file.display())))?;
    read_all(opened, &file.display().to_string())
}

fn read_all(from: impl Read, name: &str) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    from.take(MAX_SECRET_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| CommandError::Usage(format!("{name}: {error}")))?;
    String::from_utf8(bytes).map_err(|_| CommandError::Usage(format!("{name}: that is not text (UTF-8).")))
}

/// Reads a line, showing a dot for each typed byte.
fn read_hidden_line(question: &str) -> Result<String, SectionError> {
    let _ = write!(io::stderr(), "{question}");
    let _ = io::stderr().flush();
    let secret = {
        let _dark = HiddenInput::enter()?;
        read_typed_bytes()
    };
    let _ = writeln!(io::stderr());
    secret
}

/// Reads bytes until the end of the line.
fn read_typed_bytes() -> Result<String, SectionError> {
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock();
    loop {
        let mut letter = [0];
        if stdin.read(&mut letter).map_err(CommandError::from)? == 0 {
            return Err(SectionError::Cancelled);
        }
        match letter[0] {
            b'\r' | b'\n' => break,
            // Ctrl+C and Ctrl+D cancel; an early return restores the terminal.
            0x03 | 0x04 => return Err(SectionError::Cancelled),
            0x15 => bytes.clear(),
            0x08 | 0x7f => drop(bytes.pop()),
            letter if letter < 0x20 => {}
            letter => bytes.push(letter),
        }
        // The dots show how much was pasted.
        let _ = write!(io::stderr(), "\u{b7}");
        let _ = io::stderr().flush();
    }
    String::from_utf8(bytes).map_err(|_| CommandError::Usage("that is not text (UTF-8).".to_owned()).into())
}

/// Disables echo, line buffering and signals of the terminal until it is dropped.
struct HiddenInput(Termios);

impl HiddenInput {
    fn enter() -> Result<Self, CommandError> {
        let told = |error: rustix::io::Errno| {
            CommandError::Failed(format!("the terminal cannot be made to hide it: {error}"))
        };
        let before = tcgetattr(io::stdin().as_fd()).map_err(told)?;
        let mut dark = before.clone();
        dark.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &dark).map_err(told)?;
        Ok(Self(before))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error and its consequence are separate sentences, and an address stays clickable.
    #[test]
    fn reason_and_consequence_are_separate_sentences() {
        let check = |why: &str, told: &str| match Attempts::default().retry(
            &Prompter::silent(),
            SecretSource::Prompt,
            why,
        ) {
            Err(SectionError::Failed(failed)) => assert_eq!(failed.to_string(), told),
            other => panic!("{other:?}"),
        };
        check("it broke", "it broke. Nothing was changed.");
        check("it broke.", "it broke. Nothing was changed.");
        check("OLLIM_CALDAV_URL: it is none.", "the address: it is none. Nothing was changed.");
        check(
            "it looks like https://api.anthropic.com",
            "it looks like https://api.anthropic.com\n  Nothing was changed.",
        );
    }
}
